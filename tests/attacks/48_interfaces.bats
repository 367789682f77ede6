# Attack 48: changing the network from inside.
load ../bats/helpers
load attacks

setup() {
	require_root
	adversary_setup
}

@test 'attack 48: no interface, address or way is made, and no other kind of socket' {
	tries $'address\nway\nping' '' 'ip link set lo up 2>/dev/null; ip addr add 192.0.2.1/24 dev lo 2>/dev/null && echo address
		ip route add 198.51.100.0/24 dev lo 2>/dev/null && echo way
		ping -c 1 -W 1 127.0.0.1 >/dev/null 2>&1 && echo ping; true'
}
