# A mechanism that the kernel (or a filter above the runtime) lacks: the bit drops and the report says
# so, or the profile is refused. Nothing in the product turns a mechanism off: a filter of the test
# answers ENOSYS, or EPERM.
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
	report_says ".guarantees | .processBoundary and .networkBoundary and .envScrub and .writeBoundary == $(landlock_is_there)"
}

without_landlock() {
	use_profile
	report_without "$1"
	report_says '(.guarantees.writeBoundary | not) and .level == "none" and .guarantees.processBoundary and
		(.entries[] | select(.feature == "landlock").outcome == "unenforced")'
	# What is left is what the report says: the mounts still refuse.
	set_script 'cat /etc/passwd >/dev/null && echo read; echo x 2>/dev/null >/etc/new || echo refused'
	without "$1" run --bundle "$BUNDLE" "$ID"
	assert_status 0
	assert_output $'read\nrefused'
	use_profile '.require = ["writeBoundary"]'
	without "$1" run --bundle "$BUNDLE" "$ID"
	assert_error 'writeBoundary'
	assert_stderr Landlock
	run_container
	assert_status 0
}

@test 'without Landlock the file boundaries drop' {
	if [ "$(landlock_is_there)" = false ]; then
		boundaries_need_landlock
		return
	fi
	without_landlock landlock
	without_landlock eperm:landlock
}

@test 'without Landlock a container that was made with it takes no further process' {
	if [ "$(landlock_is_there)" = false ]; then
		boundaries_need_landlock
		return
	fi
	start_sleeper
	without landlock exec "$ID" true
	assert_error 'writeBoundary is not enforced here' 255
	run_sbx exec "$ID" true
	assert_status 0
}

@test 'without Landlock a level that is asked for is refused' {
	if [ "$(landlock_is_there)" = false ]; then
		boundaries_need_landlock
		return
	fi
	use_profile '.minLevel = "degraded"'
	without landlock run --bundle "$BUNDLE" "$ID"
	assert_error landlock
	set_args true
	run_container
	assert_status 0
}

without_seccomp() {
	without "$1" report --bundle "$BUNDLE"
	assert_error 'seccomp filters'
	without "$1" run --bundle "$BUNDLE" "$ID"
	assert_error 'seccomp filters'
	assert_no_leaks
}

@test 'without seccomp there is no profile' {
	set_args true
	without_seccomp seccomp
	without_seccomp eperm:seccomp
	run_container
	assert_status 0
	no_profile
	without seccomp run --bundle "$BUNDLE" "$ID"
	assert_status 0
}

@test 'without seccomp a confined container takes no further process' {
	start_sleeper
	without seccomp exec "$ID" true
	assert_error 'seccomp filters' 255
	run_sbx exec "$ID" true
	assert_status 0
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

without_mount_api() {
	without "$1" report --bundle "$BUNDLE"
	assert_error "kernel's mount interface"
	without "$1" run --bundle "$BUNDLE" "$ID"
	assert_error "kernel's mount interface"
	assert_no_leaks
}

@test 'without the mount interface nothing is started, with and without a profile' {
	set_args true
	without_mount_api mountapi
	without_mount_api eperm:mountapi
	no_profile
	without_mount_api mountapi
	run_container
	assert_status 0
}
