#include "backends/linux/room.h"

const struct room room_rlimits = {
	.name = "rlimits",
};
