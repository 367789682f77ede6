# Attack 46: out of a chroot(2) by a folder that was open before: CAP_SYS_CHROOT is allowed.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 46: above the root there is nothing' {
	mkdir "$BUNDLE/rootfs/secret"
	use_profile '.host.read = "deny"'
	run_script 'adversary chroot'
	assert_status 0
	assert_line workspace
	refute_line secret
	refute_line rootfs
	# the control: a root that is a folder of another one is left so
	mkdir -p "$BATS_TEST_TMPDIR/jail"/{tmp,bin}
	cp "$SBX_TEST_BIN/adversary" "$BATS_TEST_TMPDIR/jail/bin/"
	run chroot "$BATS_TEST_TMPDIR/jail" /bin/adversary chroot
	assert_line etc
}
