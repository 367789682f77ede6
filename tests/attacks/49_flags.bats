# Attack 49: files in a folder of the host that its owner cannot change or remove again.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 49: nothing becomes immutable' {
	touch "$WS/file"
	run_script 'adversary flags /workspace/file'
	grep -q 'get ok' <<<"$output" || skip_host 'the file system has no flags'
	tries $'get ok\nset ok' $'get ok\nset EPERM' 'adversary flags /workspace/file'
}
