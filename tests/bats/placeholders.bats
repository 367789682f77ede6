# Protected names that are absent: kept free by an empty object, which goes with the container.
load helpers
load git
load ../attacks/attacks

setup() {
	require_root
	private_journal
	helpers_setup
	attack_setup
}

teardown() {
	helpers_teardown
	umount /var/lib
}

# keeper ID: a container that keeps .envrc and .vscode
keeper() {
	use_profile '.protect = [".envrc", ".vscode/tasks.json", ".vscode/launch.json"]'
	set_args sleep 1000
	edit_config '.linux.cgroupsPath = $c' --arg c "$CGROUP/$1"
	sbx_detached create --bundle "$BUNDLE" "$1"
	assert_status 0
}

ws() {
	(cd "$WS" && find . -mindepth 1 | sort | tr '\n' ' ')
}

@test 'what is absent is not made, in no part, and is absent again' {
	local script='cd /workspace; echo x 2>/dev/null >.envrc && echo envrc; rm -f .envrc 2>/dev/null && echo removed
		mkdir .vscode 2>/dev/null && echo folder; echo x 2>/dev/null >.vscode/tasks.json && echo tasks
		mv .vscode away 2>/dev/null && echo moved; mkdir -p a/b; echo x 2>/dev/null >a/b/c && echo beside; true'

	use_profile '.protect = [".envrc", ".vscode/tasks.json"]'
	run_script "$script"
	assert_status 0
	assert_output beside
	assert_same 'left' './a ./a/b ./a/b/c ' "$(ws)"
	assert_same 'the journal' '' "$(journal)"
	use_profile # control
	run_script "$script"
	assert_output $'envrc\nremoved\nfolder\ntasks\nmoved\nbeside'
}

@test 'two containers: the last one removes' {
	keeper "$ID"
	assert_same 'one' './.envrc ./.vscode ' "$(ws)"
	keeper "$ID-2"
	assert_same 'both' './.envrc ./.vscode ' "$(ws)"
	sbx delete --force "$ID"
	assert_same 'the second' './.envrc ./.vscode ' "$(ws)"
	sbx start "$ID-2"
	run_sbx exec "$ID-2" sh -c 'echo x 2>/dev/null >/workspace/.envrc && echo wrote; mkdir /workspace/.vscode/x'
	[ "$status" != 0 ]
	assert_output ''
	sbx delete --force "$ID-2"
	assert_same 'none' '' "$(ws)"
	assert_same 'the journal' '' "$(journal)"
}

@test 'it belongs to the owner of its folder; what is put in stays' {
	chown 1000:1000 "$WS"
	keeper "$ID"
	assert_same 'who and how' $'1000 644\n1000 755' "$(stat -c '%u %a' "$WS/.envrc" "$WS/.vscode")"
	echo mine >"$WS/.vscode/x"
	sbx delete --force "$ID"
	assert_same 'left' './.vscode ./.vscode/x ' "$(ws)"
}

@test 'a name that git would take for a repository is never kept: refused' {
	for name in .git .git/hooks a/.git/config; do
		use_profile '.protect = [$n]' --arg n "$name"
		mkdir -p "$WS/a"
		run_container
		assert_error 'would be taken for a repository'
	done
	assert_same 'left' './a ' "$(ws)"
}

@test 'a folder that is on no file system of the host: refused' {
	add_mount '{"destination": "/workspace/new", "type": "tmpfs", "source": "tmpfs"}'
	use_profile '.protect = ["new/name"]'
	run_container
	assert_error 'where that folder lies on the host is not known'
}

@test 'a mount that is read-only needs none' {
	edit_config '.mounts[-1].options += ["ro"]'
	use_profile '.protect = [".envrc"]'
	run_script 'echo x 2>/dev/null >/workspace/.envrc && echo wrote; true'
	assert_status 0
	assert_output ''
	assert_same 'left' '' "$(ws)"
}

@test 'create that fails, and a runtime that is killed, leave nothing' {
	local call

	use_profile '.protect = [".envrc", ".vscode/x"]'
	edit_config '.process.args = ["/no/such"]'
	run_container
	assert_status 1
	assert_same 'failed' '' "$(ws)"
	set_args sleep 100
	for call in mkdirat fchown renameat2 landlock_restrict_self; do
		"$SBX_TEST_BIN/kill-at-stage" --syscall $call -- "$SBX_RUNTIME" --root "$ROOT" run \
			--bundle "$BUNDLE" "$ID" >/dev/null 2>&1 </dev/null 3>&- || true
		sbx delete --force "$ID"
		assert_same "killed at $call" '' "$(ws)"
		assert_same 'the journal' '' "$(journal)"
		"$SBX_TEST_BIN/kill-at-stage" --syscall $call --child -- "$SBX_RUNTIME" --root "$ROOT" run \
			--bundle "$BUNDLE" "$ID" >/dev/null 2>&1 </dev/null 3>&- || true
		assert_same "child killed at $call" '' "$(ws)"
		assert_same 'the journal' '' "$(journal)"
	done
}
