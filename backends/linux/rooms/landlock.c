#include "backends/linux/room.h"

const struct room room_landlock = {
	.name = "landlock",
};
