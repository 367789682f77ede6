# report --verify: each bit that is claimed is proved, and a boundary that was weakened from outside is not.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	use_profile '.limits = {"pids": 64} | .host.read = "deny"'
}

start_confined() {
	set_args sleep 1000
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	assert_status 0
}

# The limits have their evidence below, or none.
verify_says() {
	run_sbx report --verify "$ID"
	if ! jq -e "$1" <<<"$output" >/dev/null; then
		printf 'not so: %s\n%s\n' "$1" "$(verify_unproved)" >&2
		return 1
	fi
}

@test 'what the profile claims of processes, files, environment and network is proved' {
	start_confined
	verify_says '.verify.guarantees | .processBoundary.proved and .writeBoundary.proved and .readBoundary.proved
		and .envScrub.proved and .networkBoundary.proved'
	report_says '[.verify.guarantees[].evidence | length] | all(. > 0)'
}

# entered: a process of the host's in the container's namespaces, and in its group, without its filters
entered() {
	local group

	nsenter -t "$(container_pid)" -m -p -n sleep 1000 3>&- &
	ENTERED=$!
	wait_until 5 eval 'pgrep -P $ENTERED >/dev/null'
	for group in $(awk -F: '{ print $2 "=" $3 }' "/proc/$(container_pid)/cgroup"); do
		join_group "${group%%=*}" "${group#*=}" "$(pgrep -P "$ENTERED")"
	done
}

# join_group CONTROLLERS PATH PID
join_group() {
	local mount=/sys/fs/cgroup

	[ -z "$1" ] || mount=/sys/fs/cgroup/${1#name=}
	[ -n "$1" ] || [ -e "$mount/cgroup.procs" ] || mount=/sys/fs/cgroup/unified
	[ ! -e "$mount$2/cgroup.procs" ] || echo "$3" >"$mount$2/cgroup.procs"
}

@test 'a process without filter in its namespaces' {
	start_confined
	verify_says '.verify.proved' # control
	entered
	verify_says '.verify.guarantees.processBoundary | (.proved | not) and
		any(.evidence[]; .mechanism == "seccomp" and .reason == "it lacks a system call filter that the plan set up")'
	assert_status 1
	kill -KILL "$(pgrep -P "$ENTERED")"
}

@test 'a limit that was raised, and a process that left the group' {
	local root

	start_confined
	verify_says '.verify.guarantees.resourceLimits.proved' # control
	echo 1000 >"$(cgroup_dir pids)/pids.max"
	verify_says '.verify.guarantees.resourceLimits | (.proved | not) and
		any(.evidence[]; .reason // "" | contains("and the profile sets"))'
	assert_status 1
	echo 64 >"$(cgroup_dir pids)/pids.max"
	verify_says '.verify.guarantees.resourceLimits.proved' # control
	root=$(cgroup_dir pids)
	container_pid >"${root%"$CGROUP/$ID"}/cgroup.procs"
	verify_says '.verify.guarantees.resourceLimits | (.proved | not) and
		any(.evidence[]; .reason == "it is not in the group that has the limits")'
	assert_status 1
}

@test 'an interface added to its network' {
	start_confined
	verify_says '.verify.guarantees.networkBoundary.proved' # control
	nsenter -t "$(container_pid)" -n ip link add sbxveth type veth peer name sbxpeer ||
		skip_host 'no veth interfaces'
	verify_says '.verify.guarantees.networkBoundary | (.proved | not) and
		any(.evidence[]; .probe == "see an interface but lo" and (.proved | not))'
	assert_status 1
}

@test 'a root that was made writable' {
	start_confined
	verify_says '.verify.guarantees.writeBoundary.proved' # control
	nsenter -t "$(container_pid)" -m /bin/busybox mount -o remount,rw,bind none /
	verify_says '.verify.guarantees.writeBoundary.proved | not'
	assert_status 1
}

@test 'refused by name: no profile, not running, a bundle' {
	run_sbx report --verify --bundle "$BUNDLE"
	assert_error 'takes a running container'
	set_args sleep 1000
	create_container
	run_sbx report --verify "$ID"
	assert_error 'not running'
	sbx delete --force "$ID"
	no_profile
	start_confined
	run_sbx report --verify "$ID"
	assert_error 'has no profile'
}

@test 'now: a monitor that is gone takes along what it kept' {
	local before after

	: >"$WS/guarded"
	use_profile '.protect = ["guarded"]'
	start_sleeper
	verify_says '.verify.guarantees.writeBoundary.proved' # control
	before=$(sbx report "$ID" | jq .now.guaranteeBits)
	kill -KILL "$(jq .monitorPid "$ROOT/$ID/state")"
	wait_until 5 eval '[ "$("$SBX_RUNTIME" --root "$ROOT" report "$ID" | jq .now.guaranteeBits)" != "$before" ]'
	after=$(sbx report "$ID" | jq .now.guaranteeBits)
	assert_same 'writeBoundary is gone' $((before & ~6)) "$after"
	verify_says '.verify.guarantees.writeBoundary | (.proved | not) and any(.evidence[];
		.mechanism == "monitor" and .outcome == "gone or stopped")'
	assert_status 1
	assert_same 'what create reported' "$before" "$(sbx report "$ID" | jq .guaranteeBits)"
}
