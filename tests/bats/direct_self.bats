# run -- COMMAND: this project itself is configured, built and tested under the default profile.
load helpers

setup_file() {
	export BATS_TEST_TIMEOUT=600
}

setup() {
	require_root
	helpers_setup
	export HOME=$BATS_TEST_TMPDIR/home
	WS=$BATS_TEST_TMPDIR/ws
	mkdir -p "$WS/build" "$HOME"
	cd "$WS" || return
	tar -C "$SBX_TESTS/.." -c --exclude=./.git --exclude=./build --exclude=./build-check --exclude=autom4te.cache . | tar -x
	chmod -R u+w .
}

@test 'configure, make and make check: what needs namespaces is skipped, everything else passes' {
	local tests='test_json test_oci test_policy test_store test_rooms_mount fuzz_json tests/bin/golden
		tests/bats/profile.bats tests/bats/lifecycle.bats'

	# without the folder of bats's own parts
	PATH=/usr/local/bin:/usr/bin:/bin run_sbx run -- sh -ec 'test -x configure || ./autogen.sh
		cd build && ../configure --quiet CFLAGS=-O0 && make -s -j2 && make check TESTS="$1"' - "$tests"
	printf '%s\n' "$output" | grep -E '^(FAIL|ERROR|# )' || true
	assert_status 0
	[[ $output = *'# FAIL:  0'* && $output = *'# ERROR: 0'* ]]
	[[ $output = *'SKIP: tests/bats/lifecycle.bats - needs namespaces'* ]]
	[[ $output = *'PASS: tests/bin/golden 1'* && $output = *'PASS: tests/bats/profile.bats 1'* ]]
}
