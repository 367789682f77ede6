# Completion for bash, driven as readline drives it; what it offers comes from the program's own help.
load helpers

setup() {
	helpers_setup
	mkdir -p "$BATS_TEST_TMPDIR/files/a folder"
	touch "$BATS_TEST_TMPDIR/files/a file"
	cd "$BATS_TEST_TMPDIR/files" || return
}

# complete_words WORD...: what is offered for the last of these words, cut as bash cuts them. In a shell of
# its own, as users have it: bats traces every command. Only readline may be told what are file names.
complete_words() {
	bash -euc '. "$1"
		shift
		compopt() {
			echo "$*"
		}
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_sbx_runtime "$1"
		printf "%s\n" "${COMPREPLY[@]}" | LC_ALL=C sort' \
		bash "$SBX_TESTS/../contrib/completion/sbx-runtime.bash" "$SBX_RUNTIME" "$@" | tr '\n' ','
}

# offers EXPECTED WORD...
offers() {
	assert_equal "$(complete_words "${@:2}")" "$1"
}

@test 'bash asks for it by the name of the program' {
	run bash -c '. "$1" && complete -p sbx-runtime' bash "$SBX_TESTS/../contrib/completion/sbx-runtime.bash"
	assert_output 'complete -F _sbx_runtime sbx-runtime'
}

@test 'every verb, and those that begin so' {
	offers "$("$SBX_RUNTIME" --help | sed -n '/^verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort | tr '\n' ',')" ''
	offers create, cr
	offers pause,plan,profile,ps, p
	offers , nosuch
	offers create, --root "$ROOT" --debug cr
}

@test 'options, before and behind the verb' {
	offers --root,--rootless, --ro
	offers --pid-file,--pidfd-socket, create --pid
	offers --format,--help,--quiet, list --
	offers --json, doctor --j
	offers --tty, exec -e A = B --t
	offers --tty, exec --env=A=B --t
}

@test 'where options end' {
	offers , exec "$ID" --t
	offers , exec -- --t
	offers '-o filenames,,' profile check --h
	offers --all, kill "$ID" --a
}

@test 'values that the help lists' {
	offers json,text, --log-format ''
	offers json,text, --log-format =
	offers json, --log-format = j
	offers debug,error,info,warning, --log-level ''
	offers cgroupfs,disabled,systemd, --cgroup-manager ''
	offers json,table, list -f ''
	offers 0,1, update --cpu-idle ''
	offers , create --detach = ''
	offers , exec --user ''
}

@test 'files and folders' {
	offers '-o filenames,a folder,' create --bundle a
	offers '-o filenames,a folder,' create -bundle = a
	offers '-o filenames,a folder,' plan a
	offers '-o filenames,a file,a folder,' create --pid-file a
	offers '-o filenames,a file,a folder,' profile restrict a
	offers '-o filenames,a file,a folder,' profile restrict x a
	offers '-o filenames,a file,a folder,' profile restrict x y a
	offers check, profile c
}

@test 'containers of the store that the line names' {
	offers , --root "$ROOT" start ''
	set_args sleep 1000
	create_container
	offers "$ID," --root "$ROOT" start ''
	offers "$ID," --root = "$ROOT" exec ''
	offers "$ID," -root "$ROOT" kill --all "${ID:0:3}"
	offers "-o filenames,a folder,$ID," --root "$ROOT" run ''
	offers , --root "$ROOT" start "$ID" ''
	offers SIGKILL, --root "$ROOT" kill "$ID" SIGK
}

@test 'signals that kill takes, and nothing else' {
	local signal offered

	offered=$(complete_words kill "$ID" '')
	[[ $offered = *SIGHUP,* && $offered = *SIGRTMIN+1,* ]]
	for signal in ${offered//,/ }; do
		run_sbx kill nobody-here "$signal"
		assert_error 'does not exist'
	done
	offers , kill "$ID" EX
	offers , kill "$ID" SIGJ
}

@test 'zsh can read its script' {
	command -v zsh >/dev/null || skip_host 'zsh is not installed'
	zsh -n "$SBX_TESTS/../contrib/completion/_sbx-runtime"
}
