# SCMP_ACT_NOTIFY: the listener reaches the program at listenerPath, with the container process state,
# before anything of the payload runs; without it nothing runs.
load helpers

setup() {
	helpers_setup
	SOCKET=$BATS_TEST_TMPDIR/agent.sock
	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", listenerPath: $path, listenerMetadata: "from \"me\"",
		syscalls: [{names: ["mkdir", "mkdirat", "execve", "sendmsg", "futex"], action: "SCMP_ACT_NOTIFY"}]}' --arg path "$SOCKET"
	set_script 'mkdir /q && echo made; echo done'
}

teardown() {
	stop_agent
	helpers_teardown
}

start_agent() {
	rm -f "$SOCKET"
	"$SBX_TEST_BIN/seccomp-agent" "$SOCKET" "$BATS_TEST_TMPDIR/state.json" "$@" 3>&- &
	AGENT=$!
	wait_until 5 test -S "$SOCKET"
}

stop_agent() {
	[ -z "${AGENT:-}" ] || kill "$AGENT" 2>/dev/null || true
	AGENT=
}

# A container that runs under an agent of its own, $FIRST, and another agent for what comes next.
start_answered_sleeper() {
	start_agent
	start_sleeper
	FIRST=$AGENT
	start_agent
}

exec_is_answered() {
	run_sbx exec "$ID" sh -c 'mkdir /q && echo made; echo done'
	assert_status 0
	assert_output 'done'
	assert_stderr 'No medium found'
}

said() {
	jq -e "$1" "$BATS_TEST_TMPDIR/state.json" >/dev/null || {
		cat "$BATS_TEST_TMPDIR/state.json"
		return 1
	}
}

# covers linux.seccomp.listenerPath linux.seccomp.listenerMetadata
@test 'the agent answers the payload, and gets the container process state' {
	start_agent
	run_container
	assert_status 0
	assert_output 'done'
	assert_stderr 'No medium found'
	said '.fds == ["seccompFd"] and .metadata == "from \"me\"" and .pid > 1 and .ociVersion == "1.2.0"'
	said '.state.status == "creating" and .state.pid == .pid and (.state | has("id") and has("bundle"))'
	# The same without the profile: the folder is made.
	edit_config 'del(.linux.seccomp)'
	run_container
	assert_output $'made\ndone'
}

@test 'create passes nothing on while it waits, start does' {
	start_agent
	set_script 'mkdir /q; sleep 1000'
	create_container
	refute test -s "$BATS_TEST_TMPDIR/state.json"
	run_sbx start "$ID"
	assert_status 0
	said ".pid == $(sbx state "$ID" | jq .pid)"
}

@test 'without noNewPrivileges the filter comes early, and the agent with it' {
	edit_config '.process.noNewPrivileges = false | .process.user.uid = 1000'
	start_agent
	run_container
	assert_status 0
	assert_output 'done'
	assert_stderr 'No medium found'
	said '.state.status == "creating"'
}

@test 'exec has a listener of its own, with the state running' {
	start_answered_sleeper
	exec_is_answered
	said ".state.status == \"running\" and .pid != .state.pid and .state.pid == $(sbx state "$ID" | jq .pid)"
	kill "$FIRST"
}

@test 'exec without noNewPrivileges, and with a terminal' {
	edit_config '.process.noNewPrivileges = false'
	start_answered_sleeper
	exec_is_answered
	stop_agent
	start_agent
	run script -qec "$SBX_RUNTIME --root $ROOT exec -t $ID sh -c 'tty; mkdir /q && echo made'" /dev/null
	assert_output --partial /dev/pts/0
	assert_output --partial 'No medium found'
	kill "$FIRST"
}

@test 'nobody listens: the container does not start, and says who was asked' {
	run_container
	assert_error 'pass the seccomp listener on: send a descriptor to'
	assert_stderr "$SOCKET"
	assert_output ''
	refute sbx state "$ID"
	create_container
	run_sbx start "$ID"
	assert_error 'pass the seccomp listener on'
	[ "$(container_status)" = stopped ]
}

@test 'an agent that goes away leaves calls that do not exist' {
	start_agent
	set_script 'until [ -e /gone ]; do sleep 0.05; done; mkdir /q; echo done'
	edit_config '.linux.seccomp.syscalls[0].names = ["mkdir", "mkdirat"]'
	create_container
	run_sbx start "$ID"
	assert_status 0
	stop_agent
	touch "$BUNDLE/rootfs/gone"
	wait_until 5 grep -q "done" "$BATS_TEST_TMPDIR/stdout"
	grep -q 'not implemented' "$BATS_TEST_TMPDIR/stderr"
}

# Before the payload runs the calls of the runtime are notified as well.
@test 'an agent that goes away at once does not leave the early filter waiting for it' {
	edit_config '.process.noNewPrivileges = false | .linux.seccomp.syscalls[0].names = ["getcwd", "mkdir", "mkdirat"]'
	start_agent leave
	run timeout 20 "$SBX_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" "$ID" 3>&-
	assert_failure 1
	assert_output --partial 'not implemented'
	refute sbx state "$ID"
	start_answered_sleeper # the control
	stop_agent
	start_agent leave
	run timeout 20 "$SBX_RUNTIME" --root "$ROOT" exec "$ID" true 3>&-
	assert_failure 255
	kill "$FIRST"
}

@test 'what nobody could answer is refused' {
	edit_config 'del(.linux.seccomp.listenerPath, .linux.seccomp.listenerMetadata)'
	run_container
	assert_error 'needs a listenerPath'
	edit_config '.linux.seccomp.listenerMetadata = "x"'
	run_container
	assert_error 'is set without a listenerPath'
	edit_config '.linux.seccomp.listenerPath = "agent.sock"'
	run_container
	assert_error 'listenerPath'
	edit_config '.linux.seccomp.listenerPath = "/x" | .linux.seccomp.syscalls[0].names += ["write"]'
	run_container
	assert_error 'SCMP_ACT_NOTIFY to write'
	edit_config '.linux.seccomp.syscalls = [] | .linux.seccomp.defaultAction = "SCMP_ACT_NOTIFY"'
	run_container
	assert_error 'only single system calls may have'
}

@test 'the flag about listeners goes with one and without' {
	edit_config '.linux.seccomp.flags = ["SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV", "SECCOMP_FILTER_FLAG_LOG"]'
	start_agent
	run_container
	assert_status 0
	assert_output 'done'
	edit_config '.linux.seccomp.syscalls[0].action = "SCMP_ACT_ALLOW"'
	run_container
	assert_output $'made\ndone'
}

@test 'a limit of one process leaves no room for who passes the listener on' {
	is_root || skip_host 'a limit needs a cgroup'
	start_agent
	edit_config '.linux.resources.pids = {limit: 1}'
	set_args true
	run_container
	assert_error 'must leave room for one more'
	edit_config '.linux.resources.pids = {limit: 2}'
	run_container
	assert_status 0
}

@test 'under a profile nobody outside answers for the payload' {
	edit_config '.annotations["dev.sbx.profile"] = ({version: 1, workspace: {root: "/tmp", read: "allow", write: "allow"},
		host: {read: "allow", write: "allow"}, network: {access: "allow"}, command: "allow"} | tojson)'
	run_container
	assert_error 'SCMP_ACT_NOTIFY'
	assert_stderr 'under a profile'
}
