# Devices, links of /dev, the terminal's console; what an image may plant there.

load helpers

setup() {
	require_root
	helpers_setup
	HOST=$BATS_TEST_TMPDIR/host
	mkdir "$HOST"
}

without_dev() {
	edit_config '.mounts |= map(select(.destination | startswith("/dev") | not))'
}

add_device() {
	edit_config '.linux.devices += [$d] | .linux.resources.devices += [{allow: true, access: "rwm"}]' \
		--argjson d "$1"
}

# Everything below the folder with type, mode, owner, size, link target and content of files.
folder_state() {
	find "$1" -printf '%P %y %m %U:%G %s %l\n' | sort
	find "$1" -type f -exec cat {} +
}

# ---- what every container has ----------------------------------------------------------------------

@test 'a console socket that nobody accepts on is waited for 10 seconds, not for ever' {
	local socket=$BATS_TEST_TMPDIR/full.sock listener

	command -v python3 >/dev/null || skip "no python3"
	python3 -c 'import socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(0)
first = socket.socket(socket.AF_UNIX)
first.connect(sys.argv[1])
time.sleep(100)' "$socket" 3>&- &
	listener=$!
	wait_until 10 test -S "$socket"
	sleep 0.5
	edit_config '.process.terminal = true'
	run --separate-stderr timeout 60 "$SBX_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" \
		--console-socket "$socket" "$ID"
	kill "$listener"
	assert_error 'nobody accepted it within 10 seconds: connection timed out'
}

@test 'default devices and links' {
	set_script 'for d in null zero full random urandom tty; do
			stat -c "%n %F %t:%T %a" /dev/$d
		done
		for l in fd stdin stdout stderr ptmx; do readlink /dev/$l; done
		echo text >/dev/null && head -c 3 /dev/urandom | wc -c'
	run_container
	assert_status 0
	assert_output '/dev/null character special file 1:3 666
/dev/zero character special file 1:5 666
/dev/full character special file 1:7 666
/dev/random character special file 1:8 666
/dev/urandom character special file 1:9 666
/dev/tty character special file 5:0 666
/proc/self/fd
/proc/self/fd/0
/proc/self/fd/1
/proc/self/fd/2
pts/ptmx
3'
}

# covers linux.devices
@test 'a listed device below a folder, whatever the umask' {
	add_device '{"type": "c", "path": "/dev/sub/kmsg", "major": 1, "minor": 11, "fileMode": 438}'
	add_device '{"type": "c", "path": "/dev/plain", "major": 1, "minor": 3, "uid": 12, "gid": 13, "fileMode": 384}'
	add_device '{"type": "p", "path": "/dev/pipe", "fileMode": 416}'
	add_device '{"type": "u", "path": "/elsewhere/zero", "major": 1, "minor": 5}'
	set_script 'stat -c "%F %t:%T %a %u:%g" /dev/sub/kmsg /dev/plain /dev/pipe /elsewhere/zero
		stat -c %a /dev/sub /elsewhere'
	umask 077
	run_container
	assert_status 0
	assert_output 'character special file 1:b 666 0:0
character special file 1:3 600 12:13
fifo 0:0 640 0:0
character special file 1:5 666 0:0
755
755'
}

@test 'listing the default /dev/tty and /dev/ptmx' {
	add_device '{"type": "c", "path": "/dev/tty", "major": 5, "minor": 0, "fileMode": 438}'
	add_device '{"type": "c", "path": "/dev/ptmx", "major": 5, "minor": 2, "fileMode": 438}'
	set_script 'stat -c "%F %t:%T" /dev/tty; stat -Lc "%F %t:%T" /dev/ptmx'
	run_container
	assert_status 0
	assert_output 'character special file 5:0
character special file 5:2'
}

@test 'a device without a type, with a number out of range, on "/" are refused' {
	local config bad

	config=$(cat "$BUNDLE/config.json")
	for bad in '{"type": "x", "path": "/dev/x", "major": 1, "minor": 3}' \
		'{"type": "c", "path": "/dev/x", "major": 70000, "minor": 3}' \
		'{"type": "c", "path": "/", "major": 1, "minor": 3}' \
		'{"type": "c", "path": "dev/x", "major": 1, "minor": 3}'; do
		echo "$config" >"$BUNDLE/config.json"
		add_device "$bad"
		run_container
		assert_error device
	done
}

@test 'a bind on /dev is left as it is' {
	mkdir "$HOST/dev"
	touch "$HOST/dev/mine"
	without_dev
	edit_config '.mounts += [{destination: "/dev", type: "bind", source: $s, options: ["bind"]}]' \
		--arg s "$HOST/dev"
	set_args ls /dev
	run_container
	assert_status 0
	assert_output mine
	[ "$(ls "$HOST/dev")" = mine ]
}

# ---- what an image may plant -----------------------------------------------------------------------

# Without a mount on /dev the image's own folder is filled: the control of the tests below.
@test 'without a mount on /dev the image'\''s folder is filled' {
	without_dev
	set_script 'stat -c %t:%T /dev/null /dev/zero; readlink /dev/fd'
	run_container
	assert_status 0
	assert_output $'1:3\n1:5\n/proc/self/fd'
	# what is there is taken where it is the same
	run_container
	assert_status 0
}

# CVE-2026-41579, CVE-2026-47766
@test 'a /dev that is a link leaves the host untouched' {
	local target before

	without_dev
	mkdir "$HOST/dev" "$BUNDLE/rootfs/other"
	echo mine >"$HOST/dev/ptmx"
	before=$(folder_state "$HOST")
	for target in "$HOST/dev" ../../host/dev other; do
		rm -rf "$BUNDLE/rootfs/dev"
		ln -s "$target" "$BUNDLE/rootfs/dev"
		run_container
		assert_error /dev
		[ "$(folder_state "$HOST")" = "$before" ]
		[ -z "$(ls -A "$BUNDLE/rootfs/other")" ]
	done
}

# CVE-2026-88265: a planted /dev/null must not stand in for the device
@test 'a planted device is refused and what it points to stays' {
	local before

	without_dev
	echo precious >"$HOST/file"
	chmod 600 "$HOST/file"
	before=$(folder_state "$HOST")
	ln -s "$HOST/file" "$BUNDLE/rootfs/dev/null"
	run_sbx run --bundle "$BUNDLE" "$ID" <&-
	assert_status 1
	assert_stderr /dev/null
	[ "$(folder_state "$HOST")" = "$before" ]
	rm "$BUNDLE/rootfs/dev/null"
	echo text >"$BUNDLE/rootfs/dev/null"
	run_container
	assert_error /dev/null
	[ "$(cat "$BUNDLE/rootfs/dev/null")" = text ]
	rm "$BUNDLE/rootfs/dev/null"
	set_args true
	run_container
	assert_status 0
}

# CVE-2025-31133: the cover of a masked file is the null device whatever /dev/null is
@test 'a masked file is covered by the null device, not by the image'\''s /dev/null' {
	without_dev
	mkdir "$HOST/dev"
	echo planted >"$HOST/dev/null"
	edit_config '.mounts += [{destination: "/dev", type: "bind", source: $s, options: ["bind"]}]
		| .linux.maskedPaths = ["/proc/keys", "/proc/timer_list"]' --arg s "$HOST/dev"
	set_script 'stat -c %t:%T /proc/keys /proc/timer_list; cat /dev/null; wc -c </proc/keys'
	run_container
	assert_status 0
	assert_output $'1:3\n1:3\nplanted\n0'
	rm "$HOST/dev/null"
	ln -s /proc/sys/kernel/core_pattern "$HOST/dev/null"
	set_script 'stat -c %t:%T /proc/keys /proc/timer_list; wc -c </proc/keys'
	run_container
	assert_status 0
	assert_output $'1:3\n1:3\n0'
}

# ---- the terminal ----------------------------------------------------------------------------------

with_terminal() {
	edit_config '.process.terminal = true | .process.consoleSize = {height: 31, width: 97}'
	"$SBX_TEST_BIN/probe" receive-console "$HOST/console.sock" >"$HOST/console.out" 3>&- &
	receiver=$!
	wait_until 5 test -S "$HOST/console.sock"
}

end_terminal() {
	kill "$receiver" 2>/dev/null || true
	wait "$receiver" 2>/dev/null || true
}

# covers process.terminal process.consoleSize
@test 'the console is the terminal, its size and owner are set' {
	edit_config '.process.user = {uid: 1000, gid: 1000}'
	with_terminal
	set_script 'stty size; tty; stat -Lc "%u %t" /dev/console; echo to the console >/dev/console; test -t 0'
	sbx_detached create --bundle "$BUNDLE" --console-socket "$HOST/console.sock" "$ID"
	assert_status 0
	run_sbx start "$ID"
	assert_status 0
	wait_until 10 status_is stopped
	wait_until 5 grep -q 'to the console' "$HOST/console.out"
	end_terminal
	grep -q '31 97' "$HOST/console.out"
	grep -q '^1000 88' "$HOST/console.out"
	grep -q /dev/pts/0 "$HOST/console.out"
}

# CVE-2025-52565, CVE-2026-88264
@test 'a planted console is refused and nothing is made where it points' {
	local before target

	edit_config '.mounts |= map(select(.destination | IN("/dev", "/dev/shm", "/dev/mqueue") | not))'
	before=$(folder_state "$HOST")
	set_args true
	for target in "$HOST/made" ../../../host/made /etc/made; do
		ln -sfn "$target" "$BUNDLE/rootfs/dev/console"
		with_terminal
		before=$(folder_state "$HOST" | grep -v console)
		run_sbx run --bundle "$BUNDLE" --console-socket "$HOST/console.sock" --detach "$ID"
		end_terminal
		assert_status 1
		assert_stderr /dev/console
		[ "$(folder_state "$HOST" | grep -v console)" = "$before" ]
		[ ! -e "$HOST/made" ] && [ ! -e "$BUNDLE/rootfs/etc/made" ]
		rm -f "$HOST/console.sock"
	done
	rm "$BUNDLE/rootfs/dev/console"
	with_terminal
	run_sbx run --bundle "$BUNDLE" --console-socket "$HOST/console.sock" --detach "$ID"
	end_terminal
	assert_status 0
}

@test 'a planted /dev/pts is no place for a terminal' {
	edit_config '.mounts |= map(select(.destination | startswith("/dev/pts") | not))'
	with_terminal
	run_sbx run --bundle "$BUNDLE" --console-socket "$HOST/console.sock" --detach "$ID"
	end_terminal
	assert_error devpts
}

# ---- user namespace --------------------------------------------------------------------------------

@test 'user namespace: devices are bound, and only what they say they are' {
	edit_config '.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
		| .linux.gidMappings = [{containerID: 0, hostID: 100000, size: 65536}]'
	chown -R 100000:100000 "$BUNDLE/rootfs"
	chmod 755 "$BATS_TEST_TMPDIR" "$BUNDLE"
	set_script 'stat -c "%t:%T" /dev/null /dev/zero; echo x >/dev/null'
	run_container
	assert_status 0
	assert_output $'1:3\n1:5'
	add_device '{"type": "c", "path": "/dev/null", "major": 1, "minor": 5}'
	run_container
	assert_error '/dev/null'
}
