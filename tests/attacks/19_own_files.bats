# Attack 19: the runtime's own files under the widest profile of a sandbox, in a container whose root is
# the host's: state, settings, profiles, bundle, program. And state that another user planted.
load ../bats/helpers
load attacks

# A folder that is everybody's but not hidden for another reason, as /tmp is below a host's root.
OWN=/mnt/own

setup() {
	require_root
	mount -t tmpfs -o mode=755 own /mnt
	mkdir -p "$OWN"/{bin,root,settings,ws,free}
	helpers_setup
	attack_setup
	BUNDLE_OWN=$OWN/bundle
	mv "$BUNDLE" "$BUNDLE_OWN"
	BUNDLE=$BUNDLE_OWN
	ROOT=$OWN/root
	cp "$SBX_RUNTIME" "$OWN/bin/sbx-runtime"
	SBX_RUNTIME=$OWN/bin/sbx-runtime
	SETTINGS=$OWN/settings/config.json
	echo '{}' >"$SETTINGS"
	echo free >"$OWN/free/file"
	edit_config '.root.path = "/" | .linux.maskedPaths = [] | .linux.readonlyPaths = [] |
		(.mounts[] | select(.destination == "/workspace")) |= (.destination = "/mnt/own/ws" |
			.source = "/mnt/own/ws")'
	widest
}

teardown() {
	was_set_up || return 0
	umount -q /mnt/alias 2>/dev/null || true
	helpers_teardown
	umount /mnt
}

# Everything that a profile can open without being unconfined.
widest() {
	use_profile '.workspace.root = "/mnt/own/ws" | .host.write = "allow" | .network.access = "allow" |
		.home = "real"'
}

sbx() {
	"$SBX_RUNTIME" --root "$ROOT" --config "$SETTINGS" "$@" 3>&-
}

LOOK='cat /mnt/own/free/file; for f in root bundle settings bin; do
	find /mnt/own/$f -type f 2>/dev/null | head -n 2; done; head -c 4 /mnt/own/bin/sbx-runtime |
	tr -dc A-Z; wc -c </mnt/own/settings/config.json; ls -A /run/sbx-runtime /etc/sbx-runtime 2>/dev/null; true'

@test 'attack 19: nothing of the runtime is in view below "/"' {
	mkdir -p /run/sbx-runtime
	run_with_and_without "$LOOK"
	grep -q "^/mnt/own/root/$ID/" <<<"$without"
	grep -q '^/mnt/own/bundle/' <<<"$without"
	grep -qx ELF3 <<<"$without"
	assert_line_of "$with" free
	if grep -E '^/mnt/own/(root|bundle|settings/.)/|ELF' <<<"$with"; then
		return 1
	fi
}

assert_line_of() {
	grep -qx "$2" <<<"$1"
}

@test 'attack 19: they cannot be written either' {
	local before

	set_script 'for f in bin/sbx-runtime settings/config.json bundle/config.json root/planted \
		bundle/planted; do echo x >/mnt/own/$f; done 2>/dev/null
		rm -rf /mnt/own/root/* /mnt/own/bundle 2>/dev/null
		mv /mnt/own/settings /mnt/own/moved 2>/dev/null && echo moved
		mv /mnt/own /mnt/other 2>/dev/null && echo moved
		echo x >/mnt/own/ws/f && echo workspace'
	before=$(sha256sum "$SBX_RUNTIME" "$SETTINGS" "$BUNDLE/config.json")
	run_container
	assert_status 0
	assert_output workspace
	assert_same 'files' "$before" "$(sha256sum "$SBX_RUNTIME" "$SETTINGS" "$BUNDLE/config.json")"
	[ ! -e "$OWN/root/planted" ]
	[ ! -e "$OWN/bundle/planted" ]
	no_profile
	run_script 'echo x >/mnt/own/settings/planted && echo planted
		mv /mnt/own/settings /mnt/own/moved && mkdir /mnt/own/settings && echo moved'
	assert_output $'planted\nmoved' # the control
}

@test 'attack 19: another name of the same folder shows no more' {
	mkdir /mnt/alias
	mount --bind "$OWN" /mnt/alias
	ln -s own /mnt/link
	run_with_and_without 'cat /mnt/link/free/file /mnt/alias/free/file
		cat /mnt/alias/bundle/config.json /mnt/link/bundle/config.json /proc/self/root/mnt/own/bundle/config.json \
			2>/dev/null | grep -c "^  .ociVersion"
		true'
	umount /mnt/alias
	assert_same 'control' $'free\nfree\n3' "$without"
	assert_same 'under the profile' $'free\nfree\n0' "$with"
}

@test 'attack 19: a workspace that holds them, or is one of them, is refused or shows them empty' {
	local folder

	use_profile '.workspace.root = "/mnt/own/root"'
	run_script true
	assert_error "runtime's own"
	for folder in settings bundle; do
		use_profile '.workspace.root = $w' --arg w "$OWN/$folder"
		run_script "cat $OWN/$folder/config.json; echo x >$OWN/$folder/config.json
			mv $OWN/$folder/config.json $OWN/$folder/other"
		[ "$status" != 0 ]
		assert_output ''
		jq -e . "$OWN/$folder/config.json"
	done
	use_profile '.workspace.root = "/mnt/own" | .host.write = "allow"'
	run_script "$LOOK"
	if [ "$status" = 0 ]; then
		refute_output --partial "$ID"
		refute_output --partial ELF
	else
		assert_stderr "runtime's own"
	fi
}

@test 'attack 19: a further process sees no more' {
	start_sleeper
	run_sbx exec "$ID" sh -c "$LOOK"
	assert_status 0
	assert_line free
	refute_output --partial "/$ID/"
	refute_output --partial ELF
}

@test 'attack 19: state in XDG_RUNTIME_DIR is not looked at with euid 0' {
	local planted=$BATS_TEST_TMPDIR/run

	edit_config '.root.path = "rootfs"'
	no_profile
	ROOT=$planted/sbx-runtime
	mkdir -p "$planted"
	set_args sleep 1000
	create_container
	run "$SBX_RUNTIME" --root "$ROOT" list -q
	assert_output "$ID" # the control: it is a state that the program takes
	XDG_RUNTIME_DIR=$planted run "$SBX_RUNTIME" list -q
	assert_success
	refute_output --partial "$ID"
	XDG_RUNTIME_DIR=$planted run "$SBX_RUNTIME" state "$ID"
	assert_failure 1
	assert_output --partial 'does not exist'
	XDG_RUNTIME_DIR=$planted run "$SBX_RUNTIME" kill "$ID" KILL
	assert_failure 1
	[ "$(container_status)" = created ]
}

@test 'attack 19: a runtime root that another user could have made is refused' {
	edit_config '.root.path = "rootfs"'
	no_profile
	set_args true
	mkdir "$OWN/theirs"
	chown 1000 "$OWN/theirs"
	run "$SBX_RUNTIME" --root "$OWN/theirs" run --bundle "$BUNDLE" "$ID"
	assert_failure 1
	assert_output --partial "$OWN/theirs"
	chown 0 "$OWN/theirs"
	chmod 777 "$OWN/theirs"
	run "$SBX_RUNTIME" --root "$OWN/theirs" run --bundle "$BUNDLE" "$ID"
	assert_failure 1
	chmod 700 "$OWN/theirs"
	run "$SBX_RUNTIME" --root "$OWN/theirs" run --bundle "$BUNDLE" "$ID"
	assert_success
}
