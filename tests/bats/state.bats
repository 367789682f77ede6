# What the store says and what is true: a state that cannot be written, or is not written any more.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	set_args sleep 1000
}

teardown() {
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
	add_hook createContainer '{"path": "/bin/sh", "args": ["sh", "-c",
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
