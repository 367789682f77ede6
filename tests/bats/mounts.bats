# The mounts of config.json: what the container sees, and what is refused.
#
# Inside, mountinfo(5) tells: field 5 is the mount point, 6 its flags, and behind "-" the file system
# with the superblock's flags.

load helpers

setup() {
	require_root
	helpers_setup
	HOST=$BATS_TEST_TMPDIR/host
	mkdir "$HOST"
}

# mount_at DESTINATION TYPE SOURCE [OPTION...]
mount_at() {
	edit_config '.mounts += [{destination: $ARGS.positional[0], type: $ARGS.positional[1],
		source: $ARGS.positional[2], options: $ARGS.positional[3:]}]' --args -- "$@"
}

# The flags of the last mount on a point, as the container sees them: inside it.
flags_script() {
	printf 'awk '\''$5 == "%s" { flags = $6 } END { print flags }'\'' /proc/self/mountinfo' "$1"
}

# For scripts: is_mount PATH.
IS_MOUNT='is_mount() { grep -q "^[^ ]* [^ ]* [^ ]* [^ ]* $1 " /proc/self/mountinfo; }'

# ---- tmpfs -----------------------------------------------------------------------------------------

@test 'tmpcopyup keeps modes and content whatever the umask' {
	mkdir -p "$BUNDLE/rootfs/dir1/dir2"
	chmod 777 "$BUNDLE/rootfs/dir1" "$BUNDLE/rootfs/dir1/dir2"
	echo kept >"$BUNDLE/rootfs/dir1/dir2/file"
	ln -s dir2/file "$BUNDLE/rootfs/dir1/link"
	mount_at /dir1 tmpfs tmpfs tmpcopyup
	set_script 'stat -c %a /dir1/dir2; cat /dir1/link; : >/dir1/new && ls /dir1/new'
	umask 022
	run_container
	assert_status 0
	assert_output $'777\nkept\n/dir1/new'
	[ ! -e "$BUNDLE/rootfs/dir1/new" ]
}

@test 'a read-only tmpfs' {
	mount_at /mnt tmpfs tmpfs ro mode=755
	set_script "$(flags_script /mnt); touch /mnt/x 2>/dev/null || echo refused"
	run_container
	assert_status 0
	assert_line --index 0 --regexp '^ro,'
	assert_line --index 1 refused
}

@test 'a read-only tmpfs that holds another mount' {
	mount_at /mnt tmpfs tmpfs ro
	mount_at /mnt/inner tmpfs tmpfs
	set_script 'touch /mnt/inner/x && ! touch /mnt/x 2>/dev/null'
	run_container
	assert_status 0
}

@test 'a read-only /dev is filled first' {
	edit_config '(.mounts[] | select(.destination == "/dev") | .options) += ["ro"]'
	set_script "$(flags_script /dev); ls /dev/null /dev/fd; touch /dev/x 2>/dev/null || echo refused"
	run_container
	assert_status 0
	assert_line --index 0 --regexp '^ro,'
	assert_line /dev/null
	assert_line refused
}

@test 'a tmpfs takes the mode of the directory it covers' {
	local root=$BUNDLE/rootfs

	mkdir "$root"/{a,b,c}
	chmod 710 "$root/a"
	chmod 7777 "$root/b"
	chmod 710 "$root/c"
	mount_at /a tmpfs tmpfs
	mount_at /b tmpfs tmpfs
	mount_at /c tmpfs tmpfs mode=1750
	mount_at /new/nested tmpfs tmpfs
	set_script 'stat -c %a /a /b /c /new /new/nested'
	umask 077
	run_container
	assert_status 0
	assert_output $'710\n7777\n1750\n755\n1777'
}

@test 'the words that change nothing on a tmpfs are accepted' {
	mount_at /mnt tmpfs tmpfs nosymfollow silent loud iversion noiversion lazytime defaults noatime
	set_script "$(flags_script /mnt); ln -s /etc/passwd /mnt/l; cat /mnt/l 2>/dev/null || echo refused"
	run_container
	assert_status 0
	assert_line --index 0 --partial nosymfollow
	assert_line --index 0 --partial noatime
	assert_line --index 1 refused
}

@test 'an unknown option of a file system is named' {
	mount_at /mnt tmpfs tmpfs no-such-option=1
	run_container
	assert_error 'no-such-option'
	assert_stderr /mnt
	edit_config '(.mounts[-1].options) = ["nosiud"] | .mounts[-1].type = "proc" | del(.linux.maskedPaths)'
	run_container
	assert_error 'option "nosiud": neither the runtime nor the file system proc has it: '
	assert_stderr ': invalid argument (at /mounts/'
	assert_stderr "/mounts/$(jq '.mounts | length - 1' "$BUNDLE/config.json")/options)"
}

@test 'a folder on a file, a file on a folder: both are named, with the words that clients know' {
	echo text >"$BUNDLE/rootfs/file"
	mkdir "$BUNDLE/rootfs/dir" "$HOST/dir"
	echo text >"$HOST/file"
	mount_at /file bind "$HOST/dir" bind
	run_container
	assert_error "\"$HOST/dir\" on \"/file\": a folder cannot be mounted on a file: not a directory"
	edit_config '.mounts[-1] |= (.destination = "/dir" | .source |= sub("dir$"; "file"))'
	run_container
	assert_error "\"$HOST/file\" on \"/dir\": a file cannot be mounted on a folder: not a directory"
	edit_config '.mounts[-1] = {destination: "/file", type: "tmpfs", source: "tmpfs"}'
	run_container
	assert_error '"tmpfs" on "/file": a folder cannot be mounted on a file: not a directory'
	edit_config '.mounts[-1] = {destination: "/file", type: "cgroup", source: "cgroup"}'
	run_container
	assert_error '"cgroup" on "/file": a folder cannot be mounted on a file: not a directory'
	edit_config '.mounts[-1] |= (.type = "proc")'
	run_container
	assert_error '"/file" must be mounted on ordinary directory'
}

@test 'an unknown file system is named' {
	mount_at /mnt no-such-fs none
	run_container
	assert_error 'no-such-fs'
}

# ---- destinations ----------------------------------------------------------------------------------

@test 'links on the way resolve inside the root' {
	ln -s /real/conf "$BUNDLE/rootfs/conf"
	ln -s ../../../../../../../../../.."$HOST" "$BUNDLE/rootfs/out"
	ln -s "$HOST" "$BUNDLE/rootfs/absolute"
	mount_at /conf/stack tmpfs tmpfs
	mount_at /out/made tmpfs tmpfs
	mount_at /absolute/made2 tmpfs tmpfs
	set_script "$IS_MOUNT; is_mount /real/conf/stack && is_mount $HOST/made && is_mount $HOST/made2"
	run_container
	assert_status 0
	[ -z "$(ls -A "$HOST")" ]
}

@test 'destinations: doubled slash, trailing slash, relative' {
	edit_config '(.mounts[] | select(.destination == "/dev") | .destination) = "/dev/"'
	mount_at /test//test tmpfs tmpfs
	mount_at relative/here tmpfs tmpfs
	set_script "$IS_MOUNT; is_mount /test/test && is_mount /relative/here && [ -c /dev/null ]"
	run_container
	assert_status 0
}

@test 'made directories keep their parent'\''s setgid bit and no other' {
	mkdir "$BUNDLE/rootfs/sg"
	chgrp 4000 "$BUNDLE/rootfs/sg"
	chmod 7755 "$BUNDLE/rootfs/sg"
	mount_at /sg/a/b/c tmpfs tmpfs mode=755
	set_script 'stat -c "%a %g" /sg /sg/a /sg/a/b'
	run_container
	assert_status 0
	assert_output $'7755 4000\n2755 4000\n2755 4000'
}

@test 'a mount may use what an earlier one brought' {
	mount_at /first tmpfs tmpfs
	mkdir "$HOST/dir"
	echo content >"$HOST/dir/file"
	mount_at /first/in bind "$HOST/dir" bind
	mount_at /second bind "$BUNDLE/rootfs/first" rbind
	set_script 'cat /second/in/file'
	run_container
	assert_status 0
	assert_output content
}

@test 'hooks of createContainer see the finished mounts' {
	mount_at /mnt tmpfs tmpfs size=4k
	add_hook createContainer "$(jq -n --arg root "$BUNDLE/rootfs" --arg out "$HOST/seen" '{
		path: "/bin/sh", args: ["sh", "-c", "grep -c \" " + $root + "/mnt \" /proc/self/mountinfo >" + $out]}')"
	set_args true
	run_container
	assert_status 0
	[ "$(cat "$HOST/seen")" = 1 ]
}

# ---- binds -----------------------------------------------------------------------------------------

# covers mounts.destination mounts.source mounts.type
@test 'a file system of the type, with the source as its name, at the destination' {
	edit_config '.mounts += [{destination: "/one", type: "tmpfs", source: "first"},
		{destination: "/two", type: "ramfs", source: "second"}]'
	set_args awk '$5 ~ "^/(one|two)$" { print $5, $(NF - 2), $(NF - 1) }' /proc/self/mountinfo
	run_container
	assert_status 0
	assert_output $'/one tmpfs first\n/two ramfs second'
}

@test 'binds: directory, file, FIFO and socket, read-only and not' {
	mkdir "$HOST/dir"
	echo text >"$HOST/file"
	mkfifo "$HOST/fifo"
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$HOST/socket" ||
		skip 'needs python3'
	mount_at /in/dir bind "$HOST/dir" rbind ro
	mount_at /in/file bind "$HOST/file" bind rro
	mount_at /in/fifo bind "$HOST/fifo" bind rro
	mount_at /in/socket bind "$HOST/socket" bind rro
	mount_at /in/both bind "$HOST/file" bind rro nosuid
	mount_at /in/writable bind "$HOST/file" bind rw
	set_script 'awk '\''$5 ~ "^/in/" { print $5, substr($6, 1, 2) }'\'' /proc/self/mountinfo
		echo more >>/in/writable; echo never 2>/dev/null >>/in/file; stat -c %F /in/fifo /in/socket'
	run_container
	assert_status 0
	assert_line '/in/dir ro'
	assert_line '/in/file ro'
	assert_line '/in/both ro'
	assert_line '/in/fifo ro'
	assert_line '/in/socket ro'
	assert_line '/in/writable rw'
	assert_line fifo
	assert_line socket
	[ "$(cat "$HOST/file")" = $'text\nmore' ]
}

@test 'rro reaches the mounts below, ro does not' {
	mkdir -p "$HOST/top/sub"
	mount -t tmpfs tmpfs "$HOST/top/sub"
	mount_at /one bind "$HOST/top" rbind rro
	mount_at /two bind "$HOST/top" rbind ro
	set_script 'awk '\''$5 ~ "/sub$" { print $5, substr($6, 1, 2) }'\'' /proc/self/mountinfo'
	run_container
	umount "$HOST/top/sub"
	assert_status 0
	assert_line '/one/sub ro'
	assert_line '/two/sub rw'
}

# covers mounts.options
@test 'a bind with flags has exactly these flags' {
	mkdir "$HOST/tmp"
	mount -t tmpfs -o nosuid,nodev,noexec tmpfs "$HOST/tmp"
	mount_at /kept bind "$HOST/tmp" rbind
	mount_at /exact bind "$HOST/tmp" rbind ro nosuid
	set_script "$(flags_script /kept); $(flags_script /exact)"
	run_container
	umount "$HOST/tmp"
	assert_status 0
	[ "${lines[0]%%,relatime*}" = rw,nosuid,nodev,noexec ]
	[ "${lines[1]%%,relatime*}" = ro,nosuid ]
}

@test 'a bind with options of a file system is refused' {
	mount_at /in bind "$HOST" bind size=1k
	run_container
	assert_error 'size=1k'
}

@test 'a bind of a missing source is refused' {
	mount_at /in bind "$HOST/missing" bind
	run_container
	assert_error "$HOST/missing"
	assert_stderr 'no such file or directory'
	[ ! -e "$HOST/missing" ]
}

@test 'a relative source is below the bundle' {
	echo here >"$BUNDLE/file"
	mount_at /in bind file bind
	set_args cat /in
	run_container
	assert_status 0
	assert_output here
}

@test 'copy-symlink, src-nofollow and dest-nofollow' {
	ln -s some/where "$HOST/link"
	ln -s /elsewhere "$BUNDLE/rootfs/covered"
	mount_at /copied bind "$HOST/link" bind copy-symlink
	mount_at /covered bind "$HOST/link" bind src-nofollow dest-nofollow
	set_script 'readlink /copied; readlink /covered'
	run_container
	assert_status 0
	assert_output $'some/where\nsome/where'
}

# covers mounts.uidMappings mounts.gidMappings
@test 'an id-mapped bind' {
	touch "$HOST/file"
	edit_config '.mounts += [{destination: "/in", type: "bind", source: $source,
		options: ["bind", "idmap"],
		uidMappings: [{containerID: 0, hostID: 5000, size: 10}],
		gidMappings: [{containerID: 0, hostID: 6000, size: 10}]}]' --arg source "$HOST"
	set_args stat -c '%u %g' /in/file
	run_container
	assert_status 0
	assert_output '5000 6000'
}

@test 'idmap without any mapping is refused' {
	mount_at /in bind "$HOST" bind idmap
	run_container
	assert_error uidMappings
}

# A list of layers that is longer than one option may be (255 bytes).
@test 'an overlay with many layers' {
	local i layers

	for ((i = 0; i < 12; i++)); do
		mkdir "$HOST/layer$i"
		touch "$HOST/layer$i/file$i"
		layers+=:$HOST/layer$i
	done
	mkdir "$HOST/upper" "$HOST/work"
	[ ${#layers} -gt 256 ]
	mount_at /in overlay overlay "lowerdir=${layers#:}" "upperdir=$HOST/upper" "workdir=$HOST/work"
	set_script 'ls /in | wc -l && touch /in/new'
	run_container
	if [[ $status != 0 && $(uname -r) =~ ^(5|6\.[0-4])\. ]]; then
		skip_host 'needs lowerdir+ of Linux 6.5'
	fi
	assert_status 0
	assert_output 12
	[ -e "$HOST/upper/new" ]
}

# ---- propagation -----------------------------------------------------------------------------------

# The container mounts below /in, the host below its own folder; who sees what?
propagate() {
	mkdir -p "$HOST/shared/from-host" "$HOST/shared/from-inside"
	mount --bind "$HOST/shared" "$HOST/shared"
	mount --make-shared "$HOST/shared"
	edit_config '.process.capabilities[] += ["CAP_SYS_ADMIN"]'
	set_script "$IS_MOUNT
		mount -t tmpfs tmpfs /in/from-inside && touch /ready
		while ! [ -e /go ]; do sleep 0.05; done
		is_mount /in/from-host && echo arrives || echo stays"
	sbx_detached create --bundle "$BUNDLE" "$ID"
	assert_status 0
	run_sbx start "$ID"
	assert_status 0
	wait_until 10 test -e "$BUNDLE/rootfs/ready"
	mountpoint -q "$HOST/shared/from-inside" && leaves=leaves || leaves=kept
	mount -t tmpfs tmpfs "$HOST/shared/from-host"
	touch "$BUNDLE/rootfs/go"
	wait_until 10 status_is stopped
	umount -R "$HOST/shared" 2>/dev/null || umount -lR "$HOST/shared"
	found="$(cat "$BATS_TEST_TMPDIR/stdout") $leaves"
}

@test 'propagation: a bind is private where nothing else is asked' {
	mount_at /in bind "$HOST/shared" rbind
	propagate
	[ "$found" = 'stays kept' ]
}

@test 'propagation: rslave receives' {
	edit_config '.linux.rootfsPropagation = "rslave"'
	mount_at /in bind "$HOST/shared" rbind rslave
	propagate
	[ "$found" = 'arrives kept' ]
}

# covers linux.rootfsPropagation
@test 'propagation: that of the root' {
	local kind

	set_args awk '$5 == "/" { print $7 ~ /^shared:/ ? "shared" : "private" }' /proc/self/mountinfo
	for kind in rshared shared; do
		edit_config '.linux.rootfsPropagation = $kind' --arg kind "$kind"
		run_container
		assert_output shared
	done
	for kind in rprivate private; do
		edit_config '.linux.rootfsPropagation = $kind' --arg kind "$kind"
		run_container
		assert_output private
	done
	edit_config 'del(.linux.rootfsPropagation)'
	run_container
	assert_output private
	edit_config '.linux.rootfsPropagation = "outwards"'
	run_container
	assert_error rootfsPropagation
}

@test 'propagation: rshared goes both ways' {
	edit_config '.linux.rootfsPropagation = "rshared"'
	mount_at /in bind "$HOST/shared" rbind rshared
	propagate
	[ "$found" = 'arrives leaves' ]
}

@test 'propagation: rprivate in a shared root' {
	edit_config '.linux.rootfsPropagation = "rshared"'
	mount_at /in bind "$HOST/shared" rbind rprivate
	propagate
	[ "$found" = 'stays kept' ]
}

# ---- proc and sys ----------------------------------------------------------------------------------

@test 'a bind over /proc is refused, of the real one it is not' {
	mkdir "$HOST/proc"
	edit_config '(.mounts[] | select(.destination == "/proc")) |=
		{destination: "/proc", type: "bind", source: $source, options: ["rbind"]}' \
		--arg source "$HOST/proc"
	run_container
	assert_error 'not the root of a procfs'
	edit_config '(.mounts[] | select(.destination == "/proc") | .source) = "/proc"
		| .linux.namespaces |= map(select(.type != "pid"))'
	set_args test -e /proc/1/status
	run_container
	assert_status 0
}

@test 'a tmpfs on /proc or below it is refused, on a listed file a bind is not' {
	local config

	config=$(cat "$BUNDLE/config.json")
	for destination in /proc /proc/sys /proc/self /proc/sys/kernel /proc/1/attr; do
		echo "$config" >"$BUNDLE/config.json"
		mount_at "$destination" tmpfs tmpfs
		run_container
		assert_error 'inside /proc'
	done
	echo "$config" >"$BUNDLE/config.json"
	echo replaced >"$HOST/meminfo"
	mount_at /proc/meminfo bind "$HOST/meminfo" bind ro
	set_args cat /proc/meminfo
	run_container
	assert_status 0
	assert_output replaced
}

@test 'a link to /proc does not get round the rule' {
	ln -s /proc/sys "$BUNDLE/rootfs/way"
	mount_at /way tmpfs tmpfs
	run_container
	assert_error 'inside /proc'
}

# What is missing in a link's text is made, and leads no further.
@test 'nor does one by way of a folder that is missing' {
	local config words

	mkdir "$BUNDLE/rootfs/vol"
	ln -s /missing/../proc "$BUNDLE/rootfs/vol/proc"
	ln -s /missing/../proc/sys "$BUNDLE/rootfs/vol/sys"
	ln -s /missing/../proc/sys/kernel/core_pattern "$BUNDLE/rootfs/vol/file"
	echo x >"$HOST/file"
	config=$(cat "$BUNDLE/config.json")
	for words in '/vol/sys tmpfs tmpfs' '/vol/proc/1 tmpfs tmpfs' '/vol/proc/sys tmpfs tmpfs' \
		"/vol/file bind $HOST/file bind" "/vol/proc/sys/kernel/core_pattern bind $HOST/file bind"; do
		echo "$config" >"$BUNDLE/config.json"
		# shellcheck disable=SC2086 # words
		mount_at $words
		run_container
		assert_status 1
		assert_error 'no such file or directory'
		run_container # the folder is there now
		assert_status 1
		assert_error 'inside /proc'
		rm -rf "$BUNDLE/rootfs/missing"
	done
	echo "$config" >"$BUNDLE/config.json" # the control
	ln -sfn /missing/tmp "$BUNDLE/rootfs/vol/sys"
	mount_at /vol/sys tmpfs tmpfs
	set_script "$IS_MOUNT"'
		is_mount /missing/tmp && echo mounted'
	run_container
	assert_output mounted
}

@test 'a /proc or /sys that is a link is refused' {
	rmdir "$BUNDLE/rootfs/proc"
	mkdir "$BUNDLE/rootfs/bad"
	ln -s /bad "$BUNDLE/rootfs/proc"
	run_container
	assert_error 'must be mounted on ordinary directory'
	rm "$BUNDLE/rootfs/proc"
	mkdir "$BUNDLE/rootfs/proc"
	rmdir "$BUNDLE/rootfs/sys"
	ln -s /bad "$BUNDLE/rootfs/sys"
	run_container
	assert_error 'must be mounted on ordinary directory'
	rm "$BUNDLE/rootfs/sys"
	set_args test -e /sys/kernel
	run_container
	assert_status 0
}

# ---- root, masks -----------------------------------------------------------------------------------

# covers root.path root.readonly
@test 'a read-only root' {
	set_script 'touch /new 2>/dev/null && echo written || echo refused'
	run_container
	assert_output written
	rm "$BUNDLE/rootfs/new"
	edit_config '.root.readonly = true'
	run_container
	assert_status 0
	assert_output refused
	# by a path of its own, from the bundle and from the top
	mv "$BUNDLE/rootfs" "$BUNDLE/other"
	set_args true
	run_container
	assert_error 'no such file or directory'
	for path in other "$BUNDLE/other"; do
		edit_config '.root.path = $path' --arg path "$path"
		run_container
		assert_status 0
	done
}

@test 'a root in a procfs is refused' {
	mount -t proc proc "$BUNDLE/rootfs"
	edit_config '.root.path = $p | .mounts = []' --arg p "$BUNDLE/rootfs/tty"
	run_container
	assert_status 1
	assert_error "root \"$BUNDLE/rootfs/tty\" lies in a procfs"
}

# covers linux.maskedPaths linux.readonlyPaths
@test 'masked paths show nothing, read-only paths stay readable' {
	mkdir "$BUNDLE/rootfs/hidden"
	echo secret >"$BUNDLE/rootfs/hidden/file"
	echo secret >"$BUNDLE/rootfs/file"
	edit_config '.linux.maskedPaths += ["/hidden", "/file", "/missing/path"]
		| .linux.readonlyPaths += ["/etc", "/missing"]
		| .process.capabilities[] += ["CAP_DAC_OVERRIDE", "CAP_SYS_ADMIN", "CAP_FOWNER"]'
	set_script 'ls -A /hidden | wc -l; stat -c "%F %t:%T" /file; wc -c </file
		touch /hidden/x 2>/dev/null || echo refused
		chmod 777 /file 2>/dev/null || echo refused
		cat /etc/passwd >/dev/null && touch /etc/x 2>/dev/null || echo refused
		echo x 2>/dev/null >/proc/sys/kernel/domainname || echo refused
		stat -c "%F %t:%T" /proc/keys'
	run_container
	assert_status 0
	assert_output "0
character special file 1:3
0
refused
refused
refused
refused
character special file 1:3"
	edit_config 'del(.linux.maskedPaths)'
	set_script 'cat /file; cat /hidden/file'
	run_container
	assert_output $'secret\nsecret'
}

@test 'a mask holds below what is made read-only, with a mount between them and without' {
	mkdir -p "$BUNDLE/rootfs/vol/m" "$BUNDLE/rootfs/dir" "$HOST/m"
	echo secret | tee "$BUNDLE/rootfs/dir/secret" >"$HOST/m/secret"
	mount_at /vol/m bind "$HOST/m" bind
	edit_config '.root.readonly = false | .linux.maskedPaths += ["/vol/m/secret", "/dir/secret"]
		| .linux.readonlyPaths += ["/vol", "/dir", "/proc", "/sys", "/vol/m/secret"]'
	set_script 'cat /vol/m/secret /dir/secret; cat /proc/keys /proc/timer_list; ls /sys/firmware 2>/dev/null | head -n 1
		for dir in /vol /vol/m /dir; do touch $dir/x 2>/dev/null || echo refused; done
		echo x 2>/dev/null >/proc/sys/kernel/domainname || echo refused'
	run_container
	assert_status 0
	assert_output $'refused\nrefused\nrefused\nrefused'
	edit_config '.linux.maskedPaths = [] | .linux.readonlyPaths = []' # the control
	run_container
	assert_line secret
	refute_line refused
}

@test 'what a link of the image puts over a mount is masked and read-only as that was' {
	local config

	ln -s /data "$BUNDLE/rootfs/link"
	ln -s / "$BUNDLE/rootfs/up"
	mkdir -p "$BUNDLE/rootfs/data" "$HOST/a/sub" "$HOST/b/sub"
	echo a >"$HOST/a/secret"
	echo b >"$HOST/b/secret"
	mount_at /data bind "$HOST/a" bind
	mount_at /link bind "$HOST/b" bind
	mount_at /up/proc proc proc
	mount_at /up/sys sysfs sysfs
	config=$(cat "$BUNDLE/config.json")
	edit_config '.linux.maskedPaths += ["/data/secret"] | .linux.readonlyPaths += ["/data/sub"]'
	set_script 'cat /data/secret; touch /data/sub/x 2>/dev/null || echo refused
		echo x 2>/dev/null >/proc/sys/kernel/domainname || echo refused
		cat /proc/keys; ls /sys/firmware 2>/dev/null | head -n 1'
	run_container
	assert_status 0
	assert_output $'refused\nrefused'
	echo "$config" >"$BUNDLE/config.json" # the control
	set_script 'cat /data/secret; touch /data/sub/x; awk "\$5 == \"/proc\"" /proc/self/mountinfo | wc -l'
	run_container
	assert_output $'b\n2'
	[ -e "$HOST/b/sub/x" ]
}

@test 'a user namespace without container id 0 is named where a file cannot be made' {
	local map

	use_user_namespace
	for map in uid gid; do
		edit_config '.linux[$map + "Mappings"] = [{containerID: 1, hostID: 100000, size: 65535}]' \
			--arg map "$map"
		run_container
		assert_status 1
		assert_stderr "container id 0, which owns what is made here, is not in linux.${map}Mappings: "
		assert_stderr 'value too large for defined data type'
		edit_config '.linux[$map + "Mappings"] = [{containerID: 0, hostID: 100000, size: 65536}]' \
			--arg map "$map"
	done
}

@test 'the root itself is neither masked nor made read-only by a path: refused, not ignored' {
	local path before=$BATS_TEST_TMPDIR/before.json

	cp "$BUNDLE/config.json" "$before"
	for path in / /. // /proc/..; do
		edit_config '.linux.maskedPaths += [$path]' --arg path "$path"
		run_container
		assert_error "path \"$path\": it is the root of the container, which cannot be masked (at /linux/maskedPaths/"
		cp "$before" "$BUNDLE/config.json"
		edit_config '.linux.readonlyPaths = [$path]' --arg path "$path"
		run_container
		assert_error "path \"$path\": it is the root of the container: use root.readonly (at /linux/readonlyPaths/0)"
		cp "$before" "$BUNDLE/config.json"
	done
	ln -s / "$BUNDLE/rootfs/link"
	edit_config '.linux.maskedPaths += ["/link"]'
	run_container
	assert_error 'mask "/link": it is the root of the container'
	cp "$before" "$BUNDLE/config.json"
	edit_config '.linux.readonlyPaths += ["/link"]'
	run_container
	assert_error 'make "/link" read-only: it is the root of the container: use root.readonly'
}

@test 'the root may be changed without pivot_root' {
	set_script "$IS_MOUNT
		is_mount /proc && [ -e /bin/probe ] && [ ! -e /etc/shadow ] && echo inside
		awk '\$5 == \"/proc\" { n++ } END { print n }' /proc/self/mountinfo"
	run_container --no-pivot
	assert_status 0
	assert_line --index 0 inside
	assert_line --index 1 1
	edit_config '.root.path = "/"'
	run_container --no-pivot
	assert_error 'leave --no-pivot out'
	set_args true
	run_container # control
	assert_status 0
}

@test 'a bundle without mounts' {
	edit_config 'del(.mounts) | del(.linux.maskedPaths) | del(.linux.readonlyPaths)'
	set_args ls /proc
	run_container
	assert_status 0
	assert_output ''
}

@test 'mounts without a mount namespace are refused' {
	edit_config '.linux.namespaces |= map(select(.type != "mount"))'
	run_container
	assert_error 'mount namespace'
}

# ---- control groups --------------------------------------------------------------------------------

@test 'the view of the own cgroup' {
	mount_at /sys/fs/cgroup cgroup cgroup nosuid noexec nodev relatime ro
	if cgroup_is_v2_only; then
		set_script 'cat /sys/fs/cgroup/cgroup.procs; mkdir /sys/fs/cgroup/x 2>/dev/null || echo refused'
	else
		set_script 'cat /sys/fs/cgroup/pids/cgroup.procs
			mkdir /sys/fs/cgroup/pids/x 2>/dev/null || echo refused
			mkdir /sys/fs/cgroup/x 2>/dev/null || echo refused
			[ -d /sys/fs/cgroup/memory ]'
	fi
	run_container
	assert_status 0
	assert_line --index 0 1
	assert_line refused
}

@test 'the view of the own cgroup without a cgroup namespace is the same group' {
	edit_config '.linux.namespaces |= map(select(.type != "cgroup"))'
	mount_at /sys/fs/cgroup cgroup cgroup ro
	if cgroup_is_v2_only; then
		set_args cat /sys/fs/cgroup/cgroup.procs
	else
		set_args cat /sys/fs/cgroup/pids/cgroup.procs
	fi
	run_container
	assert_status 0
	assert_output 1
}

# ---- user namespaces -------------------------------------------------------------------------------

userns() {
	edit_config '.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
		| .linux.gidMappings = [{containerID: 0, hostID: 100000, size: 65536}]'
	chown -R 100000:100000 "$BUNDLE/rootfs"
	chmod 755 "$BATS_TEST_TMPDIR" "$BUNDLE"
}

# covers linux.uidMappings linux.gidMappings
@test 'user namespace: ids as they are mapped, inside and outside' {
	edit_config '.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 10}, {containerID: 20, hostID: 100020, size: 3}]
		| .linux.gidMappings = [{containerID: 0, hostID: 200000, size: 30}]
		| .process.user = {uid: 21, gid: 4}'
	chown -R 100021:200004 "$BUNDLE/rootfs"
	chmod 755 "$BATS_TEST_TMPDIR" "$BUNDLE"
	set_script 'while read -r ids; do echo $ids; done </proc/self/uid_map
		while read -r ids; do echo $ids; done </proc/self/gid_map; : >/made; stat -c %u:%g /made'
	run_container
	assert_status 0
	assert_output $'0 100000 10\n20 100020 3\n0 200000 30\n21:4'
	[ "$(stat -c %u:%g "$BUNDLE/rootfs/made")" = 100021:200004 ]
}

@test 'user namespace: everything that a plain container has' {
	userns
	edit_config '(.mounts[] | select(.destination == "/dev/pts") | .options) += ["gid=5"]'
	set_script 'echo x >/dev/null && [ -c /dev/urandom ] && [ -e /dev/mqueue ] && [ -e /sys/kernel ] &&
		stat -c %g /dev/pts/ptmx'
	run_container
	assert_status 0
}

@test 'user namespace: sysfs without an own network is the host'\''s, read-only' {
	userns
	edit_config '.linux.namespaces |= map(select(.type != "network"))'
	set_script "[ -e /sys/kernel ] && $(flags_script /sys)"
	run_container
	assert_status 0
	[[ $output = ro,* ]]
}

@test 'user namespace: a source that only the host'\''s root can reach' {
	userns
	mkdir -m 700 "$HOST/closed"
	echo reached >"$HOST/closed/file"
	mount_at /in bind "$HOST/closed/file" bind ro
	set_args cat /in
	run_container
	assert_status 0
	assert_output reached
}
