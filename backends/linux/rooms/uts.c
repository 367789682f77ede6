#include "backends/linux/room.h"

const struct room room_uts = {
	.name = "uts",
};
