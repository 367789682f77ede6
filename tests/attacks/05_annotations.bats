# Attack 5: an image's annotations reach config.json. They may narrow what an administrator set, never
# widen it, and never stand for a profile that is required.
load ../bats/helpers
load attacks

setup() {
	require_root
	settings_setup
}

teardown() {
	was_set_up || return 0
	helpers_teardown
	umount /mnt
}

# The administrator's profile: only the workspace is writable, no network.
admin() {
	default_profile | jq -c .
}

# The image's: everything, as far as a sandbox goes.
WIDE='{version: 1, workspace: {root: "/workspace", read: "allow", write: "allow"},
	host: {read: "allow", write: "allow"}, network: {access: "allow"}, command: "allow"}'
UNCONFINED='{version: 1, workspace: {root: "/workspace", read: "allow", write: "allow"},
	host: {read: "allow", write: "allow"}, network: {access: "allow"}, command: "allow",
	home: "real", isolation: "unconfined", ackUnconfined: true}'

image_says() {
	set_annotation dev.sbx.profile "$(jq -nc "$1")"
}

WRITE='echo x 2>/dev/null > /etc/written && echo written; ls /sys/class/net | xargs'

# What WRITE says in a container that only the administrator's profile confines.
confined() {
	assert_status 0
	assert_output lo
}

@test 'attack 5: no admin source: the annotation is the profile, and says so' {
	image_says "$WIDE"
	set_script "$WRITE"
	run_with_settings
	assert_status 0
	assert_line written
	report_with_settings
	report_says '.sources == ["annotation:inline"] and .guarantees.writeBoundary == false'
}

@test 'attack 5: no admin source: unconfined by annotation needs a ceiling' {
	image_says "$UNCONFINED"
	set_script "$WRITE"
	run_with_settings
	assert_error unconfined
	settings '{ceiling: '"$UNCONFINED"'}'
	run_with_settings
	assert_status 0
	assert_line written
}

@test 'attack 5: a default profile: the annotation does not replace it' {
	set_script "$WRITE"
	run_with_settings
	assert_line written # the control: nothing confines
	settings '{defaultProfile: $p}' --argjson p "$(admin)"
	run_with_settings
	confined
	image_says "$WIDE"
	run_with_settings
	confined
	image_says "$UNCONFINED"
	run_with_settings
	if [ "$status" = 0 ]; then
		confined
	else
		assert_error unconfined
	fi
}

@test 'attack 5: a default profile: the annotation may narrow it' {
	settings '{defaultProfile: $p}' --argjson p "$(admin)"
	image_says "$WIDE | .workspace.write = \"deny\""
	set_script 'echo x 2>/dev/null > /workspace/f || echo refused'
	run_with_settings
	assert_output refused
	report_with_settings
	report_says '.sources == ["annotation:inline", "default"]'
}

@test 'attack 5: a ceiling: the annotation stays below it' {
	set_script "$WRITE"
	settings '{ceiling: $p}' --argjson p "$(admin)"
	run_with_settings
	confined
	for profile in "$WIDE" "$UNCONFINED"; do
		image_says "$profile"
		run_with_settings
		confined
	done
	report_with_settings
	report_says '.sources == ["annotation:inline", "ceiling"]'
}

@test 'attack 5: a required profile: an inline annotation is none' {
	set_script "$WRITE"
	settings '{requireProfile: true}'
	run_with_settings
	assert_error 'requires a profile'
	for profile in "$WIDE" "$WIDE | .host.write = \"deny\"" "$UNCONFINED"; do
		image_says "$profile"
		run_with_settings
		assert_status 1
		assert_stderr 'requires a profile'
	done
	set_annotation dev.sbx.profile "b64:$(jq -nc "$WIDE" | base64 -w0 | tr -d = | tr +/ -_)"
	run_with_settings
	assert_error 'requires a profile'
	admin >"$BATS_TEST_TMPDIR/flag.json"
	run_sbx --config "$SETTINGS" run --profile "$BATS_TEST_TMPDIR/flag.json" --bundle "$BUNDLE" "$ID"
	confined
}

@test 'attack 5: a required profile: the ceiling satisfies it, the annotation does not widen that' {
	settings '{requireProfile: true, ceiling: $p}' --argjson p "$(admin)"
	image_says "$WIDE"
	set_script "$WRITE"
	run_with_settings
	confined
}

@test 'attack 5: annotations that are to be ignored are' {
	settings '{annotations: "ignore", ceiling: $p}' --argjson p "$(admin)"
	image_says "$WIDE | .workspace.write = \"deny\""
	set_annotation dev.sbx.workspace /etc
	set_script "$WRITE; echo x >/workspace/f && echo workspace"
	run_with_settings
	assert_status 0
	assert_output $'lo\nworkspace'
}

# ceiling_without_root: as the administrator's profile, but the workspace is left to the bundle.
ceiling_without_root() {
	settings '{ceiling: ($p | del(.workspace.root))}' --argjson p "$(admin)"
}

@test 'attack 5: dev.sbx.workspace names no folder that the bundle does not mount' {
	ceiling_without_root
	set_annotation dev.sbx.workspace /etc
	set_script "$WRITE"
	run_with_settings
	assert_status 1
	assert_stderr workspace
	[ ! -e "$BUNDLE/rootfs/etc/written" ]
	set_annotation dev.sbx.workspace /workspace
	run_with_settings
	confined
	set_script 'echo x >/workspace/f && echo workspace'
	run_with_settings
	assert_output workspace
}

@test 'attack 5: dev.sbx.workspace is refused in every other spelling' {
	local path

	ceiling_without_root
	set_args true
	for path in / /workspace/../etc //etc /workspace/ '' etc /proc /sys /dev; do
		set_annotation dev.sbx.workspace "$path"
		run_with_settings
		assert_status 1
	done
	assert_no_leaks
}

@test 'attack 5: dev.sbx.workspace does not move the workspace of a profile that names one' {
	mkdir "$BATS_TEST_TMPDIR/other"
	bind_mount "$BATS_TEST_TMPDIR/other" /other
	settings '{ceiling: $p}' --argjson p "$(admin)"
	set_annotation dev.sbx.workspace /other
	set_script 'echo x 2>/dev/null >/other/f || echo refused; echo y >/workspace/f && echo workspace'
	run_with_settings
	assert_output $'refused\nworkspace'
}

@test 'attack 5: settings that others may write are not trusted' {
	settings '{ceiling: $p}' --argjson p "$(admin)"
	set_args true
	run_with_settings
	assert_status 0
	chmod 666 "$SETTINGS"
	run_with_settings
	assert_status 1
	assert_stderr "$SETTINGS"
}

# ---- the container of a pod's sandbox --------------------------------------------------------------

# says_sandbox ID: what both managers write, and what an image may bring
says_sandbox() {
	set_annotation io.kubernetes.cri.container-type sandbox
	set_annotation io.kubernetes.cri-o.ContainerType sandbox
	set_annotation io.kubernetes.cri.sandbox-id "$1"
	set_annotation io.kubernetes.cri-o.SandboxID "$1"
}

# pause_bundle: as the managers make it, with a profile for the pod that denies reading
pause_bundle() {
	edit_config '.root.readonly = true | .mounts |= map(select(.destination != "/workspace"))'
	touch "$BUNDLE/rootfs/etc/resolv.conf" "$BATS_TEST_TMPDIR/resolv.conf"
	bind_mount "$BATS_TEST_TMPDIR/resolv.conf" /etc/resolv.conf ro
	use_profile '.host.read = "deny" | .command = "allow"'
	says_sandbox "$ID"
	echo 'of the image' >"$BUNDLE/rootfs/marker"
}

@test 'attack 5: an image that says it is the sandbox of a pod is let off nothing' {
	use_profile '.host.read = "deny"'
	set_script 'cat /marker; echo x 2>/dev/null >/etc/written && echo written; echo x >/workspace/f && echo workspace'
	echo 'of the image' >"$BUNDLE/rootfs/marker"
	for id in '' "$(printf '%064d' 0)" "$ID"; do # the last is for the workspace's sake
		says_sandbox "$id"
		run_with_settings
		assert_status 0
		assert_output workspace
		report_with_settings
		report_says ".guarantees.readBoundary == $(landlock_is_there)"
		report_says '.sources == ["annotation:inline"] and all(.entries[]; .feature != "podSandbox")'
	done
	# the control: without the profile it does all of that
	no_profile
	run_with_settings
	assert_output $'of the image\nwritten\nworkspace'
}

@test 'attack 5: the sandbox of a pod runs, and its report says what does not hold' {
	pause_bundle
	set_script 'cat /marker; echo x 2>/dev/null >/etc/written && echo written
		ls /sys/class/net | xargs; exec sleep 1000'
	create_container
	run_sbx report "$ID"
	report_says '.level == "none" and .asked.readBoundary and (.guarantees.readBoundary | not)
		and .guarantees.networkBoundary
		and any(.entries[]; .feature == "podSandbox" and .outcome == "unenforced"
			and (.detail | contains("annotation:inline")))'
	report_says ".guarantees.writeBoundary == $(landlock_is_there)"
	run_sbx start "$ID"
	assert_status 0
	wait_until 5 grep -q lo "$BATS_TEST_TMPDIR/stdout"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/stdout")" $'of the image\nlo'
	run_sbx exec "$ID" cat /marker
	assert_output 'of the image'
	sbx delete --force "$ID"
	# the control: by any other name it reads nothing
	says_sandbox other
	set_script 'cat /marker 2>/dev/null || echo unread'
	run_container
	assert_status 0
	assert_output unread
}

@test 'attack 5: a profile that insists is refused for the sandbox of a pod, and not weakened' {
	pause_bundle
	set_args true
	run_container
	assert_status 0
	use_profile '.host.read = "deny" | .require = ["readBoundary"]'
	run_container
	assert_error 'podSandbox'
	use_profile '.host.read = "deny" | .minLevel = "degraded"'
	run_container
	assert_error 'podSandbox'
	use_profile '.require = ["writeBoundary", "networkBoundary"] | .minLevel = "full"'
	run_container
	if [ "$(landlock_is_there)" = true ]; then
		assert_status 0
	else
		assert_error 'writeBoundary is not enforced: landlock'
	fi
}

@test 'attack 5: the profile of the flag holds in full for the sandbox of a pod' {
	pause_bundle
	set_script 'cat /marker 2>/dev/null || echo unread'
	run_container
	assert_output 'of the image'
	no_profile
	default_profile | jq '.host.read = "deny"' >"$BATS_TEST_TMPDIR/flag.json"
	run_container --profile "$BATS_TEST_TMPDIR/flag.json"
	assert_status 0
	assert_output unread
}
