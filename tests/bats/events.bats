# events: the figures of a container's cgroup in the form that go-runc reads.
load helpers

setup() {
	require_root
	helpers_setup
}

# figure FILTER: of the statistics in $output
figure() {
	jq -er "$1" <<<"$output"
}

@test 'events --stats: one object, with the figures of the cgroup' {
	cgroup_dir memory >/dev/null || skip_host 'no memory controller'
	edit_config '.linux.resources = {memory: {limit: 67108864}, pids: {limit: 20}}'
	set_script 'i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; sleep 1000 & wait'
	create_container
	run_sbx start "$ID"
	wait_until 10 sleeps
	run_sbx events --stats "$ID"
	assert_status 0
	assert_equal "$(wc -l <<<"$output")" 1
	assert_equal "$(figure '.type, .id' | tr '\n' ' ')" "stats $ID "
	figure '.data.cpu.usage | .total >= .user and .total > 1000000'
	assert_equal "$(figure .data.pids.limit)" 20
	assert_equal "$(figure .data.pids.current)" 2
	assert_equal "$(figure .data.memory.usage.limit)" 67108864
	figure '.data.memory.usage | .usage > 0 and .usage <= .limit'
	figure '.data.memory.raw | length > 5'
	figure '.data.blkio.ioServiceBytesRecursive | type == "array"'
	figure '.data.hugetlb | type == "object"'
}

sleeps() {
	run_sbx ps --format json "$ID"
	[ "$(jq length <<<"$output")" = 2 ]
}

@test 'events: a line each interval, until the container ends' {
	local reader

	start_sleeper
	"$SBX_RUNTIME" --root "$ROOT" events --interval 100ms "$ID" >"$BATS_TEST_TMPDIR/lines" 3>&- &
	reader=$!
	wait_until 10 has_lines 3
	run_sbx kill "$ID" KILL
	assert_status 0
	wait $reader
	assert_equal "$(jq -r .type "$BATS_TEST_TMPDIR/lines" | sort -u)" stats
}

has_lines() {
	[ "$(wc -l <"$BATS_TEST_TMPDIR/lines")" -ge "$1" ]
}

@test 'events: a process that is killed for want of memory' {
	local reader

	cgroup_dir memory >/dev/null || skip_host 'no memory controller'
	edit_config '.linux.resources = {memory: {limit: 16777216, swap: 16777216}}'
	set_script 'while [ ! -e /tmp/go ]; do sleep 0.1; done; head -c 100m /dev/zero | tail; sleep 1000'
	create_container
	run_sbx start "$ID"
	"$SBX_RUNTIME" --root "$ROOT" events --interval 10m "$ID" >"$BATS_TEST_TMPDIR/lines" 3>&- &
	reader=$!
	sleep 0.5
	run_sbx exec "$ID" touch /tmp/go
	assert_status 0
	wait_until 20 has_lines 1
	assert_equal "$(head -n 1 "$BATS_TEST_TMPDIR/lines" | jq -c .)" '{"type":"oom","id":"'"$ID"'"}'
	run_sbx kill "$ID" KILL
	wait $reader
}

@test 'events: a limit that is none is one number on every layout' {
	cgroup_dir memory >/dev/null || skip_host 'no memory controller'
	edit_config 'del(.linux.resources.memory)'
	start_sleeper
	run_sbx events --stats "$ID"
	assert_status 0
	# jq rounds: as text
	refute grep -q '"limit":9223372036854771712' <<<"$output"
	grep -Eq '"usage":\{"limit":18446744073709551615' <<<"$output"
	run_sbx update --memory 64m "$ID" # control
	run_sbx events --stats "$ID"
	grep -Eq '"usage":\{"limit":67108864' <<<"$output"
}

@test 'events: what cannot be is refused' {
	run_sbx events --stats "$ID"
	assert_error 'does not exist'
	set_args true
	create_container
	run_sbx events --interval 5 "$ID"
	assert_error 'unknown interval "5"'
	run_sbx events --interval 0s "$ID"
	assert_error 'unknown interval "0s": a number above 0'
	run_sbx start "$ID"
	wait_until 10 status_is stopped
	run_sbx events --stats "$ID"
	assert_error 'not running'
}
