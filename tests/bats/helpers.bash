# What every bats file loads first: `load helpers`, then `sbx_file_setup` in setup_file() where it has
# its own, else the defaults below serve.
#
# A test gets: $ROOT, a runtime root of its own; $BUNDLE with a busybox rootfs and config.json; $ID, a
# container id that no other test has; $CGROUP, the parent of its cgroups. After each test everything
# that it left is removed; a process, mount, cgroup or state folder that `delete --force` did not take
# away fails the test.
#
# run_sbx ARGS...      runs the program; $status, $output (stdout) and $stderr hold what it said
# sbx_detached ARGS... the same for verbs that leave a process behind, whose stdio goes to
#                      $BATS_TEST_TMPDIR/{stdout,stderr}
# edit_config FILTER   jq on config.json, in place

bats_require_minimum_version 1.5.0
bats_load_library bats-support/load.bash 2>/dev/null || bats_load_library bats-support
bats_load_library bats-assert/load.bash 2>/dev/null || bats_load_library bats-assert

: "${SBX_RUNTIME:?set by tests/bats/run: the program to test}"
: "${SBX_TEST_BIN:?set by tests/bats/run: the folder of the test programs}"

HELPERS_APPLETS='[ awk cat chmod chown cp cut date dd df dirname echo env expr false find grep head
hostname httpd id ip kill ln ls mkdir mknod mount mountpoint mv nc od ping printf ps pwd readlink rm
rmdir sed sh sleep sort stat stty tail tee test touch tr true tty umount uname unshare wc wget whoami
xargs'

is_root() {
	[ "$EUID" = 0 ]
}

require_root() {
	is_root || skip 'needs root'
}

# A fact of this machine that a test cannot do without: an explained skip, also where skips fail.
skip_host() {
	skip "host: $*"
}

# ---- cgroups ---------------------------------------------------------------------------------------

# The mount points of the cgroup hierarchies, one a line: "unified /sys/fs/cgroup" or
# "memory /sys/fs/cgroup/memory".
cgroup_hierarchies() {
	awk '{
		for (i = 7; $i != "-"; i++)
			;
		if ($(i + 1) == "cgroup2")
			print "unified", $5
		else if ($(i + 1) == "cgroup") {
			name = $5
			sub(".*/", "", name)
			print name, $5
		}
	}' /proc/self/mountinfo
}

# cgroup_dir CONTROLLER [ID]: where the container's cgroup of that controller is.
cgroup_dir() {
	local controller=$1 id=${2:-$ID} name mount

	while read -r name mount; do
		if [[ ",$name," = *",$controller,"* ]]; then
			echo "$mount$CGROUP/$id"
			return
		fi
	done < <(cgroup_hierarchies)
	while read -r name mount; do
		[ "$name" = unified ] && grep -qw "$controller" "$mount/cgroup.controllers" &&
			echo "$mount$CGROUP/$id" && return
	done < <(cgroup_hierarchies)
	return 1
}

cgroup_is_v2_only() {
	[ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]
}

# need CONTROLLER: skips where neither v1 nor cgroup2 has it
need() {
	awk -v c="$1" '$1 == c { found = 1 } END { exit !found }' /proc/cgroups &&
		cgroup_has "$1" || skip_host "no $1 controller"
}

cgroup_has() {
	local name mount

	while read -r name mount; do
		[[ ",$name," = *",$1,"* ]] && return
		[ "$name" = unified ] && grep -qw "$1" "$mount/cgroup.controllers" && return
	done < <(cgroup_hierarchies)
	return 1
}

# value CONTROLLER V1FILE V2FILE
value() {
	local dir

	dir=$(cgroup_dir "$1")
	if [ -e "$dir/cgroup.controllers" ]; then
		cat "$dir/$3"
	else
		cat "$dir/$2"
	fi
}

limit_resources() {
	edit_config '.linux.resources += $r' --argjson r "$1"
}

# ---- bundles ---------------------------------------------------------------------------------------

# make_rootfs DIR: busybox, probe, a few files of /etc; made once per run, then copied.
make_rootfs() {
	local template=$BATS_RUN_TMPDIR/rootfs-template

	[ -d "$template" ] || make_rootfs_template "$template"
	cp -a "$template" "$1"
}

make_rootfs_template() {
	local root=$1.$$ applet

	mkdir -p "$root"/{bin,dev,etc,home/user,proc,root,sys,tmp,usr/bin,var,workspace}
	chmod 1777 "$root/tmp"
	cp "$(command -v busybox)" "$root/bin/busybox"
	cp "$SBX_TEST_BIN/probe" "$root/bin/probe"
	(cd "$root/bin" && for applet in $HELPERS_APPLETS; do echo "$applet"; done |
		xargs -I{} ln -s busybox {})
	printf 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n' >"$root/etc/passwd"
	printf 'root:x:0:\nuser:x:1000:\nextra:x:2000:user\n' >"$root/etc/group"
	mv "$root" "$1"
}

# The config.json of a test before it edits it, cached for the run but for the cgroup.
write_default_config() {
	local template=$BATS_RUN_TMPDIR/config-template text

	if [ ! -s "$template" ]; then
		CGROUP=@cgroup ID=@ default_config >"$template.$$"
		if ! is_root; then
			jq "$(rootless_filter)" "$template.$$" >"$template.$$.next"
			mv "$template.$$.next" "$template.$$"
		fi
		mv "$template.$$" "$template"
	fi
	text=$(<"$template")
	printf '%s\n' "${text//@cgroup\/@/$CGROUP\/$ID}" >"$1"
}

default_config() {
	jq -n --arg cgroup "$CGROUP/$ID" '{
	ociVersion: "1.2.0",
	process: {
		terminal: false, user: {uid: 0, gid: 0}, args: ["sh"], cwd: "/", noNewPrivileges: true,
		env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm"],
		capabilities: (["CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE"] |
			{bounding: ., effective: ., permitted: .})
	},
	root: {path: "rootfs", readonly: false},
	hostname: "sbx",
	mounts: [
		{destination: "/proc", type: "proc", source: "proc"},
		{destination: "/dev", type: "tmpfs", source: "tmpfs",
			options: ["nosuid", "strictatime", "mode=755", "size=65536k"]},
		{destination: "/dev/pts", type: "devpts", source: "devpts",
			options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]},
		{destination: "/dev/shm", type: "tmpfs", source: "shm",
			options: ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]},
		{destination: "/dev/mqueue", type: "mqueue", source: "mqueue",
			options: ["nosuid", "noexec", "nodev"]},
		{destination: "/sys", type: "sysfs", source: "sysfs",
			options: ["nosuid", "noexec", "nodev", "ro"]}
	],
	linux: {
		cgroupsPath: $cgroup,
		resources: {devices: [{allow: false, access: "rwm"}]},
		namespaces: [{type: "pid"}, {type: "network"}, {type: "ipc"}, {type: "uts"},
			{type: "mount"}, {type: "cgroup"}],
		maskedPaths: ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys",
			"/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
			"/proc/sched_debug", "/sys/firmware", "/proc/scsi"],
		readonlyPaths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
			"/proc/sysrq-trigger"]
	}}'
}

# What an unprivileged caller can have: a user namespace with its own id, no cgroup, sysfs bound.
rootless_filter() {
	cat <<-JQ
		.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: $(id -u), size: 1}]
		| .linux.gidMappings = [{containerID: 0, hostID: $(id -g), size: 1}]
		| del(.linux.resources) | del(.linux.cgroupsPath)
		| .mounts |= map(if .destination == "/sys" then
			{destination: "/sys", type: "none", source: "/sys",
			options: ["rbind", "nosuid", "noexec", "nodev", "ro"]} else . end)
	JQ
}

# make_bundle DIR: a busybox bundle, with the container's id in its cgroupsPath.
make_bundle() {
	local dir=$1

	mkdir -p "$dir"
	make_rootfs "$dir/rootfs"
	write_default_config "$dir/config.json"
}

# edit_config FILTER [jq options, as --arg N V]
edit_config() {
	local filter=$1 next=$BUNDLE/.config.json.next

	shift
	jq "$filter" "$BUNDLE/config.json" "$@" >"$next"
	mv "$next" "$BUNDLE/config.json"
}

# set_args COMMAND [ARGS]: process.args
set_args() {
	edit_config '.process.args = $ARGS.positional' --args -- "$@"
}

# set_script TEXT: the container runs `sh -c TEXT`.
set_script() {
	set_args sh -c "$1"
}

# use_user_namespace: the container's ids are 100000 and up, and its root file system is theirs.
use_user_namespace() {
	edit_config '.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
		| .linux.gidMappings = .linux.uidMappings'
	chown -R 100000:100000 "$BUNDLE/rootfs"
	chmod 755 "$BATS_TEST_TMPDIR" "$BUNDLE"
}

# keep_namespaces UNSHARE-OPTION...: a process in namespaces of its own. $KEEPER is to be killed by KILL,
# since unshare(1) blocks TERM; what it forked dies with it. $NS is the folder of its namespaces.
keep_namespaces() {
	unshare "$@" --fork --kill-child sleep 1000 3>&- &
	KEEPER=$!
	wait_until 5 pgrep -P $KEEPER >/dev/null
	NS=/proc/$(pgrep -P $KEEPER)/ns
	wait_until 5 eval '[ "$(cat "${NS%/ns}/comm")" = sleep ]'
}

# add_mount JSON, add_hook KIND JSON, set_annotation KEY VALUE
add_mount() {
	edit_config '.mounts += [$m]' --argjson m "$1"
}

add_hook() {
	edit_config '.hooks[$kind] += [$hook]' --arg kind "$1" --argjson hook "$2"
}

set_annotation() {
	edit_config '.annotations[$key] = $value' --arg key "$1" --arg value "$2"
}

# ---- running ---------------------------------------------------------------------------------------

sbx() {
	"$SBX_RUNTIME" --root "$ROOT" "$@" 3>&-
}

run_sbx() {
	run --separate-stderr sbx "$@"
}

# For verbs whose child outlives them: `run` would wait for the child to close its pipes.
sbx_detached() {
	status=0
	sbx "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null || status=$?
	output=$(tr -d '\0' <"$BATS_TEST_TMPDIR/stdout")
	stderr=$(tr -d '\0' <"$BATS_TEST_TMPDIR/stderr")
	BATS_RUN_COMMAND="sbx $*"
}

# run_container [ARGS]: `run` of $BUNDLE in the foreground.
run_container() {
	run_sbx run --bundle "$BUNDLE" "$@" "$ID"
}

# create_container [ARGS]: `create`, and the test fails where that fails.
# shellcheck disable=SC2120 # the files that load this pass some
create_container() {
	sbx_detached create --bundle "$BUNDLE" "$@" "$ID"
	assert_status 0
}

# start_sleeper: a container that runs until it is killed.
start_sleeper() {
	set_args sleep 1000
	create_container
	run_sbx start "$ID"
	assert_status 0
}

container_status() {
	sbx state "$ID" | jq -r .status
}

container_pid() {
	sbx state "$ID" | jq -r .pid
}

# wait_until SECONDS COMMAND...: fails where the command does not succeed in time.
wait_until() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		if [ $SECONDS -ge $end ]; then
			echo "waited in vain for: $*" >&2
			return 1
		fi
		sleep 0.05
	done
}

# has_ended PID: it is gone, or waits for its parent to ask.
has_ended() {
	! grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$1/status"
}

status_is() {
	[ "$(container_status)" = "$1" ]
}

# ---- assertions ------------------------------------------------------------------------------------

assert_status() {
	if [ "$status" -ne "$1" ]; then
		{
			echo "exit status $status, expected $1: $BATS_RUN_COMMAND"
			echo "stdout: $output"
			echo "stderr: ${stderr:-}"
		} >&2
		return 1
	fi
}

# assert_stderr TEXT: stderr holds this text.
assert_stderr() {
	if [[ ${stderr:-} != *"$1"* ]]; then
		echo "stderr lacks '$1': ${stderr:-}" >&2
		return 1
	fi
}

refute_stderr() {
	if [[ ${stderr:-} = *"$1"* ]]; then
		echo "stderr holds '$1': ${stderr:-}" >&2
		return 1
	fi
}

# One clear error: exit 1 (or STATUS), one line on stderr that holds TEXT, nothing on stdout.
assert_error() {
	local text=$1 expected=${2:-1}

	assert_status "$expected"
	assert_stderr "$text"
	if [ "$(wc -l <<<"${stderr%$'\n'}")" != 1 ] || [ -n "$output" ]; then
		printf 'not one line of error: stderr: %s\nstdout: %s\n' "$stderr" "$output" >&2
		return 1
	fi
}

# ---- leaks -----------------------------------------------------------------------------------------

# Live processes that init of this pid namespace (or of the machine) holds, zombies apart.
orphans() {
	local stat rest fields

	for stat in /proc/[0-9]*/stat; do
		read -r rest 2>/dev/null <"$stat" || continue
		read -ra fields <<<"${rest##*) }"
		[ "${fields[0]}" = Z ] && continue
		[ "${fields[1]}" = 1 ] && [ -O "${stat%/stat}" ] && echo "${stat//[!0-9]/}"
	done | sort
}

mounts_now() {
	awk '{ $1 = $2 = ""; print }' /proc/self/mountinfo | sort
}

leaks_snapshot() {
	orphans >"$BATS_TEST_TMPDIR/.orphans"
	mounts_now >"$BATS_TEST_TMPDIR/.mounts"
}

leaked_processes() {
	local pid

	for pid in $(comm -13 "$BATS_TEST_TMPDIR/.orphans" <(orphans)); do
		echo "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
	done
}

leaked_mounts() {
	comm -13 "$BATS_TEST_TMPDIR/.mounts" <(mounts_now) | sed 's/^ */mount /'
}

leaked_cgroups() {
	local name mount

	while read -r name mount; do
		[ -d "$mount$CGROUP" ] && find "$mount$CGROUP" -mindepth 1 -type d -printf 'cgroup %p\n'
	done < <(cgroup_hierarchies)
	return 0
}

leaked_state() {
	[ ! -d "$ROOT" ] || find "$ROOT" -mindepth 1 -maxdepth 1 -type d -printf 'state %p\n'
}

no_leaks() {
	local found

	found=$(leaked_state; leaked_processes; leaked_mounts; leaked_cgroups)
	[ -z "$found" ]
}

assert_no_leaks() {
	if ! wait_until 5 no_leaks 2>/dev/null; then
		echo 'left behind:' >&2
		{ leaked_state; leaked_processes; leaked_mounts; leaked_cgroups; } >&2
		return 1
	fi
}

remove_cgroup_parents() {
	local name mount

	while read -r name mount; do
		[ ! -d "$mount$CGROUP" ] || find "$mount$CGROUP" -depth -type d -exec rmdir {} + 2>/dev/null
	done < <(cgroup_hierarchies)
	return 0
}

delete_all_containers() {
	local dir

	for dir in "$ROOT"/*/; do
		[ ! -d "$dir" ] || sbx delete --force "$(basename "$dir")" || true
	done
}

# ---- the frame of a test ---------------------------------------------------------------------------

helpers_setup() {
	ID=t$$-$BATS_TEST_NUMBER-$RANDOM
	ROOT=$BATS_TEST_TMPDIR/root
	CGROUP=/sbx-bats-$ID
	BUNDLE=$BATS_TEST_TMPDIR/bundle
	make_bundle "$BUNDLE"
	leaks_snapshot
}

# A set-up that skipped the test made nothing: bats calls teardown all the same.
was_set_up() {
	[ -n "${ROOT:-}" ]
}

# start_race A B: a hostile writer exchanges the two paths until stop_race, or the end of the test
start_race() {
	"$SBX_TEST_BIN/racer" "$@" 3>&- &
	racer=$!
}

stop_race() {
	[ -z "${racer:-}" ] || kill "$racer" 2>/dev/null || true
	[ -z "${racer:-}" ] || wait "$racer" 2>/dev/null || true
	racer=
}

helpers_teardown() {
	was_set_up || return 0
	stop_race
	delete_all_containers
	assert_no_leaks
	remove_cgroup_parents
}

setup() {
	helpers_setup
}

teardown() {
	helpers_teardown
}
