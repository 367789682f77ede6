# NOTIFY_SOCKET: a payload tells the manager of its service that it is ready.
load helpers

setup() {
	require_root
	helpers_setup
	MANAGER=$BATS_TEST_TMPDIR/manager.sock TOLD=$BATS_TEST_TMPDIR/told
	"$SBX_TEST_BIN/probe" receive-datagrams "$MANAGER" >"$TOLD" 2>&1 </dev/null 3>&- &
	manager=$!
	wait_until 10 grep -q ready "$TOLD"
}

teardown() {
	was_set_up || return 0
	kill "$manager" 2>/dev/null || true
	wait "$manager" 2>/dev/null || true
	helpers_teardown
}

# The payload is ready when /go is there.
ready_on_go() {
	set_script '[ "$NOTIFY_SOCKET" = /run/notify/notify.sock ] || exit 9
		while ! [ -e /go ]; do sleep 0.05; done
		probe send-datagram $NOTIFY_SOCKET "STATUS=nearly"
		probe send-datagram $NOTIFY_SOCKET "STATUS=there
READY=1
MAINPID=1"
		exec sleep 1000'
}

@test 'start waits until the payload is ready, and tells the manager its pid on the host, and a barrier' {
	local starter

	ready_on_go
	NOTIFY_SOCKET=$MANAGER create_container
	[ "$(cat "$TOLD")" = ready ]
	NOTIFY_SOCKET=$MANAGER sbx start "$ID" &
	starter=$!
	wait_until 10 status_is running
	sleep 0.3
	kill -0 $starter
	[ "$(cat "$TOLD")" = ready ]
	run_sbx exec "$ID" true # it holds no lock
	assert_status 0
	touch "$BUNDLE/rootfs/go"
	wait $starter
	wait_until 5 grep -q BARRIER "$TOLD"
	[ "$(cat "$TOLD")" = "ready
MAINPID=$(container_pid)
READY=1
BARRIER=1 with a descriptor" ]
}

@test 'run --detach waits, run in the foreground tells while it relays' {
	ready_on_go
	touch "$BUNDLE/rootfs/go"
	NOTIFY_SOCKET=$MANAGER sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	assert_status 0
	wait_until 5 grep -q BARRIER "$TOLD"
	grep -qx "MAINPID=$(container_pid)" "$TOLD"
	run_sbx delete --force "$ID"
	: >"$TOLD"
	set_script 'probe send-datagram $NOTIFY_SOCKET READY=1; sleep 0.2; exit 4'
	NOTIFY_SOCKET=$MANAGER run_container
	assert_status 4
	grep -qx READY=1 "$TOLD"
}

@test 'a payload that ends without a word ends the wait, and the manager hears nothing' {
	set_args sleep 0.2
	NOTIFY_SOCKET=$MANAGER create_container
	NOTIFY_SOCKET=$MANAGER run_sbx start "$ID"
	assert_status 0
	wait_until 5 status_is stopped
	[ "$(cat "$TOLD")" = ready ]
}

@test 'only READY=1 is passed on, whatever else the payload says' {
	set_script 'for word in MAINPID=1 STOPPING=1 XREADY=1 READY=11 "READY=0" "FDSTORE=1"; do
			probe send-datagram $NOTIFY_SOCKET $word
		done'
	NOTIFY_SOCKET=$MANAGER sbx_detached run --detach --bundle "$BUNDLE" "$ID"
	assert_status 0
	[ "$(cat "$TOLD")" = ready ]
}

@test 'in a user namespace the socket belongs to its root' {
	use_user_namespace
	set_script 'stat -c %u:%g $NOTIFY_SOCKET; probe send-datagram $NOTIFY_SOCKET READY=1'
	NOTIFY_SOCKET=$MANAGER run_container
	assert_status 0
	assert_output 0:0
	grep -qx READY=1 "$TOLD"
}

@test 'the folder of the socket cannot be written from inside' {
	edit_config '.process.capabilities[] += ["CAP_DAC_OVERRIDE"]'
	set_script 'touch /run/notify/x 2>/dev/null || echo refused; rm $NOTIFY_SOCKET 2>/dev/null || echo refused'
	NOTIFY_SOCKET=$MANAGER run_container
	assert_status 0
	assert_output $'refused\nrefused'
}

@test 'without a manager nothing is mounted and nothing awaited' {
	set_script '[ ! -e /run/notify ] && [ -z "$NOTIFY_SOCKET" ]'
	run_container
	assert_status 0
	ready_on_go
	NOTIFY_SOCKET=$MANAGER create_container
	run_sbx start "$ID" # who starts it has none
	assert_status 0
	status_is running
}

@test 'a manager that is not there is logged; the container lives' {
	set_script 'probe send-datagram $NOTIFY_SOCKET READY=1; exec sleep 1000'
	NOTIFY_SOCKET=/nonexistent sbx_detached --log "$BATS_TEST_TMPDIR/log" --log-level warn run --detach \
		--bundle "$BUNDLE" "$ID"
	assert_status 0
	status_is running
	grep -q '/nonexistent' "$BATS_TEST_TMPDIR/log"
}

@test 'under a profile NOTIFY_SOCKET is refused by name' {
	set_args true
	set_annotation dev.sbx.profile '{"version": 1, "workspace": {"root": "/workspace", "read": "allow",
		"write": "allow"}, "host": {"read": "allow", "write": "deny"}, "network": {"access": "deny"},
		"command": "allow"}'
	mkdir "$BATS_TEST_TMPDIR/ws"
	add_mount "$(jq -n --arg s "$BATS_TEST_TMPDIR/ws" \
		'{destination: "/workspace", type: "bind", source: $s, options: ["rbind"]}')"
	NOTIFY_SOCKET=$MANAGER run_container
	assert_error NOTIFY_SOCKET
	run_container
	assert_status 0
}
