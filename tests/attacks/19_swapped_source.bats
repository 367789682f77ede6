# Attack 19, raced: whoever may write to the folder of a bind's source exchanges it for a link to the
# runtime's own files, between the look at the source and the mount (CVE-2021-30465 turned around).
load ../bats/helpers
load attacks

BATS_TEST_TIMEOUT=600 # 200 containers, each held up by the racer's renames

setup() {
	require_root
	helpers_setup
	attack_setup
	VOLUME=$BATS_TEST_TMPDIR/volume
	mkdir -p "$VOLUME/source"
	echo plain >"$VOLUME/source/plain"
}

# bind_at_data SOURCE OPTION
bind_at_data() {
	edit_config '.mounts += [{destination: "/data", type: "bind", source: $s, options: [$o]}]' \
		--arg s "$VOLUME/$1" --arg o "$2"
	use_profile '.roots += [{path: "/data", read: "allow", write: "allow"}]'
	ln -sfn "$ROOT" "$VOLUME/link"
}

# race_for OPTION: 200 containers list what is at /data. "plain" is the folder itself.
race_for() {
	local round plain=0 refused=0

	bind_at_data source "$1"
	set_script 'for entry in /data/*; do echo "${entry##*/}"; touch "$entry/made" 2>/dev/null && echo made; done; true'
	start_race "$VOLUME/source" "$VOLUME/link"
	for round in {1..200}; do
		run_container
		case $status:$output in
		0:plain) plain=$((plain + 1)) ;;
		0:*)
			echo "round $round: the container saw $output" >&2
			return 1
			;;
		*)
			refused=$((refused + 1))
			[[ $stderr =~ (is no longer|the runtime\'s own) ]] || {
				echo "round $round: $stderr" >&2
				return 1
			}
			;;
		esac
	done
	[ "$plain" -gt 0 ]
	[ "$refused" -gt 0 ]
}

@test 'attack 19: race: the source of a bind becomes a link to the state' {
	race_for rbind
}

@test 'attack 19: race: the same for a bind of one mount' {
	race_for bind
}

@test 'attack 19: race: the same where the runtime makes the bind itself' {
	edit_config '.linux.namespaces += [{type: "user"}]
		| .linux.uidMappings = [{containerID: 0, hostID: 0, size: 65536}]
		| .linux.gidMappings = .linux.uidMappings'
	race_for rbind
}

@test 'attack 19: without a race a link to the state is refused' {
	bind_at_data link rbind
	set_args ls /data
	run_container
	assert_status 1
	assert_error "the runtime's own"
	no_profile
	run_container
	assert_output "$ID"
}
