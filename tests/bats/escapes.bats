# Known ways out of a container, tried again; those of one topic alone stand in the file of that
# (mount_attacks, devices, exec) or under tests/attacks. Where the report raced, a hostile writer does
# here, for 200 containers, and the host must not have been touched. Each has its control: the same
# action works where it is allowed, or against a program that does not defend itself.
load helpers
load ../attacks/attacks

BATS_TEST_TIMEOUT=600 # 200 containers, each held up by the racer's renames

setup() {
	require_root
	helpers_setup
	HOST=$BATS_TEST_TMPDIR/host
	mkdir "$HOST"
}

# The change times tell also what was undone.
host_state() {
	find "$HOST" -printf '%P %y %m %U:%G %s %l %T@ %C@\n' | sort
	find "$HOST" -type f -exec cat {} +
}

# run_rounds CHECK [ROUNDS]: what runs must pass CHECK (which looks at $output), some must run.
run_rounds() {
	local round good=0 check=$1 rounds=${2:-200} before

	before=$(host_state)
	for round in $(seq "$rounds"); do
		run_sbx run --bundle "$BUNDLE" "$ID"
		if [ "$status" = 0 ]; then
			good=$((good + 1))
			"$check" || fail "round $round: $output"
		fi
	done
	[ "$(host_state)" = "$before" ] || fail "the host was changed"
	[ $good -gt 0 ] || fail "none ran: $stderr"
}

without_dev() {
	edit_config '.mounts |= map(select(.destination | startswith("/dev") | not))'
}

# ---- descriptors and working folders: CVE-2024-21626 -------------------------------------------------

@test 'a working folder behind any descriptor, by name or by a link of the image, is refused' {
	local n start

	ln -s /proc/self/fd/7 "$BUNDLE/rootfs/way"
	ln -s /proc/self/cwd "$BUNDLE/rootfs/here"
	start_sleeper
	exec 7</ 9<"$HOST"
	for n in {3..20}; do
		run_sbx exec --cwd "/proc/self/fd/$n" "$ID" true
		assert_status 255
	done
	for n in /way /way/.. /proc/self/fd/7/../../..; do
		run_sbx exec --cwd "$n" "$ID" sh -c 'ls .. | head -n 1; [ -e ./etc/shadow ]'
		refute [ "$status" = 0 ]
	done
	run_sbx exec --cwd /here "$ID" sh -c 'cd ..; [ -e bin/probe ]'
	[ "$status" = 255 ] || [ "$status" = 0 ]
	run_sbx delete --force "$ID"
	for n in {3..20}; do
		edit_config '.process.cwd = $d' --arg d "/proc/self/fd/$n"
		run_container
		assert_status 1
	done
	edit_config '.process.cwd = "/way"'
	run_container
	assert_status 1
	exec 7<&- 9<&-
	edit_config '.process.cwd = "/tmp" | .process.args = ["pwd"]' # the control
	run_container
	assert_output /tmp
}

# ---- /proc: CVE-2019-19921, CVE-2023-27561, CVE-2023-28642 -------------------------------------------

@test 'race: /proc of the image becomes a link to a folder of the image; what is read-only below it stays so' {
	mkdir -p "$BUNDLE/rootfs/bad/self/attr" "$BUNDLE/rootfs/bad/sys"
	ln -s /bad "$BUNDLE/rootfs/link"
	start_race "$BUNDLE/rootfs/proc" "$BUNDLE/rootfs/link"
	# The mount goes where its folder goes, the payload finds it by either name.
	set_script 'i=0; while [ $((i = i + 1)) -lt 100 ]; do
			table=$(cat /proc/self/mountinfo 2>/dev/null || cat /link/self/mountinfo 2>/dev/null) && break
		done
		echo "$table" | grep -c " / /[a-z]* .* - proc "; echo "$table" | grep -c " /bad "
		echo "$table" | grep -c " /sys /[a-z]*/sys ro"; true'
	is_mounted_in_place() { [ "${lines[*]:0:3}" = "1 0 1" ]; }
	run_rounds is_mounted_in_place
	stop_race
	# the control: mount(8) follows the link
	rm -rf "$BUNDLE/rootfs/proc" "$BUNDLE/rootfs/link"
	ln -s bad "$BUNDLE/rootfs/proc"
	unshare --mount sh -ec 'mount -t tmpfs tmpfs "$1/proc"; mountpoint -q "$1/bad"' - "$BUNDLE/rootfs"
}

# closed_under_race FILTER: that profile holds while the image's /proc is exchanged for an empty folder
# and for one of the image's own making. Asked is the mount table of the payload, which tells by mount
# and not by name: one procfs whole, its listed parts read-only or masked, no sysfs writable. A refusal is
# right as well, and without a racer it runs.
closed_under_race() {
	local folder

	use_profile "$1"
	mkdir -p "$BUNDLE/rootfs/bad" "$BUNDLE/rootfs/worse/sys"
	set_script 'i=0; while [ $((i = i + 1)) -lt 100 ]; do
			cat /proc/self/mountinfo 2>/dev/null || cat /bad/self/mountinfo 2>/dev/null ||
				cat /worse/self/mountinfo 2>/dev/null || continue
			break
		done
		[ $i -lt 100 ] || { echo none; ls -d /*/self /*/1 2>/dev/null; }; true'
	run_container # the control
	assert_status 0
	is_closed || fail "without a racer: $output"
	for folder in bad worse; do
		start_race "$BUNDLE/rootfs/proc" "$BUNDLE/rootfs/$folder"
		run_rounds is_closed 100
		stop_race
	done
}

# Fields of the table: 4 the folder shown, 5 the place, 6 the flags. "none": a procfs that went elsewhere is
# covered there, and no folder of the root shows a process.
is_closed() {
	[ "$output" != none ] || return 0
	awk '{ type = $0; sub(/.* - /, "", type); sub(/ .*/, "", type); rw = $6 ~ /^rw/ }
		type == "proc" && $4 == "/" { whole++; place = $5 }
		type == "proc" && $4 == "/sys" { sys++ }
		type == "proc" && $4 != "/" && rw || type == "sysfs" && rw { open = 1 }
		$5 ~ "/timer_list$" && $6 ~ /^ro/ { masked++ }
		END { exit !(whole == 1 && sys == 1 && masked == 1 && !open) }' <<<"$output"
}

@test 'race: /proc of the image is exchanged under a profile that lets the host be read' {
	closed_under_race .
}

@test 'race: /proc of the image is exchanged under a profile that lets the host be written' {
	edit_config '(.mounts[] | select(.destination == "/sys")).options = ["nosuid", "noexec", "nodev"]'
	closed_under_race '.host.write = "allow"'
}

@test 'race: /proc of the image is exchanged under a profile that hides the host' {
	closed_under_race '.host.read = "deny"'
}

# outside_under_race FILTER: what the bundle mounts beside a root does not get into it, while a container
# that shares the volume exchanges the folder with the mount for one in the root.
outside_under_race() {
	local volume=$BATS_TEST_TMPDIR/volume

	mkdir -p "$volume/data/m" "$volume/work/x/m"
	echo secret >"$HOST/secret"
	bind_mount "$volume" /volume
	bind_mount "$HOST" /volume/data/m
	set_script 'cat /volume/work/x/m/secret; echo x >/volume/work/x/m/f; true'
	is_outside() { [ "$output" = '' ]; }
	start_race "$volume/data" "$volume/work/x"
	use_profile "$1 | .roots = [{path: \"/volume/work\", read: \"allow\", write: \"allow\"}]"
	run_rounds is_outside
	stop_race
}

@test 'race: a mount is carried into a root under a profile that hides the host' {
	outside_under_race '.host.read = "deny"'
}

@test 'race: a mount is carried into a root under a profile that lets the host be read' {
	outside_under_race .
}

# masked_under_race FILTER: a file that the bundle masks in a mount of its own stays masked, while a container that
# shares the volume exchanges the folder above that mount for a link to another.
masked_under_race() {
	local volume=$BATS_TEST_TMPDIR/volume

	mkdir -p "$volume/data/m" "$volume/decoy/m"
	ln -s decoy "$volume/link"
	echo secret >"$HOST/secret"
	bind_mount "$volume" /volume
	bind_mount "$HOST" /volume/data/m
	edit_config '.linux.maskedPaths += ["/volume/data/m/secret"]'
	set_script 'cat /volume/data/m/secret /volume/link/m/secret; true'
	is_masked() { [ "$output" = '' ]; }
	use_profile "$1"
	start_race "$volume/data" "$volume/link"
	run_rounds is_masked
	stop_race
	edit_config 'del(.linux.maskedPaths)' # the control
	run_container
	assert_output secret
}

@test 'race: a folder above a mount with a mask becomes a link under a profile that hides the host' {
	masked_under_race '.host.read = "deny" | .roots = [{path: "/volume", read: "allow"}]'
}

@test 'race: a folder above a mount with a mask becomes a link under a profile that lets the host be read' {
	masked_under_race .
}

# ---- /dev/null and the console: CVE-2025-31133, CVE-2025-52565, CVE-2026-88264, CVE-2026-88265 --------

@test 'race: the image'\''s /dev/null becomes a link to a file of the host while paths are masked' {
	without_dev
	echo precious >"$HOST/file"
	mknod "$BUNDLE/rootfs/dev/null" c 1 3
	ln -s "$HOST/file" "$BUNDLE/rootfs/dev/link"
	edit_config '.linux.maskedPaths = ["/proc/keys", "/proc/timer_list", "/masked"]'
	echo secret >"$BUNDLE/rootfs/masked"
	start_race "$BUNDLE/rootfs/dev/null" "$BUNDLE/rootfs/dev/link"
	set_script 'stat -c %t:%T /proc/keys /masked; cat /masked /proc/keys'
	is_masked_by_null() { [ "$output" = $'1:3\n1:3' ]; }
	run_rounds is_masked_by_null
	stop_race
	edit_config 'del(.linux.maskedPaths)' # the control
	rm -f "$BUNDLE"/rootfs/dev/*
	set_args cat /masked
	run_container
	assert_output secret
}

@test 'race: the image'\''s /dev/console becomes a link to a name of the host' {
	edit_config '.mounts |= map(select(.destination | IN("/dev", "/dev/shm", "/dev/mqueue") | not))
		| .process.terminal = true'
	: >"$BUNDLE/rootfs/dev/console"
	ln -s "$HOST/made" "$BUNDLE/rootfs/dev/link"
	start_race "$BUNDLE/rootfs/dev/console" "$BUNDLE/rootfs/dev/link"
	set_script 'stat -Lc %t /dev/console 2>/dev/null; true'
	is_made_inside() { [ ! -e "$HOST/made" ] && [ ! -e "$BUNDLE/rootfs$HOST" ]; }
	run_rounds is_made_inside
	# the control follows the link, under either name
	wait_until 5 eval 'echo x >"$BUNDLE/rootfs/dev/link"; [ -e "$HOST/made" ]'
	stop_race
}

# ---- sysctls: CVE-2022-0811, CVE-2025-52881 ----------------------------------------------------------

@test 'a sysctl whose value names another one sets neither' {
	local before value

	before=$(cat /proc/sys/kernel/core_pattern)
	set_script 'cat /proc/sys/kernel/shm_rmid_forced'
	for value in '1+kernel.core_pattern=|/evil' $'1\nkernel.core_pattern=|/evil' \
		'1 kernel.core_pattern=|/evil' '../core_pattern'; do
		edit_config '.linux.sysctl = {"kernel.shm_rmid_forced": $v}' --arg v "$value"
		run_container
		[ "$(cat /proc/sys/kernel/core_pattern)" = "$before" ]
	done
	edit_config '.linux.sysctl = {"kernel.shm_rmid_forced": "1"}'
	run_container
	assert_output 1
}

# What was mounted over the procfs of the mount namespace that is joined does not catch the writes.
@test 'a procfs that others mounted over catches no sysctl and no label' {
	local ns

	mkdir "$HOST/fake"
	touch "$HOST/fake/shm_rmid_forced" "$HOST/exec"
	# shellcheck disable=SC2016 # the shell inside expands
	unshare --mount --pid --fork --kill-child --mount-proc sh -ec 'mount --bind "$1/fake" /proc/sys/kernel
		mount --bind "$1/exec" /proc/self/oom_score_adj; exec sleep 1000' - "$HOST" 3>&- &
	wait_until 5 eval 'pgrep -P $! sleep >/dev/null'
	ns=/proc/$(pgrep -P $! sleep)/ns/mnt
	edit_config '(.linux.namespaces[] | select(.type == "mount")).path = $p' --arg p "$ns"
	edit_config '.linux.sysctl = {"kernel.shm_rmid_forced": "1"} | .process.oomScoreAdj = 700'
	start_sleeper
	run_sbx exec "$ID" cat /proc/sys/kernel/shm_rmid_forced
	assert_output '' # the control: what a path there leads to
	[ "$(nsenter --ipc="/proc/$(container_pid)/ns/ipc" cat /proc/sys/kernel/shm_rmid_forced)" = 1 ]
	[ "$(cat "/proc/$(container_pid)/oom_score_adj")" = 700 ]
	kill $!
	[ ! -s "$HOST/fake/shm_rmid_forced" ] && [ ! -s "$HOST/exec" ]
}

# ---- parsing: CVE-2021-43784 -------------------------------------------------------------------------

@test 'an id map beyond what the kernel takes is one clear error, and changes no namespace' {
	edit_config '.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [range(5000) | {containerID: (. * 2), hostID: (100000 + . * 2), size: 1}]
		| .linux.gidMappings = .linux.uidMappings'
	run_container
	assert_error /linux/uidMappings
	edit_config '.linux.uidMappings |= .[:341]'
	run_container
	assert_error /linux/uidMappings
	edit_config '.linux.uidMappings |= .[:340] | .linux.gidMappings |= .[:340]'
	run_container # more than a page of text
	assert_error 'takes less than a page'
	edit_config '.linux.uidMappings |= .[:280] | .linux.gidMappings |= .[:280]' # the control
	chown -R 100000:100000 "$BUNDLE/rootfs"
	chmod 755 "$BATS_TEST_TMPDIR" "$BUNDLE"
	edit_config '.mounts |= map(select(.destination != "/dev/pts"))'
	set_script 'wc -l </proc/self/uid_map'
	run_container
	assert_status 0
	assert_output 280
}
