#include "backends/linux/room.h"

const struct room room_mounts = {
	.name = "mounts",
};
