# What the members of `process` do, and the values that are refused.
load helpers

# refused TEXT: the bundle as it is now does not run; one line says why.
refused() {
	run_container
	assert_error "$1"
	assert_no_leaks
}

# ---- cwd and env -----------------------------------------------------------------------------------

# covers process.cwd
@test 'cwd: absolute, made where it is missing' {
	edit_config '.process.cwd = "/new/folder"'
	set_args pwd
	run_container
	assert_status 0
	assert_output /new/folder
	[ "$(stat -c %a "$BUNDLE/rootfs/new/folder")" = 755 ]
	edit_config '.process.cwd = "bin"'
	refused absolute
	edit_config '.process.cwd = ""'
	refused /process/cwd
}

@test 'cwd: readable by the user alone, and by root at exec' {
	require_root
	mkdir -m 700 "$BUNDLE/rootfs/private"
	chown 42:42 "$BUNDLE/rootfs/private"
	edit_config '.process.cwd = "/private" | .process.user = {uid: 42, gid: 42}'
	set_args sleep 1000
	create_container
	run_sbx start "$ID"
	assert_status 0
	run_sbx exec --user 0 "$ID" true
	assert_status 0
}

# covers process.args
@test 'args: each as it is, an empty one and spaces as well' {
	edit_config '.process.args = ["printf", "<%s>", "one two", "", "$PATH"]'
	run_container
	assert_status 0
	assert_output '<one two><><$PATH>'
	edit_config '.process.args = []'
	refused /process/args
}

# covers process.env
@test 'env: only what config.json names, the last of duplicates, newlines kept' {
	edit_config '.process.env = ["PATH=/bin", "ONE=two", "ONE=", "NL=a\nb", "HOME=/elsewhere"]'
	set_args env
	FOREIGN=1 run_container
	assert_status 0
	refute_line --partial FOREIGN
	assert_line 'ONE='
	refute_line 'ONE=two'
	assert_line 'NL=a'
	assert_line 'b'
	assert_line HOME=/elsewhere
	assert_equal "$(wc -l <<<"$output")" 5
}

@test 'env: HOME comes from the passwd inside' {
	set_script 'echo $HOME'
	run_container
	assert_output /root
	edit_config '.process.env += ["HOME="]'
	run_container
	assert_output /root
	is_root || return 0
	edit_config '.process.user = {uid: 1000, gid: 1000}'
	run_container
	assert_output /home/user
	edit_config '.process.user = {uid: 4242, gid: 0}'
	run_container
	assert_output /
}

# ---- user ------------------------------------------------------------------------------------------

# covers process.user
@test 'user: uid, gid, additional groups, umask' {
	require_root
	edit_config '.process.user = {uid: 1000, gid: 1001, additionalGids: [2000, 10], umask: 63}'
	set_script 'id -u; id -g; id -G; umask'
	run_container
	assert_status 0
	assert_line --index 0 1000
	assert_line --index 1 1001
	assert_line --index 2 --regexp '\b2000\b'
	assert_line --index 2 --regexp '\b10\b'
	assert_line --index 3 0077
}

@test 'user: umask is 0022 by default; the groups of the caller are not kept' {
	set_script 'umask; grep Groups: /proc/self/status'
	umask 0
	run_container
	assert_line --index 0 0022
	is_root || return 0
	assert_line --index 1 --regexp '^Groups:[[:space:]]*$'
}

@test 'user: an executable that only CAP_DAC_OVERRIDE lets through' {
	require_root
	cp "$BUNDLE/rootfs/bin/busybox" "$BUNDLE/rootfs/bin/true744"
	chmod 744 "$BUNDLE/rootfs/bin/true744"
	rm "$BUNDLE/rootfs/bin/true"
	mv "$BUNDLE/rootfs/bin/true744" "$BUNDLE/rootfs/bin/true"
	edit_config '.process.user = {uid: 1000, gid: 1000}'
	set_args /bin/true
	refused 'permission denied'
	edit_config '.process.capabilities = (["CAP_DAC_OVERRIDE"] | {bounding: ., effective: .,
		permitted: ., inheritable: ., ambient: .}) | .process.noNewPrivileges = false'
	run_container
	assert_status 0
}

# ---- capabilities ----------------------------------------------------------------------------------

# covers process.capabilities.bounding process.capabilities.permitted process.capabilities.effective
@test 'capabilities: the sets of config.json, exactly' {
	require_root
	edit_config '.process.capabilities = {bounding: ["CAP_CHOWN", "CAP_KILL", "CAP_NET_RAW"],
		permitted: ["CAP_CHOWN", "CAP_KILL"], effective: ["CAP_KILL"]}'
	set_args grep Cap /proc/self/status
	run_container
	assert_status 0
	assert_line --regexp $'^CapInh:\t0000000000000000$'
	assert_line --regexp $'^CapPrm:\t0000000000000021$'
	assert_line --regexp $'^CapBnd:\t0000000000002021$'
	assert_line --regexp $'^CapAmb:\t0000000000000000$'
}

@test 'capabilities: no block, no capability' {
	edit_config 'del(.process.capabilities)'
	set_args grep Cap /proc/self/status
	run_container
	assert_status 0
	assert_equal "$(grep -c $'\t0000000000000000$' <<<"$output")" 5
}

# covers process.capabilities.ambient process.capabilities.inheritable
@test 'capabilities: ambient ones reach a user without root, inheritable ones alone do not' {
	require_root
	edit_config '.process.user = {uid: 1000, gid: 1000} | .process.capabilities =
		(["CAP_CHOWN", "CAP_NET_BIND_SERVICE"] | {bounding: ., effective: ., permitted: ., inheritable: .,
		ambient: ["CAP_NET_BIND_SERVICE"]})'
	set_args grep -E 'CapInh|CapEff|CapAmb' /proc/self/status
	run_container
	assert_status 0
	assert_output $'CapInh:\t0000000000000401\nCapEff:\t0000000000000400\nCapAmb:\t0000000000000400'
	edit_config '.process.capabilities.ambient = []'
	run_container
	assert_output $'CapInh:\t0000000000000401\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000'
	edit_config 'del(.process.capabilities.inheritable)'
	run_container
	assert_output $'CapInh:\t0000000000000000\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000'
}

# ---- no_new_privs, rlimits, oom score --------------------------------------------------------------

# covers process.noNewPrivileges
@test 'noNewPrivileges: as asked' {
	set_args grep NoNewPrivs /proc/self/status
	run_container
	assert_output $'NoNewPrivs:\t1'
	edit_config '.process.noNewPrivileges = false'
	run_container
	assert_output $'NoNewPrivs:\t0'
}

# covers process.rlimits
@test 'rlimits: set, and a duplicate type is refused' {
	edit_config '.process.rlimits = [{type: "RLIMIT_NOFILE", soft: 100, hard: 200},
		{type: "RLIMIT_CORE", soft: 0, hard: 0}]'
	set_script 'ulimit -n; ulimit -Hn; ulimit -c'
	run_container
	assert_status 0
	assert_output $'100\n200\n0'
	edit_config '.process.rlimits += [{type: "RLIMIT_NOFILE", soft: 1, hard: 2}]'
	refused RLIMIT_NOFILE
	edit_config '.process.rlimits = [{type: "RLIMIT_NOSUCH", soft: 1, hard: 2}]'
	refused RLIMIT_NOSUCH
	edit_config '.process.rlimits = [{type: "RLIMIT_NOFILE", soft: 3, hard: 2}]'
	refused /process/rlimits/0
}

# covers process.oomScoreAdj
@test 'oomScoreAdj: set, and left alone where it is absent' {
	set_args cat /proc/self/oom_score_adj
	run_container
	assert_output "$(cat /proc/self/oom_score_adj)"
	edit_config '.process.oomScoreAdj = 500'
	run_container
	assert_status 0
	assert_output 500
	edit_config '.process.oomScoreAdj = 1001'
	refused oomScoreAdj
}

# ---- names and sysctls -----------------------------------------------------------------------------

# covers hostname domainname
@test 'hostname and domainname: set in their own namespace, refused without one' {
	edit_config '.hostname = "inside" | .domainname = "example"'
	set_script 'hostname; cat /proc/sys/kernel/domainname'
	run_container
	assert_status 0
	assert_output $'inside\nexample'
	edit_config '.linux.namespaces |= map(select(.type != "uts"))'
	refused hostname
	edit_config 'del(.hostname)'
	refused domainname
}

# covers linux.sysctl
@test 'sysctl: of the own namespaces only' {
	local key

	edit_config '.linux.sysctl = {"kernel.shm_rmid_forced": "1", "net.ipv4.ip_forward": "1"}'
	set_script 'cat /proc/sys/kernel/shm_rmid_forced /proc/sys/net/ipv4/ip_forward'
	run_container
	assert_status 0
	assert_output $'1\n1'
	for key in kernel.core_pattern kernel.hostname vm.swappiness kernel/../kernel/core_pattern \
		'net.ipv4..ip_forward' 'net.../../kernel/core_pattern' fs.file-max ''; do
		edit_config '.linux.sysctl = {($key): "1"}' --arg key "$key"
		refused sysctl
	done
	edit_config '.linux.sysctl = {"net.ipv4.ip_forward": "1"}
		| .linux.namespaces |= map(select(.type != "network"))'
	refused sysctl
}

# ---- seccomp ---------------------------------------------------------------------------------------

# covers linux.seccomp.syscalls.action linux.seccomp.syscalls.names linux.seccomp.syscalls.errnoRet
@test 'seccomp: an action for a call, numbers newer than the profile answer ENOSYS' {
	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW",
		syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO", errnoRet: 38}]}'
	set_script 'mkdir /q; grep Seccomp: /proc/self/status'
	run_container
	assert_line $'Seccomp:\t2'
	[[ $stderr = *'not implemented'* ]]
	edit_config 'del(.linux.seccomp)'
	run_container
	assert_output "$(grep Seccomp: /proc/self/status)" # what stands above the runtime
}

# covers linux.seccomp.syscalls.args
@test 'seccomp: each operator on an argument, wider than 32 bits as well, and several on one' {
	local op value two hits misses number
	while read -r op value two hits misses; do
		edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", syscalls: [{names: ["personality"],
			action: "SCMP_ACT_ERRNO", errnoRet: 95, args: [{index: 1, op: $op, value: $v, valueTwo: $t}]}]}' \
			--arg op "SCMP_CMP_$op" --argjson v "$value" --argjson t "$two"
		set_script "for n in ${hits//,/ }; do probe syscall personality 0 \$n; done; echo; \
			for n in ${misses//,/ }; do probe syscall personality 0 \$n; done; true"
		run_container
		assert_status 0
		for number in ${hits//,/ }; do echo 'syscall: EOPNOTSUPP'; done >"$BATS_TEST_TMPDIR/wanted"
		echo >>"$BATS_TEST_TMPDIR/wanted"
		for number in ${misses//,/ }; do echo 'done'; done >>"$BATS_TEST_TMPDIR/wanted"
		diff "$BATS_TEST_TMPDIR/wanted" - <<<"$output" || { echo "$op $value $two"; return 1; }
	done <<-ROWS
		NE 7 0 6,8,0x100000007 7
		LT 7 0 0,6 7,8,0x100000000
		LE 7 0 6,7 8,0x100000007
		EQ 4294967303 0 0x100000007 7,0x100000008,0x200000007
		GE 4294967296 0 0x100000000,0x200000000 0xffffffff,0
		GT 7 0 8,0x100000000 7,0
		MASKED_EQ 240 48 0x30,0x3f,0x130 0x40,0
	ROWS
	edit_config '.linux.seccomp.syscalls[0].args = [{index: 1, op: "SCMP_CMP_EQ", value: 1}, {index: 1, op: "SCMP_CMP_EQ", value: 2}]'
	set_script 'for n in 1 2 3; do probe syscall personality 0 $n; done; true'
	run_container
	assert_output $'syscall: EOPNOTSUPP\nsyscall: EOPNOTSUPP\ndone'
}

# The calls of x32 have numbers of their own: 2^30 and that of the other machine, here getpgid's.
# covers linux.seccomp.architectures
@test 'seccomp: architectures: a call of a machine that they do not name kills' {
	[ "$(uname -m)" = x86_64 ] || skip_host 'no second machine'
	set_args probe syscall $((2 ** 30 + 121))
	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", architectures: ["SCMP_ARCH_X86_64"],
		syscalls: [{names: ["getpgid"], action: "SCMP_ACT_ERRNO", errnoRet: 95}]}'
	run_container
	assert_status 159
	edit_config '.linux.seccomp.architectures += ["SCMP_ARCH_X32"]'
	run_container
	assert_output 'syscall: EOPNOTSUPP'
	set_args probe syscall 121 # the control: its own machine's
	run_container
	assert_output 'syscall: EOPNOTSUPP'
}

# covers linux.seccomp.flags
@test 'seccomp: flags: the filter has the one that ptrace(2) tells' {
	require_root
	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", flags: ["SECCOMP_FILTER_FLAG_LOG"],
		syscalls: [{names: ["getpgid"], action: "SCMP_ACT_ERRNO", errnoRet: 95}]}'
	start_sleeper
	run "$SBX_TEST_BIN/probe" filter-flags "$(container_pid)"
	[ "$status" = 0 ] || skip_host "its ptrace(2) tells no flags: $output"
	assert_output 'flags 2'
	run_sbx delete --force "$ID"
	edit_config '.linux.seccomp.flags = []'
	start_sleeper
	run "$SBX_TEST_BIN/probe" filter-flags "$(container_pid)"
	assert_output 'flags 0'
}

@test 'seccomp: a rule that repeats the default and names that do not exist are no error' {
	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", syscalls: [
		{names: ["bdflush", "no_such_call"], action: "SCMP_ACT_ALLOW"},
		{names: ["no_such_call"], action: "SCMP_ACT_ERRNO"}]}'
	set_args true
	run_container
	assert_status 0
	edit_config '.linux.seccomp.defaultAction = "SCMP_ACT_NOSUCH"'
	refused SCMP_ACT_NOSUCH
	edit_config '.linux.seccomp.defaultAction = "SCMP_ACT_NOTIFY"'
	refused seccomp
}

# ---- contradictions --------------------------------------------------------------------------------

@test 'contradictory bundles are refused by name' {
	require_root
	edit_config '.linux.uidMappings = [{containerID: 0, hostID: 100000, size: 10}]'
	refused uidMappings
	edit_config 'del(.linux.uidMappings) | .linux.namespaces += [{type: "user"}]'
	refused user
	edit_config '.linux.namespaces = [{type: "pid"}, {type: "pid"}, {type: "mount"}]'
	refused pid
	edit_config '.linux.namespaces = [{type: "pid"}, {type: "mount"}, {type: "ipc"}, {type: "uts"}]
		| .linux.timeOffsets = {boottime: {secs: 1}}'
	refused time
	edit_config 'del(.linux.timeOffsets) | .linux.namespaces += [{type: "nosuch"}]'
	refused nosuch
}

# covers ociVersion
@test 'ociVersion: a version of major 1' {
	set_args true
	edit_config '.ociVersion = "1.0.0"'
	run_container
	assert_status 0
	edit_config '.ociVersion = "2.0.0"'
	refused ociVersion
	edit_config '.ociVersion = "one"'
	refused ociVersion
	edit_config 'del(.ociVersion)'
	refused ociVersion
}

# memory_policy MODE NODES [FLAG...]
memory_policy() {
	local mode=$1 nodes=$2

	shift 2
	edit_config '.linux.memoryPolicy = {mode: $m, nodes: $n, flags: $ARGS.positional}' \
		--arg m "$mode" --arg n "$nodes" --args -- "$@"
}

# covers linux.memoryPolicy
@test 'memoryPolicy: what numa_maps shows, for exec as well' {
	[ -e /proc/self/numa_maps ] || skip_host 'the kernel has no NUMA'
	set_script 'head -n 1 /proc/self/numa_maps'
	run_container
	assert_output --partial ' default '
	memory_policy MPOL_DEFAULT ''
	run_container
	assert_output --partial ' default '
	memory_policy MPOL_BIND 0
	run_container
	assert_output --partial ' bind:0 '
	memory_policy MPOL_INTERLEAVE 0 MPOL_F_STATIC_NODES
	run_container
	assert_output --partial ' interleave=static:0 '
	start_sleeper
	run_sbx exec "$ID" head -n 1 /proc/self/numa_maps
	assert_output --partial ' interleave=static:0 '
}

@test 'memoryPolicy: what cannot be is refused by name' {
	set_script true
	memory_policy MPOL_BIND ''
	run_container
	assert_error /linux/memoryPolicy/nodes
	memory_policy MPOL_LOCAL 0
	run_container
	assert_error /linux/memoryPolicy/nodes
	memory_policy MPOL_BIND 1024
	run_container
	assert_error /linux/memoryPolicy/nodes
	memory_policy MPOL_BIND 1023
	run_container
	assert_error 'set the memory policy to MPOL_BIND of nodes 1023'
}

# ---- scheduling ------------------------------------------------------------------------------------

CPUS='grep Cpus_allowed_list /proc/self/status | cut -f2'

# Where the runtime is bound to one processor by its caller, the container is not.
@test 'affinity: that of the runtime is not inherited, by create or exec' {
	local all

	all=$(grep Cpus_allowed_list /proc/1/status | cut -f2)
	[ "$(nproc --all)" -gt 1 ] || skip_host 'one processor'
	set_script "$CPUS"
	run --separate-stderr taskset -c 0 "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID"
	assert_output "$all"
	start_sleeper
	run --separate-stderr taskset -c 0 "$SBX_RUNTIME" --root "$ROOT" exec "$ID" sh -c "$CPUS"
	assert_output "$all"
}

# covers process.execCPUAffinity.final
@test 'execCPUAffinity: of exec alone, by lists beyond 1024 processors' {
	[ "$(nproc --all)" -gt 1 ] || skip_host 'one processor'
	edit_config '.process.execCPUAffinity = {initial: "0", final: "1"}'
	set_script "$CPUS"
	run_container
	refute_output 1
	start_sleeper
	run_sbx exec "$ID" sh -c "$CPUS"
	assert_output 1
	run_sbx delete --force "$ID"
	edit_config '.process.execCPUAffinity = {initial: "0-4000", final: "0,1500-2000"}'
	start_sleeper
	run_sbx exec "$ID" sh -c "$CPUS"
	assert_output 0
	run_sbx delete --force "$ID"
	edit_config '.process.execCPUAffinity = {final: "1500"}'
	start_sleeper
	run_sbx exec "$ID" true
	assert_error 'processors "1500"' 255
	run_sbx delete --force "$ID"
	edit_config '.process.execCPUAffinity = {final: "one"}'
	refused execCPUAffinity
}

# covers process.scheduler.policy process.scheduler.nice process.ioPriority
@test 'scheduler and ioPriority: set, and what does not belong together is refused' {
	local bad

	edit_config '.process.scheduler = {policy: "SCHED_BATCH", nice: 5}
		| .process.ioPriority = {class: "IOPRIO_CLASS_BE", priority: 3}'
	set_args probe scheduling
	run_container
	assert_line 'policy 3 flags 0 nice 5 priority 0'
	assert_line 'io class 2 priority 3'
	edit_config 'del(.process.scheduler, .process.ioPriority)'
	run_container
	assert_line 'policy 0 flags 0 nice 0 priority 0'
	assert_line 'io class 0 priority 0'
	while read -r bad; do
		write_default_config "$BUNDLE/config.json"
		edit_config ".process |= (. + $bad)"
		refused "/process/$(grep -oE 'scheduler|ioPriority' <<<"$bad")"
	done <<-'END'
		{scheduler: {policy: "SCHED_FIFO", nice: 5}}
		{scheduler: {policy: "SCHED_OTHER", priority: 5}}
		{scheduler: {policy: "SCHED_OTHER", runtime: 5}}
		{scheduler: {policy: "SCHED_NOSUCH"}}
		{scheduler: {policy: "SCHED_ISO"}}
		{scheduler: {policy: "SCHED_FIFO"}}
		{scheduler: {policy: "SCHED_DEADLINE"}}
		{scheduler: {nice: 1}}
		{scheduler: {policy: "SCHED_OTHER", nice: 20}}
		{ioPriority: {class: "IOPRIO_CLASS_NONE", priority: 0}}
		{ioPriority: {class: "IOPRIO_CLASS_BE", priority: 8}}
		{ioPriority: {priority: 1}}
	END
}

# The process of exec is forked when it has its scheduler and limits already.
@test 'exec: what a fork resets or counts is as process.json says' {
	local process

	start_sleeper
	process=$(jq -c '.process | .terminal = false | .user = {uid: 4711, gid: 4711}' "$BUNDLE/config.json")
	jq '.scheduler = {policy: "SCHED_BATCH", nice: -5, flags: ["SCHED_FLAG_RESET_ON_FORK"]}
		| .args = ["awk", "{ print $19, $41 }", "/proc/self/stat"]' <<<"$process" >"$BATS_TEST_TMPDIR/p.json"
	run_sbx exec --process "$BATS_TEST_TMPDIR/p.json" "$ID"
	assert_output '-5 3'
	jq '.rlimits = [{type: "RLIMIT_NPROC", soft: 1, hard: 1}] | .args = ["sh", "-c", "ulimit -u; ulimit -Hu; sleep 0; echo forked"]' \
		<<<"$process" >"$BATS_TEST_TMPDIR/p.json"
	run_sbx exec --process "$BATS_TEST_TMPDIR/p.json" "$ID"
	assert_line --index 0 1
	assert_line --index 1 1
	refute_line forked
	jq '.scheduler = {policy: "SCHED_DEADLINE", runtime: 10000000, deadline: 20000000, period: 20000000}' \
		<<<"$process" >"$BATS_TEST_TMPDIR/p.json"
	run_sbx exec --process "$BATS_TEST_TMPDIR/p.json" "$ID"
	assert_status 255
	assert_stderr 'under SCHED_DEADLINE by exec'
	assert_stderr '(at /process/scheduler/policy)'
}

@test 'exec: a limit of processes beside a filter that lets no limit be set' {
	edit_config '.process.noNewPrivileges = false | .process.rlimits += [{type: "RLIMIT_NPROC", soft: 500, hard: 500}]
		| .linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", syscalls: [
			{names: ["setrlimit", "prlimit64"], action: "SCMP_ACT_ERRNO"}]}'
	start_sleeper
	run_sbx exec "$ID" grep '^Max processes' /proc/self/limits
	assert_status 0
	assert_output --regexp '^Max processes +500 +500 '
}

@test 'exec: a scheduler that a fork resets beside a filter that lets none be set' {
	edit_config '.process.noNewPrivileges = false
		| .process.scheduler = {policy: "SCHED_BATCH", nice: 3, flags: ["SCHED_FLAG_RESET_ON_FORK"]}
		| .linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", syscalls: [
			{names: ["sched_setattr"], action: "SCMP_ACT_ERRNO"}]}'
	start_sleeper
	run_sbx exec "$ID" awk '{ print $19, $41 }' /proc/self/stat
	assert_status 0
	assert_output '3 3'
}

# No hard limit may be raised where the caller has no CAP_SYS_RESOURCE.
@test 'exec: a limit of processes whose hard one is that of the caller' {
	edit_config '.process.user = {uid: 5003, gid: 5003}
		| .process.rlimits = [{type: "RLIMIT_NPROC", soft: 2, hard: $hard}]' --argjson hard "$(ulimit -Hu)"
	start_sleeper
	run_sbx exec "$ID" grep '^Max processes' /proc/self/limits
	assert_status 0
	assert_output --regexp "^Max processes +2 +$(ulimit -Hu) "
}

@test 'exec that meets the end of its container says that it is not running' {
	local round pids said=$BATS_TEST_TMPDIR/said

	set_args sleep 100
	for round in {1..60}; do
		sbx_detached run --detach --bundle "$BUNDLE" "$ID"
		assert_status 0
		pids=
		for _ in 1 2 3; do
			sbx exec --detach "$ID" true >/dev/null 2>>"$said" &
			pids+=" $!"
		done
		sleep "0.0$((round % 3))"
		sbx delete --force "$ID"
		for pid in $pids; do
			wait "$pid" || true
		done
	done
	grep -q 'cannot exec in a container that is not running' "$said"
	run grep -vE 'cannot exec in a container that is not running|container does not exist|is being created or deleted' "$said"
	assert_output ''
}

@test 'exec works in a container under SCHED_DEADLINE, without its reservation' {
	edit_config '.process.scheduler = {policy: "SCHED_DEADLINE", runtime: 10000000, deadline: 20000000,
		period: 20000000}'
	start_sleeper
	[ "$(awk '{ print $41 }' "/proc/$(container_pid)/stat")" = 6 ]
	run_sbx exec "$ID" awk '{ print $41 }' /proc/self/stat
	assert_output 0
}

# covers process.scheduler.runtime process.scheduler.deadline process.scheduler.period process.scheduler.flags
@test 'scheduler: SCHED_DEADLINE with its times, and a flag that its children show' {
	require_root
	chrt -d -T 1000000 -D 5000000 -P 10000000 0 true || skip_host 'no SCHED_DEADLINE for us'
	edit_config '.process.scheduler = {policy: "SCHED_DEADLINE", runtime: 1000000, deadline: 5000000,
		period: 10000000, flags: ["SCHED_FLAG_RESET_ON_FORK"]}'
	set_args probe scheduling
	run_container
	assert_status 0
	assert_line 'policy 6 flags 1 nice 0 priority 0'
	assert_line 'runtime 1000000 deadline 5000000 period 10000000'
	set_script 'probe scheduling; true'
	run_container
	assert_status 0
	assert_line 'policy 0 flags 0 nice 0 priority 0'
	# without the flag the kernel lets such a process have no children
	edit_config 'del(.process.scheduler.flags)'
	run_container
	assert_status 2
	assert_stderr "can't fork"
	set_args probe scheduling
	run_container
	assert_line 'policy 6 flags 0 nice 0 priority 0'
}

# covers process.scheduler.priority
@test 'scheduler: SCHED_FIFO with its priority' {
	local parent

	require_root
	edit_config '.process.scheduler = {policy: "SCHED_FIFO", priority: 7}'
	if [ -e /sys/fs/cgroup/cpu/cpu.rt_runtime_us ]; then # a group of v1 has no time for it at first
		parent=$(cgroup_dir cpu .)
		mkdir -p "$parent"
		echo 20000 >"$parent/cpu.rt_runtime_us" || skip_host 'no realtime to give away'
		edit_config '.linux.resources.cpu.realtimeRuntime = 10000'
	fi
	set_args probe scheduling
	run_container
	assert_status 0
	assert_line 'policy 1 flags 0 nice 0 priority 7'
	edit_config '.process.scheduler.priority = 8'
	run_container
	assert_line 'policy 1 flags 0 nice 0 priority 8'
}

@test 'memory policy: flags that contradict each other or the mode are named' {
	local policy flag

	while read -r flag policy; do
		write_default_config "$BUNDLE/config.json"
		edit_config ".linux.memoryPolicy = $policy"
		run_container
		assert_error "${flag//./ }"
		assert_stderr '(at /linux/memoryPolicy/flags)'
	done <<-'END'
		MPOL_F_STATIC_NODES.and.MPOL_F_RELATIVE_NODES {mode: "MPOL_BIND", nodes: "0", flags: ["MPOL_F_STATIC_NODES", "MPOL_F_RELATIVE_NODES"]}
		MPOL_F_NUMA_BALANCING {mode: "MPOL_INTERLEAVE", nodes: "0", flags: ["MPOL_F_NUMA_BALANCING"]}
		MPOL_F_RELATIVE_NODES {mode: "MPOL_LOCAL", flags: ["MPOL_F_RELATIVE_NODES"]}
		MPOL_F_STATIC_NODES {mode: "MPOL_PREFERRED", flags: ["MPOL_F_STATIC_NODES"]}
	END
}

# covers linux.personality.domain
# refuses linux.personality.flags
@test 'personality: as asked, for exec as well; unknown words are refused' {
	[ "$(uname -m)" = x86_64 ] || skip_host 'no 32 bit name'
	edit_config '.linux.personality = {domain: "LINUX32"}'
	set_args uname -m
	run_container
	assert_output i686
	start_sleeper
	run_sbx exec "$ID" uname -m
	assert_output i686
	run_sbx delete --force "$ID"
	edit_config '.linux.personality.flags = ["ADDR_NO_RANDOMIZE"]'
	refused /linux/personality/flags
	edit_config '.linux.personality = {domain: "BSD"}'
	refused /linux/personality/domain
}

# ---- keyrings, security modules --------------------------------------------------------------------

@test 'keyring: of its own, that of the caller by --no-new-keyring' {
	edit_config '.linux.maskedPaths = []'
	set_script 'grep -o "keyring.*_ses[.a-zA-Z0-9-]*" /proc/keys | sed "s/.* //" | sort -u'
	run_container
	assert_line "_ses.$ID"
	# of another name: the kernel may not have collected the first one's yet
	run_sbx run --bundle "$BUNDLE" --no-new-keyring "$ID-caller"
	assert_status 0
	refute_line "_ses.$ID-caller"
}

@test 'keyring: a full quota is told with the remedy' {
	local filler

	require_root
	edit_config '.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: 163777, size: 10}]
		| .linux.gidMappings = .linux.uidMappings'
	chown -R 163777:163777 "$BUNDLE/rootfs"
	chmod 755 "$BATS_TEST_TMPDIR" "$BUNDLE"
	set_args true
	"$SBX_TEST_BIN/probe" fill-keys 163777 >"$BATS_TEST_TMPDIR/keys" 3>&- &
	filler=$!
	wait_until 10 grep -q . "$BATS_TEST_TMPDIR/keys"
	grep -q full "$BATS_TEST_TMPDIR/keys"
	run_container
	assert_error '--no-new-keyring'
	assert_stderr kernel.keys.maxkeys
	run_container --no-new-keyring
	assert_status 0
	kill $filler
}

@test 'keyring: a kernel without keys is no reason to fail' {
	require_root # a filter without no_new_privs
	set_args true
	run "$SBX_TEST_BIN/probe" without-call keyctl "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID"
	assert_status 0
}

# What they do is in tests/unit/test_rooms_process.c, on a procfs that the test makes.
# refuses process.apparmorProfile process.selinuxLabel
@test 'labels: of a security module that the host does not have are refused by name, unconfined is none' {
	grep -qx Y /sys/module/apparmor/parameters/enabled 2>/dev/null && skip_host 'it has AppArmor'
	[ ! -e /sys/fs/selinux/status ] || skip_host 'it has SELinux'
	set_args true
	edit_config '.process.apparmorProfile = "unconfined"'
	run_container
	assert_status 0
	edit_config '.process.apparmorProfile = "some-profile"'
	refused 'AppArmor profile "some-profile"'
	edit_config 'del(.process.apparmorProfile) | .process.selinuxLabel = "system_u:system_r:container_t:s0"'
	refused 'SELinux label'
}

# refuses linux.mountLabel
@test 'mountLabel: without SELinux the first file system that would take it is named' {
	[ ! -e /sys/fs/selinux/status ] || skip_host 'it has SELinux'
	set_args true
	edit_config '.linux.mountLabel = "system_u:object_r:container_file_t:s0"'
	refused 'on "/dev": set the mount label'
	edit_config '.mounts |= map(select(.destination | startswith("/dev") | not))' # none is left
	run_container
	assert_status 0
	edit_config '.mounts += [{destination: "/in", type: "tmpfs", source: "tmpfs"}]'
	refused 'on "/in": set the mount label'
	edit_config '.linux.mountLabel = ""'
	run_container
	assert_status 0
}

# ---- resctrl ---------------------------------------------------------------------------------------

# What the members do is in tests/unit/test_resctrl.c, on a folder that stands in for resctrl.
# refuses linux.intelRdt
@test 'intelRdt: refused by name where the host has no resctrl, and nothing is left' {
	local member

	[ "$(stat -f -c %t /sys/fs/resctrl 2>/dev/null)" != 7655821 ] || skip_host 'it has resctrl'
	require_root
	while read -r member; do
		edit_config ".linux.intelRdt = $member"
		refused 'the host has no resctrl'
	done <<-'END'
		{closID: "gold"}
		{l3CacheSchema: "L3:0=f"}
		{memBwSchema: "MB:0=20"}
		{schemata: ["L2:0=f"]}
		{enableMonitoring: true}
	END
	edit_config 'del(.linux.intelRdt)'
	start_sleeper
	run_sbx update --l3-cache-schema L3:0=f "$ID"
	assert_error 'made without "linux.intelRdt"'
}

@test 'intelRdt: a closID that leads elsewhere is refused' {
	local id

	for id in .. . a/b ../x info mon_groups $'a\nb' /x; do
		edit_config '.linux.intelRdt = {closID: $id}' --arg id "$id"
		refused /linux/intelRdt/closID
	done
	edit_config '.linux.intelRdt = {closID: "a\u0000b"}'
	run_container
	assert_status 1
}
