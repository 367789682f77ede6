# Attack 40: programs in the kernel (bpf) and its counters (perf).
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 40: neither is made' {
	run_with_and_without 'adversary kernel-programs'
	[[ $without = *'bpf ok'* || $without = *'perf ok'* ]]
	refute grep -qE '(bpf|perf) EPERM' <<<"$without"
	assert_same 'under the profile' $'bpf EPERM\nperf EPERM' "$with"
}
