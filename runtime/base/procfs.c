/*
 * Theory of operation: a detached procfs has no name and so nothing can be mounted below it; every
 * open there still refuses mounts and links, which is what protects the last resort, the caller's
 * own /proc. "self/" and "thread-self/" are links, so they are read once through the handle itself
 * and replaced by the number that this instance gives the caller.
 */
#include "runtime/base/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"

#define PROC_ROOT_INODE 1
#define OPEN_RETRIES	128

static int open_detached(void)
{
	cleanup_fd int fs_fd = sys_fsopen("proc", FSOPEN_CLOEXEC);
	int rc;

	if (fs_fd < 0)
		return fs_fd;
	rc = sys_fsconfig(fs_fd, SYS_FSCONFIG_CREATE, NULL, NULL, 0);
	if (rc < 0)
		return rc;
	return sys_fsmount(fs_fd, FSMOUNT_CLOEXEC,
			   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

/* The root directory of a procfs, not a folder of one and not another file system. */
static bool is_proc_root(int fd)
{
	struct statfs fs;
	struct stat st;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC && fstat(fd, &st) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_ino == PROC_ROOT_INODE;
}

int procfs_open_root(void)
{
	cleanup_fd int fd = open_detached();

	if (fd < 0)
		fd = sys_open_tree(AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (fd < 0)
		fd = open("/proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!is_proc_root(fd))
		return -EXDEV;
	return take_fd(&fd);
}

/* Refuse what lies on another mount than the procfs root. Without mount ids there is no way to tell
 * a bind mount of one proc file over another from the real one: refused as well. */
static int check_same_mount(int fd, uint64_t root_id)
{
	uint64_t id = 0;
	int rc = fd_mount_id(fd, &id);

	if (rc < 0)
		return rc;
	return id == root_id ? 0 : -EXDEV;
}

/* One component, no link, same mount; opened as asked only after that was checked. */
static int open_component(int dir_fd, const char *name, int flags, uint64_t root_id)
{
	cleanup_fd int probe = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int fd = -EBADF;
	struct stat st;
	int rc;

	if (probe < 0)
		return -errno;
	if (fstat(probe, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	rc = check_same_mount(probe, root_id);
	if (rc < 0)
		return rc;
	fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = check_same_mount(fd, root_id);
	return rc < 0 ? rc : take_fd(&fd);
}

/* openat2(2) is missing: the same, component by component. */
static int walk(int proc_fd, const char *name, int flags)
{
	cleanup_fd int dir = fcntl(proc_fd, F_DUPFD_CLOEXEC, 3);
	uint64_t root_id = 0;
	int rc;

	if (dir < 0)
		return -errno;
	rc = fd_mount_id(proc_fd, &root_id);
	if (rc < 0)
		return rc;
	for (;;) {
		size_t len = strcspn(name, "/");
		bool last = name[len] == '\0';
		char part[NAME_MAX + 1];
		int next;

		if (len == 0 || len > NAME_MAX)
			return -EINVAL;
		memcpy(part, name, len);
		part[len] = '\0';
		if (strcmp(part, ".") == 0 || strcmp(part, "..") == 0)
			return -EXDEV;
		next = open_component(dir, part, last ? flags : O_PATH | O_DIRECTORY, root_id);
		if (next < 0 || last)
			return next;
		cleanup_close_fd(&dir);
		dir = next;
		name += len + 1;
	}
}

/* name with "self" or "thread-self" at its front replaced by what this instance says they are. */
static int expand_self(int proc_fd, const char *name, char *out, size_t size)
{
	size_t len = strcspn(name, "/");
	char head[16], target[64];
	ssize_t n;
	int written;

	if (!(len == 4 && memcmp(name, "self", 4) == 0) &&
	    !(len == 11 && memcmp(name, "thread-self", 11) == 0)) {
		written = snprintf(out, size, "%s", name);
		return written < 0 || (size_t)written >= size ? -ENAMETOOLONG : 0;
	}
	memcpy(head, name, len);
	head[len] = '\0';
	n = readlinkat(proc_fd, head, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (target[0] < '1' || target[0] > '9' || target[strspn(target, "0123456789/task")] != '\0')
		return -EXDEV;
	written = snprintf(out, size, "%s%s", target, name + len);
	return written < 0 || (size_t)written >= size ? -ENAMETOOLONG : 0;
}

int procfs_open(int proc_fd, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_SYMLINKS,
	};
	char path[PATH_MAX];
	int fd, tries = 0;

	fd = expand_self(proc_fd, name, path, sizeof(path));
	if (fd < 0)
		return fd;
	do {
		fd = sys_openat2(proc_fd, path, &how);
	} while (fd == -EAGAIN && ++tries < OPEN_RETRIES);
	/* EPERM is also what an old sandbox answers to calls it does not know. */
	if (fd == -ENOSYS || fd == -EPERM)
		fd = walk(proc_fd, path, flags);
	return fd;
}

int procfs_open_magic(int proc_fd, const char *name, int flags)
{
	const char *slash = strrchr(name, '/');
	cleanup_fd int dir = -EBADF, link = -EBADF;
	char parent[PATH_MAX];
	uint64_t dir_id = 0;
	struct stat st;
	int fd, rc;

	if (!slash || slash == name || (size_t)(slash - name) >= sizeof(parent))
		return -EINVAL;
	memcpy(parent, name, (size_t)(slash - name));
	parent[slash - name] = '\0';
	dir = procfs_open(proc_fd, parent, O_PATH | O_DIRECTORY);
	if (dir < 0)
		return dir;
	link = openat(dir, slash + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (link < 0)
		return -errno;
	if (fstat(link, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return -EINVAL;
	/* Something mounted over the link would otherwise be followed in its place. */
	rc = fd_mount_id(dir, &dir_id);
	if (rc == 0)
		rc = check_same_mount(link, dir_id);
	if (rc < 0 && rc != -ENOSYS)
		return rc;
	fd = openat(dir, slash + 1, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int procfs_write(int proc_fd, const char *name, const char *value)
{
	cleanup_fd int fd = procfs_open(proc_fd, name, O_WRONLY);
	size_t len = strlen(value);
	ssize_t n;

	if (fd < 0)
		return fd;
	do {
		n = write(fd, value, len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}
