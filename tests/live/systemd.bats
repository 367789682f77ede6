# The systemd cgroup manager with a real systemd: see ./systemd, which runs this.
load ../bats/helpers
load ../attacks/attacks

setup() {
	helpers_setup
	UNIT=sbxt-$ID.scope
	SLICE=sbxt$$.slice
	SCOPE=/sys/fs/cgroup/$SLICE/$UNIT
	GROUP=$SCOPE/container
	edit_config '.linux.cgroupsPath = $p' --arg p "$SLICE:sbxt:$ID"
}

teardown() {
	was_set_up || return 0
	[ -z "${OTHER:-}" ] || sbx delete --force "$OTHER"
	helpers_teardown
	[ -z "${HOME_DIR:-}" ] || rm -rf "$HOME_DIR"
	[ -z "${STARTED:-}" ] || systemctl stop "$STARTED"
	wait_until 5 no_scopes
	systemctl stop "$SLICE" 2>/dev/null || true
}

# Of this test, with whatever name.
no_scopes() {
	[ -z "$(systemctl list-units --all --no-legend 'sbxt-*.scope' 'sbx-hooks-*.scope')" ] &&
		[ -z "$(find "/sys/fs/cgroup/$SLICE" -mindepth 1 -type d 2>/dev/null)" ]
}

# As helpers.bash has it, with the manager.
sbx() {
	"$SBX_RUNTIME" --root "$ROOT" --systemd-cgroup "$@" 3>&-
}

# shows PROPERTY VALUE [UNIT]
shows() {
	assert_equal "$(systemctl show --value -p "$1" "${3:-$UNIT}")" "$2"
}

limit_resources() {
	edit_config '.linux.resources += $r' --argjson r "$1"
}

group_of() {
	cut -d : -f 3 "/proc/$1/cgroup"
}

@test 'a scope around the container, which has a group of its own below, and nothing is left' {
	start_sleeper
	assert_equal "$(group_of "$(container_pid)")" "${GROUP#/sys/fs/cgroup}"
	shows Slice "$SLICE"
	shows Delegate yes
	shows ActiveState active
	[ -z "$(cat "$SCOPE/cgroup.procs")" ]
	[ "$(wc -l <"$GROUP/cgroup.procs")" = 1 ]
	run_sbx exec "$ID" cat /proc/self/cgroup
	assert_output 0::/ # the root of its namespace
	run_sbx delete --force "$ID"
	assert_status 0
	[ ! -e "$SCOPE" ]
	shows LoadState not-found
}

@test 'names: the default, an empty slice, slices in slices, the root, no prefix' {
	local path group

	set_args cat /proc/self/cgroup
	edit_config '.linux.namespaces |= map(select(.type != "cgroup"))'
	while read -r path group; do
		edit_config '.linux.cgroupsPath = $p' --arg p "${path#none}"
		run_container
		assert_output "0::${group//ID/$ID}/container"
	done <<-CASES
		none /system.slice/sbx-ID.scope
		:sbxt:$ID /system.slice/sbxt-ID.scope
		sbxt$$-b-c.slice:sbxt:$ID /sbxt$$.slice/sbxt$$-b.slice/sbxt$$-b-c.slice/sbxt-ID.scope
		-:sbxt:$ID /sbxt-ID.scope
		$SLICE::sbxt-$ID /$SLICE/sbxt-ID.scope
	CASES
	systemctl stop "sbxt$$-b-c.slice" "sbxt$$-b.slice"
}

@test 'what is no name of a unit is refused, and nothing is made' {
	local path

	set_args true
	for path in "/sbx/$ID" "a:b:c" "a.slice:b" "a.slice:b:c.slice" "a..slice/:b:c" "a.slice:b:c/d"; do
		edit_config '.linux.cgroupsPath = $p' --arg p "$path"
		run_container
		assert_error 'systemd cgroup manager'
	done
	edit_config '.linux.cgroupsPath = $p' --arg p "$SLICE:sbxt:$ID"
	run_container # control
	assert_status 0
}

@test 'limits are properties of the scope and files of the group' {
	limit_resources '{"cpu": {"shares": 2048, "quota": 50500, "period": 100000, "cpus": "0"},
		"memory": {"limit": 67108864, "reservation": 33554432, "swap": 67108864},
		"pids": {"limit": 77}, "unified": {"memory.high": "60000000", "memory.min": "4096"}}'
	start_sleeper
	shows TasksMax 77
	shows MemoryMax 67108864
	shows MemoryLow 33554432
	shows MemorySwapMax 0
	shows MemoryMin 4096
	shows CPUQuotaPerSecUSec 510ms
	shows AllowedCPUs 0
	assert_equal "$(systemctl show --value -p CPUWeight "$UNIT")" "$(cat "$GROUP/cpu.weight")"
	assert_equal "$(cat "$GROUP/cpu.max")" '50500 100000'
	assert_equal "$(cat "$GROUP/pids.max")" 77
	assert_equal "$(cat "$GROUP/memory.max" "$GROUP/memory.high" "$GROUP/memory.swap.max")" \
		$'67108864\n59998208\n0'
	assert_equal "$(cat "$GROUP/cpuset.cpus")" 0
}

@test 'a pids limit of 0 is 1 to systemd, -1 is none; both limits hold' {
	limit_resources '{"pids": {"limit": 0}}'
	start_sleeper
	shows TasksMax 1
	assert_equal "$(cat "$GROUP/pids.max")" 0
	run_sbx delete --force "$ID"
	limit_resources '{"pids": {"limit": -1}}'
	start_sleeper
	shows TasksMax infinity
	run_sbx delete --force "$ID"
	limit_resources '{"pids": {"limit": 1}}'
	set_script 'true | true; echo done'
	run_container
	[ "$status" != 0 ]
	limit_resources '{"pids": {"limit": 20}}' # control
	run_container
	assert_output 'done'
	limit_resources '{"memory": {"limit": 20971520, "swap": 20971520}}'
	set_script 'dd if=/dev/zero of=/dev/null bs=60M count=1'
	run_container
	assert_status 137
	limit_resources '{"memory": {"limit": 209715200, "swap": 209715200}}' # control
	run_container
	assert_status 0
}

@test 'update changes both; what is in use is not taken away where that is asked' {
	limit_resources '{"cpu": {"quota": 50000, "period": 200000}}'
	start_sleeper
	run_sbx update --memory 64m --memory-swap 64m --pids-limit 33 --cpu-quota 40000 --cpu-share 512 "$ID"
	assert_status 0
	shows MemoryMax 67108864
	shows TasksMax 33
	shows CPUQuotaPerSecUSec 200ms # of the period that it has
	run_sbx update --cpu-period 100000 "$ID"
	shows CPUQuotaPerSecUSec 400ms
	run_sbx update --cpu-period 200000 "$ID"
	assert_equal "$(cat "$GROUP/memory.max" "$GROUP/pids.max" "$GROUP/cpu.max")" $'67108864\n33\n40000 200000'
	sbx update -r - "$ID" <<<'{"memory": {"limit": 134217728, "swap": 268435456}, "pids": {"limit": -1}}'
	shows MemoryMax 134217728
	shows MemorySwapMax 134217728
	shows TasksMax infinity
	assert_equal "$(cat "$GROUP/memory.max" "$GROUP/memory.swap.max")" $'134217728\n134217728'
	echo '{"memory": {"limit": 1024, "checkBeforeUpdate": true}}' >"$BATS_TEST_TMPDIR/r"
	run_sbx update -r "$BATS_TEST_TMPDIR/r" "$ID"
	assert_error 'in use'
	shows MemoryMax 134217728
	status_is running
}

@test 'annotations set properties; what is not a bundle to set is refused' {
	set_annotation org.systemd.property.TimeoutStopUSec 'uint64 7000000'
	set_annotation org.systemd.property.KillSignal 37
	set_annotation org.systemd.property.After "['basic.target']"
	start_sleeper
	shows TimeoutStopUSec 7s
	shows KillSignal 37
	[[ $(systemctl show --value -p After "$UNIT") = *basic.target* ]]
	run_sbx delete --force "$ID"
	set_annotation org.systemd.property.TimeoutStopSec 3
	edit_config 'del(.annotations["org.systemd.property.TimeoutStopUSec"])'
	start_sleeper
	shows TimeoutStopUSec 3s
	run_sbx delete --force "$ID"
	set_annotation org.systemd.property.PIDs "[uint32 $$]"
	run_container
	assert_error 'PIDs'
	edit_config 'del(.annotations["org.systemd.property.PIDs"])'
	set_annotation org.systemd.property.NoSuchThing true
	run_container
	assert_error 'NoSuchThing'
	[ ! -e "$SCOPE" ]
}

@test 'a scope that is in use is refused, and lives; one that failed is not in the way' {
	start_sleeper
	run_sbx run --bundle "$BUNDLE" other
	assert_error "$UNIT"
	run_sbx delete --force other
	status_is running
	shows ActiveState active
	run_sbx delete --force "$ID"
	assert_status 0
	systemd-run -q --scope --unit "$UNIT" -p RuntimeMaxSec=1 sleep 100 3>&- || true
	wait_until 5 eval "systemctl is-failed -q $UNIT"
	start_sleeper
	shows ActiveState active
}

@test 'the end of a stopped container does not reach the one that has its name now' {
	local pid

	start_sleeper
	kill -9 "$(container_pid)"
	wait_until 5 test ! -e "$SCOPE"
	OTHER=other$$
	sbx_detached run --detach --bundle "$BUNDLE" "$OTHER"
	assert_status 0
	pid=$(sbx state "$OTHER" | jq .pid)
	run_sbx delete --force "$ID"
	assert_status 0
	kill -0 "$pid"
	shows ActiveState active
	run_sbx exec "$OTHER" true # control: it is whole
	assert_status 0
	run_sbx delete --force "$OTHER"
	wait_until 5 has_ended "$pid"
}

@test 'daemon-reload: a terminal still opens, and devices are filtered as before' {
	edit_config '.process.capabilities |= map_values(. + ["CAP_MKNOD", "CAP_SYSLOG"])'
	start_sleeper
	systemctl daemon-reload
	run_sbx exec -t "$ID" tty
	assert_status 0
	[[ $output = /dev/pts/* ]]
	run_sbx exec "$ID" sh -c 'mknod /k c 1 11; exec 3</k'
	[ "$status" != 0 ]
	assert_stderr 'peration not permitted'
	run_sbx exec "$ID" head -c 1 /dev/zero # control
	assert_status 0
	assert_equal "$(group_of "$(container_pid)")" "${GROUP#/sys/fs/cgroup}"
}

@test 'pause, resume, ps, and everything in the scope dies with delete' {
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	set_script 'sleep 1001 & sleep 1002 & wait'
	create_container
	run_sbx start "$ID"
	wait_until 5 eval '[ "$(sbx ps --format json "$ID" | jq length)" = 3 ]'
	run_sbx pause "$ID"
	status_is paused
	run_sbx resume "$ID"
	status_is running
	kill -9 "$(container_pid)"
	wait_until 5 status_is stopped
	[ -e "$GROUP" ] # control: two live on
	run_sbx delete --force "$ID"
	assert_status 0
	[ ! -e "$SCOPE" ]
}

@test 'the group below: another name, none, and nothing else' {
	set_annotation run.oci.systemd.subgroup mine
	start_sleeper
	assert_equal "$(group_of "$(container_pid)")" "${SCOPE#/sys/fs/cgroup}/mine"
	run_sbx delete --force "$ID"
	set_annotation run.oci.systemd.subgroup ''
	limit_resources '{"pids": {"limit": 44}}'
	start_sleeper
	assert_equal "$(group_of "$(container_pid)")" "${SCOPE#/sys/fs/cgroup}"
	assert_equal "$(cat "$SCOPE/pids.max")" 44
	run_sbx exec "$ID" true
	assert_status 0
	run_sbx delete --force "$ID"
	[ ! -e "$SCOPE" ]
	set_annotation run.oci.systemd.subgroup ../..
	run_container
	assert_error 'group below the scope'
}

# at_stage OPTIONS...: create under the tracer; the rows go to a file.
at_stage() {
	"$SBX_TEST_BIN/kill-at-stage" "$@" -- "$SBX_RUNTIME" --root "$ROOT" --systemd-cgroup --debug \
		--log "$BATS_TEST_TMPDIR/log" create --bundle "$BUNDLE" "$ID" \
		>"$BATS_TEST_TMPDIR/rows" 2>/dev/null </dev/null 3>&-
}

@test 'the runtime is killed at each row of create: delete --force leaves no scope' {
	local side name

	set_args sleep 1000
	at_stage --list
	sbx delete --force "$ID"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/rows")" -ge 12 ]
	while read -r side name; do
		at_stage --at "$name"
		run_sbx delete --force "$ID"
		assert_status 0
		wait_until 5 no_scopes
	done <<<"$(grep -v '^child' "$BATS_TEST_TMPDIR/rows")"
}

@test 'without its state delete --force finds the scope by its name and the container by its id' {
	local pid

	start_sleeper
	pid=$(container_pid)
	rm "$ROOT/$ID/state"
	run_sbx delete --force "$ID"
	assert_status 0
	wait_until 5 has_ended "$pid"
	[ ! -e "$SCOPE" ]
	OTHER=other$$ # of another id, under the same name: not this one's
	set_args sleep 1000
	sbx_detached run --detach --bundle "$BUNDLE" "$OTHER"
	assert_status 0
	cp -a "$ROOT/$OTHER" "$ROOT/$ID"
	rm "$ROOT/$ID/state"
	run_sbx delete --force "$ID"
	[ "$(sbx state "$OTHER" | jq -r .status)" = running ]
}

@test 'under a profile what a hook left running is killed, at each stage' {
	local kind

	attack_setup
	use_profile
	edit_config '.linux.cgroupsPath = $p' --arg p "$SLICE:sbxt:$ID"
	set_args sleep 1000
	for kind in createRuntime poststart poststop; do
		add_hook $kind '{"path": "/bin/sh", "args": ["sh", "-c", "setsid sleep 10077 & cat /proc/self/cgroup >&2"]}'
	done
	create_container
	refute pgrep -f 'sleep 10077'
	run_sbx start "$ID"
	assert_status 0
	refute pgrep -f 'sleep 10077'
	run_sbx delete --force "$ID"
	assert_status 0
	refute pgrep -f 'sleep 10077'
	wait_until 5 no_scopes
	no_profile # control: they live on
	create_container
	pgrep -f 'sleep 10077'
	pkill -f 'sleep 10077'
}

@test 'a pid namespace that systemd does not know is refused, and no process of the host is moved' {
	set_args true
	run --separate-stderr unshare --pid --fork --mount-proc "$SBX_RUNTIME" --root "$ROOT" --systemd-cgroup \
		run --bundle "$BUNDLE" "$ID"
	assert_error 'pid namespace'
	[ ! -e "$SCOPE" ]
	run_container # control
	assert_status 0
}

# owners: of the group, a file of it, the scope and a file of that
owners() {
	stat -c %u "$GROUP" "$GROUP/cgroup.procs" "$GROUP/memory.max" "$SCOPE" "$SCOPE/cgroup.procs" | xargs
}

@test 'a container that sees its cgroup namespace writable has its group, and not the scope' {
	edit_config '.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
		| .linux.gidMappings = .linux.uidMappings
		| .mounts += [{destination: "/sys/fs/cgroup", type: "cgroup", source: "cgroup", options: ["nosuid"]}]'
	chown 100000:100000 "$BUNDLE/rootfs"
	start_sleeper
	assert_equal "$(owners)" '100000 100000 0 0 0'
	run_sbx exec "$ID" mkdir /sys/fs/cgroup/below
	assert_status 0
	[ -d "$GROUP/below" ]
	run_sbx delete --force "$ID"
	edit_config '.process.user.uid = 1000'
	start_sleeper
	assert_equal "$(owners)" '101000 101000 0 0 0'
	run_sbx delete --force "$ID"
	edit_config '.mounts[-1].options += ["ro"]' # control: nothing to give
	start_sleeper
	assert_equal "$(owners)" '0 0 0 0 0'
}

# as_user ARGS...: the runtime as $USER_ID, with his own manager
as_user() {
	setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups --inh-caps=-all env -i -C "$HOME_DIR" \
		PATH="$PATH" XDG_RUNTIME_DIR="/run/user/$USER_ID" \
		"$HOME_DIR/sbx-runtime" --root "$HOME_DIR/root" --systemd-cgroup "$@" 3>&-
}

user_manager_is_up() {
	[ "$(systemctl is-active "user@$USER_ID")" = active ] && [ -S "/run/user/$USER_ID/bus" ]
}

@test 'an ordinary user: a scope of his own manager, limits, and exec from elsewhere' {
	local pid group

	USER_ID=$(id -u "${SBX_TEST_USER:-nobody}")
	user_manager_is_up || STARTED="user@$USER_ID"
	systemctl start "user@$USER_ID" || true
	wait_until 20 user_manager_is_up || skip_host "user $USER_ID has no manager"
	HOME_DIR=/run/user/$USER_ID/sbxt
	mkdir -p "$HOME_DIR/root"
	cp "$SBX_RUNTIME" "$HOME_DIR/sbx-runtime"
	edit_config "$(rootless_filter) | .linux.uidMappings[0].hostID = $USER_ID | .linux.gidMappings[0].hostID = $USER_ID"
	edit_config ".linux.resources = {memory: {limit: 67108864}, pids: {limit: 25}} | .linux.cgroupsPath = \":sbxt:$ID\""
	set_args sleep 1000
	mv "$BUNDLE" "$HOME_DIR/bundle"
	BUNDLE=$HOME_DIR/bundle
	chown -R "$USER_ID:$USER_ID" "$HOME_DIR"
	as_user create --bundle "$BUNDLE" "$ID" >/dev/null 2>"$BATS_TEST_TMPDIR/stderr" </dev/null ||
		fail "$(cat "$BATS_TEST_TMPDIR/stderr")"
	as_user start "$ID"
	pid=$(as_user state "$ID" | jq .pid)
	group=/sys/fs/cgroup$(group_of "$pid")
	[[ $group = */user@$USER_ID.service/*/$UNIT/container ]]
	assert_equal "$(cat "$group/memory.max" "$group/pids.max" "${group%/*}/memory.max")" \
		$'67108864\n25\n67108864'
	run as_user exec "$ID" cat /proc/self/cgroup # from a group that is root's
	assert_output 0::/
	as_user update --pids-limit 30 "$ID"
	assert_equal "$(cat "$group/pids.max" "${group%/*}/pids.max")" $'30\n30'
	as_user pause "$ID"
	assert_equal "$(as_user state "$ID" | jq -r .status)" paused
	as_user resume "$ID"
	as_user delete --force "$ID"
	[ ! -e "${group%/*}" ]
	run env -u XDG_RUNTIME_DIR setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups \
		"$HOME_DIR/sbx-runtime" --root "$HOME_DIR/root" --systemd-cgroup run --bundle "$BUNDLE" "$ID"
	[ "$status" = 1 ]
	assert_output --partial 'XDG_RUNTIME_DIR'
}
