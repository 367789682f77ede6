/*
 * The device nodes that every container has (config-linux.md#default-devices), and the only ones
 * that a confined one can open: they reach nothing beyond the container.
 */
#ifndef SBX_LINUX_DEVICE_NODES_H
#define SBX_LINUX_DEVICE_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct device_node {
	const char *path;
	unsigned major, minor; /* of a character device: Documentation/admin-guide/devices.txt */
	bool written;	       /* programs write it */
};

extern const struct device_node device_nodes[];
extern const size_t device_nodes_n;

/* st is the device that node names: an image may have put anything under its path. */
bool device_node_is(const struct device_node *node, const struct stat *st);

#define DEVICE_NULL makedev(1, 3)

/* fd is a null device, whatever its path. */
bool device_is_null(int fd);

#endif
