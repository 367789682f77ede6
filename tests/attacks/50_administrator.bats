# Attack 50: calls of the administrator of a machine: clock, accounting, swap, restart, kernel log, quotas, kexec.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 50: each is refused before it looks at what is asked' {
	run_with_and_without 'adversary privileged'
	refute grep -q EPERM <<<"$without"
	assert_same 'under the profile' '' "$(grep -v ' EPERM$' <<<"$with")"
	[ "$(grep -c EPERM <<<"$with")" = 8 ]
}
