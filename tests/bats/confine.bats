# What a profile lets a container see, write, reach and keep; each denial beside the same action
# without the profile.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	use_profile
	echo secret >"$BUNDLE/rootfs/etc/secret"
}

# ---- writing ---------------------------------------------------------------------------------------

@test 'the workspace is writable, the rest of the root is not' {
	local script='echo in > /workspace/in; for f in /etc/out /out /bin/out /home/out; do
		echo x > $f; done 2>/dev/null; rm -f /etc/secret 2>/dev/null; ls /etc/out /out /bin/out 2>/dev/null
		cat /etc/secret 2>/dev/null; true'

	run_with_and_without "$script"
	assert_same 'control' $'/bin/out\n/etc/out\n/out' "$(sort <<<"$without")"
	assert_same 'files of the host' in "$(cat "$WS/in")"
	rm -f "$BUNDLE"/rootfs/{out,etc/out,bin/out,home/out}
	echo secret >"$BUNDLE/rootfs/etc/secret"
	run_script "$script"
	assert_status 0
	assert_output secret
}

@test 'a link in the workspace does not lead out' {
	local script='echo x > /workspace/link 2>/dev/null; echo y > /workspace/dir/new 2>/dev/null
		cat /etc/target; ls /etc/new 2>/dev/null; true'

	ln -s /etc/target "$WS/link"
	ln -s /etc "$WS/dir"
	echo old >"$BUNDLE/rootfs/etc/target"
	run_script "$script"
	assert_status 0
	assert_output old
	no_profile
	run_script "$script"
	assert_output $'x\n/etc/new'
}

@test 'writing is refused by every other road as well' {
	local n script='cd /etc
		mv s1 /workspace/moved 2>/dev/null && echo moved
		attack open s2 wt
		chmod 600 s3 2>/dev/null && echo mode
		touch -d 2001-01-01 s4 2>/dev/null && echo time
		chown 1:1 s5 2>/dev/null && echo owner
		echo z 2>/dev/null > /proc/self/root/etc/s6 && echo magic
		ln s7 hard 2>/dev/null && echo linked
		mkdir new 2>/dev/null && echo folder
		rm s8 2>/dev/null && echo removed
		true'

	all_capabilities
	for n in 1 2 3 4 5 6 7 8; do
		echo "$n" >"$BUNDLE/rootfs/etc/s$n"
	done
	run_script "$script"
	assert_status 0
	assert_output EROFS
	no_profile
	run_script "$script"
	assert_output $'moved\nok\nmode\ntime\nowner\nmagic\nlinked\nfolder\nremoved'
}

@test 'a mount that the bundle made read-only stays so in a writable root' {
	mkdir -p "$WS/ro" "$BATS_TEST_TMPDIR/other"
	bind_mount "$BATS_TEST_TMPDIR/other" /workspace/ro ro
	run_script 'touch /workspace/a && echo yes; touch /workspace/ro/b 2>/dev/null || echo no'
	assert_status 0
	assert_output $'yes\nno'
}

@test 'roots: a sibling with the same beginning is outside' {
	mkdir -p "$BUNDLE/rootfs/repo/app" "$BUNDLE/rootfs/repo/app-tools"
	use_profile '.roots = [{path: "/repo/app", read: "allow", write: "allow"}]'
	run_script 'touch /repo/app/x && echo yes; touch /repo/app-tools/x 2>/dev/null || echo no'
	assert_status 0
	assert_output $'yes\nno'
}

@test 'roots: a writable one inside a read-only one' {
	mkdir -p "$BUNDLE/rootfs/opt/sdk/cache"
	use_profile '.roots = [{path: "/opt/sdk", read: "allow"},
		{path: "/opt/sdk/cache", read: "allow", write: "allow"}] | .host.read = "deny"'
	run_script 'touch /opt/sdk/cache/x && echo yes; touch /opt/sdk/x 2>/dev/null || echo no'
	assert_status 0
	assert_output $'yes\nno'
}

@test 'roots: a single file' {
	echo one >"$BUNDLE/rootfs/etc/settings"
	use_profile '.roots = [{path: "/etc/settings", read: "allow", write: "allow"}] | .host.read = "deny"'
	run_script 'echo two > /etc/settings; cat /etc/settings; ls /etc/secret 2>/dev/null; true'
	assert_status 0
	assert_output two
}

# refused_root PATH TEXT
refused_root() {
	use_profile '.roots = [{path: $p, read: "allow"}]' --arg p "$1"
	run_container
	assert_error "$2"
	assert_stderr "$1"
	assert_no_leaks
}

@test 'roots: what is missing, a link or no file is refused' {
	ln -s /etc "$BUNDLE/rootfs/linked"
	mkfifo "$BUNDLE/rootfs/fifo"
	refused_root /missing 'does not exist'
	refused_root /linked 'symbolic link'
	refused_root /linked/secret 'symbolic link'
	refused_root /etc/secret/below 'does not exist'
	refused_root /fifo 'neither a folder nor a file'
}

# ---- reading ---------------------------------------------------------------------------------------

# Name, contents, listing and attributes of a path, by what a shell has.
LOOK='for p in /etc/secret /home /var /data; do
	ls -d $p; cat $p; stat -c %n $p; readlink -f $p/. ; [ -e $p ] && echo there $p
	done 2>/dev/null; true'

@test 'host read deny: only the closure, the roots and the workspace are there' {
	mkdir "$BUNDLE/rootfs/data"
	echo library >"$BUNDLE/rootfs/usr/library"
	use_profile '.host.read = "deny"'
	run_with_and_without "$LOOK; cat /usr/library; ls -a / | sort"
	grep -qx secret <<<"$without"
	grep -qx 'there /data' <<<"$without"
	assert_same 'under the profile' "library
.
..
bin
dev
etc
proc
sys
tmp
usr
workspace" "$with"
}

@test 'host read deny: no mount of the bundle but those in a root is there' {
	mkdir "$BATS_TEST_TMPDIR/private" "$BATS_TEST_TMPDIR/public"
	echo private >"$BATS_TEST_TMPDIR/private/f"
	echo public >"$BATS_TEST_TMPDIR/public/f"
	bind_mount "$BATS_TEST_TMPDIR/private" /private
	bind_mount "$BATS_TEST_TMPDIR/public" /public
	use_profile '.host.read = "deny" | .roots = [{path: "/public", read: "allow"}]'
	run_with_and_without 'cat /private/f /public/f 2>/dev/null; true'
	assert_same 'control' $'private\npublic' "$without"
	assert_same 'under the profile' public "$with"
}

@test 'host read deny: links of the closure lead inside, a name file from elsewhere is bound' {
	mkdir -p "$BUNDLE/rootfs/run/resolve" "$BUNDLE/rootfs/usr/share/zone"
	echo server >"$BUNDLE/rootfs/run/resolve/conf"
	echo zone >"$BUNDLE/rootfs/usr/share/zone/here"
	ln -s ../run/resolve/conf "$BUNDLE/rootfs/etc/resolv.conf"
	ln -s ../usr/share/zone/here "$BUNDLE/rootfs/etc/localtime"
	ln -s bin "$BUNDLE/rootfs/sbin"
	use_profile '.host.read = "deny"'
	run_script 'cat /etc/resolv.conf /etc/localtime; readlink /etc/localtime; readlink /sbin
		ls /run 2>/dev/null; true'
	assert_status 0
	assert_output 'server
zone
../usr/share/zone/here
bin'
}

@test 'host read deny: a private key beside certificates is not in the closure' {
	mkdir -p "$BUNDLE/rootfs/etc/ssl/"{certs,private}
	echo cert >"$BUNDLE/rootfs/etc/ssl/certs/ca"
	echo key >"$BUNDLE/rootfs/etc/ssl/private/key"
	use_profile '.host.read = "deny"'
	run_with_and_without 'cat /etc/ssl/certs/ca; cat /etc/ssl/private/key 2>/dev/null; true'
	assert_same 'control' $'cert\nkey' "$without"
	assert_same 'under the profile' cert "$with"
}

@test 'processes of the host are not seen, whatever /proc is asked' {
	run_script 'ls /proc | grep -c "^[0-9]"; ls -l /proc/1/root/etc/secret >/dev/null && echo own'
	assert_status 0
	[ "${lines[0]}" -le 4 ]
}

# ---- the host's own root ---------------------------------------------------------------------------

# On a copy of the mounts, so that mount points made in "/" stay in the test's namespace.
host_root() {
	mkdir -p "$BATS_TEST_TMPDIR/upper" "$BATS_TEST_TMPDIR/work" "$BATS_TEST_TMPDIR/host"
	edit_config '.root.path = "/"'
}

@test 'root "/": volatile and private folders are empty, the workspace and own mounts stay' {
	local file=/tmp/sbx-bats-host-root-$$

	[ -d /home ] || skip_host 'no /home'
	edit_config '.root.path = "/" | .process.args = ["sh", "-c", $s] |
		(.mounts[] | select(.destination == "/workspace")).destination = $w' \
		--arg w "$WS" --arg s "ls -A /run /tmp /var/tmp /home /root | grep -v '^\$';
		ls -d /usr/bin/env; cat $WS/f; echo new > $WS/g; touch /etc/sbx-bats 2>/dev/null || echo no"
	echo kept >"$WS/f"
	use_profile '.workspace.root = $w' --arg w "$WS"
	touch "$file"
	run_container
	rm -f "$file"
	assert_status 0
	refute_line "$(basename "$file")"
	assert_line /usr/bin/env
	assert_line kept
	assert_line no
	[ "$(cat "$WS/g")" = new ]
	[ ! -e /etc/sbx-bats ]
}

@test 'root "/": nothing of the host is above it, for the first process and for exec' {
	local file=/tmp/sbx-bats-above-root-$$ read
	local script="awk '\$5 == \"/\"' /proc/self/mountinfo | wc -l
		for f in /..$file /../..$file /proc/1/root/..$file; do [ -e \$f ] && echo \$f; done
		cd / && cd ../.. && [ -e .$file ] && echo .$file; true"

	touch "$file"
	edit_config '.root.path = "/" | (.mounts[] | select(.destination == "/workspace")).destination = $w' \
		--arg w "$WS"
	for read in deny allow; do
		use_profile '.workspace.root = $w | .host.read = $r' --arg w "$WS" --arg r "$read"
		run_script "$script"
		assert_status 0
		assert_output 1
		set_args sleep 100
		sbx_detached run --detach --bundle "$BUNDLE" "$ID"
		run_sbx exec "$ID" sh -c "$script"
		assert_status 0
		assert_output 1
		sbx delete --force "$ID"
	done
	no_profile # control: the same names find the file where it is in view
	run_script "$script"
	rm -f "$file"
	assert_line "/..$file"
	assert_line 1
}

@test 'root "/" needs a procfs and a /dev of its own' {
	edit_config '.root.path = "/" | del(.mounts[] | select(.destination == "/workspace"))'
	mkdir -p "$WS"
	use_profile '.workspace.root = $w' --arg w "$WS"
	edit_config 'del(.mounts[] | select(.destination == "/proc"))'
	run_container
	assert_error '/proc'
}

# ---- own files -------------------------------------------------------------------------------------

@test 'own files: a bind of a folder above them shows them empty' {
	bind_mount "$BATS_TEST_TMPDIR" /above
	run_with_and_without 'ls -A /above/root /above/bundle; ls -d /above/ws'
	grep -qx config.json <<<"$without"
	grep -q . <<<"$(grep -v -e / -e : <<<"$without")"
	assert_same 'under the profile' $'/above/bundle:\n\n/above/root:\n/above/ws' "$(sort -u <<<"$with" | sed '/^$/d' | sed 's/^\/above\/bundle:/&\n/')"
}

@test 'own files: they cannot be mounted, nor be a root' {
	mkdir -p "$ROOT/elsewhere"
	bind_mount "$ROOT/elsewhere" /state
	run_container
	assert_error "runtime's own"
	edit_config 'del(.mounts[] | select(.destination == "/state"))'
	bind_mount "$BUNDLE" /bundle
	use_profile '.roots = [{path: "/bundle", read: "allow"}]'
	run_container
	assert_error "runtime's own"
	rmdir "$ROOT/elsewhere"
}

# ---- network ---------------------------------------------------------------------------------------

@test 'network deny: a connection to the host is refused, without the profile it is made' {
	local port=$((20000 + RANDOM % 20000)) server

	edit_config 'del(.linux.namespaces[] | select(.type == "network"))'
	ip link set lo up 2>/dev/null || true
	busybox httpd -f -p "127.0.0.1:$port" -h "$WS" 3>&- &
	server=$!
	wait_until 5 attack_reaches "$port"
	run_with_and_without "attack connect 127.0.0.1 $port"
	kill "$server"
	wait "$server" || true
	assert_same 'control' ok "$without"
	assert_same 'under the profile' ECONNREFUSED "$(sed 's/ENETUNREACH/ECONNREFUSED/' <<<"$with")"
}

attack_reaches() {
	[ "$("$SBX_TEST_BIN/attack" connect 127.0.0.1 "$1")" = ok ]
}

# ---- scratch, HOME, environment --------------------------------------------------------------------

@test 'scratch: /tmp of its own, HOME in it for the process, gone afterwards' {
	edit_config '.process.user = {uid: 1000, gid: 1000}'
	run_script 'echo "$HOME $TMPDIR"; stat -c "%a %u:%g" /tmp /tmp/.home; touch "$HOME/f" /tmp/g && echo yes
		chmod 0 /tmp/g; rm /tmp/g'
	assert_status 0
	assert_output $'/tmp/.home /tmp\n1777 0:0\n700 1000:1000\nyes'
	assert_same 'the image' '' "$(ls -A "$BUNDLE/rootfs/tmp")"
}

@test 'scratch: elsewhere where the bundle mounts /tmp itself' {
	edit_config '.mounts += [{destination: "/tmp", type: "tmpfs", source: "tmpfs"}]'
	run_script 'echo "$HOME $TMPDIR"; touch /run/sbx/f && echo yes; touch /tmp/f 2>/dev/null || echo no'
	assert_status 0
	assert_output $'/run/sbx/.home /run/sbx\nyes\nno'
}

@test 'scratch: as large as the profile says, in bytes and in files' {
	use_profile '.limits.scratch = "64KiB"'
	run_script 'head -c 1000000 /dev/zero > /tmp/big 2>/dev/null; wc -c < /tmp/big; rm /tmp/big
		i=0; while [ $i -lt 3000 ] && true > /tmp/f$i; do i=$((i + 1)); done 2>/dev/null
		[ $i -lt 3000 ] && echo bounded'
	assert_status 0
	assert_output $'65536\nbounded'
}

@test 'environment: loader and shell start-up variables are dropped and named' {
	edit_config '.process.env += ["LD_PRELOAD=/x", "BASH_ENV=/y", "KEPT=1"]'
	run_with_and_without 'env | grep -E "^(LD_PRELOAD|BASH_ENV|KEPT)=" | sort'
	assert_same 'control' $'BASH_ENV=/y\nKEPT=1\nLD_PRELOAD=/x' "$without"
	assert_same 'under the profile' KEPT=1 "$with"
	report_of
	report_says '.entries[] | select(.feature == "environment").detail | contains("LD_PRELOAD")'
}

@test 'environment: what exec does not pass on is told in the log' {
	set_args sleep 100
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	run_sbx --log-level warn exec -e LD_PRELOAD=/x -e KEPT=1 "$ID" env
	assert_status 0
	assert_line KEPT=1
	refute_line LD_PRELOAD=/x
	assert_stderr 'the variable \"LD_PRELOAD\" is not passed on'
}

@test 'core dumps are off' {
	edit_config '.process.rlimits = [{type: "RLIMIT_CORE", soft: 1000000, hard: 1000000}]'
	run_with_and_without 'grep "core file" /proc/self/limits | tr -s " " | cut -d" " -f5'
	assert_same 'control' 1000000 "$without"
	assert_same 'under the profile' 1 "$with"
}

# ---- a further process -----------------------------------------------------------------------------

@test 'exec: the same view and the same refusals' {
	local script='touch /workspace/e && echo yes; touch /etc/e 2>/dev/null || echo no
		attack open /etc/secret w; cat /etc/secret; grep NoNewPrivs /proc/self/status | tr -dc 0-9'

	start_sleeper
	run_sbx exec "$ID" sh -c "$script"
	assert_status 0
	assert_output $'yes\nno\nEROFS\nsecret\n1'
}

@test 'exec: Landlock holds where the mounts would not' {
	if [ "$(landlock_is_there)" = false ]; then
		boundaries_need_landlock
		return
	fi
	local pid

	start_sleeper
	pid=$(container_pid)
	# The host opens the view behind the container's back.
	nsenter -t "$pid" -m mount -o remount,rw,bind / / || skip_host 'cannot remount in the container'
	run_sbx exec "$ID" sh -c 'attack open /etc/secret w; attack open /workspace/x wc'
	assert_status 0
	assert_output $'EACCES\nok'
}

# ---- report ----------------------------------------------------------------------------------------

@test 'report: a boundary that the profile itself opens cannot be required' {
	local name values

	set_args true
	while read -r name values; do
		use_profile ".require = [\"$name\"] | $values"
		run_container
		assert_status 1
		assert_stderr "$name is not enforced: require (profile): unenforced, the values of the profile draw no such boundary"
		assert_stderr '(at /require)'
		use_profile "$values"
		run_container
		assert_status 0
	done <<-'END'
		networkBoundary .network.access = "allow"
		readBoundary .host.read = "allow"
		writeBoundary .host.write = "allow" | .host.read = "allow"
		resourceLimits .
	END
	use_profile '.require = ["networkBoundary"]'
	run_container
	assert_status 0
}

@test 'report: a host folder in view caps the level, and can be required away' {
	if [ "$(landlock_is_there)" = false ]; then
		boundaries_need_landlock
		return
	fi
	report_of
	report_says '.level == "degraded" and .guarantees.writeBoundary and .guarantees.processBoundary and
		(.entries[] | select(.feature == "unixSockets").outcome == "unenforced")'
	use_profile '.require = ["unixSockets"]'
	run_container
	assert_error unixSockets
	edit_config 'del(.mounts[] | select(.destination == "/workspace"))'
	report_of
	report_says '.level == "full"'
	run_script true
	assert_status 0
}

@test 'report: a workspace that the bundle has read-only is said to be so' {
	edit_config '.root.readonly = true | .mounts |= map(select(.destination != "/workspace"))'
	use_profile .
	run_sbx report --bundle "$BUNDLE"
	jq -e '.entries[] | select(.feature == "workspace.write").detail | endswith("allowed, but the bundle has it read-only")' \
		<<<"$output"
	edit_config '.root.readonly = false' # the control
	run_sbx report --bundle "$BUNDLE"
	jq -e '.entries[] | select(.feature == "workspace.write").detail | endswith("allowed")' <<<"$output"
}

@test 'report: the closure is printed' {
	use_profile '.host.read = "deny"'
	report_of
	report_says ".guarantees.readBoundary == $(landlock_is_there) and"'
		(.entries[] | select(.feature == "host.read").detail | contains("/etc/nsswitch.conf"))'
}
