# What an unprivileged caller may ask of its process.
load helpers

@test 'rootless: an oomScoreAdj lower than the caller may set is kept as it is' {
	edit_config '.process.oomScoreAdj = -900'
	set_args cat /proc/self/oom_score_adj
	run_container
	assert_status 0
	assert_output "$(cat /proc/self/oom_score_adj)"
}

@test 'rootless: additional groups are refused, where setgroups(2) is' {
	edit_config '.process.user.additionalGids = [0]'
	set_args id
	run_container
	assert_error 'additional groups'
	assert_no_leaks
}

@test 'rootless: a limit that no cgroup of the caller can hold is refused' {
	edit_config '.linux.resources = {pids: {limit: 10}}'
	set_args true
	run_container
	assert_error cgroup
}

@test 'doctor tells an ordinary user what that user cannot do' {
	require_root
	run_sbx doctor --json # control
	[ "$(jq -r '.[] | select(.mechanism == "id helpers").works' <<<"$output")" = true ]
	run --separate-stderr env -u USER setpriv --reuid=61234 --regid=61234 --clear-groups "$SBX_RUNTIME" doctor --json
	[ "$(jq -r '.[] | select(.mechanism == "id helpers").works' <<<"$output")" = false ]
	jq -r '.[] | select(.mechanism == "cgroup").reason' <<<"$output" | grep -q 'may make no group'
	jq -r '.[] | select(.mechanism == "cgroup").remedy' <<<"$output" | grep -q 'delegated'
}
