# Attack 6: whoever writes config.json mounts what he likes on the workspace, runs hooks on the host,
# joins namespaces. ceiling.bundle bounds him, on the objects themselves.
load ../bats/helpers
load attacks

setup() {
	require_root
	settings_setup
	use_profile
	set_args true
	mkdir "$BATS_TEST_TMPDIR/open" "$BATS_TEST_TMPDIR/closed"
}

teardown() {
	was_set_up || return 0
	helpers_teardown
	umount /mnt
}

# bounded BUNDLE: a ceiling that bounds the bundle so; and the control, without bounds
bounded() {
	settings '{ceiling: ($p + {bundle: $b})}' --argjson p "$(default_profile | jq -c 'del(.workspace.root)')" \
		--argjson b "$1"
}

unbounded() {
	settings '{ceiling: $p}' --argjson p "$(default_profile | jq -c 'del(.workspace.root)')"
	run_with_settings
	assert_status 0
}

@test 'attack 6: bind sources, by their real place' {
	local sources

	sources=$(jq -nc '[$ARGS.positional[]]' --args "$WS" "$BATS_TEST_TMPDIR/open")
	bounded "{\"bindSources\": $sources}"
	run_with_settings # control: the workspace is allowed
	assert_status 0
	mkdir -p "$BUNDLE/rootfs/more"
	bind_mount "$BATS_TEST_TMPDIR/closed" /more
	run_with_settings
	assert_error "bind \"$BATS_TEST_TMPDIR/closed\": the administrator's ceiling.bundle does not allow it"
	unbounded
	bounded "{\"bindSources\": $sources}"
	# a name below an allowed folder that leads out of it
	ln -s "$BATS_TEST_TMPDIR/closed" "$BATS_TEST_TMPDIR/open/link"
	edit_config '.mounts[-1].source = $s' --arg s "$BATS_TEST_TMPDIR/open/link"
	run_with_settings
	assert_error "bind \"$BATS_TEST_TMPDIR/closed\""
	for source in / /etc "$BATS_TEST_TMPDIR/open/../closed" "$BATS_TEST_TMPDIR"; do
		edit_config '.mounts[-1].source = $s' --arg s "$source"
		run_with_settings
		assert_error "does not allow it"
	done
	edit_config '.mounts[-1].source = $s' --arg s "$BATS_TEST_TMPDIR/open"
	run_with_settings
	assert_status 0
	bounded '{"bindSources": []}'
	run_with_settings
	assert_error 'does not allow it'
}

@test 'attack 6: a file system that takes folders of the host is a source as well' {
	mkdir -p "$BUNDLE/rootfs/more"
	bounded "{\"bindSources\": [\"$WS\"]}"
	edit_config '.mounts += [{destination: "/more", type: "overlay", source: "overlay",
		options: ["lowerdir=/etc:/usr"]}]'
	run_with_settings
	assert_error 'mount a file system of type "overlay": the administrator'
}

@test 'attack 6: hooks, device nodes, namespaces by path' {
	bounded '{"hooks": false, "devices": false, "namespacePaths": false}'
	run_with_settings # control
	assert_status 0
	add_hook createRuntime '{"path": "/bin/true"}'
	run_with_settings
	assert_error 'run hooks: the administrator'
	edit_config 'del(.hooks)'
	edit_config '.linux.devices = [{path: "/dev/fuse", type: "c", major: 10, minor: 229}]'
	run_with_settings
	assert_error 'make device nodes: the administrator'
	edit_config 'del(.linux.devices)'
	edit_config '(.linux.namespaces[] | select(.type == "ipc")).path = "/proc/1/ns/ipc"'
	run_with_settings
	assert_error 'join the ipc namespace "/proc/1/ns/ipc": the administrator'
	bounded '{"hooks": true, "devices": true, "namespacePaths": true}'
	add_hook createRuntime '{"path": "/bin/true"}'
	edit_config 'del(.linux.namespaces[] | .path | select(.))'
	run_with_settings
	assert_status 0
}

@test 'attack 6: a device by a bind' {
	touch "$BUNDLE/rootfs/disk"
	mknod "$BATS_TEST_TMPDIR/disk" b 7 0
	bind_mount "$BATS_TEST_TMPDIR/disk" /disk
	bind_mount /dev/null /dev/null
	bounded '{"devices": false}'
	run_with_settings
	assert_error "bind the device \"$BATS_TEST_TMPDIR/disk\""
	edit_config 'del(.mounts[] | select(.destination == "/disk"))'
	run_with_settings # control: a node that every container has
	assert_status 0
}

@test 'attack 6: the place of the control group, and a user namespace that is required' {
	bounded "{\"cgroupParent\": \"$CGROUP\"}"
	run_with_settings # control: the tests' own parent
	assert_status 0
	for path in /elsewhere/x "$CGROUP" "$CGROUP/../x" "$CGROUP-x/y" ''; do
		edit_config '.linux.cgroupsPath = $p' --arg p "$path"
		run_with_settings
		[ "$status" = 1 ]
		assert_stderr 'cgroup'
	done
	edit_config '.linux.cgroupsPath = $p' --arg p "$CGROUP/$ID"
	bounded '{"userns": "required"}'
	run_with_settings
	assert_error 'run without a new user namespace'
	edit_config '.linux.namespaces += [{type: "user"}] |
		.linux.uidMappings = [{containerID: 0, hostID: 0, size: 65536}] | .linux.gidMappings = .linux.uidMappings'
	run_with_settings
	assert_error "map the host's id 0"
	edit_config '.linux.uidMappings = [{containerID: 0, hostID: 200000, size: 65536}] |
		.linux.gidMappings = .linux.uidMappings'
	chmod -R a+rwX "$BATS_TEST_TMPDIR"
	run_with_settings
	refute_stderr "ceiling.bundle"
}

@test 'attack 6: bounds that cannot be read refuse every container' {
	bounded '{"bindSources": ["relative"]}'
	run_with_settings
	assert_error '/ceiling/bundle/bindSources/0'
	bounded '{"hooks": "no"}'
	run_with_settings
	assert_error '/ceiling/bundle/hooks'
	bounded '{"unknown": true}'
	run_with_settings
	assert_error '/ceiling/bundle/unknown'
	bounded '{"cgroupParent": "x"}'
	run_with_settings
	assert_error 'want an absolute path or the name of a slice'
}

# Many containers, each with a config.json of its own: c1.json and so on.
@test 'attack 22: more containers with a profile than the settings allow' {
	local k pids=() made=0

	settings '{maxExecutors: 3}'
	set_args sleep 100
	for k in 1 2 3 4 5 6 7 8; do
		edit_config '.linux.cgroupsPath = $p' --arg p "$CGROUP/$ID-$k"
		cp "$BUNDLE/config.json" "$BUNDLE/c$k.json"
	done
	for k in 1 2 3 4 5 6 7 8; do
		"$SBX_RUNTIME" --root "$ROOT" --config "$SETTINGS" create --bundle "$BUNDLE" --config "c$k.json" "$ID-$k" \
			</dev/null >/dev/null 2>"$BATS_TEST_TMPDIR/err$k" 3>&- &
		pids+=($!)
	done
	for k in "${pids[@]}"; do
		wait "$k" && made=$((made + 1))
	done
	[ "$made" -le 3 ]
	grep -q 'the settings allow 3 (maxExecutors)' "$BATS_TEST_TMPDIR"/err*
	for k in 1 2 3 4 5 6 7 8; do
		sbx delete --force "$ID-$k"
	done
}

@test 'attack 22: control: without a profile they do not count, and what is deleted makes room' {
	settings '{maxExecutors: 1}'
	set_args sleep 100
	no_profile
	create_container
	use_profile
	for k in 1 2; do
		edit_config '.linux.cgroupsPath = $p' --arg p "$CGROUP/$ID-$k"
		sbx_detached --config "$SETTINGS" create --bundle "$BUNDLE" "$ID-1"
		assert_status 0
		sbx_detached --config "$SETTINGS" create --bundle "$BUNDLE" "$ID-2"
		assert_status 1
		sbx delete --force "$ID-1"
	done
}
