/*
 * Numbers and thin wrappers of Linux system calls that the C library or its headers may lack.
 *
 * Debian 12 ships the headers of Linux 6.1 and glibc 2.36; everything newer is defined here, each
 * guarded, with the kernel version that brought it. The wrappers return a value >= 0 or -errno,
 * touch no errno of the caller's logic and never fall back: what a missing call (-ENOSYS) means is
 * decided by the caller. Numbers from 424 up are the same on every architecture that we build for
 * (x86_64, i386, aarch64, riscv64). Sources: include/uapi/linux/ and the manual pages named.
 */
#ifndef SBX_BASE_KERNEL_H
#define SBX_BASE_KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- system call numbers ---- */

#ifndef __NR_pidfd_send_signal
#define __NR_pidfd_send_signal 424
#endif
#ifndef __NR_open_tree
#define __NR_open_tree 428
#endif
#ifndef __NR_move_mount
#define __NR_move_mount 429
#endif
#ifndef __NR_fsopen
#define __NR_fsopen 430
#endif
#ifndef __NR_fsconfig
#define __NR_fsconfig 431
#endif
#ifndef __NR_fsmount
#define __NR_fsmount 432
#endif
#ifndef __NR_fspick
#define __NR_fspick 433
#endif
#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif
#ifndef __NR_close_range
#define __NR_close_range 436
#endif
#ifndef __NR_openat2
#define __NR_openat2 437
#endif
#ifndef __NR_pidfd_getfd
#define __NR_pidfd_getfd 438
#endif
#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif
#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule	     445
#define __NR_landlock_restrict_self  446
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467 /* 6.15 */
#endif

/* ---- openat2(2) ---- */

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* 5.12 */
#endif

static inline int sys_openat2(int dirfd, const char *path, const struct open_how *how)
{
	long fd = syscall(__NR_openat2, dirfd, path, how, sizeof(*how));

	return fd < 0 ? -errno : (int)fd;
}

/* ---- pidfd_open(2), close_range(2), execveat(2) ---- */

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080 /* 5.6 */
#endif
#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL /* 5.5 */
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL /* 5.7 */
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1) /* 5.9 */
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2) /* 5.11 */
#endif
#ifndef PIDFD_NONBLOCK
#define PIDFD_NONBLOCK O_NONBLOCK /* 5.10 */
#endif

static inline int sys_pidfd_open(pid_t pid, unsigned int flags)
{
	long fd = syscall(__NR_pidfd_open, pid, flags);

	return fd < 0 ? -errno : (int)fd;
}

static inline int sys_pidfd_send_signal(int pidfd, int sig)
{
	return syscall(__NR_pidfd_send_signal, pidfd, sig, NULL, 0) < 0 ? -errno : 0;
}

static inline int sys_close_range(unsigned int first, unsigned int last, unsigned int flags)
{
	return syscall(__NR_close_range, first, last, flags) < 0 ? -errno : 0;
}

/* Returns only on failure. */
static inline int sys_execveat(int dirfd, const char *path, char *const argv[], char *const envp[],
			       int flags)
{
	syscall(__NR_execveat, dirfd, path, argv, envp, flags);
	return -errno;
}

/* ---- the mount API: open_tree(2), move_mount(2), fsopen(2), mount_setattr(2) ---- */

#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef OPEN_TREE_CLOEXEC
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif
#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_SYMLINKS	0x00000001
#define MOVE_MOUNT_F_AUTOMOUNTS 0x00000002
#define MOVE_MOUNT_F_EMPTY_PATH 0x00000004
#define MOVE_MOUNT_T_SYMLINKS	0x00000010
#define MOVE_MOUNT_T_AUTOMOUNTS 0x00000020
#define MOVE_MOUNT_T_EMPTY_PATH 0x00000040
#endif
#ifndef MOVE_MOUNT_SET_GROUP
#define MOVE_MOUNT_SET_GROUP 0x00000100 /* 5.15 */
#endif
#ifndef MOVE_MOUNT_BENEATH
#define MOVE_MOUNT_BENEATH 0x00000200 /* 6.5 */
#endif
#ifndef FSOPEN_CLOEXEC
#define FSOPEN_CLOEXEC 0x00000001
#endif
#ifndef FSMOUNT_CLOEXEC
#define FSMOUNT_CLOEXEC 0x00000001
#endif
#ifndef MOUNT_ATTR_IDMAP
#define MOUNT_ATTR_IDMAP 0x00100000 /* 5.12 */
#endif
#ifndef MOUNT_ATTR_NOSYMFOLLOW
#define MOUNT_ATTR_NOSYMFOLLOW 0x00200000 /* 5.14 */
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/* enum fsconfig_command, by value: the enumeration stands in either of two headers. */
#define SYS_FSCONFIG_SET_FLAG	 0
#define SYS_FSCONFIG_SET_STRING	 1
#define SYS_FSCONFIG_SET_BINARY	 2
#define SYS_FSCONFIG_SET_PATH	 3
#define SYS_FSCONFIG_SET_FD	 5
#define SYS_FSCONFIG_CREATE	 6
#define SYS_FSCONFIG_RECONFIGURE 7
#define SYS_FSCONFIG_CREATE_EXCL 8 /* 6.6 */

static inline int sys_open_tree(int dirfd, const char *path, unsigned int flags)
{
	long fd = syscall(__NR_open_tree, dirfd, path, flags);

	return fd < 0 ? -errno : (int)fd;
}

/* open_tree(2) and mount_setattr(2) in one (Linux 6.15). */
static inline int sys_open_tree_attr(int dirfd, const char *path, unsigned int flags,
				     const struct mount_attr *attr)
{
	long fd = syscall(__NR_open_tree_attr, dirfd, path, flags, attr, sizeof(*attr));

	return fd < 0 ? -errno : (int)fd;
}

static inline int sys_move_mount(int from_fd, const char *from, int to_fd, const char *to,
				 unsigned int flags)
{
	return syscall(__NR_move_mount, from_fd, from, to_fd, to, flags) < 0 ? -errno : 0;
}

static inline int sys_fsopen(const char *type, unsigned int flags)
{
	long fd = syscall(__NR_fsopen, type, flags);

	return fd < 0 ? -errno : (int)fd;
}

static inline int sys_fsconfig(int fs_fd, unsigned int command, const char *key, const void *value,
			       int aux)
{
	return syscall(__NR_fsconfig, fs_fd, command, key, value, aux) < 0 ? -errno : 0;
}

static inline int sys_fspick(int dirfd, const char *path, unsigned int flags)
{
	long fd = syscall(__NR_fspick, dirfd, path, flags);

	return fd < 0 ? -errno : (int)fd;
}

static inline int sys_fsmount(int fs_fd, unsigned int flags, unsigned int attributes)
{
	long fd = syscall(__NR_fsmount, fs_fd, flags, attributes);

	return fd < 0 ? -errno : (int)fd;
}

static inline int sys_mount_setattr(int dirfd, const char *path, unsigned int flags,
				    const struct mount_attr *attr)
{
	return syscall(__NR_mount_setattr, dirfd, path, flags, attr, sizeof(*attr)) < 0 ? -errno
											: 0;
}

static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
	return syscall(__NR_pivot_root, new_root, put_old) < 0 ? -errno : 0;
}

/* ---- Landlock (Documentation/userspace-api/landlock.rst) ---- */

#ifndef LANDLOCK_CREATE_RULESET_VERSION
#define LANDLOCK_CREATE_RULESET_VERSION (1U << 0)
#endif
#ifndef LANDLOCK_CREATE_RULESET_ERRATA
#define LANDLOCK_CREATE_RULESET_ERRATA (1U << 1) /* ABI 7 */
#endif
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13) /* ABI 2 */
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* ABI 3 */
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#endif
#ifndef LANDLOCK_ACCESS_FS_RESOLVE_UNIX
#define LANDLOCK_ACCESS_FS_RESOLVE_UNIX (1ULL << 16) /* ABI 9 */
#endif
#ifndef LANDLOCK_ACCESS_NET_BIND_TCP
#define LANDLOCK_ACCESS_NET_BIND_TCP	(1ULL << 0) /* ABI 4 */
#define LANDLOCK_ACCESS_NET_CONNECT_TCP (1ULL << 1)
#endif
#ifndef LANDLOCK_SCOPE_SIGNAL
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0) /* ABI 6 */
#define LANDLOCK_SCOPE_SIGNAL		    (1ULL << 1)
#endif
#ifndef LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF
#define LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF  (1U << 0) /* ABI 7 */
#define LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON	  (1U << 1)
#define LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF (1U << 2)
#endif
#ifndef LANDLOCK_RESTRICT_SELF_TSYNC
#define LANDLOCK_RESTRICT_SELF_TSYNC (1U << 3) /* ABI 8 */
#endif

/* LANDLOCK_RULE_NET_PORT of enum landlock_rule_type, which older headers lack. */
#define SYS_LANDLOCK_RULE_NET_PORT 2

/* struct landlock_ruleset_attr as of ABI 6. An older kernel takes it as long as what it does not
 * know is 0 (-E2BIG else). */
struct sys_landlock_ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

struct sys_landlock_net_port {
	uint64_t allowed_access;
	uint64_t port;
};

/* A ruleset descriptor (CLOEXEC), or with attr NULL, size 0 and a flag the number asked for. */
static inline int sys_landlock_create_ruleset(const struct sys_landlock_ruleset *attr, size_t size,
					      uint32_t flags)
{
	long fd = syscall(__NR_landlock_create_ruleset, attr, size, flags);

	return fd < 0 ? -errno : (int)fd;
}

/* attr: struct landlock_path_beneath_attr or struct sys_landlock_net_port, as type says. */
static inline int sys_landlock_add_rule(int ruleset_fd, int type, const void *attr)
{
	return syscall(__NR_landlock_add_rule, ruleset_fd, type, attr, 0) < 0 ? -errno : 0;
}

static inline int sys_landlock_restrict_self(int ruleset_fd, uint32_t flags)
{
	return syscall(__NR_landlock_restrict_self, ruleset_fd, flags) < 0 ? -errno : 0;
}

/* ---- small constants ---- */

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x00001000U /* 5.8 */
#endif
#ifndef MFD_EXEC
#define MFD_NOEXEC_SEAL 0x0008U /* 6.3 */
#define MFD_EXEC	0x0010U
#endif
#ifndef PROC_SUPER_MAGIC
#define PROC_SUPER_MAGIC 0x9fa0
#endif
#ifndef CGROUP2_SUPER_MAGIC
#define CGROUP2_SUPER_MAGIC 0x63677270
#endif

#endif
