# Loaded by the tests of @git behind helpers: a repository in $WS, the current folder, and commands in it.

# git_setup: no configuration of the machine's or of the user's
git_setup() {
	command -v git >/dev/null || skip_host 'no git'
	export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$BATS_TEST_TMPDIR/gitconfig
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	printf '[protocol "file"]\n\tallow = always\n[init]\n\tdefaultBranch = main\n' >"$GIT_CONFIG_GLOBAL"
	WS=$BATS_TEST_TMPDIR/ws
	mkdir -p "$WS"
	cd "$WS" || return
}

# make_repository [FOLDER]: with one commit
make_repository() {
	git init -q "${1:-$WS}"
	echo one >"${1:-$WS}/file"
	git -C "${1:-$WS}" add file
	git -C "${1:-$WS}" commit -qm one
}

# inside TEXT: a shell in $WS under the default profile
inside() {
	run_sbx run --env GIT_AUTHOR_NAME --env GIT_AUTHOR_EMAIL --env GIT_COMMITTER_NAME \
		--env GIT_COMMITTER_EMAIL --env GIT_CONFIG_NOSYSTEM -- sh -c "$1"
}

# journal: the names in the journal that the runtime uses here
journal() {
	local dir=/var/lib/sbx-runtime

	[ -z "${XDG_STATE_HOME:-}" ] || is_root || dir=$XDG_STATE_HOME/sbx-runtime
	[ ! -d "$dir" ] || ls -A "$dir"
}

# private_journal: a root's journal of the test's own, for as long as the file's mount namespace lives
private_journal() {
	is_root || return 0
	mkdir -p /var/lib
	mount -t tmpfs -o mode=755 journal /var/lib
}
