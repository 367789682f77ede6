# What a profile limits, each limit beside the same program without it; and that nothing lifts it.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	use_profile
}

# limit JSON: the profile with these limits
limit() {
	use_profile '.limits = $l' --argjson l "$1"
}

# Forty children at once; the last number says how many could be made (a shell that cannot fork ends).
forks='for k in $(seq 40); do sleep 5 & echo $k; done 2>/dev/null; kill $(jobs -p)'

# made AT_LEAST AT_MOST
made() {
	local last

	last=$(tail -n 1 <<<"$output")
	[ "${last:-0}" -ge "$1" ]
	[ "${last:-0}" -le "$2" ]
}

@test 'pids: more processes than that cannot be made, by exec neither' {
	need pids
	set_script "$forks"
	run_container
	assert_status 0
	made 40 40
	limit '{"pids": 16}'
	run_container
	made 8 15

	set_args sleep 100
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	assert_same 'the group above' 16 "$(value pids pids.max pids.max)"
	sbx exec "$ID" true
	run_sbx exec "$ID" sh -c "$forks"
	made 8 15
	run_sbx report "$ID"
	report_says '.guarantees.resourceLimits and
		(.entries[] | select(.feature == "limits.pids") | .outcome == "enforced" and .mechanism == "cgroup")'
}

@test 'memory: scratch and swap count, and the container ends' {
	local script='dd if=/dev/zero of=/tmp/big bs=1M count=48 2>/dev/null && echo wrote'

	need memory
	run_script "$script"
	assert_output wrote
	limit '{"memory": "32MiB"}'
	run_script "$script"
	refute [ "$output" = wrote ]

	set_args sleep 100
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	assert_same 'the group above' 33554432 "$(value memory memory.limit_in_bytes memory.max)"
}

@test 'cpus: the quota stands in the group above' {
	local want='150000'

	need cpu
	limit '{"cpus": 1.5}'
	set_args sleep 100
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	[ ! -e "$(cgroup_dir cpu)/cpu.max" ] || want='150000 100000'
	assert_same 'the quota' "$want" "$(value cpu cpu.cfs_quota_us cpu.max)"
	sbx delete --force "$ID"
	# the kernel takes no quota below a millisecond
	limit '{"cpus": 0.001}'
	set_args true
	run_container
	assert_status 0
}

@test 'neither the bundle nor an update lifts a limit of the profile' {
	need pids
	need memory
	limit '{"pids": 16, "memory": "64MiB"}'
	limit_resources '{"pids": {"limit": 500}, "memory": {"limit": 268435456}}'
	set_args sleep 100
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	sbx update --pids-limit 1000 --memory 536870912 "$ID"
	assert_same pids 16 "$(value pids pids.max pids.max)"
	assert_same memory 67108864 "$(value memory memory.limit_in_bytes memory.max)"
	run_sbx exec "$ID" sh -c "$forks"
	made 8 15
	# what the bundle sets below that holds as well
	sbx update --pids-limit 8 "$ID"
	run_sbx exec "$ID" sh -c "$forks"
	made 0 7
}

@test 'a bundle that wants more of the processors gets no more, or an error that says why' {
	need cpu
	limit '{"cpus": 0.5}'
	limit_resources '{"cpu": {"quota": 200000, "period": 100000}}'
	set_args true
	run_container
	if [ "$status" != 0 ]; then
		refute cgroup_is_v2_only
		assert_error 'no group has more than one above it'
	fi
	limit_resources '{"cpu": {"quota": 20000, "period": 100000}}' # control
	run_container
	assert_status 0
}

@test 'the group that holds the limits is out of sight' {
	need pids
	limit '{"pids": 16}'
	edit_config '.mounts += [{destination: "/sys/fs/cgroup", type: "cgroup", source: "cgroup", options: ["rw"]}]'
	run_script 'grep -c sbx~ /proc/self/cgroup; find /sys/fs/cgroup -name "sbx~*" | wc -l
		for f in $(find /sys/fs/cgroup -name pids.max); do cat $f; echo max 2>/dev/null >$f && echo lifted; done
		true'
	assert_status 0
	assert_same 'nothing of it' $'0\n0\nmax' "$(head -3 <<<"$output")"
	refute grep -q lifted <<<"$output"
}

@test 'a limit that no control group can enforce refuses the container' {
	limit '{"pids": 16}'
	run_sbx --cgroup-manager disabled run --bundle "$BUNDLE" "$ID"
	assert_error "enforce the profile's limits"
	limit '{}'
	run_sbx --cgroup-manager disabled run --bundle "$BUNDLE" "$ID" # control
	assert_status 0
}

@test 'what is too small for the set-up is named, and nothing is left' {
	need memory
	limit '{"memory": 4096}'
	run_container
	assert_status 1 # v1 does not take it, v2 kills
	grep -qE "enforce the profile's limits|is too small for the set-up" <<<"$stderr"
	refute sbx state "$ID"
	limit '{"memory": 131072}'
	run_container
	assert_error 'is too small for the'
	refute sbx state "$ID"
}

@test 'pause, ps, kill --all and delete reach the processes of a limited container' {
	need pids
	limit '{"pids": 16}'
	set_args sh -c 'sleep 100 & sleep 100; true'
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	wait_until 5 sh -c "[ \$('$SBX_RUNTIME' --root '$ROOT' ps --format json '$ID' | jq length) = 3 ]"
	sbx pause "$ID"
	assert_same paused paused "$(sbx state "$ID" | jq -r .status)"
	sbx resume "$ID"
	sbx kill --all "$ID" KILL
	wait_until 5 sh -c "'$SBX_RUNTIME' --root '$ROOT' state '$ID' | grep -q stopped"
	sbx delete "$ID"
	refute [ -e "$(cgroup_dir pids)" ]
}

@test 'a real-time policy, which no quota holds, is refused beside cpus' {
	need cpu
	limit '{"cpus": 0.5}'
	set_args true
	for scheduler in '{policy: "SCHED_FIFO", priority: 1}' '{policy: "SCHED_RR", priority: 1}' \
		'{policy: "SCHED_DEADLINE", runtime: 9000000, deadline: 10000000, period: 10000000}'; do
		edit_config ".process.scheduler = $scheduler"
		run_container
		assert_error 'schedule by a real-time policy under limits.cpus'
	done
	edit_config '.process.scheduler = {policy: "SCHED_BATCH"}' # control
	run_container
	assert_status 0
}

@test 'the report: memory is not held where the kernel counts apart' {
	need memory
	limit '{"memory": "64MiB"}'
	run_sbx report --bundle "$BUNDLE"
	if cgroup_is_v2_only; then
		report_says '.guarantees.resourceLimits'
	else
		report_says '(.guarantees.resourceLimits | not) and
			(.entries[] | select(.feature == "limits.memory").outcome == "unenforced")'
	fi
}
