# The demonstration of the first command, wherever the tree lies.
load helpers

setup() {
	helpers_setup
	DEMO=${SBX_TESTS%/*}/contrib/demo/run
	DIR=$BATS_TEST_TMPDIR/place/demo
	mkdir "$BATS_TEST_TMPDIR/place"
}

run_demo() {
	run "$DEMO" "$SBX_RUNTIME" "$DIR"
	assert_status 0
	assert_equal "$(grep -c '^ *allowed ' <<<"$output")" 7
	assert_equal "$(grep -c '^ *refused ' <<<"$output")" 3
	assert_line --partial '"level":'
}

@test 'demo: it shows what is allowed and refused' {
	run_demo
}

@test 'demo: in a folder of a group, and of another user' {
	chmod 775 "$BATS_TEST_TMPDIR/place"
	umask 002
	run_demo
	is_root || return 0
	chown nobody "$BATS_TEST_TMPDIR/place"
	run_demo
	assert_equal "$(find /tmp "${TMPDIR:-/tmp}" -maxdepth 1 -name 'sbx-demo.*' | wc -l)" 0
}
