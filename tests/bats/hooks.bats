# Hooks: their order, namespaces, input, environment, time-outs and failures.
load helpers
load ../attacks/attacks

# hook_script NAME TEXT: a script on the host, its path in $HOOK. $OUT is a file it may write.
hook_script() {
	OUT=$BATS_TEST_TMPDIR/hooks.out
	HOOK=$BATS_TEST_TMPDIR/$1
	printf '#!/bin/sh\nOUT=%s\n%s\n' "$OUT" "$2" >"$HOOK"
	chmod +x "$HOOK"
}

# hook KIND [JSON]: adds $HOOK, with more members of the hook object.
hook() {
	add_hook "$1" "$(jq -n --arg path "$HOOK" "{path: \$path} + ${2:-{\}}")"
}

ALL_HOST_KINDS='prestart createRuntime createContainer poststart poststop'

# covers hooks.prestart.path hooks.createRuntime hooks.createContainer hooks.startContainer hooks.poststart.path
# covers hooks.poststop
@test 'order, status and pid in the state on stdin' {
	local kind

	# The host's scripts tell their kind by argv[1]; startContainer is the image's own file.
	hook_script hook 'read -r state; echo "$1 $state" >>$OUT'
	for kind in $ALL_HOST_KINDS; do
		hook "$kind" "{args: [\"hook\", \"$kind\"]}"
	done
	printf '#!/bin/sh\nread -r state; echo "startContainer $state" >/workspace/start\n' \
		>"$BUNDLE/rootfs/bin/start-hook"
	chmod +x "$BUNDLE/rootfs/bin/start-hook"
	add_hook startContainer '{"path": "/bin/start-hook"}'
	set_annotation org.example.slash a/b
	set_args sleep 1000
	create_container
	assert_equal "$(cut -d ' ' -f 1 "$OUT" | xargs)" 'prestart createRuntime createContainer'
	[ ! -e "$BUNDLE/rootfs/workspace/start" ]
	run_sbx start "$ID"
	assert_status 0
	wait_until 10 grep -q poststart "$OUT"
	pid=$(container_pid)
	run_sbx delete --force "$ID"
	assert_status 0
	cat "$BUNDLE/rootfs/workspace/start" >>"$OUT"
	assert_equal "$(cut -d ' ' -f 1 "$OUT" | xargs)" \
		'prestart createRuntime createContainer poststart poststop startContainer'
	while read -r kind state; do
		case $kind in
		prestart | createRuntime | createContainer) want=creating ;;
		startContainer) want=created ;;
		poststart) want=running ;;
		poststop) want=stopped ;;
		esac
		jq -e --arg id "$ID" --arg want "$want" --arg bundle "$BUNDLE" '.id == $id
			and .status == $want and .bundle == $bundle and .ociVersion
			and .annotations["org.example.slash"] == "a/b"' <<<"$state" >/dev/null ||
			fail "$kind: $state"
		case $kind in
		prestart | createRuntime | poststart) assert_equal "$(jq .pid <<<"$state")" "$pid" ;;
		esac
		[[ $state = *'a/b'* ]] || fail "$kind: the slash is escaped"
	done <"$OUT"
}

@test 'namespaces: of the runtime, of the container' {
	hook_script hook 'echo "$1 $(readlink /proc/self/ns/mnt) $(readlink /proc/self/ns/net)" >>$OUT'
	hook createRuntime '{args: ["x", "runtime"]}'
	hook createContainer '{args: ["x", "container"]}'
	set_args sleep 1000
	create_container
	run cat "$OUT"
	assert_line "runtime $(readlink /proc/self/ns/mnt) $(readlink /proc/self/ns/net)"
	assert_line --regexp "container .* $(sed 's/[][]/\\&/g' <<<"$(readlink "/proc/$(container_pid)/ns/net")")"
	refute_line --partial "container $(readlink /proc/self/ns/mnt)"
}

@test 'createContainer sees the finished mounts, from outside the root' {
	mkdir "$BATS_TEST_TMPDIR/source"
	echo marker >"$BATS_TEST_TMPDIR/source/file"
	add_mount "{\"destination\": \"/workspace\", \"type\": \"bind\", \"source\": \"$BATS_TEST_TMPDIR/source\",
		\"options\": [\"bind\"]}"
	hook_script hook "cat $BUNDLE/rootfs/workspace/file >\$OUT; mountpoint -q $BUNDLE/rootfs/proc && echo proc >>\$OUT"
	hook createContainer '{env: ["PATH=/usr/bin:/bin"]}'
	set_args true
	run_container
	assert_status 0
	assert_equal "$(cat "$OUT")" $'marker\nproc'
}

# covers hooks.prestart.args hooks.prestart.env hooks.poststart.env
@test 'args and env: args[0] is kept, no env is an empty one' {
	local kind

	hook_script hook 'tr "\0" "\n" </proc/$$/cmdline >$OUT.args; tr "\0" "\n" </proc/$$/environ >$OUT.env'
	set_args true
	for kind in prestart createRuntime poststart; do
		rm -f "$OUT".*
		edit_config 'del(.hooks)'
		hook "$kind" '{args: ["zero", "one two", ""]}'
		FOREIGN=1 run_container
		assert_status 0
		grep -qx 'one two' "$OUT.args"
		assert_equal "$(cat "$OUT.env")" ''
		edit_config 'del(.hooks)'
		hook "$kind" '{env: ["A=b", "C=d e"]}'
		FOREIGN=1 run_container
		assert_status 0
		assert_equal "$(cat "$OUT.env")" $'A=b\nC=d e'
	done
}

@test 'args[0] of a program' {
	add_hook createRuntime "$(jq -n --arg out "$BATS_TEST_TMPDIR/arg0" \
		'{path: "/bin/busybox", args: ["touch", $out]}')"
	set_args true
	run_container
	assert_status 0
	[ -e "$BATS_TEST_TMPDIR/arg0" ]
}

@test 'the working folder is the bundle' {
	hook_script hook 'pwd >>$OUT'
	hook createRuntime
	hook poststop
	set_args true
	cd /
	run_container
	assert_status 0
	assert_equal "$(sort -u "$OUT")" "$BUNDLE"
}

@test 'startContainer: inherits the environment of the process' {
	printf '#!/bin/sh\ntest "$ONE" = two\n' >"$BUNDLE/rootfs/bin/check"
	chmod +x "$BUNDLE/rootfs/bin/check"
	add_hook startContainer '{"path": "/bin/check"}'
	edit_config '.process.env += ["ONE=two"]'
	set_args true
	run_container
	assert_status 0
	edit_config '.process.env -= ["ONE=two"]'
	run_container
	assert_status 1
}

@test 'a hook need not read its input; its descriptors are stdio alone' {
	hook_script hook 'exec <&-; ls -l /proc/$$/fd >$OUT'
	hook createRuntime
	set_args true
	set_annotation filler "$(printf 'x%.0s' {1..5000})"
	exec 7</etc/passwd
	run_container
	exec 7<&-
	assert_status 0
	run cat "$OUT"
	refute_output --partial /etc/passwd
	refute_output --partial "$ROOT"
}

# ---- failures --------------------------------------------------------------------------------------

@test 'a failing create hook fails create: its name and output are in the error, nothing is left' {
	local kind

	for kind in prestart createRuntime createContainer; do
		edit_config 'del(.hooks)'
		hook_script hook 'echo words of the hook >&2; exit 3'
		hook "$kind"
		hook_script after 'echo poststop >$OUT'
		hook poststop
		set_args sleep 1000
		run_sbx create --bundle "$BUNDLE" "$ID"
		assert_status 1
		assert_stderr "$kind"
		assert_stderr 'words of the hook'
		run_sbx state "$ID"
		assert_error 'does not exist'
		assert_no_leaks
	done
}

@test 'a failing startContainer hook: the program never runs' {
	add_hook startContainer '{"path": "/bin/false"}'
	set_script 'echo ran >/workspace/ran'
	create_container
	run_sbx start "$ID"
	assert_status 1
	assert_stderr startContainer
	wait_until 10 status_is stopped
	[ ! -e "$BUNDLE/rootfs/workspace/ran" ]
	run_container
	assert_status 1
	[ ! -e "$BUNDLE/rootfs/workspace/ran" ]
}

@test 'a failing poststart hook: error, the container is killed and deleted' {
	add_hook poststart '{"path": "/bin/false"}'
	set_args sleep 5
	run_container
	[ "$status" -ne 0 ]
	assert_stderr poststart
	assert_no_leaks
}

@test 'failing poststop hooks: all of them run, delete succeeds' {
	hook_script hook 'echo "$1" >>$OUT; exit 1'
	hook poststop '{args: ["x", "first"]}'
	hook poststop '{args: ["x", "second"]}'
	set_args true
	create_container
	run_sbx delete --force "$ID"
	assert_status 0
	assert_equal "$(xargs <"$OUT")" 'first second'
}

# covers hooks.prestart.timeout
@test 'a hook that overstays its time is killed, with what it started' {
	local kind started

	hook_script hook 'sleep 1000 & sleep 1000'
	set_args true
	for kind in prestart createRuntime; do
		started=$SECONDS
		edit_config 'del(.hooks)'
		hook "$kind" '{timeout: 1, env: ["PATH=/usr/bin:/bin"]}'
		run_container
		assert_status 1
		assert_stderr "$kind"
		[ $((SECONDS - started)) -lt 10 ]
	done
	is_root || pkill -KILL -u "$(id -u)" -x -f 'sleep 1000' || true
	assert_no_leaks
}

@test 'a missing hook program is an error that names it' {
	add_hook createRuntime '{"path": "/no/such/hook"}'
	set_args true
	run_container
	assert_error /no/such/hook
}

@test 'hooks are checked before anything is made: a relative path, a bad time-out' {
	add_hook createRuntime '{"path": "relative"}'
	set_args true
	run_container
	assert_error /hooks/createRuntime/0/path
	edit_config 'del(.hooks)'
	add_hook poststop '{"path": "/bin/true", "timeout": 0}'
	run_container
	assert_error timeout
}

# ---- the group of hooks under a profile ------------------------------------------------------------

# confine: the bundle gets a profile.
confine() {
	require_root
	attack_setup
	use_profile
}

@test 'under a profile hooks run in a group that no id and no cgroupsPath leads to' {
	local group path

	confine
	hook_script hook '/bin/cat /proc/self/cgroup >$OUT'
	hook createRuntime
	set_args sleep 1000
	create_container
	group=$(cut -d : -f 3 "$OUT" | grep -v '^/$' | sort -u)
	[ "$(wc -l <<<"$group")" = 1 ]
	[ "${group%/*}" = "$CGROUP" ] # beside the container's own
	[[ ${group##*/} = *[!A-Za-z0-9_+.-]* ]] # no id has it
	run_sbx delete --force "$ID"
	assert_status 0
	for path in "$group" "$group/below" "${group#/}"; do
		edit_config '.linux.cgroupsPath = $p' --arg p "$path"
		run_container
		assert_error "runtime's own"
	done
	edit_config '.linux.cgroupsPath = $p' --arg p "$CGROUP/$ID~${group##*/}" # control: a like name
	sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	assert_status 0
}

@test 'under a profile the end of a container and of its hooks ends no other container' {
	local other others='.hooks ~hooks -hooks'

	set_args sleep 1000
	for other in $others; do
		edit_config '.linux.cgroupsPath = $p' --arg p "$CGROUP/$ID$other"
		sbx_detached run --detach --bundle "$BUNDLE" "other${other/\~/+}"
		assert_status 0
	done
	confine
	edit_config '.linux.cgroupsPath = $p' --arg p "$CGROUP/$ID"
	hook_script hook 'exit 0'
	hook createRuntime
	hook poststart
	hook poststop
	set_args true
	run_container
	assert_status 0
	for other in $others; do
		run_sbx state "other${other/\~/+}"
		assert_equal "$(jq -r .status <<<"$output")" running
	done
}

@test 'under a profile a hook is killed with delete --force when the runtime was killed in it' {
	confine
	hook_script hook 'echo $$ >$OUT; /bin/sleep 1000 & exec /bin/sleep 1000'
	hook createRuntime
	set_args true
	sbx create --bundle "$BUNDLE" "$ID" </dev/null >/dev/null 2>&1 3>&- &
	wait_until 10 test -s "$OUT"
	kill -KILL $!
	wait $! || true
	run_sbx delete --force "$ID"
	assert_status 0
	assert_no_leaks
}

# ---- a runtime that is killed in a hook ------------------------------------------------------------

# hanging_hook: $HOOK, the first time that it runs, hangs, with a child of its group and one that is
# nobody's child and in a session of its own; $SLEEP is what they run.
hanging_hook() {
	SLEEP="sleep 1000$RANDOM"
	hook_script hook "[ ! -e \$OUT ] || exit 0
		(/usr/bin/setsid /bin/$SLEEP &)
		/bin/$SLEEP &
		echo >\$OUT
		/bin/$SLEEP
		exit 0"
}

sleepers() {
	pgrep -c -f "$SLEEP\$"
}

sleepers_are() {
	[ "$(sleepers)" = "$1" ]
}

# killed_in_hook ARGS...: runs the program, kills it when the hook hangs.
killed_in_hook() {
	"$SBX_RUNTIME" --root "$ROOT" "$@" </dev/null >/dev/null 2>&1 3>&- &
	wait_until 10 test -e "$OUT"
	wait_until 10 sleepers_are 3
	kill -KILL $!
	wait $! || true
}

@test 'a runtime that is killed in a hook takes with it what the hook started' {
	local kind

	hanging_hook
	set_args sleep 1000
	for kind in prestart createRuntime; do
		edit_config 'del(.hooks)'
		hook "$kind"
		rm -f "$OUT"
		killed_in_hook create --bundle "$BUNDLE" "$ID"
		wait_until 10 sleepers_are 0
		run_sbx delete --force "$ID"
		assert_status 0
		assert_no_leaks
	done
	edit_config 'del(.hooks)'
	hook poststart
	rm -f "$OUT"
	create_container
	killed_in_hook start "$ID"
	wait_until 10 sleepers_are 0
	run_sbx delete --force "$ID"
	assert_status 0
	edit_config 'del(.hooks)'
	hook poststop
	rm -f "$OUT"
	create_container
	killed_in_hook delete "$ID"
	wait_until 10 sleepers_are 0
	run_sbx delete --force "$ID"
	assert_status 0
	assert_no_leaks
}

@test 'what a hook left in the background lives on when the hook has ended' {
	local pid

	SLEEP="sleep 1000$RANDOM"
	hook_script hook "(/usr/bin/setsid /bin/$SLEEP </dev/null >/dev/null 2>&1 &)
		/bin/$SLEEP </dev/null >/dev/null 2>&1 &
		exit 0"
	hook createRuntime
	set_args true
	run_container
	assert_status 0
	sleepers_are 2
	for pid in $(pgrep -f "$SLEEP\$"); do
		kill -KILL "$pid"
	done
}

# ---- a start that hangs, or whose process ends too early -------------------------------------------

# in_background NAME ARGS...: runs the program; $BACKGROUND is its pid, NAME.err in the folder of the
# test what it says.
in_background() {
	local name=$1

	shift
	"$SBX_RUNTIME" --root "$ROOT" "$@" </dev/null >/dev/null 2>"$BATS_TEST_TMPDIR/$name.err" 3>&- &
	BACKGROUND=$!
}

# ends_with STATUS: what was started in the background
ends_with() {
	local status=0

	wait "$BACKGROUND" || status=$?
	assert_equal $status "$1"
}

# start_hook_hangs: a startContainer hook, of the image, that hangs once it has made /workspace/hangs
start_hook_hangs() {
	printf '#!/bin/sh\n: >/workspace/hangs\nexec sleep 1000\n' >"$BUNDLE/rootfs/bin/hang"
	chmod +x "$BUNDLE/rootfs/bin/hang"
	rm -f "$BUNDLE/rootfs/workspace/hangs"
	add_hook startContainer '{"path": "/bin/hang"}'
}

delete_by_force() {
	local begun=$SECONDS

	run_sbx delete --force "$ID"
	assert_status 0
	[ $((SECONDS - begun)) -lt 8 ]
	assert_no_leaks
}

@test 'delete --force ends a start or a run that hangs in a startContainer hook' {
	start_hook_hangs
	set_args true
	create_container
	in_background start start "$ID"
	wait_until 10 test -e "$BUNDLE/rootfs/workspace/hangs"
	delete_by_force
	ends_with 1
	grep -q "container's process died" "$BATS_TEST_TMPDIR/start.err"
	rm "$BUNDLE/rootfs/workspace/hangs"
	in_background run run --bundle "$BUNDLE" "$ID"
	wait_until 10 test -e "$BUNDLE/rootfs/workspace/hangs"
	delete_by_force
	ends_with 1
}

@test 'delete --force ends a start or a run that hangs in a poststart hook' {
	hanging_hook
	hook poststart
	set_args sleep 1000
	create_container
	in_background start start "$ID"
	wait_until 10 sleepers_are 3
	delete_by_force
	ends_with 137
	sleepers_are 0
	rm "$OUT"
	in_background run run --bundle "$BUNDLE" "$ID"
	wait_until 10 sleepers_are 3
	delete_by_force
	ends_with 137
	sleepers_are 0
}

@test 'delete --force ends no run that has started its container, whoever holds the lock' {
	local deletion

	hook_script hook 'exit 0'
	hook poststart
	set_args sleep 1000
	in_background run run --bundle "$BUNDLE" "$ID"
	wait_until 10 status_is running
	flock "$ROOT/$ID" sleep 4 3>&- &
	wait_until 10 refute flock --nonblock "$ROOT/$ID" true
	sbx delete --force "$ID" &
	deletion=$!
	sleep 2.5
	kill -0 "$BACKGROUND" # it waits for the lock as delete does
	kill -0 $deletion
	wait $deletion
	ends_with 137
	[ ! -s "$BATS_TEST_TMPDIR/run.err" ]
}

@test 'a verb does not wait for ever for one that hangs' {
	start_hook_hangs
	set_args true
	create_container
	in_background start start "$ID"
	wait_until 10 test -e "$BUNDLE/rootfs/workspace/hangs"
	run_sbx delete "$ID"
	assert_error "in another command's hands"
	delete_by_force
	ends_with 1
}

@test 'start fails where the process ends before it executes the program' {
	local round

	start_hook_hangs
	set_args true
	create_container
	in_background start start "$ID"
	wait_until 10 test -e "$BUNDLE/rootfs/workspace/hangs"
	run_sbx kill "$ID" KILL
	assert_status 0
	ends_with 1
	grep -q "container's process died" "$BATS_TEST_TMPDIR/start.err"
	run_sbx delete "$ID"
	assert_status 0
	edit_config 'del(.hooks)'
	for round in {1..20}; do # control: a program that ends at once has run
		create_container
		run_sbx start "$ID"
		assert_status 0
		wait_until 10 status_is stopped
		run_sbx delete "$ID"
		assert_status 0
	done
}
