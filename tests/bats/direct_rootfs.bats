# run --rootfs DIR -- COMMAND: one command in a root file system that is named, without a bundle.
load helpers
load rootfs

setup() {
	require_root
	helpers_setup
	rootfs_setup
}

@test 'the command runs in the root file system, with the workspace at its own place' {
	rootfs_runs
}

@test 'of the host only the workspace and what --root names is there' {
	rootfs_shows_nothing_else
}

@test 'the root file system is read-only and nothing is left in it' {
	rootfs_stays
}

@test 'what is no root file system is refused' {
	rootfs_refusals
}

@test 'a profile of the caller is the one that holds' {
	rootfs_profile
}
