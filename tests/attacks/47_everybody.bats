# Attack 47: a signal to everybody, in a pid namespace that others are in.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 47: only the own processes end' {
	local keeper

	[ "$(landlock_is_there)" = true ] || skip 'without Landlock a shared pid namespace is refused'
	for profile in yes no; do
		keep_namespaces --pid --mount-proc
		edit_config '.linux.namespaces |= map(select(.type != "pid")) + [{type: "pid", path: $p}]' --arg p "$NS/pid"
		"$SBX_RUNTIME" --version >/dev/null
		# a second process of the namespace, since its first one takes no signal from inside
		nsenter --pid="$NS/pid" sleep 1000 3>&- &
		keeper=$!
		wait_until 5 pgrep -P "$keeper" >/dev/null
		[ "$profile" = yes ] || no_profile
		set_script 'adversary everybody'
		run_container
		if [ "$profile" = yes ]; then
			kill -0 "$(pgrep -P "$keeper")"
		else
			wait_until 5 has_ended "$(pgrep -P "$keeper")" # the control
		fi
		kill -KILL "$KEEPER"
		wait "$KEEPER" "$keeper" || true
	done
}
