# A hostile writer works on the paths that the runtime is about to use: CVE-2021-30465, CVE-2024-45310.
#
# Each race has its control: the same writer against mkdir(1), which follows what it finds.

load helpers

BATS_TEST_TIMEOUT=600 # 200 containers, each held up by the racer's renames

setup() {
	require_root
	helpers_setup
	HOST=$BATS_TEST_TMPDIR/host
	mkdir -p "$HOST/marker" "$HOST/volume/x"
	chmod 777 "$HOST/volume"
}

mount_at() {
	edit_config '.mounts += [{destination: $ARGS.positional[0], type: $ARGS.positional[1],
		source: $ARGS.positional[2], options: $ARGS.positional[3:]}]' --args -- "$@"
}

marker_is_empty() {
	[ -z "$(ls -A "$HOST/marker")" ]
}

# Runs the container again and again while the race is on. What was mounted must be inside each time
# that the set-up succeeded; the set-up may fail, but not always.
run_in_race() {
	local round good=0

	for round in {1..200}; do
		run_sbx run --bundle "$BUNDLE" "$ID"
		if [ "$status" = 0 ]; then
			good=$((good + 1))
			[ "$output" = 1 ] || {
				echo "round $round: the mount is not inside: $output" >&2
				return 1
			}
		fi
		marker_is_empty || {
			echo "round $round: something was made on the host" >&2
			return 1
		}
	done
	[ $good -gt 0 ]
}

made_by_mkdir() {
	mkdir -p "$HOST/volume/x/made/deep" 2>/dev/null || true
	[ "$(marker_is_empty && echo empty)" = "" ]
}

@test 'race: a folder of the destination becomes a link to the host' {
	ln -s "$HOST/marker" "$HOST/volume/link"
	start_race "$HOST/volume/x" "$HOST/volume/link"
	mount_at /vol bind "$HOST/volume" rbind rw
	mount_at /vol/x/made/deep tmpfs raced
	set_script 'grep -c " - tmpfs raced " /proc/self/mountinfo'
	run_in_race
	wait_until 10 made_by_mkdir
}

@test 'race: a folder of the destination becomes a link upwards' {
	ln -s "../../../../../../../../../../../..$HOST/marker" "$HOST/volume/link"
	start_race "$HOST/volume/x" "$HOST/volume/link"
	mount_at /vol bind "$HOST/volume" rbind rw
	mount_at /vol/x/made/file bind "$BUNDLE/config.json" bind
	set_script 'grep -c "config.json" /proc/self/mountinfo'
	run_in_race
	wait_until 10 made_by_mkdir
}

@test 'race: the image'\''s own /dev becomes a link' {
	edit_config '.mounts |= map(select(.destination | startswith("/dev") | not))'
	mkdir "$HOST/volume/dev"
	rmdir "$BUNDLE/rootfs/dev"
	mv "$BUNDLE/rootfs" "$HOST/volume/rootfs"
	ln -s "$HOST/volume/rootfs" "$BUNDLE/rootfs"
	edit_config '.root.path = $p' --arg p "$HOST/volume/rootfs"
	mkdir "$HOST/volume/rootfs/dev"
	ln -s "$HOST/marker" "$HOST/volume/rootfs/link"
	start_race "$HOST/volume/rootfs/dev" "$HOST/volume/rootfs/link"
	set_args echo 1
	run_in_race
}

@test 'race: a source inside the root becomes a link to the host' {
	echo secret >"$HOST/secret"
	mkdir "$BUNDLE/rootfs/data"
	echo 1 >"$BUNDLE/rootfs/data/file"
	ln -s "$HOST" "$BUNDLE/rootfs/link"
	mkdir -p "$BUNDLE/rootfs$HOST"
	echo 1 >"$BUNDLE/rootfs$HOST/file"
	echo secret >"$HOST/file"
	start_race "$BUNDLE/rootfs/data" "$BUNDLE/rootfs/link"
	mount_at /in bind "$BUNDLE/rootfs/data/file" bind
	set_args cat /in
	run_in_race
}
