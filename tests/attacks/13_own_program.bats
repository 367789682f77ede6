# Attack 13: the payload reaches for the runtime's program, to overwrite it on the host (CVE-2019-5736).
# The control is a small runtime without a defence, tests/attacks/naive.c.
#
# SBX_TEST_ROUNDS: how often the races are run (40).
load ../bats/helpers
load attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	cp "$SBX_TEST_BIN/intruder" "$BUNDLE/rootfs/bin/intruder"
	# What is overwritten is a copy.
	cp "$SBX_RUNTIME" "$BATS_TEST_TMPDIR/sbx-runtime"
	cp "$SBX_TEST_BIN/naive" "$BATS_TEST_TMPDIR/naive"
	ORIGINAL=$SBX_RUNTIME
	SBX_RUNTIME=$BATS_TEST_TMPDIR/sbx-runtime
	NAIVE=$BATS_TEST_TMPDIR/naive
	all_capabilities
}

unchanged() {
	assert_same 'the program' "$(sha256sum <"$1")" "$(sha256sum <"$2")"
}

# The loader that a program asks for, as a path in the image.
loader_of() {
	grep -aoEm1 '/lib[a-z0-9]*/ld-[a-zA-Z0-9_.-]+' "$1" | head -n 1
}

# The image brings its own loader and a script that asks for "itself" as its interpreter. A static
# program has no loader to be replaced: then the program itself runs in the container.
plant_script() {
	local loader

	loader=$(loader_of "$NAIVE")
	mkdir -p "$BUNDLE/rootfs${loader%/*}"
	cp "$SBX_TEST_BIN/interpreter" "$BUNDLE/rootfs$loader"
	printf '#!/proc/self/exe\n' >"$BUNDLE/rootfs/script"
	chmod 755 "$BUNDLE/rootfs/script"
}

# A program whose ELF interpreter is "itself".
plant_interpreter() {
	local loader padded

	loader=$(loader_of "$NAIVE")
	padded=$(printf "/proc/self/exe%$((${#loader} - 14))s" '' | sed 's/ /\\x00/g')
	sed "0,\\|$loader|s|$loader|$padded|" "$NAIVE" >"$BUNDLE/rootfs/interpreted"
	chmod 755 "$BUNDLE/rootfs/interpreted"
}

has_loader() {
	[ -n "$(loader_of "$SBX_RUNTIME")" ]
}

# assert_script_failed: the container's script got no further than to the read-only program.
assert_script_failed() {
	if has_loader; then
		assert_same 'the attack' EROFS "$(script_found)"
	else
		wait_until 15 grep -q 'unknown verb' "$BATS_TEST_TMPDIR/stderr"
	fi
}

script_found() {
	wait_until 15 grep -q . "$BATS_TEST_TMPDIR/stdout"
	cat "$BATS_TEST_TMPDIR/stdout"
}

@test 'attack 13: a script overwrites a runtime without a defence' {
	plant_script
	"$NAIVE" enter "$BUNDLE/rootfs" /script >"$BATS_TEST_TMPDIR/stdout" 3>&-
	assert_same 'the attack' ok "$(script_found)"
	grep -q 'overwritten by the intruder' "$NAIVE"
}

# Under a profile the script's interpreter, which lies outside of the view, is not even started: by Landlock, without
# which it fails as in a plain bundle.
@test 'attack 13: a script as the first process' {
	plant_script
	set_args /script
	create_container
	run_sbx start "$ID"
	assert_status 0
	assert_script_failed
	sbx delete --force "$ID"
	use_profile
	create_container
	run_sbx start "$ID"
	if [ "$(landlock_is_there)" = true ]; then
		assert_error 'permission denied'
	else
		assert_status 0
		assert_script_failed
	fi
	unchanged "$ORIGINAL" "$SBX_RUNTIME"
}

@test 'attack 13: a script as a further process' {
	plant_script
	start_sleeper
	sbx_detached exec --detach "$ID" /script
	assert_status 0
	assert_script_failed
	sbx delete --force "$ID"
	use_profile
	start_sleeper
	run_sbx exec "$ID" /script
	if [ "$(landlock_is_there)" = true ]; then
		assert_error 'permission denied' 255
	else
		assert_error 'unknown verb'
	fi
	unchanged "$ORIGINAL" "$SBX_RUNTIME"
}

@test 'attack 13: an ELF interpreter' {
	plant_interpreter
	set_args /interpreted
	run_container
	[ "$status" != 0 ]
	use_profile
	run_container
	[ "$status" != 0 ]
	unchanged "$ORIGINAL" "$SBX_RUNTIME"
}

# start_watcher: the first process looks at every other and writes to every program it finds.
start_watcher() {
	rm -f "$WS/stop"
	set_args intruder watch /workspace/stop /bin/intruder /bin/busybox /interpreted
	create_container
	run_sbx start "$ID"
	assert_status 0
	wait_until 10 grep -q watching "$BATS_TEST_TMPDIR/stdout"
	cp "$BATS_TEST_TMPDIR/stdout" "$BATS_TEST_TMPDIR/before"
}

stop_watcher() {
	touch "$WS/stop"
	wait_until 10 status_is stopped
	findings=$(tail -n +2 "$BATS_TEST_TMPDIR/stdout" | sort -u)
	sbx delete --force "$ID"
}

@test 'attack 13: a watcher overwrites a runtime without a defence that joins the container' {
	local round

	start_watcher
	for ((round = 0; round < 10; round++)); do
		"$NAIVE" join "$(container_pid)" /bin/true 3>&- || true
	done
	stop_watcher
	grep -qx 'exe ok' <<<"$findings"
	grep -q 'overwritten by the intruder' "$NAIVE"
}

watch_rounds() {
	local round rounds=$1

	plant_script
	plant_interpreter
	start_watcher
	for ((round = 0; round < rounds; round++)); do
		case $((round % 4)) in
		2) sbx exec --detach "$ID" /script || true ;;
		3) sbx exec "$ID" /interpreted || true ;;
		*) sbx exec "$ID" /bin/true ;;
		esac </dev/null >/dev/null 2>&1
	done
	stop_watcher
	printf '%s\n' "$findings"
	refute grep -qx 'exe ok' <<<"$findings"
	unchanged "$ORIGINAL" "$SBX_RUNTIME"
}

@test 'attack 13: a watcher with every capability against exec' {
	watch_rounds "${SBX_TEST_ROUNDS:-40}"
}

@test 'attack 13: the same under a profile' {
	use_profile
	watch_rounds $((${SBX_TEST_ROUNDS:-40} / 4))
}
