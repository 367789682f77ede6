# Attack 35: files of the kernel that name a program for the host to run (CVE-2022-0492 and its kind).
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

# Only opened for writing: the files are the host's.
NAMES='/proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/hotplug /proc/sys/fs/binfmt_misc/register
/sys/kernel/uevent_helper /proc/sys/kernel/poweroff_cmd'

@test 'attack 35: none of them can be written' {
	local opens

	opens="for f in $(tr '\n' ' ' <<<"$NAMES"); do [ -e \$f ] && attack open \$f w; done; true"
	edit_config '.linux.maskedPaths = [] | .linux.readonlyPaths = [] |
		(.mounts[] | select(.destination == "/sys")).options = ["nosuid", "noexec", "nodev"]'
	run_with_and_without "$opens"
	assert_same 'control' ok "$(sort -u <<<"$without")"
	assert_same 'under the profile' EROFS "$(sort -u <<<"$with")"
}

@test 'attack 35: release_agent of a control group that the bundle mounts, and of one that is mounted inside' {
	local file=/sys/fs/cgroup/pids/release_agent

	[ -e "$file" ] || skip_host 'no cgroup v1'
	edit_config 'del(.linux.namespaces[] | select(.type == "cgroup")) | .mounts += [{destination: "/sys/fs/cgroup",
		type: "bind", source: "/sys/fs/cgroup", options: ["rbind", "rw"]}]'
	tries ok EROFS "attack open $file w"
	use_profile
	tries $'mounted\nok' $'ENOENT' 'mkdir /workspace/cg; mount -t cgroup -o pids none /workspace/cg 2>/dev/null && echo mounted
		attack open /workspace/cg/release_agent w; umount /workspace/cg 2>/dev/null; true'
}
