# Attack 12: every rule of the filter, with rubbish in the high words, on every machine of this kernel.
# x32 and aarch64 are asked by the interpreter in tests/unit/test_seccomp_floor.c.
load ../bats/helpers
load attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	all_capabilities
	use_profile
}

# What a rule answers: EPERM but for the few that programs must be able to fall back from.
refusal() {
	case $1 in
	clone3 | openat2 | socketcall | ipc | unknown) echo ENOSYS ;;
	socket.*) echo EAFNOSUPPORT ;;
	*) echo EPERM ;;
	esac
}

# assert_refused LEAST LINES: of that many calls at least, each got its rule's answer
assert_refused() {
	local name machine result bad='' rules=0

	while read -r name machine result; do
		rules=$((rules + 1))
		[ "$result" = "$(refusal "$name")" ] || bad+="$name $machine $result"$'\n'
	done <<<"$2"
	[ "$rules" -ge "$1" ]
	assert_same 'wrong answers' '' "$bad"
}

@test 'attack 12: each rule refuses, and without the profile the kernel answers otherwise' {
	local name machine result bad=''

	run_with_and_without 'attack matrix'
	assert_refused 100 "$with"
	while read -r name machine result; do
		[ "$name" = unknown ] && continue
		[ "$name:$result" = "${SBX_WITHOUT:-}:ENOSYS" ] && continue # of the whole run
		[ "$result" != "$(refusal "$name")" ] || bad+="without: $name $machine $result"$'\n'
	done <<<"$without"
	assert_same 'wrong answers without' '' "$bad"
}

@test 'attack 12: threads start all the same' {
	run_with_and_without 'attack threads'
	assert_same 'control' ok "$without"
	assert_same 'under the profile' ok "$with"
}

# of the tests themselves
outer_filters() {
	grep Seccomp_filters /proc/self/status | tr -dc 0-9
}

@test 'attack 12: the bundle filter and the floor are both there' {
	local outer

	outer=$(outer_filters)
	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW",
		syscalls: [{names: ["sethostname"], action: "SCMP_ACT_ERRNO", errnoRet: 44}]}'
	run_with_and_without 'grep Seccomp_filters /proc/self/status | tr -dc 0-9; echo;
		hostname x 2>/dev/null || echo refused'
	assert_same 'control' "$((outer + 1))"$'\nrefused' "$without"
	assert_same 'under the profile' "$((outer + 2))"$'\nrefused' "$with"
}

@test 'attack 12: a bundle that filters seccomp itself does not lose the floor' {
	edit_config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW",
		syscalls: [{names: ["seccomp", "prctl"], action: "SCMP_ACT_ERRNO"}]}'
	run_script 'grep Seccomp_filters /proc/self/status | tr -dc 0-9'
	assert_status 0
	assert_output "$(($(outer_filters) + 2))"
}

@test 'attack 12: a further process is filtered as well' {
	start_sleeper
	run_sbx exec "$ID" sh -c 'attack matrix | grep -E "^(ptrace|mount|clone3) "'
	assert_status 0
	assert_refused 6 "$output"
}
