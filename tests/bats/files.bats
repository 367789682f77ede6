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

# ---- what cannot be written ------------------------------------------------------------------------

# limited BYTES ARGS...: in_time below a limit of the size of files; stderr is a pipe, for bats has a file
limited() {
	local bytes=$1

	shift
	run --separate-stderr bash -c '{ timeout -s KILL 20 prlimit --fsize="$1:" "${@:2}" 2>&1 >&9 | cat >&2
		exit "${PIPESTATUS[0]}"; } 9>&1' - "$bytes" "$SBX_RUNTIME" --root "$ROOT" "$@"
}

@test 'RLIMIT_FSIZE: one error, and nothing is left' {
	local bytes

	for bytes in 0 100 1000; do
		limited $bytes create --bundle "$BUNDLE" "$ID"
		assert_error 'file too large'
		limited $bytes run --bundle "$BUNDLE" "$ID"
		assert_error 'file too large'
	done
	assert_no_leaks
	[ -z "$(ls -A "$ROOT")" ]
}

@test 'RLIMIT_FSIZE: start lets the payload go all the same, and later verbs know' {
	set_args sleep 1000
	create_container
	limited 0 start "$ID"
	assert_status 0
	assert_equal "$output$stderr" ''
	status_is running
	run_sbx start "$ID"
	assert_error 'already running'
	run_sbx delete "$ID"
	assert_error 'not stopped: running'
	limited 0 kill "$ID" KILL
	assert_status 0
	wait_until 5 status_is stopped
	limited 0 delete "$ID"
	assert_status 0
}

@test 'RLIMIT_FSIZE of the payload does not end its set-up, whose log is a file' {
	set_args true
	# the first process of a pid namespace is immune
	edit_config '.process.rlimits = [{type: "RLIMIT_FSIZE", soft: 0, hard: 0}]
		| .linux.namespaces |= map(select(.type != "pid"))'
	in_time --debug --log "$BATS_TEST_TMPDIR/log" run --bundle "$BUNDLE" "$ID"
	assert_status 0
	grep -q 'stage limits' "$BATS_TEST_TMPDIR/log"
}

NO_SIGNALS=$'SigBlk: 0000000000000000\nSigIgn: 0000000000000000\nSigCgt: 0000000000000000'

@test 'payload, exec and hooks have the default actions, whatever the caller ignores' {
	local hook

	set_args grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status
	run --separate-stderr bash -c 'trap "" PIPE XFSZ TERM; exec "$@"' - "$SBX_RUNTIME" --root "$ROOT" \
		run --bundle "$BUNDLE" "$ID"
	assert_status 0
	assert_equal "${output//$'\t'/ }" "$NO_SIGNALS"
	start_sleeper
	run --separate-stderr bash -c 'trap "" PIPE XFSZ TERM; exec "$@"' - "$SBX_RUNTIME" --root "$ROOT" \
		exec "$ID" grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status
	assert_status 0
	assert_equal "${output//$'\t'/ }" "$NO_SIGNALS"
	run_sbx delete --force "$ID"
	hook='{"path": "/bin/sh", "args": ["sh", "-c",
		"grep -E \"^Sig(Blk|Ign)\" /proc/self/status >'"$BATS_TEST_TMPDIR"'/hook"]}'
	add_hook createRuntime "$hook"
	set_args true
	run --separate-stderr bash -c 'trap "" PIPE XFSZ TERM; exec "$@"' - "$SBX_RUNTIME" --root "$ROOT" \
		run --bundle "$BUNDLE" "$ID"
	assert_status 0
	assert_equal "$(tr '\t' ' ' <"$BATS_TEST_TMPDIR/hook")" "${NO_SIGNALS%$'\n'*}"
}

# into_closed_pipe ARGS...: stdout and stderr are a pipe that nobody reads
into_closed_pipe() {
	status=0
	exec 8> >(:)
	wait $! || true
	timeout -s KILL 20 "$SBX_RUNTIME" --root "$ROOT" "$@" >&8 2>&8 3>&- || status=$?
	exec 8>&-
	output='' stderr='' BATS_RUN_COMMAND="sbx $* into a closed pipe"
}

@test 'a closed pipe for stdout and stderr: no verb dies of it, none leaves half a container' {
	set_args sleep 1000
	into_closed_pipe --debug create --bundle "$BUNDLE" "$ID"
	assert_status 0
	status_is created
	into_closed_pipe --debug start "$ID"
	assert_status 0
	status_is running
	into_closed_pipe state "$ID"
	assert_status 1
	into_closed_pipe list
	assert_status 1
	into_closed_pipe exec "$ID" true
	assert_status 0
	into_closed_pipe --debug kill "$ID" KILL
	assert_status 0
	wait_until 5 status_is stopped
	into_closed_pipe --debug delete "$ID"
	assert_status 0
	assert_no_leaks
	set_args no-such-program
	into_closed_pipe --debug create --bundle "$BUNDLE" "$ID"
	assert_status 1
	assert_no_leaks
}

@test 'a closed pipe: the payload dies of it as it would elsewhere, the runtime says so and cleans up' {
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	set_args yes
	ln -sf busybox "$BUNDLE/rootfs/bin/yes"
	into_closed_pipe run --bundle "$BUNDLE" "$ID"
	[ "$status" = 141 ] || [ "$status" = 1 ]
	assert_no_leaks
}

@test 'a terminal whose output nobody reads is hung up' {
	ln -sf busybox "$BUNDLE/rootfs/bin/yes"
	edit_config '.process.terminal = true'
	set_script 'yes; exit 5'
	status=0
	timeout -s KILL 20 "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" </dev/null 3>&- |
		head -n 1 >"$BATS_TEST_TMPDIR/out"
	status=${PIPESTATUS[0]}
	[ "$status" != 137 ]
	grep -q y "$BATS_TEST_TMPDIR/out"
	assert_no_leaks
}

@test 'log: a FIFO whose reader leaves ends nobody' {
	set_args true
	special_files
	(exec 8<>"$NODES/fifo"; : >"$BATS_TEST_TMPDIR/up"; read -r -n 1 <&8) 3>&- &
	wait_until 5 test -e "$BATS_TEST_TMPDIR/up"
	timeout -s KILL 20 "$SBX_RUNTIME" --root "$ROOT" --debug --log "$NODES/fifo" create \
		--bundle "$BUNDLE" "$ID" >/dev/null 2>&1 3>&-
	wait $!
	status_is created
}
