/*
 * Copy a directory tree into a fresh tmpfs (the mount option tmpcopyup).
 */
#ifndef SBX_LINUX_MOUNT_COPY_H
#define SBX_LINUX_MOUNT_COPY_H

#include "runtime/base/error.h"

#define MOUNT_COPY_DEPTH_MAX   100
#define MOUNT_COPY_ENTRIES_MAX (1u << 20)

/*
 * Copy what is below the directory source_fd (O_PATH is enough) into the empty directory target_fd:
 * directories, regular files, symbolic links, FIFOs and device nodes with mode, owner and
 * modification time; sockets and extended attributes are left out. By descriptor, iteratively,
 * following no link and crossing into no other mount's parent. Modes are exact whatever the umask.
 * SBX_E_RESOURCE_LIMIT beyond the limits above; a partial copy is left behind for the caller to
 * drop with its mount.
 */
int mount_copy_tree(int source_fd, int target_fd, struct sbx_error *err);

#endif
