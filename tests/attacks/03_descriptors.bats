# Attack 3: a descriptor that the caller left open walks past every mount. (The carve-outs of this
# attack are in ../bats/carve.bats and 17_git.bats.)
load ../bats/helpers
load attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	cp "$SBX_TEST_BIN/intruder" "$BUNDLE/rootfs/bin/intruder"
	OUTSIDE=$BATS_TEST_TMPDIR/outside
	mkdir "$OUTSIDE"
	echo secret >"$OUTSIDE/secret"
	use_profile
}


holding() {
	run --separate-stderr "$SBX_TEST_BIN/intruder" open-as "$1" "$2" "$3" \
		"$SBX_RUNTIME" --root "$ROOT" "${@:4}"
}

# refused_and_control KIND PATH N SCRIPT WANTED [OPTION...]: as a plain bundle the script finds WANTED
# through the descriptor, under the profile it is never started.
refused_and_control() {
	local kind=$1 path=$2 n=$3 script=$4 wanted=$5

	shift 5
	set_script "$script"
	no_profile
	holding "$kind" "$path" "$n" run --bundle "$BUNDLE" "$@" "$ID"
	assert_status 0
	assert_same 'control' "$wanted" "$output"
	use_profile
	holding "$kind" "$path" "$n" run --bundle "$BUNDLE" "$@" "$ID"
	assert_error "descriptor $n"
	assert_no_leaks
}

@test 'attack 3: a folder as standard input' {
	refused_and_control dir "$OUTSIDE" 0 'intruder through 0 secret' secret
}

@test 'attack 3: an O_PATH descriptor as standard input' {
	refused_and_control path "$OUTSIDE" 0 'intruder through 0 secret' secret
	refused_and_control path "$OUTSIDE/secret" 0 'cat /proc/self/fd/0' secret
}

@test 'attack 3: a folder as standard error' {
	set_script 'intruder through 2 secret'
	no_profile
	run "$SBX_TEST_BIN/intruder" open-as dir "$OUTSIDE" 2 "$SBX_RUNTIME" --root "$ROOT" \
		--log "$BATS_TEST_TMPDIR/log" run --bundle "$BUNDLE" "$ID"
	assert_output secret
	use_profile
	run "$SBX_TEST_BIN/intruder" open-as dir "$OUTSIDE" 2 "$SBX_RUNTIME" --root "$ROOT" \
		--log "$BATS_TEST_TMPDIR/log" run --bundle "$BUNDLE" "$ID"
	assert_failure 1
	assert_output ''
	grep -q 'descriptor 2' "$BATS_TEST_TMPDIR/log"
}

@test 'attack 3: preserved descriptors' {
	refused_and_control dir "$OUTSIDE" 3 'intruder through 3 secret' secret --preserve-fds 1
	refused_and_control path "$OUTSIDE" 3 'intruder through 3 secret' secret --preserve-fds 1
}

@test 'attack 3: a namespace' {
	refused_and_control file /proc/self/ns/net 3 'readlink /proc/self/fd/3' \
		"$(readlink /proc/self/ns/net)" --preserve-fds 1
}

@test 'attack 3: descriptors of socket activation' {
	set_script 'intruder through 3 secret'
	no_profile
	run_listening
	assert_same 'control' secret "$output"
	use_profile
	run_listening
	assert_error 'descriptor 3'
}

# LISTEN_PID is the runtime's: exec keeps the pid of the shell.
run_listening() {
	run --separate-stderr bash -c 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"' bash \
		"$SBX_TEST_BIN/intruder" open-as dir "$OUTSIDE" 3 \
		"$SBX_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "$ID"
}

@test 'attack 3: of a further process as well' {
	start_sleeper
	holding dir "$OUTSIDE" 3 exec --preserve-fds 1 "$ID" intruder through 3 secret
	assert_error 'descriptor 3' 255
	holding dir "$OUTSIDE" 0 exec "$ID" intruder through 0 secret
	assert_error 'descriptor 0' 255
	sbx delete --force "$ID"
	no_profile
	start_sleeper
	holding dir "$OUTSIDE" 3 exec --preserve-fds 1 "$ID" intruder through 3 secret
	assert_status 0
	assert_output secret
}

@test 'attack 3: what is not preserved is not there, with and without a profile' {
	set_args probe fds
	no_profile
	holding dir "$OUTSIDE" 3 run --bundle "$BUNDLE" "$ID"
	refute_output --partial "$OUTSIDE"
	holding dir "$OUTSIDE" 57 run --bundle "$BUNDLE" "$ID"
	refute_output --partial outside
	use_profile
	holding dir "$OUTSIDE" 57 run --bundle "$BUNDLE" "$ID"
	assert_status 0
	refute_output --partial outside
}

@test 'attack 3: a working folder behind a descriptor' {
	local n

	set_script 'cat secret 2>/dev/null; cat ../../../etc/passwd | head -n 1'
	for n in 3 5 8 10; do
		edit_config '.process.cwd = $c' --arg c "/proc/self/fd/$n"
		holding dir / "$n" run --bundle "$BUNDLE" "$ID"
		assert_status 1
		no_profile
		holding dir / "$n" run --bundle "$BUNDLE" "$ID"
		assert_status 1
		use_profile
	done
	edit_config '.process.cwd = "/workspace"'
	run_container
	assert_status 0
}

@test 'attack 3: a regular file and a pipe are passed on under a profile' {
	set_script 'cat; cat <&3'
	echo input >"$BATS_TEST_TMPDIR/input"
	run --separate-stderr bash -c '"$@" 3<"$0/input" < <(echo piped)' "$BATS_TEST_TMPDIR" \
		"$SBX_RUNTIME" --root "$ROOT" run --preserve-fds 1 --bundle "$BUNDLE" "$ID"
	assert_status 0
	assert_output $'piped\ninput'
}
