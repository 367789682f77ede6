/*
 * Every room, in the order in which plan() runs: what the later ones read comes first (the
 * namespaces decide how devices are made, the view decides what Landlock opens).
 */
#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"

const struct room *const linux_rooms[] = {
	&room_shared,	 &room_namespaces, &room_userns,   &room_network,   &room_net_devices,
	&room_intel_rdt, &room_cgroup,	   &room_rootfs,   &room_mounts,    &room_devices,
	&room_tty,	 &room_view,	   &room_mask,	   &room_uts,	    &room_sysctl,
	&room_rlimits,	 &room_oom,	   &room_sched,	   &room_mempolicy, &room_keyring,
	&room_lsm,	 &room_caps,	   &room_landlock, &room_seccomp,   &room_payload,
};
const size_t linux_rooms_n = ARRAY_SIZE(linux_rooms);
