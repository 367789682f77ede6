# scratchRoot of the settings: the scratch folder on disk, and that nothing but it goes with the container.
load helpers
load ../attacks/attacks

setup() {
	require_root
	settings_setup
	mkdir /mnt/scratch
	settings '{scratchRoot: "/mnt/scratch"}'
	use_profile
}

teardown() {
	helpers_teardown
	if mountpoint -q /mnt; then
		umount /mnt
	fi
}

kept() {
	ls -A /mnt/scratch
}

@test 'scratch lies below it, TMPDIR and HOME in there, and goes with the container' {
	touch /mnt/scratch/other
	set_script 'echo "$TMPDIR $HOME"; echo x >"$TMPDIR/file"; echo y >"$HOME/file"; stat -c "%a %u" "$HOME"; sleep 1000'
	sbx_detached --config "$SETTINGS" run --detach --bundle "$BUNDLE" "$ID"
	assert_status 0
	wait_until 5 grep -qs '^700 0' "$BATS_TEST_TMPDIR/stdout"
	assert_same 'in the container' $'/tmp /tmp/.home\n700 0' "$(cat "$BATS_TEST_TMPDIR/stdout")"
	assert_same 'on the host' x "$(cat /mnt/scratch/sbx-*/tmp/file)"
	assert_same 'on the host' y "$(cat /mnt/scratch/sbx-*/tmp/.home/file)"
	assert_same 'of root alone' '700 0' "$(stat -c '%a %u' /mnt/scratch/sbx-*)"
	run_sbx report "$ID"
	report_says '.entries[] | select(.feature == "scratch") | .outcome == "narrowed" and (.detail | contains("/mnt/scratch"))'
	sbx delete --force "$ID"
	assert_same 'afterwards' other "$(kept)"
}

@test 'run removes it as well, and a create that fails' {
	set_script 'echo x >/tmp/file'
	run_with_settings
	assert_status 0
	assert_same 'after run' '' "$(kept)"
	set_args no-such-program
	run_with_settings
	assert_status 1
	assert_same 'after a failure' '' "$(kept)"
}

@test 'a container without a state is removed with its scratch' {
	set_args sleep 1000
	sbx_detached --config "$SETTINGS" create --bundle "$BUNDLE" "$ID"
	assert_status 0
	[ -n "$(kept)" ]
	kill -KILL "$(container_pid)"
	: >"$ROOT/$ID/state"
	sbx delete --force "$ID"
	assert_same 'afterwards' '' "$(kept)"
}

@test 'a tree of 100,000 levels is removed, and links in it are not followed' {
	mkdir /mnt/outside
	touch /mnt/outside/file
	set_script 'ln -s /mnt/outside /tmp/link; sleep 1000'
	sbx_detached --config "$SETTINGS" run --detach --bundle "$BUNDLE" "$ID"
	assert_status 0
	wait_until 5 eval '[ -L /mnt/scratch/sbx-*/tmp/link ]'
	# From outside: inside, Landlock looks at every folder above for each new one.
	"$SBX_TEST_BIN/deep" /mnt/scratch/sbx-*/tmp 100000
	sbx delete --force "$ID"
	assert_same 'afterwards' '' "$(kept)"
	[ -e /mnt/outside/file ]
}

@test 'the file system of scratchRoot is the limit' {
	mount -t tmpfs -o size=1m,mode=755 small /mnt/scratch
	set_script 'dd if=/dev/zero of=/tmp/big bs=64k count=64 2>/dev/null || echo full; echo x >/tmp/.home/more || true'
	run_with_settings
	assert_same 'in the container' full "$output"
	assert_same 'afterwards' '' "$(kept)"
	umount /mnt/scratch
}

@test 'a profile that asks for a size gets a tmpfs of that size' {
	use_profile '.limits.scratch = "1MiB"'
	set_script 'df -k /tmp | tail -n 1 | tr -s " " | cut -d " " -f 1,2'
	run_with_settings
	assert_output 'tmpfs 1024'
}

@test 'the container sees no other scratch, and none of it is mounted' {
	mkdir /mnt/scratch/sbx-of-another
	bind_mount /mnt /workspace
	set_args ls -A /workspace /workspace/scratch
	run_with_settings
	[[ $output != *sbx-* ]]
	run_sbx run --bundle "$BUNDLE" "$ID" # control: without the settings
	assert_line sbx-of-another
	bind_mount /mnt/scratch/sbx-of-another /workspace
	run_with_settings
	assert_status 1
	assert_stderr '/mnt/scratch'
	rmdir /mnt/scratch/sbx-of-another
}

@test 'a scratchRoot that others can change is refused' {
	set_args true
	chmod 1777 /mnt/scratch
	run_with_settings
	assert_error '"/mnt/scratch" is writable by group or others'
	chmod 755 /mnt/scratch
	chown nobody /mnt/scratch
	run_with_settings
	assert_error '"/mnt/scratch" is not owned by root'
	chown root /mnt/scratch
	run_with_settings # control
	assert_status 0
	ln -s scratch /mnt/link
	settings '{scratchRoot: "/mnt/link"}'
	run_with_settings
	assert_error '"/mnt/link" is a symbolic link'
	settings '{scratchRoot: "/mnt/absent"}'
	run_with_settings
	assert_error "open the settings' scratchRoot"
	settings '{scratchRoot: "relative"}'
	run_with_settings
	assert_error '"scratchRoot" must be an absolute, canonical path'
}
