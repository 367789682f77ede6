# Attack 22: filling memory by files: scratch, /dev/shm and the private folders of a root "/".
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 22: scratch ends at its limit, in bytes and in files' {
	local mebibytes files

	use_profile '.limits.scratch = "8MiB"'
	run_script 'adversary fill /tmp'
	assert_status 0
	read -r mebibytes files <<<"$output"
	[ "$mebibytes" -le 8 ]
	[ "$files" -lt 200000 ]
	use_profile
	run_script 'adversary fill /tmp'
	read -r mebibytes files <<<"$output"
	[ "$mebibytes" = 256 ] # the control
}

@test 'attack 22: /dev/shm ends where the bundle says, /dev and /run take nothing' {
	mkdir -p "$BUNDLE/rootfs/run"
	run_script 'adversary fill /dev/shm; attack open /dev/new wc; attack open /run/new wc'
	assert_status 0
	[ "$(head -n 1 <<<"$output" | cut -d ' ' -f 1)" -le 64 ]
	assert_same 'others' $'EROFS\nEROFS' "$(tail -n 2 <<<"$output")"
	no_profile
	run_script 'attack open /dev/new wc; attack open /run/new wc'
	assert_output $'ok\nok'
}

@test 'attack 22: the private folders of a root "/" take nothing' {
	local script='for d in /run /var/tmp /home /root; do [ ! -d $d ] || touch $d/sbx-new 2>/dev/null && [ -e $d/sbx-new ] &&
		echo made $d; done; rm -f /run/sbx-new /var/tmp/sbx-new /home/sbx-new /root/sbx-new 2>/dev/null; true'

	edit_config '.root.path = "/" | (.mounts[] | select(.destination == "/workspace")).destination = "/mnt"
		| .linux.maskedPaths = [] | .linux.readonlyPaths = []'
	use_profile '.workspace.root = "/mnt" | .host.write = "allow"'
	run_script "$script"
	assert_status 0
	assert_output ''
	no_profile
	edit_config '.root.path = "rootfs"'
	mkdir -p "$BUNDLE/rootfs/run"
	run_script "$script"
	assert_output --partial 'made /run'
}
