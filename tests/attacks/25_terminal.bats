# Attack 25: escape sequences on their way to an administrator's terminal, a terminal left in raw mode,
# core dumps.
load ../bats/helpers
load attacks

ESC=$'\e'
EVIL=$'\e]0;owned\a\e[2J\rfake\n\x9b31m'

setup() {
	require_root
	helpers_setup
	attack_setup
	cp "$SBX_TEST_BIN/intruder" "$BUNDLE/rootfs/bin/intruder"
}

# What a terminal would act upon: C0 but for the line's end, DEL, C1 in UTF-8 and raw.
no_controls() {
	local text

	text=$(LC_ALL=C tr -d '\n' <"$1" | LC_ALL=C tr -dc '\000-\037\177' | wc -c)
	[ "$text" = 0 ] || {
		echo "control bytes in:" >&2
		cat -v "$1" >&2
		return 1
	}
	refute env LC_ALL=C grep -q $'\xc2[\x80-\x9f]' "$1"
}

# says ARGS...: the program's stderr is one line without a control byte, and it failed.
says() {
	run "$SBX_RUNTIME" --root "$ROOT" "$@"
	assert_failure
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/said"
	no_controls "$BATS_TEST_TMPDIR/said"
}

@test 'attack 25: escapes in what the program is asked are escaped in what it says' {
	says "$EVIL"
	says state "$EVIL"
	says run --bundle "/no/$EVIL" "$ID"
	says run --bundle "$BUNDLE" "$EVIL"
	says run --profile "/no/$EVIL" --bundle "$BUNDLE" "$ID"
	says kill "$ID" "$EVIL"
	says profile check "/no/$EVIL"
	says --config "/no/$EVIL" run --bundle "$BUNDLE" "$ID"
}

@test 'attack 25: and those of a bundle' {
	set_args "/bin/$EVIL"
	says run --bundle "$BUNDLE" "$ID"
	set_args true
	edit_config '.process.cwd = $e' --arg e "/$EVIL/${ESC}[1m"
	edit_config '.mounts += [{destination: $e, type: "none", source: $e, options: ["bind"]}]' \
		--arg e "/$EVIL"
	says run --bundle "$BUNDLE" "$ID"
	edit_config '.mounts |= .[:-1] | .linux.sysctl = {($e): "1"} | .process.cwd = "/"' --arg e "$EVIL"
	says run --bundle "$BUNDLE" "$ID"
	edit_config '.linux.sysctl = {} | .hostname = $e' --arg e "$EVIL$EVIL$EVIL$EVIL$EVIL"
	says run --bundle "$BUNDLE" "$ID"
}

@test 'attack 25: and those of a profile' {
	set_args true
	use_profile '.[$e] = 1' --arg e "$EVIL"
	says run --bundle "$BUNDLE" "$ID"
	use_profile '.roots = [{path: $e, read: "allow"}]' --arg e "/$EVIL"
	says run --bundle "$BUNDLE" "$ID"
	set_annotation dev.sbx.profile "$EVIL"
	says run --bundle "$BUNDLE" "$ID"
	printf '{"version": "%b"}' '\e[2J' >"$BATS_TEST_TMPDIR/profile.json"
	says profile check "$BATS_TEST_TMPDIR/profile.json"
}

@test 'attack 25: and what a hook prints' {
	printf '#!/bin/sh\nprintf "\\033[2J\\033]0;owned\\007\\rfake" >&2\nexit 1\n' >"$BATS_TEST_TMPDIR/hook"
	chmod 755 "$BATS_TEST_TMPDIR/hook"
	edit_config '.hooks.createRuntime = [{path: $p}]' --arg p "$BATS_TEST_TMPDIR/hook"
	set_args true
	says run --bundle "$BUNDLE" "$ID"
	grep -q fake "$BATS_TEST_TMPDIR/said"
}

@test 'attack 25: the log file, in text and in JSON' {
	set_args "/bin/$EVIL"
	run "$SBX_RUNTIME" --root "$ROOT" --log "$BATS_TEST_TMPDIR/log" run --bundle "$BUNDLE" "$ID"
	no_controls "$BATS_TEST_TMPDIR/log"
	run "$SBX_RUNTIME" --root "$ROOT" --log "$BATS_TEST_TMPDIR/json" --log-format json \
		run --bundle "$BUNDLE" "$ID"
	no_controls "$BATS_TEST_TMPDIR/json"
	jq -e .msg "$BATS_TEST_TMPDIR/json"
}

@test 'attack 25: lists and reports' {
	local verb

	edit_config '.process.env += ["LD_PRELOAD\u001b[2J=/x"]'
	use_profile
	for verb in report plan; do
		if [ "$verb" = report ]; then
			sbx report --bundle "$BUNDLE" >"$BATS_TEST_TMPDIR/out"
		else
			sbx plan "$BUNDLE" >"$BATS_TEST_TMPDIR/out" || sbx plan --bundle "$BUNDLE" >"$BATS_TEST_TMPDIR/out"
		fi
		refute env LC_ALL=C grep -q "$ESC" "$BATS_TEST_TMPDIR/out"
		jq -e . "$BATS_TEST_TMPDIR/out" >/dev/null
	done
}

# ---- the caller's terminal -------------------------------------------------------------------------

# on_terminal TEXT: a shell on a terminal of its own runs TEXT; $output is what the terminal shows.
on_terminal() {
	command -v script >/dev/null || skip 'script is not installed'
	printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/on-terminal"
	# An input that ends would be typed into the terminal.
	[ -p "$BATS_TEST_TMPDIR/input" ] || mkfifo "$BATS_TEST_TMPDIR/input"
	run timeout 60 script -qec "bash $BATS_TEST_TMPDIR/on-terminal" /dev/null \
		3>&- <>"$BATS_TEST_TMPDIR/input"
	output=$(tr -d '\r' <<<"$output")
	mapfile -t lines <<<"$output"
}

RUN='"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID"'

terminal_bundle() {
	edit_config '.process.terminal = true'
	export ROOT BUNDLE ID SBX_RUNTIME SBX_TEST_BIN
}

@test 'attack 25: the caller is raw while the container runs, and as before afterwards' {
	terminal_bundle
	# What the payload waits for comes only when the caller has looked.
	set_script 'touch /workspace/in; while [ ! -e /workspace/out ]; do sleep 0.05; done; exit 7'
	export WS
	on_terminal '"$SBX_TEST_BIN/intruder" mode
		( while [ ! -e "$WS/in" ]; do sleep 0.05; done; "$SBX_TEST_BIN/intruder" mode </dev/tty
			touch "$WS/out" ) &
		'"$RUN"'; echo "status $?"; wait; "$SBX_TEST_BIN/intruder" mode'
	assert_output $'cooked\nraw\nstatus 7\ncooked'
}

@test 'attack 25: also where the payload makes its own terminal raw and is killed' {
	terminal_bundle
	set_script 'stty raw -echo; intruder mode; kill -9 $$'
	on_terminal "$RUN; \"\$SBX_TEST_BIN/intruder\" mode"
	assert_line --partial cooked
	set_script 'stty raw -echo; touch /workspace/in; sleep 1000'
	rm -f "$WS/in"
	export WS
	on_terminal '( while [ ! -e "$WS/in" ]; do sleep 0.05; done
			"$SBX_RUNTIME" --root "$ROOT" kill "$ID" KILL ) &
		'"$RUN"'; echo "status $?"; wait; "$SBX_TEST_BIN/intruder" mode'
	assert_line 'status 137'
	assert_line cooked
}

@test 'attack 25: also where the runtime fails' {
	terminal_bundle
	set_args /no/such/program
	on_terminal "$RUN; \"\$SBX_TEST_BIN/intruder\" mode"
	assert_line cooked
	assert_line --partial 'no such file'
}

@test 'attack 25: also where the runtime is ended by a signal' {
	terminal_bundle
	set_script 'trap "exit 3" TERM; touch /workspace/in; while :; do sleep 0.05; done'
	export WS
	on_terminal '( while [ ! -e "$WS/in" ]; do sleep 0.05; done; sleep 0.2
			pkill -TERM -f -- "^$SBX_RUNTIME --root $ROOT run" || pkill -TERM -f -- "--root $ROOT run" ) &
		'"$RUN"'; echo "status $?"; wait; "$SBX_TEST_BIN/intruder" mode'
	assert_line 'status 3'
	assert_line cooked
}

@test 'attack 25: the payload does not type into the terminal of its caller' {
	terminal_bundle
	use_profile
	set_args probe push-input x
	on_terminal "$RUN"
	assert_output --partial EPERM
}

# ---- core dumps ------------------------------------------------------------------------------------

@test 'attack 25: a crash leaves no core under a profile' {
	local limit='[{type: "RLIMIT_CORE", soft: 1000000, hard: 1000000}]'

	edit_config ".process.rlimits = $limit"
	use_profile
	run_with_and_without 'ulimit -c; ulimit -Hc'
	assert_same 'under the profile' $'0\n0' "$with"
	[ "$(head -n 1 <<<"$without")" != 0 ]
	run_script 'ulimit -c unlimited 2>/dev/null || echo refused'
	assert_output refused
}
