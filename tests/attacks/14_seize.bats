# Attack 14: a container with SYS_PTRACE seizes whatever joins it. What it gets hold of must have no more
# than the payload. The control is a runtime without a defence, tests/attacks/naive.c.
#
# SBX_TEST_ROUNDS: how many processes are started (40).
load ../bats/helpers
load attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	cp "$SBX_TEST_BIN/intruder" "$BUNDLE/rootfs/bin/intruder"
	cp "$SBX_TEST_BIN/naive" "$BATS_TEST_TMPDIR/naive"
	edit_config '.process.capabilities |= map_values(. + ["CAP_SYS_PTRACE"])'
	PAYLOAD=0000000020080420 # AUDIT_WRITE, KILL, NET_BIND_SERVICE, SYS_PTRACE
}

start_watcher() {
	rm -f "$WS/stop"
	set_args intruder watch /workspace/stop /bin/intruder /bin/busybox
	create_container
	run_sbx start "$ID"
	assert_status 0
	wait_until 10 grep -q watching "$BATS_TEST_TMPDIR/stdout"
}

# stop_watcher: $findings are the rights of what was seized
stop_watcher() {
	touch "$WS/stop"
	wait_until 10 status_is stopped
	findings=$(grep "^seized " "$BATS_TEST_TMPDIR/stdout" | sort -u)
	refusals=$(grep '^refused ' "$BATS_TEST_TMPDIR/stdout" | sort -u)
	sbx delete --force "$ID"
}

exec_rounds() {
	local round

	for ((round = 0; round < $1; round++)); do
		run_sbx exec "$ID" sleep 0.05
		assert_status 0
	done
}

@test 'attack 14: a runtime without a defence is seized with all its rights' {
	local round

	start_watcher
	for ((round = 0; round < 10; round++)); do
		"$BATS_TEST_TMPDIR/naive" join "$(container_pid)" /bin/true 3>&- || true
	done
	stop_watcher
	grep -q '^seized ' <<<"$findings"
	[ "$(grep -c "^seized [0-9a-f]*$" <<<"$findings")" -gt "$(grep -c "^seized $PAYLOAD$" <<<"$findings")" ]
}

@test 'attack 14: what joins the container has the rights of the payload, no more' {
	start_watcher
	exec_rounds "${SBX_TEST_ROUNDS:-40}"
	stop_watcher
	assert_same 'seized' "seized $PAYLOAD" "$findings"
}

@test 'attack 14: a process of less than the container has no more on its way' {
	start_watcher
	jq -n '{args: ["/bin/sleep", "0.05"], cwd: "/", env: ["PATH=/bin"], user: {uid: 1000, gid: 1000},
		capabilities: {}}' >"$BATS_TEST_TMPDIR/process.json"
	for ((round = 0; round < 10; round++)); do
		run_sbx exec --process "$BATS_TEST_TMPDIR/process.json" "$ID"
		assert_status 0
	done
	stop_watcher
	assert_same 'seized' 'seized 0000000000000000' "$findings"
}

@test 'attack 14: under a profile nothing is seized at all' {
	use_profile
	start_watcher
	exec_rounds 10
	stop_watcher
	assert_same 'seized' '' "$findings"
	assert_same 'refused' 'refused EPERM' "$refusals"
}
