/*
 * maskedPaths and readonlyPaths (config-linux.md), after the change of root.
 *
 * A masked directory gets an empty, read-only tmpfs with mode 000, one for all; a masked file gets
 * the container's null device, read-only. That device is checked through the descriptor that is
 * cloned, for a name in /dev may be anything (CVE-2025-31133); where there is none, a node of our
 * own serves. A read-only path is a recursive bind of itself that keeps its flags. A path is
 * resolved inside the mount of config.json that it lies in, by the descriptor of that mount: its
 * name may lead elsewhere by now, as when the image's /proc is exchanged for a link
 * (CVE-2023-27561); under a profile the view hands over the mounts of its tree. Elsewhere it is
 * resolved inside the root, and there as well where a mount is not found at its name: a later one
 * may lie over it, through a link of the image. A missing path is nothing to hide.
 *
 * What is masked comes first: the clone that makes a path read-only brings its masks along, and
 * would lie over those that came later.
 *
 * Under a profile the usual lists are a floor: what the bundle leaves out is added.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/device_nodes.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/path.h"

/* Kernel memory and its addresses, keys, timers, firmware and power readings: what tells about the
 * host and other containers. */
static const char *const floor_masked[] = {
	"/proc/acpi",	    "/proc/asound",	 "/proc/interrupts",
	"/proc/kcore",	    "/proc/keys",	 "/proc/latency_stats",
	"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
	"/proc/scsi",	    "/sys/firmware",	 "/sys/devices/virtual/powercap",
	"/proc/kallsyms",   "/proc/vmallocinfo", "/proc/kpagecgroup",
	"/proc/kpagecount", "/proc/kpageflags",
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

/* What is mounted over the root hides nothing from a process that stands on it already. */
#define NO_MASKED_ROOT	 "it is the root of the container, which cannot be masked"
#define NO_READONLY_ROOT "it is the root of the container: use root.readonly"

static int check_paths(const struct strings *list, const char *member, const char *no_root,
		       struct sbx_error *err)
{
	char normal[PATH_MAX], pointer[64];
	size_t i;

	for (i = 0; i < list->n; i++) {
		snprintf(pointer, sizeof(pointer), "/linux/%s/%zu", member, i);
		if (list->v[i][0] != '/')
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
					   "path \"%s\" must be absolute", list->v[i]);
		if (path_normalize(list->v[i], normal, sizeof(normal)) == 0 &&
		    strcmp(normal, "/") == 0)
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer, "path \"%s\": %s",
					   list->v[i], no_root);
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
	r = check_paths(&config->masked_paths, "maskedPaths", NO_MASKED_ROOT, err);
	if (r == 0)
		r = check_paths(&config->readonly_paths, "readonlyPaths", NO_READONLY_ROOT, err);
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

/*
 * What the paths share. A cover is made for the first path that needs it and attached there; the
 * others get a clone of that mount, flags included. (A clone of a detached mount needs Linux 6.15.)
 */
struct masking {
	const struct run *run;
	struct stat root;     /* of the container */
	bool by_name;	      /* once more, by what the names lead to in the root */
	int directory, file;  /* the covers: an empty read-only tmpfs, a read-only null device */
	struct fd_batch done; /* descriptors of paths that are dealt with */
};

static int make_empty_directory(struct sbx_error *err)
{
	int fd = mount_new_filesystem("tmpfs", "tmpfs", "mode=000,nr_inodes=4,size=4k",
				      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					      MOUNT_ATTR_NOEXEC);

	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "make an empty directory") : fd;
}

/* A mount of a node of our own, in a tmpfs that is attached over "/" only while it is cloned: what
 * runs here works by descriptors and does not notice. */
static int clone_own_null_device(const struct run *run, struct sbx_error *err)
{
	cleanup_fd int dir = mount_new_filesystem("tmpfs", "tmpfs", "mode=700",
						  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	cleanup_fd int fd = -EBADF;
	int r;

	if (dir < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -dir, "make a directory for a null device");
	if (mknodat(dir, "null", S_IFCHR | 0666, DEVICE_NULL) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno,
				"make a null device (the container has none at /dev/null)");
	r = mount_tree_attach(dir, run->rootfs_fd);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "attach a directory for a null device");
	fd = mount_tree_clone(dir, "null", AT_SYMLINK_NOFOLLOW);
	if (fchdir(dir) < 0 || umount2(".", MNT_DETACH) < 0 || fchdir(run->rootfs_fd) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "detach the null device's directory");
	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "clone a null device") : take_fd(&fd);
}

static int clone_null_device(const struct run *run, struct sbx_error *err)
{
	cleanup_fd int null = path_open_no_symlinks(run->rootfs_fd, "dev/null", O_PATH);
	cleanup_fd int fd = -EBADF;
	int r;

	if (null < 0 || !device_is_null(null)) {
		fd = clone_own_null_device(run, err);
		if (fd < 0)
			return fd;
	} else {
		fd = mount_tree_clone_fd(null, false);
		if (fd < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -fd, "clone the null device");
	}
	/* the device still swallows what is written; its mode and owner stay */
	r = mount_tree_set(fd, false, MOUNT_ATTR_RDONLY, 0);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "make the null device read-only");
	return take_fd(&fd);
}

/* A path that is not there, or whose parent is no directory, hides nothing. */
static bool is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR;
}

/* path by the mount that it lies in, where room_mounts kept that. */
static int open_path(const struct run *run, const char *path)
{
	const struct plan_mounts *mounts = &run->plan->mounts;
	size_t i = room_mount_of(mounts, path);
	const char *destination;

	if (i == mounts->n || run->mount_fds[i] < 0 || !path_is_canonical(path))
		return path_open_in_root(run->rootfs_fd, path, O_PATH, 0);
	destination = mounts->v[i].destination;
	path += strcmp(destination, "/") == 0 ? 0 : strlen(destination);
	return path_open_in_root(run->mount_fds[i], *path ? path : "/", O_PATH, 0);
}

/* Without mount ids (before Linux 5.8) none is. */
static bool is_same_mount(int fd, int other)
{
	uint64_t id, other_id;

	return fd_mount_id(fd, &id) == 0 && fd_mount_id(other, &other_id) == 0 && id == other_id;
}

/* What path names in the root, unless that was found by the mount, and dealt with. */
static int open_by_name(const struct run *run, const char *path)
{
	cleanup_fd int fd = path_open_in_root(run->rootfs_fd, path, O_PATH, 0);
	cleanup_fd int done = fd < 0 ? fd : open_path(run, path);

	return done >= 0 && is_same_mount(fd, done) ? -ENOENT : take_fd(&fd);
}

/* A link in the image may lead to the root as well. Without mount ids (before Linux 5.8) a bind of
 * the root elsewhere looks the same, and none is refused. */
static bool is_root(const struct masking *m, int target, const struct stat *st)
{
	/* most are on another file system, which tells it cheaply */
	return m->root.st_ino == st->st_ino && m->root.st_dev == st->st_dev &&
	       is_same_mount(m->run->rootfs_fd, target);
}

/* O_PATH of what is to be hidden or made read-only. 1, 0 where nothing is there, or the error. */
static int open_target(const struct masking *m, const char *path, const char *no_root, int *ret_fd,
		       struct stat *ret_st, struct sbx_error *err)
{
	cleanup_fd int fd = m->by_name ? open_by_name(m->run, path) : open_path(m->run, path);

	if (is_absent(fd))
		return 0;
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, fd < 0 ? -fd : errno, "open");
	if (is_root(m, fd, ret_st))
		return sbx_fail(err, SBX_E_INVALID_CONFIG, 0, "%s", no_root);
	*ret_fd = take_fd(&fd);
	return 1;
}

static int make_cover(struct masking *m, mode_t mode, struct sbx_error *err)
{
	int made = S_ISDIR(mode) ? m->directory : m->file, fd;

	if (made < 0)
		return S_ISDIR(mode) ? make_empty_directory(err) : clone_null_device(m->run, err);
	fd = mount_tree_clone_fd(made, false);
	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "clone the cover") : fd;
}

static int mask_path(struct masking *m, const char *path, struct sbx_error *err)
{
	cleanup_fd int target = -EBADF, cover = -EBADF;
	struct stat st;
	int *first, r = open_target(m, path, NO_MASKED_ROOT, &target, &st, err);

	if (r <= 0)
		return r;
	cover = make_cover(m, st.st_mode, err);
	if (cover < 0)
		return cover;
	r = mount_tree_attach(cover, target);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "attach the cover");
	first = S_ISDIR(st.st_mode) ? &m->directory : &m->file;
	if (*first < 0)
		*first = take_fd(&cover);
	fd_batch_add(&m->done, take_fd(&target));
	fd_batch_add(&m->done, take_fd(&cover));
	return 0;
}

static int make_path_read_only(struct masking *m, const char *path, struct sbx_error *err)
{
	cleanup_fd int target = -EBADF, fd = -EBADF;
	struct stat st;
	int r = open_target(m, path, NO_READONLY_ROOT, &target, &st, err);

	if (r <= 0)
		return r;
	fd = mount_tree_clone_fd(target, true);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "clone");
	r = mount_tree_set(fd, true, MOUNT_ATTR_RDONLY, 0);
	if (r == 0)
		r = mount_tree_attach(fd, target);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "attach");
	fd_batch_add(&m->done, take_fd(&target));
	fd_batch_add(&m->done, take_fd(&fd));
	return 0;
}

static int apply_paths(struct masking *m, struct sbx_error *err)
{
	const struct plan_mounts *mounts = &m->run->plan->mounts;
	size_t i;

	for (i = 0; i < mounts->masked.n; i++) {
		if (mask_path(m, mounts->masked.v[i], err) < 0)
			return sbx_prefix(err, "mask \"%s\"", mounts->masked.v[i]);
	}
	for (i = 0; i < mounts->readonly.n; i++) {
		if (make_path_read_only(m, mounts->readonly.v[i], err) < 0)
			return sbx_prefix(err, "make \"%s\" read-only", mounts->readonly.v[i]);
	}
	return 0;
}

static bool is_at_its_name(const struct run *run, size_t i)
{
	cleanup_fd int fd =
		path_open_in_root(run->rootfs_fd, run->plan->mounts.v[i].destination, O_PATH, 0);

	return fd >= 0 && is_same_mount(fd, run->mount_fds[i]);
}

static bool are_at_their_names(const struct run *run)
{
	size_t i;

	for (i = 0; i < run->plan->mounts.n; i++) {
		if (run->mount_fds[i] >= 0 && !is_at_its_name(run, i))
			return false;
	}
	return true;
}

static int mask_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	struct masking m = {.run = run, .directory = -EBADF, .file = -EBADF};
	bool found;
	size_t i;
	int r;

	if (stage != STAGE_PIVOT || !run->plan->mounts.new_root)
		return 0;
	if (fstat(run->rootfs_fd, &m.root) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "stat the root");
	found = are_at_their_names(run);
	r = apply_paths(&m, err);
	if (r == 0 && !found) {
		m.by_name = true;
		r = apply_paths(&m, err);
	}
	fd_batch_add(&m.done, m.directory);
	fd_batch_add(&m.done, m.file);
	for (i = 0; i < run->plan->mounts.n; i++)
		fd_batch_add(&m.done, take_fd(&run->mount_fds[i]));
	fd_batch_close(&m.done);
	return r;
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
