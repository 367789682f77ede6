# run -- COMMAND: one command on the host's own root, without a bundle.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	HOME=$BATS_TEST_TMPDIR/home
	WS=$BATS_TEST_TMPDIR/ws
	mkdir -p "$WS/sub" "$HOME/.ssh"
	cd "$WS" || return
}

# direct OPTION... -- COMMAND...
direct() {
	run_sbx run "$@"
}

@test 'words, input, output and the exit status are those of the command' {
	direct -- printf '%s|' a 'b c' '' $'d\ne'
	assert_status 0
	assert_output $'a|b c||d\ne|'
	direct -- sh -c 'exit 7'
	assert_status 7
	direct -- sh -c 'kill -9 $$'
	assert_status 137
	run bash -c 'echo input | "$@"' - "$SBX_RUNTIME" --root "$ROOT" run -- cat
	assert_output input
	direct -- no-such-program
	assert_error '"no-such-program": executable file not found'
	[ -z "$(sbx list --quiet)" ]
	assert_same 'the store' '' "$(ls -A "$ROOT")"
}

@test 'the current folder is the workspace, and its folder the working one' {
	echo old >"$WS/file"
	direct -- sh -c 'pwd; cat file; echo new >made; mkdir d'
	assert_output "$WS"$'\nold'
	assert_same 'on the host' new "$(cat "$WS/made")"
	[ -d "$WS/d" ]
	direct --workspace "$WS/sub" -- pwd
	assert_output "$WS/sub"
	cd "$WS/sub" || return
	direct --workspace "$WS" -- sh -c 'pwd; cat ../file'
	assert_output "$WS/sub"$'\nold'
}

@test 'nothing else of the host is there to read, write or reach' {
	local other=$BATS_TEST_TMPDIR/other script

	echo secret >"$HOME/.ssh/id"
	echo secret >"$other"
	script="cat $HOME/.ssh/id $other /etc/shadow /proc/1/environ 2>/dev/null | tr -d '\\0' | grep -c .
		for f in $other /etc/sbx-direct /usr/sbx-direct; do echo x 2>/dev/null >\$f && echo wrote \$f; done
		[ -e $HOME ] && echo home; env | grep -c -e SECRET -e SSH_AUTH_SOCK
		sed 1,2d /proc/net/dev | grep -vc lo:"
	export SECRET=s3cr3t SSH_AUTH_SOCK=$BATS_TEST_TMPDIR/agent
	direct -- sh -c "$script"
	assert_output $'0\n0\n0'
	assert_same unchanged secret "$(cat "$other")"
	direct --root "$BATS_TEST_TMPDIR:rw" --env SECRET -- sh -c "$script" # control
	assert_line "wrote $other"
	assert_line home
	assert_same 'with both open' 1 "$(grep -c wrote <<<"$output")"
}

@test '--root opens a folder to read, with :rw to write as well' {
	local more=$BATS_TEST_TMPDIR/more

	mkdir "$more"
	echo file >"$more/f"
	direct --root "$more" -- sh -c "cat $more/f; echo x 2>/dev/null >$more/f && echo wrote; true"
	assert_output file
	direct --root "$more:ro" -- cat "$more/f"
	assert_output file
	direct --root "$more:rw" -- sh -c "echo new >$more/f"
	assert_status 0
	assert_same 'on the host' new "$(cat "$more/f")"
	mkdir "$WS/closed" # narrower than the workspace
	direct --root "$WS/closed" -- sh -c 'echo x 2>/dev/null >closed/f && echo wrote; echo y >open'
	assert_status 0
	assert_output ''
}

@test 'the environment: what a program needs, and what is asked for' {
	export LANG=C LC_ALL=C TZ=UTC USER=me LOGNAME=me TERM=dumb OTHER=value BASH_ENV=/x LD_PRELOAD=
	direct --env OTHER --env NEW=one=two -- env
	assert_status 0
	for name in LANG=C LC_ALL=C TZ=UTC USER=me LOGNAME=me TERM=dumb OTHER=value NEW=one=two; do
		assert_line "$name"
	done
	assert_same 'and no more' 11 "$(grep -vc -e '^_=' -e '^PWD=' -e '^SHLVL=' <<<"$output")"
	direct --env NO_SUCH -- true
	assert_error 'the environment has no such variable'
	direct --env BASH_ENV -- env # what makes a shell run code is never passed
	refute_line 'BASH_ENV=/x'
}

@test 'a repository: what is run or believed of .git stays as it is' {
	local script='echo x 2>/dev/null >.git/hooks/pre-commit && echo hook
		mv .git .moved 2>/dev/null && echo moved; echo x >.git/index; cat .git/config'

	mkdir -p "$WS/.git/hooks"
	echo "[mine]" >"$WS/.git/config"
	direct -- sh -c "$script"
	assert_output "[mine]"
	assert_same 'on the host' x "$(cat "$WS/.git/index")"
	assert_same 'and no more' $'config\nhooks\nindex' "$(ls -A "$WS/.git")"
	rm -r "$WS/.git"
	direct -- sh -c "mkdir -p .git/hooks; echo own >.git/config; $script" # control
	assert_line hook
}

@test 'a workspace that shows too much is refused' {
	cd "$HOME" || return
	direct -- true
	assert_error 'a home folder'
	cd "$BATS_TEST_TMPDIR" || return
	direct -- true
	assert_error 'a home folder'
	direct --workspace "$HOME" -- true # named, it is meant
	assert_status 0
	direct --workspace / -- true
	assert_error 'the whole host would be open'
	direct --workspace "$BATS_TEST_TMPDIR/missing" -- true
	assert_error 'use "'"$BATS_TEST_TMPDIR/missing"'" as --workspace'
}

@test 'a profile that the caller gives' {
	jq -n '{version: 1, workspace: {read: "allow"}, command: "allow"}' >"$BATS_TEST_TMPDIR/profile.json"
	direct --profile "$BATS_TEST_TMPDIR/profile.json" -- sh -c 'pwd; echo x 2>/dev/null >f && echo wrote; true'
	assert_status 0
	assert_output "$WS"
	direct --profile "$BATS_TEST_TMPDIR/profile.json" --root /opt -- true
	assert_error 'use --root beside --profile'
}

@test 'settings that ignore annotations, or require a profile, leave the command confined' {
	mount -t tmpfs -o mode=755 settings /mnt
	for text in '{"annotations": "ignore"}' '{"requireProfile": true}' '{"annotations": "narrow"}'; do
		echo "$text" >/mnt/settings.json
		run_sbx --config /mnt/settings.json run -- sh -c 'cat /etc/shadow 2>/dev/null; grep Seccomp: /proc/self/status; pwd'
		assert_status 0
		assert_output $'Seccomp:\t2\n'"$WS"
	done
	umount /mnt
}

@test 'of /sys it sees what a container of its own has' {
	direct -- sh -c 'ls /sys/class/net; ls -A /sys/fs/cgroup | wc -l; mount | grep -c -e "type cgroup" -e debugfs -e tracefs'
	assert_output $'lo\n0\n0'
}

@test 'wrong use is told apart from a bundle' {
	run_sbx run --workspace "$WS" "$ID"
	assert_error '--workspace is for run -- COMMAND'
	run_sbx run --root /x "$ID"
	assert_error 'stands before the verb'
	run_sbx run one two
	assert_error 'a command stands behind "--"'
	direct --config x.json -- true
	assert_error '--config is for a bundle'
	direct -- printf $'\xff'
	assert_error 'it is no UTF-8'
	run_sbx run --bundle "$BUNDLE" -- "$ID" # a bundle's container as ever
	assert_status 0
}

@test 'signals end a command that knows nothing of being the first process' {
	local sig

	for sig in INT TERM HUP; do
		"$SBX_RUNTIME" --root "$ROOT" run -- sh -c 'echo >started; exec sleep 100' 3>&- &
		pid=$!
		wait_until 5 test -e "$WS/started"
		kill -"$sig" "$pid"
		status=0
		wait "$pid" || status=$?
		assert_same "$sig" $((128 + $(kill -l "$sig"))) "$status"
		rm "$WS/started"
	done
}

@test 'orphans are waited for, and none outlives the command' {
	direct -- sh -c 'for k in 1 2 3; do (sleep 0.1 &) ; done; sleep 0.5; grep -l "State:.*zombie" /proc/[0-9]*/status; sleep 100 & exit 4'
	assert_status 4
	assert_output ''
}

@test 'it can be looked at and entered as any container' {
	"$SBX_RUNTIME" --root "$ROOT" run -- sleep 100 3>&- &
	wait_until 5 sh -c "[ \$('$SBX_RUNTIME' --root '$ROOT' list --format json | jq length) = 1 ]"
	ID=$(sbx list --quiet)
	wait_until 5 status_is running
	run_sbx exec "$ID" pwd
	assert_status 0
	assert_output "$WS"
	run_sbx report "$ID"
	report_says '.guarantees.processBoundary and .guarantees.networkBoundary and .guarantees.envScrub'
	sbx delete --force "$ID"
	wait $! || true
}

@test 'terminal: the command has one of its own, and Ctrl-C ends what does not catch it' {
	status=0
	output=$(script -qec "'$SBX_RUNTIME' --root '$ROOT' run -- sh -c 'tty; exit 6'" /dev/null \
		</dev/null 3>&-) || status=$?
	[[ $output = *'/dev/pts/0'* ]]
	assert_same status 6 "$status"
	status=0
	(
		wait_until 5 test -e "$WS/started"
		printf '\003'
		sleep 5
	) | script -qec "'$SBX_RUNTIME' --root '$ROOT' run -- sh -c 'echo >started; exec sleep 100'" /dev/null \
		>/dev/null 3>&- || status=$?
	assert_same 'after Ctrl-C' 130 "$status"
}

@test 'detached: the id is printed, for a command and for a bundle' {
	sbx_detached run --detach -- sleep 100
	assert_status 0
	sbx delete --force "$output"
	set_args sleep 100
	sbx_detached run --detach "$BUNDLE"
	assert_status 0
	sbx delete --force "$output"
	sbx_detached run --detach --bundle "$BUNDLE" "$ID" # its name is known
	assert_output ''
}
