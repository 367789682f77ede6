#include "backends/linux/room.h"

const struct room room_seccomp = {
	.name = "seccomp",
};
