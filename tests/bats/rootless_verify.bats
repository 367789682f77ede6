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

@test 'a process without filter in its namespaces' {
	nsenter -t "$(container_pid)" -U -m -p -n --preserve-credentials sleep 1000 3>&- &
	wait_until 5 eval 'pgrep -P $! >/dev/null'
	run_sbx report --verify "$ID"
	assert_status 1
	report_says 'any(.verify.guarantees.processBoundary.evidence[]; .reason ==
		"it lacks a system call filter that the plan set up")'
	kill -KILL "$(pgrep -P $!)"
}
