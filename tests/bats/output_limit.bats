# How much a container may write (limits.outputBytes): counted where it passes us, on both streams and
# on a terminal; beyond it nothing is passed on, and the container ends.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	use_profile '.limits = {outputBytes: 10000}'
}

@test 'what is below the limit comes through whole, on its own stream, with the status' {
	set_script 'i=0; while [ $i -lt 90 ]; do echo 0123456789012345678901234567890123456789012345678
		echo 0123456789012345678901234567890123456789012345678 >&2; i=$((i + 1)); done; exit 3'
	run_container
	assert_status 3
	assert_same 'lines out' 90 "$(wc -l <<<"$output")"
	assert_same 'lines err' 90 "$(wc -l <<<"$stderr")"
}

@test 'what is above it ends the container, with 125, and is discarded' {
	set_script 'trap "" TERM PIPE; (setsid yes >&2 &); yes'
	"$SBX_RUNTIME" --root "$ROOT" --log "$BATS_TEST_TMPDIR/log" run --bundle "$BUNDLE" "$ID" \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- || status=$?
	assert_same status 125 "$status"
	grep -q 'it wrote more than its profile allows (limits.outputBytes)' "$BATS_TEST_TMPDIR/err"
	passed=$(grep -hv sbx-runtime "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/err" | wc -c)
	assert_same 'bytes' 10000 "$passed"
	assert_no_leaks
}

@test 'a reader that is slow loses nothing, and one that leaves ends the writer' {
	set_script 'head -c 9999 /dev/zero | tr "\\0" x'
	read_slowly() {
		"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" 3>&- | (sleep 0.5; wc -c)
	}
	run read_slowly
	assert_output 9999
	use_profile '.limits = {outputBytes: "1GiB"}'
	set_script 'yes; echo $? >/workspace/ended; exit 0'
	run bash -o pipefail -c '"$0" --root "$1" run --bundle "$2" "$3" 3>&- | head -1' \
		"$SBX_RUNTIME" "$ROOT" "$BUNDLE" "$ID"
	assert_output y
	assert_no_leaks
}

@test 'a reader that does not read keeps run neither from a signal nor from the deadline' {
	mkfifo "$BATS_TEST_TMPDIR/stuck"
	exec 4<>"$BATS_TEST_TMPDIR/stuck"
	head -c 65536 /dev/zero >&4 # full
	use_profile '.limits = {outputBytes: "1GiB"}'
	set_script 'head -c 30000 /dev/zero; : >/workspace/up; exit 7'
	"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" >&4 3>&- 4>&- &
	wait_until 5 test -e "$WS/up"
	sleep 0.5
	kill -0 $! # control: it waits
	kill -TERM $!
	status=0
	wait $! || status=$?
	assert_same status 7 "$status"
	use_profile '.limits = {outputBytes: "1GiB", deadline: "500ms", terminateGrace: "100ms"}'
	set_script 'head -c 30000 /dev/zero; sleep 100'
	status=0
	timeout 20 "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" 2>/dev/null >&4 3>&- 4>&- || status=$?
	assert_same status 124 "$status"
	exec 4>&-
}

@test 'a terminal and exec are counted too' {
	set_script 'yes'
	edit_config '.process.terminal = true'
	run_container
	assert_status 125
	[ "${#output}" -le 10000 ]
	edit_config '.process.terminal = false'
	set_args sleep 1000
	"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" 3>&- >/dev/null 2>&1 &
	wait_until 5 status_is running
	run_sbx exec "$ID" echo few
	assert_output few
	run_sbx exec "$ID" sh -c yes
	assert_status 125
	wait_until 5 eval '! "$SBX_RUNTIME" --root "$ROOT" state "$ID" 2>/dev/null'
	wait $! || true
}

@test 'where nobody could count it is refused by name' {
	set_args true
	run_sbx create --bundle "$BUNDLE" "$ID"
	assert_error '/limits/outputBytes'
	run_sbx run --detach --bundle "$BUNDLE" "$ID"
	assert_error 'does not run in the foreground'
	assert_no_leaks
}
