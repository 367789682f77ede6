load helpers

@test 'the program is there' {
	[ -x "$SBX_RUNTIME" ]
}
