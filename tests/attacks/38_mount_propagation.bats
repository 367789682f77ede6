# Attack 38: a mount that is made inside appears on the host, or one of the host inside.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

shared_workspace() {
	mount -t tmpfs workspace "$WS"
	mount --make-shared "$WS"
	edit_config '.linux.rootfsPropagation = "rshared" |
		(.mounts[] | select(.destination == "/workspace")).options = ["rbind", "rshared"]'
	mkdir "$WS/place"
}

teardown() {
	was_set_up || return 0
	umount -qR "$WS" || true
	helpers_teardown
}

INSIDE='mount -t tmpfs inside /workspace/place 2>/dev/null && echo mounted; grep -c " /workspace/place " /proc/self/mountinfo; true'

@test 'attack 38: nothing that is mounted inside reaches the host' {
	shared_workspace
	run_script "$INSIDE"
	assert_output 0
	assert_same 'mounts below the workspace' '' "$(grep -F " $WS/place " /proc/self/mountinfo)"
	no_profile
	run_script "$INSIDE"
	assert_output $'mounted\n1'
	grep -qF " $WS/place " /proc/self/mountinfo # the control
}

@test 'attack 38: what the host mounts later does not come inside' {
	local script='touch /workspace/in; while [ ! -e /workspace/out ]; do sleep 0.05; done
		grep -c " /workspace/place " /proc/self/mountinfo; true'
	local wanted

	shared_workspace
	for wanted in 0 1; do
		rm -f "$WS/in" "$WS/out"
		set_script "$script"
		create_container
		run_sbx start "$ID"
		wait_until 10 test -e "$WS/in"
		mount -t tmpfs later "$WS/place"
		touch "$WS/out"
		wait_until 10 status_is stopped
		umount "$WS/place"
		assert_same 'mounts inside' "$wanted" "$(cat "$BATS_TEST_TMPDIR/stdout")"
		run_sbx delete "$ID"
		no_profile # the second time is the control
	done
}
