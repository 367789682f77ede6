# Attack 45: a filter of its own that allows what the profile refuses, or asks a friendly supervisor.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 45: the strictest answer of all filters counts' {
	mkdir "$WS/place"
	tries $'allow ok\nlistener ok\nmount ok' $'allow ok\nlistener ok\nmount EPERM' 'adversary filter /workspace/place'
}
