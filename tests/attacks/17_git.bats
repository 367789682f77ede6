# Attack 17: what a program leaves in .git, host git must not run; what stands there already must not
# hold up the runtime.
load ../bats/helpers
load ../bats/git
load attacks

setup() {
	require_root
	private_journal
	helpers_setup
	git_setup
	PROOF=$BATS_TEST_TMPDIR/proof
	echo '{"version": 1, "workspace": {"read": "allow", "write": "allow"}, "command": "allow"}' \
		>"$BATS_TEST_TMPDIR/open"
}

teardown() {
	helpers_teardown
	umount /var/lib
}

# plant OPTION...: a shell with $ATTACK inside
plant() {
	run_sbx run "$@" -- sh -c "evil() { mkdir -p \"\$(dirname \"\$1\")\"; printf '#!/bin/sh\necho >$PROOF\n' >\"\$1\"; chmod 755 \"\$1\"; }
		config() { printf '[core]\nrepositoryformatversion=0\nfsmonitor=$WS/evil\nhooksPath=$WS/planted\n'; }
		evil evil; evil planted/pre-commit
		$ATTACK" 2>/dev/null
}

host_git() {
	git status
	git commit --allow-empty -qm host
	git diff
	git worktree list
	git checkout -q HEAD
	git -C tree status
	git -C sub status
} >/dev/null 2>&1

# harmless_and_control ATTACK: host git runs the attacker's program only without the profile
harmless_and_control() {
	ATTACK=$1
	plant
	host_git || true
	[ ! -e "$PROOF" ]
	plant --profile "$BATS_TEST_TMPDIR/open"
	host_git || true
	[ -e "$PROOF" ]
}

with_all() {
	make_repository ../lib
	make_repository
	git submodule --quiet add ../lib sub
	git commit -qm sub
	git worktree add -q tree -b tree
}

@test 'attack 17: a hook' {
	make_repository
	harmless_and_control 'evil .git/hooks/pre-commit'
}

@test 'attack 17: the configuration, written and exchanged' {
	make_repository
	harmless_and_control 'config >.git/config || { config >.git/new; mv .git/new .git/config; }'
}

@test 'attack 17: another common folder' {
	make_repository
	harmless_and_control 'cp -r .git fake; config >fake/config; echo ../fake >.git/commondir'
}

@test 'attack 17: a configuration of the working tree' {
	make_repository
	git config extensions.worktreeConfig true
	harmless_and_control 'config >.git/config.worktree'
}

@test 'attack 17: the whole repository, moved away' {
	make_repository
	harmless_and_control 'cp -r .git fake; config >fake/config; mv .git away; mv fake .git'
}

@test 'attack 17: a file that makes the repository look like a broken entry of another one' {
	make_repository
	ATTACK='echo x >.git/gitdir'
	plant
	[ -e .git/gitdir ]
	harmless_and_control 'config >.git/config'
}

@test 'attack 17: where a linked working tree leads' {
	with_all
	harmless_and_control 'cp -r .git fake; config >fake/config; echo "gitdir: ../fake" >tree/.git'
	rm -f "$PROOF"
}

@test 'attack 17: the common folder of a linked working tree' {
	with_all
	harmless_and_control 'cp -r .git fake; config >fake/config; echo ../../../fake >.git/worktrees/tree/commondir'
}

@test 'attack 17: a submodule: configuration, common folder, where it leads' {
	with_all
	harmless_and_control 'config >.git/modules/sub/config'
	rm "$PROOF"
}

@test 'attack 17: a submodule that gets another common folder' {
	with_all
	harmless_and_control 'cp -r .git/modules/sub fake; config >fake/config; echo ../../../fake >.git/modules/sub/commondir'
}

@test 'attack 17: a submodule that is led elsewhere, and the folder above it moved' {
	with_all
	harmless_and_control 'cp -r .git/modules/sub fake; config >fake/config; echo "gitdir: ../fake" >sub/.git'
}

@test 'attack 17: folders and files that the configuration names' {
	make_repository
	git config core.hooksPath .hooks
	harmless_and_control 'evil .hooks/pre-commit'
	rm -rf "$PROOF" .hooks
	git config --unset core.hooksPath
	git config include.path ../.settings
	harmless_and_control 'config >.settings'
}

@test 'attack 17: metadata that is no file, a link, too large or endless does not hold up the runtime' {
	make_repository
	mkfifo .git/commondir
	run timeout 10 "$SBX_RUNTIME" --root "$ROOT" run -- true 3>&-
	assert_failure 1
	assert_output --partial 'is no file'
	rm .git/commondir
	mkdir -p .git/worktrees/x
	mkfifo .git/worktrees/x/gitdir
	run timeout 10 "$SBX_RUNTIME" --root "$ROOT" run -- true 3>&-
	assert_failure 1
	rm -r .git/worktrees
	ln -s /dev/zero .git/worktrees
	run timeout 10 "$SBX_RUNTIME" --root "$ROOT" run -- true 3>&-
	assert_success
	rm .git/worktrees
	ln -s /etc/passwd .git/commondir
	run_sbx run -- true
	assert_error 'is a symbolic link'
	rm .git/commondir
	head -c 70000 /dev/zero | tr '\0' '#' >>.git/config
	run_sbx run -- true
	assert_error 'more than 65536 bytes'
	truncate -s 100 .git/config
	mkdir -p .git/modules/a && (cd .git/modules/a && for ((i = 0; i < 600; i++)); do mkdir "$i"; done)
	run_sbx run -- true
	assert_error 'more than 512 names'
	rm -r .git/modules
	run_sbx run -- true # control
	assert_status 0
}
