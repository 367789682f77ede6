# @git: work in a repository goes on, what git would run or believe stays as it is; host git is unharmed.
load helpers
load git
load ../attacks/attacks

setup() {
	require_root
	private_journal
	helpers_setup
	git_setup
}

teardown() {
	helpers_teardown
	umount /var/lib
}

@test 'normal work: commit, branch, stash, merge, gc, a working tree more' {
	make_repository
	inside 'set -e
		echo two >file; git commit -qam two; git checkout -qb side; echo three >file
		git stash -q; git stash pop -q; git commit -qam three; git checkout -q main
		git merge -q side; git gc -q; git rebase -q HEAD~1; git worktree add -q tree -b tree
		git tag v1; git status --short; git log --format=%s'
	assert_status 0
	assert_output $'?? tree/\nthree\ntwo\none'
	assert_same 'on the host' $'three\ntwo\none' "$(git log --format=%s)"
	git fsck
	git config a.b c
	assert_same 'no placeholder is left' '' "$(find .git -name 'commondir' -path .git/commondir; find . -name '.sbx-*')"
	assert_same 'nor a note of one' '' "$(journal)"
}

@test 'what is refused says so in the words of git' {
	make_repository
	inside 'git config a.b c'
	assert_status 4
	assert_stderr 'could not write config file'
	inside 'git remote add origin /x'
	[ "$status" != 0 ]
	assert_stderr "could not set 'remote.origin.url'"
	inside 'git sparse-checkout set x'
	[ "$status" != 0 ]
	git config a.b c # control
	git remote add origin /x
	assert_same 'the configuration' c "$(git config a.b)"
}

# On each line what could be done.
TRIES='try() { name=$1; shift; "$@" 2>/dev/null && echo "$name"; true; }
	put() { mkdir -p "$(dirname "$1")" && echo "$2" >"$1"; }
	swap() { mv "$1" "$1.x" && mv "$1.x" "$1"; }
	for f in hooks/pre-commit config config.worktree commondir; do try "write $f" put .git/$f x; done
	for f in hooks config; do try "move $f" swap .git/$f; done
	try "move git" swap .git
	try "beside" put .git/beside x'

@test 'hooks, configuration and what leads to them; also where they are absent' {
	make_repository
	inside "$TRIES"
	assert_output beside
	rm -r .git/hooks
	inside "$TRIES"
	assert_output beside
	assert_same 'absent again' 0 "$(find .git -name hooks -o -name 'config.*' | grep -c .)"
	echo '{"version": 1, "workspace": {"read": "allow", "write": "allow"}, "command": "allow"}' >../open
	run_sbx run --profile ../open -- sh -c "$TRIES" # control
	assert_output $'write hooks/pre-commit\nwrite config\nwrite config.worktree\nwrite commondir\nmove hooks\nmove config\nmove git\nbeside'
}

@test 'host git works while a container keeps its names' {
	make_repository
	"$SBX_RUNTIME" --root "$ROOT" run -- sh -c 'echo >started; exec sleep 100' 3>&- &
	pid=$!
	wait_until 5 test -e started
	[ -e .git/commondir ]
	assert_same 'what stands there' . "$(cat .git/commondir)"
	rm started
	echo two >file
	git commit -qam two
	git checkout -qb other
	git worktree add -q ../wt -b wt
	assert_same 'the list' 2 "$(git worktree list | wc -l)"
	git -C ../wt commit -q --allow-empty -m wt
	git gc -q
	git status --short
	kill $pid
	wait $pid || true
	[ ! -e .git/commondir ]
	assert_same 'the log' $'two\none' "$(git log --format=%s)"
	git worktree remove ../wt
}

@test 'host git writes its configuration: the new file is closed as well' {
	make_repository
	"$SBX_RUNTIME" --root "$ROOT" run -- sh -c 'echo >started; until [ -e go ]; do sleep 0.05; done
		sleep 0.5; for f in config commondir; do echo x 2>/dev/null >.git/$f && echo $f; done; git config a.b' \
		>"$BATS_TEST_TMPDIR/out" 2>/dev/null 3>&- &
	pid=$!
	wait_until 5 test -e started
	git config a.b c
	touch go
	wait $pid
	assert_same 'what was written' c "$(cat "$BATS_TEST_TMPDIR/out")"
	assert_same 'on the host' c "$(git config a.b)"
}

@test 'two containers in one repository: each has its names, the last one removes them' {
	make_repository
	"$SBX_RUNTIME" --root "$ROOT" run -- sh -c 'echo >started; until [ -e go ]; do sleep 0.05; done
		echo x 2>/dev/null >.git/commondir && echo wrote; git status --short' >"$BATS_TEST_TMPDIR/out" 3>&- &
	pid=$!
	wait_until 5 test -e started
	inside 'echo x 2>/dev/null >.git/commondir && echo wrote; git commit -q --allow-empty -m second'
	assert_status 0
	assert_output ''
	assert_same 'still there' . "$(cat .git/commondir)"
	touch go
	wait $pid
	assert_same 'the first' $'?? go\n?? started' "$(cat "$BATS_TEST_TMPDIR/out")"
	[ ! -e .git/commondir ] && [ ! -e .git/config.worktree ]
	assert_same 'the journal' '' "$(journal)"
}

@test 'linked working trees, submodules, and folders that core.hooksPath and includes name' {
	make_repository ../lib
	make_repository
	git submodule --quiet add ../lib deps/lib
	git commit -qm deps
	git worktree add -q tree -b tree
	git config core.hooksPath .githooks
	git config include.path ../extra
	inside 'put() { mkdir -p "$(dirname "$1")"; echo x 2>/dev/null >"$1" && echo "$1"; }
		put .githooks/pre-commit; put tree/.githooks/pre-commit; put extra
		for f in .git/modules/deps/lib/config .git/modules/deps/lib/hooks/pre-commit \
			.git/modules/deps/lib/commondir .git/modules/deps/lib/config.worktree \
			.git/worktrees/tree/commondir .git/worktrees/tree/gitdir \
			.git/worktrees/tree/config.worktree tree/.git deps/lib/.git; do put $f; done
		mv deps away 2>/dev/null && echo moved; mv .git/modules .git/y 2>/dev/null && echo moved
		put tree/file; put deps/lib/file; put .git/modules/deps/lib/index.x
		git -C deps/lib commit -qam inner && git -C tree commit -qam outer && echo committed'
	assert_output $'tree/file\ndeps/lib/file\n.git/modules/deps/lib/index.x\ncommitted'
	[ ! -e .githooks ] && [ ! -e extra ] && [ ! -e tree/.githooks ]
	git status --short
	git -C deps/lib status
	git submodule status
}

@test 'a workspace that is a linked working tree, or has no repository, or a bare one' {
	make_repository "$BATS_TEST_TMPDIR/main"
	rmdir "$WS"
	git -C "$BATS_TEST_TMPDIR/main" worktree add -q "$WS"
	cd "$WS" || return
	inside 'echo x 2>/dev/null >.git && echo wrote; mv .git y 2>/dev/null && echo moved; echo x >file'
	assert_output ''
	cd .. && git -C main worktree remove --force "$WS" && mkdir "$WS" && cd "$WS" || return
	inside 'git init -q . && git add -A && git commit -q --allow-empty -m first && git log --format=%s'
	assert_status 0
	assert_output first
	rm -rf .git && git init -q --bare .
	inside 'echo x 2>/dev/null >config && echo wrote; echo x 2>/dev/null >commondir && echo made; git rev-parse --is-bare-repository'
	assert_output true
	assert_same 'left' 0 "$(find . -maxdepth 1 -name commondir | wc -l)"
}

@test 'links, and a repository with another working tree, refuse by name' {
	make_repository
	mv .git/hooks real && ln -s ../real .git/hooks
	inside true
	assert_error '".git/hooks" is a symbolic link' || assert_error '/.git/hooks" is a symbolic link'
	rm .git/hooks && mkdir .git/hooks
	git config core.worktree "$BATS_TEST_TMPDIR"
	inside true
	assert_error 'core.worktree is another folder'
	assert_same 'nothing is left' '' "$(journal)"
	git config --unset core.worktree
	mv .git ../other && ln -s ../other .git
	inside true
	assert_error '/.git" is a symbolic link'
	rm .git && mv ../other .git
	inside true # control
	assert_status 0
}

@test 'the report says what is not covered' {
	attack_setup
	use_profile '.protect = ["@git"]'
	report_of
	report_says '.entries[] | select(.feature == "protect[0].write") | .outcome == "narrowed" and
		(.detail | contains("nested ones that it does not list"))'
	use_profile '.protect = ["@git"] | .workspace.write = "deny"' # nothing to keep
	report_of
	report_says '[.entries[] | select(.feature == "protect[0].write")] == []'
}
