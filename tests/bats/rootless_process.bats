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

@test 'rootless: the owner in the state is the name of the user' {
	set_args sleep 100
	create_container
	run_sbx state "$ID"
	assert_equal "$(jq -r .owner <<<"$output")" "$(id -un)"
	run_sbx delete --force "$ID"
}

@test 'doctor tells an ordinary user what that user cannot do' {
	local may=true

	grep -qE "^($(id -un)|$(id -u)):" /etc/subuid && grep -qE "^($(id -un)|$(id -u)):" /etc/subgid &&
		command -v newuidmap newgidmap >/dev/null || may=false
	run_sbx doctor --json
	[ "$(jq -r '.[] | select(.mechanism == "id helpers").works' <<<"$output")" = "$may" ]
	jq -e '.[] | select(.mechanism == "cgroup") | (.works | not) and (.reason | contains("may make no group"))
		and (.remedy | contains("delegated"))' <<<"$output"
}

@test 'a profile that is not installed: both places are named, a file where one is possible' {
	local own=/nowhere/sbx-runtime/profiles/no-such.json
	local installed=/etc/sbx-runtime/profiles/no-such.json

	export XDG_CONFIG_HOME=/nowhere
	run_sbx plan --profile no-such "$BUNDLE"
	assert_error "profile \"no-such\": it is not installed as $installed or $own (a file is written with a \"/\")"
	set_annotation dev.sbx.profile no-such
	run_sbx plan "$BUNDLE"
	assert_error "it is not installed as $installed or $own"
	refute_stderr 'a file is written'
}

@test 'the limits of a profile are refused where the user may make no control group' {
	local profile='{"version": 1, "workspace": {"root": "/workspace", "read": "allow"}, "command": "allow"}'

	set_args true
	mkdir -p "$BUNDLE/rootfs/workspace" "$BATS_TEST_TMPDIR/ws"
	edit_config '.mounts += [{destination: "/workspace", type: "bind", source: $s, options: ["rbind"]}]' \
		--arg s "$BATS_TEST_TMPDIR/ws"
	set_annotation dev.sbx.profile "$profile"
	run_container # control
	assert_status 0
	set_annotation dev.sbx.profile "$(jq -c '.limits.pids = 16' <<<"$profile")"
	run_container
	assert_error 'cgroup'
}
