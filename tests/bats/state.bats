# What the store says and what is true: a state that cannot be written, or is not written any more.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	set_args sleep 1000
}

teardown() {
	was_set_up || return 0
	rm -f "$ROOT/fill"
	helpers_teardown
	if mountpoint -q "$ROOT"; then
		umount "$ROOT"
	fi
}

# small_store: the runtime root is a file system of its own that fill_store can fill.
small_store() {
	mkdir -p "$ROOT"
	mount -t tmpfs -o size=1m,mode=0700 tmpfs "$ROOT"
	leaks_snapshot
}

fill_store() {
	yes 2>/dev/null >"$ROOT/fill" || true
	[ "$(stat -f -c %f "$ROOT")" = 0 ]
}

process_name() {
	cat "/proc/$1/comm"
}

# assert_known_as_running: every verb says so that looks at the status.
assert_known_as_running() {
	status_is running
	run_sbx list
	assert_line --regexp "^$ID +$(container_pid) +running "
	run_sbx start "$ID"
	assert_error 'cannot start an already running container'
	run_sbx delete "$ID"
	assert_error 'not stopped: running'
	run_sbx exec "$ID" true
	assert_status 0
	run_sbx pause "$ID"
	assert_status 0
	status_is paused
	run_sbx resume "$ID"
	assert_status 0
	status_is running
}

# ---- the store is full -----------------------------------------------------------------------------

@test 'start succeeds where the store is full: the payload runs, and every verb knows' {
	attack_setup
	use_profile
	small_store
	create_container
	fill_store
	run_sbx --log "$BATS_TEST_TMPDIR/log" --log-level warning start "$ID"
	assert_status 0
	grep -q 'level=warning.*cannot be stored' "$BATS_TEST_TMPDIR/log"
	assert_known_as_running
	run_sbx kill "$ID" KILL
	assert_status 0
	wait_until 5 status_is stopped
	run_sbx delete "$ID"
	assert_status 0
}

@test 'start in a full store says nothing by default: its caller reads success, which is true' {
	small_store
	create_container
	fill_store
	run_sbx start "$ID"
	assert_status 0
	assert_equal "$output$stderr" ''
	assert_known_as_running
}

@test 'create and run fail where the store is full, and leave nothing' {
	small_store
	fill_store
	run_sbx create --bundle "$BUNDLE" "$ID"
	assert_error 'no space left on device'
	run_container
	assert_error 'no space left on device'
	assert_no_leaks
	rm "$ROOT/fill"
	set_args true
	run_container
	assert_status 0
}

# ---- the name of the waiting process ---------------------------------------------------------------

@test 'a payload that calls itself what a waiting process is called is running' {
	local name

	set_script 'read name </workspace/name; printf %s "$name" >/proc/self/comm; : >/workspace/up
		while :; do sleep 0.05; done'
	create_container
	name=$(process_name "$(container_pid)")
	[ "$name" != sh ]
	echo "$name" >"$BUNDLE/rootfs/workspace/name"
	run_sbx start "$ID"
	assert_status 0
	wait_until 10 test -e "$BUNDLE/rootfs/workspace/up"
	assert_equal "$(process_name "$(container_pid)")" "$name"
	assert_known_as_running
}

@test 'it is called so from the beginning: hooks see a container that is created, not running' {
	# a check for leaks needs a procfs, which is not mounted yet
	add_hook createContainer '{"path": "/bin/sh", "env": ["LSAN_OPTIONS=detect_leaks=0"], "args": ["sh", "-c",
		"'"$SBX_RUNTIME"' --root '"$ROOT"' state '"$ID"' >'"$BATS_TEST_TMPDIR"'/seen"]}'
	add_hook createRuntime '{"path": "/bin/sh", "args": ["sh", "-c",
		"'"$SBX_RUNTIME"' --root '"$ROOT"' state '"$ID"' >'"$BATS_TEST_TMPDIR"'/seen2"]}'
	create_container
	assert_equal "$(jq -r .status "$BATS_TEST_TMPDIR/seen")" creating
	assert_equal "$(jq -r .status "$BATS_TEST_TMPDIR/seen2")" creating
	status_is created
}

# ---- created and paused ----------------------------------------------------------------------------

@test 'a created container that is paused says so, and does not start until it is resumed' {
	create_container
	run_sbx pause "$ID"
	assert_status 0
	status_is paused
	run --separate-stderr timeout 10 "$SBX_RUNTIME" --root "$ROOT" start "$ID"
	assert_error 'cannot start a container that is paused'
	run_sbx resume "$ID"
	assert_status 0
	status_is created
	run_sbx start "$ID"
	assert_status 0
	status_is running
}

@test 'a created container that is paused dies by kill' {
	create_container
	run_sbx pause "$ID"
	run_sbx kill "$ID" KILL
	assert_status 0
	wait_until 5 status_is stopped
}

@test 'under a profile nothing enters before start, also where it is paused' {
	attack_setup
	use_profile
	create_container
	run_sbx exec "$ID" true
	assert_error 'before start' 255
	run_sbx pause "$ID"
	assert_status 0
	run_sbx exec --ignore-paused "$ID" true
	assert_error 'before start' 255
}

# ---- damaged state files ---------------------------------------------------------------------------

# damage KIND: the state file of $ID afterwards is not what the runtime wrote.
damage() {
	local file=$ROOT/$ID/state

	case $1 in
	empty) : >"$file" ;;
	garbage) head -c 200 /dev/urandom >"$file" ;;
	cut) head -c 100 "$file" >"$file.cut" && mv "$file.cut" "$file" ;;
	foreign) sed -i "s/\"id\":\"$ID\"/\"id\":\"$ID-other\"/" "$file" ;;
	missing) rm "$file" ;;
	mode) chmod 666 "$file" ;;
	linked) ln "$file" "$file.link" ;;
	link) mv "$file" "$file.real" && ln -s state.real "$file" ;;
	fifo) rm "$file" && mkfifo "$file" ;;
	folder) rm "$file" && mkdir "$file" ;;
	esac
}

DAMAGES='empty garbage cut foreign missing mode linked link fifo folder'

# assert_damaged VERB [ARGUMENT...]: one error that names the file and what helps.
assert_damaged() {
	local expected=1

	[ "$1" != exec ] || expected=255
	run --separate-stderr timeout 10 "$SBX_RUNTIME" --root "$ROOT" "$@"
	assert_error "\"$ROOT/$ID/state\"" "$expected"
	assert_stderr 'delete --force'
	refute_stderr 'no such file or directory' # which managers read as a missing program
}

@test 'a damaged state: every verb names the file and the remedy' {
	start_sleeper
	damage empty
	assert_damaged state "$ID"
	assert_damaged start "$ID"
	assert_damaged kill "$ID" KILL
	assert_damaged pause "$ID"
	assert_damaged resume "$ID"
	assert_damaged ps "$ID"
	assert_damaged update --pids-limit 10 "$ID"
	assert_damaged report "$ID"
	assert_damaged exec "$ID" true
	assert_damaged delete "$ID"
}

@test 'a damaged state, of whatever kind: delete --force removes all of the container' {
	local kind pid

	for kind in $DAMAGES; do
		echo "# $kind"
		start_sleeper
		pid=$(container_pid)
		damage "$kind"
		assert_damaged state "$ID"
		assert_damaged delete "$ID"
		kill -0 "$pid"
		run_sbx delete --force "$ID"
		assert_status 0
		assert_equal "$output$stderr" ''
		wait_until 5 has_ended "$pid"
		assert_no_leaks
	done
}

@test 'a damaged state: created, paused, of many processes, under a profile: nothing is left' {
	create_container
	damage empty
	run_sbx delete --force "$ID"
	assert_status 0
	assert_no_leaks
	start_sleeper
	run_sbx pause "$ID"
	assert_status 0
	damage empty
	run_sbx delete --force "$ID"
	assert_status 0
	assert_no_leaks
	edit_config '.linux.namespaces |= map(select(.type != "pid"))'
	set_script 'sleep 1001 & (sleep 1002 &); : >/workspace/up; sleep 1000'
	create_container
	run_sbx start "$ID"
	wait_until 10 test -e "$BUNDLE/rootfs/workspace/up"
	damage missing
	run_sbx delete --force "$ID"
	assert_status 0
	assert_no_leaks
	make_bundle "$BUNDLE.confined"
	BUNDLE=$BUNDLE.confined
	attack_setup
	for limits in '{}' '{"pids": 50}'; do
		use_profile '.limits = $l' --argjson l "$limits"
		start_sleeper
		damage garbage
		run_sbx delete --force "$ID"
		assert_status 0
		assert_no_leaks
	done
}

# groups_below PATH: every cgroup of that path.
groups_below() {
	local name mount

	while read -r name mount; do
		[ ! -d "$mount$1" ] || echo "$mount$1"
	done < <(cgroup_hierarchies)
}

@test 'a damaged state: the cgroup has its default name, with and without config.json' {
	local pid

	edit_config 'del(.linux.cgroupsPath)'
	start_sleeper
	[ -n "$(groups_below "/sbx/$ID")" ]
	damage empty
	run_sbx delete --force "$ID"
	assert_status 0
	assert_equal "$(groups_below "/sbx/$ID")" ''
	start_sleeper
	pid=$(container_pid)
	rm "$ROOT/$ID/state"
	echo garbage >"$ROOT/$ID/config.json"
	run_sbx --log "$BATS_TEST_TMPDIR/log" --log-level warning delete --force "$ID"
	assert_status 0
	grep -q 'default name' "$BATS_TEST_TMPDIR/log"
	assert_equal "$(groups_below "/sbx/$ID")" ''
	wait_until 5 has_ended "$pid"
}

@test 'a damaged state: no hook runs' {
	add_hook poststop '{"path": "/bin/touch", "args": ["touch", "'"$BATS_TEST_TMPDIR"'/poststop"]}'
	start_sleeper
	damage empty
	run_sbx delete --force "$ID"
	assert_status 0
	[ ! -e "$BATS_TEST_TMPDIR/poststop" ]
	start_sleeper
	run_sbx delete --force "$ID"
	assert_status 0
	[ -e "$BATS_TEST_TMPDIR/poststop" ]
}

@test 'a state of another name: the other container is not touched' {
	local mine=$ID other=$ID-other

	ID=$other
	edit_config '.linux.cgroupsPath = $path' --arg path "$CGROUP/$other"
	start_sleeper
	ID=$mine
	edit_config '.linux.cgroupsPath = $path' --arg path "$CGROUP/$mine"
	start_sleeper
	damage foreign
	run_sbx list --quiet
	assert_status 0
	assert_output "$other"
	assert_stderr "\"$ROOT/$mine/state\""
	run_sbx delete --force "$mine"
	assert_status 0
	[ ! -e "$ROOT/$mine" ]
	ID=$other
	status_is running
}

@test 'a damaged state: whoever calls from within the cgroup is not killed' {
	local group groups pid

	start_sleeper
	pid=$(container_pid)
	mapfile -t groups < <(groups_below "$CGROUP/$ID")
	damage empty
	run --separate-stderr bash -c 'for g in "${@:4}"; do echo $$ >"$g/cgroup.procs"; done
		exec "$1" --root "$2" --log-level warning delete --force "$3"' - \
		"$SBX_RUNTIME" "$ROOT" "$ID" "${groups[@]}"
	assert_status 0
	assert_stderr 'the caller itself is in cgroup'
	[ ! -e "$ROOT/$ID" ]
	kill -0 "$pid"
	kill -KILL "$pid"
	for group in "${groups[@]}"; do
		wait_until 5 rmdir "$group"
	done
}

@test 'list: the damaged ones are named, the others listed' {
	local kind good=$ID

	start_sleeper
	for kind in $DAMAGES; do
		ID=$good-$kind
		mkdir -m 700 "$ROOT/$ID"
		sed "s/\"id\":\"$good\"/\"id\":\"$ID\"/" "$ROOT/$good/state" >"$ROOT/$ID/state"
		: >"$ROOT/$ID/config.json"
		damage "$kind"
	done
	ID=$good
	mkdir -m 777 "$ROOT/$ID-unsafe"
	chmod 777 "$ROOT/$ID-unsafe"
	run_sbx list --format json
	assert_status 0
	jq -e --arg id "$ID" 'length == 1 and .[0].id == $id' <<<"$output"
	assert_equal "$(wc -l <<<"$stderr")" 11
	for kind in $DAMAGES; do
		assert_stderr "warning: container \"$ID-$kind\" is damaged"
	done
	assert_stderr "\"$ID-unsafe\""
	run_sbx --log "$BATS_TEST_TMPDIR/log" --log-level warning list
	assert_status 0
	assert_stderr "\"$ID-empty\" is damaged"
	grep -q "level=warning.*$ID-empty" "$BATS_TEST_TMPDIR/log"
	chmod 700 "$ROOT/$ID-unsafe"
}

@test 'a container that is being made or removed, or never was, is not damaged' {
	local group

	mkdir -p "$ROOT" && mkdir -m 700 "$ROOT/$ID"
	run_sbx state "$ID"
	assert_error 'has no state yet'
	: >"$ROOT/$ID/.state.0123456789abcdef"
	run_sbx state "$ID"
	assert_error 'has no state yet'
	: >"$ROOT/$ID/config.json"
	exec 9<"$ROOT/$ID"
	flock -x 9
	run_sbx state "$ID"
	assert_error 'is being created or deleted'
	run_sbx list
	assert_status 0
	assert_equal "$stderr" ''
	exec 9<&-
	run_sbx state "$ID"
	assert_error 'is damaged'
	rm "$ROOT/$ID/config.json"
	run_sbx list
	assert_equal "$stderr" ''
	# nothing was stored, so the group of that name is somebody else's
	group=$(cgroup_hierarchies | awk 'NR == 1 { print $2 }')/sbx/$ID
	mkdir -p "$group"
	run_sbx delete --force "$ID"
	assert_status 0
	[ ! -e "$ROOT/$ID" ]
	rmdir "$group"
}
