# The conformance suite as a test, for root and for an ordinary user.

conformance_setup() {
	helpers_setup
	[ -z "${SBX_WITHOUT:-}" ] || skip 'the suite wants what this run leaves out'
	sbx doctor | grep -qE '^ok +landlock ' || skip_host 'no Landlock'
}

suite() {
	run --separate-stderr "$SBX_TESTS/conformance/conformance" "$SBX_TEST_BIN/conform" "$SBX_RUNTIME" "$@"
}

# rows RESULT: how many rows have it
rows() {
	grep -cE "^$1  " <<<"$output" || true
}

# all_enforced LEAST
all_enforced() {
	suite
	grep -E '^(not enforced|broken control)' <<<"$output" >&2 || true
	assert_status 0
	[ "$(rows ok)" -ge "$1" ]
	[ "$(rows '(not enforced|broken control)')" = 0 ]
}

# The control of the whole: where nothing stops them all probes succeed, but for what any container has and what
# the kernel keeps from an ordinary user.
none_without_profile() {
	suite --without-profile
	assert_status 1
	[ "$(rows 'not enforced')" -ge "$1" ]
	assert_same 'other results' '' "$(grep -E '^(ok|broken control)  ' <<<"$output" |
		grep -vE '[(](of any container|of the kernel, for an ordinary user)[)]$')"
}
