# The documents that the program makes itself: spec, features.

load helpers

@test "spec writes a config.json that the program takes, once" {
	cd "$BATS_TEST_TMPDIR"
	run_sbx spec
	assert_equal "$status" 0
	assert_equal "$output" ''
	run jq -r '.ociVersion, .process.cwd, .root.path, (.linux.namespaces | length)' config.json
	assert_output $'1.3.0\n/\nrootfs\n6'

	run_sbx spec
	assert_equal "$status" 1
	[[ $stderr == *'config.json'*'file exists'* ]]
}

@test "spec does not write through a link" {
	mkdir "$BATS_TEST_TMPDIR/b"
	ln -s "$BATS_TEST_TMPDIR/elsewhere" "$BATS_TEST_TMPDIR/b/config.json"
	run_sbx spec --bundle "$BATS_TEST_TMPDIR/b"
	assert_equal "$status" 1
	[ ! -e "$BATS_TEST_TMPDIR/elsewhere" ]
}

@test "spec --file names the file, in the bundle alone" {
	local name

	mkdir "$BATS_TEST_TMPDIR/b"
	run_sbx spec -b "$BATS_TEST_TMPDIR/b" --file other.json
	assert_status 0
	jq -e .process "$BATS_TEST_TMPDIR/b/other.json"
	[ ! -e "$BATS_TEST_TMPDIR/b/config.json" ]
	run_sbx spec -b "$BATS_TEST_TMPDIR/b" -f other.json
	assert_error 'other.json: it exists'
	for name in '' . .. ../x "$BATS_TEST_TMPDIR/x" x/; do
		run_sbx spec -b "$BATS_TEST_TMPDIR/b" --file "$name"
		assert_error 'the name of a file in the bundle'
	done
	[ ! -e "$BATS_TEST_TMPDIR/x" ]
}

@test "spec --rootless maps the caller" {
	mkdir "$BATS_TEST_TMPDIR/b"
	run_sbx spec -b "$BATS_TEST_TMPDIR/b" --rootless
	assert_equal "$status" 0
	run jq -c '[.linux.uidMappings[0].hostID, .linux.gidMappings[0].hostID,
		(.linux.namespaces | map(.type) | index("user") != null), .linux.resources]' \
		"$BATS_TEST_TMPDIR/b/config.json"
	assert_output "[$(id -u),$(id -g),true,null]"
}

@test "spec names a bundle that is not there" {
	run_sbx spec -b "$BATS_TEST_TMPDIR/none"
	assert_equal "$status" 1
	[[ $stderr == *"$BATS_TEST_TMPDIR/none"*'no such file or directory'* ]]
}

@test "features is JSON with nothing on standard error" {
	run_sbx features
	assert_equal "$status" 0
	assert_equal "$stderr" ''
	features=$output
	run jq -r '.ociVersionMin, .ociVersionMax, (.hooks | length), .linux.mountExtensions.idmap.enabled,
		(.linux.namespaces | index("user") != null), (.mountOptions == (.mountOptions | sort)),
		(.mountOptions | index("rro") != null),
		.potentiallyUnsafeConfigAnnotations[0],
		(.linux.memoryPolicy | (.modes | length == 7 and . == sort) and (.flags | length == 3 and . == sort))' \
		<<<"$features"
	assert_output $'1.0.0\n1.3.0\n6\ntrue\ntrue\ntrue\ntrue\ndev.sbx.\ntrue'
}
