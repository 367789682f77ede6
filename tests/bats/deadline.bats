# The deadline of a profile: when it passes nothing of the container is left, whatever it did; and what
# keeps it cannot be taken away without that.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	deadline 500ms 300ms
}

# deadline TIME GRACE
deadline() {
	use_profile '.limits = {deadline: $d, terminateGrace: $g}' --arg d "$1" --arg g "$2"
}

# timed COMMAND...: $took in ms
timed() {
	local begin

	begin=$(date +%s%3N)
	"$@"
	took=$(($(date +%s%3N) - begin))
}

# monitors: the pids of the container's monitor, the elder first
monitors() {
	local elder

	elder=$(jq .monitorPid "$ROOT/$ID/state")
	echo "$elder" "$(pgrep -P "$elder")"
}

ends() {
	wait_until 10 status_is stopped
}

# running: a container that nothing ends but a kill
running() {
	set_script 'trap "" TERM; : >/workspace/up; while :; do sleep 0.05; done'
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	assert_status 0
	wait_until 5 test -e "$WS/up"
}

@test 'what ends in time keeps its status; what does not gets 124, and why' {
	set_script 'exit 7'
	run_container
	assert_status 7
	assert_same 'nothing to say' '' "$stderr"
	set_script 'sleep 100'
	timed run_container
	assert_error 'the deadline of its profile passed (limits.deadline)' 124
	[ "$took" -ge 500 ]
	[ "$took" -lt 5000 ]
}

@test 'the terminate signal comes first, the kill after the grace' {
	set_script 'trap "echo bye; exit 3" TERM; while :; do sleep 0.05; done'
	run_container
	assert_status 124
	assert_same 'said at the signal' bye "$output"
	set_script 'trap "" TERM; while :; do sleep 0.05; done'
	timed run_container
	assert_status 124
	[ "$took" -ge 800 ]
}

@test 'neither a session of its own, a double fork, ignored signals nor a held pipe outlives it' {
	local script='trap "" TERM HUP INT
		(setsid sh -c "trap \"\" TERM; sleep 100" &)
		(setsid sh -c "exec sleep 100" & exit) & wait; sleep 100'

	set_script "$script"
	timed eval '"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" 2>/dev/null | cat'
	[ "$took" -lt 5000 ]
	assert_no_leaks
	# in a pid namespace that others have as well, where the first process's end ends nobody else
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	timed eval '"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" 2>/dev/null | cat'
	[ "$took" -lt 5000 ]
	assert_no_leaks
}

@test 'the time counts from the start, and a detached container says why in the log' {
	set_script ': >/workspace/up; sleep 100'
	sbx_detached --log "$BATS_TEST_TMPDIR/log" create --bundle "$BUNDLE" "$ID"
	assert_status 0
	sleep 1
	status_is created
	sbx start "$ID"
	wait_until 5 test -e "$WS/up"
	ends
	assert_same 'why' deadline "$(tr -d ' ' <"$ROOT/$ID/end")"
	grep -q 'the deadline of its profile passed' "$BATS_TEST_TMPDIR/log"
	sbx delete "$ID"
	assert_no_leaks
}

@test 'a paused container ends too' {
	deadline 4s 300ms
	running
	sbx pause "$ID"
	status_is paused
	ends
}

@test 'a monitor that dies or is stopped takes the container along' {
	local victim signal

	deadline 100s 1s
	for victim in 0 1; do
		for signal in KILL TERM; do
			running
			sleep 0.2
			status_is running # control
			read -ra pids <<<"$(monitors)"
			kill -$signal "${pids[victim]}"
			ends
			sbx delete "$ID"
			rm "$WS/up"
		done
	done
	for victim in 0 1; do
		running
		read -ra pids <<<"$(monitors)"
		kill -STOP "${pids[victim]}"
		ends
		assert_same 'why' unwatched "$(tr -d ' ' <"$ROOT/$ID/end")"
		sbx delete "$ID"
		rm "$WS/up"
	done
	assert_no_leaks
}

@test 'without a descriptor, process or byte to spare it holds all the same' {
	deadline 4s 300ms
	running
	for pid in $(monitors); do
		prlimit --pid "$pid" --nofile=0:0 --nproc=0:0 --fsize=0:0
	done
	ends
}

@test 'nothing starts where the monitor is gone' {
	set_script ': >/workspace/up'
	create_container
	read -ra pids <<<"$(monitors)"
	kill -STOP "${pids[0]}"
	kill -KILL "${pids[1]}"
	kill -KILL "${pids[0]}"
	ends || true
	run_sbx start "$ID"
	assert_status 1
	refute test -e "$WS/up"
}

@test 'a container without a deadline has no monitor' {
	use_profile
	set_args sleep 1000
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	assert_same 'no monitor' 0 "$(jq .monitorPid "$ROOT/$ID/state")"
	refute test -e "$ROOT/$ID/end"
}

@test 'the report has it among the limits' {
	run_sbx report --bundle "$BUNDLE"
	assert_status 0
	jq -e '.guarantees.resourceLimits and (.entries | any(.feature == "limits.deadline"
		and .mechanism == "monitor" and .outcome == "enforced"))' <<<"$output"
}
