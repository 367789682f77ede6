/*
 * The mount table of a process, as proc_pid_mountinfo(5) writes it.
 */
#ifndef SBX_LINUX_MOUNT_TABLE_H
#define SBX_LINUX_MOUNT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/arena.h"
#include "runtime/base/buf.h"

struct mount_line {
	uint64_t id, parent; /* as STATX_MNT_ID */
	dev_t device;	     /* of the file system */
	char *root;	     /* which folder of it is shown */
	char *point, *type;  /* all into the line, unescaped */
	bool read_only;	     /* the mount, not the file system */
};

/* The calling process's table, at most 16 MiB; proc_fd as procfs_open() takes it. -errno. */
int mount_table_read(int proc_fd, struct buf *out);

struct mount_table {
	struct mount_line *lines;
	size_t n;
};

/* The whole table, in arena; parents before what is mounted in them. 0 or -errno. */
int mount_table_load(int proc_fd, struct arena *arena, struct mount_table *ret);

/* NULL: no mount of this table. */
const struct mount_line *mount_line_by_id(const struct mount_table *table, uint64_t id);

/* The mount with this id is line's own, or one that line's is mounted below. */
bool mount_line_is_on(const struct mount_table *table, const struct mount_line *line, uint64_t id);

/* Split one line, without its end, in place. False: it is none. */
bool mount_line_parse(char *line, struct mount_line *ret);

#endif
