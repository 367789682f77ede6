# Attack 1: path sockets of the host, below a read-only root and in the workspace, of every type, made
# before and after start. What is not stopped must be in the report, and a profile can require it away.
load ../bats/helpers
load attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	cp "$SBX_TEST_BIN/intruder" "$BUNDLE/rootfs/bin/intruder"
	SOCKETS=$BATS_TEST_TMPDIR/sockets
	SERVERS=()
	mkdir "$SOCKETS"
	bind_mount "$SOCKETS" /srv ro
	use_profile
}

teardown() {
	local pid

	was_set_up || return 0
	for pid in "${SERVERS[@]}"; do
		kill "$pid"
		wait "$pid" || true
	done
	helpers_teardown
}

# serve TYPE PATH
serve() {
	"$SBX_TEST_BIN/intruder" serve "$1" "$2" >"$BATS_TEST_TMPDIR/serve" 3>&- &
	SERVERS+=($!)
	wait_until 5 grep -q ready "$BATS_TEST_TMPDIR/serve"
}

serve_all() {
	local type

	for type in stream dgram seqpacket; do
		serve "$type" "$1/$type"
	done
}

# What the payload gets from the three sockets of a folder of its own view.
ask() {
	printf 'for t in stream dgram seqpacket; do intruder unix $t %s/$t; done' "$1"
}

@test 'attack 1: sockets below a read-only root and in the workspace: refused, or reported' {
	local script found

	serve_all "$SOCKETS"
	serve_all "$WS"
	script="$(ask /srv); $(ask /workspace)"
	run_with_and_without "$script"
	assert_same 'control' $'ok\nok\nok\nok\nok\nok' "$without"
	found=$(sort -u <<<"$with")
	report_of
	if [ "$found" = EACCES ]; then # a kernel whose Landlock sees path sockets
		report_says '.entries[] | select(.feature == "unixSockets").outcome == "enforced"'
		return
	fi
	report_says '.entries[] | select(.feature == "unixSockets").outcome == "unenforced"'
	report_says ".level == if $(landlock_is_there) then \"degraded\" else \"none\" end"
}

@test 'attack 1: one that is made after start is no different' {
	set_script "while [ ! -S /srv/stream ]; do sleep 0.05; done; intruder unix stream /srv/stream"
	create_container
	report_of
	report_says '.entries[] | select(.feature == "unixSockets").outcome != "enforced"'
	run_sbx start "$ID"
	assert_status 0
	serve stream "$SOCKETS/stream"
	wait_until 10 grep -q . "$BATS_TEST_TMPDIR/stdout"
	run cat "$BATS_TEST_TMPDIR/stdout"
	assert_output --regexp '^(ok|EACCES)$'
}

@test 'attack 1: a profile that requires it, or the full level, is refused' {
	if [ "$(landlock_is_there)" = false ]; then
		boundaries_need_landlock
		return
	fi
	report_of
	jq -e '.entries[] | select(.feature == "unixSockets").outcome == "enforced"' <<<"$output" &&
		skip_host 'this kernel stops path sockets'
	use_profile '.require = ["unixSockets"]'
	run_container
	assert_error unixSockets
	use_profile '.minLevel = "full"'
	run_container
	assert_error unixSockets
	assert_no_leaks
	use_profile '.minLevel = "degraded"'
	run_script true
	assert_status 0
}

@test 'attack 1: a socket outside of the view is not reached' {
	use_profile '.host.read = "deny"'
	serve_all "$SOCKETS"
	run_with_and_without "$(ask /srv)"
	assert_same 'control' $'ok\nok\nok' "$without"
	assert_same 'under the profile' ENOENT "$(sort -u <<<"$with")"
}

@test 'attack 1: nor through the links of /proc' {
	use_profile '.host.read = "deny"'
	serve_all "$SOCKETS"
	run_with_and_without "$(ask /proc/self/root/srv); $(ask /proc/1/root/srv)"
	assert_same 'control' ok "$(sort -u <<<"$without")"
	assert_same 'under the profile' ENOENT "$(sort -u <<<"$with")"
}

# In the host's network namespace abstract names are the host's.
@test 'attack 1: an abstract socket of the host' {
	local name=@sbx-bats-$$-$RANDOM

	edit_config 'del(.linux.namespaces[] | select(.type == "network"))'
	serve stream "$name"
	run_with_and_without "intruder unix stream $name"
	assert_same 'control' ok "$without"
	assert_same 'under network deny' ECONNREFUSED "$with"
	use_profile '.network.access = "allow"'
	run_script "intruder unix stream $name"
	report_of
	report_says '.entries[] | select(.feature == "abstractSockets").outcome == "enforced"' ||
		skip_host 'Landlock here does not know abstract sockets'
	run_script "intruder unix stream $name"
	assert_output EPERM
	# the same network namespace, joined by its path
	edit_config '.linux.namespaces += [{type: "network", path: $p}]' --arg p "/proc/$$/ns/net"
	run_script "intruder unix stream $name"
	assert_output EPERM
	no_profile
	run_script "intruder unix stream $name"
	assert_output ok # control
}

@test 'attack 1: out of view only the listed sockets can be reached' {
	serve_all "$SOCKETS"
	use_profile '.host.read = "deny"'
	run_script "$(ask /srv)"
	assert_output $'ENOENT\nENOENT\nENOENT'
	use_profile '.host.read = "deny" | .unixSockets = ["/srv/stream", "/srv/seqpacket"]'
	run_script "$(ask /srv); ls /srv; rm -f /srv/stream; touch /srv/new; true"
	assert_output $'ok\nENOENT\nok\nseqpacket\nstream'
	[ -S "$SOCKETS/stream" ]
	use_profile '.unixSockets = ["/srv/stream"]' # in view as it is
	run_script "intruder unix stream /srv/stream"
	assert_output ok
}

@test 'attack 1: what is listed and no socket refuses the container' {
	use_profile '.host.read = "deny" | .unixSockets = ["/srv/stream"]'
	run_container
	assert_error 'use "/srv/stream" as a socket: it does not exist'
	echo >"$SOCKETS/stream"
	run_container
	assert_error 'use "/srv/stream" as a socket: it is none'
	ln -sf /srv/other "$SOCKETS/stream"
	run_container
	assert_error 'a component is a symbolic link'
}
