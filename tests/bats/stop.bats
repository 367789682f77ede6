# stop: a terminate signal, and a kill only where the grace runs out.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	attack_setup
}

# sleeper SIGNAL ACTION: a container that runs, whose program has a trap
sleeper() {
	set_script "trap '$2' $1; : >/workspace/up; while :; do sleep 0.05; done"
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	assert_status 0
	wait_until 5 test -e "$WS/up"
}

# stop ARGS...: and how long it took, in ms, as $took
stop() {
	local begin

	begin=$(date +%s%3N)
	run_sbx stop "$@" "$ID"
	took=$(($(date +%s%3N) - begin))
}

@test 'a program that ends by itself is not killed, and its own exit status counts' {
	set_script 'trap "echo bye; exit 3" TERM; : >/workspace/up; while :; do sleep 0.05; done'
	"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" >"$BATS_TEST_TMPDIR/said" 3>&- &
	wait_until 5 test -e "$WS/up"
	stop
	assert_status 0
	status=0
	wait $! || status=$?
	assert_same status 3 "$status"
	assert_same 'what it said' bye "$(cat "$BATS_TEST_TMPDIR/said")"
}

@test 'a program that does not end is killed after the grace, with all of the group' {
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	set_script 'trap "" TERM; (trap "" TERM; sleep 1000) & : >/workspace/up; while :; do sleep 0.05; done'
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	wait_until 5 test -e "$WS/up"
	stop --grace 300ms
	assert_status 0
	[ "$took" -ge 300 ]
	status_is stopped
	wait_until 5 sh -c "[ \$('$SBX_RUNTIME' --root '$ROOT' ps --format json '$ID' 2>/dev/null | jq length) = 0 ]"
}

@test 'repeating it is safe, and so are several at once; an unknown container is an error' {
	local pid stops=()

	sleeper TERM 'sleep 0.5; exit 0'
	for _ in 1 2 3 4; do
		"$SBX_RUNTIME" --root "$ROOT" stop "$ID" 3>&- &
		stops+=($!)
	done
	for pid in "${stops[@]}"; do
		wait "$pid"
	done
	status_is stopped
	stop
	assert_status 0
	run_sbx stop no-such
	assert_error 'does not exist'
	stop --grace 5
	assert_error '--grace takes digits with ms, s, m or h'
}

@test 'created, paused and started containers end' {
	set_args sleep 1000
	create_container
	stop
	assert_status 0
	[ "$took" -lt 5000 ]
	status_is stopped
	sbx delete "$ID"
	sleeper TERM 'exit 0'
	sbx pause "$ID"
	stop
	assert_status 0
	[ "$took" -lt 5000 ]
	status_is stopped
}

@test 'the image says by which signal, the profile how long' {
	set_annotation org.opencontainers.image.stopSignal SIGUSR1
	sleeper USR1 'exit 0'
	stop
	assert_status 0
	[ "$took" -lt 5000 ]
	sbx delete "$ID"
	rm "$WS/up"
	use_profile '.limits = {terminateGrace: "400ms"}'
	sleeper USR1 ''
	stop
	assert_status 0
	[ "$took" -ge 400 ]
	[ "$took" -lt 8000 ]
	status_is stopped
}
