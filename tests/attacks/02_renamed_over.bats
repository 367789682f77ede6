# A program on the host, which the container has no say about, puts a new file where a protected one was,
# as an editor's save and git's own configuration do; a writer inside waits for that moment.
load ../bats/helpers
load attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	mkdir -p "$WS/conf/deep"
	echo host >"$WS/guarded"
	echo host >"$WS/conf/deep/rc"
	LOG=$BATS_TEST_TMPDIR/log
}

# spin: a container whose program writes to the file as often as it can
spin() {
	set_script ': >/workspace/up; while :; do
		echo evil >>/workspace/guarded; echo evil >>/workspace/conf/deep/rc; done 2>/dev/null'
	sbx_detached --log "$LOG" --log-level warning run --detach --bundle "$BUNDLE" "$ID"
	assert_status 0
	wait_until 5 test -e "$WS/up"
}

# is_mounted NAME: the container has a mount there
is_mounted() {
	grep -qs " /workspace/$1 ro," "/proc/$(container_pid)/mountinfo"
}

# closed_again NAME: it is, and nothing is written from then on
closed_again() {
	local before

	wait_until 5 is_mounted "$1" || { cat "$ROOT/$ID/end" "$LOG"; return 1; }
	before=$(stat -c %s "$WS/$1")
	sleep 0.01
	assert_same "written behind the mount of $1" "$before" "$(stat -c %s "$WS/$1")"
}

@test 'control: without protection the writer writes' {
	use_profile
	spin
	wait_until 5 grep -q evil "$WS/guarded"
	wait_until 5 grep -q evil "$WS/conf/deep/rc"
}

@test 'a file that is renamed over is closed again, 200 times' {
	use_profile '.protect = ["guarded", "conf/deep/rc"]'
	spin
	for round in {1..200}; do
		echo "host $round" >"$WS/.new"
		mv "$WS/.new" "$WS/guarded"
		closed_again guarded
	done
	assert_same 'the file of the host' 'host 200' "$(head -1 "$WS/guarded")"
	refute grep -q evil "$WS/conf/deep/rc"
	[ "$(grep -c 'closed again' "$LOG")" -ge 100 ]
}

@test 'a folder above that is moved away and made anew, and a file that an editor writes in two steps' {
	use_profile '.protect = ["guarded", "conf/deep/rc"]'
	spin
	for round in {1..20}; do
		mv "$WS/conf" "$WS/old.$round"
		mkdir -p "$WS/conf/deep"
		echo "host $round" >"$WS/conf/deep/rc"
		closed_again conf/deep/rc
		mv "$WS/guarded" "$WS/guarded~"
		echo "host $round" >"$WS/guarded"
		closed_again guarded
	done
}

@test 'onDetach kill ends the container; so does a file that stays away, and one with a second link' {
	local change

	use_profile '.protect = ["guarded", "conf/deep/rc"] | .onDetach = "kill"'
	spin
	echo new >"$WS/.new"
	mv "$WS/.new" "$WS/guarded"
	wait_until 5 status_is stopped
	assert_same 'why' detached "$(tr -d ' ' <"$ROOT/$ID/end")"
	use_profile '.protect = ["guarded"]'
	for change in 'rm "$WS/guarded"' 'ln -sfn conf "$WS/guarded"' \
		'echo x >"$WS/.new"; ln "$WS/.new" "$WS/other"; mv "$WS/.new" "$WS/guarded"'; do
		sbx delete "$ID"
		rm -rf "$WS/up" "$WS/guarded" "$WS/other"
		echo host >"$WS/guarded"
		set_script ': >/workspace/up; sleep 1000' # one that writes may make the file in time
		sbx_detached run --detach --bundle "$BUNDLE" "$ID"
		wait_until 5 test -e "$WS/up"
		status_is running # control
		eval "$change"
		wait_until 5 status_is stopped
		assert_same 'why' detached "$(tr -d ' ' <"$ROOT/$ID/end")"
	done
}

@test 'a run in the foreground keeps them itself, without a process more' {
	use_profile '.protect = ["guarded", "conf/deep/rc"]'
	set_script 'trap "exit 9" IO; : >/workspace/up; while :; do
		echo evil >>/workspace/guarded; done 2>/dev/null'
	"$SBX_RUNTIME" --root "$ROOT" --log "$LOG" --log-level warning run --bundle "$BUNDLE" "$ID" 3>&- &
	run=$!
	wait_until 5 test -e "$WS/up"
	assert_same 'the monitor' $run "$(jq .monitorPid "$ROOT/$ID/state")"
	for round in {1..20}; do
		echo "host $round" >"$WS/.new"
		mv "$WS/.new" "$WS/guarded"
		closed_again guarded
	done
	kill -IO $run # a user's is passed on
	status=0
	wait $run || status=$?
	assert_same status 9 "$status"
	use_profile '.protect = ["guarded"] | .onDetach = "kill"'
	rm "$WS/up"
	"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	run=$!
	wait_until 5 test -e "$WS/up"
	echo new >"$WS/.new"
	mv "$WS/.new" "$WS/guarded"
	status=0
	wait $run || status=$?
	assert_same status 137 "$status"
	grep -q 'that is not closed again (onDetach)' "$BATS_TEST_TMPDIR/err"
	assert_no_leaks
	rm "$WS/up"
	"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	run=$!
	wait_until 5 test -e "$WS/up"
	timeout 5 "$SBX_RUNTIME" --root "$ROOT" delete --force "$ID"
	status=0
	wait $run || status=$?
	assert_same status 137 "$status"
}

@test 'what may not be read is not shown: the container ends' {
	use_profile '.roots = [{path: "/workspace/conf", read: "deny", write: "deny"}]'
	set_script ': >/workspace/up; while :; do cat /workspace/conf/deep/rc; done 2>/dev/null'
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	wait_until 5 test -e "$WS/up"
	mv "$WS/conf" "$WS/old"
	mkdir -p "$WS/conf/deep"
	echo secret >"$WS/conf/deep/rc"
	wait_until 5 status_is stopped
}

@test 'a payload that makes names without end does not keep the monitor busy' {
	local monitor before after

	use_profile '.protect = ["guarded"]'
	set_script 'while :; do : >/workspace/a; rm /workspace/a; done'
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	monitor=$(jq .monitorPid "$ROOT/$ID/state")
	before=$(awk '{ print $14 + $15 }' "/proc/$monitor/stat")
	sleep 2
	after=$(awk '{ print $14 + $15 }' "/proc/$monitor/stat")
	echo "$((after - before)) ticks in 2 s"
	[ $((after - before)) -le 50 ]
	echo new >"$WS/.new" # and it sees what matters all the same
	mv "$WS/.new" "$WS/guarded"
	closed_again guarded
}
