#include "backends/linux/room.h"

const struct room room_userns = {
	.name = "userns",
};
