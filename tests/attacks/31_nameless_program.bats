# Attack 31: a program without a name (memfd_create(2), execveat(2)), which no rule of paths knows.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 31: a nameless program has no more rights, and no set-id bit' {
	echo old >"$BUNDLE/rootfs/etc/target"
	tries $'set-id ok\nok' $'set-id EPERM\nEROFS' 'adversary memfd /bin/attack open /etc/target w'
}

@test 'attack 31: what is allowed stays allowed to it' {
	run_script 'adversary memfd /bin/attack open /workspace/new wc'
	assert_output $'set-id EPERM\nok'
}
