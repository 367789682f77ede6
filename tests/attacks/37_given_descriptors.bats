# Attack 37: a program of the host hands a folder in, over a socket that both see (SCM_RIGHTS).
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

give_folder() {
	rm -f "$WS/socket"
	"$SBX_TEST_BIN/adversary" hand "$WS/socket" "$BATS_TEST_TMPDIR/host" >"$BATS_TEST_TMPDIR/hand" 3>&- &
	wait_until 5 grep -q ready "$BATS_TEST_TMPDIR/hand"
}

@test 'attack 37: behind a folder of the host nothing is read, written or made' {
	[ "$(landlock_is_there)" = true ] || skip 'without Landlock the report gives no boundary of files'
	mkdir "$BATS_TEST_TMPDIR/host"
	echo secret >"$BATS_TEST_TMPDIR/host/file"
	use_profile '.host.read = "deny"'
	give_folder
	run_script 'adversary taken /workspace/socket file'
	assert_status 0
	assert_output 'read EACCES
write EACCES
make EACCES
list ok
above EACCES
enter ok
list there EACCES'
	no_profile
	give_folder
	run_script 'adversary taken /workspace/socket file'
	assert_output $'read ok\nwrite ok\nmake ok\nlist ok\nabove ok\nenter ok\nlist there ok'
}
