# What a profile guarantees, mechanism by mechanism (tests/conformance).
load helpers
load ../attacks/attacks
load conformance

setup() {
	require_root
	conformance_setup
}

@test 'every mechanism of every guarantee is enforced' {
	all_enforced 180
}

@test 'without the profile the same probes get through' {
	none_without_profile 180
}
