# Attack 43: a workspace whose names, kinds, depth and file system are chosen to break who reads it.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

PROTECTED='.protect = [".envrc", "sub/kept"] | .roots = [{path: "/workspace/closed"}]'

# The folders that the profile names, among what is hostile.
named_folders() {
	mkdir -p "$WS"/{sub/kept,closed}
	echo mine >"$WS/.envrc"
	echo text >"$WS/file"
}

# in_time: the container starts, writes the workspace and nothing that is protected
in_time() {
	local start=$SECONDS

	run_script 'echo x >/workspace/new && echo wrote; echo x 2>/dev/null >/workspace/.envrc && echo broke; ls /workspace/closed'
	assert_status 0
	assert_output wrote
	[ $((SECONDS - start)) -le 20 ]
	[ "$(cat "$WS/.envrc")" = mine ]
}

@test 'attack 43: links, pipes, sockets, devices and names that are no text' {
	local n

	named_folders
	for n in {1..2000}; do
		ln -s /etc/passwd "$WS/link$n"
	done
	ln -s loop "$WS/loop"
	mkfifo "$WS/pipe" "$WS/sub/pipe"
	mknod "$WS/device" c 1 3
	touch "$WS"/$'new\nline' "$WS"/$'\xff\xfe\x80' "$WS/"$'\e[2J' "$WS/$(printf 'n%.0s' {1..255})"
	use_profile "$PROTECTED"
	in_time
	run_script 'cat /workspace/pipe & sleep 0.2; kill $!; attack open /workspace/device r; attack open /workspace/loop r'
	assert_output $'EACCES\nELOOP'
	no_profile
	run_script 'attack open /workspace/device r'
	assert_output ok # the control
}

@test 'attack 43: a chain of 10000 folders' {
	named_folders
	"$SBX_TEST_BIN/adversary" deep "$WS" 10000
	use_profile "$PROTECTED"
	in_time
	"$SBX_TEST_BIN/adversary" deep-remove "$WS"
	[ ! -e "$WS/d" ]
}

@test 'attack 43: a protected name in the place of another kind' {
	local kind

	for kind in 'ln -s file' 'mkfifo' 'ln -s /etc/passwd' 'mknod_c'; do
		rm -rf "$WS"
		mkdir -p "$WS"
		echo text >"$WS/file"
		case $kind in
		mknod_c) mknod "$WS/.envrc" c 1 3 ;;
		*) $kind "$WS/.envrc" ;;
		esac
		use_profile '.protect = [".envrc"]'
		run_script 'echo x >/workspace/.envrc; cat /workspace/file'
		assert_error '/workspace/.envrc'
		[ "$(cat "$WS/file")" = text ]
	done
	rm "$WS/.envrc"
	touch "$WS/.envrc"
	run_script 'cat /workspace/file'
	assert_output text # the control: a file
}

# on_file_system: in_time on what is mounted at $WS now
on_file_system() {
	named_folders
	use_profile "$PROTECTED"
	in_time
	umount "$WS"
}

@test 'attack 43: a workspace on tmpfs and on an overlay' {
	mount -t tmpfs ws "$WS"
	on_file_system
	mount -t tmpfs layers "$WS"
	mkdir "$WS"/{lower,upper,work}
	mount -t overlay -o "lowerdir=$WS/lower,upperdir=$WS/upper,workdir=$WS/work" ws "$WS" || {
		umount "$WS"
		skip_host 'no overlay'
	}
	on_file_system
	umount "$WS"
}

@test 'attack 43: a workspace on a file system that cannot be written' {
	mount -t tmpfs ws "$WS"
	named_folders
	mount -o remount,ro "$WS"
	use_profile "$PROTECTED"
	run_script 'cat /workspace/file; attack open /workspace/new wc; attack open /workspace/.envrc w; ls /workspace/closed'
	umount "$WS"
	assert_status 0
	assert_output $'text\nEROFS\nEROFS'
}

@test 'attack 43: a workspace that is a link is refused, in the bundle as in the image' {
	ln -s /etc "$BUNDLE/rootfs/linked"
	use_profile '.workspace.root = "/linked"'
	run_script 'true'
	assert_error 'symbolic link'
	use_profile
	run_script 'true'
	assert_status 0
}
