# A system call that the kernel, or a filter above the runtime, does not have: another way, or a refusal that
# names it and leaves nothing. SBX_WITHOUT (tests/bats/run) does the same to whole files.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	mkdir "$BUNDLE/host" "$BUNDLE/rootfs/covered"
	echo content >"$BUNDLE/rootfs/covered/file"
	add_mount "$(jq -n --arg source "$BUNDLE/host" '{destination: "/host", type: "bind", source: $source, options: ["rbind", "ro"]}')"
	add_mount '{"destination": "/covered", "type": "tmpfs", "source": "tmpfs", "options": ["tmpcopyup", "nodev"]}'
	cp "$BUNDLE/config.json" "$BATS_TEST_TMPDIR/plain.json"
}

without() {
	run --separate-stderr "$SBX_TEST_BIN/attack" without "$1" "$SBX_RUNTIME" --root "$ROOT" "${@:2}" 3>&-
}

# whole_life CALL: everything that a manager does, each verb without the call
whole_life() {
	set_script 'cat /covered/file; touch /host/x 2>/dev/null || echo read-only; touch /proc/sys/kernel/msgmax 2>/dev/null || echo closed
		cat /proc/kcore 2>/dev/null | head -c 1; ls /proc/self/fd | wc -l; exec sleep 1000'
	"$SBX_TEST_BIN/attack" without "$1" "$SBX_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" "$ID" \
		>"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null 3>&-
	without "$1" start "$ID"
	assert_status 0
	wait_until 5 grep -qx '[0-9]*' "$BATS_TEST_TMPDIR/stdout"
	run cat "$BATS_TEST_TMPDIR/stdout"
	assert_output $'content\nread-only\nclosed\n4'
	without "$1" exec "$ID" sh -c 'cat /covered/file; exit 7'
	assert_status 7
	assert_output content
	without "$1" pause "$ID"
	assert_status 0
	without "$1" resume "$ID"
	assert_status 0
	without "$1" ps "$ID"
	assert_status 0
	without "$1" kill "$ID" KILL
	assert_status 0
	wait_until 5 status_is stopped
	without "$1" delete "$ID"
	assert_status 0
	assert_no_leaks
	set_script 'exit 5'
	without "$1" run --bundle "$BUNDLE" "$ID"
	assert_status 5
}

works_without() {
	whole_life "$1"
	cp "$BATS_TEST_TMPDIR/plain.json" "$BUNDLE/config.json"
	edit_config '.annotations["dev.sbx.profile"] = ({version: 1, workspace: {root: "/workspace", read: "allow", write: "allow"},
		host: {read: "allow", write: "deny"}, network: {access: "deny"}, command: "allow"} | tojson)'
	whole_life "$1"
}

refused_without() {
	set_args true
	without "$1" run --bundle "$BUNDLE" "$ID"
	assert_error "kernel's mount interface"
	assert_no_leaks
	# What was made with it can be looked at and ended without.
	start_sleeper
	without "$1" kill "$ID" KILL
	assert_status 0
	wait_until 5 status_is stopped
	without "$1" delete "$ID"
	assert_status 0
	assert_no_leaks
}

@test 'openat2' { works_without openat2; }
@test 'clone3' { works_without clone3; }

@test 'clone3: an id-mapped mount' {
	edit_config '.mounts += [{destination: "/mapped", type: "bind", source: $s, options: ["bind"],
		uidMappings: [{containerID: 0, hostID: 5000, size: 10}], gidMappings: [{containerID: 0, hostID: 6000, size: 10}]}]' \
		--arg s "$BUNDLE/host"
	set_script 'stat -c "%u %g" /mapped'
	without clone3 run --bundle "$BUNDLE" "$ID"
	assert_status 0
	assert_output '5000 6000'
}

@test 'close_range' { works_without close_range; }

# A pid alone may be another process's by the time that it is used: nothing is started or signalled by it.
@test 'pidfd_open' {
	local verb

	start_sleeper
	for verb in 'kill ID' 'delete --force ID' 'exec ID true' 'pause ID' 'run --bundle BUNDLE other'; do
		verb=${verb//ID/$ID}
		# shellcheck disable=SC2086 # words
		without pidfd_open ${verb//BUNDLE/$BUNDLE}
		assert_error 'pidfd_open is missing' "$([[ $verb = exec* ]] && echo 255 || echo 1)"
	done
	without pidfd_open state "$ID"
	assert_status 0
	[ "$(jq -r .status <<<"$output")" = running ]
	run_sbx kill "$ID" KILL
	assert_status 0
}

@test 'Landlock' { works_without landlock; }
@test 'open_tree' { refused_without open_tree; }
@test 'fsopen' { refused_without fsopen; }
@test 'mount_setattr' { refused_without mount_setattr; }
