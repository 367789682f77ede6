/*
 * What may be written: one sweep makes the tree read-only and private, then what may be written is
 * put back.
 *
 * Some mounts stay writable in place: terminals, shared memory, message queues of the bundle, and
 * the procfs of the container's own processes, whose entries other than those of processes become
 * read-only one by one. Each is recognised by its file system and by being the root of a mount, and
 * keeps a read-only flag that the bundle gave it.
 *
 * Under "host write allow" there is no sweep; then the file systems by which the kernel is set are
 * looked up in the mount table and made read-only singly.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backends/linux/mount_api.h"
#include "backends/linux/mount_table.h"
#include "backends/linux/view_build.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "runtime/base/path.h"
#include "runtime/base/procfs.h"

#define MQUEUE_MAGIC	0x19800202ul
#define PROC_ROOT_INODE 1
#define PAGE_BYTES	4096
#define INODES_MIN	1024

/* ---- mounts that stay writable in place ---- */

enum { STAY_PTS, STAY_MQUEUE, STAY_SHM, STAY_PROC, STAY_COUNT };

static const struct {
	const char *path;
	unsigned long magic;
} stay_rows[STAY_COUNT] = {
	[STAY_PTS] = {"/dev/pts", DEVPTS_SUPER_MAGIC},
	[STAY_MQUEUE] = {"/dev/mqueue", MQUEUE_MAGIC},
	[STAY_SHM] = {"/dev/shm", TMPFS_MAGIC},
	[STAY_PROC] = {"/proc", PROC_SUPER_MAGIC},
};

struct stays {
	int fd[STAY_COUNT]; /* the root of the mount, -EBADF: none, or not to be written */
};

static void stays_close(struct stays *stays)
{
	size_t i;

	for (i = 0; i < STAY_COUNT; i++)
		cleanup_close_fd(&stays->fd[i]);
}

/* The procfs of our own pid namespace: its "self" is us. */
static bool is_own_proc(int fd)
{
	char self[16], text[16];
	struct stat st;
	ssize_t n = readlinkat(fd, "self", text, sizeof(text) - 1);

	if (n <= 0 || fstat(fd, &st) < 0 || st.st_ino != PROC_ROOT_INODE)
		return false;
	text[n] = '\0';
	snprintf(self, sizeof(self), "%d", getpid());
	return strcmp(text, self) == 0;
}

static bool stays_writable(const struct view_build *b, size_t row, int fd)
{
	struct statfs fs;
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MODE, &stx) < 0 || fstatfs(fd, &fs) < 0)
		return false;
	if (!(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) || (fs.f_flags & ST_RDONLY) ||
	    (unsigned long)fs.f_type != stay_rows[row].magic)
		return false;
	/* The host's own shared memory reaches beyond the container. */
	if (row == STAY_SHM)
		return makedev(stx.stx_dev_major, stx.stx_dev_minor) != b->facts->host_shm;
	return row != STAY_PROC || is_own_proc(fd);
}

static void stays_find(const struct view_build *b, struct stays *stays)
{
	size_t i;

	for (i = 0; i < STAY_COUNT; i++) {
		stays->fd[i] = view_open(b->root_fd, stay_rows[i].path);
		if (stays->fd[i] >= 0 && !stays_writable(b, i, stays->fd[i]))
			cleanup_close_fd(&stays->fd[i]);
	}
}

static int stays_open_again(const struct stays *stays, struct sbx_error *err)
{
	size_t i;
	int r;

	for (i = 0; i < STAY_COUNT; i++) {
		if (stays->fd[i] < 0)
			continue;
		r = mount_tree_set(stays->fd[i], false, 0, MOUNT_ATTR_RDONLY);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "leave \"%s\" writable",
					stay_rows[i].path);
	}
	return 0;
}

/* ---- the own procfs: only processes may be written ---- */

static bool is_listed(const struct strings *list, const char *name)
{
	const size_t len = sizeof("/proc/") - 1;
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (strncmp(list->v[i], "/proc/", len) == 0 && strcmp(list->v[i] + len, name) == 0)
			return true;
	}
	return false;
}

/* Entries that every kernel has and none lets anyone write; sorted. What is not listed is looked
 * at, so that a new or a foreign entry is not forgotten. */
static const char *const readable_only[] = {
	"buddyinfo",   "cgroups",    "cmdline",	    "config.gz",   "consoles",	  "cpuinfo",
	"crypto",      "devices",    "diskstats",   "dma",	   "execdomains", "fb",
	"filesystems", "interrupts", "iomem",	    "ioports",	   "kallsyms",	  "key-users",
	"keys",	       "kmsg",	     "kpagecgroup", "kpagecount",  "kpageflags",  "loadavg",
	"locks",       "mdstat",     "meminfo",	    "misc",	   "modules",	  "pagetypeinfo",
	"partitions",  "schedstat",  "softirqs",    "stat",	   "swaps",	  "sysvipc",
	"tty",	       "uptime",     "version",	    "vmallocinfo", "vmstat",	  "zoneinfo",
};

static int compare_name(const void *name, const void *entry)
{
	return strcmp(name, *(const char *const *)entry);
}

/* Folders may hold anything; of files, those that anyone may write. The masks of the bundle and the
 * floor follow after us and need no help. */
static bool must_be_closed(const struct view_build *b, int proc_fd, const struct dirent *entry)
{
	const char *name = entry->d_name;
	struct stat st;

	if ((name[0] >= '0' && name[0] <= '9') || name[0] == '.' || entry->d_type == DT_LNK ||
	    bsearch(name, readable_only, ARRAY_SIZE(readable_only), sizeof(readable_only[0]),
		    compare_name) ||
	    is_listed(&b->plan->mounts.masked, name) || is_listed(&b->plan->mounts.readonly, name))
		return false;
	if (entry->d_type == DT_DIR)
		return true;
	if (fstatat(proc_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	return S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && (st.st_mode & 0222));
}

static int close_entry(int proc_fd, const char *name)
{
	cleanup_fd int fd = mount_tree_clone(proc_fd, name, AT_SYMLINK_NOFOLLOW | AT_RECURSIVE);
	cleanup_fd int target = -EBADF;
	int r;

	if (fd < 0)
		return fd;
	r = mount_tree_set(fd, true, MOUNT_ATTR_RDONLY, 0);
	if (r < 0)
		return r;
	target = openat(proc_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return target < 0 ? -errno : mount_tree_attach(fd, target);
}

static int close_proc_entries(const struct view_build *b, int proc_fd, struct sbx_error *err)
{
	cleanup_dir DIR *dir = NULL;
	struct dirent *entry;
	int r, fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		r = errno;
		cleanup_close_fd(&fd);
		return sbx_fail(err, SBX_E_SYSTEM, r, "list \"/proc\"");
	}
	while ((entry = readdir(dir))) {
		if (!must_be_closed(b, proc_fd, entry))
			continue;
		r = close_entry(proc_fd, entry->d_name);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "make \"/proc/%s\" read-only",
					entry->d_name);
	}
	return 0;
}

/* ---- host write allow: the kernel's file systems singly ---- */

static const char *const kernel_types[] = {
	"proc",	      "sysfs",	  "cgroup",	 "cgroup2",  "bpf",	  "debugfs",   "tracefs",
	"securityfs", "efivarfs", "binfmt_misc", "configfs", "pstore",	  "selinuxfs", "smackfs",
	"fusectl",    "devtmpfs", "nsfs",	 "resctrl",  "hugetlbfs",
};

static bool is_kernel_type(const char *type)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kernel_types); i++) {
		if (strcmp(kernel_types[i], type) == 0)
			return true;
	}
	return false;
}

static uint64_t mount_id(int fd)
{
	struct statx stx;

	return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0 ? 0 : stx.stx_mnt_id;
}

/* A mount below the container's root; one that another mount covers cannot be reached. */
static int close_kernel_mount(const struct view_build *b, const struct mount_line *line,
			      struct sbx_error *err)
{
	const char *root = b->plan->options.rootfs;
	const char *inside = strcmp(root, "/") == 0 ? line->point : line->point + strlen(root);
	cleanup_fd int fd = -EBADF;
	int r;

	if (!path_is_below(line->point, root) || !is_kernel_type(line->type))
		return 0;
	fd = path_open_in_root_nofollow(b->root_fd, *inside ? inside : "/", O_PATH);
	if (fd < 0 || mount_id(fd) != line->id || is_own_proc(fd))
		return 0;
	r = mount_tree_set(fd, false, MOUNT_ATTR_RDONLY, 0);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "make \"%s\" read-only", inside) : 0;
}

static int close_kernel_mounts(const struct view_build *b, struct sbx_error *err)
{
	cleanup_buf struct buf table = BUF_INIT;
	struct mount_line parsed;
	char *rest, *line;
	int r = mount_table_read(b->run->proc_fd, &table);

	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "read the mount table");
	rest = table.data;
	while (r == 0 && rest && (line = strsep(&rest, "\n"))) {
		if (mount_line_parse(line, &parsed))
			r = close_kernel_mount(b, &parsed, err);
	}
	return r;
}

/* ---- the whole ---- */

static int set_private_and(int tree_fd, uint64_t attrs)
{
	struct mount_attr attr = {.attr_set = attrs, .propagation = MS_PRIVATE};

	return sys_mount_setattr(tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);
}

static int sweep(const struct view_build *b, struct sbx_error *err)
{
	bool all = b->plan->view.host_write;
	int r = set_private_and(b->root_fd, all ? 0 : MOUNT_ATTR_RDONLY);

	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "make the view read-only");
	return all ? close_kernel_mounts(b, err) : 0;
}

/* The clones keep what the bundle made read-only in them; nodes in them are no devices. */
static int attach_writable(struct view_build *b, struct sbx_error *err)
{
	const struct policy *policy = b->plan->policy;
	size_t i;
	int r;

	for (i = 0; i < policy->paths_n; i++) {
		cleanup_fd int target = -EBADF;

		if (b->writable[i] < 0)
			continue;
		r = set_private_and(b->writable[i], MOUNT_ATTR_NODEV);
		if (r == 0)
			r = target = view_open(b->root_fd, policy->paths[i].path);
		if (r >= 0)
			r = mount_tree_attach(b->writable[i], target);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "make root \"%s\" writable",
					policy->paths[i].path);
	}
	return 0;
}

int view_set_writable(struct view_build *b, struct sbx_error *err)
{
	struct stays stays;
	int r, fd = path_make_dirs_in_root(b->root_fd, b->plan->view.scratch_path, 0755);

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "make the scratch folder \"%s\"",
				b->plan->view.scratch_path);
	cleanup_close_fd(&fd);
	stays_find(b, &stays);
	r = sweep(b, err);
	if (r == 0)
		r = stays_open_again(&stays, err);
	if (r == 0 && stays.fd[STAY_PROC] >= 0)
		r = close_proc_entries(b, stays.fd[STAY_PROC], err);
	stays_close(&stays);
	return r < 0 ? r : attach_writable(b, err);
}

static int make_home(int scratch_fd, const struct plan_view *view)
{
	if (!view->home)
		return 0;
	if (mkdirat(scratch_fd, view->home, 0700) < 0 ||
	    fchownat(scratch_fd, view->home, view->uid, view->gid, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(scratch_fd, view->home, 0700, 0) < 0)
		return -errno;
	return 0;
}

int view_mount_scratch(struct view_build *b, struct sbx_error *err)
{
	const struct plan_view *view = &b->plan->view;
	unsigned long long bytes = view->scratch_bytes, inodes = bytes / PAGE_BYTES;
	cleanup_fd int target = path_open_in_root(b->root_fd, view->scratch_path, O_PATH, 0);
	cleanup_fd int fd = -EBADF;
	char options[96];
	int r;

	/* tmpfs reads 0 as "no limit": the least is a page, and inodes cost memory as well. */
	snprintf(options, sizeof(options), "mode=1777,size=%llu,nr_inodes=%llu",
		 bytes > PAGE_BYTES ? bytes : PAGE_BYTES,
		 inodes > INODES_MIN ? inodes : INODES_MIN);
	r = target < 0 ? target : 0;
	if (r == 0) {
		fd = mount_new_filesystem("tmpfs", "tmpfs", options,
					  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
		r = fd < 0 ? fd : make_home(fd, view);
	}
	if (r == 0)
		r = mount_tree_attach(fd, target);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "mount the scratch folder \"%s\"",
				view->scratch_path)
		     : 0;
}
