# Carve-outs: what a profile closes inside of what it opens, each beside the same action without it.
load helpers
load ../attacks/attacks

setup() {
	require_root
	helpers_setup
	attack_setup
	mkdir -p "$WS"/a/b/inner "$WS"/a/side
	echo old >"$WS/a/b/inner/file"
	echo one >"$WS/a/b/single"
}

# carve ROOTS: the default profile with these roots; $HOST is what it says of reading the host
HOST=allow
carve() {
	use_profile '.roots = $r | .host.read = $h' --argjson r "$1" --arg h "$HOST"
}

# What a program may try against /workspace/a/b/inner; prints what it could do.
moves='moves() { [ "$(attack rename $1 $2)" = ok ] && attack rename $2 $1 >/dev/null; }
'
tries=$moves'cd /workspace/a
	echo x 2>/dev/null >b/inner/file && echo wrote
	echo x 2>/dev/null >b/inner/new && echo made
	rm -f b/inner/file 2>/dev/null && [ ! -e b/inner/file ] && echo removed
	moves b/inner /workspace/a/gone && echo renamed
	moves b/inner /workspace/gone && echo renamed out
	moves b /workspace/a/gone && echo parent
	moves b /workspace/gone && echo parent out
	moves /workspace/a /workspace/gone && echo grandparent
	cd /workspace/a
	mkdir b/inner 2>/dev/null && echo again
	ln b/inner/file side/hard 2>/dev/null && echo linked
	echo y >side/free && mv side/free side/moved && echo beside
	true'

@test 'a read-only root in the workspace: no name and no folder above leads round it' {
	use_profile
	run_script "$tries"
	assert_status 0
	assert_output $'wrote\nmade\nremoved\nrenamed\nrenamed out\nparent\nparent out\ngrandparent\nbeside'
	echo old >"$WS/a/b/inner/file"

	for HOST in deny allow; do
		carve '[{"path": "/workspace/a/b/inner", "read": "allow"}]'
		run_script "$tries"
		assert_status 0
		assert_output beside
	done
	run_script 'cat /workspace/a/b/inner/file; echo z >/workspace/a/b/other; cat /workspace/a/b/other'
	assert_output $'old\nz'
	assert_same 'on the host' old "$(cat "$WS/a/b/inner/file")"
}

@test 'a single file in the workspace that may only be read' {
	local roads='open fd symlink through truncate chmod link rename exchange nameless replace unlink' dir

	for dir in /workspace/a/b /workspace; do
		echo one >"$WS/a/b/single"
		use_profile # control
		run_script "attack names /workspace/a/b/single $dir"
		assert_output "$(printf '%s ok\n' $roads)"
		echo one >"$WS/a/b/single"
		carve '[{"path": "/workspace/a/b/single", "read": "allow"}]'
		run_script "attack names /workspace/a/b/single $dir; cat /workspace/a/b/single"
		assert_status 0
		assert_same roads $'symlink ok\none' "$(grep -v ' E[A-Z]*$' <<<"$output")"
		assert_same 'roads that failed' 11 "$(grep -c ' E[A-Z]*$' <<<"$output")"
	done
	ln "$WS/a/b/single" "$WS/second"
	carve '[{"path": "/workspace/a/b/single", "read": "allow"}]'
	run_container
	assert_error '2 links'
}

@test 'a root that may not be read is not there, and its name cannot be taken' {
	local script=$moves'cat /workspace/a/b/inner/file /workspace/a/b/single 2>/dev/null
		ls /workspace/a/b/inner
		echo x 2>/dev/null >/workspace/a/b/inner/new && echo made
		rmdir /workspace/a/b/inner 2>/dev/null && echo removed
		moves /workspace/a/b /workspace/a/gone && echo parent
		true'

	for HOST in deny allow; do
		carve '[{"path": "/workspace/a/b/inner"}, {"path": "/workspace/a/b/single"}]'
		run_script "$script"
		assert_status 0
		assert_output ''
	done
	use_profile
	run_script "$script"
	assert_output $'old\none\nfile\nmade\nparent'
}

@test 'what is opened again in a closed root stays open' {
	mkdir -p "$WS/a/b/inner/deep/open" "$WS/a/b/inner/deep/closed"
	echo in >"$WS/a/b/inner/deep/open/file"
	for HOST in deny allow; do
		carve '[{"path": "/workspace/a/b"},
			{"path": "/workspace/a/b/inner/deep/open", "read": "allow", "write": "allow"}]'
		run_script 'find /workspace/a/b -type f; echo more >/workspace/a/b/inner/deep/open/file
			cat /workspace/a/b/inner/deep/open/file; ls /workspace/a/b/inner/deep
			echo x 2>/dev/null >/workspace/a/b/inner/new && echo made; true'
		assert_status 0
		assert_output $'/workspace/a/b/inner/deep/open/file\nmore\nopen'

		carve '[{"path": "/workspace/a/b", "read": "allow"},
			{"path": "/workspace/a/b/inner", "read": "allow", "write": "allow"}]'
		run_script 'echo x >/workspace/a/b/inner/new && echo made
			echo x 2>/dev/null >/workspace/a/b/new && echo wrote; true'
		assert_output made
	done
}

@test 'protect: what is there stays as it is, and wins over every root' {
	local tries=$moves'echo x 2>/dev/null >/workspace/.envrc && echo wrote
		echo y >/workspace/new; mv /workspace/new /workspace/.envrc 2>/dev/null && echo replaced
		echo x 2>/dev/null >/workspace/a/b/inner/file && echo inner
		moves /workspace/a/b /workspace/a/gone && echo parent
		echo z >/workspace/a/side/free && cat /workspace/.envrc'

	echo mine >"$WS/.envrc"
	for HOST in deny allow; do
		use_profile '.protect = [".envrc", "a/b"] | .host.read = $h |
			.roots = [{path: "/workspace/a/b/inner", read: "allow", write: "allow"}]' --arg h "$HOST"
		run_script "$tries"
		assert_status 0
		assert_output mine
	done
	use_profile # control
	run_script "$tries"
	assert_output $'wrote\nreplaced\ninner\nparent\ny'
}

@test 'protect: a link, a second name refuse the container' {
	ln -s a "$WS/link"
	use_profile '.protect = ["link/b"]'
	run_container
	assert_error 'protect "/workspace/link/b": a component is a symbolic link'
	ln "$WS/a/b/single" "$WS/second"
	use_profile '.protect = ["a/b/single"]'
	run_container
	assert_error '2 links'
	use_profile '.protect = ["a/b/single"] | .workspace.write = "deny"' # nothing to close
	run_script 'cat /workspace/a/b/single'
	assert_status 0
	assert_output one
}

@test 'out of the host: a folder that may not be read, one that may not be written' {
	local script=$moves'cat /opt/p/x/secret 2>/dev/null; cat /opt/p/y/file
		echo z 2>/dev/null >/opt/p/y/file && echo wrote
		moves /opt/p /opt/gone && echo renamed; moves /opt/p/y /opt/p/z && echo renamed
		echo z 2>/dev/null >/opt/p/new && echo beside; true'

	mkdir -p "$BUNDLE"/rootfs/opt/p/{x,y}
	echo secret >"$BUNDLE/rootfs/opt/p/x/secret"
	echo file >"$BUNDLE/rootfs/opt/p/y/file"
	edit_config '.root.readonly = false'
	use_profile '.host = {read: "allow", write: "allow"}'
	run_script "$script"
	assert_status 0
	assert_output $'secret\nfile\nwrote\nrenamed\nrenamed\nbeside'
	echo file >"$BUNDLE/rootfs/opt/p/y/file"
	use_profile '.host = {read: "allow", write: "allow"} | .roots = [{path: "/opt/p/x"}, {path: "/opt/p/y", read: "allow"}]'
	run_script "$script"
	assert_status 0
	assert_output $'file\nbeside'
}

@test 'a second mount that shows a closed object refuses, unless it is not in view' {
	mkdir -p "$BUNDLE/rootfs/again"
	bind_mount "$WS/a" /again
	use_profile '.roots = [{path: "/again", read: "allow", write: "allow"}, {path: "/workspace/a/b/inner", read: "allow"}]'
	run_container
	assert_error 'is a second name of "/workspace/a/b/inner"'
	use_profile '.roots = [{path: "/workspace/a/b/inner"}]'
	run_container
	assert_error 'close "/workspace/a/b/inner": "/again/b/inner" is a second name of it'
	use_profile '.host.read = "deny" | .roots = [{path: "/workspace/a/b/inner"}]' # control
	run_script 'ls /again 2>/dev/null; ls /workspace/a'
	assert_status 0
	assert_output $'b\nside'
}

@test 'in a closed root: what may be read may not be written, protect wins there as well' {
	local script='echo x 2>/dev/null >/workspace/a/b/inner/file && echo wrote
		rm -f /workspace/a/b/inner/file 2>/dev/null; chmod 777 /workspace/a/b/single 2>/dev/null && echo mode
		cat /workspace/a/b/inner/file'
	local closed='{path: "/workspace/a"}'

	for HOST in deny allow; do
		use_profile ".roots = [$closed, {path: \"/workspace/a/b\", read: \"allow\"}] | .host.read = \"$HOST\""
		run_script "$script"
		assert_output old
		use_profile ".roots = [$closed, {path: \"/workspace/a/b\", read: \"allow\", write: \"allow\"}] |
			.protect = [\"a/b\"] | .host.read = \"$HOST\""
		run_script "$script"
		assert_output old
		use_profile ".roots = [$closed, {path: \"/workspace/a/b/single\", read: \"allow\"}] | .host.read = \"$HOST\""
		run_script 'echo x 2>/dev/null >/workspace/a/b/single && echo wrote; cat /workspace/a/b/single'
		assert_output one
	done
	use_profile ".roots = [$closed, {path: \"/workspace/a/b\", read: \"allow\", write: \"allow\"}]" # control
	run_script "$script"
	assert_output $'wrote\nmode'
}

@test 'second names are looked for before anything is covered' {
	mkdir -p "$WS"/c "$WS"/b/a "$WS"/b/b
	echo old >"$WS/b/b/f"
	bind_mount "$WS/b/b" /workspace/c
	carve '[{"path": "/workspace/c", "read": "allow"}]'
	run_container
	assert_error 'second name'
	carve '[{"path": "/workspace/b/a", "read": "allow"}, {"path": "/workspace/c", "read": "allow"}]'
	run_container
	assert_error 'second name'
	use_profile '.protect = ["b/a", "c"]'
	run_container
	assert_error 'second name'
	carve '[{"path": "/workspace/b/a", "read": "allow"}]' # control
	run_script 'echo new >/workspace/c/f; cat /workspace/b/b/f'
	assert_status 0
	assert_output new
}

@test 'a bind in a root that is opened again does not show what is closed around it' {
	mkdir -p "$WS"/s/open/m "$WS"/s/hid
	echo secret >"$WS/s/hid/f"
	bind_mount "$WS/s" /workspace/s/open/m
	use_profile '.roots = [{path: "/workspace/s"}, {path: "/workspace/s/open", read: "allow", write: "allow"}]'
	run_container
	assert_error '"/workspace/s/open/m" is a second name of it'
	edit_config '.mounts[-1].source = $s' --arg s "$WS/s/open" # what that name has anyway
	edit_config '.mounts[-1].destination = "/workspace/s/open"'
	run_script 'ls /workspace/s /workspace/s/open'
	assert_status 0
	refute_line hid
}

@test 'what every container has in view is not closed in part: refused by name' {
	mkdir -p "$BUNDLE/rootfs/usr/share/sub"
	for path in /usr/share/sub /usr /lib; do
		mkdir -p "$BUNDLE/rootfs$path"
		use_profile '.host.read = "deny" | .roots = [{path: $p}]' --arg p "$path"
		run_container
		assert_error "close \"$path\": it is in what every container has"
	done
	for write in '{path: "/dev/shm"}' '{path: "/dev/shm", read: "allow"}'; do
		use_profile ".host.read = \"deny\" | .roots = [$write]"
		run_container
		assert_error 'close "/dev/shm"'
	done
	bind_mount "$BUNDLE/rootfs/usr/share" /workspace
	use_profile '.host.read = "deny" | .roots = [{path: "/workspace/sub"}]'
	run_container
	assert_error 'second name'
}

@test 'the report says who could undo a carve-out, and for how long' {
	carve '[{"path": "/workspace/a/b/inner", "read": "allow"}]'
	run_sbx report --bundle "$BUNDLE"
	report_says '(.entries[] | select(.feature == "carveOuts") | .outcome == "narrowed" and
		(.detail | contains("closed again a moment later"))) and .guarantees.writeBoundary'
	use_profile '.roots = [{path: "/workspace/a/b/inner", read: "allow"}] | .onDetach = "kill" |
		.require = ["writeBoundary"]'
	run_sbx report --bundle "$BUNDLE"
	report_says '.entries[] | select(.feature == "carveOuts").detail | contains("killed a moment later")'
	use_profile '.roots = [{path: "/workspace/a/b/inner"}] | .onDetach = "remount"'
	run_container
	assert_error 'onDetach can only be kill'
}
