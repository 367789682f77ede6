# The same profile as JSON, as base64url and by the name of an installed file: what it refuses, and that
# the same actions succeed without it.
load helpers
load ../attacks/attacks

setup() {
	require_root
	# An /etc of the test's own, for the installed profile.
	mount -t tmpfs -o mode=755 etc /mnt
	cp -a /etc/. /mnt/
	mkdir -p /mnt/sbx-runtime/profiles
	mount --bind /mnt /etc
	helpers_setup
	attack_setup
	SERVER=
	echo old >"$BUNDLE/rootfs/etc/target"
	ln -s /etc/target "$WS/link"
	edit_config 'del(.linux.namespaces[] | select(.type == "network"))'
	serve
	set_script "echo x >/workspace/file && echo workspace
		{ echo x >/etc/outside && echo outside; echo new >/workspace/link && echo link; } 2>/dev/null
		head -n 1 /etc/passwd; attack connect 127.0.0.1 $PORT"
}

teardown() {
	was_set_up || return 0
	if [ -n "$SERVER" ]; then
		kill "$SERVER"
		wait "$SERVER" || true
	fi
	helpers_teardown
	umount -l /etc
	umount /mnt
}

serve() {
	PORT=$((20000 + RANDOM % 20000))
	ip link set lo up 2>/dev/null || true
	busybox httpd -f -p "127.0.0.1:$PORT" -h "$WS" 3>&- &
	SERVER=$!
	wait_until 5 reached
}

reached() {
	[ "$("$SBX_TEST_BIN/attack" connect 127.0.0.1 "$PORT")" = ok ]
}

# Both controls are taken before the profile is: the files of a plain run are removed again.
everything_succeeds() {
	no_profile
	run_container
	assert_status 0
	assert_output $'workspace\noutside\nlink\nroot:x:0:0:root:/root:/bin/sh\nok'
	rm "$BUNDLE/rootfs/etc/outside"
	echo old >"$BUNDLE/rootfs/etc/target"
}

# refused SOURCE: under the annotation that is set, which the report calls SOURCE.
refused() {
	run_container
	assert_status 0
	assert_line workspace
	assert_line 'root:x:0:0:root:/root:/bin/sh'
	refute_line outside
	refute_line link
	refute_line ok
	assert_line --regexp '^(ECONNREFUSED|ENETUNREACH)$'
	[ ! -e "$BUNDLE/rootfs/etc/outside" ]
	[ "$(cat "$BUNDLE/rootfs/etc/target")" = old ]
	report_of
	report_says ".sources == [\"$1\"] and .guarantees.networkBoundary and
		.guarantees.writeBoundary == $(landlock_is_there)"
}

@test 'a profile as JSON' {
	everything_succeeds
	use_profile
	refused annotation:inline
}

@test 'a profile as base64url' {
	everything_succeeds
	default_profile >"$BATS_TEST_TMPDIR/profile.json"
	set_annotation dev.sbx.profile "$(sbx profile encode "$BATS_TEST_TMPDIR/profile.json")"
	refused annotation:inline
}

@test 'a profile by its name' {
	everything_succeeds
	default_profile >/etc/sbx-runtime/profiles/agent.json
	set_annotation dev.sbx.profile agent
	refused annotation:agent
	rm /etc/sbx-runtime/profiles/agent.json
	run_container
	assert_error 'it is not installed as /etc/sbx-runtime/profiles/agent.json'
	refute_stderr ' or '
}

@test 'a profile by the flag, as a file and by name' {
	everything_succeeds
	default_profile >/etc/sbx-runtime/profiles/agent.json
	run_container --profile /etc/sbx-runtime/profiles/agent.json
	assert_status 0
	refute_line outside
	run_container --profile agent
	assert_status 0
	refute_line outside
	refute_line ok
}

@test 'a gated command is refused with what a grant has to cover, as a member of the error object' {
	set_args echo 'a "word"'
	use_profile '.command = "gated"'
	run_sbx --log "$BATS_TEST_TMPDIR/log" --log-format json run --bundle "$BUNDLE" "$ID"
	assert_status 1
	refute_output --partial word
	jq -es 'length == 1 and (.[0] | .code == "grant-required" and .pointer == "/command" and
		(.requirements | length == 1) and (.requirements[0] | .kind == "command.execute" and
		.class == "command.start.v1" and (.target | fromjson) == ["echo", "a \"word\""] and
		.scope == .target))' "$BATS_TEST_TMPDIR/log"
	set_args echo "$(head -c 3000 /dev/zero | tr '\0' x)"
	run_sbx --log "$BATS_TEST_TMPDIR/log2" --log-format json run --bundle "$BUNDLE" "$ID"
	assert_status 1
	jq -e '.code == "grant-required" and (has("requirements") | not)' "$BATS_TEST_TMPDIR/log2"
	use_profile
	run_container
	assert_status 0 # control
	assert_output --partial xxx
}
