# The command line as clients use it: versions, help, errors, logs, ids, listings.
load helpers

# ---- without a container ---------------------------------------------------------------------------

@test 'version: three lines, in every spelling' {
	local flag

	for flag in --version -v -V; do
		run --separate-stderr "$SBX_RUNTIME" "$flag"
		assert_status 0
		[[ ${lines[0]} =~ ^sbx-runtime\ version\ [0-9]+\.[0-9]+ ]]
		assert_line --regexp '^(build|commit): .+'
		assert_line --regexp '^spec: 1\.[0-9]+\.[0-9]+'
		assert_equal "$stderr" ''
	done
}

@test 'version: works where the runtime folder cannot be used' {
	XDG_RUNTIME_DIR=/nonexistent run --separate-stderr "$SBX_RUNTIME" --version
	assert_status 0
	run --separate-stderr "$SBX_RUNTIME" --root /proc/nonexistent --version
	assert_status 0
}

@test 'version and help: a standard output that takes nothing is an error' {
	local arguments

	for arguments in --version -V --help '' 'run --help' 'state --help'; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr bash -c '"$@" >/dev/full' - "$SBX_RUNTIME" $arguments
		assert_error 'write to standard output: no space left on device'
	done
	run --separate-stderr bash -c '"$@" >/dev/full' - "$SBX_RUNTIME" --log-format json --help
	assert_status 1
	jq -e '.code == "system"' <<<"$stderr"
}

@test 'help: of the program and of each verb' {
	local verb

	run_sbx --help
	assert_status 0
	for verb in create start run exec state list kill delete ps pause resume features spec; do
		assert_output --partial "$verb"
		run --separate-stderr sbx "$verb" --help
		assert_status 0
		assert_output --partial "$verb"
		run_sbx --help
	done
}

@test 'help as a verb is the same' {
	local arguments expected

	for arguments in 'help:--help' 'help help:--help' 'help --help:--help' 'help run:run --help' \
		'help state:state --help'; do
		# shellcheck disable=SC2086 # words
		expected=$(sbx ${arguments#*:})
		# shellcheck disable=SC2086 # words
		run_sbx ${arguments%:*}
		assert_status 0
		assert_output "$expected"
	done
	run_sbx help no-such-verb
	assert_error 'unknown verb "no-such-verb"'
}

@test 'usage errors: exit 1, one line' {
	run_sbx
	assert_status 1
	run_sbx no-such-verb
	assert_error no-such-verb
	run_sbx --no-such-option list
	assert_error no-such-option
	run_sbx state
	assert_status 1
	run_sbx state one two
	assert_status 1
	run_sbx create --no-such-option x
	assert_error no-such-option
	run_sbx --log-format yaml list
	assert_error yaml
}

@test 'usage errors name the help that is meant' {
	run_sbx --no-such-option list
	assert_stderr 'see `sbx-runtime --help`'
	run_sbx state
	assert_stderr 'see `sbx-runtime state --help`'
	run_sbx run --log-format json
	assert_stderr 'global options stand before the verb'
	run_sbx profile --help
	assert_output --regexp 'explain +PROFILE KIND SCOPE'
}

@test 'checkpoint is not offered: its help fails, so that clients do not count on it' {
	run_sbx checkpoint --help
	[ "$status" -ne 0 ]
	run_sbx restore --lsm-mount-context
	[ "$status" -ne 0 ]
	[[ $stderr != *'requires an argument'* && $stderr != *'flag needs an argument'* ]]
}

@test 'checkpoint and restore are refused by name, a typing error is not' {
	local verb

	for verb in checkpoint restore; do
		for args in "" --help "--image-path x y"; do
			# shellcheck disable=SC2086 # words
			run_sbx --log-format json $verb $args
			assert_status 1
			assert_equal "$output" ''
			jq -e --arg verb "$verb" '.code == "unsupported" and
				(.msg | startswith($verb + " is not built"))' <<<"$stderr"
		done
	done
	run_sbx --log-format json checkpiont
	assert_status 1
	jq -e '.code == "usage" and (.msg | contains("unknown verb"))' <<<"$stderr"
}

@test 'features: valid, complete, silent' {
	local filter

	run_sbx features
	assert_status 0
	assert_equal "$stderr" ''
	for filter in '.ociVersionMin | startswith("1.0")' '.ociVersionMax | startswith("1.")' \
		'(.linux.namespaces | sort) ==
			["cgroup", "ipc", "mount", "network", "pid", "time", "user", "uts"]' \
		'(.hooks | sort) == ["createContainer", "createRuntime", "poststart", "poststop",
			"prestart", "startContainer"]' \
		'.mountOptions | index("ro") and index("rro") and index("nosymfollow")' \
		'.linux.capabilities | index("CAP_SYS_ADMIN")' \
		'.linux.cgroup.v1 and .linux.cgroup.v2' \
		'.mountOptions == (.mountOptions | sort)' \
		'.linux.netDevices.enabled and .linux.intelRdt.enabled' \
		'.linux.intelRdt.schemata and .linux.intelRdt.monitoring' \
		'(.linux.memoryPolicy.modes | length) == 7 and (.linux.memoryPolicy.flags | length) == 3' \
		'.linux.seccomp.enabled' \
		'.linux.seccomp.actions | index("SCMP_ACT_ERRNO")' \
		'.potentiallyUnsafeConfigAnnotations | index("dev.sbx.")'; do
		jq -e "$filter" <<<"$output" >/dev/null || fail "features: $filter"
	done
}

@test 'spec: writes a config.json that runs, never over one that is there' {
	local dir=$BATS_TEST_TMPDIR/made flags=()

	is_root || flags=(--rootless)
	mkdir "$dir"
	make_rootfs "$dir/rootfs"
	run_sbx spec --bundle "$dir" "${flags[@]}"
	assert_status 0
	jq -e '.ociVersion and .process.args and .linux.namespaces' "$dir/config.json" >/dev/null
	run_sbx spec --bundle "$dir" "${flags[@]}"
	assert_status 1
	assert_stderr 'config.json'
	BUNDLE=$dir
	edit_config '.process.terminal = false | .process.args = ["echo", "from spec"]'
	run_container
	assert_status 0
	assert_output 'from spec'
}

@test 'a bundle for root, run by an ordinary user: the way to one of their own is named' {
	local as=()

	if is_root; then
		as=(unshare --user --map-user=1000 --map-group=1000)
	fi
	edit_config 'del(.linux.uidMappings, .linux.gidMappings)
		| .linux.namespaces |= map(select(.type != "user"))'
	run --separate-stderr "${as[@]}" "$SBX_RUNTIME" plan "$BUNDLE"
	assert_error '`spec --rootless` writes such a bundle'
}

@test 'list: an empty root' {
	run_sbx list
	assert_status 0
	run_sbx list --quiet
	assert_status 0
	assert_output ''
	run_sbx list --format=json
	assert_status 0
	jq -e '. == [] or . == null' <<<"$output"
}

@test 'the root folder itself is refused as runtime root' {
	run --separate-stderr "$SBX_RUNTIME" --root / list
	assert_status 1
}

# ---- ids -------------------------------------------------------------------------------------------

@test 'ids: what could leave the state folder or mean something else is refused' {
	local id

	set_args true
	for id in '' . .. 'a b' a/b ../a /a $'a\nb' 'ä' 'a:b' "$(printf 'x%.0s' {1..300})"; do
		run_sbx create --bundle "$BUNDLE" "$id"
		assert_status 1
		assert_stderr id
		run_sbx state "$id"
		assert_status 1
	done
}

@test 'ids: dots, dashes, plus and 255 characters are legal' {
	local id

	set_args true
	for id in .hidden a.b_c+d-e "$(printf 'y%.0s' {1..200})"; do
		run_sbx run --bundle "$BUNDLE" "$id"
		assert_status 0
	done
	run_sbx run --bundle "$BUNDLE" -- -dash
	assert_status 0
}

# ---- unknown containers ----------------------------------------------------------------------------

@test 'unknown container: every verb says so, with the id' {
	local verb

	for verb in state start kill pause resume ps delete; do
		run_sbx "$verb" nobody-here
		assert_error 'container does not exist'
		assert_stderr nobody-here
	done
	run_sbx exec nobody-here true
	assert_error 'container does not exist' 255
}

@test 'delete --force of an unknown container is silent success' {
	run_sbx delete --force nobody-here
	assert_status 0
	assert_equal "$output$stderr" ''
}

# ---- state and list --------------------------------------------------------------------------------

@test 'state: what the specification and the field ask for, and nothing on stderr' {
	local filter

	set_annotation org.example.key value/with-slash
	set_args sleep 1000
	create_container
	run_sbx state "$ID"
	assert_status 0
	assert_equal "$stderr" ''
	for filter in '.id == $id' '.status == "created"' '.pid > 0' '.bundle == $bundle' \
		'.ociVersion | test("^1\\.[0-9]+\\.[0-9]+")' \
		'.annotations["org.example.key"] == "value/with-slash"' \
		'.rootfs == $bundle + "/rootfs"' \
		'.created | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$")'; do
		jq -e --arg id "$ID" --arg bundle "$BUNDLE" "$filter" <<<"$output" >/dev/null ||
			fail "state: $filter: $output"
	done
	kill -0 "$(jq .pid <<<"$output")"
	run_sbx start "$ID"
	run_sbx state "$ID"
	jq -e '.status == "running"' <<<"$output"
	run_sbx kill "$ID" KILL
	wait_until 10 status_is stopped
	run_sbx state "$ID"
	jq -e '.status == "stopped" and .pid == 0' <<<"$output"
}

@test 'list: table, quiet and JSON' {
	start_sleeper
	run_sbx list
	assert_status 0
	assert_line --regexp '^ID +PID +STATUS +BUNDLE'
	assert_line --regexp "^$ID +[0-9]+ +running +$BUNDLE"
	run_sbx list -q
	assert_output "$ID"
	run_sbx list --format json
	jq -e --arg id "$ID" 'length == 1 and .[0].id == $id and .[0].status == "running"' <<<"$output"
}

@test 'ps: a table and the host pids as JSON' {
	require_root # an ordinary user may have no control group
	start_sleeper
	run_sbx ps --format json "$ID"
	assert_status 0
	jq -e --argjson pid "$(container_pid)" '. == [$pid]' <<<"$output"
	run_sbx ps "$ID"
	assert_status 0
	assert_output --partial 'PID'
	assert_output --partial sleep
}

# ---- options in every spelling ---------------------------------------------------------------------

@test 'a word that is taken for something else is named' {
	run_sbx run -b "$BUNDLE" "$BUNDLE/."
	assert_error "run takes one bundle, by --bundle or as \"$BUNDLE/.\""
	run "$SBX_RUNTIME" --root list
	assert_failure 1
	assert_output --partial 'no verb: "list" is a global option, or the value of one'
	run_sbx create ./bundle
	assert_error 'a bundle is given by --bundle'
	echo '{' >"$BUNDLE/other.json"
	run_container -f other.json
	assert_error '--config "other.json": parse config.json'
	run_sbx list --format yaml
	assert_error 'unknown format "yaml": table or json'
	run_sbx state --bundle x
	assert_error 'global options stand before the verb'
	run_sbx create --bundle
	refute_stderr 'global options stand before the verb'
}

@test 'options: --x y, --x=y, -x y and the single-dash long form' {
	set_args true
	run_sbx run --bundle "$BUNDLE" "$ID-1"
	assert_status 0
	run_sbx run "--bundle=$BUNDLE" "$ID-2"
	assert_status 0
	run_sbx run -b "$BUNDLE" "$ID-3"
	assert_status 0
	run_sbx run -bundle "$BUNDLE" "$ID-4"
	assert_status 0
	run_sbx run --bundle "$BUNDLE" -no-subreaper "$ID-5"
	assert_status 0
	run_sbx run -b "$BUNDLE" -no-new-keyring --no-pivot=false "$ID-6"
	assert_status 0
}

@test 'the bundle is the current folder by default' {
	set_args echo here
	cd "$BUNDLE"
	run_sbx run "$ID"
	assert_status 0
	assert_output here
}

@test 'the global options that clients pass are taken, in any order' {
	set_args true
	run_sbx --log "$BATS_TEST_TMPDIR/log" --log-format=json --debug --rootless=auto --criu /no/criu \
		--cgroup-manager cgroupfs run --bundle "$BUNDLE" "$ID"
	assert_status 0
	assert_equal "$stderr" ''
}

# ---- the log ---------------------------------------------------------------------------------------

@test 'JSON log: a failed create writes exactly one object; stderr says the same' {
	local log=$BATS_TEST_TMPDIR/log.json

	set_args /no/such/program
	run_sbx --log "$log" --log-format json create --bundle "$BUNDLE" "$ID"
	assert_status 1
	assert_stderr 'no such file or directory'
	jq -es 'length == 1' "$log"
	jq -e '.level == "error" and (.msg | contains("no such file or directory"))
		and (.time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})$"))' "$log"
}

@test 'text log: the error is there and on stderr' {
	local log=$BATS_TEST_TMPDIR/log

	run_sbx --log "$log" state nobody-here
	assert_error 'container does not exist'
	grep -q 'container does not exist' "$log"
}

@test 'log: a name that begins with file:, the journal, syslog' {
	local tag=$'my tag\nPRIORITY=0' got=$BATS_TEST_TMPDIR/got

	run_sbx --log "file:$BATS_TEST_TMPDIR/log" state nobody-here
	assert_error 'container does not exist'
	grep -q 'container does not exist' "$BATS_TEST_TMPDIR/log"
	require_root
	[ -e /run/systemd/journal/socket ] || {
		run_sbx --log journald:x list
		assert_error /run/systemd/journal/socket
	}
	"$SBX_TEST_BIN/probe" receive-datagrams "$BATS_TEST_TMPDIR/s" >"$got" 2>&1 </dev/null 3>&- &
	wait_until 10 grep -q ready "$got"
	unshare --mount bash -ec 'mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /dev
		mkdir -p /run/systemd/journal; touch /run/systemd/journal/socket /dev/log /dev/null
		for at in /run/systemd/journal/socket /dev/log; do mount --bind "$1" $at; done
		shift
		for kind in journald syslog; do "$1" --root "$2" --log "$kind:$3" state nobody-here || true; done' - \
		"$BATS_TEST_TMPDIR/s" "$SBX_RUNTIME" "$BATS_TEST_TMPDIR/none" "$tag" 2>/dev/null
	sleep 0.2
	kill $!
	[ "$(cat "$got")" = 'ready
PRIORITY=3
SYSLOG_IDENTIFIER=my tag\nPRIORITY=0
MESSAGE=container does not exist: "nobody-here"

<27>my tag\nPRIORITY=0: container does not exist: "nobody-here"' ]
}

@test 'errors: control characters of foreign input are escaped' {
	set_args $'/no\e[31m/such\r'
	run_container
	assert_status 1
	[[ $stderr != *$'\e'* && ${stderr%$'\r'} != *$'\r'* ]]
}

# ---- the pid file ----------------------------------------------------------------------------------

@test 'pid file: the number alone, no newline' {
	set_args sleep 1000
	create_container --pid-file "$BATS_TEST_TMPDIR/pid"
	assert_equal "$(od -An -c "$BATS_TEST_TMPDIR/pid" | tr -d ' \n')" "$(container_pid)"
}

@test 'pid file: none where create failed' {
	set_args /no/such/program
	run_sbx create --bundle "$BUNDLE" --pid-file "$BATS_TEST_TMPDIR/pid" "$ID"
	assert_status 1
	[ ! -e "$BATS_TEST_TMPDIR/pid" ]
}

# ---- hostile input ---------------------------------------------------------------------------------

# refused_config TEXT: the config.json that is there now is refused, in time, with this text.
refused_config() {
	run --separate-stderr timeout -k 1 10 "$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID"
	assert_error "$1"
}

@test 'config.json: absent, a folder, a FIFO, empty' {
	rm "$BUNDLE/config.json"
	refused_config config.json
	mkdir "$BUNDLE/config.json"
	refused_config config.json
	rmdir "$BUNDLE/config.json"
	mkfifo "$BUNDLE/config.json"
	refused_config config.json
	rm "$BUNDLE/config.json"
	: >"$BUNDLE/config.json"
	refused_config config.json
}

@test 'config.json: cut short, garbage behind, a byte order mark, a duplicate key' {
	local good

	set_args true
	good=$(<"$BUNDLE/config.json")
	head -c 300 <<<"$good" >"$BUNDLE/config.json"
	refused_config config.json
	printf '%s\n{}' "$good" >"$BUNDLE/config.json"
	refused_config config.json
	printf '\xef\xbb\xbf%s' "$good" >"$BUNDLE/config.json"
	refused_config config.json
	sed '1s/{/{"hostname": "twice",/' <<<"$good" >"$BUNDLE/config.json"
	refused_config hostname
	printf '%s' "$good" >"$BUNDLE/config.json"
	run_container
	assert_status 0
}

@test 'config.json: an error names the place in the document' {
	edit_config '.process.user.uid = -1'
	refused_config /process/user/uid
	edit_config '.process.user.uid = 4294967296'
	refused_config /process/user/uid
	edit_config '.process.user.uid = 0 | .process.args = "sh"'
	refused_config /process/args
	edit_config '.process.args = []'
	refused_config /process/args
}

@test 'config.json: 100 000 nested arrays are refused, not survived by luck' {
	local deep

	deep=$(printf '[%.0s' {1..100000})$(printf ']%.0s' {1..100000})
	{ printf '{"unknown":%s,' "$deep"; sed 1d "$BUNDLE/config.json"; } >"$BUNDLE/next"
	mv "$BUNDLE/next" "$BUNDLE/config.json"
	refused_config 'config.json'
}

@test 'config.json: unknown members are ignored, as the specification demands' {
	edit_config '.x_unknown = {a: [1, null]} | .process.x = 1 | .linux.y = {}'
	set_args true
	run_container
	assert_status 0
}

@test 'config.json: 20 000 annotations are taken' {
	set_args true
	edit_config '.annotations = ([range(20000) | {key: "k\(.)", value: ("v" * 100)}] | from_entries)'
	run_container
	assert_status 0
}

@test "list: a bundle's path cannot send control characters to the terminal" {
	local bundle=$BATS_TEST_TMPDIR/$'bun\e[31mdle\nX'

	require_root
	mv "$BUNDLE" "$bundle"
	BUNDLE=$bundle
	start_sleeper
	run_sbx list
	assert_line --partial 'bun\x1b[31mdle\nX'
	refute_output --partial $'\e'
}

@test 'report: while the container is being created, and where the stored one is missing' {
	local hook=$BATS_TEST_TMPDIR/hook

	require_root
	set_annotation dev.sbx.profile '{"version": 1, "workspace": {"root": "/workspace"}, "command": "allow"}'
	cat >"$hook" <<-HOOK
		#!/bin/sh
		mv $ROOT/$ID/report $ROOT/$ID/report.away
		$SBX_RUNTIME --root $ROOT report $ID >$BATS_TEST_TMPDIR/hook.out 2>&1
		mv $ROOT/$ID/report.away $ROOT/$ID/report
		$SBX_RUNTIME --root $ROOT report $ID >$BATS_TEST_TMPDIR/control.out 2>&1
	HOOK
	chmod 755 "$hook"
	add_hook createRuntime "$(jq -n --arg path "$hook" '{path: $path}')"
	create_container
	assert_equal "$(cat "$BATS_TEST_TMPDIR/hook.out")" \
		"sbx-runtime: container \"$ID\" is being created: it has no report yet"
	jq -e '.version == 1' "$BATS_TEST_TMPDIR/control.out"
	rm "$ROOT/$ID/report"
	run_sbx report "$ID"
	assert_error 'is missing'
	refute_stderr 'no such file'
}

@test 'report: a profile beside a container is refused, not ignored' {
	run_sbx report --profile /nowhere "$ID"
	assert_status 1
	assert_stderr 'goes with --bundle'
	run_sbx report "$ID"
	refute_regex "$stderr" 'goes with --bundle' # control
}
