# Attack 32: a page fault that is held for as long as a race needs (userfaultfd).
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 32: neither the call nor the device' {
	run_with_and_without 'adversary faults'
	assert_same 'control' 'call ok' "$(head -n 1 <<<"$without")"
	assert_same 'under the profile' 'call EPERM' "$(head -n 1 <<<"$with")"
	refute grep -q 'device ok' <<<"$with"
}
