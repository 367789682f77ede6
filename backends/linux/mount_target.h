/*
 * Where a mount goes: the destination inside the container's root, as a descriptor.
 *
 * Destinations are resolved inside the root with their symbolic links, missing directories and
 * files are made. Stricter for what decides the container's security: /proc and /sys are mounted on
 * ordinary directories only (CVE-2019-19921, CVE-2023-27561), and nothing covers a part of /proc
 * but the few files that carry no authority (CVE-2019-16884).
 */
#ifndef SBX_LINUX_MOUNT_TARGET_H
#define SBX_LINUX_MOUNT_TARGET_H

#include "backends/linux/plan.h"

/* The rules that the destination's text alone decides; pure. SBX_E_INVALID_CONFIG with pointer. */
int mount_target_check(const struct plan_mount *m, const char *pointer, struct sbx_error *err);

/*
 * Open (and make, where missing) the target of m below root_fd: a directory, or what source_fd is
 * where that is not negative. The caller's umask must be 0. *ret_existed tells whether it was
 * there; what is no fit for the source is refused by mount_target_attach(). Returns an O_PATH
 * descriptor or -errno.
 */
int mount_target_open(int root_fd, const struct plan_mount *m, int source_fd, bool *ret_existed,
		      struct sbx_error *err);

/* Attach mount_fd to target_fd. A folder on a file, or the reverse, is named as such. */
int mount_target_attach(int mount_fd, int target_fd, struct sbx_error *err);

/* fd is the root directory of a procfs. */
bool mount_is_procfs_root(int fd);

#endif
