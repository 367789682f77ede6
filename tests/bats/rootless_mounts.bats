# Mounts and devices of an unprivileged caller: what the user namespace takes away is bound instead.

load helpers

mount_at() {
	edit_config '.mounts += [{destination: $ARGS.positional[0], type: $ARGS.positional[1],
		source: $ARGS.positional[2], options: $ARGS.positional[3:]}]' --args -- "$@"
}

@test 'rootless: devices are bound from the host' {
	set_script 'stat -c "%n %t:%T" /dev/null /dev/zero /dev/tty && echo x >/dev/null &&
		head -c 4 /dev/zero | wc -c'
	run_container
	assert_status 0
	assert_output '/dev/null 1:3
/dev/zero 1:5
/dev/tty 5:0
4'
}

@test 'rootless: a group of devpts that is not mapped is left out' {
	edit_config '(.mounts[] | select(.destination == "/dev/pts") | .options) += ["gid=5"]'
	set_args test -c /dev/pts/ptmx
	run_container
	assert_status 0
}

@test 'rootless: a new sysfs without an own network becomes the host'\''s, read-only' {
	edit_config '.linux.namespaces |= map(select(.type != "network"))
		| (.mounts[] | select(.destination == "/sys")) |=
			{destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "noexec", "nodev"]}'
	set_script "awk '\$5 ~ \"^/sys\" { print substr(\$6, 1, 2) }' /proc/self/mountinfo | sort -u"
	run_container
	assert_status 0
	assert_output ro
}

# CVE-2023-25809: the host's cgroups below a bound /sys, and a cgroup mount without an own namespace
@test 'rootless: no cgroup of the host is writable' {
	edit_config '.linux.namespaces |= map(select(.type != "cgroup"))'
	mount_at /sys/fs/cgroup cgroup cgroup nosuid noexec
	set_script "awk '\$5 ~ \"^/sys\" { print substr(\$6, 1, 2) }' /proc/self/mountinfo | sort -u
		mkdir /sys/fs/cgroup/x 2>/dev/null || echo refused"
	run_container
	assert_status 0
	assert_output $'ro\nrefused'
}

@test 'rootless: a flag of the host'\''s mount stays, its end is refused' {
	local point

	point=$(awk '$6 ~ "nosuid" && $6 ~ "nodev" && $5 !~ "^/(proc|sys)" { print $5; exit }' /proc/self/mountinfo)
	[ -n "$point" ] && [ -r "$point" ] || skip_host 'no mount with nosuid,nodev'
	mount_at /in bind "$point" rbind ro
	set_script 'awk '\''$5 == "/in" { print $6 }'\'' /proc/self/mountinfo'
	run_container
	assert_status 0
	[[ $output = ro,nosuid,nodev* ]]
	mount_at /in2 bind "$point" rbind suid
	run_container
	assert_error 'cannot clear locked flags'
}

@test 'rootless: an id-mapped mount needs host root' {
	edit_config '.mounts += [{destination: "/in", type: "bind", source: $s, options: ["bind", "idmap"]}]' \
		--arg s "$BATS_TEST_TMPDIR"
	run_container
	assert_error 'needs host root'
}
