# Attack 10: every capability asked for, and a file handle that walks out of the workspace.
load ../bats/helpers
load attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	all_capabilities
}

# All that the test itself may give away.
own_bounding_set() {
	awk '/CapBnd/ { print $2 }' /proc/self/status
}

@test 'attack 10: open_by_handle_at reaches the host disk only without a profile' {
	local out

	[ "$(stat -f -c %T "$WS")" = ext2/ext3 ] || skip_host 'no ext4 below the test folder'
	use_profile
	run_with_and_without 'attack handle /workspace'
	grep -qx ok <<<"$without"
	grep -qx etc <<<"$without" # the host's own root folder
	assert_same 'with a profile' EPERM "$with"
}

@test 'attack 10: what the bundle asks beyond the allow-list is cut from all sets' {
	local script='grep -E "^Cap(Prm|Eff|Bnd|Inh|Amb)" /proc/self/status | tr "\t" " "'

	use_profile
	run_with_and_without "$script"
	grep -qx "CapBnd: $(own_bounding_set)" <<<"$without"
	assert_same 'capabilities' "CapInh: 0000000000000000
CapPrm: 00000000200405eb
CapEff: 00000000200405eb
CapBnd: 00000000200405eb
CapAmb: 0000000000000000" "$with"
	report_of
	report_says '.entries[] | select(.feature == "capabilities") |
		.outcome == "narrowed" and (.detail | contains("CAP_DAC_READ_SEARCH"))'
}

@test 'attack 10: a further process has no more' {
	use_profile
	start_sleeper
	run_sbx exec "$ID" sh -c 'grep CapEff /proc/self/status; attack handle /workspace'
	assert_status 0
	assert_line --partial 00000000200405eb
	assert_line EPERM
	no_profile
	sbx delete --force "$ID"
	start_sleeper
	run_sbx exec "$ID" sh -c 'grep CapEff /proc/self/status'
	assert_line --partial "$(own_bounding_set)"
}
