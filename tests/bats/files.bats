# Files of the caller that the runtime writes into: it neither waits for them nor replaces what is no
# file; and what happens where nothing can be written.
load helpers

# in_time ARGS...: as run_sbx, and killed where it hangs
in_time() {
	run --separate-stderr timeout -s KILL 20 "$SBX_RUNTIME" --root "$ROOT" "$@"
}

# special_files: folders, FIFOs, links and, for root, device nodes, all in a folder of the test
special_files() {
	NODES=$BATS_TEST_TMPDIR/nodes
	mkdir -p "$NODES/folder"
	mkfifo "$NODES/fifo"
	: >"$NODES/target"
	ln -s target "$NODES/link"
	ln -s missing "$NODES/dangling"
	KINDS='folder fifo link dangling'
	if is_root; then
		mknod "$NODES/zero" c 1 5
		mknod "$NODES/block" b 7 250
		KINDS="$KINDS zero block"
	fi
}

# ---- the log ---------------------------------------------------------------------------------------

@test 'log: a FIFO that nobody reads is one error' {
	special_files
	in_time --log "$NODES/fifo" list
	assert_error 'nobody reads'
	in_time --log "$NODES/folder" list
	assert_error 'is a directory'
}

@test 'log: a FIFO that somebody reads holds the log' {
	local line

	special_files
	exec 8<>"$NODES/fifo"
	in_time --log "$NODES/fifo" state nobody-here
	assert_error 'does not exist'
	read -r -t 5 line <&8
	exec 8>&-
	[[ $line = *'does not exist'* ]]
}

@test 'log: a FIFO whose reader does not read holds nobody up' {
	set_args true
	special_files
	exec 8<>"$NODES/fifo"
	head -c 65536 /dev/urandom | base64 -w0 | dd bs=4096 oflag=nonblock >&8 2>/dev/null || true
	in_time --debug --log "$NODES/fifo" run --bundle "$BUNDLE" "$ID"
	assert_status 0
	exec 8>&-
}

@test 'log: a terminal does not become the controlling one' {
	local pid

	set_args sleep 1000
	# a session without a terminal, beside a fresh pty
	cat >"$BATS_TEST_TMPDIR/script" <<-SCRIPT
		setsid -w sh -c '"$SBX_RUNTIME" --root "$ROOT" --log \$0 --debug list
			cut -d" " -f7 /proc/\$\$/stat' "\$(tty)" >"$BATS_TEST_TMPDIR/out" </dev/null
	SCRIPT
	script -qec "sh '$BATS_TEST_TMPDIR/script'" /dev/null </dev/null >/dev/null 3>&-
	assert_equal "$(tail -n 1 "$BATS_TEST_TMPDIR/out")" 0
}

# ---- the pid file ----------------------------------------------------------------------------------

kind_of() {
	stat -c '%F %t %T %i' "$1"
}

@test 'pid file: what exists and is no regular file is refused and stays what it is' {
	local kind before

	set_args true
	special_files
	for kind in $KINDS; do
		before=$(kind_of "$NODES/$kind")
		in_time create --bundle "$BUNDLE" --pid-file "$NODES/$kind" "$ID"
		assert_error "\"$NODES/$kind\": it exists and is no regular file"
		in_time run --bundle "$BUNDLE" --pid-file "$NODES/$kind" "$ID"
		assert_error "\"$NODES/$kind\": it exists and is no regular file"
		assert_equal "$(kind_of "$NODES/$kind")" "$before"
	done
	assert_no_leaks
	[ ! -s "$NODES/target" ]
	[ ! -e "$NODES/missing" ]
}

@test 'pid file of exec: the same, and nothing is executed' {
	local kind before

	special_files
	start_sleeper
	for kind in $KINDS; do
		before=$(kind_of "$NODES/$kind")
		in_time exec --pid-file "$NODES/$kind" "$ID" touch /workspace/ran
		assert_error "\"$NODES/$kind\": it exists and is no regular file" 255
		assert_equal "$(kind_of "$NODES/$kind")" "$before"
	done
	[ ! -e "$BUNDLE/rootfs/workspace/ran" ]
	in_time exec --pid-file "$NODES/target" "$ID" touch /workspace/ran
	assert_status 0
	[ -s "$NODES/target" ]
	[ -e "$BUNDLE/rootfs/workspace/ran" ]
}

@test 'pid file: a regular file is replaced' {
	set_args sleep 1000
	echo an older and longer text >"$BATS_TEST_TMPDIR/pid"
	create_container --pid-file "$BATS_TEST_TMPDIR/pid"
	assert_equal "$(<"$BATS_TEST_TMPDIR/pid")" "$(container_pid)"
}
