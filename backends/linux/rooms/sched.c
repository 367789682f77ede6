#include "backends/linux/room.h"

const struct room room_sched = {
	.name = "sched",
};
