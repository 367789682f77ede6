# SIGKILL at every row of the stage table: whatever died, `delete --force` leaves nothing.
load helpers

setup() {
	require_root
	helpers_setup
	set_args sleep 1000
	# every optional row takes part
	if cgroup_dir pids >/dev/null; then
		edit_config '.linux.resources.pids = {limit: 50}'
	fi
	add_hook prestart '{"path": "/bin/true"}'
	add_hook createRuntime '{"path": "/bin/true"}'
	add_hook createContainer '{"path": "/bin/true"}'
	add_hook startContainer '{"path": "/bin/true"}'
	add_hook poststop '{"path": "/bin/true"}'
}

# at_stage OPTIONS...: create under the tracer
at_stage() {
	"$SBX_TEST_BIN/kill-at-stage" "$@" -- "$SBX_RUNTIME" --root "$ROOT" --debug \
		--log "$BATS_TEST_TMPDIR/log" create --bundle "$BUNDLE" "$ID" \
		>"$BATS_TEST_TMPDIR/stages" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null 3>&-
}

list_stages() {
	at_stage --list
	cp "$BATS_TEST_TMPDIR/stages" "$BATS_TEST_TMPDIR/rows"
	sbx delete --force "$ID"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/rows")" -ge 12 ]
}

delete_and_check() {
	run_sbx delete --force "$ID"
	assert_status 0
	assert_no_leaks
}

@test 'the runtime is killed at each row of create' {
	local side name

	list_stages
	while read -r side name; do
		echo "# runtime killed at $name"
		at_stage --at "$name"
		delete_and_check
	done <"$BATS_TEST_TMPDIR/rows"
}

@test 'the child is killed at each of its rows: create fails and cleans up by itself' {
	local side name

	list_stages
	grep '^child ' "$BATS_TEST_TMPDIR/rows" >"$BATS_TEST_TMPDIR/child-rows"
	[ -s "$BATS_TEST_TMPDIR/child-rows" ]
	while read -r side name; do
		echo "# child killed at $name"
		at_stage --at "$name" --child
		[ "$(cat "$BATS_TEST_TMPDIR/stages")" = 1 ]
		[ -s "$BATS_TEST_TMPDIR/stderr" ]
		assert_no_leaks
	done <"$BATS_TEST_TMPDIR/child-rows"
}

@test 'the created container is killed before and while it starts' {
	create_container
	kill -9 "$(container_pid)"
	wait_until 5 status_is stopped
	run_sbx start "$ID"
	[ "$status" = 1 ]
	delete_and_check
	create_container
	kill -STOP "$(container_pid)"
	timeout -s KILL 1 "$SBX_RUNTIME" --root "$ROOT" start "$ID" 3>&- || true
	delete_and_check
}

@test 'control: without a kill the same container starts and goes' {
	create_container
	run_sbx start "$ID"
	assert_status 0
	[ "$(container_status)" = running ]
	delete_and_check
}

# The rows behind the closing of descriptors, by the system call that each of them makes.
@test 'run is killed at each row after created' {
	local call

	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW",
		syscalls: [{names: ["swapon"], action: "SCMP_ACT_ERRNO"}]} | del(.hooks)'
	for call in seccomp execve; do
		echo "# runtime killed when the child calls $call"
		"$SBX_TEST_BIN/kill-at-stage" --syscall $call -- "$SBX_RUNTIME" --root "$ROOT" run \
			--bundle "$BUNDLE" "$ID" >"$BATS_TEST_TMPDIR/stages" \
			2>"$BATS_TEST_TMPDIR/stderr" </dev/null 3>&-
		delete_and_check
	done
	add_hook startContainer '{"path": "/bin/true"}'
	echo '# runtime killed when a hook starts'
	"$SBX_TEST_BIN/kill-at-stage" --syscall execve -- "$SBX_RUNTIME" --root "$ROOT" run \
		--bundle "$BUNDLE" "$ID" >"$BATS_TEST_TMPDIR/stages" \
		2>"$BATS_TEST_TMPDIR/stderr" </dev/null 3>&-
	delete_and_check
}

@test 'the child is killed at each row after created: run fails and cleans up by itself' {
	local call

	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW",
		syscalls: [{names: ["swapon"], action: "SCMP_ACT_ERRNO"}]} | del(.hooks)'
	for call in seccomp execve; do
		echo "# child killed when it calls $call"
		"$SBX_TEST_BIN/kill-at-stage" --syscall $call --child -- "$SBX_RUNTIME" \
			--root "$ROOT" run --bundle "$BUNDLE" "$ID" \
			>"$BATS_TEST_TMPDIR/stages" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null 3>&-
		[ "$(cat "$BATS_TEST_TMPDIR/stages")" != 0 ]
		assert_no_leaks
	done
}

# exec_at_stage COMMAND OPTIONS...
exec_at_stage() {
	local command=$1

	shift
	"$SBX_TEST_BIN/kill-at-stage" "$@" -- "$SBX_RUNTIME" --root "$ROOT" --debug \
		--log "$BATS_TEST_TMPDIR/log" exec "$ID" $command \
		>"$BATS_TEST_TMPDIR/stages" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null 3>&-
}

@test 'the runtime is killed at each row of exec: the container lives, the payload does not start' {
	local side name

	edit_config 'del(.hooks)'
	start_sleeper
	exec_at_stage true --list
	cp "$BATS_TEST_TMPDIR/stages" "$BATS_TEST_TMPDIR/rows"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/rows")" -ge 10 ]
	while read -r side name; do
		echo "# runtime killed at $name"
		exec_at_stage 'sleep 1001' --at "$name"
		wait_until 5 eval '[ "$(sbx ps --format json "$ID" | jq length)" = 1 ]'
		[ "$(container_status)" = running ]
	done <"$BATS_TEST_TMPDIR/rows"
	delete_and_check
}
