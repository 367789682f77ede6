# Loaded by the files about run --rootfs behind helpers: each function is a test's body. $FS is a root
# file system, $WS the current folder and the workspace.

rootfs_setup() {
	export HOME=/nonexistent
	FS=$BATS_TEST_TMPDIR/fs
	WS=$BATS_TEST_TMPDIR/ws
	mkdir -p "$WS" "$FS"
	mv "$BUNDLE/rootfs"/* "$FS"
	mkdir -p "$FS/run" "$FS/app"
	echo image >"$FS/app/data"
	cd "$WS" || return
}

rootfs_runs() {
	run_sbx run --rootfs ../fs -- sh -c 'pwd; cat /app/data; echo made >file; echo $PATH; echo x >$TMPDIR/f && exit 4'
	assert_status 4
	assert_output "$WS
image
/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	[ "$(cat "$WS/file")" = made ]
	run_sbx run --rootfs "$FS" -- gcc # of the host
	assert_error 'exec: "gcc": executable file not found'
}

rootfs_shows_nothing_else() {
	local other=$BATS_TEST_TMPDIR/other

	mkdir "$other"
	echo host >"$other/file"
	run_sbx run --rootfs "$FS" -- sh -c "ls -A $BATS_TEST_TMPDIR /usr /sys/fs/cgroup 2>&1; cat $other/file /etc/shadow 2>/dev/null; true"
	assert_line ws
	refute_line other
	refute_line host
	refute_line lib
	run_sbx run --rootfs "$FS" --root "$other" -- sh -c "cat $other/file; echo x 2>/dev/null >$other/new; [ ! -e $other/new ] && echo closed"
	assert_output $'host\nclosed'
	run_sbx run --rootfs "$FS" --root "$other:rw" -- sh -c "echo x >$other/new"
	assert_status 0
	[ -e "$other/new" ]
}

rootfs_stays() {
	local before

	before=$(find "$FS" | sort)
	run_sbx run --rootfs "$FS" -- sh -c 'for f in /app/new /etc/passwd /run/new; do echo x 2>/dev/null >>$f && echo wrote $f; done; true'
	assert_status 0
	assert_output ''
	[ "$(find "$FS" | sort)" = "$before" ]
}

rootfs_refusals() {
	touch file
	run_sbx run --rootfs file -- true
	assert_error 'use "file" as --rootfs: not a directory'
	run_sbx run --rootfs missing -- true
	assert_error 'use "missing" as --rootfs: no such file or directory'
	run_sbx run --rootfs / -- true
	assert_error "it is the host's root"
	mkdir inside
	run_sbx run --rootfs inside -- true
	assert_error 'it lies in the workspace'
	run_sbx run --rootfs "$FS" "$ID"
	assert_error '--rootfs is for run -- COMMAND'
}

rootfs_profile() {
	echo '{"version": 1, "workspace": {"read": "allow"}, "command": "allow"}' >"$BATS_TEST_TMPDIR/p.json"
	run_sbx run --profile "$BATS_TEST_TMPDIR/p.json" --rootfs "$FS" -- sh -c 'cat /app/data 2>/dev/null || echo closed; echo x 2>/dev/null >f || echo unwritten'
	assert_output $'closed\nunwritten'
}
