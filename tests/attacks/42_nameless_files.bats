# Attack 42: files without a name that get one, and renames that leave a device behind.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
	mkdir "$WS/ro"
}

@test 'attack 42: a nameless file does not come to where nothing may be made' {
	use_profile '.roots = [{path: "/workspace/ro", read: "allow"}]'
	tries $'nameless ok\nlink ok\nempty path EEXIST' $'nameless ok\nlink EROFS\nempty path EROFS' \
		'adversary nameless /workspace /workspace/ro/new'
}

@test 'attack 42: nor is one made there' {
	tries $'nameless ok\nlink ok\nempty path EEXIST' $'nameless EROFS\nlink ENOENT\nempty path EBADF' \
		'rm -f /etc/new; adversary nameless /etc /etc/new; rm -f /etc/new 2>/dev/null; true'
}

@test 'attack 42: no rename leaves a device node in a folder of the host' {
	local script='echo x >/workspace/old; adversary whiteout /workspace/old /workspace/new; find /workspace -type c'

	run_script "$script"
	assert_output 'whiteout EPERM'
	run_script 'attack rename /workspace/old /workspace/new'
	assert_output ok
	no_profile
	run_script "$script"
	assert_output $'whiteout ok\n/workspace/old' # the control
}
