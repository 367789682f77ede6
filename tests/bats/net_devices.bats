# netDevices: devices of the host in the container's network. "The host" is a network namespace that
# each test makes: nothing of the machine's own network is touched.
load helpers

setup() {
	require_root
	command -v ip >/dev/null || skip 'needs iproute2'
	helpers_setup
	keep_namespaces --net
	keepers=("$KEEPER")
	HOST_NS=$NS/net
	# veth0 is given away, veth1 stays
	host ip link add veth0 mtu 1400 type veth peer name veth1 || skip_host 'no veth devices'
	host ip link set veth1 up
	host ip addr add 10.1.2.3/24 broadcast 10.1.2.200 dev veth0
	host ip addr add 10.9.9.9 peer 10.9.9.10/32 dev veth0 label veth0:p2p
	host ip addr add 10.1.3.3/24 noprefixroute dev veth0
	host ip addr add 10.1.4.4/24 valid_lft 1000 preferred_lft 1000 dev veth0
	host ip -6 addr add fd00:1::5/64 nodad dev veth0
	host ip link set veth0 up
	edit_config '.process.capabilities[] += ["CAP_NET_ADMIN", "CAP_NET_RAW"]'
	set_args sleep 1000
}

teardown() {
	was_set_up || return 0
	helpers_teardown
	kill -KILL "${keepers[@]}" 2>/dev/null || true
}

host() {
	nsenter --net="$HOST_NS" "$@"
}

# run_host ARGS: the runtime, whose own network is that of "the host".
run_host() {
	run --separate-stderr nsenter --net="$HOST_NS" "$SBX_RUNTIME" --root "$ROOT" "$@"
}

# create_host: create and start there.
create_host() {
	status=0
	host "$SBX_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" "$ID" >"$BATS_TEST_TMPDIR/out" \
		2>"$BATS_TEST_TMPDIR/err" </dev/null 3>&- || status=$?
	output='' stderr=$(<"$BATS_TEST_TMPDIR/err")
	[ $status != 0 ] || host "$SBX_RUNTIME" --root "$ROOT" start "$ID" 3>&-
}

# inside COMMAND: in the container's network, with the host's programs.
inside() {
	nsenter --net="/proc/$(container_pid)/ns/net" "$@"
}

give() {
	edit_config ".linux.netDevices = $1"
}

# The addresses of a device but for those of a link, as "ADDRESS/PREFIX FLAGS... LABEL"
addresses() {
	"$1" ip -o addr show dev "$2" scope global | sed -E 's/^[0-9]+: +[^ ]+ +//; s/ +/ /g; s/\\.*//' | sort
}

# But for an address with a lifetime, which the kernel dropped with the first move.
host_is_as_before() {
	[ "$(addresses host veth0 | grep -v dynamic)" = "$(grep -v dynamic <<<"$before")" ] &&
		host ip link show veth0 | grep -q 'mtu 1400' &&
		host ip link show veth0 | grep -q '[<,]UP[,>]' &&
		[ "$(host ip -o link | wc -l)" = "$links" ]
}

remember_host() {
	before=$(addresses host veth0)
	links=$(host ip -o link | wc -l)
}

# covers linux.netDevices
@test 'a device moves with its new name, permanent addresses, MTU and state' {
	give '{veth0: {name: "eth0"}}'
	create_host
	assert_status 0
	run host ip link show veth0
	[ "$status" != 0 ]
	inside ip link show eth0 | grep -q 'mtu 1400'
	inside ip link show eth0 | grep -q '[<,]UP[,>]'
	run addresses inside eth0
	assert_line --partial 'inet 10.1.2.3/24 brd 10.1.2.200'
	assert_line --partial 'inet 10.9.9.9 peer 10.9.9.10/32 scope global eth0:p2p'
	assert_line --regexp 'inet 10.1.3.3/24 .*noprefixroute'
	assert_line --partial 'inet6 fd00:1::5/64'
	refute_output --partial 10.1.4.4 # it is not permanent
	refute_output --partial veth0
	# and it works
	host ip addr add 10.1.2.4/24 dev veth1
	inside ip route get 10.1.2.4 | grep -q 'dev eth0'
	inside busybox ping -c 1 -W 2 10.1.2.4 >/dev/null
	# deletion does not move it back
	run_sbx delete --force "$ID"
	assert_status 0
	run host ip link show veth0
	[ "$status" != 0 ]
}

@test 'without a name it keeps its own, and a device that is down stays down' {
	host ip link set veth0 down
	give '{veth0: {}}'
	create_host
	assert_status 0
	inside ip link show veth0 | grep -q 'state DOWN'
	addresses inside veth0 | grep -q '10.1.2.3/24'
}

@test 'several devices; a template takes the first free number' {
	host ip link add veth2 type veth peer name veth3
	give '{veth0: {name: "net%d"}, veth2: {name: "net%d"}}'
	create_host
	assert_status 0
	[ "$(inside ip -o link | awk '{ print $2 }' | sed 's/@.*/:/' | sort | tr -d '\n')" = 'lo:net0:net1:' ]
}

@test 'into a network that is joined by its path, where the name of the journey does not clash' {
	local other
	keep_namespaces --net
	keepers+=("$KEEPER")
	other=$NS/net
	nsenter --net="$other" ip link add veth0 type veth peer name eth7
	edit_config '(.linux.namespaces[] | select(.type == "network")) |= {type: "network", path: $p}' \
		--arg p "$other"
	give '{veth0: {name: "eth0"}}'
	create_host
	assert_status 0
	[ "$(nsenter --net="$other" ip -o link | wc -l)" = 4 ]
	nsenter --net="$other" ip -o addr show dev eth0 | grep -q 10.1.2.3/24
	run_sbx delete --force "$ID"
	# a name that is taken there
	host ip link add veth0 type veth peer name veth9
	remember_host
	give '{veth0: {name: "eth7"}}'
	run_host create --bundle "$BUNDLE" "$ID"
	assert_error 'call it "eth7"'
	[ "$(host ip -o link | wc -l)" = "$links" ]
}

@test 'what fails later brings all of them back as they were' {
	remember_host
	give '{veth0: {name: "eth0"}}'
	set_args /no/such/program
	run_host create --bundle "$BUNDLE" "$ID"
	assert_error 'no such file or directory'
	host_is_as_before
	set_args sleep 1000
	give '{veth0: {name: "eth0"}, nosuch: {name: "eth1"}}'
	run_host create --bundle "$BUNDLE" "$ID"
	assert_error 'network device "nosuch"'
	host_is_as_before
	give '{veth0: {name: "lo"}}'
	run_host create --bundle "$BUNDLE" "$ID"
	assert_error 'ile exists'
	host_is_as_before
	give '{veth0: {name: "eth0"}, lo: {name: "lo2"}}'
	run_host create --bundle "$BUNDLE" "$ID"
	assert_error 'network device "lo"'
	host_is_as_before
	add_hook createRuntime '{"path": "/bin/false"}'
	give '{veth0: {name: "eth0"}}'
	run_host run --bundle "$BUNDLE" "$ID"
	assert_status 1
	host_is_as_before
	assert_no_leaks
	# the control: nothing but that was wrong
	edit_config 'del(.hooks)'
	create_host
	assert_status 0
}

@test 'names that no device can have, or two would have, are refused' {
	local bad

	remember_host
	while read -r bad; do
		give "$bad"
		run_host create --bundle "$BUNDLE" "$ID"
		assert_status 1
		assert_stderr netDevices
	done <<-'END'
		{veth0: {name: "a/b"}}
		{veth0: {name: "a:b"}}
		{veth0: {name: "a b"}}
		{veth0: {name: "."}}
		{veth0: {name: ".."}}
		{veth0: {name: "sixteenletters16"}}
		{veth0: {name: "eth%s"}}
		{veth0: {name: "eth%d%d"}}
		{veth0: {name: "eth%"}}
		{"a/b": {}}
		{"": {}}
		{veth0: {name: "eth0"}, veth1: {name: "eth0"}}
		{veth0: "eth0"}
	END
	host_is_as_before
}

@test 'without a network namespace, or with that of the caller, they are refused' {
	remember_host
	give '{veth0: {name: "eth0"}}'
	edit_config '(.linux.namespaces[] | select(.type == "network")) |= {type: "network", path: $p}' \
		--arg p "$HOST_NS"
	run_host create --bundle "$BUNDLE" "$ID"
	assert_error 'is that of the caller'
	edit_config '.linux.namespaces |= map(select(.type != "network"))'
	run_host create --bundle "$BUNDLE" "$ID"
	assert_error /linux/netDevices
	host_is_as_before
}

@test 'under a profile that denies the network they are refused, under one that allows it not' {
	remember_host
	mkdir "$BATS_TEST_TMPDIR/ws"
	add_mount "$(jq -n --arg s "$BATS_TEST_TMPDIR/ws" \
		'{destination: "/workspace", type: "bind", source: $s, options: ["rbind"]}')"
	give '{veth0: {name: "eth0"}}'
	for access in deny allow; do
		set_annotation dev.sbx.profile '{"version": 1, "workspace": {"root": "/workspace", "read": "allow",
			"write": "allow"}, "host": {"read": "allow", "write": "deny"}, "network": {"access": "'$access'"},
			"command": "allow"}'
		if [ $access = deny ]; then
			run_host create --bundle "$BUNDLE" "$ID"
			assert_error 'the profile denies the network'
			host_is_as_before
		else
			create_host
			assert_status 0
			inside ip link show eth0
		fi
	done
}

@test 'in a user namespace as well, and nothing keeps the network after its end' {
	use_user_namespace
	give '{veth0: {name: "eth0"}}'
	create_host
	assert_status 0
	addresses inside eth0 | grep -q 10.1.2.3/24
	run_sbx kill "$ID" KILL
	wait_until 5 status_is stopped
	wait_until 5 eval '! host ip link show veth1 2>/dev/null' # its peer ends with the namespace
}
