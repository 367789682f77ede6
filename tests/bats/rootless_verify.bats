# report --verify of a container that an ordinary user made.
load helpers
load ../attacks/attacks

setup() {
	helpers_setup
	attack_setup
	use_profile '.host.read = "deny"'
	set_args sleep 1000
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	assert_status 0
}

@test 'what is claimed is proved' {
	run_sbx report --verify "$ID"
	[ -z "$(verify_unproved)" ] || verify_unproved >&2
	assert_status 0
	report_says '.verify.proved and .verify.guaranteeBits == .guaranteeBits and .now.guaranteeBits == .guaranteeBits'
}

@test 'a first process that ended is refused by name' {
	kill -KILL "$(container_pid)"
	wait_until 5 status_is stopped
	run_sbx report --verify "$ID"
	assert_error 'not running'
}
