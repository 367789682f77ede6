# Attack 30: io_uring, whose operations no filter of system calls sees, with a registered file.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 30: no ring is made' {
	[ "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null)" = 0 ] || skip_host 'no io_uring'
	tries $'setup ok\nregister ok' 'setup EPERM' 'adversary ring'
}
