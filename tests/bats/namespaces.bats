# Namespaces: new ones, those joined by path, and what belongs to them (maps, offsets).
load helpers

setup() {
	require_root
	helpers_setup
	others=()
}

teardown() {
	was_set_up || return 0
	[ ${#others[@]} = 0 ] || kill -KILL "${others[@]}" 2>/dev/null || true
	helpers_teardown
}

# other UNSHARE-OPTION...: as keep_namespaces, ended with the test.
other() {
	keep_namespaces "$@"
	others+=("$KEEPER")
}

# join TYPE PATH: that namespace by path.
join() {
	edit_config '.linux.namespaces |= (map(select(.type != $t)) + [{type: $t, path: $p}])' \
		--arg t "$1" --arg p "$2"
}

refused() {
	run_container
	assert_error "$1"
	run_sbx state "$ID"
	assert_error 'does not exist'
	assert_no_leaks
}

# covers linux.namespaces
@test 'each kind is joined by its path' {
	local kind file

	other --net --ipc --uts --pid --cgroup --time
	for kind in network:net ipc:ipc uts:uts pid:pid cgroup:cgroup time:time; do
		write_default_config "$BUNDLE/config.json"
		file=${kind#*:}
		join "${kind%:*}" "$NS/$file"
		set_args readlink "/proc/self/ns/$file"
		run_container
		assert_status 0
		assert_output "$(readlink "$NS/$file")"
	done
}

@test 'a path of another kind, of no namespace, of nothing: one error, nothing is left' {
	local kind

	for kind in network ipc uts pid cgroup time user; do
		write_default_config "$BUNDLE/config.json"
		join $kind /etc/passwd
		refused "is no $kind namespace"
		join $kind /proc/self/ns/mnt
		refused "is no $kind namespace"
		join $kind /nonexistent
		refused 'no such file or directory'
	done
	join ipc relative
	refused 'absolute path'
}

@test 'a user namespace and those that it owns, in whatever order they are listed' {
	local list

	other --user --map-root-user --net --ipc --uts
	for list in 'user net ipc uts' 'uts ipc net user'; do
		edit_config '.linux.namespaces = [{type: "mount"}, {type: "pid"}] | .mounts |=
			map(select(.destination != "/sys" and .destination != "/dev/mqueue"))'
		for kind in $list; do
			join "${kind/net/network}" "$NS/$kind"
		done
		set_script 'for k in user net ipc uts; do readlink /proc/self/ns/$k; done'
		run_container
		assert_status 0
		assert_output "$(for k in user net ipc uts; do readlink "$NS/$k"; done)"
	done
}

@test 'a user namespace beside a network that the host owns: joined and new' {
	local network user

	other --net
	network=$NS/net
	other --user --map-root-user
	user=$NS/user
	edit_config '.mounts |= map(select(.destination != "/sys"))'
	join network "$network"
	join user "$user"
	set_script 'readlink /proc/self/ns/user /proc/self/ns/net 2>/dev/null ||
		for k in user net; do readlink /proc/self/ns/$k; done'
	run_container
	assert_status 0
	assert_output "$(readlink "$user")"$'\n'"$(readlink "$network")"
	edit_config '.linux.namespaces |= (map(select(.type != "user")) + [{type: "user"}])
		| .linux.uidMappings = [{containerID: 0, hostID: 0, size: 65536}]
		| .linux.gidMappings = .linux.uidMappings'
	set_script 'readlink /proc/self/ns/net'
	run_container
	assert_status 0
	assert_output "$(readlink "$network")"
}

@test 'mappings beside the path of a user namespace are what it has, or an error' {
	other --user --map-root-user
	join user "$NS/user"
	edit_config '.linux.uidMappings = [{containerID: 0, hostID: 0, size: 1}]
		| .linux.gidMappings = .linux.uidMappings
		| .linux.namespaces |= map(select(.type != "network"))'
	set_script 'cat /proc/self/uid_map'
	run_container
	assert_status 0
	assert_output --regexp '^ *0 +0 +1$'
	edit_config '.linux.gidMappings = [{containerID: 0, hostID: 5, size: 1}]'
	refused gid_map
	edit_config '.linux.gidMappings = .linux.uidMappings
		| .linux.uidMappings += [{containerID: 1, hostID: 1, size: 1}]'
	refused uid_map
	edit_config 'del(.linux.uidMappings, .linux.gidMappings)'
	run_container
	assert_status 0
}

@test 'exec in a container of joined namespaces is in all of them' {
	local kind

	other --net --uts --user --map-root-user
	edit_config '.mounts |= map(select(.destination != "/sys"))'
	for kind in network:net uts:uts user:user; do
		join "${kind%:*}" "$NS/${kind#*:}"
	done
	set_args sleep 1000
	create_container
	run_sbx start "$ID"
	for kind in net uts user mnt pid; do
		run_sbx exec "$ID" readlink "/proc/self/ns/$kind"
		assert_output "$(readlink "/proc/$(container_pid)/ns/$kind")"
	done
}

# covers linux.timeOffsets
@test 'time offsets are those of a new time namespace, for exec as well' {
	local now

	edit_config '.linux.namespaces += [{type: "time"}]
		| .linux.timeOffsets = {boottime: {secs: 1000000, nanosecs: 5}, monotonic: {secs: 7, nanosecs: 6}}'
	set_args sleep 1000
	create_container
	run_sbx start "$ID"
	run_sbx exec "$ID" cut -d. -f1 /proc/uptime
	now=$(cut -d. -f1 /proc/uptime)
	[ $((output - now)) -ge 999990 ] && [ $((output - now)) -le 1000010 ]
	run_sbx exec "$ID" cat /proc/self/timens_offsets
	assert_line --regexp '^monotonic +7 +6$'
	assert_line --regexp '^boottime +1000000 +5$'
	run_sbx delete --force "$ID"
	edit_config '.linux.timeOffsets = {boottime: {secs: -100000000}}' # before the machine's start
	refused 'time namespace'
	edit_config '.linux.timeOffsets = {realtime: {secs: 1}}'
	refused /linux/timeOffsets/realtime
	edit_config '.linux.timeOffsets = {boottime: {secs: 1}}'
	join time /proc/self/ns/time
	refused 'joined by its path'
}

@test 'groups that a user namespace does not map, or where setgroups is denied, are an error' {
	edit_config '.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: 0, size: 1}]
		| .linux.gidMappings = .linux.uidMappings | .process.user.additionalGids = [5]'
	refused 'additional groups'
}
