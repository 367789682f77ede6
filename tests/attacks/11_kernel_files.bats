# Attack 11: the kernel's own files, devices and control groups under the widest values.
load ../bats/helpers
load attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	all_capabilities
	edit_config '.linux.maskedPaths = [] | .linux.readonlyPaths = [] |
		(.mounts[] | select(.destination == "/sys")).options = ["nosuid", "noexec", "nodev"]'
	use_profile '.host.write = "allow"'
}

# Only opened for writing, nothing is written: the files are the host's.
KERNEL_FILES='/proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sys/kernel/printk
/sys/kernel/mm/transparent_hugepage/enabled /sys/block/vda/queue/nr_requests'

@test 'attack 11: procfs and sysfs are read-only under host write allow' {
	local script

	script="for f in $(tr '\n' ' ' <<<"$KERNEL_FILES"); do [ -e \$f ] && attack open \$f w; done; true"
	run_with_and_without "$script"
	assert_same 'control' ok "$(sort -u <<<"$without")"
	[ "$(wc -l <<<"$without")" -ge 3 ]
	assert_same 'under the profile' EROFS "$(sort -u <<<"$with")"
}

@test 'attack 11: the rest of the host is writable there, which shows that the profile opens it' {
	run_script 'echo a > /etc/new && cat /etc/new'
	assert_status 0
	assert_output a
	use_profile
	run_script 'echo a > /etc/new; cat /etc/passwd >/dev/null && echo read'
	assert_output read
	assert_stderr 'Read-only file system'
}

@test 'attack 11: an own process entry stays writable' {
	run_script 'echo 1000 > /proc/self/oom_score_adj && cat /proc/self/oom_score_adj'
	assert_status 0
	assert_output 1000
}

@test 'attack 11: a mounted control group does not lift the own limits' {
	local base=/sys/fs/cgroup file

	edit_config '.mounts += [{destination: "/sys/fs/cgroup", type: "cgroup", source: "cgroup",
			options: ["nosuid", "noexec", "nodev", "rw"]}] | .linux.resources.pids = {limit: 64}'
	if cgroup_is_v2_only; then
		file=$base/pids.max
	else
		file=$base/pids/pids.max
	fi
	run_with_and_without "cat $file; echo max 2>/dev/null > $file; cat $file"
	assert_same 'control' $'64\nmax' "$without"
	assert_same 'under the profile' $'64\n64' "$with"
}

@test 'attack 11: devices of the bundle cannot be written' {
	edit_config '.linux.devices = [{type: "c", path: "/dev/other", major: 1, minor: 5, fileMode: 438}] |
		.linux.resources.devices += [{allow: true, type: "c", major: 1, minor: 5, access: "rwm"}]'
	run_with_and_without 'attack open /dev/other w; attack open /dev/null w; attack open /dev/zero rw'
	assert_same 'control' $'ok\nok\nok' "$without"
	assert_same 'under the profile' $'ENOENT\nok\nok' "$with"
	report_of
	report_says '.entries[] | select(.feature == "devices") |
		.outcome == "narrowed" and (.detail | contains("/dev/other"))'
}

@test 'attack 11: block devices cannot be made' {
	run_with_and_without 'mknod /workspace/b b 7 0 2>/dev/null && echo made; rm -f /workspace/b; true'
	assert_same 'control' made "$without"
	assert_same 'under the profile' '' "$with"
}

# root_refused PATH: the profile with that root does not run, and says which member it is.
root_refused() {
	use_profile '.roots = [{path: $p, read: "allow", write: "allow"}]' --arg p "$1"
	run_container
	assert_error "$1"
	run_sbx --log-format json --log "$BATS_TEST_TMPDIR/log" run --bundle "$BUNDLE" "$ID"
	assert_status 1
	jq -e '.code == "invalid-profile" and .pointer == "/roots/0/path"' "$BATS_TEST_TMPDIR/log"
}

@test 'attack 11: roots on the kernel file systems and on devices are refused' {
	edit_config '.mounts += [{destination: "/sys/fs/cgroup", type: "cgroup", source: "cgroup"}]'
	root_refused /proc
	root_refused /proc/sys/kernel
	root_refused /sys/kernel
	if cgroup_is_v2_only; then
		root_refused /sys/fs/cgroup
	else
		root_refused /sys/fs/cgroup/pids
	fi
	root_refused /dev
	root_refused /dev/null
	use_profile '.roots = [{path: "/home", read: "allow", write: "allow"}]'
	run_script true
	assert_status 0
}

@test 'attack 11: masked paths that the bundle leaves out are a floor' {
	use_profile
	run_with_and_without 'head -c 1 /proc/timer_list | wc -c; [ -w /proc/sysrq-trigger ] && echo w; true'
	[ "$(head -n 1 <<<"$without")" = 1 ]
	[ "$(head -n 1 <<<"$with")" = 0 ]
}

@test 'attack 11: nor does the bundle lift them by making all of /proc and /sys read-only' {
	edit_config '.linux.readonlyPaths = ["/proc", "/sys"]'
	use_profile
	run_with_and_without 'head -c 1 /proc/timer_list | wc -c; ls /sys/firmware 2>/dev/null | wc -l'
	[ "$(head -n 1 <<<"$without")" = 1 ]
	assert_same 'under the profile' $'0\n0' "$with"
	use_profile '.host.read = "deny"'
	run_script 'cat /proc/timer_list /proc/keys | wc -c; ls /sys/firmware 2>/dev/null | wc -l'
	assert_output $'0\n0'
}

# shared KIND: without an own namespace of that kind the bit drops, and a profile that requires it is
# refused.
shared() {
	edit_config 'del(.linux.namespaces[] | select(.type == $t))' --arg t "$1"
	use_profile
	report_of
	report_says '.guarantees.processBoundary == false'
	use_profile '.require = ["processBoundary"]'
	run_container
	assert_error processBoundary
}

pids_need_landlock() {
	edit_config 'del(.linux.namespaces[] | select(.type == "pid"))'
	use_profile
	run_container
	assert_error 'the kernel has no Landlock'
}

@test 'attack 11: the host pid namespace drops the process boundary' {
	use_profile
	report_of
	report_says '.guarantees.processBoundary == true'
	if [ "$(landlock_is_there)" = true ]; then
		shared pid
	else
		pids_need_landlock
	fi
}

@test 'attack 11: the host ipc namespace drops the process boundary' {
	shared ipc
}


# What a namespace shows that the bundle shares with others: here that of a process beside, in its own.
start_neighbour() {
	unshare --pid --ipc --fork --kill-child --mount-proc sleep 1000 3>&- &
	neighbour=$!
	wait_until 5 eval 'first=$(cat /proc/$neighbour/task/$neighbour/children) && [ -n "$first" ]'
	first=${first// /}
}

join_namespace() { # TYPE
	edit_config '.linux.namespaces |= map(select(.type != $t)) + [{type: $t, path: $p}]' --arg t "$1" --arg p "/proc/$first/ns/$1"
}

@test 'attack 11: the processes of a shared pid namespace cannot be seen, changed or signalled' {
	if [ "$(landlock_is_there)" = false ]; then
		pids_need_landlock
		return
	fi
	start_neighbour
	join_namespace pid
	edit_config '.process.user = {uid: 0, gid: 0}'
	for access in '.host.read = "allow"' '.host.read = "deny"'; do
		use_profile "$access"
		run_with_and_without '[ ! -e /proc/1 ] || echo seen; [ "$(attack open /proc/1/oom_score_adj w)" != ok ] || echo changed
			sleep 1000 & kill -0 1 2>/dev/null && echo signalled; [ -e /proc/$! ] && kill $! && echo own'
		assert_same control $'seen\nchanged\nsignalled\nown' "$without"
		assert_same 'under the profile' own "$with"
	done
	report_of
	report_says '.entries[] | select(.feature == "signals").outcome == "enforced"'
	report_says '.guarantees.processBoundary | not'
	run --separate-stderr "$SBX_TEST_BIN/attack" without landlock "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID"
	assert_error 'the kernel has no Landlock'
	edit_config '(.mounts[] | select(.destination == "/proc")) |= {destination: "/proc", type: "bind", source: "/proc", options: ["rbind"]}'
	run_container
	assert_error 'other processes than the container'
	kill "$neighbour"
}

@test 'attack 11: the message queues of a shared IPC namespace cannot be changed' {
	start_neighbour
	join_namespace ipc
	use_profile
	run_with_and_without 'attack open /dev/mqueue/queue wc'
	assert_same control ok "$without"
	assert_same 'under the profile' EROFS "$with"
	kill "$neighbour"
	edit_config '.linux.namespaces |= map(if .type == "ipc" then {type} else . end)'
	run_script 'attack open /dev/mqueue/queue wc' # the control: its own
	assert_output ok
}
