# Attack 15: hooks that leave a process behind by forking twice, and a startContainer hook, which is a
# file of the image, that reads what the profile denies.
load ../bats/helpers
load attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	# What a hook leaves is found by how long it sleeps.
	DAEMON="sleep 1000$RANDOM"
	MARK=$BATS_TEST_TMPDIR/ran
	mkdir -m 777 "$MARK"
	cp "$(command -v busybox)" "$BATS_TEST_TMPDIR/busybox"
	hook_program "$BATS_TEST_TMPDIR/hook" "$BATS_TEST_TMPDIR/busybox" "$MARK"
	use_profile
}

teardown() {
	was_set_up || return 0
	kill_left
	helpers_teardown
}

# hook_program FILE BUSYBOX MARK: forks twice in a session of its own, leaves a process, ends well.
hook_program() {
	cat >"$1" <<-SH
		#!$2 sh
		cat >/dev/null
		$2 touch $3/\$1
		( $2 setsid $2 sh -c '$2 $DAEMON </dev/null >/dev/null 2>&1 &' ) &
		wait
		n=0
		while ! $2 grep -qs '${DAEMON/ /.}.\$' /proc/[0-9]*/cmdline && [ \$n -lt 100 ]; do
			$2 sleep 0.02
			n=\$((n + 1))
		done
		exit 0
	SH
	chmod 755 "$1"
}

left() {
	pgrep -f "$DAEMON\$" || true
}

kill_left() {
	local pid

	for pid in $(left); do
		kill -KILL "$pid"
	done
}

hook() {
	edit_config '.hooks[$k] += [{path: $p, args: ["hook", $k]}]' --arg k "$1" \
		--arg p "$BATS_TEST_TMPDIR/hook"
}

HOST_KINDS='prestart createRuntime createContainer poststart poststop'

# through_life: one container from create to delete; $seen are the kinds of hooks that left something.
through_life() {
	local kind

	seen=
	set_args sleep 1000
	create_container
	[ -z "$(left)" ] || seen+=' create'
	run_sbx start "$ID"
	assert_status 0
	[ -z "$(left)" ] || seen+=' start'
	sbx delete --force "$ID"
	[ -z "$(left)" ] || seen+=' delete'
}

@test 'attack 15: each kind of hook leaves a process where there is no profile' {
	local kind

	no_profile
	for kind in $HOST_KINDS; do
		edit_config 'del(.hooks)'
		hook "$kind"
		through_life
		[ -e "$MARK/$kind" ]
		[ -n "$seen" ]
		kill_left
	done
}

@test 'attack 15: under a profile none leaves anything, once it has returned' {
	local kind

	for kind in $HOST_KINDS; do
		hook "$kind"
	done
	through_life
	for kind in $HOST_KINDS; do
		[ -e "$MARK/$kind" ]
	done
	assert_same 'left' '' "$seen"
}

@test 'attack 15: nor one that fails, or stays too long' {
	local kind

	for kind in prestart createRuntime createContainer; do
		edit_config 'del(.hooks)'
		hook "$kind"
		sed -i 's/^exit .*/exit 7/' "$BATS_TEST_TMPDIR/hook"
		set_args true
		run_container
		assert_status 1
		assert_stderr "$kind"
		[ -z "$(left)" ]
	done
	sed -i 's/^exit .*/while :; do :; done/' "$BATS_TEST_TMPDIR/hook"
	edit_config '.hooks.createContainer[0].timeout = 1'
	run_container
	assert_status 1
	[ -z "$(left)" ]
	assert_no_leaks
}

# The same hook in the image; the payload looks for what it left.
image_hook() {
	hook_program "$BUNDLE/rootfs/bin/hook" /bin/busybox /workspace
	cp "$BATS_TEST_TMPDIR/busybox" "$BUNDLE/rootfs/bin/busybox"
	edit_config '.hooks.startContainer = [{path: "/bin/hook", args: ["hook", "startContainer"]}]'
}

@test 'attack 15: startContainer leaves a process only without a profile' {
	image_hook
	run_with_and_without "grep -ls ^[a-z/]*.${DAEMON/ /.}.\$ /proc/[0-9]*/cmdline | wc -l; ls /workspace; rm -f /workspace/*"
	assert_same 'control' $'1\nstartContainer' "$without"
	assert_same 'under the profile' $'0\nstartContainer' "$with"
}

# reading_hook TEXT: a startContainer hook of the image that tells /workspace/found what it can do.
reading_hook() {
	printf '#!/bin/sh\n{ %s; } >/workspace/found 2>/dev/null\ntrue\n' "$1" >"$BUNDLE/rootfs/bin/hook"
	chmod 755 "$BUNDLE/rootfs/bin/hook"
	edit_config '.hooks.startContainer = [{path: "/bin/hook"}]'
}

@test 'attack 15: startContainer reads and writes no more than the payload' {
	mkdir "$BUNDLE/rootfs/data"
	echo secret >"$BUNDLE/rootfs/data/secret"
	use_profile '.host.read = "deny"'
	reading_hook 'cat /data/secret /proc/self/root/data/secret; echo x >/bin/new && echo wrote'
	run_with_and_without 'cat /workspace/found'
	assert_same 'control' $'secret\nsecret\nwrote' "$without"
	assert_same 'under the profile' '' "$with"
	[ -e "$WS/found" ]
}

@test 'attack 15: startContainer has the rights of the payload' {
	all_capabilities
	reading_hook 'grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status | tr -d "\t"'
	run_with_and_without 'cat /workspace/found;
		grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status | tr -d "\t"'
	assert_same 'hook and payload' "$(head -n 4 <<<"$with")" "$(tail -n 4 <<<"$with")"
	grep -qx 'NoNewPrivs:1' <<<"$with"
	grep -qx 'Seccomp:2' <<<"$with"
	refute grep -qxF "$(grep CapEff <<<"$without" | head -n 1)" <<<"$with"
}

@test 'attack 15: createContainer has an empty environment, and the bundle as its folder' {
	printf '#!/bin/sh\n{ /bin/busybox pwd; /bin/busybox tr "\\0" "\\n" </proc/$$/environ; } >%s\n' \
		"$MARK/env" >"$BATS_TEST_TMPDIR/hook"
	edit_config '.hooks.createContainer = [{path: $p, env: ["LD_PRELOAD=/x", "SECRET=1"]}]' \
		--arg p "$BATS_TEST_TMPDIR/hook"
	set_args true
	run_container
	assert_same 'the folder' "$BUNDLE" "$(head -n 1 "$MARK/env")"
	refute_stderr LD_PRELOAD
	assert_same 'the environment' '' "$(grep -v '^PWD=\|^SHLVL=\|^_=' <<<"$(tail -n +2 "$MARK/env")")"
}
