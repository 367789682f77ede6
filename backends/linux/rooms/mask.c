#include "backends/linux/room.h"

const struct room room_mask = {
	.name = "mask",
};
