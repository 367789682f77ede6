# Attack 23: placeholders that the host's user fills, swaps or holds open; a crash and a reboot.
load ../bats/helpers
load ../bats/git
load attacks

setup() {
	require_root
	private_journal
	helpers_setup
	attack_setup
	use_profile '.protect = [".envrc", ".vscode/tasks.json"]'
	set_args sleep 1000
}

teardown() {
	helpers_teardown
	umount /var/lib
}

left() {
	ls -A "$WS" | tr '\n' ' '
}

# reboot: what a reboot takes, and no more
reboot() {
	kill -9 "$(container_pid)"
	wait_until 5 status_is stopped
	rm -rf "${ROOT:?}/$ID"
	remove_cgroup_parents
}

@test 'attack 23: control: untouched they go' {
	create_container
	assert_same 'while it lives' '.envrc .vscode ' "$(left)"
	sbx delete --force "$ID"
	assert_same 'afterwards' '' "$(left)"
}

@test 'attack 23: what the user put in stays' {
	create_container
	echo mine >"$WS/.envrc"
	echo mine >"$WS/.vscode/tasks.json"
	sbx delete --force "$ID"
	assert_same 'the file' mine "$(cat "$WS/.envrc")"
	assert_same 'the folder' mine "$(cat "$WS/.vscode/tasks.json")"
	assert_same 'and no more' '.envrc .vscode ' "$(left)"
	assert_same 'nor a note' '' "$(journal)"
}

@test 'attack 23: what the user put in its place stays' {
	create_container
	rm "$WS/.envrc"
	: >"$WS/.envrc" # as empty as ours was
	mv "$WS/.vscode" "$WS/moved"
	mkdir "$WS/.vscode"
	sbx delete --force "$ID"
	assert_same 'left' '.envrc .vscode moved ' "$(left)"
	rm -r "$WS"/.envrc "$WS"/.vscode "$WS"/moved
	create_container
	rm "$WS/.envrc"
	ln -s /etc/passwd "$WS/.envrc"
	rmdir "$WS/.vscode"
	ln -s /etc "$WS/.vscode"
	sbx delete --force "$ID"
	assert_same 'left' '.envrc .vscode ' "$(left)"
	[ -s /etc/passwd ]
}

@test 'attack 23: the folder above is another one now' {
	mkdir "$WS/sub"
	use_profile '.protect = ["sub/name"]'
	create_container
	mv "$WS/sub" "$WS/old"
	mkdir "$BATS_TEST_TMPDIR/else"
	: >"$BATS_TEST_TMPDIR/else/name"
	ln -s "$BATS_TEST_TMPDIR/else" "$WS/sub"
	sbx delete --force "$ID"
	[ -e "$BATS_TEST_TMPDIR/else/name" ]
}

@test 'attack 23: a file that is still open for writing waits, and nothing written is lost' {
	create_container
	exec 7>>"$WS/.envrc"
	sbx delete --force "$ID"
	assert_same 'it is there' '.envrc ' "$(left)"
	assert_same 'and noted' 1 "$(journal | wc -l)"
	echo late >&7
	exec 7>&-
	run_sbx doctor --repair
	assert_status 0
	assert_same 'what was written' late "$(cat "$WS/.envrc")"
	assert_same 'no note' '' "$(journal)"
}

@test 'attack 23: a reboot: the store is gone, the next command sweeps' {
	create_container
	reboot
	assert_same 'left' '.envrc .vscode ' "$(left)"
	run_sbx doctor --repair
	assert_status 0
	assert_output 'placeholders: 2 removed, 0 left'
	assert_same 'repaired' '' "$(left)"

	create_container
	reboot
	use_profile '.protect = ["other"]'
	set_args true
	run_container
	assert_status 0
	assert_same 'swept by the next run' '' "$(left)"
}

@test 'attack 23: an id that is used again is another container' {
	create_container
	reboot
	no_profile
	create_container
	run_sbx doctor --repair
	assert_output 'placeholders: 2 removed, 0 left'
	sbx delete --force "$ID"
}

@test 'attack 23: a journal that is damaged removes nothing' {
	create_container
	for name in $(journal); do
		echo garbage >"/var/lib/sbx-runtime/$name"
	done
	run_sbx delete --force "$ID"
	assert_status 0
	assert_same 'left' '.envrc .vscode ' "$(left)"
	rm -r "$WS"/.envrc "$WS"/.vscode /var/lib/sbx-runtime/*
}
