/*
 * Destinations. The text is checked when the plan is made, the object when it is opened: a link may
 * lead to /proc too, so what was opened is asked for its file system.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "backends/linux/mount_api.h"
#include "backends/linux/mount_target.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/path.h"

#define PROC_ROOT_INODE 1

/* Files of /proc that lxcfs and its like replace; none of them is written or decides anything. */
static const char *const proc_replaceable[] = {
	"/proc/cpuinfo",  "/proc/diskstats",
	"/proc/loadavg",  "/proc/meminfo",
	"/proc/slabinfo", "/proc/stat",
	"/proc/swaps",	  "/proc/sys/crypto/fips_enabled",
	"/proc/uptime",	  "/proc/sys/kernel/ns_last_pid",
};

static bool is_proc_replaceable(const char *destination)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(proc_replaceable); i++) {
		if (strcmp(destination, proc_replaceable[i]) == 0)
			return true;
	}
	return false;
}

static bool is_new(const struct plan_mount *m, const char *type)
{
	return m->kind == MOUNT_FILESYSTEM && strcmp(m->type, type) == 0;
}

int mount_target_check(const struct plan_mount *m, const char *pointer, struct sbx_error *err)
{
	const char *d = m->destination;

	if (strcmp(d, "/") == 0)
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, pointer,
				   "mount on \"/\": the root is set by root.path");
	if (m->remount || !path_is_below(d, "/proc"))
		return 0;
	if (strcmp(d, "/proc") == 0) {
		if (is_new(m, "proc") || m->kind == MOUNT_BIND)
			return 0;
	} else if (is_proc_replaceable(d)) {
		return 0;
	}
	return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
			   "mount on \"%s\": cannot be mounted because it is inside /proc", d);
}

bool mount_is_procfs_root(int fd)
{
	struct statfs fs;
	struct stat st;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC && fstat(fd, &st) == 0 &&
	       st.st_ino == PROC_ROOT_INODE;
}

/* proc and sysfs, and whatever is bound on their places. */
static bool needs_ordinary_directory(const struct plan_mount *m)
{
	return is_new(m, "proc") || is_new(m, "sysfs") || strcmp(m->destination, "/proc") == 0 ||
	       strcmp(m->destination, "/sys") == 0;
}

/*
 * Make the missing directory destination: in the usual case its parent is there, and one mkdirat(2)
 * does. A name that is taken after all (a dangling link) and whatever else is unusual goes the long
 * way. *ret_inside: what is returned lies on the mount of its parent, where a directory could be
 * made; it is not of a procfs then.
 */
static int make_directory(int root_fd, const char *destination, bool *ret_inside)
{
	char name[NAME_MAX + 1];
	cleanup_fd int parent = path_open_parent_in_root(root_fd, destination, name, sizeof(name));
	int fd;

	if (parent < 0)
		return parent;
	if (mkdirat(parent, name, 0755) < 0)
		return path_make_dirs_in_root(root_fd, destination, 0755);
	fd = path_open_in_root_mount(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	*ret_inside = fd != -EXDEV;
	if (*ret_inside)
		return fd;
	fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_ordinary_directory(int root_fd, const struct plan_mount *m, bool *ret_existed,
				   bool *ret_inside, struct sbx_error *err)
{
	/* a link as the last component is no directory where it is not followed: -ENOTDIR */
	int fd = path_open_in_root_nofollow(root_fd, m->destination, O_PATH | O_DIRECTORY);

	*ret_existed = fd != -ENOENT;
	if (fd == -ENOENT)
		fd = make_directory(root_fd, m->destination, ret_inside);
	if (fd == -ENOTDIR || fd == -ELOOP)
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"\"%s\" must be mounted on ordinary directory", m->destination);
	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "open the destination") : fd;
}

/* Inside a procfs only its root (by a new procfs) and the listed files may be covered. */
static int check_covered(int fd, const struct plan_mount *m, struct sbx_error *err)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "stat the destination's file system");
	if (fs.f_type != PROC_SUPER_MAGIC || is_proc_replaceable(m->destination))
		return 0;
	if (strcmp(m->destination, "/proc") == 0 || (is_new(m, "proc") && mount_is_procfs_root(fd)))
		return 0;
	return sbx_fail(err, SBX_E_UNSAFE_PATH, 0, "cannot be mounted because it is inside /proc");
}

static int open_or_make(int root_fd, const struct plan_mount *m, int source_fd, bool *ret_existed,
			bool *ret_inside)
{
	const char *d = m->destination;
	int flags = O_PATH | (m->destination_nofollow ? O_NOFOLLOW : 0), fd;
	struct stat st = {.st_mode = S_IFDIR};

	if (is_proc_replaceable(d))
		return path_open_no_symlinks(root_fd, d + 1, O_PATH);
	fd = path_open_in_root_mount(root_fd, d, flags);
	*ret_inside = fd >= 0; /* the root's own mount is no procfs (rootfs.c) */
	if (fd == -EXDEV)
		fd = path_open_in_root(root_fd, d, flags, 0);
	*ret_existed = fd != -ENOENT;
	if (fd != -ENOENT)
		return fd;
	if (source_fd >= 0 && fstat(source_fd, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? make_directory(root_fd, d, ret_inside)
				   : path_make_file_in_root(root_fd, d, 0644);
}

int mount_target_open(int root_fd, const struct plan_mount *m, int source_fd, bool *ret_existed,
		      struct sbx_error *err)
{
	cleanup_fd int fd = -EBADF;
	bool existed = true, inside = false;
	int r;

	if (needs_ordinary_directory(m)) {
		fd = open_ordinary_directory(root_fd, m, &existed, &inside, err);
		if (fd < 0)
			return fd;
	} else {
		fd = open_or_make(root_fd, m, source_fd, &existed, &inside);
		if (fd < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -fd, "open the destination");
	}
	r = inside ? 0 : check_covered(fd, m, err);
	if (r < 0)
		return r;
	*ret_existed = existed;
	return take_fd(&fd);
}

/* The kernel says EINVAL for this as for much else; clients look for ENOTDIR's text. */
static int refuse_other_kind(int mount_fd, int target_fd, struct sbx_error *err)
{
	struct stat mount, target;

	if (fstat(mount_fd, &mount) < 0 || fstat(target_fd, &target) < 0 ||
	    S_ISDIR(mount.st_mode) == S_ISDIR(target.st_mode))
		return 0;
	return sbx_fail(err, SBX_E_SYSTEM, ENOTDIR,
			S_ISDIR(mount.st_mode) ? "a folder cannot be mounted on a file"
					       : "a file cannot be mounted on a folder");
}

int mount_target_attach(int mount_fd, int target_fd, struct sbx_error *err)
{
	int r = mount_tree_attach(mount_fd, target_fd);

	if (r == -EINVAL) {
		int kind = refuse_other_kind(mount_fd, target_fd, err);

		if (kind < 0)
			return kind;
	}
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "attach") : 0;
}
