# Other names for what a profile bounds: a link of the image in the place of a system folder or of a
# mount's destination, a bind that is wider than what is opened, flags that come late.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	HOST=$BATS_TEST_TMPDIR/host
	mkdir -p "$HOST/pub" "$HOST/priv"
	echo top >"$HOST/top"
	echo public >"$HOST/pub/p"
	echo private >"$HOST/priv/p"
}

@test 'a link of the image brings no bind of the bundle into a root' {
	echo secret >"$HOST/secret"
	mkdir -p "$WS/place"
	ln -s workspace/place "$BUNDLE/rootfs/data"
	bind_mount "$HOST" /data
	run_script 'echo x >/workspace/place/f; cat /workspace/place/secret' # the control
	assert_output secret
	rm "$HOST/f"
	for host in allow deny; do
		use_profile ".host.read = \"$host\""
		run_script 'echo x >/workspace/place/f; cat /workspace/place/secret'
		assert_status 1
		assert_stderr '"/data" comes to "/workspace/place" by a link'
		[ ! -e "$HOST/f" ]
	done
	# named where it is, it is part of the root
	edit_config '(.mounts[] | select(.destination == "/data")).destination = "/workspace/place"'
	run_script 'echo x >/workspace/place/f; cat /workspace/place/secret'
	assert_output secret
	[ -e "$HOST/f" ]
}

@test 'host read deny: a link of the image in the place of a system folder shows no bind of the bundle' {
	echo secret >"$HOST/secret"
	ln -s data "$BUNDLE/rootfs/lib32"
	bind_mount "$HOST" /data
	mkdir "$BUNDLE/rootfs/other"
	echo of-the-image >"$BUNDLE/rootfs/other/f"
	ln -s other "$BUNDLE/rootfs/libx32"
	use_profile '.host.read = "deny"'
	run_with_and_without 'cat /lib32/secret 2>/dev/null || echo none; cat /libx32/f'
	assert_same control $'secret\nof-the-image' "$without"
	assert_same 'under the profile' $'none\nof-the-image' "$with"
	bind_mount "$HOST" /other/below
	run_script 'cat /libx32/f 2>/dev/null || echo none' # as what is mounted below might be covered there
	assert_output none
}

@test 'host read deny: a link in the place of a system folder shows no root without its mounts and masks' {
	mkdir -p "$WS/hidden" "$WS/masked"
	echo under >"$WS/hidden/f"
	echo masked >"$WS/masked/f"
	ln -s workspace "$BUNDLE/rootfs/lib32"
	edit_config '.mounts += [{destination: "/workspace/hidden", type: "tmpfs", source: "tmpfs"}]
		| .linux.maskedPaths += ["/workspace/masked"]'
	script='ls /workspace/hidden /workspace/masked; cat /workspace/f; cat /lib32/f /lib32/hidden/f /lib32/masked/f 2>/dev/null; true'
	echo f >"$WS/f"
	use_profile '.host.read = "deny"'
	run_script "$script"
	assert_output $'/workspace/hidden:\n\n/workspace/masked:\nf'
	no_profile # the control
	run_script 'cat /lib32/f'
	assert_output f
}

@test 'host read deny: a link in the place of a system folder shows no file system of the kernel' {
	ln -s proc "$BUNDLE/rootfs/lib32"
	ln -s sys "$BUNDLE/rootfs/libx32"
	use_profile '.host.read = "deny"'
	run_with_and_without 'for p in /proc/version /lib32/version /libx32/kernel; do [ -e $p ] && echo $p; done; true'
	assert_same control $'/proc/version\n/lib32/version\n/libx32/kernel' "$without"
	assert_same 'under the profile' /proc/version "$with"
	rm "$BUNDLE/rootfs/lib32"
	ln -s dev/shm "$BUNDLE/rootfs/lib32"
	edit_config '.mounts |= map(select(.destination != "/dev/shm"))'
	bind_mount "$HOST" /dev/shm
	run_with_and_without 'cat /lib32/top 2>/dev/null || echo none'
	assert_same control top "$without"
	assert_same 'under the profile' none "$with"
}

@test 'host read deny: what the bundle binds at /sys is hidden' {
	edit_config '.mounts |= map(select(.destination | startswith("/sys") | not))'
	bind_mount "$HOST" /sys
	use_profile '.host.read = "deny"'
	run_with_and_without 'cat /sys/top 2>/dev/null || echo none'
	assert_same control top "$without"
	assert_same 'under the profile' none "$with"
}

@test 'host read deny: of a bind that is wider than a readable root, the root alone is shown' {
	bind_mount "$HOST" /usr/share
	bind_mount "$HOST" /data
	ln -s data "$BUNDLE/rootfs/lib32"
	use_profile '.host.read = "deny" | .roots = [{path: "/usr/share/pub", read: "allow"},
		{path: "/data/pub", read: "allow"}]'
	run_with_and_without 'for p in /usr/share /data /lib32; do cat $p/pub/p $p/priv/p 2>/dev/null; done; true'
	assert_same control $'public\nprivate\npublic\nprivate\npublic\nprivate' "$without"
	assert_same 'under the profile' $'public\npublic' "$with"
}

@test 'a file system of the bundle that is read-only stays so in a root' {
	edit_config '.mounts += [{destination: "/workspace/ro", type: "tmpfs", source: "tmpfs", options: ["ro"]},
		{destination: "/workspace/rw", type: "tmpfs", source: "tmpfs"},
		{destination: "/data2", type: "tmpfs", source: "tmpfs", options: ["ro"]}]'
	script='for p in /workspace/ro /workspace/rw /data2; do (: >$p/f) 2>/dev/null && echo $p; done; true'
	for host in allow deny; do
		use_profile ".host.read = \"$host\""
		run_script "$script"
		assert_output /workspace/rw
	done
}

@test 'mounts of a more privileged namespace come along where they belong, and nothing else' {
	mkdir "$WS/inner"
	for host in allow deny; do
		use_profile ".host.read = \"$host\""
		set_script 'cat /workspace/inner/top; echo x >/workspace/f && cat /workspace/f'
		run unshare --mount --propagation private sh -c 'mount --bind "$1" "$2/inner" &&
			edit=$(jq "(.mounts[] | select(.destination == \"/workspace\")).options += [\"rbind\"]
				| (.mounts[] | select(.destination == \"/workspace\")).options -= [\"bind\"]" "$3/config.json") &&
			echo "$edit" >"$3/config.json" &&
			unshare --user --map-root-user --mount --propagation private "$SBX_RUNTIME" --cgroup-manager disabled \
				--root "$3/state" run --bundle "$3" locked' - "$HOST" "$WS" "$BUNDLE"
		[ "$output" = $'top\nx' ] || fail "$host: $output"
	done
}
