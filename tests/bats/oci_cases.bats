# What went wrong in a runtime once and was reported: the input, and the right answer. The report is named
# above the test. Most such cases stand in the file of their topic; here are those that need a set-up of
# their own.
load helpers

setup() {
	require_root
	helpers_setup
}

# ---- seccomp ---------------------------------------------------------------------------------------

# runc#2151
# covers linux.seccomp.defaultAction linux.seccomp.defaultErrnoRet
@test 'seccomp: a number newer than the profile under a default of EPERM answers ENOSYS' {
	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ERRNO", defaultErrnoRet: 1,
		architectures: ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
		syscalls: [{names: ($names | split(" ")), action: "SCMP_ACT_ALLOW"}]}' --arg names "$(seccomp_names)"
	set_args probe syscall 470
	run_container
	assert_status 1
	assert_output 'syscall: ENOSYS'
	# the controls: what the profile could name and does not is refused as it says, and without it is not
	set_args probe syscall personality
	run_container
	assert_output 'syscall: EPERM'
	edit_config '.linux.seccomp.defaultErrnoRet = 95'
	run_container
	assert_output 'syscall: EOPNOTSUPP'
	edit_config 'del(.linux.seccomp)'
	run_container
	assert_output 'done'
}

# Everything that probe may want, but for personality(2).
seccomp_names() {
	echo access arch_prctl brk capget capset chdir clone clone3 close close_range dup dup2 dup3 execve \
		execveat exit exit_group faccessat faccessat2 fchdir fcntl fstat futex getcwd getdents64 getegid \
		geteuid getgid getpid getppid getrandom gettid getuid ioctl lseek mmap mprotect munmap \
		newfstatat openat pipe2 poll prctl pread64 prlimit64 read readlinkat recvfrom recvmsg rseq \
		rt_sigaction rt_sigprocmask rt_sigreturn sendmsg sendto set_robust_list set_tid_address setgid \
		setgroups setresgid setresuid setuid sigaltstack socket stat statx tgkill uname wait4 write writev
}

# ---- control groups --------------------------------------------------------------------------------

# crun#1239
@test 'ps of a container without a cgroup: one clear error, nothing on stdout' {
	set_args sleep 1000
	sbx_detached --cgroup-manager=disabled create --bundle "$BUNDLE" "$ID"
	assert_status 0
	for format in table json; do
		run_sbx --cgroup-manager=disabled ps --format "$format" "$ID"
		assert_error 'no cgroup'
	done
	run_sbx state "$ID"
	assert_status 0
}

# runc update.bats
# covers linux.resources.memory.checkBeforeUpdate
@test 'update: a memory limit below what is in use is rejected with checkBeforeUpdate, and the container lives' {
	cgroup_dir memory >/dev/null || skip_host 'no memory controller'
	edit_config '.linux.resources.memory = {limit: 67108864, checkBeforeUpdate: true}'
	start_sleeper
	echo '{"memory": {"limit": 1024, "checkBeforeUpdate": true}}' >"$BATS_TEST_TMPDIR/r.json"
	run_sbx update -r "$BATS_TEST_TMPDIR/r.json" "$ID"
	assert_error 'rejecting memory limit 1024'
	status_is running
	[ "$(value memory memory.limit_in_bytes memory.max)" = 67108864 ]
	# the bundle asked for it once: every update of it is checked
	run_sbx update --memory 1024 "$ID"
	assert_error 'rejecting memory limit 1024'
	status_is running
	run_sbx update --memory 32m "$ID"
	assert_status 0
	[ "$(value memory memory.limit_in_bytes memory.max)" = 33554432 ]
}

# runc#4094
@test 'update: realtime period and runtime lowered together are both applied, and raised again' {
	local parent

	parent=$(cgroup_dir cpu .) && [ -e "/sys/fs/cgroup/cpu/cpu.rt_runtime_us" ] ||
		skip_host 'no cgroup v1 with realtime groups'
	mkdir -p "$parent"
	echo 100000 >"$parent/cpu.rt_runtime_us" || skip_host 'no realtime to give away'
	edit_config '.linux.resources.cpu = {realtimePeriod: 900000, realtimeRuntime: 80000}'
	start_sleeper
	run_sbx update --cpu-rt-period 10000 --cpu-rt-runtime 900 "$ID"
	assert_status 0
	[ "$(value cpu cpu.rt_period_us -)" = 10000 ]
	[ "$(value cpu cpu.rt_runtime_us -)" = 900 ]
	run_sbx update --cpu-rt-runtime 90000 --cpu-rt-period 950000 "$ID"
	assert_status 0
	[ "$(value cpu cpu.rt_period_us -)" = 950000 ]
	[ "$(value cpu cpu.rt_runtime_us -)" = 90000 ]
}

# crun#2193, crun#2197
@test 'kill --all that is refused half way leaves nothing frozen' {
	edit_config '.linux.namespaces |= map(select(.type != "pid"))
		| .process.user = {uid: 1000, gid: 1000}'
	set_script 'sleep 1001 & sleep 1002 & : >/tmp/up; wait'
	create_container
	run_sbx start "$ID"
	wait_until 5 test -e "$BUNDLE/rootfs/tmp/up"
	for signal in USR1 KILL; do
		run --separate-stderr setpriv --bounding-set=-kill --inh-caps=-kill \
			"$SBX_RUNTIME" --root "$ROOT" kill --all "$ID" "$signal"
		[ "$signal" = KILL ] || assert_status 1
		[ "$signal" = KILL ] || status_is running
	done
	for file in freezer.state cgroup.freeze; do
		while read -r found; do
			[ "$(cat "$found")" = THAWED ] || [ "$(cat "$found")" = 0 ]
		done < <(find /sys/fs/cgroup -path "*$CGROUP/*" -name "$file" 2>/dev/null)
	done
	run_sbx kill --all "$ID" KILL
	assert_status 0
	wait_until 5 status_is stopped
}
