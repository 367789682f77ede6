# exec: entering a running container, with the options and exit codes that clients use.
load helpers

# run_exec ARGS: exec in $ID.
run_exec() {
	run_sbx exec "$@"
}

# process_file JSON-FILTER: a process document for --process, in $PROCESS.
process_file() {
	PROCESS=$BATS_TEST_TMPDIR/process.json
	jq -n "{user: {uid: 0, gid: 0}, cwd: \"/\", args: [\"true\"], env: [\"PATH=/bin\"]} | $1" >"$PROCESS"
}

# ---- exit codes ------------------------------------------------------------------------------------

@test 'exec: output and exit status of the process' {
	start_sleeper
	run_exec "$ID" echo hello
	assert_status 0
	assert_output hello
	run_exec "$ID" sh -c 'exit 9'
	assert_status 9
	run_exec "$ID" sh -c 'kill -TERM $$'
	assert_status 143
	run --separate-stderr sbx exec "$ID" cat <<<'from stdin'
	assert_output 'from stdin'
}

@test 'exec: what cannot be executed exits 255, in one line' {
	start_sleeper
	run_exec "$ID" no-such-program
	assert_error 'executable file not found in $PATH' 255
	run_exec "$ID" /no/such/program
	assert_error 'no such file or directory' 255
	run_exec "$ID" /etc/passwd
	assert_error 'permission denied' 255
	run_exec --cwd relative "$ID" true
	assert_error absolute 255
	run_exec "$ID"
	assert_status 255
	status_is running
}

@test 'exec: a stopped container' {
	set_args true
	create_container
	run_sbx start "$ID"
	wait_until 10 status_is stopped
	run_exec "$ID" true
	assert_error 'not running' 255
}

@test 'exec: a paused container refuses' {
	require_root
	start_sleeper
	run_sbx pause "$ID"
	run_exec "$ID" true
	assert_error 'cannot exec in a paused container' 255
	run_sbx resume "$ID"
	run_exec "$ID" true
	assert_status 0
}

# ---- where it lands --------------------------------------------------------------------------------

@test 'exec: all namespaces, the root and the cgroup are those of the container' {
	local kind

	start_sleeper
	for kind in mnt pid net ipc uts cgroup; do
		run_exec "$ID" readlink "/proc/self/ns/$kind"
		assert_output "$(readlink "/proc/$(container_pid)/ns/$kind")"
	done
	run_exec "$ID" ls /bin/probe
	assert_status 0
	run_exec "$ID" cat /proc/1/comm
	assert_output sleep
	is_root || return 0
	run_exec "$ID" cat /proc/self/cgroup
	refute_output --partial "$CGROUP"
	assert_output --regexp ':/($|'$'\n'')'
}

@test 'exec: the root is that of the container where it has no mount namespace of its own' {
	require_root
	edit_config '.linux.namespaces |= map(select(.type != "mount"))
		| .mounts = [] | del(.linux.maskedPaths, .linux.readonlyPaths)'
	echo 'of the image' >"$BUNDLE/rootfs/etc/marker"
	start_sleeper
	[ ! -e /etc/marker ]
	run_exec "$ID" cat /etc/marker
	assert_status 0
	assert_output 'of the image'
	run_exec "$ID" sh -c 'cd /; cd ../../..; pwd; ls bin/probe'
	assert_output $'/\nbin/probe'
	run_exec "$ID" ls "$BATS_TEST_TMPDIR"
	refute [ "$status" = 0 ]
	# the control: it is the host's mount namespace
	assert_equal "$(readlink "/proc/$(container_pid)/ns/mnt")" "$(readlink /proc/self/ns/mnt)"
}

@test 'exec: only stdio reaches the program' {
	start_sleeper
	exec 7</etc/passwd 9</
	run_exec "$ID" probe fds
	exec 7<&- 9<&-
	assert_status 0
	assert_equal "$(wc -l <<<"$output")" 3
}

@test 'exec: --preserve-fds passes just those' {
	start_sleeper
	echo three >"$BATS_TEST_TMPDIR/three"
	run --separate-stderr bash -c '"$1" --root "$2" exec --preserve-fds 1 "$3" sh -c "cat <&3; probe fds" \
		3<"$4" 4</etc/passwd' - "$SBX_RUNTIME" "$ROOT" "$ID" "$BATS_TEST_TMPDIR/three"
	assert_status 0
	assert_line --index 0 three
	refute_line --regexp '^4 '
}

@test 'exec: --preserve-fds and LISTEN_FDS pass nothing that the caller did not open' {
	local -a exec_closed=(bash -c 'exec 3>&- 4>&- 5>&-; root=$1 runtime=$2; shift 2
		[ "$1" != listen ] || { shift; export LISTEN_FDS=1 LISTEN_PID=$$; }
		exec "$runtime" --root "$root" "$@"' - "$ROOT" "$SBX_RUNTIME")

	start_sleeper
	run --separate-stderr "${exec_closed[@]}" exec --preserve-fds 1 "$ID" probe fds
	assert_error 'pass descriptor 3 on: the caller has not opened it' 255
	run --separate-stderr "${exec_closed[@]}" listen exec "$ID" probe fds
	assert_error 'pass descriptor 3 on: the caller has not opened it' 255
	run_sbx delete --force "$ID"
	set_args probe fds
	run --separate-stderr "${exec_closed[@]}" run --bundle "$BUNDLE" --preserve-fds 1 "$ID"
	assert_error 'pass descriptor 3 on: the caller has not opened it'
	run --separate-stderr "${exec_closed[@]}" run --bundle "$BUNDLE" "$ID"
	assert_status 0
}

@test 'exec: a working folder through a descriptor is refused' {
	local n

	start_sleeper
	for n in 3 5 7 8 9; do
		run --separate-stderr bash -c '"$1" --root "$2" exec --cwd "/proc/self/fd/$4" "$3" true 7</ 9</etc' - \
			"$SBX_RUNTIME" "$ROOT" "$ID" "$n"
		assert_status 255
	done
}

@test 'exec: /dev/null of the host keeps its owner' {
	require_root
	local before

	start_sleeper
	before=$(stat -c '%u %g %a' /dev/null)
	sbx_detached exec --detach --user 1000:1000 "$ID" id
	assert_status 0
	sleep 0.2
	assert_equal "$(stat -c '%u %g %a' /dev/null)" "$before"
}

# ---- user ------------------------------------------------------------------------------------------

@test 'exec --user: uid, or uid:gid' {
	require_root
	start_sleeper
	run_exec --user 1 "$ID" sh -c 'id -u; id -g'
	assert_output $'1\n0'
	run_exec -u 1000:1001 "$ID" sh -c 'id -u; id -g; echo $HOME'
	assert_output $'1000\n1001\n/home/user'
	run_exec -u 1000 -g 2000 -g 10 "$ID" id -G
	assert_status 0
	assert_output --regexp '\b2000\b'
	assert_output --regexp '\b10\b'
}

@test 'exec --user: anything but a number is an error, never another user' {
	local user

	start_sleeper
	for user in 4294967296 18446744073709551616 4294967295 abc 1: :1 1:2:3 -1 0x1 ' 1' '1 ' 1:-1 '' \
		1:4294967296 +1; do
		run --separate-stderr sbx exec "--user=$user" "$ID" id -u
		assert_status 255
		assert_output ''
	done
}

@test 'an id that the user namespace does not map is named as such, of exec and of config.json' {
	if is_root; then
		use_user_namespace
	fi
	start_sleeper
	run_exec --user 0:70000 "$ID" true
	assert_error 'set group id 70000: the id is not mapped in the container'\''s user namespace' 255
	run_exec --user 70000:0 "$ID" true
	assert_error 'set user id 70000: the id is not mapped in the container'\''s user namespace' 255
	run_exec --user 0:0 "$ID" true
	assert_status 0 # control
	run_sbx delete --force "$ID"
	edit_config '.process.user.uid = 70000'
	run_container
	assert_error 'set user id 70000: the id is not mapped'
}

# ---- environment and folder ------------------------------------------------------------------------

@test 'exec --env takes NAME=VALUE only, as config.json does' {
	local word

	start_sleeper
	for word in X =a ''; do
		run_exec -e A=b -e "$word" "$ID" true
		assert_error "--env takes NAME=VALUE, not \"$word\"" 255
	done
	run_exec -e A= "$ID" true
	assert_status 0
}

@test 'a process file that is no regular file, or a link, is named as such' {
	local file

	start_sleeper
	mkdir "$BATS_TEST_TMPDIR/dir"
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	for file in /dev/null "$BATS_TEST_TMPDIR/dir" "$BATS_TEST_TMPDIR/fifo"; do
		run_exec --process "$file" "$ID"
		assert_error "read process \"$file\": it is no regular file" 255
	done
	process_file '.args = ["true"]'
	ln -s "$PROCESS" "$BATS_TEST_TMPDIR/link"
	run_exec --process "$BATS_TEST_TMPDIR/link" "$ID"
	assert_error 'it is a symbolic link, which is not followed' 255
	run_exec --process "$PROCESS" "$ID"
	assert_status 0
}

@test 'exec --env adds to the environment of config.json' {
	edit_config '.process.env += ["KEPT=yes", "CHANGED=no"]'
	start_sleeper
	FOREIGN=1 run_exec --env A=b -e CHANGED=yes "$ID" env
	assert_status 0
	assert_line A=b
	assert_line KEPT=yes
	assert_line CHANGED=yes
	refute_line CHANGED=no
	refute_line --partial FOREIGN
}

@test 'exec: cwd of config.json, or --cwd' {
	edit_config '.process.cwd = "/tmp"'
	start_sleeper
	run_exec "$ID" pwd
	assert_output /tmp
	run_exec --cwd /usr "$ID" pwd
	assert_output /usr
}

# ---- privileges ------------------------------------------------------------------------------------

@test 'exec: the capabilities of config.json, the inheritable set empty' {
	require_root
	start_sleeper
	run_exec "$ID" grep Cap /proc/self/status
	assert_line $'CapInh:\t0000000000000000'
	assert_line $'CapEff:\t0000000020000420'
	assert_line $'CapBnd:\t0000000020000420'
	run_exec --cap CAP_SYS_PTRACE "$ID" grep Cap /proc/self/status
	assert_line $'CapInh:\t0000000000000000'
	assert_line --regexp $'CapEff:\t0000000020080420'
}

@test 'exec: an unknown capability is warned of once' {
	start_sleeper
	run_sbx --log-level warn exec --cap CAP_BOGUS "$ID" true
	assert_status 0
	assert_equal "$(grep -c 'ignore unknown capability .*CAP_BOGUS' <<<"$stderr")" 1
	run_exec --cap CAP_BOGUS "$ID" true
	assert_equal "$stderr" ''
}

@test 'exec: no_new_privs and seccomp as in config.json' {
	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW",
		syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO", errnoRet: 38}]}'
	start_sleeper
	run_exec "$ID" grep -E 'NoNewPrivs|Seccomp:' /proc/self/status
	assert_line $'NoNewPrivs:\t1'
	assert_line $'Seccomp:\t2'
	run_exec "$ID" mkdir /q
	assert_status 1
}

# ---- process documents, detaching, terminals -------------------------------------------------------

@test 'exec --process: the document alone decides' {
	edit_config '.process.env += ["NOT=mine"]'
	start_sleeper
	process_file '.args = ["env"] | .env = ["PATH=/bin", "MINE=yes"]'
	run_exec --process "$PROCESS" "$ID"
	assert_status 0
	assert_line MINE=yes
	refute_line --partial NOT=mine
	process_file '.args = ["pwd"] | .cwd = "/usr"'
	run_exec -p "$PROCESS" "$ID"
	assert_output /usr
	process_file '.args = ["sh", "-c", "exit 8"]'
	run_exec -p "$PROCESS" "$ID"
	assert_status 8
}

@test 'exec --process: a malformed document is one clear error' {
	start_sleeper
	echo '{"args": ["true"]' >"$BATS_TEST_TMPDIR/bad.json"
	run_exec -p "$BATS_TEST_TMPDIR/bad.json" "$ID"
	assert_error 'process document: line 2' 255
	process_file '.user.uid = -1'
	run_exec -p "$PROCESS" "$ID"
	assert_error /user/uid 255
	run_exec -p "$BATS_TEST_TMPDIR/none.json" "$ID"
	assert_error none.json 255
}

@test 'exec --detach: returns at once, the pid file is there before the end can be seen' {
	local pid

	start_sleeper
	sbx_detached exec --detach --pid-file "$BATS_TEST_TMPDIR/pid" "$ID" sleep 999
	assert_status 0
	pid=$(<"$BATS_TEST_TMPDIR/pid")
	assert_equal "$(tr '\0' ' ' <"/proc/$pid/cmdline")" 'sleep 999 '
	sbx_detached exec --detach --pid-file "$BATS_TEST_TMPDIR/pid2" "$ID" true
	assert_status 0
	[ -s "$BATS_TEST_TMPDIR/pid2" ]
}

@test 'exec: no pid file where it failed' {
	start_sleeper
	sbx_detached exec --detach --pid-file "$BATS_TEST_TMPDIR/pid" "$ID" /no/such/program
	assert_status 255
	[ ! -e "$BATS_TEST_TMPDIR/pid" ]
}

@test 'exec --tty through a console socket' {
	local socket=$BATS_TEST_TMPDIR/s out=$BATS_TEST_TMPDIR/console

	start_sleeper
	"$SBX_TEST_BIN/probe" receive-console "$socket" >"$out" 2>&1 </dev/null 3>&- &
	wait_until 10 grep -q ready "$out"
	sbx_detached exec --tty --detach --console-socket "$socket" "$ID" tty
	assert_status 0
	wait $!
	grep -q '^console ' "$out"
	grep -q '^/dev/pts/[0-9]' "$out"
}

@test 'exec --tty in the foreground' {
	start_sleeper
	status=0
	output=$(script -qec "'$SBX_RUNTIME' --root '$ROOT' exec --tty '$ID' sh -c 'tty; exit 6'" /dev/null \
		</dev/null 3>&-) || status=$?
	[[ $output = *'/dev/pts/'* ]]
	assert_equal "$status" 6
}

@test 'exec --cgroup: never out of the own' {
	local path

	require_root
	start_sleeper
	for path in .. ../.. /../.. a/../..; do
		run_exec --cgroup "$path" "$ID" true
		assert_status 255
	done
}

@test 'exec --cgroup: "/" is the container itself, a v1 controller before the path its hierarchy alone' {
	local memory cpu pid

	require_root
	start_sleeper
	run_exec --cgroup / "$ID" true
	assert_status 0
	run_exec --cgroup nosuch:/ "$ID" true
	assert_error 'v1 controller "nosuch"' 255
	memory=$(cgroup_dir memory) && [ -e "$memory/memory.limit_in_bytes" ] || skip_host 'no cgroup v1'
	cpu=$(cgroup_dir cpu)
	mkdir "$memory/below" "$cpu/below"
	sbx_detached exec --detach --pid-file "$BATS_TEST_TMPDIR/pid" --cgroup memory:below "$ID" sleep 1001
	assert_status 0
	pid=$(<"$BATS_TEST_TMPDIR/pid")
	grep -qx "$pid" "$memory/below/cgroup.procs"
	grep -qx "$pid" "$cpu/cgroup.procs"
	sbx_detached exec --detach --pid-file "$BATS_TEST_TMPDIR/pid" --cgroup memory:/below --cgroup cpu:below \
		"$ID" sleep 1001
	assert_status 0
	pid=$(<"$BATS_TEST_TMPDIR/pid")
	grep -qx "$pid" "$memory/below/cgroup.procs"
	grep -qx "$pid" "$cpu/below/cgroup.procs"
	for group in memory:.. memory:below/.. memory:absent :below; do
		run_exec --cgroup "$group" "$ID" true
		assert_status 255
		assert_stderr "${group##*:}"
	done
}

@test 'exec: what it started dies with the container' {
	start_sleeper
	sbx_detached exec --detach "$ID" sh -c 'sleep 1000 & sleep 1000'
	assert_status 0
	run_sbx delete --force "$ID"
	assert_status 0
	assert_no_leaks
}

@test 'exec: a socket that nobody accepts on does not hold it, nor the end of the container, for long' {
	local listener

	start_sleeper
	"$SBX_TEST_BIN/probe" full-socket "$BATS_TEST_TMPDIR/full" >"$BATS_TEST_TMPDIR/ready" 3>&- &
	listener=$!
	wait_until 10 grep -q ready "$BATS_TEST_TMPDIR/ready"
	run timeout -s KILL 60 "$SBX_RUNTIME" --root "$ROOT" exec --pidfd-socket "$BATS_TEST_TMPDIR/full" "$ID" true
	assert_status 255
	assert_output --partial 'timed out'
	kill $listener
	run_exec "$ID" true
	assert_status 0
}
