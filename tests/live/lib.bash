# The frame of the client tests: `. lib.bash; live_main NAME "$@"`, then the script's `live_tests`.
#
# A script is called as `NAME [RUNTIME [MODE]]`. RUNTIME: absolute path of the runtime, default
# $SBX_RUNTIME. MODE: v1 (the cgroup2 hierarchy of a hybrid host is hidden), v2 (cgroup2 alone),
# hybrid (both), host (as the machine is; the default where it is not hybrid).
#
# The script runs itself in mount, network and pid namespaces of its own, with an empty /run and an
# overlay on /etc, and keeps all storage in one folder that goes with it: the host's own containers,
# networks and configuration are neither seen nor changed, and no process outlives the script. It needs
# no network.
#
# check NAME STATUS REGEX COMMAND...   both the exit status and the output must match. A check named in
#                                      $live_machine_limits that runc fails in the same place is the
#                                      machine's doing: it is listed as skipped, with what runc said.

: "${SBX_TEST_BIN:?the folder of the built test programs}"

LIVE_HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LIVE_TOP=$(cd "$LIVE_HERE/../.." && pwd)
LIVE_TIMEOUT=${LIVE_TIMEOUT:-60}

live_passed=0
live_failed=0
live_skipped=0

live_say() {
	printf '%s\n' "$*"
}

live_pass() {
	live_passed=$((live_passed + 1))
	live_say "PASS $1"
}

live_fail() {
	live_failed=$((live_failed + 1))
	live_say "FAIL $1: $(printf '%s' "$2" | tr '\n' '~' | cut -c 1-600)"
}

live_skip() {
	live_skipped=$((live_skipped + 1))
	live_say "SKIP $1: $2"
}

# attempt COMMAND...: sets $out (stdout and stderr) and $rc. A function of the script, which timeout(1) cannot start,
# runs in a shell of its own.
attempt() {
	if declare -F "$1" >/dev/null; then
		export -f "${1?}"
		set -- bash -c '"$@"' bash "$@"
	fi
	out=$(timeout -k 5 "$LIVE_TIMEOUT" "$@" 2>&1 </dev/null)
	rc=$?
}

# matches STATUS REGEX: whether $rc and $out are as expected; STATUS "!" is any failure.
matches() {
	if [ "$1" = '!' ]; then
		[ $rc -ne 0 ] && [ $rc -lt 124 ] || return 1
	else
		[ $rc -eq "$1" ] || return 1
	fi
	[[ $out =~ $2 ]]
}

check() {
	local name=$1 status=$2 regex=$3 started=${EPOCHREALTIME/./} ms said=$rc

	shift 3
	attempt "$@"
	ms=$(((${EPOCHREALTIME/./} - started) / 1000))
	if matches "$status" "$regex"; then
		live_pass "$name ($ms ms)"
		return 0
	fi
	said="status $rc (expected $status, /$regex/): $out"
	if [[ " ${live_machine_limits:-} " = *" $name "* ]] && also_fails "$status" "$regex" "$@"; then
		live_skip "$name" "host: runc fails it as well: $(printf '%s' "$out" | tail -n 1 | cut -c 1-200)"
	else
		live_fail "$name" "$said"
	fi
	return 1
}

# also_fails STATUS REGEX COMMAND...: the same with runc in the runtime's place does not match either.
# Only commands that make a container of their own can be repeated so.
also_fails() {
	local status=$1 regex=$2 word words=() replaced=false

	shift 2
	[ -x "$live_reference" ] || return 1
	for word in "$@"; do
		if [[ $word = *"$live_runtime"* ]]; then
			word=${word//$live_runtime/$live_reference}
			replaced=true
		elif [[ $word = "$live_runtime_name" ]]; then
			word=$live_reference_name
			replaced=true
		fi
		words+=("$word")
	done
	$replaced || return 1
	cp "$W/execs" "$W/execs.before"
	attempt "${words[@]}"
	sleep 0.3
	cat "$W/execs.before" >"$W/execs"
	! matches "$status" "$regex"
}

# check_is NAME STATUS TEXT COMMAND...: as check, the output is TEXT and nothing else.
check_is() {
	local name=$1 status=$2 regex

	regex=$(printf '%s' "$3" | sed 's/[][\\.*^$+?(){}|]/\\&/g')
	shift 3
	check "$name" "$status" "^$regex\$" "$@"
}

# check_shell NAME STATUS REGEX TEXT: TEXT is run by bash, with the functions of this script.
check_shell() {
	local name=$1 status=$2 regex=$3 text=$4

	check "$name" "$status" "$regex" bash -c "$text"
}

# wait_for SECONDS COMMAND...
wait_for() {
	local end=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

need_commands() {
	local name

	for name in "$@"; do
		if ! command -v "$name" >/dev/null; then
			if [ "${SBX_TEST_STRICT:-0}" = 1 ]; then
				live_fail "$live_name" "$name is not installed"
			else
				live_skip "$live_name" "$name is not installed"
			fi
			return 1
		fi
	done
}

# ---- the image -------------------------------------------------------------------------------------

# The one image of nearly all tests, as a root folder and as an OCI archive named localhost/bb:1.
make_image() {
	local root=$W/rootfs applet

	mkdir -p "$root"/{bin,dev,etc,proc,root,run,sys,tmp,var,workspace}
	chmod 1777 "$root/tmp"
	cp "$(command -v busybox)" "$root/bin/busybox"
	for applet in $(busybox --list); do
		[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
	done
	cp "$SBX_TEST_BIN/probe" "$root/bin/probe"
	printf 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n' >"$root/etc/passwd"
	printf 'root:x:0:\nuser:x:1000:\n' >"$root/etc/group"
	make_archive "$root" localhost/bb:1 '["/bin/sh"]' image
	mv "$W/image.layer.tar" "$W/layer.tar"
}

# make_archive ROOT NAME COMMAND FILE: $W/FILE.tar is the OCI archive, $W/FILE.layer.tar its one layer.
make_archive() {
	local root=$1 name=$2 command=$3 tar=$W/$4.layer.tar oci=$W/$4.oci layer config manifest arch

	mkdir -p "$oci/blobs/sha256"
	tar -C "$root" --sort=name -cf "$tar" .
	case $(uname -m) in
	x86_64) arch=amd64 ;;
	aarch64) arch=arm64 ;;
	*) arch=$(uname -m) ;;
	esac
	layer=$(sha256sum <"$tar" | cut -d ' ' -f 1)
	cp "$tar" "$oci/blobs/sha256/$layer"
	config=$(add_blob "$oci" "$(jq -cn --arg arch "$arch" --arg layer "$layer" --argjson command "$command" '{
		architecture: $arch, os: "linux", config: {Cmd: $command, Env: ["PATH=/bin"]},
		history: [{created_by: "busybox"}], rootfs: {type: "layers", diff_ids: ["sha256:" + $layer]}}')")
	manifest=$(add_blob "$oci" "$(jq -cn --arg config "$config" --arg layer "$layer" \
		--argjson config_size "$(stat -c %s "$oci/blobs/sha256/$config")" \
		--argjson layer_size "$(stat -c %s "$tar")" '{schemaVersion: 2,
		mediaType: "application/vnd.oci.image.manifest.v1+json",
		config: {mediaType: "application/vnd.oci.image.config.v1+json",
			digest: ("sha256:" + $config), size: $config_size},
		layers: [{mediaType: "application/vnd.oci.image.layer.v1.tar",
			digest: ("sha256:" + $layer), size: $layer_size}]}')")
	jq -cn --arg name "$name" --arg manifest "$manifest" \
		--argjson size "$(stat -c %s "$oci/blobs/sha256/$manifest")" '{schemaVersion: 2, manifests: [{
		mediaType: "application/vnd.oci.image.manifest.v1+json", digest: ("sha256:" + $manifest),
		size: $size, annotations: {"org.opencontainers.image.ref.name": $name,
			"io.containerd.image.name": $name}}]}' >"$oci/index.json"
	echo '{"imageLayoutVersion":"1.0.0"}' >"$oci/oci-layout"
	tar -C "$oci" -cf "$W/$4.tar" .
}

# add_blob OCI TEXT: prints its digest.
add_blob() {
	local digest

	digest=$(printf '%s' "$2" | sha256sum | cut -d ' ' -f 1)
	printf '%s' "$2" >"$1/blobs/sha256/$digest"
	echo "$digest"
}

# ---- which runtime was it? -------------------------------------------------------------------------

start_execwatch() {
	local other watched=("$live_runtime")

	for other in /usr/bin/crun /usr/bin/runc /usr/sbin/runc; do
		[ -x "$other" ] && [ "$(realpath "$other")" != "$(realpath "$live_runtime")" ] &&
			watched+=("$(realpath "$other")")
	done
	: >"$W/execs"
	"$SBX_TEST_BIN/execwatch" "$W/execs" "${watched[@]}" >"$W/execwatch.out" 2>&1 &
	live_execwatch=$!
	wait_for 10 grep -q ready "$W/execwatch.out"
}

# check_runtime_ran NAME: since the last call this build has run `create` or `run`, no other runtime has.
check_runtime_ran() {
	local name="$1: the process that ran create is this build"

	sleep 0.3
	if grep -qE "^$live_runtime [0-9]+ .*(create|run)" "$W/execs" &&
		! grep -qvE "^$live_runtime " "$W/execs"; then
		live_pass "$name"
	else
		live_fail "$name" "executed: $(cut -d ' ' -f 1 "$W/execs" | sort | uniq -c)
			$(grep -vE "^$live_runtime " "$W/execs")"
	fi
	: >"$W/execs"
}

# ---- profiles --------------------------------------------------------------------------------------

# What the confined container tries; each line tells what became of it. $1: the port of a listener on
# 127.0.0.1 in the container's network (without a profile), and the address of the host's listener.
LIVE_ACTIONS='ln -s /etc/outside /workspace/link
try() { n=$1; shift; if "$@" >/dev/null 2>&1; then echo "$n allowed"; else echo "$n refused"; fi; }
try workspace sh -c "echo x >/workspace/file"
try read cat /etc/passwd
try outside sh -c "echo x >/etc/outside"
try symlink sh -c "echo x >/workspace/link"
try connect probe connect 127.0.0.1 PORT
rm -f /etc/outside /workspace/link'

LIVE_REFUSED=$'workspace allowed\nread allowed\noutside refused\nsymlink refused\nconnect refused'
LIVE_ALLOWED=$'workspace allowed\nread allowed\noutside allowed\nsymlink allowed\nconnect allowed'

LIVE_PROFILE='{"version":1,"workspace":{"root":"/workspace","read":"allow","write":"allow"},"host":{"read":"allow","write":"deny"},"network":{"access":"deny"},"command":"allow"}'

# prepare_profile: a workspace folder, a listener on the loopback, $profile_b64, the profile named "live".
prepare_profile() {
	live_port=$((20000 + $$ % 10000))
	"$SBX_TEST_BIN/probe" listen 127.0.0.1 $live_port >"$W/listen.out" 2>&1 &
	wait_for 10 grep -q listening "$W/listen.out"
	live_actions=${LIVE_ACTIONS//PORT/$live_port}
	mkdir -p /etc/sbx-runtime/profiles "$W/workspace"
	printf '%s' "$LIVE_PROFILE" >/etc/sbx-runtime/profiles/live.json
	profile_b64=$("$live_runtime" profile encode /etc/sbx-runtime/profiles/live.json)
}

# The fragment that is installed with the runtime, with this build's path, to append to a configuration.
containerd_fragment() {
	sed -e '/^version = /d' -e "s#@bindir@/sbx-runtime#$live_runtime#" \
		"$LIVE_TOP/contrib/containerd/sbx-runtime.toml.in"
}

runtime_has_profiles() {
	[[ $("$live_runtime" --version) = sbx-runtime* ]]
}

# ---- the frame -------------------------------------------------------------------------------------

live_cgroups() {
	local type

	type=$(stat -f -c %T /sys/fs/cgroup)
	case $1 in
	v1)
		if [ "$type" = cgroup2fs ]; then
			live_skip "$live_name" 'host: cgroup v1 is not available here'
			return 1
		fi
		! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified
		;;
	v2)
		[ "$type" = cgroup2fs ] || {
			umount -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
		}
		;;
	hybrid)
		if ! mountpoint -q /sys/fs/cgroup/unified; then
			live_skip "$live_name" 'host: its cgroup hierarchies are not hybrid'
			return 1
		fi
		;;
	host) ;;
	esac
}

# The managers' cgroups that are there now, in every hierarchy; others' come and go meanwhile.
live_cgroup_dirs() {
	find /sys/fs/cgroup -mindepth 1 -type d 2>/dev/null |
		grep -E '^/sys/fs/cgroup/([^/]+/)?(libpod|docker|buildah|crio|k8s|kubepods|default|sbx-live)[^/]*(/|$)' | sort
}

live_remove_new_cgroups() {
	local dir

	live_cgroup_dirs | comm -13 "$W/cgroups.before" - | sort -r | while read -r dir; do
		rmdir "$dir" 2>/dev/null
	done
}

live_setup() {
	mount -t tmpfs -o mode=755,nosuid,nodev tmpfs /run
	mkdir -p /run/lock
	mkdir "$W/etc" "$W/etc-work"
	mount -t overlay overlay -o "lowerdir=/etc,upperdir=$W/etc,workdir=$W/etc-work" /etc
	ip link set lo up
	live_cgroup_dirs >"$W/cgroups.before"
	cd "$W" || exit 1 # conmon leaves a file "oom" where it was started
	export HOME=$W/home
	mkdir "$HOME"
	unset XDG_RUNTIME_DIR XDG_CONFIG_HOME NOTIFY_SOCKET CONTAINERS_CONF CONTAINERS_STORAGE_CONF
}

# In the namespaces: $1 name, $2 runtime, $3 mode.
live_inside() {
	live_name=$1
	live_runtime=$2
	live_mode=$3
	live_runtime_name=${live_runtime_name:-sbx}
	live_reference_name=reference
	live_reference=$(realpath "$(command -v runc || echo /usr/bin/runc)")
	W=$(mktemp -d "${LIVE_TMPDIR:-/var/tmp}/sbx-live.XXXXXX") || exit 1
	trap live_end EXIT
	live_cgroups "$live_mode" || exit 0
	live_setup
	make_image
	start_execwatch
	live_tests
}

live_end() {
	local status=$?

	trap - EXIT
	declare -F live_cleanup >/dev/null && live_cleanup >/dev/null 2>&1
	kill "${live_execwatch:-}" 2>/dev/null
	[ ! -e "$W/cgroups.before" ] || live_remove_new_cgroups
	umount -l /etc 2>/dev/null
	awk -v w="$W/" 'index($5, w) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
		while read -r mount; do umount -l "$mount"; done
	cd / && rm -rf --one-file-system "$W"
	live_say "$live_passed passed, $live_failed failed, $live_skipped skipped"
	[ $live_failed -eq 0 ] && [ $status -eq 0 ]
	exit
}

live_main() {
	local name=$1 runtime=${2:-${SBX_RUNTIME:-}} mode=${3:-}

	if [ -z "$mode" ]; then
		mode=host
		! mountpoint -q /sys/fs/cgroup/unified || mode=v1
	fi
	if [ "$(id -u)" != 0 ] || [ ! -x "$runtime" ]; then
		live_say "$name: needs root and the path of a runtime"
		live_say '0 passed, 1 failed'
		exit 1
	fi
	runtime=$(realpath "$runtime")
	if [ "${LIVE_INSIDE:-}" != yes ]; then
		LIVE_INSIDE=yes exec unshare --mount --net --pid --ipc --fork --kill-child --mount-proc \
			--propagation private bash "$0" "$runtime" "$mode"
	fi
	unset LIVE_INSIDE
	live_inside "$name" "$runtime" "$mode"
}
