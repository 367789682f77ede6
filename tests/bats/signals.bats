load helpers

setup() {
	require_root
	helpers_setup
}

# ticks: a container that writes a line to its stdout each 20 ms
start_ticking() {
	set_script 'while :; do echo tick; usleep 20000 2>/dev/null || sleep 0.02; done'
	create_container
	run_sbx start "$ID"
	assert_status 0
	wait_until 5 ticking
}

ticking() {
	local before

	before=$(wc -l <"$BATS_TEST_TMPDIR/stdout.ticks")
	sleep 0.3
	[ "$(wc -l <"$BATS_TEST_TMPDIR/stdout.ticks")" -gt "$before" ]
}

# The stdout of the container is that of create.
create_container() {
	status=0
	sbx create --bundle "$BUNDLE" "$ID" >"$BATS_TEST_TMPDIR/stdout.ticks" \
		2>"$BATS_TEST_TMPDIR/stderr" </dev/null || status=$?
	output='' stderr=$(cat "$BATS_TEST_TMPDIR/stderr")
	assert_status 0
}

@test 'kill takes numbers and names in any case, TERM by default' {
	local sig

	for sig in 9 KILL SIGKILL sigkill Kill; do
		start_sleeper
		run_sbx kill "$ID" $sig
		assert_status 0
		wait_until 5 status_is stopped
		run_sbx delete "$ID"
		assert_status 0
	done
	set_script 'trap "exit 0" TERM; while :; do sleep 0.05; done'
	create_container
	run_sbx start "$ID"
	sleep 0.3
	run_sbx kill "$ID"
	assert_status 0
	wait_until 5 status_is stopped
}

@test 'kill says what managers match' {
	run_sbx kill nothing-of-that-name
	assert_error 'does not exist'
	start_sleeper
	run_sbx kill "$ID" NOSUCH
	assert_error 'unknown signal "NOSUCH"'
	run_sbx kill "$ID" 999
	assert_error 'unknown signal "999"'
	[ "$(container_status)" = running ]
	run_sbx kill "$ID" KILL
	assert_status 0
	wait_until 5 status_is stopped
	run_sbx kill "$ID" KILL
	assert_error 'container not running: no such process'
	run_sbx kill --all "$ID" KILL
	assert_status 0
}

@test 'kill: signal 0 asks whether the process is there, and is sent to nobody' {
	start_sleeper
	run_sbx kill "$ID" 0
	assert_status 0
	assert_equal "$output$stderr" ''
	run_sbx kill --all "$ID" 0
	assert_status 0
	[ "$(container_status)" = running ]
	run_sbx kill "$ID" KILL
	wait_until 5 status_is stopped
	run_sbx kill "$ID" 0
	assert_error 'container not running'
	run_sbx kill --all "$ID" 0
	assert_error 'container not running'
}

@test 'kill --all with signal 0 finds what outlived the first process' {
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	set_script 'sleep 1001 & exit'
	create_container
	run_sbx start "$ID"
	wait_until 5 status_is stopped
	run_sbx kill "$ID" 0
	assert_error 'container not running'
	run_sbx kill --all "$ID" 0
	assert_status 0
	run_sbx kill --all "$ID" KILL
	assert_status 0
	wait_until 5 eval 'refute sbx kill --all "$ID" 0 2>/dev/null'
}

@test 'kill --all reaches every process' {
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	set_script 'sleep 1001 & sleep 1002 & sleep 1003 & wait'
	create_container
	run_sbx start "$ID"
	wait_until 5 eval '[ "$(sbx ps --format json "$ID" | jq length)" = 4 ]'
	run_sbx kill --all "$ID" TERM
	assert_status 0
	wait_until 5 eval '[ "$(sbx ps --format json "$ID" | jq length)" = 0 ]'
}

@test 'kill and delete of all whose id matches a regular expression' {
	local one=$ID two=$ID-two other=x$ID

	for ID in $one $two $other; do
		start_sleeper
		edit_config '.linux.cgroupsPath += "x"'
	done
	ID=$one
	run_sbx kill --regex "^$one" KILL
	assert_status 0
	wait_until 5 status_is stopped
	[ "$(sbx state "$two" | jq -r .status)" = stopped ]
	[ "$(sbx state "$other" | jq -r .status)" = running ]
	# one that fails does not keep it from the others
	run_sbx delete -r .
	assert_error "$other that is not stopped"
	run_sbx list -q
	assert_output "$other"
	run_sbx kill "$one" KILL # an id is no pattern
	assert_error 'does not exist'
	run_sbx delete --force --regex 'nobody$'
	assert_status 0
	run_sbx delete --regex '('
	assert_error 'no regular expression'
	run_sbx delete --force --regex "^.$one\$"
	assert_status 0
	run_sbx list -q
	assert_output ''
}

@test 'kill: realtime signals by their distance' {
	set_script 'trap "echo 37 >>/workspace/got" 37; trap "echo 62 >>/workspace/got" 62; : >/workspace/up
		while :; do sleep 0.05; done'
	create_container
	run_sbx start "$ID"
	wait_until 10 test -e "$BUNDLE/rootfs/workspace/up"
	run_sbx kill "$ID" sigrtmin+3
	assert_status 0
	run_sbx kill "$ID" RTMAX-2
	assert_status 0
	wait_until 5 test "$(sort "$BUNDLE/rootfs/workspace/got" | tr '\n' ' ')" = '37 62 ' ||
		[ "$(sort "$BUNDLE/rootfs/workspace/got" | tr '\n' ' ')" = '37 62 ' ]
	for signal in RTMIN+31 RTMIN-1 RTMAX+1 RTMIN+ RTMIN+x; do
		run_sbx kill "$ID" "$signal"
		assert_error "unknown signal \"$signal\""
	done
}

@test 'pause stops everything, resume lets it go on' {
	start_ticking
	run_sbx pause "$ID"
	assert_status 0
	[ "$(container_status)" = paused ]
	run ticking
	[ "$status" != 0 ]
	run_sbx pause "$ID"
	assert_error 'container not running'
	run_sbx resume "$ID"
	assert_status 0
	[ "$(container_status)" = running ]
	ticking
	run_sbx resume "$ID"
	assert_error 'container not paused'
}

# dies_by_kill [OPTION] CONTAINER
dies_by_kill() {
	run_sbx kill "$@" KILL
	assert_status 0
	wait_until 5 status_is stopped
	run_sbx delete "$ID"
	assert_status 0
}

@test 'a paused container dies by kill and by delete --force, and is thawed' {
	start_sleeper
	run_sbx pause "$ID"
	assert_status 0
	dies_by_kill "$ID"
	start_sleeper
	run_sbx pause "$ID"
	run_sbx delete "$ID"
	assert_error 'not stopped: paused'
	run_sbx delete --force "$ID"
	assert_status 0
	assert_no_leaks
}

# As by a runtime in the container: a v1 group below holds its processes whatever the one above does.
@test 'a group below that is frozen for itself does not keep a container from its end' {
	local dir

	require_root
	need freezer
	dir=$(cgroup_dir freezer)
	[ -e "${dir%"$CGROUP"*}/tasks" ] || skip 'host: it has no freezer of cgroup v1'
	freeze_below() {
		mkdir "$dir/below"
		sbx_detached exec --detach "$ID" sleep 1000
		sbx ps -f json "$ID" | jq '.[-1]' >"$dir/below/cgroup.procs"
		echo FROZEN >"$dir/below/freezer.state"
		wait_until 5 grep -q FROZEN "$dir/below/freezer.state"
	}
	start_sleeper
	freeze_below
	run_sbx delete --force "$ID"
	assert_status 0
	[ ! -e "$dir" ]
	start_sleeper
	freeze_below
	dies_by_kill "$ID"
	start_sleeper
	freeze_below
	dies_by_kill --all "$ID"
	assert_no_leaks
}

# delete kills before it waits for the lock that pause holds.
@test 'a container that ends while it is paused is not waited for' {
	local began said=$BATS_TEST_TMPDIR/said

	set_args sleep 1000
	for _ in {1..20}; do
		sbx_detached run --detach --bundle "$BUNDLE" "$ID"
		assert_status 0
		began=$SECONDS
		sbx pause "$ID" >/dev/null 2>>"$said" &
		sleep 0.001
		sbx delete --force "$ID"
		wait $! || true
		[ $((SECONDS - began)) -lt 4 ]
	done
	refute grep 'timed out' "$said"
}

@test 'pause and resume of a stopped container are errors' {
	set_args true
	create_container
	run_sbx start "$ID"
	wait_until 5 status_is stopped
	run_sbx pause "$ID"
	assert_error 'container not running'
	run_sbx resume "$ID"
	assert_error 'container not paused'
}

@test 'ps lists pids of the host as integers, and a table' {
	start_sleeper
	run_sbx ps --format json "$ID"
	assert_status 0
	[ "$(jq -c . <<<"$output")" = "[$(container_pid)]" ]
	run_sbx ps "$ID"
	assert_status 0
	[[ $output = *PID*"$(container_pid)"*sleep* ]]
	run_sbx ps --format xml "$ID"
	assert_error 'unknown format "xml"'
	run_sbx ps nothing-of-that-name
	assert_error 'does not exist'
}

@test 'a group above that is frozen refuses the container, and nothing is left' {
	local file=freezer.state frozen=FROZEN thawed=THAWED above

	require_root
	above=$(dirname "$(cgroup_dir freezer || cgroup_dir pids)")
	cgroup_dir freezer >/dev/null || { file=cgroup.freeze frozen=1 thawed=0; }
	mkdir -p "$above"
	echo $frozen >"$above/$file"
	set_args true
	run timeout 20 "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID"
	echo $thawed >"$above/$file"
	[ "$status" = 1 ]
	[[ $output = *'a group above it is frozen'* ]]
	run_container # control
	assert_status 0
}
