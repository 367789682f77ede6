load helpers

setup() {
	require_root
	[ -n "$(cgroup_hierarchies)" ] || skip_host 'no cgroup hierarchy is mounted'
	helpers_setup
}

teardown() {
	was_set_up || return 0
	[ -z "${OCCUPANT:-}" ] || kill -9 "$OCCUPANT" 2>/dev/null || true
	helpers_teardown
}

# The container's group in every mounted hierarchy, as `/proc/PID/cgroup` says it.
groups_of() {
	local id controllers path mounted

	mounted=" $(cgroup_hierarchies | cut -d' ' -f1 | tr '\n' ' ')"
	while IFS=: read -r id controllers path; do
		controllers=${controllers#name=}
		[[ $mounted != *" ${controllers:-unified} "* ]] || echo "$path"
	done <"/proc/$1/cgroup" | sort -u
}

# start_occupant: a process in the container's own group
start_occupant() {
	local name mount

	sleep 1000 3>&- &
	OCCUPANT=$!
	while read -r name mount; do
		mkdir -p "$mount$CGROUP/$ID"
		if [ "$name" = cpuset ]; then
			cat "$mount/cpuset.cpus" >"$mount$CGROUP/cpuset.cpus"
			cat "$mount/cpuset.mems" >"$mount$CGROUP/cpuset.mems"
			cat "$mount/cpuset.cpus" >"$mount$CGROUP/$ID/cpuset.cpus"
			cat "$mount/cpuset.mems" >"$mount$CGROUP/$ID/cpuset.mems"
		fi
		echo $OCCUPANT >"$mount$CGROUP/$ID/cgroup.procs"
	done < <(cgroup_hierarchies)
}

@test 'every hierarchy is joined, v1 and cgroup2' {
	start_sleeper
	[ "$(groups_of "$(container_pid)")" = "$CGROUP/$ID" ]
	[ "$(groups_of $$)" != "$CGROUP/$ID" ]
}

# covers linux.cgroupsPath
@test 'the default path is /sbx/ID, a relative one lies below the root, deletion removes both' {
	local name mount

	edit_config 'del(.linux.cgroupsPath)'
	start_sleeper
	[ "$(groups_of "$(container_pid)")" = "/sbx/$ID" ]
	run_sbx delete --force "$ID"
	assert_status 0
	while read -r name mount; do
		[ ! -e "$mount/sbx/$ID" ]
	done < <(cgroup_hierarchies)
	edit_config '.linux.cgroupsPath = $p' --arg p "${CGROUP#/}/$ID"
	start_sleeper
	[ "$(groups_of "$(container_pid)")" = "$CGROUP/$ID" ]
}

@test 'a path that leaves the hierarchy or names its root is refused' {
	local path

	for path in / /../x "$CGROUP/../../x" "$CGROUP//x" "$CGROUP/x/" ..; do
		edit_config '.linux.cgroupsPath = $p' --arg p "$path"
		run_container
		assert_error cgroup
		[[ $stderr = *cgroup*[Pp]ath* ]]
	done
}

@test 'a group that holds a process is refused, and the process lives' {
	start_occupant
	set_args true
	run_container
	assert_error 'holds processes'
	kill -0 "$OCCUPANT"
	run_sbx delete --force "$ID"
	assert_status 0
	kill -0 "$OCCUPANT"
	kill -9 "$OCCUPANT"
	wait "$OCCUPANT" || true
	run_container # control: vacant, it is taken over
	assert_status 0
}

# in_groups COMMAND...: runs it with each of the container's groups as the last argument.
in_groups() {
	local name mount

	while read -r name mount; do
		"$@" "$mount$CGROUP/$ID"
	done < <(cgroup_hierarchies)
}

@test 'a group that was prepared is used with what was set in it' {
	local dir

	need pids
	dir=$(cgroup_dir pids)
	mkdir -p "$dir"
	[ ! -e "$dir/../cgroup.subtree_control" ] || echo +pids >"$dir/../cgroup.subtree_control"
	echo 33 >"$dir/pids.max"
	start_sleeper
	[ "$(value pids pids.max pids.max)" = 33 ]
	[ "$(groups_of "$(container_pid)")" = "$CGROUP/$ID" ]
	run_sbx delete --force "$ID"
	assert_status 0
	in_groups refute test -e
}

@test 'a group belongs to one container until that is deleted' {
	start_sleeper
	run_sbx run --bundle "$BUNDLE" other
	assert_error 'holds processes'
	run_sbx kill "$ID" KILL
	wait_until 5 status_is stopped
	run_sbx run --bundle "$BUNDLE" other
	assert_error "another container's"
	in_groups test -d
	edit_config '.linux.cgroupsPath = $p' --arg p "$CGROUP"
	run_sbx run --bundle "$BUNDLE" other # the group above would take this one with it
	assert_error "another container's"
	in_groups test -d
	run_sbx delete "$ID"
	assert_status 0
	in_groups refute test -e
	edit_config '.linux.cgroupsPath = $p' --arg p "$CGROUP/$ID"
	start_sleeper # control: it is free again
}

@test 'the end of a create that was refused a group leaves it to its owner' {
	start_sleeper
	kill -9 "$(container_pid)"
	wait_until 5 status_is stopped
	refute "$SBX_RUNTIME" --root "$ROOT.2" create --bundle "$BUNDLE" "$ID" 2>/dev/null 3>&-
	[ ! -e "$ROOT.2/$ID" ]
	in_groups test -d
}

# run_in_both: the bundle in two stores under one id, and so in one group, at the same time; $codes are
# the two exit statuses, and a refusal is one line that says why.
run_in_both() {
	local store code pids=()

	codes=
	for store in 1 2; do
		"$SBX_RUNTIME" --root "$ROOT.$store" run --bundle "$BUNDLE" "$ID" \
			2>"$BATS_TEST_TMPDIR/error.$store" </dev/null 3>&- &
		pids+=($!)
	done
	for store in 1 2; do
		code=0
		wait "${pids[store - 1]}" || code=$?
		codes+=" $code"
		[ $code != 1 ] || grep -qE "another container's|holds processes" "$BATS_TEST_TMPDIR/error.$store" ||
			fail "$(cat "$BATS_TEST_TMPDIR/error.$store")"
		[ "$(wc -l <"$BATS_TEST_TMPDIR/error.$store")" = $code ]
	done
}

@test 'two that want one group at the same time: one has it alone, the other is refused' {
	local round codes refused=0

	set_args sleep 0.1
	for round in {1..40}; do
		run_in_both
		case $codes in
		' 0 1' | ' 1 0') refused=$((refused + 1)) ;;
		' 0 0') ;; # one after the other
		*) fail "round $round: exit statuses$codes" ;;
		esac
	done
	[ $refused -gt 0 ] # control: they did meet
	rmdir "$ROOT.1" "$ROOT.2"
}

@test 'cpu, memory and pids limits are written' {
	need memory
	need cpu
	need pids
	limit_resources '{"cpu": {"shares": 2048, "quota": 50000, "period": 200000},
		"memory": {"limit": 67108864, "reservation": 33554432}, "pids": {"limit": 77}}'
	start_sleeper
	[ "$(value memory memory.limit_in_bytes memory.max)" = 67108864 ]
	[ "$(value memory memory.soft_limit_in_bytes memory.low)" = 33554432 ]
	[ "$(value pids pids.max pids.max)" = 77 ]
	case $(value cpu cpu.shares cpu.weight) in 2048 | 159 | 160 | 170 | 174) ;; *) false ;; esac
	case $(value cpu cpu.cfs_quota_us cpu.max) in 50000 | '50000 200000') ;; *) false ;; esac
}

@test 'a pids limit holds, and 0 and -1 are what they say' {
	need pids
	limit_resources '{"pids": {"limit": 0}}'
	set_args true
	run_container
	assert_status 0
	limit_resources '{"pids": {"limit": 1}}'
	set_script 'true | true; echo done'
	run_container
	[ "$status" != 0 ]
	limit_resources '{"pids": {"limit": -1}}'
	run_container
	assert_status 0
	[ "$output" = 'done' ]
}

# covers linux.resources.unified
@test 'unified files go to cgroup2; elsewhere they are refused by name' {
	limit_resources '{"unified": {"cgroup.max.depth": "3"}}'
	if ! cgroup_hierarchies | grep -q '^unified '; then
		run_container
		assert_error unified
		return
	fi
	start_sleeper
	[ "$(cat "$(cgroup_hierarchies | awk '$1 == "unified" { print $2 }')$CGROUP/$ID/cgroup.max.depth")" = 3 ]
	run_sbx delete --force "$ID"
	limit_resources '{"unified": {"nothing.max": "3"}}'
	run_container
	assert_error nothing.max
	edit_config '.linux.resources.unified = {"a/b.max": "3"}'
	run_container
	assert_error 'a/b.max'
}

@test 'a limit that no controller has is refused by name' {
	cgroup_has net_cls && skip_host 'net_cls is mounted'
	limit_resources '{"network": {"classID": 1048577}}'
	run_container
	assert_error network.classID
}

# covers linux.resources.devices
@test 'devices: denied but for the default list and the rules' {
	edit_config '.process.capabilities |= map_values(. + ["CAP_MKNOD", "CAP_SYSLOG"])'
	set_script 'mknod /k c 1 11 && head -c 0 /dev/null && exec 3</k'
	run_container
	[ "$status" != 0 ]
	assert_stderr 'peration not permitted'
	edit_config '.linux.resources.devices += [{allow: true, type: "c", major: 1, minor: 11, access: "r"}]'
	rm -f "$BUNDLE/rootfs/k"
	run_container
	assert_status 0
	set_script 'exec 3>/k' # what was allowed is to read it
	run_container
	[ "$status" != 0 ]
	assert_stderr 'peration not permitted'
}

# More of it, with a real systemd: tests/live/systemd.
@test 'the systemd manager: its names are planned, other paths and properties refused' {
	local path

	edit_config '.linux.cgroupsPath = $p' --arg p "a-b.slice:p:$ID"
	run_sbx --systemd-cgroup plan "$BUNDLE"
	assert_status 0
	assert_equal "$(jq -c '.plan.cgroup | [.manager, .slice, .unit, .subgroup]' <<<"$output")" \
		'["systemd","a-b.slice","p-'"$ID"'.scope","container"]'
	for path in "$CGROUP/$ID" "a.slice:b" "a:b:c" "a.slice:b:c.slice" "a.slice:b:../c"; do
		edit_config '.linux.cgroupsPath = $p' --arg p "$path"
		run_sbx --systemd-cgroup run --bundle "$BUNDLE" "$ID"
		assert_error 'systemd cgroup manager'
	done
	edit_config '.linux.cgroupsPath = $p' --arg p "a.slice:b:$ID"
	set_annotation org.systemd.property.Slice "'b.slice'"
	run_sbx --systemd-cgroup run --bundle "$BUNDLE" "$ID"
	assert_error '"Slice"'
}

@test 'the systemd manager without systemd is refused by name, before anything is made' {
	edit_config '.linux.cgroupsPath = $p' --arg p ":sbx:$ID"
	set_args true
	run_sbx --systemd-cgroup run --bundle "$BUNDLE" "$ID"
	if [ -d /run/systemd/system ]; then
		assert_error systemd # our pid namespace is none that it knows
	elif sbx features | jq -e .linux.cgroup.systemd >/dev/null; then
		assert_error 'not booted with systemd'
	else
		assert_error 'this build has none'
	fi
	[ ! -e "$ROOT/$ID" ]
	edit_config '.linux.cgroupsPath = $p' --arg p "$CGROUP/$ID"
	run_sbx --cgroup-manager=cgroupfs run --bundle "$BUNDLE" "$ID" # control
	assert_status 0
}

@test 'disabled makes no group' {
	set_args sleep 1000
	sbx_detached --cgroup-manager=disabled create --bundle "$BUNDLE" "$ID"
	assert_status 0
	[ "$(groups_of "$(container_pid)")" = "$(groups_of $$)" ]
	run_sbx ps "$ID"
	assert_error 'no cgroup'
	run_sbx kill "$ID" KILL
	assert_status 0
}

@test 'disabled says once which limits it leaves out' {
	log=$BATS_TEST_TMPDIR/log
	set_args true
	limit_resources '{"cpu": {"shares": 512}, "memory": {"limit": 67108864, "swap": -1}, "pids": {"limit": 20}}'
	run_sbx --log "$log" --log-level warning --cgroup-manager=disabled run --bundle "$BUNDLE" "$ID"
	assert_status 0
	[ "$(grep -c 'not set: cpu.shares, pids.limit, memory.limit' "$log")" = 1 ]
	# control: nothing is left out
	edit_config 'del(.linux.resources) | .linux.resources = {cpu: {}, pids: {limit: -1}}'
	: >"$log"
	run_sbx --log "$log" --log-level warning --cgroup-manager=disabled run --bundle "$BUNDLE" "$ID"
	assert_status 0
	[ ! -s "$log" ]
}

@test 'read-only hierarchies: one clear error, and a way around' {
	set_args true
	run --separate-stderr unshare --mount sh -c '
		awk "/ - cgroup2? /{ print \$5 }" /proc/self/mountinfo | while read m; do
			mount -o remount,bind,ro "$m"
		done
		exec "$@"' sh "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID"
	assert_error 'read-only'
	assert_stderr 'cgroup-manager=disabled'
	run --separate-stderr unshare --mount sh -c '
		awk "/ - cgroup2? /{ print \$5 }" /proc/self/mountinfo | while read m; do
			mount -o remount,bind,ro "$m"
		done
		exec "$@"' sh "$SBX_RUNTIME" --root "$ROOT" --cgroup-manager=disabled run \
		--bundle "$BUNDLE" "$ID"
	assert_status 0
}

@test 'groups that were made below the container go with it' {
	local name mount

	start_sleeper
	while read -r name mount; do
		mkdir -p "$mount$CGROUP/$ID/a/b" "$mount$CGROUP/$ID/c"
	done < <(cgroup_hierarchies)
	run_sbx delete --force "$ID"
	assert_status 0
	while read -r name mount; do
		[ ! -e "$mount$CGROUP/$ID" ]
	done < <(cgroup_hierarchies)
}

@test 'without a pid namespace what outlives the first process dies with delete' {
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	set_script 'sleep 1001 & sleep 1002 & wait'
	create_container
	run_sbx start "$ID"
	assert_status 0
	wait_until 5 eval '[ "$(sbx ps --format json "$ID" | jq length)" = 3 ]'
	kill -9 "$(container_pid)"
	wait_until 5 status_is stopped
	[ "$(sbx ps --format json "$ID" | jq length)" = 2 ] # control: they live on
	run_sbx delete --force "$ID"
	assert_status 0
	assert_no_leaks
}

@test 'exec enters the group, a group below it, or where the first process is' {
	local unified name mount

	start_sleeper
	sbx_detached exec -d --pid-file "$BATS_TEST_TMPDIR/exec.pid" "$ID" sleep 1001
	assert_status 0
	[ "$(groups_of "$(cat "$BATS_TEST_TMPDIR/exec.pid")")" = "$CGROUP/$ID" ]
	while read -r name mount; do
		mkdir "$mount$CGROUP/$ID/below"
		if [ "$name" = cpuset ]; then
			cat "$mount/cpuset.cpus" >"$mount$CGROUP/$ID/below/cpuset.cpus"
			cat "$mount/cpuset.mems" >"$mount$CGROUP/$ID/below/cpuset.mems"
		fi
	done < <(cgroup_hierarchies)
	sbx_detached exec -d --cgroup /below --pid-file "$BATS_TEST_TMPDIR/exec.pid" "$ID" sleep 1001
	assert_status 0
	[ "$(groups_of "$(cat "$BATS_TEST_TMPDIR/exec.pid")")" = "$CGROUP/$ID/below" ]
	for name in .. ../.. below/../.. absent; do
		run_sbx exec --cgroup "$name" "$ID" true
		[ "$status" != 0 ]
		assert_stderr cgroup
	done
	unified=$(cgroup_hierarchies | awk '$1 == "unified" { print $2 }')
	[ -n "$unified" ] && grep -qw hugetlb "$unified/cgroup.controllers" || return 0
	# as systemd in a container does: groups of its own, and controllers for them
	for name in $(sbx ps -f json "$ID" | jq .[]); do
		echo "$name" >"$unified$CGROUP/$ID/below/cgroup.procs"
	done
	echo +hugetlb >"$unified/cgroup.subtree_control"
	echo +hugetlb >"$unified$CGROUP/cgroup.subtree_control"
	echo +hugetlb >"$unified$CGROUP/$ID/cgroup.subtree_control"
	refute sh -c "echo \$\$ >'$unified$CGROUP/$ID/cgroup.procs'" 2>/dev/null # control: it takes none
	sbx_detached exec -d --pid-file "$BATS_TEST_TMPDIR/exec.pid" "$ID" sleep 1001
	assert_status 0
	grep -q "^0::$CGROUP/$ID/below$" "/proc/$(cat "$BATS_TEST_TMPDIR/exec.pid")/cgroup"
}
