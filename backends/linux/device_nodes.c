#include "backends/linux/device_nodes.h"

#include <sys/sysmacros.h>

#include "runtime/base/cleanup.h"

const struct device_node device_nodes[] = {
	{"/dev/null", 1, 3, true},    {"/dev/zero", 1, 5, true},     {"/dev/full", 1, 7, true},
	{"/dev/random", 1, 8, false}, {"/dev/urandom", 1, 9, false}, {"/dev/tty", 5, 0, true},
};
const size_t device_nodes_n = ARRAY_SIZE(device_nodes);

bool device_node_is(const struct device_node *node, const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(node->major, node->minor);
}

bool device_is_null(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == DEVICE_NULL;
}
