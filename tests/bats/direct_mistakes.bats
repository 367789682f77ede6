# run -- COMMAND: what a user gets wrong at first is told in one line that says what helps.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	HOME=$BATS_TEST_TMPDIR/home
	WS=$BATS_TEST_TMPDIR/ws
	OUT=$BATS_TEST_TMPDIR/out
	mkdir -p "$WS" "$HOME" "$OUT"
	cd "$WS" || return
}

# make_script FILE FIRST-LINE
make_script() {
	printf '%s\necho ran\n' "$2" >"$1"
	chmod +x "$1"
}

@test 'a command in a folder of PATH that is not in view: the folder is named, and opens it' {
	make_script "$OUT/tool" '#!/bin/sh'
	PATH=$OUT:$PATH run_sbx run -- tool
	assert_error "exec: \"tool\": it is \"$OUT/tool\", which is not in view; open its folder with --root \"$OUT\""
	PATH=$OUT:$PATH run_sbx run --root "$OUT" -- tool
	assert_output ran
	run_sbx run -- "$OUT/tool"
	assert_error "open its folder with --root \"$OUT\""
	ln -s "$OUT/tool" link
	run_sbx run -- ./link
	assert_error "it leads to \"$OUT/tool\", which is not in view"
	run_sbx run --root "$OUT" -- ./link
	assert_output ran
	run_sbx run -- tool
	assert_error 'exec: "tool": executable file not found in $PATH'
}

@test 'a profile of the caller is the one that opens folders' {
	make_script "$OUT/tool" '#!/bin/sh'
	jq -n '{version: 1, workspace: {read: "allow"}, command: "allow"}' >"$OUT/p.json"
	run_sbx run --profile "$OUT/p.json" -- "$OUT/tool"
	assert_error "which is not in view; open its folder by the profile's \"roots\""
	jq --arg out "$OUT" '.roots = [{path: $out, read: "allow"}]' "$OUT/p.json" >"$OUT/q.json"
	run_sbx run --profile "$OUT/q.json" -- "$OUT/tool"
	assert_output ran
}

@test 'the first line of a script names what is not in view, or nothing' {
	cp /bin/sh "$OUT/interpreter"
	make_script a "#!$OUT/interpreter -e"
	run_sbx run -- ./a
	assert_error "its interpreter is \"$OUT/interpreter\", which is not in view; open its folder with --root \"$OUT\""
	run_sbx run --root "$OUT" -- ./a
	assert_output ran
	make_script b '#!/no/such'
	run_sbx run -- ./b
	assert_error 'exec: "./b": its first line names "/no/such", which is no program'
	make_script c $'#!/bin/sh\r'
	run_sbx run -- ./c
	assert_error 'its first line names "/bin/sh\r", which is no program'
	make_script d 'echo no first line'
	run_sbx run -- ./d
	assert_error 'no script, whose first line starts with "#!"'
}

@test 'what can be no program' {
	touch file
	mkdir folder
	run_sbx run -- ./file
	assert_error 'exec: "./file": permission denied'
	run_sbx run -- ./folder
	assert_error 'exec: "./folder": is a directory'
	run_sbx run -- ./missing
	assert_error 'exec: "./missing": no such file or directory'
	run_sbx run -- ''
	assert_error 'executable file not found'
}

@test 'a command without "--"' {
	run_sbx run true
	assert_error 'a command behind "--"'
	run_sbx run ls -la
	assert_error 'unknown option "-l"; see `sbx-runtime run --help`, global options stand before the verb, a command behind "--"'
	run_sbx run --
	assert_error 'run takes CONTAINER|BUNDLE|-- COMMAND'
}

@test 'a workspace that cannot be meant' {
	touch file
	run_sbx run --workspace file -- true
	assert_error 'as the workspace: not a directory'
	run_sbx run --workspace missing -- true
	assert_error 'use "missing" as --workspace: no such file or directory'
	for folder in /etc /usr /var /proc/self /sys/kernel /dev; do
		cd "$folder" || return
		run_sbx run -- true
		assert_error 'a folder of the system would be open to it'
	done
	cd / || return
	run_sbx run -- true
	assert_error 'the whole host would be open'
	run_sbx run --workspace /usr -- pwd # named, it is meant
	assert_output /usr
	mkdir "$WS/gone"
	cd "$WS/gone" || return
	rmdir "$WS/gone"
	run_sbx run -- true
	assert_error 'find the current folder: no such file or directory'
}

@test 'folders that --root does not open' {
	run_sbx run --root missing -- true
	assert_error 'use "missing" as --root: no such file or directory'
	run_sbx run --root / -- true
	assert_error 'use "/" as --root: the whole host would be open'
	run_sbx run --root . -- true
	assert_error "use \"$WS\" as --root: it is the workspace"
	run_sbx run --root "$OUT" --root ../out:rw -- true
	assert_error "use \"$OUT\" as --root: it is given twice"
	run_sbx run --root ../out -- ls -d "$OUT" # a relative one is
	assert_output "$OUT"
}

@test 'a profile that is not there' {
	run_sbx run --profile nosuch -- true
	assert_error 'it is not installed as /etc/sbx-runtime/profiles/nosuch.json'
	run_sbx run --profile ./nosuch.json -- true
	assert_error 'open the profile "./nosuch.json": no such file or directory'
}

@test 'closed input and output, and a reader that has gone' {
	status=0
	sbx run -- cat <&- || status=$?
	assert_same 'closed input' 0 "$status"
	sbx run -- sh -c 'echo out; echo err >&2' >&- 2>&- || status=$?
	assert_same 'closed output' 0 "$status"
	run bash -c '"$@" | head -n 1; echo "${PIPESTATUS[0]}"' - "$SBX_RUNTIME" --root "$ROOT" run -- yes
	assert_output $'y\n141'
	run bash -c '"$@" >/dev/full' - "$SBX_RUNTIME" --root "$ROOT" run -- sh -c 'echo x'
	[ "$status" != 0 ]
}
