# Attack 33: watching what happens outside: fanotify of a whole file system, inotify of what is not in view.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 33: no file system is watched, only what is in view' {
	tries $'inotify ok\nfanotify ok\nfilesystem ok' $'inotify ok\nfanotify ok\nfilesystem EPERM' 'adversary watch /workspace'
}

@test 'attack 33: what is not in view is not watched' {
	mkdir "$BUNDLE/rootfs/secret"
	use_profile '.host.read = "deny"'
	tries $'inotify ok\nfanotify ok\nfilesystem ok' $'inotify ENOENT\nfanotify ENOENT\nfilesystem EPERM' 'adversary watch /secret'
}
