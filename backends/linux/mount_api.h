/*
 * The kernel's mount interface by descriptors: fsopen(2), fsconfig(2), fsmount(2), open_tree(2),
 * mount_setattr(2), move_mount(2).
 *
 * A mount is built detached, gets its final attributes there, and is attached last, to a target
 * that is a descriptor: there is no moment at which it is visible with other attributes, and no
 * path between a check and its use. Nothing here falls back to mount(2) with strings; where the
 * interface is missing (before Linux 5.12, or a seccomp filter of the caller) the call fails with
 * -ENOSYS or -EPERM and the room refuses by name.
 *
 * A detached mount can be neither cloned nor mounted upon before Linux 6.15: clone from, and attach
 * to, what is attached in the caller's own mount namespace.
 *
 * All functions return a descriptor (CLOEXEC) or 0 on success, a negative errno on failure.
 */
#ifndef SBX_LINUX_MOUNT_API_H
#define SBX_LINUX_MOUNT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>

/* What `mount -o remount,bind` replaces when it is given any flag (mount(2), MS_REMOUNT|MS_BIND);
 * how access times are kept stays as it is where no word about it is given. */
#define MOUNT_ATTRS_REPLACED                                                                       \
	(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |            \
	 MOUNT_ATTR_NOSYMFOLLOW)

/* A configuration context for a file system type; close it after mount_fs_make(). */
int mount_fs_open(const char *type);

/* One option; value NULL for a flag. -EINVAL where the file system does not know it. */
int mount_fs_set(int fs_fd, const char *key, const char *value);

/*
 * Every option of a comma separated list, as mount(8) writes it. A comma inside double quotes or
 * behind a backslash does not separate, nor does one before a digit in tmpfs's mpol= (the kernel's
 * own rule). On failure the offending option is copied to ret_option (size bytes).
 */
int mount_fs_set_list(int fs_fd, const char *options, char *ret_option, size_t size);

/* Create the superblock and a detached mount of it with attrs (MOUNT_ATTR_*). */
int mount_fs_make(int fs_fd, uint64_t attrs);

/* The kernel's last complaint about the context ("tmpfs: Bad value for 'size'"), empty where there
 * is none. Escapes nothing. */
void mount_fs_message(int fs_fd, char *out, size_t size);

/*
 * A detached copy of the mount at path (relative to dirfd; "" with AT_EMPTY_PATH: dirfd itself).
 * flags: AT_RECURSIVE (with everything mounted below), AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH.
 */
int mount_tree_clone(int dirfd, const char *path, unsigned flags);

/* The same with attributes from the start, of the whole tree where flags say so. -ENOSYS before
 * Linux 6.15. */
int mount_tree_clone_with(int dirfd, const char *path, unsigned flags, uint64_t attr_set,
			  uint64_t attr_clear);

/* A detached copy of what fd stands on. */
int mount_tree_clone_fd(int fd, bool recursive);

/* mount_setattr(2) on fd, which is the root of a mount (attached or not). */
int mount_tree_set(int fd, bool recursive, uint64_t attr_set, uint64_t attr_clear);

/* MS_SHARED, MS_PRIVATE, MS_SLAVE or MS_UNBINDABLE; MS_REC applies it to the whole tree. */
int mount_tree_set_propagation(int fd, unsigned long propagation);

/* MOUNT_ATTR_IDMAP by the user namespace userns_fd; only before the mount is attached. */
int mount_tree_set_idmap(int fd, bool recursive, int userns_fd);

/* Attach the detached mount mount_fd on target_fd (O_PATH is enough); also moves an attached one.
 */
int mount_tree_attach(int mount_fd, int target_fd);

/* A detached mount of a new file system without further options but source and those of the list
 * (NULL: none): fsopen to fsmount. */
int mount_new_filesystem(const char *type, const char *source, const char *options, uint64_t attrs);

#endif
