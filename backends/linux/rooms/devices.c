#include "backends/linux/room.h"

const struct room room_devices = {
	.name = "devices",
};
