# Each limit of linux.resources as the files of the container's group show it; where this host has no such
# controller, or its controller no such file, the limit is refused by its name.
load helpers

setup() {
	require_root
	[ -n "$(cgroup_hierarchies)" ] || skip_host 'no cgroup hierarchy is mounted'
	helpers_setup
	cp "$BUNDLE/config.json" "$BATS_TEST_TMPDIR/plain.json"
}

# For the table of tests/tools/conformance: of "NAME [MEMBER...]" only the refusal is seen on this host.
refused_here() {
	local name=${1%% *} member

	[ "$name" != "$1" ] || echo "# refused here: linux.resources.$name" >&3
	for member in ${1#"$name"}; do
		echo "# refused here: linux.resources.$name.$member" >&3
	done
}

# limit_is NAME RESOURCES CONTROLLER V1FILE V1VALUE V2FILE V2VALUE: behind NAME may stand the members meant.
limit_is() {
	local dir file wanted

	cp "$BATS_TEST_TMPDIR/plain.json" "$BUNDLE/config.json"
	limit_resources "$2"
	if ! cgroup_has "$3"; then
		run_container
		assert_error "${1%% *}"
		refused_here "$1"
		return
	fi
	start_sleeper_or_refused "$1" || return 0
	dir=$(cgroup_dir "$3")
	file=$4 wanted=$5
	[ ! -e "$dir/cgroup.controllers" ] || file=$6 wanted=$7
	if [ "$(cat "$dir/$file")" != "$wanted" ]; then
		printf '%s: %s has %s, expected %s\n' "$1" "$file" "$(cat "$dir/$file")" "$wanted"
		return 1
	fi
	sbx delete --force "$ID"
}

# The kernel may leave a file out (CONFIG_RT_GROUP_SCHED, an I/O scheduler): then the error names the limit.
start_sleeper_or_refused() {
	set_args sleep 1000
	sbx_detached create --bundle "$BUNDLE" "$ID"
	if [ "$status" = 0 ]; then
		run_sbx start "$ID"
		assert_status 0
		return 0
	fi
	assert_error "${1%% *}"
	refute sbx state "$ID"
	refused_here "$1"
	return 1
}

# covers linux.resources.cpu
@test 'cpu' {
	limit_is cpu.shares '{"cpu": {"shares": 2048}}' cpu cpu.shares 2048 cpu.weight 174
	limit_is cpu.quota '{"cpu": {"quota": 30000, "period": 200000}}' cpu cpu.cfs_quota_us 30000 cpu.max '30000 200000'
	limit_is cpu.period '{"cpu": {"quota": 30000, "period": 200000}}' cpu cpu.cfs_period_us 200000 cpu.max '30000 200000'
	limit_is cpu.burst '{"cpu": {"quota": 30000, "period": 100000, "burst": 10000}}' \
		cpu cpu.cfs_burst_us 10000 cpu.max.burst 10000
	limit_is cpu.idle '{"cpu": {"idle": 1}}' cpu cpu.idle 1 cpu.idle 1
	limit_is cpu.realtimePeriod '{"cpu": {"realtimePeriod": 500000}}' cpu cpu.rt_period_us 500000 - -
	limit_is cpu.realtimeRuntime '{"cpu": {"realtimeRuntime": 0}}' cpu cpu.rt_runtime_us 0 - -
	limit_is cpu.cpus '{"cpu": {"cpus": "0"}}' cpuset cpuset.cpus 0 cpuset.cpus 0
	limit_is cpu.mems '{"cpu": {"mems": "0"}}' cpuset cpuset.mems 0 cpuset.mems 0
}

# covers linux.resources.memory.limit linux.resources.memory.reservation linux.resources.memory.swap
# covers linux.resources.memory.swappiness linux.resources.memory.disableOOMKiller
# covers linux.resources.memory.useHierarchy linux.resources.pids.limit
@test 'memory and pids' {
	limit_is memory.limit '{"memory": {"limit": 67108864}}' memory memory.limit_in_bytes 67108864 memory.max 67108864
	limit_is memory.reservation '{"memory": {"reservation": 33554432}}' \
		memory memory.soft_limit_in_bytes 33554432 memory.low 33554432
	limit_is memory.swap '{"memory": {"limit": 67108864, "swap": 134217728}}' \
		memory memory.memsw.limit_in_bytes 134217728 memory.swap.max 67108864
	limit_is memory.swappiness '{"memory": {"swappiness": 30}}' memory memory.swappiness 30 - -
	limit_is memory.useHierarchy '{"memory": {"useHierarchy": true}}' memory memory.use_hierarchy 1 - -
	limit_is pids.limit '{"pids": {"limit": 77}}' pids pids.max 77 pids.max 77
	limit_is memory.disableOOMKiller '{"memory": {"disableOOMKiller": true}}' \
		memory memory.oom_control $'oom_kill_disable 1\nunder_oom 0\noom_kill 0' - -
}

@test 'a memory limit that the set-up does not fit into is named' {
	cgroup_has memory || skip_host 'no memory controller'
	set_args true
	for bytes in 1 1024 4096; do
		limit_resources "{\"memory\": {\"limit\": $bytes}}"
		run_container
		assert_error "the memory limit of $bytes bytes"
		assert_error 'too small for the set-up'
		refute sbx state "$ID"
	done
	limit_resources '{"memory": {"limit": 67108864}}' # control
	run_container
	assert_status 0
}

# refuses linux.resources.memory.kernel linux.resources.memory.kernelTCP
@test 'a limit of kernel memory, which no kernel keeps any more, is left out and told' {
	limit_resources '{"memory": {"limit": 67108864, "kernel": 33554432, "kernelTCP": 33554432}}'
	set_args true
	run_sbx --log "$BATS_TEST_TMPDIR/log" --log-level warning run --bundle "$BUNDLE" "$ID"
	if [ "$status" = 0 ]; then
		grep -q kernel "$BATS_TEST_TMPDIR/log"
	else
		assert_error memory.kernel
	fi
}

# covers linux.resources.blockIO
@test 'block devices' {
	local device='"major": 7, "minor": 0'

	[ -b /dev/loop0 ] || skip_host 'no loop device'
	limit_is blockIO.throttleReadBpsDevice "{\"blockIO\": {\"throttleReadBpsDevice\": [{$device, \"rate\": 1048576}]}}" \
		blkio blkio.throttle.read_bps_device '7:0 1048576' io.max '7:0 rbps=1048576'
	limit_is blockIO.throttleReadIOPSDevice "{\"blockIO\": {\"throttleReadIOPSDevice\": [{$device, \"rate\": 1000}]}}" \
		blkio blkio.throttle.read_iops_device '7:0 1000' io.max '7:0 riops=1000'
	limit_is blockIO.throttleWriteBpsDevice "{\"blockIO\": {\"throttleWriteBpsDevice\": [{$device, \"rate\": 1048576}]}}" \
		blkio blkio.throttle.write_bps_device '7:0 1048576' io.max '7:0 wbps=1048576'
	limit_is blockIO.throttleWriteIOPSDevice "{\"blockIO\": {\"throttleWriteIOPSDevice\": [{$device, \"rate\": 1000}]}}" \
		blkio blkio.throttle.write_iops_device '7:0 1000' io.max '7:0 wiops=1000'
	limit_is blockIO.weight '{"blockIO": {"weight": 300}}' blkio blkio.bfq.weight 300 io.bfq.weight 'default 300'
	limit_is 'blockIO.weightDevice major minor weight' "{\"blockIO\": {\"weightDevice\": [{$device, \"weight\": 400}]}}" \
		blkio blkio.bfq.weight_device '7:0 400' io.bfq.weight $'default 100\n7:0 400'
	limit_is blockIO.leafWeight '{"blockIO": {"leafWeight": 300}}' blkio blkio.leaf_weight 300 - -
	limit_is 'blockIO.weightDevice leafWeight' "{\"blockIO\": {\"weightDevice\": [{$device, \"leafWeight\": 400}]}}" \
		blkio blkio.leaf_weight_device '7:0 400' - -
}

# covers linux.resources.hugepageLimits linux.resources.network linux.resources.rdma
@test 'huge pages, network classes and priorities, RDMA' {
	limit_is hugepageLimits '{"hugepageLimits": [{"pageSize": "2MB", "limit": 4194304}]}' \
		hugetlb hugetlb.2MB.limit_in_bytes 4194304 hugetlb.2MB.max 4194304
	limit_is network.classID '{"network": {"classID": 1048577}}' net_cls net_cls.classid 1048577 - -
	limit_is network.priorities '{"network": {"priorities": [{"name": "lo", "priority": 7}]}}' net_prio net_prio.ifpriomap 'lo 7' - -
	limit_is rdma '{"rdma": {"mlx5_1": {"hcaHandles": 3, "hcaObjects": 10000}}}' \
		rdma rdma.max 'mlx5_1 hca_handle=3 hca_object=10000' rdma.max 'mlx5_1 hca_handle=3 hca_object=10000'
}
