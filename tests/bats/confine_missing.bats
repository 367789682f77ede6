# A mechanism that the kernel (or a filter above the runtime) lacks: the bit drops and the report says
# so, or the profile is refused. Nothing in the product turns a mechanism off: a filter of the test
# answers ENOSYS.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	use_profile
}

without() {
	run --separate-stderr "$SBX_TEST_BIN/attack" without "$1" "$SBX_RUNTIME" --root "$ROOT" "${@:2}" 3>&-
}

report_without() {
	without "$1" report --bundle "$BUNDLE"
	assert_status 0
}

@test 'with everything there, the bits are there' {
	report_of
	report_says '.guarantees | .processBoundary and .writeBoundary and .networkBoundary and .envScrub'
}

@test 'without Landlock the file boundaries drop' {
	report_without landlock
	report_says '(.guarantees.writeBoundary | not) and .level == "none" and .guarantees.processBoundary and
		(.entries[] | select(.feature == "landlock").outcome == "unenforced")'
	set_args cat /etc/passwd
	without landlock run --bundle "$BUNDLE" "$ID"
	assert_status 0
	use_profile '.require = ["writeBoundary"]'
	without landlock run --bundle "$BUNDLE" "$ID"
	assert_error 'writeBoundary'
	assert_stderr Landlock
	run_container
	assert_status 0
}

@test 'without Landlock a level that is asked for is refused' {
	use_profile '.minLevel = "degraded"'
	without landlock run --bundle "$BUNDLE" "$ID"
	assert_error landlock
	set_args true
	run_container
	assert_status 0
}

@test 'without seccomp no boundary that needs the floor is claimed' {
	report_without seccomp
	report_says '(.guarantees | .processBoundary or .writeBoundary or .networkBoundary | not) and
		(.entries[] | select(.feature == "syscalls").outcome == "unenforced")'
	use_profile '.require = ["processBoundary"]'
	without seccomp run --bundle "$BUNDLE" "$ID"
	assert_error 'processBoundary'
	assert_stderr seccomp
}

@test 'without seccomp a bundle that asks for a filter is refused' {
	no_profile
	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW"}'
	set_args true
	without seccomp run --bundle "$BUNDLE" "$ID"
	assert_error seccomp
	run_container
	assert_status 0
}

@test 'without the mount interface nothing is started' {
	set_args true
	without mountapi run --bundle "$BUNDLE" "$ID"
	assert_status 1
	assert_stderr mount
	[ ! -d "$ROOT/$ID" ]
	run_container
	assert_status 0
}
