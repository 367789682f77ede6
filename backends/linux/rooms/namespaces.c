#include "backends/linux/room.h"

const struct room room_namespaces = {
	.name = "namespaces",
};
