#include "backends/linux/room.h"

const struct room room_sysctl = {
	.name = "sysctl",
};
