#include "backends/linux/room.h"

const struct room room_view = {
	.name = "view",
};
