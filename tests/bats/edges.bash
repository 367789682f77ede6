# The edges of a profile that hold for root and for an ordinary user alike: edges.bats and rootless_edges.bats
# are lists of these. Each has its control in it.

edges_setup() {
	helpers_setup
	attack_setup
	cp "$SBX_TEST_BIN/intruder" "$BUNDLE/rootfs/bin/intruder"
	echo secret >"$BUNDLE/rootfs/etc/secret"
	use_profile '.host.read = "deny"'
}

# A name that another program exchanges between what may be written and what may not.
edge_swapped_name() {
	echo own >"$WS/own"
	echo old >"$BUNDLE/rootfs/etc/target"
	ln -s /workspace/own "$WS/a"
	ln -s /etc/target "$WS/b"
	use_profile
	set_script 'n=0; while [ $n -lt 6000 ]; do n=$((n + 1)); echo new 2>/dev/null >/workspace/a
		read -r own </workspace/own; read -r target </etc/target
		[ "$own$target" != newnew ] || break; done; cat /workspace/own /etc/target'
	start_race "$WS/a" "$WS/b"
	run_container
	assert_output $'new\nold'
	echo own >"$WS/own"
	no_profile
	run_container
	stop_race
	assert_output $'new\nnew' # the control: both names were met
}

# A link that led nowhere when the container started.
edge_dangling_link() {
	local script='touch /workspace/in; while [ ! -e /workspace/out ]; do sleep 0.05; done
		cat /workspace/link; echo x >/workspace/link; cat /workspace/inside; true'
	local wanted

	ln -s /workspace/inside "$WS/inside-link"
	for wanted in inside $'late\ninside'; do
		rm -f "$WS/in" "$WS/out" "$BUNDLE/rootfs/var/late"
		ln -sfn /nowhere "$WS/link"
		set_script "$script"
		create_container
		run_sbx start "$ID"
		wait_until 10 test -e "$WS/in"
		echo late >"$BUNDLE/rootfs/var/late"
		echo inside >"$WS/inside"
		ln -sfn /var/late "$WS/link"
		touch "$WS/out"
		wait_until 10 status_is stopped
		assert_same 'what was read' "$wanted" "$(tr -d '\0' <"$BATS_TEST_TMPDIR/stdout")"
		run_sbx delete "$ID"
		no_profile # the second time is the control
	done
	[ "$(cat "$BUNDLE/rootfs/var/late")" = x ]
}

# Another name of a file that is to stay as it is.
edge_second_link() {
	echo mine >"$WS/kept"
	ln "$WS/kept" "$WS/second"
	use_profile '.protect = ["kept"]'
	run_script 'true'
	assert_error '2 links'
	rm "$WS/second"
	run_script 'ln /workspace/kept /workspace/second 2>/dev/null || echo refused
		echo x 2>/dev/null >/workspace/kept || cat /workspace/kept'
	assert_output $'refused\nmine'
	no_profile
	run_script 'ln /workspace/kept /workspace/second && echo x >/workspace/second; cat /workspace/kept'
	assert_output x # the control
}

# What is closed in what is open, and open again in that.
edge_nested_roots() {
	mkdir -p "$WS"/closed/open/closed
	echo text | tee "$WS/file" "$WS/closed-file" "$WS/closed/file" "$WS/closed/open/file" \
		"$WS/closed/open/closed/file" >/dev/null
	use_profile '.roots = [{path: "/workspace/closed"}, {path: "/workspace/closed-file"},
		{path: "/workspace/closed/open", read: "allow"}, {path: "/workspace/closed/open/closed"}]'
	run_script 'for f in file closed-file closed/file closed/open/file closed/open/closed/file; do
		cat /workspace/$f >/dev/null 2>&1 && echo $f; done; attack open /workspace/closed/open/file w'
	assert_output $'file\nclosed/open/file\nEROFS'
	no_profile
	run_script 'ls /workspace/closed/open/closed; attack open /workspace/closed/open/file w'
	assert_output $'file\nok'
}

# Paths that are not written as they are meant.
edge_spellings() {
	local path

	# shellcheck disable=SC2088,SC2016 # as they are written
	for path in .. ../x x ./x '~' '~/x' /x/ //x /x//y /x/./y /x/../y '$HOME/x' ''; do
		use_profile '.roots = [{path: $p, read: "allow"}]' --arg p "$path"
		run_script true
		assert_status 1
		assert_stderr '/roots/0/path'
	done
	for path in .. ../x /x x/ x//y x/../y; do
		use_profile '.protect = [$p]' --arg p "$path"
		run_script true
		assert_status 1
		assert_stderr '/protect/0'
	done
	for path in '/opt/*' '/opt/[a-z]' '/opt/**'; do # no pattern: a name, which is not there
		mkdir -p "$BUNDLE/rootfs/opt/sdk"
		use_profile '.roots = [{path: $p, read: "allow"}]' --arg p "$path"
		run_script true
		assert_error 'does not exist'
	done
	use_profile '.roots = [{path: "/opt/sdk", read: "allow"}]'
	run_script 'echo fine'
	assert_output fine # the control
}

# What procfs tells of the host: of processes, their environment, their files, the kernel's addresses.
edge_procfs() {
	local script='for p in /proc/[0-9]*; do tr "\0" "\n" <$p/environ; ls -l $p/fd; tr "\0" " " <$p/cmdline; done 2>/dev/null |
			grep -c -f /workspace/word
		for p in 1 self $PPID; do cat /proc/$p/root/var/only 2>/dev/null && echo root; done
		cut -d " " -f 1 /proc/kallsyms | grep -vc "^0*\$"; true'

	echo only >"$BUNDLE/rootfs/var/only"
	export SBX_TEST_SECRET=secret-of-the-caller
	echo "$SBX_TEST_SECRET" >"$WS/word"
	set_script "$script"
	run_container 9<"$BATS_TEST_TMPDIR"
	assert_status 0
	assert_same 'lines with the secret' 0 "$(head -n 1 <<<"$output")"
	refute_line root
	assert_same 'addresses of the kernel' 0 "$(tail -n 1 <<<"$output")"
	edit_config '.process.env += ["S=secret-of-the-caller"]'
	no_profile
	run_container
	[ "$(head -n 1 <<<"$output")" -gt 0 ] # the control: an environment that has it
	assert_line root
}

# Sockets of services of the host: the engine's, the bus's, the log's; by connect and by sendto.
edge_service_sockets() {
	local host=$BATS_TEST_TMPDIR/services type pids=() script

	mkdir -p "$host" "$BUNDLE/rootfs/srv"
	bind_mount "$host" /srv
	for type in stream dgram seqpacket; do
		"$SBX_TEST_BIN/intruder" serve $type "$host/$type" >"$BATS_TEST_TMPDIR/$type" 3>&- &
		pids+=($!)
		wait_until 5 grep -q ready "$BATS_TEST_TMPDIR/$type"
	done
	script='for t in stream dgram seqpacket; do intruder unix $t /srv/$t; done
		ls /var/run/docker.sock /run/docker.sock /run/user/*/bus /dev/log /run/systemd/journal/dev-log 2>/dev/null; true'
	run_with_and_without "$script"
	kill "${pids[@]}"
	assert_same control $'ok\nok\nok' "$without"
	assert_same 'under the profile' $'ENOENT\nENOENT\nENOENT' "$with"
}

# Programs of another system that the host would run by their format or place.
edge_foreign_programs() {
	mkdir -p "$BUNDLE/rootfs/mnt/c/Windows"
	cp "$BUNDLE/rootfs/bin/attack" "$BUNDLE/rootfs/mnt/c/Windows/cmd.exe"
	run_with_and_without '/mnt/c/Windows/cmd.exe open /proc/self/comm r 2>/dev/null || echo none; ls -d /mnt 2>/dev/null; true'
	assert_same control $'ok\n/mnt' "$without"
	assert_same 'under the profile' none "$with"
}

# A rule by the words of a command could be dodged: there is none, and "deny" is for every command.
edge_commands() {
	local value

	for value in '["git"]' '{"deny": ["rm"]}' '"rm"' '["sh -c *"]'; do
		use_profile '.command = $v' --argjson v "$value"
		run_script true
		assert_status 1
		assert_stderr '/command'
	done
	for value in deny gated; do
		use_profile '.command = $v' --arg v "$value"
		run_script 'echo ran'
		assert_status 1
		refute_output --partial ran
		set_args /bin/busybox echo ran
		run_container
		assert_status 1
	done
	use_profile
	run_script 'echo ran'
	assert_output ran # the control
}

# A member that nothing would enforce refuses the container, wherever it stands.
edge_unknown_members() {
	local filter

	for filter in '.denyRead = []' '.workspace.exec = "deny"' '.host.list = "deny"' '.network.dns = "deny"' \
		'.limits.files = 1' '.roots = [{path: "/etc", read: "allow", recursive: true}]' '.version = 2' \
		'.network.allow = ["x"]' '.limits.pids = "many"' '.home = "none"'; do
		use_profile "$filter"
		run_script 'echo ran'
		assert_status 1
		refute_output --partial ran
		run_sbx report --bundle "$BUNDLE"
		assert_status 1
		assert_output ''
	done
	use_profile '.home = "isolated"'
	run_script 'echo ran'
	assert_output ran # the control
}
