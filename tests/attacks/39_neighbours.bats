# Attack 39: a process's own neighbours: memory and descriptors of others of the same container.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 39: no process reads, changes or seizes another' {
	tries $'pidfd ok\nread ok\nwrite ok\ndescriptor ok\nseize ok' \
		$'pidfd ok\nread EPERM\nwrite EPERM\ndescriptor EPERM\nseize EPERM' 'adversary neighbour'
}
