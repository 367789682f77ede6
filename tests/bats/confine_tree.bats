# What the bundle mounts is asked from the kernel, not from the words of config.json: file systems of
# the kernel, devices, own files and second names, whatever way they come into the tree.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	HOST=$BATS_TEST_TMPDIR/host
	DISK=
	mkdir -p "$HOST"
}

teardown() {
	was_set_up || return 0
	[ -z "$DISK" ] || losetup -d "$DISK"
	helpers_teardown
}

add_mount() { # DESTINATION TYPE [OPTION...]
	local destination=$1 type=$2

	shift 2
	edit_config '.mounts += [{destination: $d, type: $t, source: $t, options: $ARGS.positional}]' \
		--arg d "$destination" --arg t "$type" --args -- "$@"
}

# Only opened for writing: the files are the host's.
TRY_PROC='for p in /workspace/proc /proc2 /proc; do
	[ -e $p/version ] && echo "$p seen"
	attack open $p/sys/vm/stat_interval w
done'

second_procfs() {
	add_mount /workspace/proc proc
	add_mount /proc2 proc
}

@test 'a second procfs, in a writable root or beside, is hidden' {
	second_procfs
	use_profile
	run_with_and_without "$TRY_PROC"
	assert_same control $'/workspace/proc seen\nok\n/proc2 seen\nok\n/proc seen\nEROFS' "$without"
	assert_same 'under the profile' $'ENOENT\nENOENT\n/proc seen\nEROFS' "$with"
}

@test 'a second procfs is hidden under host write allow, too' {
	second_procfs
	use_profile '.host.write = "allow"'
	run_script "$TRY_PROC"
	assert_output $'ENOENT\nENOENT\n/proc seen\nEROFS'
}

@test 'a second procfs is hidden under host read deny, too' {
	second_procfs
	use_profile '.host.read = "deny"'
	run_script "$TRY_PROC; true"
	assert_output $'ENOENT\nENOENT\n/proc seen\nEROFS'
}

@test "the host's procfs does not come in by a link, by a folder above it or in the image" {
	ln -s /proc "$HOST/link"
	mkdir -p "$HOST/folder/proc" "$BUNDLE/rootfs/inner"
	mount -t proc proc "$HOST/folder/proc"
	mount -t proc proc "$BUNDLE/rootfs/inner"
	bind_mount "$HOST/link" /by-link
	bind_mount "$HOST/folder" /by-folder
	use_profile
	run_with_and_without 'for p in /by-link /by-folder/proc /inner; do ls -d $p/1 2>/dev/null || echo none; done'
	umount "$HOST/folder/proc" "$BUNDLE/rootfs/inner"
	assert_same control $'/by-link/1\n/by-folder/proc/1\n/inner/1' "$without"
	assert_same 'under the profile' $'none\nnone\nnone' "$with"
}

@test "the host's procfs at /proc is refused in a pid namespace of the container's own" {
	edit_config 'del(.mounts[] | select(.destination == "/proc"))'
	bind_mount /proc /proc
	set_script 'test -d /proc/1 && echo seen'
	run_container
	assert_output seen # control
	use_profile
	run_container
	assert_status 1
	assert_stderr 'shows other processes'
}

@test 'control groups in a writable root cannot be written' {
	edit_config '.linux.resources.pids = {limit: 64}'
	add_mount /workspace/cg cgroup rw
	use_profile
	run_with_and_without 'cd /workspace/cg; [ -d pids ] && cd pids; echo max 2>/dev/null >pids.max && echo lifted; mkdir x 2>/dev/null && echo made && rmdir x; true'
	assert_same control $'lifted\nmade' "$without"
	assert_same 'under the profile' '' "$with"
}

host_tmpfs() {
	mount -t tmpfs t "$HOST"
	mkdir -m 1777 "$HOST/shm"
}

@test 'a bind at /dev/shm is replaced by the own one of the container' {
	host_tmpfs
	edit_config 'del(.mounts[] | select(.destination == "/dev/shm"))'
	bind_mount "$HOST/shm" /dev/shm
	use_profile
	run_with_and_without 'echo x >/dev/shm/planted && cat /dev/shm/planted; ls /dev/shm; rm -f /dev/shm/planted'
	assert_same control $'x\nplanted' "$without"
	assert_same 'under the profile' $'x\nplanted' "$with"
	run_script 'echo x >/dev/shm/kept'
	[ ! -e "$HOST/shm/kept" ]
	no_profile
	run_script 'echo x >/dev/shm/kept'
	[ -e "$HOST/shm/kept" ] # control
	use_profile
	report_of
	report_says '.entries[] | select(.feature == "shm") | .outcome == "narrowed"'
	umount "$HOST"
}

@test "terminals and message queues of the host's cannot be written" {
	mkdir "$HOST/mq"
	mount -t mqueue mqueue "$HOST/mq"
	edit_config 'del(.mounts[] | select(.destination == "/dev/pts" or .destination == "/dev/mqueue"))'
	mount -t devpts -o newinstance,ptmxmode=666 devpts "$BATS_TEST_TMPDIR/host"
	edit_config '.mounts += [{destination: "/dev/pts", type: "bind", source: $s, options: ["bind"]}]' --arg s "$HOST"
	use_profile
	run_with_and_without 'attack open /dev/pts/ptmx rw'
	assert_same control ok "$without"
	[ "$with" != ok ]
	umount "$HOST"
	edit_config '.mounts |= map(select(.destination != "/dev/pts"))'
	bind_mount "$HOST/mq" /dev/mqueue
	run_with_and_without 'echo x 2>/dev/null >/dev/mqueue/planted && echo planted; rm -f /dev/mqueue/planted; touch /dev/mqueue/q 2>/dev/null && echo made; rm -f /dev/mqueue/q'
	umount "$HOST/mq"
	[[ $without = *made* ]] # control
	assert_same 'under the profile' '' "$with"
}

@test "a bind of the host's does not take the place of the own /dev, /dev/pts or /dev/shm by a link" {
	ln -s /dev "$BUNDLE/rootfs/to-dev"
	ln -s /dev/pts "$BUNDLE/rootfs/to-pts"
	ln -s /dev/shm "$BUNDLE/rootfs/to-shm"
	disk
	edit_config '.linux.resources.devices += [{allow: true, access: "rwm"}]'
	bind_mount /dev /to-dev
	use_profile
	run_with_and_without "head -c 6 $DISK 2>/dev/null; echo; head -c 1 /dev/zero | wc -c"
	assert_same 'control, disk' $'ondisk\n1' "$without"
	assert_same 'under the profile, disk' $'\n1' "$with"
	use_profile '.host.read = "deny"'
	run_script true
	assert_status 1
	assert_stderr 'binds at "/dev"'
	edit_config '.mounts |= map(select(.destination != "/to-dev"))'
	mount -t devpts -o newinstance,ptmxmode=666 devpts "$HOST"
	bind_mount "$HOST" /to-pts
	use_profile
	run_with_and_without 'attack open /dev/pts/ptmx rw'
	umount "$HOST"
	assert_same 'control, terminals' ok "$without"
	[ "$with" != ok ]
	edit_config '.mounts |= map(select(.destination != "/to-pts"))'
	host_tmpfs
	bind_mount "$HOST/shm" /to-shm
	run_script 'echo x >/dev/shm/planted; cat /dev/shm/planted'
	assert_output x
	[ ! -e "$HOST/shm/planted" ]
	no_profile
	run_script 'echo x >/dev/shm/planted'
	[ -e "$HOST/shm/planted" ] # control
	umount "$HOST"
}

# A disk of the test's own, with a word on it.
disk() {
	printf 'ondisk----' >"$BATS_TEST_TMPDIR/image"
	truncate -s 1M "$BATS_TEST_TMPDIR/image"
	DISK=$(losetup --find --show "$BATS_TEST_TMPDIR/image") || skip 'host: there is no loop device'
	MAJOR=$((0x$(stat -c %t "$DISK"))) MINOR=$((0x$(stat -c %T "$DISK")))
}

@test 'a disk is not readable by a listed device, a node of the image, or the /dev of the host' {
	disk
	mknod "$BUNDLE/rootfs/etc/node" b $MAJOR $MINOR
	edit_config '.linux.devices += [{path: "/dev/disk", type: "b", major: $a, minor: $b, fileMode: 438}] |
		.linux.resources.devices += [{allow: true, access: "rwm"}]' --argjson a $MAJOR --argjson b $MINOR
	bind_mount /dev /hostdev
	use_profile '.host.read = "allow"'
	run_with_and_without "for f in /dev/disk /etc/node /hostdev/${DISK#/dev/}; do head -c 6 \$f 2>/dev/null; echo; done; head -c 1 /dev/zero | wc -c"
	assert_same control $'ondisk\nondisk\nondisk\n1' "$without"
	assert_same 'under the profile' $'\n\n\n1' "$with"
}

@test 'a node of the image does not open as a copy in /dev, nor as one that a hook made' {
	disk
	mkdir -p "$BUNDLE/rootfs/dev"
	mknod "$BUNDLE/rootfs/dev/disk" b $MAJOR $MINOR
	edit_config '(.mounts[] | select(.destination == "/dev")).options += ["tmpcopyup"] |
		.linux.resources.devices += [{allow: true, access: "rwm"}]'
	use_profile ".require = $(file_boundary writeBoundary)"
	run_with_and_without 'head -c 6 /dev/disk 2>/dev/null; echo; echo x >/dev/null && echo null'
	assert_same control $'ondisk\nnull' "$without"
	assert_same 'under the profile' $'\nnull' "$with"
	use_profile
	report_of
	report_says '.entries[] | select(.feature == "devices") | .outcome == "enforced"' # control
	add_hook createRuntime '{"path": "/bin/true"}'
	report_of
	report_says '.entries[] | select(.feature == "devices") | .outcome == "unenforced"'
}

@test "a /dev that is the image's own or the host's has the harmless nodes and no other" {
	disk
	edit_config 'del(.mounts[] | select(.destination | startswith("/dev")))'
	mkdir -p "$BUNDLE/rootfs/dev"
	mknod "$BUNDLE/rootfs/dev/disk" b $MAJOR $MINOR
	edit_config '.linux.resources.devices += [{allow: true, access: "rwm"}]'
	use_profile
	run_with_and_without 'head -c 6 /dev/disk 2>/dev/null; echo; echo x >/dev/null && echo null; head -c 1 /dev/zero | wc -c'
	assert_same control $'ondisk\nnull\n1' "$without"
	assert_same 'under the profile' $'\nnull\n1' "$with"
	edit_config '.mounts += [{destination: "/dev", type: "bind", source: "/dev", options: ["rbind"]}]'
	run_with_and_without "head -c 6 $DISK 2>/dev/null; echo; echo x >/dev/null && echo null; head -c 1 /dev/zero | wc -c"
	assert_same control $'ondisk\nnull\n1' "$without"
	assert_same 'under the profile' $'\nnull\n1' "$with"
}

@test 'file capabilities cannot be given to a file of the workspace' {
	edit_config '.process.capabilities.bounding += ["CAP_SETFCAP", "CAP_FSETID"] |
		.process.capabilities |= with_entries(.value = .value + ["CAP_SETFCAP", "CAP_FSETID"])'
	use_profile
	run_with_and_without 'grep CapEff /proc/self/status | tr -d "\t"'
	# bit 31 and bit 4
	((0x${without#CapEff:} & 1 << 31)) && ((0x${without#CapEff:} & 1 << 4)) # control
	(((0x${with#CapEff:} & (1 << 31 | 1 << 4)) == 0))
}

# user_namespace HOST-UID HOST-GID: where the container's root is this uid and gid of the host
user_namespace() {
	edit_config '.linux.namespaces |= map(select(.type != "user")) + [{type: "user"}] |
		.linux.uidMappings = [{containerID: 0, hostID: $u, size: 65536}] |
		.linux.gidMappings = [{containerID: 0, hostID: $g, size: 65536}]' \
		--argjson u "$1" --argjson g "$2"
}

withholds_file_capabilities() {
	report_says '.entries[] | select(.feature == "capabilities") | .detail |
		contains("CAP_SETFCAP") and contains("CAP_FSETID")'
}

@test 'file capabilities: nor in a user namespace that reaches the root of the host' {
	all_capabilities
	use_profile
	user_namespace 100000 100000
	report_of
	refute withholds_file_capabilities # control
	for map in '0 100000' '100000 0' '0 0'; do
		user_namespace $map
		report_of
		withholds_file_capabilities
	done
	run_script 'grep CapEff /proc/self/status | tr -d "\t"'
	assert_status 0
	(((0x${output#CapEff:} & (1 << 31 | 1 << 4)) == 0))
	user_namespace 100000 100000
	bind_mount "$HOST" /mapped idmap
	report_of
	withholds_file_capabilities
	edit_config '.mounts |= map(select(.destination != "/mapped")) |
		del(.linux.uidMappings, .linux.gidMappings) |
		(.linux.namespaces[] | select(.type == "user")).path = "/proc/1/ns/user"'
	report_of
	withholds_file_capabilities
}

@test 'the profile of the flag and the config.json of the flag cannot be written' {
	default_profile >"$WS/profile.json"
	cp "$BUNDLE/config.json" "$WS/config.json"
	jq '.process.args = ["/bin/sh", "-c", "for f in profile.json config.json; do echo {} >/workspace/$f; done; cat /workspace/*.json"]' \
		"$WS/config.json" >"$BATS_TEST_TMPDIR/new"
	cp "$BATS_TEST_TMPDIR/new" "$WS/config.json"
	sums=$(cat "$WS"/*.json | sha256sum)
	run_sbx run --bundle "$BUNDLE" --config "$WS/config.json" --profile "$WS/profile.json" "$ID"
	assert_output ''
	[ "$sums" = "$(cat "$WS"/*.json | sha256sum)" ]
	no_profile
	run_sbx run --bundle "$BUNDLE" --config "$WS/config.json" "$ID"
	assert_output $'{}\n{}' # control
}

@test 'files of the runtime that are named by a link in a writable folder are refused' {
	local name

	mkdir "$WS/.real"
	default_profile >"$WS/.real/profile"
	ln -s .real/profile "$WS/by-file"
	ln -s .real "$WS/by-folder"
	ln -s "$WS/by-file" "$HOST/outside"
	set_script 'rm -f /workspace/by-file && echo removed'
	run_container
	assert_output removed # control
	ln -s .real/profile "$WS/by-file"
	for name in "$WS/by-file" "$WS/by-folder/profile" "$HOST/outside" "$WS/../ws/by-file"; do
		run_sbx run --bundle "$BUNDLE" --profile "$name" "$ID"
		assert_status 1
		assert_stderr 'is a link on the way'
	done
	(cd "$WS" && run_sbx run --bundle "$BUNDLE" --profile ./by-file "$ID" && assert_status 1)
	ln -s "$BUNDLE" "$WS/bundle"
	run_sbx run --bundle "$WS/bundle" --profile "$WS/.real/profile" "$ID"
	assert_status 1
	assert_stderr 'is a link on the way'
	# one that stands where nothing can be written
	ln -s "$WS/.real/profile" "$HOST/direct"
	run_sbx run --bundle "$BUNDLE" --profile "$HOST/direct" "$ID"
	assert_status 0
}

@test 'the config.json that is bound singly cannot be read or written' {
	local sum

	bind_mount "$BUNDLE/config.json" /workspace/config.json
	use_profile
	set_script 'cat /workspace/config.json | wc -c; echo x 2>/dev/null >/workspace/config.json; true'
	sum=$(sha256sum <"$BUNDLE/config.json")
	run_container
	assert_output 0
	assert_equal "$sum" "$(sha256sum <"$BUNDLE/config.json")"
	no_profile
	cp "$BUNDLE/config.json" "$BATS_TEST_TMPDIR/kept"
	run_container
	refute_output 0 # control
	assert_equal x "$(cat "$BUNDLE/config.json")"
	cp "$BATS_TEST_TMPDIR/kept" "$BUNDLE/config.json"
}

@test 'the program is covered when it was found by PATH' {
	mkdir "$HOST/bin"
	cp "$SBX_RUNTIME" "$HOST/bin/sbxr"
	bind_mount "$HOST/bin" /opt
	use_profile
	set_script '[ -s /opt/sbxr ] && echo seen; true'
	for call in sbxr "$HOST/bin/sbxr"; do
		PATH=$HOST/bin:$PATH SBX_RUNTIME=$call run_container
		assert_status 0
		assert_output ''
	done
	no_profile
	PATH=$HOST/bin:$PATH SBX_RUNTIME=sbxr run_container
	assert_output seen # control
}

@test "the caller's additional groups are not kept" {
	set_annotation run.oci.keep_original_groups 1
	set_script 'grep ^Groups: /proc/self/status | tr -d "\t "'
	use_profile
	setpriv --groups 4,44 "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" >"$BATS_TEST_TMPDIR/out"
	grep -x Groups: "$BATS_TEST_TMPDIR/out"
	no_profile
	setpriv --groups 4,44 "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" >"$BATS_TEST_TMPDIR/out"
	grep -x Groups:444 "$BATS_TEST_TMPDIR/out" # control
}

@test 'a poststart hook takes what it can change out of the report' {
	if [ "$(landlock_is_there)" = false ]; then
		boundaries_need_landlock
		return
	fi
	local bits='.guarantees | [.networkBoundary, .processBoundary, .readBoundary, .writeBoundary] | '

	use_profile '.host.read = "deny"'
	report_of
	report_says "$bits all" # control
	add_hook poststart '{"path": "/bin/true"}'
	report_of
	report_says "$bits any | not"
}

@test 'a workspace that is a second name of the root, or of a part of it, is refused' {
	for source in "$BUNDLE/rootfs" "$BUNDLE/rootfs/etc"; do
		edit_config '.mounts |= map(select(.destination != "/workspace"))'
		bind_mount "$source" /workspace
		no_profile
		run_script 'test -e /workspace && echo ran'
		assert_output ran # control
		use_profile
		run_script true
		assert_status 1
		assert_stderr 'second name'
		use_profile '.workspace.write = "deny"'
		run_script true
		assert_status 0
	done
}

@test 'a second name of the root below a writable root is refused' {
	mkdir "$HOST/inner" "$HOST/part"
	mount --bind "$BUNDLE/rootfs" "$HOST/inner"
	mount --bind "$BUNDLE/rootfs/etc" "$HOST/part"
	for source in "$BUNDLE/rootfs" "$HOST"; do
		edit_config '.mounts |= map(select(.destination != "/workspace/below"))'
		bind_mount "$source" /workspace/below
		no_profile
		run_script 'test -e /workspace/below && echo ran'
		assert_output ran # control
		use_profile
		run_script true
		assert_status 1
		assert_stderr 'second name'
	done
	edit_config '(.mounts[] | select(.destination == "/workspace/below")).options += ["rro"]'
	run_script 'echo x 2>/dev/null >/workspace/below/part/written || echo read-only'
	umount "$HOST/inner" "$HOST/part"
	assert_output read-only
}

@test 'a folder under two names with other bounds is refused' {
	mkdir "$WS/sub" "$WS/other"
	bind_mount "$WS/sub" /data
	use_profile '.roots = [{path: "/data", read: "allow", write: "deny"}]'
	run_script true
	assert_status 1
	assert_stderr 'second name of "/data"'
	use_profile '.host.read = "deny" | .roots = [{path: "/data", read: "deny"}]'
	run_script true
	assert_status 1
	assert_stderr 'second name of "/data"'
	# the same bounds, and a narrower root that is elsewhere
	use_profile '.roots = [{path: "/data", read: "allow", write: "allow"}]'
	run_script 'echo x >/data/f; cat /workspace/sub/f'
	assert_output x
	bind_mount "$HOST" /elsewhere
	use_profile '.roots = [{path: "/elsewhere", read: "allow", write: "deny"}]'
	run_script 'echo x >/workspace/f; cat /workspace/f; echo x 2>/dev/null >/elsewhere/f || echo read-only'
	assert_output $'x\nread-only'
	# a folder of the writable root in it again
	bind_mount "$WS/other" /workspace/sub
	use_profile
	run_script 'echo again >/workspace/sub/f; cat /workspace/other/f'
	assert_output again
}

@test 'a file system of another type is refused, as what it shows cannot be told' {
	edit_config '.mounts += [{destination: "/data", type: "overlay", source: "overlay", options: ["lowerdir=/etc:/usr"]}]'
	run_script 'test -e /data/passwd && echo ran'
	assert_output ran # control
	use_profile
	run_script true
	assert_status 1
	assert_stderr 'type "overlay"'
}

@test 'a socket in the place of a file that engines bind is refused' {
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$HOST/s"
	bind_mount "$HOST/s" /run/.containerenv
	run_script 'test -S /run/.containerenv && echo ran'
	assert_output ran # control
	use_profile
	run_script true
	assert_status 1
	assert_stderr 'ordinary file'
}

@test 'root "/": a remount does not count as an own procfs' {
	edit_config '.root.path = "/" | del(.mounts[] | select(.destination == "/workspace"))'
	use_profile '.workspace.root = $w' --arg w "$WS"
	run_script true
	assert_status 0 # control
	edit_config '(.mounts[] | select(.destination == "/proc")).options = ["remount", "bind"]'
	run_script true
	assert_status 1
	assert_stderr 'needs a mount of type "proc"'
}

@test 'root "/": a remount keeps nothing of a private folder in view' {
	mount -t tmpfs private /run
	mkdir /run/sub
	mount -t tmpfs private /run/sub
	echo secret >/run/sub/file
	edit_config '.root.path = "/" | del(.mounts[] | select(.destination == "/workspace"))'
	use_profile '.workspace.root = $w' --arg w "$WS"
	edit_config '.mounts += [{destination: "/run/sub", type: "none", options: ["remount", "bind", "nosuid"]}]'
	run_with_and_without 'cat /run/sub/file 2>/dev/null || echo none'
	umount /run/sub
	umount /run
	assert_same control secret "$without"
	assert_same 'under the profile' none "$with"
}

@test 'host read deny: a folder of the host in the place of what stays open is hidden' {
	local place

	echo secret >"$HOST/secret"
	cp "$BUNDLE/config.json" "$BATS_TEST_TMPDIR/kept"
	for place in /dev/pts /dev/mqueue /dev/shm; do
		cp "$BATS_TEST_TMPDIR/kept" "$BUNDLE/config.json"
		edit_config '.mounts |= map(select(.destination != $p))' --arg p "$place"
		bind_mount "$HOST" "$place"
		use_profile '.host.read = "deny"'
		run_with_and_without "cat $place/secret 2>/dev/null || echo none"
		assert_same control secret "$without"
		assert_same 'under the profile' none "$with"
	done
}

@test 'host read deny: what the bundle binds into folders that stay in view is hidden' {
	echo secret >"$HOST/secret"
	for place in /usr/share/hs /dev/hs /sys/hs; do
		bind_mount "$HOST" $place
	done
	mkdir -p "$BUNDLE/rootfs/usr/share/hs"
	ln -s usr/share "$BUNDLE/rootfs/link"
	bind_mount "$HOST" /link/by-link
	edit_config '.mounts |= map(select(.destination != "/sys"))'
	use_profile ".host.read = \"deny\" | .require = $(file_boundary readBoundary)"
	run_with_and_without 'for p in /usr/share/hs /dev/hs /sys/hs /usr/share/by-link; do cat $p/secret 2>/dev/null || echo none; done'
	assert_same control $'secret\nsecret\nsecret\nsecret' "$without"
	assert_same 'under the profile' $'none\nnone\nnone\nnone' "$with"
	use_profile '.host.read = "deny" | .roots = [{path: "/usr/share/hs", read: "allow"}]'
	run_script 'cat /usr/share/hs/secret; cat /dev/hs/secret || true'
	assert_output secret
}

@test 'hooks that run while the container is made take what they can change out of the report' {
	if [ "$(landlock_is_there)" = false ]; then
		boundaries_need_landlock
		return
	fi
	use_profile '.host.read = "deny"'
	report_of
	report_says '.guarantees.readBoundary and .guarantees.writeBoundary' # control
	for kind in prestart createRuntime createContainer; do
		edit_config 'del(.hooks)'
		add_hook $kind '{"path": "/bin/true"}'
		report_of
		report_says '(.guarantees.readBoundary or .guarantees.writeBoundary) | not'
		report_says '.entries[] | select(.feature == "unixSockets") | .outcome == "unenforced"'
	done
}

@test "the host's root under another name is the host's root" {
	# in a mount namespace of its own: nothing that clears up may meet the host's root there
	run_under_other_name() {
		run --separate-stderr unshare --mount sh -c 'mount --rbind / "$1" && shift && exec "$@"' - \
			"$HOST" "$SBX_RUNTIME" --root "$ROOT" "$@" 3>&-
	}
	edit_config '.root.path = $h | del(.mounts[] | select(.destination == "/workspace"))' --arg h "$HOST"
	mkdir -p /run/sbx-seen-by-test
	set_script 'test -d /run/sbx-seen-by-test && echo seen; echo ran'
	run_under_other_name run --bundle "$BUNDLE" "$ID"
	assert_output $'seen\nran' # control
	use_profile '.workspace.root = $w' --arg w "$WS"
	run_under_other_name run --bundle "$BUNDLE" "$ID"
	rmdir /run/sbx-seen-by-test
	assert_output ran
	run_under_other_name report --bundle "$BUNDLE"
	report_says '.entries[] | select(.feature == "unixSockets") | .outcome == "unenforced"'
}

@test 'a root that the bundle gives read-only stays so, workspace and roots in it included' {
	edit_config '.mounts |= map(select(.destination != "/workspace"))'
	use_profile '.roots = [{path: "/home", read: "allow", write: "allow"}]'
	run_script 'echo x >/workspace/x && echo x >/home/x && cat /workspace/x /home/x'
	assert_output $'x\nx' # control
	rm "$BUNDLE"/rootfs/*/x
	edit_config '.root.readonly = true'
	run_script 'echo x 2>/dev/null >/workspace/x || echo x 2>/dev/null >/home/x || echo none; echo x >/tmp/x && cat /tmp/x'
	assert_output $'none\nx'
	bind_mount "$WS" /workspace
	run_script 'echo x >/workspace/x && echo x 2>/dev/null >/home/x; cat /workspace/x'
	assert_output x
	[ ! -e "$BUNDLE/rootfs/home/x" ]
}
