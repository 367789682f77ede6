# run -- COMMAND as an ordinary user: nothing has to be set up for it.
load helpers

setup() {
	helpers_setup
	WS=$BATS_TEST_TMPDIR/ws
	mkdir -p "$WS"
	cd "$WS" || return
	export HOME=/nonexistent
}

@test 'rootless: a command in the current folder, with its status and the files it makes' {
	run_sbx run -- sh -c 'pwd; echo made >file; id -u; exit 5'
	assert_status 5
	assert_output "$WS"$'\n0'
	[ "$(cat "$WS/file")" = made ]
	[ "$(stat -c %u "$WS/file")" = "$EUID" ]
	[ -z "$(ls -A "$ROOT")" ]
}

@test 'rootless: the files of the same user elsewhere are not there, nor is a network' {
	local script="cat $BATS_TEST_TMPDIR/other 2>/dev/null; echo x 2>/dev/null >$BATS_TEST_TMPDIR/new && echo wrote
		sed 1,2d /proc/net/dev | grep -vc lo:; ls -A /sys | wc -l"

	echo other >"$BATS_TEST_TMPDIR/other"
	run_sbx run -- sh -c "$script"
	assert_output $'0\n0'
	run_sbx run --root "$BATS_TEST_TMPDIR:rw" -- sh -c "$script" # control
	assert_output $'other\nwrote\n0\n0'
}

@test 'rootless: a signal ends the command' {
	"$SBX_RUNTIME" --root "$ROOT" run -- sh -c 'echo >started; exec sleep 100' 3>&- &
	wait_until 5 test -e "$WS/started"
	kill -TERM $!
	status=0
	wait $! || status=$?
	[ "$status" = 143 ]
}

@test 'rootless: a deadline ends the command and all that it left' {
	local begin took

	jq -n '{version: 1, workspace: {read: "allow", write: "allow"}, command: "allow",
		limits: {deadline: "500ms", terminateGrace: "200ms"}}' >"$BATS_TEST_TMPDIR/limited.json"
	begin=$(date +%s%3N)
	run_sbx run --profile "$BATS_TEST_TMPDIR/limited.json" -- \
		sh -c 'trap "" TERM; (setsid sleep 100 &); echo began; sleep 100'
	took=$(($(date +%s%3N) - begin))
	assert_status 124
	assert_stderr 'the deadline of its profile passed'
	assert_output began
	[ "$took" -ge 500 ]
	[ "$took" -lt 6000 ]
}

@test 'rootless: settings and profiles of the user that are not there yet cannot be made from inside' {
	local script="mkdir -p '$WS/.config/sbx-runtime/profiles'; echo {} >'$WS/.config/sbx-runtime/profiles/agent.json'
		mkdir -p '$WS/.config/other' && echo made"

	export HOME=$WS
	run_sbx run --workspace "$WS" -- sh -c "$script"
	assert_output made # control: beside it
	refute test -e "$WS/.config/sbx-runtime/profiles"
	rmdir "$WS/.config/sbx-runtime" # made by the runtime, to be covered
}
