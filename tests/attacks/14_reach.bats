# Attack 14: what a container with SYS_PTRACE reaches through the processes that join it: their
# descriptors, their root and working folder, their memory, the runtime's channel to them. The control
# is a runtime without a defence, tests/attacks/naive.c, which joins with what its caller had.
#
# SBX_TEST_ROUNDS: how many processes are started in each of the larger tests (100).
load ../bats/helpers
load attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	cp "$SBX_TEST_BIN/reach" "$BUNDLE/rootfs/bin/reach"
	OUTSIDE=$BATS_TEST_TMPDIR/outside
	mkdir "$OUTSIDE"
	echo 'of the host' >"$OUTSIDE/secret"
	edit_config '.process.capabilities |= map_values(. + ["CAP_SYS_PTRACE"])'
	export SBX_CALLER=the-secret-of-the-caller
	ROUNDS=${SBX_TEST_ROUNDS:-100}
}

start_reaching() {
	rm -f "$WS/stop"
	set_args reach /workspace/stop "$OUTSIDE/secret" the-secret-of -the-caller
	create_container
	run_sbx start "$ID"
	assert_status 0
	wait_until 10 grep -q reaching "$BATS_TEST_TMPDIR/stdout"
	before=$(host_state)
}

# stop_reaching: $findings, sorted
stop_reaching() {
	touch "$WS/stop"
	wait_until 10 status_is stopped
	findings=$(grep -v '^reaching$' "$BATS_TEST_TMPDIR/stdout" | sort)
	sbx delete --force "$ID"
}

host_state() {
	(cd "$OUTSIDE" && ls -A && cat secret && stat -c %Y .)
	(cd "$ROOT" && find . -type f -exec sha256sum {} + | sort)
}

found() {
	grep -q "^$1" <<<"$findings"
}

# exec_rounds N OPTIONS... : N times, or as often as half a minute allows. An exec is either done or
# says in one clean line what was forged, and does so in time.
exec_rounds() {
	local left=$1 end=$((SECONDS + 30)) log=$BATS_TEST_TMPDIR/rounds done=0

	shift
	while ((left-- > 0 && SECONDS < end)); do
		timeout 20 "$SBX_RUNTIME" --root "$ROOT" exec "$@" 2>&1 >/dev/null </dev/null 3>&- |
			cat >"$log"
		[ "${PIPESTATUS[0]}" = 0 ] || grep -q forged "$log"
		refute grep -q $'\033' "$log"
		done=$((done + 1))
	done
	[ "$done" -ge 10 ]
}

nothing_reached() {
	assert_same 'the host' "$before" "$(host_state)"
	stop_reaching
	found sees
	refute found read
	refute found made
	refute found writes
	refute found remembers
	[ ! -e "$OUTSIDE/secret.made" ]
}

# Beside the caller's own stdio only the channel to the runtime may be seen. $1: what else, a pattern.
holds_no_more() {
	local held

	held=$(grep '^holds ' <<<"$findings" | grep -vxE "holds (socket:|pipe:|/dev/null${1:+|$1})" || true)
	assert_same 'descriptors' '' "$held"
}

@test 'attack 14: through a runtime without a defence the host is read and written' {
	local round

	start_reaching
	for ((round = 0; round < 10; round++)); do
		"$SBX_TEST_BIN/intruder" open-as dir "$OUTSIDE" 9 \
			"$SBX_TEST_BIN/naive" join "$(container_pid)" /bin/true 3>&- || true
	done
	stop_reaching
	found sees
	found 'read of the host'
	found 'made a file'
	found remembers
	found "holds $OUTSIDE"
	[ -e "$OUTSIDE/secret.made" ]
}

@test 'attack 14: nothing of the host is reached through exec' {
	start_reaching
	exec_rounds "$ROUNDS" "$ID" true
	nothing_reached
	found forged # it was there in time, and could do no more
	holds_no_more
}

@test 'attack 14: nor through one with a terminal, which has nothing of the stdio of its caller' {
	start_reaching
	exec_rounds $((ROUNDS / 2)) --tty "$ID" true
	nothing_reached
	holds_no_more '/dev/pts/[0-9]+|/[0-9]+'
}

@test 'attack 14: nor through one of lower ids' {
	start_reaching
	exec_rounds $((ROUNDS / 2)) --user 1000:1000 "$ID" true
	nothing_reached
	holds_no_more
}

@test 'attack 14: the environment of who called create is not in what waits for start' {
	set_args true
	create_container
	run_sbx exec "$ID" sh -c 'grep -c the-secret /proc/1/environ; grep -c PATH= /proc/self/environ'
	assert_output $'0\n1'
	# the control: where the kernel shows what a caller has
	sh -c 'grep -q the-secret-of-the-caller /proc/self/environ'
}
