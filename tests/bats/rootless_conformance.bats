# What a profile guarantees to an ordinary user, mechanism by mechanism (tests/conformance).
load helpers
load ../attacks/attacks
load conformance

setup() {
	conformance_setup
}

@test 'rootless: every mechanism of every guarantee is enforced' {
	all_enforced 160
}

@test 'rootless: without the profile the same probes get through' {
	none_without_profile 140
}
