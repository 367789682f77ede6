#include "backends/linux/room.h"

const struct room room_oom = {
	.name = "oom",
};
