load helpers

setup() {
	require_root
	[ -d /sys/fs/cgroup/pids ] || [ -d /sys/fs/cgroup/memory ] ||
		grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null ||
		skip_host 'no memory and pids controllers'
	helpers_setup
}

@test 'limits change by a document, from a file and from stdin' {
	start_sleeper
	echo '{"pids": {"limit": 55}}' >"$BATS_TEST_TMPDIR/r.json"
	run_sbx update --resources="$BATS_TEST_TMPDIR/r.json" "$ID"
	assert_status 0
	[ "$(value pids pids.max pids.max)" = 55 ]
	sbx update --resources - "$ID" <<<'{"pids": {"limit": 66}, "memory": {"limit": 134217728}}'
	[ "$(value pids pids.max pids.max)" = 66 ]
	[ "$(value memory memory.limit_in_bytes memory.max)" = 134217728 ]
}

@test 'limits change by options, which win over the document' {
	start_sleeper
	run_sbx update --pids-limit 20 --memory 64m --cpu-share 512 "$ID"
	assert_status 0
	[ "$(value pids pids.max pids.max)" = 20 ]
	[ "$(value memory memory.limit_in_bytes memory.max)" = 67108864 ]
	echo '{"pids": {"limit": 55}}' >"$BATS_TEST_TMPDIR/r.json"
	run_sbx update -r "$BATS_TEST_TMPDIR/r.json" --pids-limit 21 "$ID"
	assert_status 0
	[ "$(value pids pids.max pids.max)" = 21 ]
}

@test 'a quota and a period change without each other' {
	edit_config '.linux.resources.cpu = {quota: 30000, period: 100000}'
	cgroup_dir cpu >/dev/null || skip_host 'no cpu controller'
	start_sleeper
	run_sbx update --cpu-period 50000 "$ID"
	assert_status 0
	[ "$(value cpu cpu.cfs_quota_us cpu.max | cut -d ' ' -f 1)" = 30000 ]
	run_sbx update --cpu-quota 20000 "$ID"
	assert_status 0
	case $(value cpu cpu.cfs_period_us cpu.max) in 50000 | '20000 50000') ;; *) false ;; esac
	run_sbx update --cpu-quota -1 "$ID"
	assert_status 0
	case $(value cpu cpu.cfs_quota_us cpu.max) in -1 | 'max 50000') ;; *) false ;; esac
}

@test 'a group with cpu.idle takes no shares, and is told so' {
	start_sleeper
	[ -e "$(cgroup_dir cpu)/cpu.idle" ] || skip_host 'no cpu.idle'
	run_sbx update --cpu-share 512 "$ID"
	assert_status 0 # control
	run_sbx update --cpu-idle 1 "$ID"
	assert_status 0
	run_sbx update --cpu-share 400 "$ID"
	assert_error 'a group with cpu.idle takes no shares'
	run_sbx update --cpu-share 400 --cpu-idle 0 "$ID"
	assert_status 0
	[ "$(value cpu cpu.idle cpu.idle)" = 0 ]
}

@test 'a container without a cgroup: update, ps, events and pause say what would help' {
	local verb

	set_args sleep 1000
	sbx_detached --cgroup-manager disabled create --bundle "$BUNDLE" "$ID"
	assert_status 0
	for verb in 'update --pids-limit 20' ps 'events --stats' pause; do
		# shellcheck disable=SC2086 # words
		run_sbx $verb "$ID"
		assert_error 'of a container that has no cgroup (make it without --cgroup-manager disabled'
		assert_stderr --systemd-cgroup
	done
}

@test 'memory and swap together go with the memory limit that is in force' {
	cgroup_has memory || skip_host 'no memory controller'
	cgroup_is_v2_only || [ -e /sys/fs/cgroup/memory/memory.memsw.limit_in_bytes ] ||
		skip_host 'no swap accounting on v1'
	create_container
	run_sbx update --memory-swap 200m "$ID"
	assert_error 'it needs a memory limit, and there is none'
	sbx update --memory 100m "$ID"
	sbx update --memory-swap 200m "$ID"
	[ "$(value memory memory.limit_in_bytes memory.max)" = 104857600 ]
	cgroup_is_v2_only || [ "$(value memory memory.memsw.limit_in_bytes -)" = 209715200 ]
	echo '{"memory": {"swap": 314572800}}' | sbx update -r - "$ID"
	cgroup_is_v2_only || [ "$(value memory memory.memsw.limit_in_bytes -)" = 314572800 ]
	run_sbx update --memory-swap 50m "$ID"
	assert_error 'below the memory limit'
}

@test 'memory and swap change together in both directions' {
	[ -e /sys/fs/cgroup/memory/memory.memsw.limit_in_bytes ] || skip_host 'no swap accounting on v1'
	start_sleeper
	run_sbx update --memory 64m --memory-swap 128m "$ID"
	assert_status 0
	run_sbx update --memory 256m --memory-swap 512m "$ID"
	assert_status 0
	[ "$(value memory memory.memsw.limit_in_bytes -)" = 536870912 ]
	run_sbx update --memory 32m --memory-swap 32m "$ID"
	assert_status 0
	[ "$(value memory memory.memsw.limit_in_bytes -)" = 33554432 ]
}

@test 'what cannot be changed is refused, and nothing is' {
	start_sleeper
	run_sbx update --pids-limit 20 "$ID"
	assert_status 0
	run_sbx update --pids-limit 30 --memory x "$ID"
	assert_error '"--memory" cannot be "x"'
	run_sbx update --pids-limit 30 --mem-bw-schema MB:0=1 "$ID"
	assert_error mem-bw-schema
	echo '{"pids": {"limit": 30}, "devices": [{"allow": true}]}' >"$BATS_TEST_TMPDIR/r.json"
	run_sbx update -r "$BATS_TEST_TMPDIR/r.json" "$ID"
	assert_error devices
	[ "$(value pids pids.max pids.max)" = 20 ]
	# the rules that it has may be sent again
	echo '{"pids": {"limit": 31}, "devices": [{"allow": false, "access": "rwm"}]}' \
		>"$BATS_TEST_TMPDIR/r.json"
	run_sbx update -r "$BATS_TEST_TMPDIR/r.json" "$ID"
	assert_status 0
	[ "$(value pids pids.max pids.max)" = 31 ]
	echo '{"pids": ' >"$BATS_TEST_TMPDIR/r.json"
	run_sbx update -r "$BATS_TEST_TMPDIR/r.json" "$ID"
	assert_error resources
}

# update_fails DOCUMENT TEXT
update_fails() {
	echo "$1" >"$BATS_TEST_TMPDIR/r.json"
	run_sbx update -r "$BATS_TEST_TMPDIR/r.json" "$ID"
	assert_error "$2"
}

@test 'an update that the kernel refuses in the middle changes nothing' {
	cgroup_has cpu || skip_host 'no cpu controller'
	cgroup_has cpuset || skip_host 'no cpuset controller'
	edit_config '.linux.resources = {cpu: {shares: 2048}, pids: {limit: 55}}'
	start_sleeper
	before=$(value cpu cpu.shares cpu.weight)
	state=$(cat "$ROOT/$ID/state")
	update_fails '{"cpu": {"shares": 333, "cpus": "99999"}, "pids": {"limit": 77}}' cpu.cpus
	[ "$(value cpu cpu.shares cpu.weight)" = "$before" ]
	[ "$(value pids pids.max pids.max)" = 55 ]
	# cgroup2 would kill instead
	if [ -d /sys/fs/cgroup/memory ]; then
		update_fails '{"memory": {"limit": 1024}, "cpu": {"shares": 444}, "pids": {"limit": 78}}' memory.limit
		[ "$(value cpu cpu.shares cpu.weight)" = "$before" ]
		[ "$(value pids pids.max pids.max)" = 55 ]
	fi
	[ "$(cat "$ROOT/$ID/state")" = "$state" ]
}

@test 'a limit that is left out is told once' {
	[ -d /sys/fs/cgroup/memory ] || skip_host 'refused on cgroup2'
	start_sleeper
	run_sbx --log "$BATS_TEST_TMPDIR/log" --log-level warning update --kernel-memory 1m "$ID"
	assert_status 0
	[ "$(grep -c 'ignored.*memory.kernel' "$BATS_TEST_TMPDIR/log")" = 1 ]
}

# refused OPTION VALUE WHY
refused() {
	run_sbx update "$1" "$2" "$ID"
	assert_error "\"$1\" cannot be \"$2\": $3"
}

@test 'a number outside the range of its option is refused with the range' {
	start_sleeper
	run_sbx update --cpu-share 512 "$ID"
	before=$(value cpu cpu.shares cpu.weight)
	refused --cpu-share 1 'a number from 2 to 262144'
	refused --cpu-share 999999 'a number from 2 to 262144'
	refused --cpu-share -1 'a number from 2 to 262144'
	refused --blkio-weight 5 'a number from 10 to 1000'
	refused --blkio-weight 2000 'a number from 10 to 1000'
	refused --cpu-idle 2 'a number from 0 to 1'
	refused --memory -2 'a number of bytes'
	refused --memory '' 'a number of bytes'
	refused --memory 1t 'a number of bytes'
	refused --pids-limit 0x10 'a decimal number, or -1'
	refused --pids-limit -2 'a decimal number, or -1'
	refused --cpu-period x 'a decimal number'
	[ "$(value cpu cpu.shares cpu.weight)" = "$before" ]
	# the ends, and 0 for "leave it", as managers send it
	run_sbx update --cpu-share 2 --blkio-weight 0 "$ID"
	assert_status 0
	run_sbx update --cpu-share 262144 --memory 0 "$ID"
	assert_status 0
	before=$(value cpu cpu.shares cpu.weight)
	run_sbx update --cpu-share 0 "$ID"
	assert_status 0
	[ "$(value cpu cpu.shares cpu.weight)" = "$before" ]
}

@test 'unified takes the files of limits alone, and says so' {
	grep -q cgroup2 /proc/mounts || skip_host 'no cgroup2'
	start_sleeper
	for name in a memory cgroup.procs; do
		update_fails "{\"unified\": {\"$name\": \"b\"}}" "set the cgroup file \"$name\": \"unified\" takes"
		assert_stderr 'CONTROLLER.NAME'
	done
}

@test 'no processes are a limit of none, in config.json and in an update' {
	edit_config '.linux.resources.pids = {limit: 0}'
	set_args sleep 1000
	create_container
	[ "$(value pids pids.max pids.max)" = 0 ]
	run_sbx update --pids-limit 20 "$ID"
	[ "$(value pids pids.max pids.max)" = 20 ]
	run_sbx update --pids-limit 0 "$ID"
	assert_status 0
	[ "$(value pids pids.max pids.max)" = 0 ]
	run_sbx update --pids-limit 21 "$ID"
	run_sbx update -r - "$ID" <<<'{"pids": {"limit": 0}}'
	assert_status 0
	[ "$(value pids pids.max pids.max)" = 0 ]
}

@test 'a member that is unknown is ignored, as the specification demands' {
	start_sleeper
	run_sbx update -r - "$ID" <<<'{"pids": {"limit": 44, "later": 1}, "later": {"a": 1}}'
	assert_status 0
	[ "$(value pids pids.max pids.max)" = 44 ]
}

@test 'a stopped container takes no limits' {
	set_args true
	create_container
	run_sbx start "$ID"
	wait_until 5 status_is stopped
	run_sbx update --pids-limit 20 "$ID"
	assert_error 'container not running'
}
