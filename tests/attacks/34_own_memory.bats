# Attack 34: /proc/self/mem writes where a mapping may only be read: no page that others have changes.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 34: a private mapping changes, the file below does not' {
	echo good >"$WS/file"
	run_script 'adversary own-memory /workspace/file; cat /workspace/file'
	assert_status 0
	assert_output $'write ok\nmapping evil\nfile good\ngood'
}

@test 'attack 34: nor does a file that may not be written, by the name that a process has of it' {
	echo good >"$BUNDLE/rootfs/etc/file"
	tries $'ok\nevil' $'EROFS\ngood' 'exec 5</etc/file; attack open /proc/self/fd/5 w; echo evil 2>/dev/null >/proc/self/fd/5
		cat /etc/file'
}
