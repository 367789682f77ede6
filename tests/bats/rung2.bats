# Rung 2: a profile on a host that gives no namespaces. A filter of the test makes that host.
load helpers
load rung2

setup() {
	require_root
	helpers_setup
	rung2_setup
	HOST_WORDS=("$SBX_TEST_BIN/attack" without namespaces)
	use_rung2
}

OPEN='open ok write ok chmod ok chown ok utimens ok setxattr ok flags ok pair ok unix ok inet ok netlink ok kill ok prlimit ok affinity ok shm ok'

@test 'the default of run -- COMMAND is refused: the reason, the remedy and the word that takes less' {
	on_host run -- true
	assert_status 1
	assert_error 'readBoundary cannot be had here'
	assert_error 'a system call filter is around us'
	assert_error '--security-opt'
	assert_error '"minLevel": "none"'
	[ -z "$(ls -A "$ROOT")" ]
	HOST_WORDS=(env) # control
	on_host run -- true
	assert_status 0
}

@test 'minLevel none: the host is closed but for what the report says, and builds work' {
	shared_by env
	assert_equal "$shared" "$OPEN" # control
	shared_on_host
	assert_equal "$shared" 'open EACCES write EACCES chmod ok chown ok utimens ok setxattr ok flags EACCES pair EAFNOSUPPORT unix EAFNOSUPPORT inet EAFNOSUPPORT netlink EAFNOSUPPORT kill EPERM prlimit EPERM affinity EPERM shm EPERM'
	direct_on_host sh -c "echo made >f && chmod 700 f && touch -d @0 f && cat f; ls $OUT 2>/dev/null; echo \$?"
	assert_status 0
	assert_output $'made\n2'
	[ "$(stat -c '%a %Y' "$WS/f")" = '700 0' ]
}

@test 'what is asked for and can be had makes level degraded, at the price of chmod' {
	use_rung2 '.host.read = "allow" | del(.minLevel)'
	shared_on_host
	[[ $shared == 'open EACCES write EACCES chmod EPERM chown EPERM utimens EPERM setxattr EPERM '* ]] # below /tmp
	direct_on_host sh -c 'cat /etc/passwd >/dev/null && echo read; cat /proc/1/cmdline 2>/dev/null || echo hidden
		: >f; chmod 700 f 2>/dev/null || echo refused; echo x 2>/dev/null >/etc/new || echo kept'
	assert_output $'read\nhidden\nrefused\nkept'
	use_rung2 '.host.read = "allow"' # control
	direct_on_host sh -c 'cat /proc/1/cmdline >/dev/null && : >f && chmod 700 f && echo works'
	assert_output works
}

@test 'the report: level and bits of both, and an entry for each gap' {
	bundle_of_host
	on_host report --bundle "$BUNDLE" --profile "$PROFILE"
	assert_status 0
	jq -e '.level == "none" and .lifetimeContainment == "best-effort" and
		(.guarantees | .networkBoundary and .envScrub and (.readBoundary or .writeBoundary or .processBoundary | not)) and
		([.entries[] | select(.outcome == "unenforced").feature] | sort ==
			["host.metadata.read", "host.metadata.write", "processes"])' <<<"$output"
	use_rung2 '.host.read = "allow" | .minLevel = "degraded"'
	on_host report --bundle "$BUNDLE" --profile "$PROFILE"
	assert_status 0
	jq -e '.level == "degraded" and .guaranteeBits == ([1, 2, 8, 16] | add)' <<<"$output"
}

# bundle_of_host [FILTER]: the bundle, on the host's root.
bundle_of_host() {
	edit_config '.root = {path: "/", readonly: true} | .process.cwd = $ws | .process.args = ["sh", "-c", "sleep 300 & sleep 301"] |
		.process.env = ["PATH=/usr/bin:/bin"] | .mounts |= map(select(.destination | startswith("/dev") or
		startswith("/proc") or startswith("/sys"))) | '"${1:-.}" --arg ws "$WS"
}

# refused WORD PROFILE-FILTER
refused() {
	use_rung2 "$2"
	on_host run --bundle "$BUNDLE" --profile "$PROFILE" "$ID"
	assert_status 1
	assert_error "$1"
	assert_error 'namespaces cannot be made'
}

@test 'what rung 2 cannot do is refused, and nothing is left' {
	bundle_of_host '.process.args = ["true"]'
	refused 'full' '.minLevel = "full"'
	refused 'readBoundary' '.require = ["readBoundary"]'
	refused 'readBoundary' '.minLevel = "degraded"'
	refused 'closing' '.protect = [".git"]'
	refused 'single sockets' '.unixSockets = ["/run/x.sock"]'
	on_host run --bundle "$BUNDLE" --profile "$PROFILE" "$ID"
	use_rung2
	bundle_of_host '.process.args = ["true"] | .hooks.poststart = [{path: "/bin/true"}]'
	refused 'hooks' .
	bundle_of_host '.process.args = ["true"] | del(.hooks) | .mounts += [{destination: "/mnt", type: "tmpfs", source: "x"}]'
	refused 'the mount at "/mnt"' .
	bundle_of_host '.process.args = ["true"] | .mounts |= map(select(.destination != "/mnt")) | .process.user.uid = 4711'
	refused 'run as user 4711' .
	bundle_of_host '.process.args = ["true"] | .process.user.uid = 0' # control
	on_host run --bundle "$BUNDLE" --profile "$PROFILE" "$ID"
	assert_status 0
	edit_config '.root.path = "rootfs"'
	refused 'a root of its own' .
	[ -z "$(ls -A "$ROOT")" ]
}

@test 'no usable rung: nothing runs' {
	HOST_WORDS+=("$SBX_TEST_BIN/attack" without landlock)
	direct_on_host touch ran
	assert_status 1
	assert_error 'Landlock ABI 4'
	[ ! -e "$WS/ran" ]
	HOST_WORDS=("$SBX_TEST_BIN/attack" without namespaces "$SBX_TEST_BIN/attack" without seccomp)
	direct_on_host touch ran
	assert_status 1
	[ ! -e "$WS/ran" ]
}

@test 'a host that only refuses mounts has rung 2 as well' {
	HOST_WORDS=("$SBX_TEST_BIN/attack" without mounts)
	direct_on_host sh -c "cat $OUT/file 2>/dev/null || echo closed"
	assert_output closed
}

@test 'what the program leaves ends with it; it cannot end the first process' {
	direct_on_host sh -c '(setsid sleep 4711 &); kill -9 $PPID 2>/dev/null || echo refused'
	assert_status 0
	assert_output refused
	run pgrep -f 'sleep 4711'
	assert_failure
}

tree_is_gone() {
	[ -z "$(pgrep -f 'sleep 30[01]')" ]
}

host_detached() {
	"${HOST_WORDS[@]}" "$SBX_RUNTIME" --root "$ROOT" "$@" </dev/null >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" 3>&-
}

@test 'create, start, exec, kill, stop and delete' {
	bundle_of_host
	host_detached create --bundle "$BUNDLE" --profile "$PROFILE" "$ID"
	on_host exec "$ID" true
	assert_error 'before start' 255
	on_host start "$ID"
	assert_status 0
	wait_until 5 pgrep -f 'sleep 300'
	on_host exec "$ID" sh -c "cat $OUT/file 2>/dev/null || echo closed; echo x >made; socat - x 2>/dev/null; kill -0 1 2>/dev/null || echo apart"
	assert_output $'closed\napart'
	[ -e "$WS/made" ]
	on_host kill "$ID" KILL
	assert_status 0
	wait_until 5 tree_is_gone
	on_host delete "$ID"
	assert_status 0
	host_detached run --detach --bundle "$BUNDLE" --profile "$PROFILE" "$ID"
	wait_until 5 pgrep -f 'sleep 300'
	on_host stop --grace 200ms "$ID"
	assert_status 0
	wait_until 5 tree_is_gone
	on_host delete "$ID"
	host_detached run --detach --bundle "$BUNDLE" --profile "$PROFILE" "$ID"
	wait_until 5 pgrep -f 'sleep 300'
	on_host delete --force "$ID"
	assert_status 0
	wait_until 5 tree_is_gone
	[ -z "$(ls -A "$ROOT")" ]
}

@test 'limits hold where a control group can be made' {
	need pids
	use_rung2 '.limits.pids = 3'
	direct_on_host sh -c 'for i in 1 2 3 4 5; do sleep 0.2 & done; wait' 
	assert_error 'fork' 2
	use_rung2 # control
	direct_on_host sh -c 'for i in 1 2 3 4 5; do sleep 0.2 & done; wait'
	assert_status 0
	assert_equal "$stderr" ''
	use_rung2 '.limits.pids = 3'
	on_host --cgroup-manager disabled run --profile "$PROFILE" -- true
	assert_error 'limits'
}

@test 'deadline and output limit end the whole tree' {
	use_rung2 '.limits = {deadline: "700ms", terminateGrace: "200ms"}'
	direct_on_host sh -c 'trap "" TERM; (setsid sleep 4712 &); sleep 4712; sleep 4712'
	assert_status 124
	[ -z "$(pgrep -f 'sleep 4712')" ]
	use_rung2 '.limits = {outputBytes: 1000}'
	direct_on_host sh -c '(setsid sleep 4713 >/dev/null 2>&1 &); yes; sleep 4713'
	assert_status 125
	[ -z "$(pgrep -f 'sleep 4713')" ]
	use_rung2 '.limits = {outputBytes: 1000, deadline: "60s"}' # control
	direct_on_host sh -c 'echo short; exit 3'
	assert_status 3
}

@test 'a terminal of its own, and no other of the user' {
	local command

	printf -v command '%q ' "${HOST_WORDS[@]}" "$SBX_RUNTIME" --root "$ROOT" run --profile "$PROFILE" -- \
		sh -c 'tty -s && echo tty; echo hi >/dev/tty; n=0; for t in $(seq 0 60); do (: </dev/pts/$t) 2>/dev/null && n=$((n + 1)); done; echo $n'
	run script -qec "$command" /dev/null </dev/null
	[[ ${output//$'\r'/} == *$'tty\nhi\n1'* ]]
}

@test 'root without privileges, where user namespaces can be made, has rung 1' {
	run --separate-stderr setpriv --bounding-set -sys_admin --inh-caps -all "$SBX_RUNTIME" --root "$ROOT" run -- \
		sh -c "[ -e $OUT/file ] || echo hidden; echo x >made" 3>&-
	assert_status 0
	assert_output hidden
	[ "$(cat "$WS/made")" = x ]
}

@test 'the interfaces of the kernel are no root, and no datagram socket comes in' {
	local folder

	for folder in /proc/sys /sys/kernel /dev; do
		use_rung2 ".roots = [{path: \"$folder\", read: \"allow\", write: \"allow\"}]"
		direct_on_host true
		assert_error "use \"$folder\" as a root"
	done
	mkdir "$OUT/kernel"
	mount -t proc proc "$OUT/kernel"
	use_rung2 ".roots = [{path: \"$OUT\", read: \"allow\", write: \"allow\"}]"
	direct_on_host true
	assert_error "what the kernel shows at \"$OUT/kernel\""
	umount "$OUT/kernel"
	direct_on_host true # control
	assert_status 0
	exec 7<>/dev/udp/127.0.0.1/9
	run --separate-stderr "${HOST_WORDS[@]}" "$SBX_RUNTIME" --root "$ROOT" run --profile "$PROFILE" -- true <&7 3>&-
	assert_error 'a datagram socket'
	HOST_WORDS=(env) # control
	run --separate-stderr "$SBX_RUNTIME" --root "$ROOT" run --profile "$PROFILE" -- true <&7 3>&-
	assert_status 0
	exec 7>&-
}

@test 'the runtime keeps its own files closed: a profile in the workspace is refused' {
	use_rung2
	cp "$PROFILE" "$WS/own.json"
	PROFILE=$WS/own.json
	direct_on_host true
	assert_status 1
	assert_error 'own.json'
	PROFILE=$BATS_TEST_TMPDIR/profile.json # control
	direct_on_host true
	assert_status 0
	direct_on_host sh -c "ls -A $ROOT 2>/dev/null; cat $ROOT/*/state 2>/dev/null; echo x >\$TMPDIR/f && cat \$TMPDIR/f"
	assert_output x
}
