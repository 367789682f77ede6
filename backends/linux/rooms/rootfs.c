#include "backends/linux/room.h"

const struct room room_rootfs = {
	.name = "rootfs",
};
