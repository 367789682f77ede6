/*
 * Building the detached mounts of a plan (rooms/mounts.c attaches them).
 */
#ifndef SBX_LINUX_MOUNT_MAKE_H
#define SBX_LINUX_MOUNT_MAKE_H

#include "backends/linux/room.h"

/*
 * A new file system with the options and attributes of m. covered: mode of the directory that the
 * mount takes over (a tmpfs without mode=), 0: none. Where a user namespace may not mount it
 * (EPERM) and m names a fallback, that host path is bound instead. Returns the mount's descriptor
 * or -errno with the kernel's own message.
 */
int mount_make_filesystem(const struct plan_mount *m, mode_t covered, struct sbx_error *err);

/*
 * A clone of the source of the plan's mount i with its attributes: the one that the runtime
 * prepared, else of what was noted of it (mount_source.h), else of its path. On /proc only the root
 * of a procfs is taken.
 */
int mount_make_bind(struct run *run, size_t i, struct sbx_error *err);

/*
 * The attributes of a bind, on a mount that is detached or (remount) attached. With any attribute
 * word this mount's flags become exactly what is asked, as `mount -o remount,bind` does; flags that
 * an outer user namespace locked stay, and clearing one by name is an error.
 */
int mount_set_bind_attributes(const struct plan_mount *m, int fd, struct sbx_error *err);

#endif
