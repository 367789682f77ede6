/*
 * maskedPaths and readonlyPaths (config-linux.md), after the change of root.
 *
 * A masked directory gets a clone of one empty, read-only tmpfs with mode 000, made once; a masked
 * file gets a clone of the container's null device. That device is checked through the descriptor
 * that is cloned, for a name in /dev may be anything (CVE-2025-31133); where there is none, a node
 * of our own in another tmpfs serves. A read-only path is a recursive bind of itself that keeps its
 * flags. Paths are resolved inside the root; a missing one is nothing to hide.
 *
 * Under a profile the usual lists are a floor: what the bundle leaves out is added.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backends/linux/mount_api.h"
#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

#define NULL_DEVICE makedev(1, 3)

/* Kernel memory, keys, timers, firmware and power readings: what tells about other containers. */
static const char *const floor_masked[] = {
	"/proc/acpi",	    "/proc/asound",	 "/proc/interrupts",
	"/proc/kcore",	    "/proc/keys",	 "/proc/latency_stats",
	"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
	"/proc/scsi",	    "/sys/firmware",	 "/sys/devices/virtual/powercap",
};

static const char *const floor_readonly[] = {
	"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger",
};

/* ---- plan ---- */

static bool has_path(const struct strings *list, const char *path)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (strcmp(list->v[i], path) == 0)
			return true;
	}
	return false;
}

/* list, and what of floor (n entries) it lacks. */
static int plan_list(struct arena *arena, const struct strings *list, const char *const *floor,
		     size_t n, struct strings *ret)
{
	struct strings all = {0};
	size_t i;

	all.v = arena_alloc_array(arena, list->n + n + 1, sizeof(*all.v));
	if (!all.v)
		return -ENOMEM;
	for (i = 0; i < list->n; i++)
		all.v[all.n++] = list->v[i];
	for (i = 0; i < n; i++) {
		if (has_path(list, floor[i]))
			continue;
		all.v[all.n] = arena_strdup(arena, floor[i]);
		if (!all.v[all.n++])
			return -ENOMEM;
	}
	*ret = all;
	return 0;
}

static int check_paths(const struct strings *list, const char *pointer, struct sbx_error *err)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (list->v[i][0] != '/')
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
					   "path \"%s\" must be absolute", list->v[i]);
	}
	return 0;
}

static int mask_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_linux *config = &plan->spec->linux_;
	bool floor = plan->policy->confined;
	int r;

	(void)report;
	if (!plan->mounts.new_root) {
		if (plan->namespaces.path[NS_MNT] ||
		    (config->masked_paths.n == 0 && config->readonly_paths.n == 0))
			return 0;
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/linux/maskedPaths",
				   "masked and read-only paths need a mount namespace");
	}
	r = check_paths(&config->masked_paths, "/linux/maskedPaths", err);
	if (r == 0)
		r = check_paths(&config->readonly_paths, "/linux/readonlyPaths", err);
	if (r < 0)
		return r;
	r = plan_list(plan->arena, &config->masked_paths, floor_masked,
		      floor ? ARRAY_SIZE(floor_masked) : 0, &plan->mounts.masked);
	if (r == 0)
		r = plan_list(plan->arena, &config->readonly_paths, floor_readonly,
			      floor ? ARRAY_SIZE(floor_readonly) : 0, &plan->mounts.readonly);
	return r < 0 ? sbx_fail(err, SBX_E_RESOURCE_LIMIT, -r, "plan masked paths") : 0;
}

/* ---- apply ---- */

/* The two things that hide, made when first needed. */
struct covers {
	int directory; /* detached empty read-only tmpfs */
	int file;      /* a null device: the container's, or a detached mount of our own */
};

static int open_empty_directory(struct covers *covers, struct sbx_error *err)
{
	int fd;

	if (covers->directory >= 0)
		return 0;
	fd = mount_new_filesystem("tmpfs", "tmpfs", "mode=000,nr_inodes=4,size=4k",
				  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					  MOUNT_ATTR_NOEXEC);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "make an empty directory");
	covers->directory = fd;
	return 0;
}

static bool is_null_device(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == NULL_DEVICE;
}

/* A node of our own, in a tmpfs that nothing else shows. */
static int make_null_device(struct sbx_error *err)
{
	cleanup_fd int dir = mount_new_filesystem("tmpfs", "tmpfs", "mode=700",
						  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	int fd;

	if (dir < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -dir, "make a directory for a null device");
	if (mknodat(dir, "null", S_IFCHR | 0666, NULL_DEVICE) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno,
				"make a null device (the container has none at /dev/null)");
	/* cloned while its mount is there: the clone keeps the file system alive */
	fd = mount_tree_clone(dir, "null", AT_SYMLINK_NOFOLLOW);
	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "clone a null device") : fd;
}

static int open_null_device(const struct run *run, struct covers *covers, struct sbx_error *err)
{
	int fd;

	if (covers->file >= 0)
		return 0;
	fd = path_open_no_symlinks(run->rootfs_fd, "dev/null", O_PATH);
	if (fd < 0 || !is_null_device(fd)) {
		cleanup_close_fd(&fd);
		fd = make_null_device(err);
		if (fd < 0)
			return fd;
	}
	covers->file = fd;
	return 0;
}

/* A path that is not there, or whose parent is no directory, hides nothing. */
static bool is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR;
}

static int mask_path(const struct run *run, const char *path, struct covers *covers,
		     struct sbx_error *err)
{
	cleanup_fd int target = path_open_in_root(run->rootfs_fd, path, O_PATH, 0), cover = -EBADF;
	struct stat st;
	int r;

	if (is_absent(target))
		return 0;
	if (target < 0 || fstat(target, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, target < 0 ? -target : errno, "open");
	if (S_ISDIR(st.st_mode)) {
		r = open_empty_directory(covers, err);
		if (r < 0)
			return r;
		cover = mount_tree_clone_fd(covers->directory, false);
	} else {
		r = open_null_device(run, covers, err);
		if (r < 0)
			return r;
		cover = mount_tree_clone_fd(covers->file, false);
	}
	if (cover < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -cover, "clone the cover");
	r = mount_tree_attach(cover, target);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "attach the cover") : 0;
}

static int mask_paths(const struct run *run, struct sbx_error *err)
{
	const struct strings *masked = &run->plan->mounts.masked;
	struct covers covers = {-EBADF, -EBADF};
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < masked->n; i++) {
		r = mask_path(run, masked->v[i], &covers, err);
		if (r < 0)
			r = sbx_prefix(err, "mask \"%s\"", masked->v[i]);
	}
	cleanup_close_fd(&covers.file);
	cleanup_close_fd(&covers.directory);
	return r;
}

static int make_path_read_only(const struct run *run, const char *path, struct sbx_error *err)
{
	cleanup_fd int target = path_open_in_root(run->rootfs_fd, path, O_PATH, 0), fd = -EBADF;
	int r;

	if (is_absent(target))
		return 0;
	if (target < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -target, "open");
	fd = mount_tree_clone_fd(target, true);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "clone");
	r = mount_tree_set(fd, true, MOUNT_ATTR_RDONLY, 0);
	if (r == 0)
		r = mount_tree_attach(fd, target);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "attach") : 0;
}

static int mask_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct strings *readonly = &run->plan->mounts.readonly;
	size_t i;
	int r = 0;

	if (stage != STAGE_PIVOT || !run->plan->mounts.new_root)
		return 0;
	for (i = 0; r == 0 && i < readonly->n; i++) {
		r = make_path_read_only(run, readonly->v[i], err);
		if (r < 0)
			r = sbx_prefix(err, "make \"%s\" read-only", readonly->v[i]);
	}
	return r < 0 ? r : mask_paths(run, err);
}

static void mask_dump(const struct plan *plan, struct json_writer *w)
{
	json_begin_object(w, "mask");
	json_write_strings(w, "maskedPaths", plan->mounts.masked.v, plan->mounts.masked.n);
	json_write_strings(w, "readonlyPaths", plan->mounts.readonly.v, plan->mounts.readonly.n);
	json_end_object(w);
}

const struct room room_mask = {
	.name = "mask",
	.plan = mask_plan,
	.apply = mask_apply,
	.dump = mask_dump,
};
