# run --rootfs DIR -- COMMAND as an ordinary user.
load helpers
load rootfs

setup() {
	helpers_setup
	rootfs_setup
}

@test 'rootless: the command runs in the root file system, with the workspace at its own place' {
	rootfs_runs
}

@test 'rootless: of the host only the workspace and what --root names is there' {
	rootfs_shows_nothing_else
}

@test 'rootless: the root file system is read-only and nothing is left in it' {
	rootfs_stays
}

@test 'rootless: what is no root file system is refused' {
	rootfs_refusals
}

@test 'rootless: a profile of the caller is the one that holds' {
	rootfs_profile
}

@test 'rootless: a root file system that cannot be written serves where nothing has to be made in it' {
	local place=$BATS_TEST_TMPDIR/elsewhere

	chmod -R a-w "$FS"
	run_sbx run --rootfs "$FS" -- sh -c 'echo made >file'
	assert_status 0
	[ "$(cat "$WS/file")" = made ]
	chmod u+w "$FS" "$FS/tmp"
	touch "$FS/tmp/taken"
	chmod u-w "$FS" "$FS/tmp"
	run_sbx run --rootfs "$FS" -- true
	assert_status 1
	assert_stderr "make \"$WS\" in \"$FS\" for what is mounted there: make that folder yourself"
	chmod -R u+w "$FS"
}
