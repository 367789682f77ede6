#include "backends/linux/room.h"

const struct room room_unbuilt = {
	.name = "unbuilt",
};
