#include "backends/linux/room.h"

const struct room room_keyring = {
	.name = "keyring",
};
