# Loaded by the attack tests and the profile tests behind helpers: a bundle with a workspace of the
# host, and profiles.

: "${SBX_TEST_BIN:?}"

# attack_setup: the bundle's rootfs has the program `attack`; $WS is a host folder, bound on
# /workspace.
attack_setup() {
	WS=$BATS_TEST_TMPDIR/ws
	mkdir -p "$WS"
	cp "$SBX_TEST_BIN/attack" "$BUNDLE/rootfs/bin/attack"
	bind_mount "$WS" /workspace
}

# settings_setup: an administrator's file, $SETTINGS; the test's teardown unmounts /mnt. Settings are
# trusted only below folders that nobody else may write, which /tmp is not.
settings_setup() {
	mount -t tmpfs -o mode=755 settings /mnt
	helpers_setup
	attack_setup
	SETTINGS=/mnt/settings.json
	settings '{}'
}

# settings JSON [jq options]
settings() {
	local filter=$1

	shift
	jq -n "$filter" "$@" >"$SETTINGS"
}

run_with_settings() {
	run_sbx --config "$SETTINGS" run --bundle "$BUNDLE" "$ID"
}

report_with_settings() {
	run_sbx --config "$SETTINGS" report --bundle "$BUNDLE"
	assert_status 0
}

# bind_mount SOURCE DESTINATION [OPTION...]
bind_mount() {
	local source=$1 destination=$2

	shift 2
	edit_config '.mounts += [{destination: $d, type: "bind", source: $s,
		options: (["rbind"] + $ARGS.positional)}]' \
		--arg s "$source" --arg d "$destination" --args -- "$@"
}

# all_capabilities: as `podman run --cap-add ALL` would have it.
# shellcheck disable=SC2046 # names without blanks
all_capabilities() {
	edit_config '.process.capabilities = ($ARGS.positional |
		{bounding: ., effective: ., permitted: ., inheritable: []})' --args -- \
		$(all_capability_names)
}

all_capability_names() {
	printf 'CAP_%s\n' CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP \
		LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER \
		SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE \
		SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP \
		MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF \
		CHECKPOINT_RESTORE
}

# The profile that most tests begin with: the workspace, the rest readable, no network.
default_profile() {
	jq -nc '{version: 1, workspace: {root: "/workspace", read: "allow", write: "allow"},
		host: {read: "allow", write: "deny"}, network: {access: "deny"}, command: "allow"}'
}

# use_profile [FILTER [jq options]]: the default profile, changed, as the bundle's annotation.
use_profile() {
	local filter=${1:-.}

	[ $# = 0 ] || shift
	set_annotation dev.sbx.profile "$(default_profile | jq -c "$filter" "$@")"
}

no_profile() {
	edit_config 'del(.annotations["dev.sbx.profile"])'
}

# run_script TEXT: runs it in a container; what it prints is $output and its errors $stderr.
run_script() {
	set_script "$1"
	run_container
}

# run_with_and_without TEXT: $without is what it prints as a plain bundle, $with under the profile
# that the bundle has. Both must run to a normal end.
run_with_and_without() {
	local profile

	profile=$(jq -r '.annotations["dev.sbx.profile"]' "$BUNDLE/config.json")
	no_profile
	run_script "$1"
	assert_status 0
	without=$output
	set_annotation dev.sbx.profile "$profile"
	run_script "$1"
	assert_status 0
	with=$output
}

# assert_same NAME WANTED FOUND
assert_same() {
	if [ "$2" != "$3" ]; then
		printf '%s: wanted\n%s\nfound\n%s\n' "$1" "$2" "$3" >&2
		return 1
	fi
}

# report_of: the report of the bundle as it would be, in $output.
report_of() {
	run_sbx report --bundle "$BUNDLE"
	assert_status 0
}

# report_says FILTER: jq on $output is true.
report_says() {
	if ! jq -e "$1" <<<"$output" >/dev/null; then
		printf 'the report lacks %s:\n%s\n' "$1" "$output" >&2
		return 1
	fi
}

# landlock_is_there: "true", or "false" where the whole run is one without it (SBX_WITHOUT)
landlock_is_there() {
	[ "${SBX_WITHOUT:-}" = landlock ] && echo false || echo true
}

# file_boundary NAME: what a profile may require of it
file_boundary() {
	[ "$(landlock_is_there)" = true ] && printf '["%s"]' "$1" || printf '[]'
}

# boundaries_need_landlock: without it the report of a profile gives no boundary of files, and what requires one is
# refused
boundaries_need_landlock() {
	use_profile
	report_of
	report_says '(.guarantees.writeBoundary | not) and (.guarantees.readBoundary | not) and .level == "none" and
		(.entries[] | select(.feature == "landlock").outcome == "unenforced")'
	use_profile '.require = ["writeBoundary"]'
	run_container
	assert_error 'writeBoundary is not enforced: landlock'
}

# verify_unproved: what is not proved in the report --verify in $output, one line each
verify_unproved() {
	jq -r '.verify.guarantees | to_entries[] | .key as $k | .value.evidence[] | select(.proved | not) |
		"\($k): \(.mechanism): \(.probe): \(.control), \(.outcome): \(.reason)"' <<<"$output"
}

# adversary_setup: a bundle with every capability and the program `adversary`, under the default profile
adversary_setup() {
	helpers_setup
	attack_setup
	cp "$SBX_TEST_BIN/adversary" "$BUNDLE/rootfs/bin/adversary"
	all_capabilities
	use_profile
}

# tries WITHOUT WITH TEXT: what TEXT prints under the bundle's profile, and after that, as the control, without
tries() {
	run_script "$3"
	assert_status 0
	assert_same 'under the profile' "$2" "$output"
	no_profile
	run_script "$3"
	assert_status 0
	assert_same 'control' "$1" "$output"
}
