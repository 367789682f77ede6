/*
 * The mount table of a process, as proc_pid_mountinfo(5) writes it.
 */
#ifndef SBX_LINUX_MOUNT_TABLE_H
#define SBX_LINUX_MOUNT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/buf.h"

struct mount_line {
	uint64_t id, parent; /* as STATX_MNT_ID */
	char *device, *root; /* "MAJOR:MINOR" of the file system, and which folder of it is shown */
	char *point, *type;  /* all into the line, unescaped */
};

/* The calling process's table, at most 16 MiB; proc_fd as procfs_open() takes it. -errno. */
int mount_table_read(int proc_fd, struct buf *out);

/* The whole table as lines in arena. 0 or -errno. */
int mount_table_lines(int proc_fd, struct arena *arena, struct mount_line **ret, size_t *ret_n);

/* Split one line, without its end, in place. False: it is none. */
bool mount_line_parse(char *line, struct mount_line *ret);

#endif
