# Attack 41: devices by which file systems, disks, networks and machines are made.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

# list_devices: those of the host that are there, as a bundle lists them with every right
list_devices() {
	local path found='[]'

	for path in /dev/fuse /dev/loop-control /dev/net/tun /dev/kvm /dev/kmsg /dev/mem /dev/vhost-net /dev/userfaultfd; do
		[ -c "$path" ] || continue
		found=$(jq -c '. + [{path: $p, type: "c", major: $a, minor: $i, fileMode: 438}]' --arg p "$path" \
			--argjson a "$((16#$(stat -c %t $path)))" --argjson i "$((16#$(stat -c %T $path)))" <<<"$found")
	done
	edit_config '.linux.devices = $d | .linux.resources.devices = [{allow: true, access: "rwm"}]' --argjson d "$found"
	devices=$(jq -r '.[].path' <<<"$found" | tr '\n' ' ')
}

@test 'attack 41: no listed device is there, and none can be made' {
	local script

	list_devices
	[ -n "$devices" ] || skip_host 'none of the devices'
	script="for d in $devices; do attack open \$d rw; done; mknod /workspace/n c 10 229 2>/dev/null && echo made
		mknod /dev/n c 10 229 2>/dev/null && echo made; true"
	run_with_and_without "$script"
	grep -qx ok <<<"$without"
	assert_same 'control' $'made\nmade' "$(grep made <<<"$without")"
	rm -f "$WS/n"
	run_script "$script"
	assert_same 'under the profile' ENOENT "$(sort -u <<<"$output")"
}
