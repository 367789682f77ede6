/*
 * Building the detached mounts of a plan (rooms/mounts.c attaches them).
 */
#ifndef SBX_LINUX_MOUNT_MAKE_H
#define SBX_LINUX_MOUNT_MAKE_H

#include "backends/linux/plan.h"

/*
 * A new file system with the options and attributes of m. covered: mode of the directory that the
 * mount takes over (a tmpfs without mode=), 0: none. Where a user namespace may not mount it
 * (EPERM) and m names a fallback, that host path is bound instead. Returns the mount's descriptor
 * or -errno with the kernel's own message.
 */
int mount_make_filesystem(const struct plan_mount *m, mode_t covered, struct sbx_error *err);

/*
 * A clone of m's source with m's attributes. root_fd: the container's root, where the source lies
 * inside it. prepared_fd: a clone that the runtime made already (owned from here on), or negative.
 * On /proc only the root of a procfs is taken.
 */
int mount_make_bind(int root_fd, const struct plan_mount *m, int prepared_fd,
		    struct sbx_error *err);

/* open_tree(2) flags for m's source. */
unsigned mount_clone_flags(const struct plan_mount *m);

/*
 * The attributes of a bind, on a mount that is detached or (remount) attached. With any attribute
 * word this mount's flags become exactly what is asked, as `mount -o remount,bind` does; flags that
 * an outer user namespace locked stay, and clearing one by name is an error.
 */
int mount_set_bind_attributes(const struct plan_mount *m, int fd, struct sbx_error *err);

#endif
