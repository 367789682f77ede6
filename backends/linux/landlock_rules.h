/*
 * Inside of the Landlock room: a ruleset in the making, and the rules of a container that sees the
 * host's own tree (rung 2), where they are all that limits reading.
 */
#ifndef SBX_LINUX_LANDLOCK_RULES_H
#define SBX_LINUX_LANDLOCK_RULES_H

#include "backends/linux/room.h"
#include "runtime/base/kernel.h"

#define LANDLOCK_READ_RIGHTS                                                                       \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* No device nodes: nothing in a container may make them. */
#define LANDLOCK_WRITE_RIGHTS                                                                      \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                           \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |                            \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |                              \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER |   \
	 LANDLOCK_ACCESS_FS_TRUNCATE)
#define LANDLOCK_DEVICE_RIGHTS (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_IOCTL_DEV)

struct landlock_rules {
	const struct run *run;
	int fd;
	uint64_t handled;
};

/* Rights on fd and, where it is a folder, on all below. */
int landlock_rule_add(const struct landlock_rules *rules, int fd, uint64_t rights, const char *path,
		      struct sbx_error *err);

/* The same of a place that may be missing, no link followed. */
int landlock_rule_add_path(const struct landlock_rules *rules, const char *path, uint64_t rights,
			   struct sbx_error *err);

/* Rung 2, in the runtime: look for the runtime's own files and private folders. */
int landlock_shared_prepare(struct run *run, void **ret_facts, struct sbx_error *err);

/* Rung 2: every rule of the container. facts: what landlock_shared_prepare() found. */
int landlock_shared_add(const struct landlock_rules *rules, const void *facts,
			struct sbx_error *err);

#endif
