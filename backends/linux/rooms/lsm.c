#include "backends/linux/room.h"

const struct room room_lsm = {
	.name = "lsm",
};
