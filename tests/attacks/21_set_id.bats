# Attack 21: set-user-id and set-group-id bits in a bound workspace, by every system call.
load ../bats/helpers
load attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	use_profile
}

@test 'attack 21: no set-id bit reaches the host folder' {
	run_script 'attack setid /workspace'
	assert_status 0
	refute_line --regexp ' ok$'
	assert_same 'files with set-id bits' '' "$(find "$WS" -perm /6000)"
}

@test 'attack 21: without a profile every one of them does' {
	no_profile
	run_script 'attack setid /workspace'
	assert_status 0
	output=$(grep -vx "${SBX_WITHOUT:-none} ENOSYS" <<<"$output")
	mapfile -t lines <<<"$output"
	refute_line --regexp ' E'
	[ "$(find "$WS" -perm /6000 | wc -l)" = "$(grep -cv '^high' <<<"$output")" ]
}

@test 'attack 21: ordinary modes are left alone' {
	run_script 'touch /workspace/f && chmod 0755 /workspace/f && mkdir -m 1777 /workspace/d &&
		stat -c %a /workspace/f /workspace/d'
	assert_status 0
	assert_output $'755\n1777'
}
