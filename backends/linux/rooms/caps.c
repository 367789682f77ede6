#include "backends/linux/room.h"

const struct room room_caps = {
	.name = "caps",
};
