# The life of a container: create, start, run, kill, delete, pause, and the texts that clients match.
load helpers

# ---- run -------------------------------------------------------------------------------------------

@test 'config.json that is no regular file, or a link, is named as such' {
	mv "$BUNDLE/config.json" "$BUNDLE/other.json"
	ln -s other.json "$BUNDLE/config.json"
	run_container
	assert_error 'read "config.json" of bundle'
	assert_stderr 'it is a symbolic link, which is not followed'
	rm "$BUNDLE/config.json"
	mkfifo "$BUNDLE/config.json"
	run_container
	assert_error 'it is no regular file'
	run_container --config /dev/null
	assert_error 'read "/dev/null" of bundle'
	assert_stderr 'it is no regular file'
}

@test 'run: the exit status of the process is ours' {
	set_args true
	run_container
	assert_status 0
	assert_equal "$output$stderr" ''
	set_script 'exit 42'
	run_container
	assert_status 42
	# The first process of a pid namespace is immune to its own signals.
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	set_script 'kill -TERM $$'
	run_container
	assert_status 143
	set_script 'kill -KILL $$'
	run_container
	assert_status 137
}

@test 'run: stdio is passed through' {
	set_script 'cat; echo out; echo err >&2'
	run --separate-stderr sbx run --bundle "$BUNDLE" "$ID" <<<'in'
	assert_status 0
	assert_output $'in\nout'
	assert_equal "$stderr" err
}

@test 'run: closed stdio is no reason to fail' {
	set_script 'exit 3'
	status=0
	sbx run --bundle "$BUNDLE" "$ID" <&- || status=$?
	assert_equal "$status" 3
	status=0
	sbx run --bundle "$BUNDLE" "$ID" >&- || status=$?
	assert_equal "$status" 3
	status=0
	sbx run --bundle "$BUNDLE" "$ID" <&- >&- 2>&- || status=$?
	assert_equal "$status" 3
}

@test 'run: signals are passed on' {
	set_script 'trap "exit 7" TERM; trap "echo usr1" USR1; echo ready; while :; do sleep 0.05; done'
	"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" >"$BATS_TEST_TMPDIR/out" 3>&- &
	wait_until 10 grep -q ready "$BATS_TEST_TMPDIR/out"
	kill -USR1 $!
	wait_until 10 grep -q usr1 "$BATS_TEST_TMPDIR/out"
	kill -TERM $!
	status=0
	wait $! || status=$?
	assert_equal "$status" 7
	run_sbx state "$ID"
	assert_error 'does not exist'
}

@test 'run --detach: returns while the container runs; the pid file holds its pid' {
	set_args sleep 1000
	sbx_detached run --detach --pid-file "$BATS_TEST_TMPDIR/pid" --bundle "$BUNDLE" "$ID"
	assert_status 0
	status_is running
	assert_equal "$(container_pid)" "$(<"$BATS_TEST_TMPDIR/pid")"
}

@test 'run --keep: the container stays until delete' {
	set_args true
	run_container --keep
	assert_status 0
	status_is stopped
	run_sbx delete "$ID"
	assert_status 0
}

@test 'run: a bundle folder as the operand makes an id' {
	set_args echo anonymous
	cd "$BATS_TEST_TMPDIR"
	run_sbx run ./bundle
	assert_status 0
	assert_output anonymous
	cd bundle
	run_sbx run .
	assert_status 0
	assert_output anonymous
}

# ---- create and start ------------------------------------------------------------------------------

@test 'create waits: the program runs at start, once' {
	set_script 'echo ran >>/workspace/ran; sleep 1000'
	create_container
	status_is created
	sleep 0.3
	[ ! -e "$BUNDLE/rootfs/workspace/ran" ]
	run_sbx start "$ID"
	assert_status 0
	assert_equal "$output$stderr" ''
	wait_until 10 test -e "$BUNDLE/rootfs/workspace/ran"
	status_is running
	run_sbx start "$ID"
	assert_error 'cannot start an already running container'
	status_is running
	assert_equal "$(cat "$BUNDLE/rootfs/workspace/ran")" ran
}

@test 'create: an id is taken once; the first container lives on' {
	start_sleeper
	run_sbx create --bundle "$BUNDLE" "$ID"
	assert_error 'already exists'
	run_sbx run --bundle "$BUNDLE" "$ID"
	assert_error 'already exists'
	status_is running
}

@test 'create leaves no descriptor of ours in the waiting container' {
	local pid

	set_args sleep 1000
	exec 7</etc/passwd 8</
	create_container
	exec 7<&- 8<&-
	pid=$(container_pid)
	run ls -l "/proc/$pid/fd"
	refute_output --partial '/etc/passwd'
	refute_output --partial "$ROOT"
	refute_output --partial "$SBX_RUNTIME"
	refute_output --partial ' -> /'$'\n'
}

@test 'start: a stopped container does not start again' {
	set_args true
	create_container
	run_sbx start "$ID"
	assert_status 0
	wait_until 10 status_is stopped
	run_sbx start "$ID"
	assert_status 1
}

@test 'a created container can be killed and deleted without force' {
	set_args sleep 1000
	create_container
	run_sbx kill "$ID" KILL
	assert_status 0
	wait_until 10 status_is stopped
	run_sbx delete "$ID"
	assert_status 0
	create_container
	run_sbx delete "$ID"
	assert_status 0
	assert_no_leaks
}

# covers annotations
@test 'later verbs read the copy made at create, not the bundle' {
	set_args sleep 1000
	set_annotation org.example.key first
	create_container
	echo '{' >"$BUNDLE/config.json"
	run_sbx state "$ID"
	assert_status 0
	jq -e '.annotations["org.example.key"] == "first"' <<<"$output"
	run_sbx start "$ID"
	assert_status 0
	run_sbx exec "$ID" true
	assert_status 0
}

# ---- what cannot be executed -----------------------------------------------------------------------

@test 'missing program: create fails with the text that clients map to 127, nothing is left' {
	set_args no-such-program
	run_sbx create --bundle "$BUNDLE" "$ID"
	assert_error 'exec: "no-such-program": executable file not found in $PATH: no such file or directory'
	run_sbx state "$ID"
	assert_error 'does not exist'
	assert_no_leaks
	set_args /no/such/program
	run_container
	assert_error 'no such file or directory'
	set_args ''
	run_container
	assert_status 1
}

@test 'a file that is not executable or a folder: permission denied' {
	set_args /etc/passwd
	run_container
	assert_error 'permission denied'
	set_args /etc
	run_container
	assert_error 'permission denied'
	assert_stderr 'is a directory'
}

@test 'a missing interpreter: one line' {
	printf '#!/no/such/interpreter\n' >"$BUNDLE/rootfs/bin/script"
	chmod +x "$BUNDLE/rootfs/bin/script"
	set_args /bin/script
	run_container
	assert_error 'no such file or directory'
	assert_no_leaks
}

@test 'the program is looked up in the PATH of the container' {
	mkdir "$BUNDLE/rootfs/opt"
	cp "$SBX_TEST_BIN/probe" "$BUNDLE/rootfs/opt/only-here"
	set_args only-here true
	run_container
	assert_error 'executable file not found'
	edit_config '.process.env = ["PATH=/nowhere:/opt"]'
	run_container
	assert_status 0
	edit_config '.process.env = ["PATH="] | .process.cwd = "/opt" | .process.args = ["./only-here", "true"]'
	run_container
	assert_status 0
}

# ---- kill ------------------------------------------------------------------------------------------

@test 'kill: signals by number and name, any case, TERM by default' {
	local signal

	set_script 'trap "echo got >>/workspace/got" USR1 CONT; trap "exit 9" TERM; : >/workspace/up
		while :; do sleep 0.05; done'
	create_container
	run_sbx start "$ID"
	wait_until 10 test -e "$BUNDLE/rootfs/workspace/up"
	: >"$BUNDLE/rootfs/workspace/got"
	for signal in 10 USR1 SIGUSR1 sigusr1 usr1 SIGCONT sigcont; do
		: >"$BUNDLE/rootfs/workspace/got"
		run_sbx kill "$ID" "$signal"
		assert_status 0
		wait_until 10 test -s "$BUNDLE/rootfs/workspace/got"
	done
	for signal in 0x9 9x 99 -1 NOSUCH '' 99999999999; do
		run_sbx kill "$ID" "$signal"
		assert_status 1
	done
	status_is running
	run_sbx kill "$ID"
	assert_status 0
	wait_until 10 status_is stopped
}

@test 'kill: a stopped container answers with the texts that clients know' {
	set_args true
	create_container
	run_sbx start "$ID"
	wait_until 10 status_is stopped
	run_sbx kill "$ID" TERM
	assert_error 'container not running'
	assert_stderr 'no such process'
	run_sbx kill --all "$ID" KILL
	assert_status 0
}

@test 'kill, then delete at once' {
	start_sleeper
	run_sbx kill "$ID" 9
	assert_status 0
	sleep 0.2
	run_sbx delete "$ID"
	assert_status 0
}

@test 'kill --all reaches every process of the container' {
	is_root || skip 'needs a cgroup'
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	set_script 'sleep 1000 & sleep 1000 & : >/workspace/up; wait'
	create_container
	run_sbx start "$ID"
	wait_until 10 test -e "$BUNDLE/rootfs/workspace/up"
	run_sbx ps --format json "$ID"
	[ "$(jq length <<<"$output")" -ge 3 ]
	run_sbx kill --all "$ID" KILL
	assert_status 0
	wait_until 10 status_is stopped
	run_sbx delete "$ID"
	assert_status 0
	assert_no_leaks
}

# ---- delete ----------------------------------------------------------------------------------------

@test 'delete: refuses a running container, --force does not' {
	start_sleeper
	run_sbx delete "$ID"
	assert_error "$ID"
	status_is running
	run_sbx delete --force "$ID"
	assert_status 0
	assert_equal "$output$stderr" ''
	run_sbx state "$ID"
	assert_error 'does not exist'
	assert_no_leaks
	run_sbx delete "$ID"
	assert_error 'does not exist'
}

@test 'delete --force: whatever the container left running is gone' {
	is_root || skip 'needs a cgroup'
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	set_script 'setsid sleep 1000 </dev/null >/dev/null 2>&1 & (sleep 1000 &) ; : >/workspace/up; sleep 1000'
	ln -s busybox "$BUNDLE/rootfs/bin/setsid"
	create_container
	run_sbx start "$ID"
	wait_until 10 test -e "$BUNDLE/rootfs/workspace/up"
	run_sbx delete --force "$ID"
	assert_status 0
	assert_no_leaks
}

@test 'the id is free again after delete' {
	local round

	set_args sleep 1000
	for round in 1 2 3; do
		create_container
		run_sbx delete --force "$ID"
		assert_status 0
	done
}

# ---- pause and resume ------------------------------------------------------------------------------

@test 'pause and resume' {
	require_root
	set_script 'while :; do echo tick >>/workspace/ticks; sleep 0.05; done'
	create_container
	run_sbx resume "$ID"
	assert_status 1
	run_sbx start "$ID"
	wait_until 10 test -s "$BUNDLE/rootfs/workspace/ticks"
	run_sbx pause "$ID"
	assert_status 0
	status_is paused
	run_sbx list
	assert_line --regexp "^$ID .* paused "
	: >"$BUNDLE/rootfs/workspace/ticks"
	sleep 0.4
	[ ! -s "$BUNDLE/rootfs/workspace/ticks" ]
	run_sbx resume "$ID"
	assert_status 0
	status_is running
	wait_until 10 test -s "$BUNDLE/rootfs/workspace/ticks"
	run_sbx resume "$ID"
	assert_status 1
}

@test 'a paused container is killed and deleted by force' {
	require_root
	start_sleeper
	run_sbx pause "$ID"
	assert_status 0
	run_sbx delete --force "$ID"
	assert_status 0
	assert_no_leaks
	start_sleeper
	run_sbx pause "$ID"
	run_sbx kill "$ID" KILL
	assert_status 0
	run_sbx resume "$ID"
	wait_until 10 status_is stopped
}

# freezers: lines of a file and what freezes the container when written there, for v1 and cgroup2
freezers() {
	local name mount

	while read -r name mount; do
		case $name in
		freezer) echo "$mount$CGROUP/$ID/freezer.state FROZEN" ;;
		unified) echo "$mount$CGROUP/$ID/cgroup.freeze 1" ;;
		esac
	done < <(cgroup_hierarchies)
}

@test 'whatever froze a container, waiting or running, it is killed and deleted at once' {
	local file value begun verb

	require_root
	set_args sleep 1000
	while read -r file value; do
		for verb in state start; do
			create_container
			run_sbx "$verb" "$ID"
			assert_status 0
			[ -e "$file" ]
			echo "$value" >"$file"
			begun=$SECONDS
			run_sbx delete --force "$ID"
			assert_status 0
			[ $((SECONDS - begun)) -lt 5 ]
			create_container
			run_sbx "$verb" "$ID"
			assert_status 0
			echo "$value" >"$file"
			run_sbx kill "$ID" KILL
			assert_status 0
			wait_until 5 status_is stopped
			run_sbx delete "$ID"
			assert_status 0
		done
	done < <(freezers)
}

# ---- terminals -------------------------------------------------------------------------------------

# listen_for_console: a client's console socket in the background; $CONSOLE is what it prints.
listen_for_console() {
	CONSOLE=$BATS_TEST_TMPDIR/console.out
	SOCKET=$BATS_TEST_TMPDIR/console.sock
	rm -f "$SOCKET"
	"$SBX_TEST_BIN/probe" receive-console "$SOCKET" >"$CONSOLE" 2>&1 </dev/null 3>&- &
	LISTENER=$!
	wait_until 10 grep -q ready "$CONSOLE"
}

@test 'terminal: the console socket gets the pty, in its size' {
	listen_for_console
	edit_config '.process.terminal = true | .process.consoleSize = {height: 33, width: 101}'
	set_script 'tty; stty size; test -c /dev/console && echo console-node; exit 5'
	create_container --console-socket "$SOCKET"
	wait_until 10 grep -q '^console .* 33 101' "$CONSOLE"
	run_sbx start "$ID"
	assert_status 0
	wait_until 10 status_is stopped
	wait $LISTENER
	run tr -d '\r' <"$CONSOLE"
	assert_line /dev/pts/0
	assert_line '33 101'
	assert_line console-node
}

@test 'terminal: a console socket path longer than an address' {
	local deep

	deep=$BATS_TEST_TMPDIR/$(printf 'd%.0s' {1..120})

	mkdir "$deep"
	(cd "$deep" && exec "$SBX_TEST_BIN/probe" receive-console s >"$deep/out" </dev/null 3>&-) &
	wait_until 10 grep -q ready "$deep/out"
	edit_config '.process.terminal = true'
	set_args tty
	create_container --console-socket "$deep/s"
	wait_until 10 grep -q '^console ' "$deep/out"
	run_sbx start "$ID"
	wait_until 10 status_is stopped
	wait $!
	grep -q /dev/pts/0 "$deep/out"
}

@test 'terminal: asked for without a console socket, or a socket without a terminal: refused' {
	edit_config '.process.terminal = true'
	run_sbx create --bundle "$BUNDLE" "$ID"
	assert_error console
	run_sbx run --detach --bundle "$BUNDLE" "$ID"
	assert_error console
	edit_config '.process.terminal = false'
	run_sbx create --bundle "$BUNDLE" --console-socket "$BATS_TEST_TMPDIR/none" "$ID"
	assert_error console
}

@test 'terminal: run in the foreground relays it' {
	edit_config '.process.terminal = true'
	set_script 'tty; exit 6'
	status=0
	output=$(script -qec "'$SBX_RUNTIME' --root '$ROOT' run --bundle '$BUNDLE' '$ID'" /dev/null \
		</dev/null 3>&-) || status=$?
	[[ $output = *'/dev/pts/0'* ]]
	assert_equal "$status" 6
}

# A shell that edits its line switches the terminal's modes, which discards an end of file typed before.
@test 'terminal: the end of the input reaches an interactive shell' {
	edit_config '.process.terminal = true'
	set_args sh -i
	run_to_the_end 'echo ty""ped'
	assert_status 0
	assert_output --partial typed
	run_to_the_end 'exit 6'
	assert_status 6
}

# run_to_the_end LINE: run, with this line as all its input, whether or not it is read.
run_to_the_end() {
	status=0
	output=$(echo "$1" | timeout -s KILL 30 "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" \
		2>&1 3>&-) || status=$?
}

@test 'terminal: the end of the input within a line' {
	edit_config '.process.terminal = true'
	set_script 'stty -echo; wc -c'
	printf abc | "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" >"$BATS_TEST_TMPDIR/out" 3>&-
	[[ $(tr -d "\r" <"$BATS_TEST_TMPDIR/out") = *3 ]] # behind an echo, or not
}

@test 'terminal: one that was closed and is opened again is still relayed' {
	edit_config '.process.terminal = true'
	set_script 'exec </dev/null >/dev/null 2>&1; sleep 0.5; echo again >/dev/tty; exit 5'
	status=0
	output=$("$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" </dev/null 3>&-) || status=$?
	assert_status 5
	assert_output --partial again
}

@test 'terminal: a slow reader who does not wait gets all' {
	edit_config '.process.terminal = true'
	set_script 'i=0; while [ $i -lt 3000 ]; do echo line-of-output-$i; i=$((i + 1)); done'
	"$SBX_TEST_BIN/probe" nonblock "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" 3>&- </dev/null |
		{ sleep 1 && cat; } >"$BATS_TEST_TMPDIR/out"
	assert_equal "$(grep -c line-of-output "$BATS_TEST_TMPDIR/out")" 3000
}

@test 'terminal: input that nobody reads does not hold up a signal' {
	local run_pid

	edit_config '.process.terminal = true'
	set_script 'stty raw; trap "exit 7" TERM; echo ready; while :; do sleep 0.1; done'
	"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID" </dev/zero >"$BATS_TEST_TMPDIR/out" 3>&- &
	run_pid=$!
	wait_until 10 grep -q ready "$BATS_TEST_TMPDIR/out"
	sleep 0.5
	kill -TERM $run_pid
	status=0
	wait $run_pid || status=$?
	assert_status 7
}

# ---- descriptors -----------------------------------------------------------------------------------

@test 'descriptors: only stdio reaches the program' {
	set_args probe fds
	exec 7</etc/passwd 9</
	run_container
	exec 7<&- 9<&-
	assert_status 0
	assert_equal "$(wc -l <<<"$output")" 3
	refute_output --regexp '^[3-9]'
}

@test 'descriptors: --preserve-fds passes just those' {
	set_script 'cat <&3; cat <&4; probe fds'
	echo three >"$BATS_TEST_TMPDIR/three"
	echo four >"$BATS_TEST_TMPDIR/four"
	run --separate-stderr bash -c '"$1" --root "$2" run --bundle "$3" --preserve-fds 2 "$4" \
		3<"$5" 4<"$6" 5</etc/passwd' - "$SBX_RUNTIME" "$ROOT" "$BUNDLE" "$ID" \
		"$BATS_TEST_TMPDIR/three" "$BATS_TEST_TMPDIR/four"
	assert_status 0
	assert_line --index 0 three
	assert_line --index 1 four
	refute_line --regexp '^5 '
}

@test 'descriptors: LISTEN_FDS are passed and announced' {
	set_script 'echo $LISTEN_FDS $LISTEN_PID; cat <&3'
	echo three >"$BATS_TEST_TMPDIR/three"
	run --separate-stderr bash -c 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$1" --root "$2" run --bundle "$3" "$4" \
		3<"$5"' - "$SBX_RUNTIME" "$ROOT" "$BUNDLE" "$ID" "$BATS_TEST_TMPDIR/three"
	assert_status 0
	assert_line --index 0 '1 1'
	assert_line --index 1 three
}

@test 'a working folder through an inherited descriptor is refused' {
	local n

	for n in 3 4 5 6 7 8 9 10 11 12; do
		edit_config '.process.cwd = $cwd' --arg cwd "/proc/self/fd/$n"
		run --separate-stderr bash -c '"$1" --root "$2" run --bundle "$3" "$4" 7</ 9</etc' - \
			"$SBX_RUNTIME" "$ROOT" "$BUNDLE" "$ID"
		assert_status 1
	done
}

@test 'delete --force removes nothing of a container that somebody holds' {
	local holder

	set_args sleep 1000
	edit_config '.linux.cgroupsPath = $p' --arg p "$CGROUP/elsewhere"
	create_container
	flock -x "$ROOT/$ID" sleep 60 3>&- &
	holder=$!
	wait_until 5 sh -c "! flock -n '$ROOT/$ID' true"
	run_sbx delete --force "$ID"
	assert_status 1
	assert_error 'a process that holds it does not end, nothing is removed'
	[ -e "$ROOT/$ID/state" ]
	kill "$(pgrep -P "$holder")" "$holder" 2>/dev/null || true
	wait "$holder" 2>/dev/null || true
	wait_until 5 flock -n "$ROOT/$ID" true
	sbx delete --force "$ID"
	[ ! -e "$ROOT/$ID" ]
	[ -z "$(find /sys/fs/cgroup -path "*$CGROUP/elsewhere" 2>/dev/null)" ]
}

@test 'a payload that is named as the set-up, and ends at once, has run' {
	cp "$BUNDLE/rootfs/bin/probe" "$BUNDLE/rootfs/bin/sbx:init"
	set_args '/bin/sbx:init' exit 5
	run_container
	assert_status 5
}
