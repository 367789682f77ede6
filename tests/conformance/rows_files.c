/*
 * What a profile promises of files: the view (what is there), its mounts (what they let be
 * written), carve-outs, and Landlock behind all of it.
 *
 * Mounts and Landlock refuse the same things. They are told apart by the errno: a mount's is EROFS,
 * and it is asked first. Landlock alone is met behind a descriptor of a folder that a program
 * outside passes in (OUTSIDE): no mount of the container holds it, so what is refused there is
 * refused by Landlock.
 */
#include "tests/conformance/conform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#define WS "/workspace"

/* ---- actions: on one path ---- */

static long opened(int fd)
{
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static long act_stat(const char *path)
{
	struct stat st;

	return or_errno(lstat(path, &st));
}

static long act_path(const char *path)
{
	return opened(open(path, O_PATH | O_NOFOLLOW));
}

static long act_open(const char *path)
{
	return opened(open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
}

static long act_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	char byte;
	long r;

	if (fd < 0)
		return -errno;
	r = or_errno(read(fd, &byte, 1));
	close(fd);
	return r == 0 ? -ENODATA : r;
}

/* The names of a folder but "." and ".."; no name at all is -ENODATA. */
static long act_list(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	long n = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return n ? n : -ENODATA;
}

static long act_write(const char *path)
{
	return opened(open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY));
}

static long act_create(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return or_errno(unlink(path));
}

static long act_mkdir(const char *path)
{
	return mkdir(path, 0700) < 0 ? -errno : or_errno(rmdir(path));
}

/* A group below the mount of control groups, or of the hierarchy of processes in it. */
static long act_group(const char *path)
{
	char name[PATH_MAX];
	struct stat st;

	snprintf(name, sizeof(name), "%s/pids", path);
	snprintf(name, sizeof(name), "%s%s/new", path, stat(name, &st) == 0 ? "/pids" : "");
	return act_mkdir(name);
}

static long act_symlink(const char *path)
{
	return symlink("x", path) < 0 ? -errno : or_errno(unlink(path));
}

static long act_fifo(const char *path)
{
	return mkfifo(path, 0600) < 0 ? -errno : or_errno(unlink(path));
}

static long act_socket(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	long r;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	r = or_errno(fd < 0 ? fd : bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	close(fd);
	return r < 0 ? r : or_errno(unlink(path));
}

static long act_truncate(const char *path)
{
	return or_errno(truncate(path, 1));
}

static long act_unlink(const char *path)
{
	return or_errno(unlink(path));
}

static long act_rmdir(const char *path)
{
	return or_errno(rmdir(path));
}

/* By a second, writable way to the same open file. */
static long act_reopen(const char *path)
{
	int fd = open(path, O_PATH);
	char link[64];
	long r;

	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	r = opened(open(link, O_WRONLY));
	close(fd);
	return r;
}

static long act_chmod(const char *path)
{
	return or_errno(chmod(path, 0644));
}

static long act_chown(const char *path)
{
	return or_errno(chown(path, 0, 0));
}

static long act_times(const char *path)
{
	return or_errno(utimensat(AT_FDCWD, path, NULL, 0));
}

static long set_attribute(const char *name, const char *path)
{
	/* as a capability: VFS_CAP_REVISION_2 with CAP_NET_RAW permitted */
	static const unsigned char value[20] = {1, 0, 0, 2, 0, 0x20};
	long r = or_errno(setxattr(path, name, value, sizeof(value), 0));

	return r == -EOPNOTSUPP ? 0 : r; /* the file system objects, and nothing before it */
}

static long act_setxattr(const char *path)
{
	return set_attribute("user.conform", path);
}

/* Executes it: the program's own "quit" verb. */
static long child_execute(const char *path)
{
	char *args[] = {(char *)path, "quit", NULL};

	execv(path, args);
	return -errno;
}

static long act_execute(const char *path)
{
	return in_child(child_execute, path);
}

/* ---- actions: on two names, "OLD NEW"; what could be done is undone ---- */

struct pair {
	char old[PATH_MAX / 2], new[PATH_MAX / 2];
};

static struct pair split(const char *what)
{
	struct pair pair;
	const char *blank = strchr(what, ' ');

	snprintf(pair.old, sizeof(pair.old), "%.*s", (int)(blank - what), what);
	snprintf(pair.new, sizeof(pair.new), "%s", blank + 1);
	return pair;
}

static long act_link(const char *what)
{
	struct pair pair = split(what);

	return link(pair.old, pair.new) < 0 ? -errno : or_errno(unlink(pair.new));
}

static long act_rename(const char *what)
{
	struct pair pair = split(what);

	return rename(pair.old, pair.new) < 0 ? -errno : or_errno(rename(pair.new, pair.old));
}

static long act_exchange(const char *what)
{
	struct pair pair = split(what);
	long r = or_errno(renameat2(AT_FDCWD, pair.old, AT_FDCWD, pair.new, RENAME_EXCHANGE));

	if (r == 0)
		renameat2(AT_FDCWD, pair.old, AT_FDCWD, pair.new, RENAME_EXCHANGE);
	return r;
}

/* A new file over NEW. */
static long act_replace(const char *what)
{
	struct pair pair = split(what);
	int fd = open(pair.old, O_CREAT | O_WRONLY, 0600);
	long r;

	close(fd);
	r = or_errno(rename(pair.old, pair.new));
	if (r < 0)
		unlink(pair.old);
	return r;
}

/* A nameless file of the folder OLD gets the name NEW. */
static long act_nameless(const char *what)
{
	struct pair pair = split(what);
	int fd = open(pair.old, O_TMPFILE | O_RDWR, 0600);
	char path[64];
	long r;

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = or_errno(linkat(AT_FDCWD, path, AT_FDCWD, pair.new, AT_SYMLINK_FOLLOW));
	close(fd);
	return r < 0 ? r : or_errno(unlink(pair.new));
}

/* The attribute NEW of the file OLD. */
static long act_attribute(const char *what)
{
	struct pair pair = split(what);

	return set_attribute(pair.new, pair.old);
}

/* ---- the tables ---- */

#define VIEW(name, act, control, probe)                                                            \
	{                                                                                          \
		SETTING_CLOSED, "readBoundary", "view", name, act, control, probe, ENOENT, 0       \
	}
#define READ_CARVE(name, act, control, probe, refusal)                                             \
	{                                                                                          \
		SETTING_CLOSED, "readBoundary", "carve-out", name, act, control, probe, refusal, 0 \
	}
#define MASK(name, act, control, probe, flags)                                                     \
	{                                                                                          \
		SETTING_CLOSED, "readBoundary", "mask", name, act, control, probe, ENODATA, flags  \
	}
#define LANDLOCK(guarantee, right, act, control, probe, refusal)                                   \
	{                                                                                          \
		SETTING_CLOSED, guarantee, "landlock", right, act, control, probe, refusal, 0      \
	}
#define MOUNT(name, act, control, probe)                                                           \
	{                                                                                          \
		SETTING_CLOSED, "writeBoundary", "mount", name, act, control, probe, EROFS, 0      \
	}
#define KERNEL(name, act, control, probe, flags)                                                   \
	{                                                                                          \
		SETTING_CLOSED, "writeBoundary", "kernel files", name, act, control, probe, EROFS, \
			flags                                                                      \
	}
#define CARVE(name, act, control, probe, refusal)                                                  \
	{                                                                                          \
		SETTING_CLOSED, "writeBoundary", "carve-out", name, act, control, probe, refusal,  \
			0                                                                          \
	}
#define OPEN(guarantee, mechanism, name, act, control, probe, refusal)                             \
	{                                                                                          \
		SETTING_OPEN, guarantee, mechanism, name, act, control, probe, refusal, 0          \
	}

static const struct row rows[] = {
	/* what is not in view is not there, whatever is asked of it */
	VIEW("attributes of a file outside", act_stat, "/usr/share/file", "/secret/file"),
	VIEW("a path descriptor of it", act_path, "/usr/share/file", "/secret/file"),
	VIEW("its contents", act_read, "/usr/share/file", "/secret/file"),
	VIEW("the list of its folder", act_list, "/usr/share", "/secret"),
	VIEW("through a link in the workspace", act_open, WS "/to-share", WS "/to-secret"),
	VIEW("through the link of a process to its root", act_open,
	     "/proc/self/root/usr/share/file", "/proc/self/root/secret/file"),
	VIEW("upwards out of the root", act_open, "/../usr/share/file", "/../../secret/file"),
	VIEW("a mount of the bundle that is in no root", act_read, WS "/file", "/hidden/file"),
	VIEW("one below a system folder", act_read, "/usr/share/file", "/usr/hidden/file"),
	VIEW("a second procfs", act_stat, "/proc/self/status", WS "/hostproc/self/status"),
	{SETTING_CLOSED, "readBoundary", "own files", "the runtime's bundle", act_stat,
	 "/opt/own/mine", "/opt/own/bundle/config.json", ENOENT, 0},
	{SETTING_CLOSED, "readBoundary", "own files", "the runtime's state", act_list, "/opt/own",
	 "/opt/own/root", ENODATA, 0},
	VIEW("the host's shared memory", act_stat, "/dev/shm", "/dev/shm/host"),
	{SETTING_CLOSED, "readBoundary", "devices", "a device that the bundle lists", act_open,
	 "/dev/zero", "/dev/kmsg", ENOENT, ROW_ROOT},
	{SETTING_CLOSED, "readBoundary", "nodev", "a device node in the workspace", act_open,
	 WS "/file", WS "/node", EACCES, ROW_ROOT},
	{SETTING_CLOSED, "readBoundary", "nodev", "a device node in a system folder", act_open,
	 "/usr/share/file", "/usr/share/node", EACCES, ROW_ROOT},
	READ_CARVE("a closed folder is empty", act_list, WS "/dir", WS "/closed", ENODATA),
	READ_CARVE("what is in it is not there", act_stat, WS "/file", WS "/closed/file", ENOENT),
	READ_CARVE("a closed file does not open", act_read, WS "/file", WS "/closed-file", EACCES),
	READ_CARVE("its name cannot be moved", act_rename, WS "/dir " WS "/gone",
		   WS "/closed " WS "/gone", EBUSY),
	MASK("/proc/keys", act_read, "/proc/version", "/proc/keys", 0),
	MASK("/proc/kallsyms", act_read, "/proc/version", "/proc/kallsyms", 0),
	MASK("/proc/vmallocinfo", act_read, "/proc/version", "/proc/vmallocinfo", ROW_ROOT),
	MASK("/proc/timer_list", act_read, "/proc/version", "/proc/timer_list", ROW_ROOT),
	LANDLOCK("readBoundary", "READ_FILE", act_open, WS "/file", OUTSIDE "/file", EACCES),
	LANDLOCK("readBoundary", "READ_DIR", act_list, WS "/dir", OUTSIDE "/dir", EACCES),
	LANDLOCK("readBoundary", "EXECUTE", act_execute, WS "/program", OUTSIDE "/program", EACCES),

	/* a read-only mount refuses every call that changes */
	MOUNT("open for writing", act_write, WS "/file", "/usr/share/file"),
	MOUNT("a new file", act_create, WS "/new", "/usr/share/new"),
	MOUNT("a new folder", act_mkdir, WS "/new", "/usr/share/new"),
	MOUNT("a new link", act_symlink, WS "/new", "/usr/share/new"),
	MOUNT("a new name", act_link, WS "/file " WS "/new", "/usr/share/file /usr/share/new"),
	MOUNT("another name", act_rename, WS "/file " WS "/new", "/usr/share/file /usr/share/new"),
	MOUNT("removal", act_unlink, WS "/spare1", "/usr/share/file"),
	MOUNT("truncate", act_truncate, WS "/file", "/usr/share/file"),
	MOUNT("mode", act_chmod, WS "/file", "/usr/share/file"),
	MOUNT("owner", act_chown, WS "/file", "/usr/share/file"),
	MOUNT("times", act_times, WS "/file", "/usr/share/file"),
	MOUNT("attributes", act_setxattr, WS "/file", "/usr/share/file"),
	MOUNT("a nameless file", act_nameless, WS " " WS "/new", "/usr/share /usr/share/new"),
	MOUNT("through a link in the workspace", act_write, WS "/file", WS "/to-share"),
	MOUNT("through the root of a process", act_write, WS "/file",
	      "/proc/self/root/usr/share/file"),
	MOUNT("through an open file", act_reopen, WS "/file", "/usr/share/file"),
	MOUNT("a root that may only be read", act_create, "/opt/rw/new", "/opt/ro/new"),
	MOUNT("the root folder itself", act_mkdir, "/opt/rw/new", "/new"),
	MOUNT("the folder of devices", act_create, WS "/new", "/dev/new"),
	{SETTING_CLOSED, "writeBoundary", "mount", "a mount that the bundle made read-only",
	 act_create, WS "/new", WS "/mount/new", EROFS, ROW_PLAIN},
	{SETTING_CLOSED, "writeBoundary", "own files", "the place of the bundle", act_create,
	 "/opt/own/new", "/opt/own/bundle/new", EROFS, 0},
	KERNEL("/proc/sys", act_write, "/proc/self/comm", "/proc/sys/kernel/core_pattern",
	       ROW_ROOT),
	KERNEL("/proc/irq", act_write, "/proc/self/comm", "/proc/irq/default_smp_affinity",
	       ROW_ROOT),
	KERNEL("control groups", act_group, WS, WS "/cgroup", ROW_ROOT),
	CARVE("a root that may only be read, in the workspace", act_write, WS "/file",
	      WS "/ro/file", EROFS),
	CARVE("a name outside of it", act_link, WS "/file " WS "/new", WS "/ro/file " WS "/new",
	      EXDEV),
	CARVE("a protected file", act_write, WS "/file", WS "/.envrc", EROFS),
	CARVE("its mode", act_chmod, WS "/file", WS "/.envrc", EROFS),
	CARVE("another file over it", act_replace, WS "/tmp1 " WS "/spare2",
	      WS "/tmp2 " WS "/.envrc", EBUSY),
	CARVE("exchanged for another", act_exchange, WS "/file " WS "/file2",
	      WS "/file " WS "/.envrc", EBUSY),
	CARVE("its removal", act_unlink, WS "/spare3", WS "/.envrc", EBUSY),
	CARVE("another name for it", act_rename, WS "/file " WS "/new", WS "/.envrc " WS "/new",
	      EBUSY),
	CARVE("the folder above a protected one", act_rename, WS "/dir " WS "/gone",
	      WS "/sub " WS "/gone", EBUSY),

	/* behind all mounts: each right of Landlock */
	LANDLOCK("writeBoundary", "WRITE_FILE", act_write, WS "/file", OUTSIDE "/file", EACCES),
	LANDLOCK("writeBoundary", "TRUNCATE", act_truncate, WS "/file", OUTSIDE "/file", EACCES),
	LANDLOCK("writeBoundary", "MAKE_REG", act_create, WS "/new", OUTSIDE "/new", EACCES),
	LANDLOCK("writeBoundary", "MAKE_DIR", act_mkdir, WS "/new", OUTSIDE "/new", EACCES),
	LANDLOCK("writeBoundary", "MAKE_SYM", act_symlink, WS "/new", OUTSIDE "/new", EACCES),
	LANDLOCK("writeBoundary", "MAKE_FIFO", act_fifo, WS "/new", OUTSIDE "/new", EACCES),
	LANDLOCK("writeBoundary", "MAKE_SOCK", act_socket, WS "/new", OUTSIDE "/new", EACCES),
	LANDLOCK("writeBoundary", "REMOVE_FILE", act_unlink, WS "/spare4", OUTSIDE "/spare",
		 EACCES),
	LANDLOCK("writeBoundary", "REMOVE_DIR", act_rmdir, WS "/spare-dir", OUTSIDE "/spare-dir",
		 EACCES),
	{SETTING_CLOSED, "writeBoundary", "capabilities", "capabilities of a file", act_attribute,
	 WS "/file user.conform", WS "/file security.capability", EPERM, ROW_ROOT},

	/* the same where the host may be read */
	OPEN("writeBoundary", "mount", "the host's files", act_write, WS "/file", "/etc/file",
	     EROFS),
	OPEN("writeBoundary", "mount", "a folder whose name begins as a root's", act_create,
	     "/opt/rw/new", "/opt/rw-tools/new", EROFS),
	OPEN("writeBoundary", "landlock", "WRITE_FILE", act_write, WS "/file", OUTSIDE "/file",
	     EACCES),
	{SETTING_OPEN, "writeBoundary", "kernel files", "/sys", act_write, "/proc/self/comm",
	 "/sys/kernel/profiling", EROFS, ROW_ROOT},
	OPEN("readBoundary", "mask", "/sys/firmware", act_list, "/sys/kernel", "/sys/firmware",
	     ENODATA),
	OPEN("readBoundary", "carve-out", "a closed folder of the host is empty", act_list, "/etc",
	     "/secret", ENODATA),
};

const struct row_table rows_files = {rows, sizeof(rows) / sizeof(rows[0])};
