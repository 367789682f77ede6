# The edges of a profile (edges.bash), as root.
load helpers
load ../attacks/attacks
load edges

setup() {
	require_root
	edges_setup
}

@test 'a name that is exchanged between check and use: the object decides' {
	edge_swapped_name
}

@test 'a link that is pointed at something closed later: the target decides' {
	edge_dangling_link
}

@test 'a protected file with a second name is refused, and gets none inside' {
	edge_second_link
}

@test 'roots in roots: the longest path decides, open in closed and closed in open' {
	edge_nested_roots
}

@test 'paths that are not canonical, and patterns, are refused' {
	edge_spellings
}

@test 'procfs tells nothing of the processes and the kernel of the host' {
	edge_procfs
}

@test 'sockets of services are not there, by connect or by sendto' {
	edge_service_sockets
}

@test 'programs below /mnt are not in view' {
	edge_foreign_programs
}

@test 'no rule by the words of a command; deny is for all' {
	edge_commands
}

@test 'what nothing would enforce refuses the container and its report' {
	edge_unknown_members
}
