# Loaded by rung2.bats and rootless_rung2.bats: a host that gives no namespaces, made from outside.

# rung2_setup: $WS is the current folder and the workspace of profiles; $PROFILE is written by use_rung2.
rung2_setup() {
	WS=$BATS_TEST_TMPDIR/ws
	OUT=$BATS_TEST_TMPDIR/out
	PROFILE=$BATS_TEST_TMPDIR/profile.json
	mkdir -p "$WS" "$OUT"
	cp "$SBX_TEST_BIN/attack" "$WS/attack"
	echo secret >"$OUT/file"
	cd "$WS" || return
	export HOME=/nonexistent
}

# use_rung2 [JQ FILTER]: workspace and command open, what there is is taken.
use_rung2() {
	jq -n --arg ws "$WS" '{version: 1, workspace: {root: $ws, read: "allow", write: "allow"}, command: "allow",
		minLevel: "none"} | '"${1:-.}" >"$PROFILE"
}

# The host of the test is "$HOST_WORDS CMD".
on_host() {
	run --separate-stderr "${HOST_WORDS[@]}" "$SBX_RUNTIME" --root "$ROOT" "$@" 3>&-
}

direct_on_host() {
	on_host run --profile "$PROFILE" -- "$@"
}

# shared_by COMMAND...: $shared, what `attack shared` says of the host when that command runs it.
shared_by() {
	local listener

	rm -f "$OUT/socket"
	"$SBX_TEST_BIN/attack" listen "$OUT/socket" 3>&- &
	listener=$!
	wait_until 5 test -S "$OUT/socket"
	shared=$("$@" "$WS/attack" shared "$OUT/file" "$OUT/socket" $listener 3>&- | paste -sd ' ')
	kill $listener
	wait $listener || true
}

shared_on_host() {
	shared_by "${HOST_WORDS[@]}" "$SBX_RUNTIME" --root "$ROOT" run --profile "$PROFILE" --
}
