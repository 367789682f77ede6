# Rung 2 as an ordinary user: hosts that forbid user namespaces, a nested container, a masked /proc.
load helpers
load rung2

setup() {
	helpers_setup
	rung2_setup
	use_rung2
}

# as_user SCRIPT COMMAND...: with the privileges of a user namespace SCRIPT runs, then COMMAND as an
# ordinary user.
USER_NAMESPACE=(unshare --user --map-current-user --keep-caps)
DROP='exec setpriv --inh-caps=-all --ambient-caps=-all "$@"'

@test 'rootless: no user namespaces (user.max_user_namespaces)' {
	HOST_WORDS=("${USER_NAMESPACE[@]}" sh -c "echo 0 >/proc/sys/user/max_user_namespaces; $DROP" -)
	on_host run -- true
	assert_status 1
	assert_error 'user.max_user_namespaces is 0'
	direct_on_host sh -c "id -u; cat $OUT/file 2>/dev/null || echo closed; cat <attack >made; chmod 700 made && echo works"
	assert_status 0
	assert_output "$EUID"$'\nclosed\nworks'
	HOST_WORDS=("${USER_NAMESPACE[@]}" sh -c "$DROP" -) # control
	on_host run -- sh -c "[ -e $OUT/file ] || echo hidden"
	assert_output hidden
}

@test 'rootless: attack 24, by the same user' {
	shared_by env
	[[ $shared == 'open ok write ok chmod ok chown ok utimens ok setxattr ok '*'prlimit ok affinity ok shm ok' ]]
	HOST_WORDS=("$SBX_TEST_BIN/attack" without namespaces)
	use_rung2 '.host.read = "allow" | .minLevel = "degraded"'
	shared_on_host
	assert_equal "$shared" 'open EACCES write EACCES chmod EPERM chown EPERM utimens EPERM setxattr EPERM flags EACCES pair EAFNOSUPPORT unix EAFNOSUPPORT inet EAFNOSUPPORT netlink EAFNOSUPPORT kill EPERM prlimit EPERM affinity EPERM shm EPERM'
	use_rung2 '.host.read = "allow" | .network.access = "allow"'
	shared_on_host
	[[ $shared == *'pair EAFNOSUPPORT unix EAFNOSUPPORT inet ok netlink ok '* ]]
}

@test 'rootless: namespaces, but a masked /proc: rung 2, and doctor says what helps' {
	HOST_WORDS=("${USER_NAMESPACE[@]}" --mount --pid --fork sh -c
		"mount -t proc proc /proc && mount -t tmpfs none /proc/sys && $DROP" -)
	on_host run -- true
	assert_status 1
	assert_error 'mount too revealing'
	assert_error 'unmask=ALL'
	direct_on_host sh -c "cat $OUT/file 2>/dev/null || echo closed"
	assert_output closed
	on_host doctor
	assert_status 1
	[[ $output == *'rung 2'*'unmask=ALL'* ]]
}

@test 'rootless: nested in a container of our own' {
	mkdir -m 700 "$WS/inner"
	jq '.workspace.root += "/work"' "$PROFILE" >"$WS/inner.json"
	mkdir "$WS/work"
	local inner=("$SBX_RUNTIME" --root "$WS/inner" run --profile "$WS/inner.json" --workspace "$WS/work" --)

	on_host run --root "$(dirname "$SBX_RUNTIME")" -- "${inner[@]}" sh -c \
		"cat $WS/inner.json 2>/dev/null || echo closed; echo x >made && chmod 700 made && cat made"
	assert_status 0
	assert_output $'closed\nx'
	[ -z "$(ls -A "$WS/inner")" ]
	on_host run --root "$(dirname "$SBX_RUNTIME")" -- cat "$WS/inner.json" # control
	assert_status 0
}

@test 'rootless: a scratch folder that is shut goes all the same, and the status stays' {
	HOST_WORDS=("$SBX_TEST_BIN/attack" without namespaces)
	direct_on_host sh -c 'mkdir -p $TMPDIR/l/m; echo x >$TMPDIR/l/f; chmod 500 $TMPDIR/l/m; chmod 0 $TMPDIR/l; exit 4'
	assert_status 4
	assert_no_leaks
}
