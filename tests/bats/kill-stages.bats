# SIGKILL at every row of the stage table: whatever died, `delete --force` leaves nothing.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	export LSAN_OPTIONS=detect_leaks=0 # a check for leaks is not possible under ptrace
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

@test 'the runtime is killed at each row of create under a profile with limits' {
	local side name

	cgroup_has pids || skip_host 'no pids controller'
	attack_setup
	use_profile '.limits = {pids: 50} | .protect = [".envrc", ".vscode/tasks.json"]'
	list_stages
	while read -r side name; do
		echo "# runtime killed at $name"
		at_stage --at "$name"
		delete_and_check
		assert_equal "$(ls -A "$WS")" '' # nor a placeholder
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

# The rows behind the closing of descriptors, and what the child calls in each.
BEHIND='created accept4
boundary socket
start hooks execve
landlock landlock_restrict_self
filter seccomp
exec execve'

@test 'every row of the stage table is one of those at which something is killed here' {
	local table=$SBX_TESTS/../backends/linux/sequence.c

	[ -e "$table" ] || skip_host 'the tests stand without the sources'
	attack_setup
	use_profile '.protect = [".envrc"]'
	list_stages
	cut -d' ' -f2- "$BATS_TEST_TMPDIR/rows" >"$BATS_TEST_TMPDIR/killed"
	sed 's/ [a-z0-9_]*$//' <<<"$BEHIND" >>"$BATS_TEST_TMPDIR/killed"
	# without no_new_privs, which a profile always sets
	echo 'early filter' >>"$BATS_TEST_TMPDIR/killed"
	sed -n '/ create_rows\[\]/,/^};/s/^\t{"\([^"]*\)".*/\1/p' "$table" | sort -u >"$BATS_TEST_TMPDIR/table"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/table")" -ge 20 ]
	assert_equal "$(sort -u "$BATS_TEST_TMPDIR/killed")" "$(<"$BATS_TEST_TMPDIR/table")"
}

# run_at_call CALL OPTIONS...: run (or $VERB) under the tracer until the child makes this call
run_at_call() {
	local call=$1

	shift
	"$SBX_TEST_BIN/kill-at-stage" --syscall "$call" "$@" -- "$SBX_RUNTIME" --root "$ROOT" \
		"${VERB:-run}" --bundle "$BUNDLE" "$ID" >"$BATS_TEST_TMPDIR/stages" 2>"$BATS_TEST_TMPDIR/stderr" \
		</dev/null 3>&-
}

landlock_works() {
	run_sbx doctor
	grep -q '^ok *landlock' <<<"$output" || skip_host 'no Landlock'
}

@test 'under a profile: the runtime, or the child, is killed at each row after created' {
	local call

	landlock_works
	attack_setup
	use_profile
	edit_config 'del(.hooks)'
	for call in socket landlock_restrict_self seccomp execve; do
		echo "# runtime killed when the child calls $call"
		run_at_call $call
		delete_and_check
		echo "# child killed when it calls $call"
		run_at_call $call --child
		[ "$(cat "$BATS_TEST_TMPDIR/stages")" != 0 ]
		assert_no_leaks
	done
}

# kill_waiting OPTIONS...: create may have ended before its child waits, then again
kill_waiting() {
	local left

	for ((left = 20; left > 0; left--)); do
		if VERB=create run_at_call accept4 "$@"; then
			return 0
		fi
		delete_and_check
	done
	return 1
}

@test 'the runtime, or the child, is killed when the child waits for start' {
	kill_waiting
	delete_and_check
	kill_waiting --child
	wait_until 5 eval '[ ! -e "$ROOT/$ID" ] || status_is stopped'
	delete_and_check
}

@test 'under a profile: a start hook, which is confined as well, is killed with its runtime' {
	landlock_works
	attack_setup
	use_profile
	edit_config 'del(.hooks)'
	add_hook startContainer '{"path": "/bin/true"}'
	run_at_call landlock_restrict_self
	delete_and_check
}

@test 'without no_new_privs: the runtime, or the child, is killed at the early filter' {
	edit_config '.process.noNewPrivileges = false | del(.hooks) | .linux.seccomp = {
		defaultAction: "SCMP_ACT_ALLOW",
		syscalls: [{names: ["swapon"], action: "SCMP_ACT_ERRNO"}]}'
	list_stages
	grep -q '^child early filter$' "$BATS_TEST_TMPDIR/rows"
	at_stage --at 'early filter'
	delete_and_check
	at_stage --at 'early filter' --child
	[ "$(cat "$BATS_TEST_TMPDIR/stages")" = 1 ]
	assert_no_leaks
}

# ---- start -----------------------------------------------------------------------------------------

# start_at_call N: start is killed at its Nth system call from connect(2) on; 3: it made fewer
start_at_call() {
	"$SBX_TEST_BIN/kill-at-stage" --own connect "$1" -- "$SBX_RUNTIME" --root "$ROOT" start "$ID" \
		>"$BATS_TEST_TMPDIR/stages" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null 3>&-
}

runs_payload() {
	[ "$(cat "/proc/$1/comm")" = sleep ]
}

# assert_true_status: what the status says is what the process does, and start acts by it.
assert_true_status() {
	local pid

	pid=$(container_pid)
	if status_is created; then
		refute runs_payload "$pid"
		run_sbx start "$ID"
		assert_status 0
	else
		status_is running
		run_sbx start "$ID"
		assert_error 'already running'
		run_sbx delete "$ID"
		assert_error 'not stopped: running'
	fi
	status_is running
	runs_payload "$pid"
	run_sbx exec "$ID" true
	assert_status 0
}

@test 'start is killed at each of its system calls: the status is what the process does' {
	local n=0 result=0 created=0 running=0

	edit_config 'del(.hooks)'
	while [ $result = 0 ]; do
		n=$((n + 1))
		create_container
		result=0
		start_at_call $n || result=$?
		# the message is on its way, or it was never sent
		sleep 0.1
		echo "# call $n: $(container_status)"
		if status_is created; then
			created=$((created + 1))
		else
			running=$((running + 1))
		fi
		assert_true_status
		delete_and_check
	done
	[ $result = 3 ]
	[ $created -ge 2 ]
	[ $running -ge 4 ]
}

@test 'run --detach is killed at each system call from its start on: stopped or running, and truly' {
	local n result=0 first=0

	edit_config 'del(.hooks)'
	# MSG_PROCEED and MSG_START are the messages of the runtime: from the first one on
	for ((n = 1; result == 0; n += 2)); do
		result=0
		"$SBX_TEST_BIN/kill-at-stage" --own sendmsg $n -- "$SBX_RUNTIME" --root "$ROOT" run \
			--detach --bundle "$BUNDLE" "$ID" >"$BATS_TEST_TMPDIR/stages" \
			2>"$BATS_TEST_TMPDIR/stderr" </dev/null 3>&- || result=$?
		wait_until 5 settled
		echo "# call $n: $(container_status)"
		status_is stopped || first=${first/#0/$n}
		run_sbx delete "$ID"
		if [ "$status" != 0 ]; then
			assert_error 'not stopped: running'
		fi
		delete_and_check
	done
	[ $result = 3 ]
	[ "$first" -gt 1 ]
}

# settled: a child that dies with its runtime has died
settled() {
	local pid

	pid=$(container_pid)
	[ "$pid" = 0 ] || runs_payload "$pid"
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

@test 'exec is killed at each system call from its first message on: the container lives, all goes' {
	local n result=0

	edit_config 'del(.hooks)'
	start_sleeper
	for ((n = 1; result == 0; n++)); do
		result=0
		"$SBX_TEST_BIN/kill-at-stage" --own sendmsg $n -- "$SBX_RUNTIME" --root "$ROOT" exec \
			--detach "$ID" sleep 1001 >"$BATS_TEST_TMPDIR/stages" \
			2>"$BATS_TEST_TMPDIR/stderr" </dev/null 3>&- || result=$?
		# before anything was said the process goes with its exec
		[ $n -gt 1 ] || wait_until 5 eval '[ "$(sbx ps --format json "$ID" | jq length)" = 1 ]'
		status_is running
	done
	[ $result = 3 ]
	[ $n -gt 10 ]
	[ "$(sbx ps --format json "$ID" | jq length)" -gt 1 ]
	delete_and_check
}

# Stopped before it asked to die with its maker: no state names it, and the lock is still its own.
@test 'a child that was stopped at its first moment does not outlive delete --force' {
	local side name child

	list_stages
	read -r side name <"$BATS_TEST_TMPDIR/rows"
	echo "# $side killed at $name"
	at_stage --at "$name"
	bash -c 'exec 9<"$1"; flock -x 9; printf sbx/init >/proc/self/comm; kill -STOP $$; sleep 1000' \
		- "$ROOT/$ID" 3>&- &
	child=$!
	wait_until 5 grep -q '^State:.T' "/proc/$child/status"
	delete_and_check
	refute kill -0 "$child"
}
