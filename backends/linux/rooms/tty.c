#include "backends/linux/room.h"

const struct room room_tty = {
	.name = "tty",
};
