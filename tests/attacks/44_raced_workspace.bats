# Attack 44: a folder of the workspace becomes a link to the host while carve-outs are made.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

BATS_TEST_TIMEOUT=600

# Every container is refused, or ended by its monitor, or has its own carve-outs; all leave the host as it is.
race_for() { # PROFILE-FILTER
	local round refused=0

	rm -rf "${WS:?}/sub" "$WS/link" # which is which a race before may have left
	mkdir -p "$WS/sub/kept" "$BATS_TEST_TMPDIR/host/kept"
	echo host >"$BATS_TEST_TMPDIR/host/kept/file"
	echo mine >"$WS/sub/kept/file"
	ln -s "$BATS_TEST_TMPDIR/host" "$WS/link"
	use_profile "$1"
	set_script 'for d in sub link; do echo x 2>/dev/null >/workspace/$d/kept/file; cat /workspace/$d/kept/file 2>/dev/null; done; true'
	start_race "$WS/sub" "$WS/link"
	for round in {1..60}; do
		run_container
		[ "$(cat "$BATS_TEST_TMPDIR/host/kept/file")" = host ] || {
			echo "round $round: the host's file was written" >&2
			return 1
		}
		refute_output --partial host
		[ "$status" = 0 ] || refused=$((refused + 1))
	done
	stop_race
	[ "$refused" -gt 0 ]
}

@test 'attack 44: race: what is protected' {
	race_for '.protect = ["sub/kept"]'
}

@test 'attack 44: race: a root that may only be read, and one that is closed' {
	race_for '.roots = [{path: "/workspace/sub/kept", read: "allow"}]'
	race_for '.roots = [{path: "/workspace/sub/kept"}]'
}

@test 'attack 44: without a race the link is refused, and the folder is carved out' {
	mkdir -p "$WS/sub/kept" "$BATS_TEST_TMPDIR/host/kept"
	echo mine >"$WS/sub/kept/file"
	use_profile '.protect = ["sub/kept"]'
	run_script 'attack open /workspace/sub/kept/file w'
	assert_output EROFS
	rm -r "$WS/sub"
	ln -s "$BATS_TEST_TMPDIR/host" "$WS/sub"
	run_container
	assert_error 'symbolic link'
	no_profile
	run_script 'mkdir -p /workspace/sub2; attack open /workspace/sub2/x wc'
	assert_output ok
}
