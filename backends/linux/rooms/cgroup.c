#include "backends/linux/room.h"

const struct room room_cgroup = {
	.name = "cgroup",
};
