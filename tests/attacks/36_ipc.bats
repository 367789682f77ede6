# Attack 36: shared memory of System V and POSIX message queues of the host.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 36: what the host shares is not there' {
	local key=$((0x5c000000 + $$)) name=/sbx-bats-$$-$RANDOM keeper

	"$SBX_TEST_BIN/adversary" ipc-keep "$key" "$name" >"$BATS_TEST_TMPDIR/keep" 3>&- &
	keeper=$!
	wait_until 5 grep -q ready "$BATS_TEST_TMPDIR/keep"
	run_script "adversary ipc $key $name"
	assert_output $'memory ENOENT\nqueue ENOENT'
	no_profile
	edit_config 'del(.linux.namespaces[] | select(.type == "ipc"))'
	run_script "adversary ipc $key $name"
	kill "$keeper" # which removes both
	wait "$keeper"
	assert_output $'memory ok\nqueue ok' # the control
}
