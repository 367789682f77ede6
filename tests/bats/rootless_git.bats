# @git and placeholders of an ordinary user, whose journal lies in his own state folder.
load helpers
load git

setup() {
	helpers_setup
	git_setup
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
}

@test 'rootless: normal work in a repository; hooks and configuration stay; nothing is left' {
	make_repository
	inside 'set -e
		echo two >file; git commit -qam two; git checkout -qb side; git stash -q 2>/dev/null || true
		git checkout -q main; git merge -q side; git gc -q; git log --format=%s; set +e
		for f in hooks/pre-commit config config.worktree commondir; do echo x 2>/dev/null >.git/$f && echo $f; done
		mv .git x 2>/dev/null && echo moved; true'
	assert_status 0
	assert_output $'two\none'
	assert_same() { [ "$2" = "$3" ] || { echo "$1: $2, $3" >&2; return 1; }; }
	assert_same left '' "$(find .git -maxdepth 1 -name 'commondir' -o -maxdepth 1 -name 'config.*')"
	[ -z "$(journal)" ]
	git fsck
}

@test 'rootless: a protected name that is absent' {
	jq -n '{version: 1, workspace: {read: "allow", write: "allow"}, command: "allow",
		protect: [".envrc", ".vscode/tasks.json"]}' >"$BATS_TEST_TMPDIR/profile"
	run_sbx run --profile "$BATS_TEST_TMPDIR/profile" -- sh -c 'stat -c "%F %a" .envrc .vscode
		echo x 2>/dev/null >.envrc && echo wrote; mkdir .vscode/x 2>/dev/null && echo made; echo y >other'
	assert_output $'regular empty file 644\ndirectory 755'
	[ "$(ls -A)" = other ]
	[ -z "$(journal)" ]
}

@test 'rootless: without a folder for the journal it is refused, where one is needed' {
	export HOME=/nonexistent
	unset XDG_STATE_HOME
	run_sbx run -- true
	assert_status 0
	make_repository
	run_sbx run -- true
	assert_error 'no folder for the journal'
}
