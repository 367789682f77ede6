/*
 * What may be written: one sweep makes the tree read-only, private and without devices, then what
 * may be written is put back, and the device nodes that every container has.
 *
 * The stays (view_mounts.c) are opened again in place and keep a read-only flag that the bundle
 * gave them; of the procfs, entries other than those of processes become read-only one by one. A
 * /dev/shm that the bundle binds from elsewhere is somebody else's: the container gets its own.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backends/linux/device_nodes.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/view_build.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "runtime/base/path.h"

#define PAGE_BYTES 4096
#define INODES_MIN 1024

/* ---- the stays, open again ---- */

/* Devices in /dev are those of the devices room alone: what else is mounted below stays closed. */
static int open_stay(const struct view_build *b, enum stay stay)
{
	bool devices = stay == STAY_DEV || stay == STAY_PTS;
	uint64_t clear = devices ? MOUNT_ATTR_NODEV : 0;
	cleanup_fd int fd = view_stay_open(b, stay);

	if (fd < 0)
		return fd;
	if (stay != STAY_DEV && !b->stays[stay].read_only)
		clear |= MOUNT_ATTR_RDONLY;
	return clear ? mount_tree_set(fd, false, 0, clear) : 0;
}

static int open_stays(const struct view_build *b, struct sbx_error *err)
{
	size_t i;
	int r;

	for (i = 0; i < STAY_COUNT; i++) {
		r = b->stays[i].own ? open_stay(b, (enum stay)i) : 0;
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "leave \"%s\" open",
					view_stays[i].path);
	}
	return 0;
}

/* One of the nodes that every container has, where /dev is not the container's own file system or
 * the node is a mount: a mount of its own that lets it be opened. */
static int open_node(const struct view_build *b, const struct device_node *node)
{
	cleanup_fd int fd = view_open(b->root_fd, node->path), clone = -EBADF;
	struct statx stx;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !device_node_is(node, &st))
		return 0;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_MODE, &stx) < 0)
		return -errno;
	if (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return mount_tree_set(fd, false, 0, MOUNT_ATTR_NODEV);
	if (b->stays[STAY_DEV].own)
		return 0;
	clone = mount_tree_clone_fd(fd, false);
	if (clone < 0)
		return clone;
	r = mount_tree_set(clone, false, 0, MOUNT_ATTR_NODEV);
	return r < 0 ? r : mount_tree_attach(clone, fd);
}

static int open_nodes(const struct view_build *b, struct sbx_error *err)
{
	size_t i;
	int r;

	for (i = 0; i < device_nodes_n; i++) {
		r = open_node(b, &device_nodes[i]);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "leave \"%s\" open",
					device_nodes[i].path);
	}
	return 0;
}

static bool has_root_in(const struct policy *policy, const char *path)
{
	size_t i;

	for (i = 0; i < policy->paths_n; i++) {
		if (path_is_below(policy->paths[i].path, path))
			return true;
	}
	return false;
}

bool view_replaces_shm(const struct view_build *b, const char *path, int fd)
{
	const char *shm = view_stays[STAY_SHM].path;
	struct statfs fs;

	return strcmp(path, shm) == 0 && !b->stays[STAY_SHM].own && fstatfs(fd, &fs) == 0 &&
	       (unsigned long)fs.f_type == TMPFS_MAGIC && !has_root_in(b->plan->policy, shm);
}

/* As large as the one that is replaced. */
static int replace_shm(struct view_build *b, struct sbx_error *err)
{
	const char *path = view_stays[STAY_SHM].path;
	cleanup_fd int target = view_open(b->root_fd, path), fd = -EBADF;
	struct statfs fs;
	char options[64];
	int r;

	if (target < 0 || fstatfs(target, &fs) < 0 || !view_replaces_shm(b, path, target))
		return 0;
	snprintf(options, sizeof(options), "mode=1777,size=%llu",
		 (unsigned long long)fs.f_blocks * (unsigned long long)fs.f_bsize);
	fd = view_new_tmpfs(b, "shm", options,
			    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	r = fd < 0 ? fd : mount_tree_attach(fd, target);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "mount the container's own \"%s\"", path)
		     : 0;
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

/* ---- the whole ---- */

static int set_private_and(int tree_fd, uint64_t attrs)
{
	struct mount_attr attr = {.attr_set = attrs, .propagation = MS_PRIVATE};

	return sys_mount_setattr(tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);
}

static int sweep(const struct view_build *b, struct sbx_error *err)
{
	uint64_t attrs = MOUNT_ATTR_NODEV | (b->plan->view.host_write ? 0 : MOUNT_ATTR_RDONLY);
	int r = set_private_and(b->root_fd, attrs);

	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "make the view read-only") : 0;
}

/* The clones keep what the bundle made read-only in them; nodes in them are no devices. */
static int attach_writable(struct view_build *b, struct sbx_error *err)
{
	const struct policy *policy = b->plan->policy;
	size_t i;
	int r;

	for (i = 0; i < policy->paths_n; i++) {
		cleanup_fd int target = -EBADF;
		struct view_part part;

		if (!policy->paths[i].write)
			continue;
		r = set_private_and(b->roots[i].clone, MOUNT_ATTR_NODEV);
		if (r == 0)
			r = target = view_open(b->root_fd, policy->paths[i].path);
		if (r >= 0)
			r = mount_tree_attach(b->roots[i].clone, target);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "make root \"%s\" writable",
					policy->paths[i].path);
		part = view_root_part(b, i);
		r = view_part_fill(b, &part, b->roots[i].clone, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int view_set_writable(struct view_build *b, struct sbx_error *err)
{
	int r, fd = path_make_dirs_in_root(b->root_fd, b->plan->view.scratch_path, 0755);

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "make the scratch folder \"%s\"",
				b->plan->view.scratch_path);
	cleanup_close_fd(&fd);
	r = sweep(b, err);
	if (r == 0)
		r = open_stays(b, err);
	if (r == 0)
		r = open_nodes(b, err);
	if (r == 0)
		r = replace_shm(b, err);
	if (r == 0 && b->stays[STAY_PROC].own) {
		cleanup_fd int proc = view_stay_open(b, STAY_PROC);

		r = close_proc_entries(b, proc, err);
	}
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

/* tmpfs reads 0 as "no limit": the least is a page, and inodes cost memory as well. */
static int new_scratch(struct view_build *b)
{
	unsigned long long bytes = b->plan->view.scratch_bytes, inodes = bytes / PAGE_BYTES;
	char options[96];

	snprintf(options, sizeof(options), "mode=1777,size=%llu,nr_inodes=%llu",
		 bytes > PAGE_BYTES ? bytes : PAGE_BYTES,
		 inodes > INODES_MIN ? inodes : INODES_MIN);
	return view_new_tmpfs(b, "tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

/* The folder that the runtime made for this container, where only root looks up names. */
static int clone_scratch(const char *path)
{
	cleanup_fd int fd = path_open_no_symlinks(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	cleanup_fd int clone = fd < 0 ? fd : mount_tree_clone_fd(fd, false);
	int r = clone < 0 ? clone
			  : mount_tree_set(clone, false, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0);

	if (r == 0)
		r = set_private_and(clone, 0);
	return r < 0 ? r : take_fd(&clone);
}

int view_mount_scratch(struct view_build *b, struct sbx_error *err)
{
	const struct plan_view *view = &b->plan->view;
	cleanup_fd int target = path_open_in_root(b->root_fd, view->scratch_path, O_PATH, 0);
	cleanup_fd int fd = -EBADF;
	int r = target < 0 ? target : 0;

	if (r == 0) {
		fd = view->scratch_root ? clone_scratch(b->run->scratch_path) : new_scratch(b);
		r = fd < 0 ? fd : make_home(fd, view);
	}
	if (r == 0)
		r = mount_tree_attach(fd, target);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "mount the scratch folder \"%s\"",
				view->scratch_path)
		     : 0;
}
