/*
 * The new root of a container that may not read the host: the closure's rows, the container's own
 * /dev, /proc and /sys, and the profile's roots, on a tmpfs. A path of the closure may have a link
 * in it, and is resolved inside the bundle's tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/closure.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/path.h"
#include "runtime/base/procfs.h"

/* The part under its name, made as a folder or an empty file where that is missing. */
static int place_part(struct view_build *b, struct view_part *part, bool directory,
		      struct sbx_error *err)
{
	cleanup_fd int clone = view_part_clone(b, part, err), target = -EBADF;
	int r;

	if (clone < 0)
		return clone;
	target = directory ? path_make_dirs_in_root(b->root_fd, part->place, 0755)
			   : path_make_file_in_root(b->root_fd, part->place, 0644);
	r = target < 0 ? target : mount_tree_attach(clone, target);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "put \"%s\" into the new root", part->place);
	return view_part_fill(b, part, clone, err);
}

/* The same link again, where what it names is in the closure as well. Absolute targets and those
 * relative to the link's folder are compared as texts. */
static bool link_stays_inside(const char *path, const char *target)
{
	char joined[2 * PATH_MAX], clean[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (target[0] == '/')
		snprintf(joined, sizeof(joined), "%s", target);
	else
		snprintf(joined, sizeof(joined), "%.*s/%s", (int)(slash - path), path, target);
	return path_normalize(joined, clean, sizeof(clean)) == 0 && closure_holds(clean) &&
	       !path_is_below(clean, path);
}

/*
 * The parents of a row's place, in a new root in which every name so far is our own folder: no link
 * can stand in the way, and plain relative paths serve.
 */
static int make_parents(int root_fd, const char *path)
{
	char parent[PATH_MAX];
	size_t i;

	for (i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		snprintf(parent, sizeof(parent), "%.*s", (int)(i - 1), path + 1);
		if (mkdirat(root_fd, parent, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int copy_link(struct view_build *b, const char *path, const char *target,
		     struct sbx_error *err)
{
	int r = make_parents(b->root_fd, path);

	if (r == 0 && symlinkat(target, b->root_fd, path + 1) < 0)
		r = -errno;
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "make the link \"%s\"", path) : 0;
}

/* What a row is: nothing (fd closed), a link to be made again, or what fd stands for. */
struct row {
	int fd;
	char *link;
	bool directory;
};

static bool overlaps(const char *a, const char *b)
{
	return path_is_below(a, b) || path_is_below(b, a);
}

static bool overlaps_any(const struct strings *paths, const char *place)
{
	size_t i;

	for (i = 0; i < paths->n; i++) {
		if (overlaps(paths->v[i], place))
			return true;
	}
	return false;
}

/*
 * fd was opened for the row at path. If a link of the image led elsewhere, what has its place there
 * is bound by other rules under its own name: roots, masks, what is mounted there. Then it is a
 * part of the image without any of these, or it is not shown. A single file may lie on another
 * mount.
 */
static bool may_stand_for_row(const struct view_build *b, const char *path, int fd, bool directory)
{
	const struct policy *policy = b->plan->policy;
	const struct mount_line *line = view_line_of(b, fd);
	cleanup_fd int fds = procfs_open(b->run->proc_fd, "self/fd", O_RDONLY | O_DIRECTORY);
	char real[PATH_MAX], name[16];
	const char *place;
	ssize_t n;
	size_t i;

	snprintf(name, sizeof(name), "%d", fd);
	n = fds < 0 ? -1 : readlinkat(fds, name, real, sizeof(real) - 1);
	if (n < 0)
		return false;
	real[n] = '\0';
	place = view_path_inside(b, real);
	if (!place)
		return false;
	if (strcmp(place, path) == 0)
		return true;
	if (!line || !view_holds_files(line) || (directory && !view_is_on_root(b, fd)) ||
	    overlaps_any(&b->plan->mounts.masked, place) ||
	    overlaps_any(&b->plan->mounts.readonly, place))
		return false;
	for (i = 0; i < policy->paths_n; i++) {
		if (overlaps(policy->paths[i].path, place) && (directory || !policy->paths[i].read))
			return false;
	}
	for (i = 0; directory && i < b->table.n; i++) {
		const char *inside = view_path_inside(b, b->table.lines[i].point);

		if (inside && path_is_below(inside, place))
			return false;
	}
	return true;
}

/* Look at one row before the new root covers the tree: from then on a ".." in a link would lead
 * into the new root. A link that leads out of the closure counts as what it leads to. */
static int row_open(struct view_build *b, const char *path, struct row *row, struct sbx_error *err)
{
	cleanup_fd int fd = path_open_in_root_nofollow(b->source_fd, path, O_PATH);
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (view_is_absent(fd))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, fd < 0 ? -fd : errno, "open \"%s\"", path);
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(fd, "", target, sizeof(target) - 1);
		if (n < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "read the link \"%s\"", path);
		target[n] = '\0';
		if (link_stays_inside(path, target)) {
			row->link = arena_strdup(b->plan->arena, target);
			return row->link ? 0
					 : sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM,
						    "read the link \"%s\"", path);
		}
		cleanup_close_fd(&fd);
		fd = path_open_in_root(b->source_fd, path, O_PATH, 0);
		if (view_is_absent(fd))
			return 0;
		if (fd < 0 || fstat(fd, &st) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, fd < 0 ? -fd : errno, "open \"%s\"",
					path);
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	if (view_is_hidden_bind(b, fd, path)) {
		view_mounts_forget(b, fd);
		return 0;
	}
	if (!may_stand_for_row(b, path, fd, S_ISDIR(st.st_mode)))
		return 0;
	row->directory = S_ISDIR(st.st_mode);
	row->fd = take_fd(&fd);
	return 0;
}

static int row_place(struct view_build *b, const char *path, const struct row *row,
		     struct sbx_error *err)
{
	struct view_part part = {.fd = row->fd, .place = path};
	cleanup_fd int clone = -EBADF;
	int r;

	if (row->link)
		return copy_link(b, path, row->link, err);
	if (row->fd < 0)
		return 0;
	clone = view_part_clone(b, &part, err);
	if (clone < 0)
		return clone;
	r = make_parents(b->root_fd, path);
	if (r == 0)
		r = row->directory ? mkdirat(b->root_fd, path + 1, 0755)
				   : mknodat(b->root_fd, path + 1, S_IFREG | 0644, 0);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make the place of \"%s\"", path);
	r = sys_move_mount(clone, "", b->root_fd, path + 1, MOVE_MOUNT_F_EMPTY_PATH);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "put \"%s\" into the new root", path);
	return row->directory ? view_part_fill(b, &part, clone, err) : 0;
}

/* The stay at path as it was found; else what stands there. */
static int open_own_mount(const struct view_build *b, const char *path)
{
	size_t i;
	int fd;

	for (i = 0; i < STAY_COUNT; i++) {
		if (!b->stays[i].own || strcmp(view_stays[i].path, path) != 0)
			continue;
		fd = fcntl(b->stays[i].fd, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? -errno : fd;
	}
	return view_open(b->source_fd, path);
}

/* The container's own mount at path, if there is one (a folder of the image is not). */
static int place_own_mount(struct view_build *b, const char *path, struct sbx_error *err)
{
	cleanup_fd int fd = open_own_mount(b, path);
	struct view_part part = {.place = path};
	struct statx stx;

	if (view_is_absent(fd))
		return 0;
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_MODE, &stx) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, fd < 0 ? -fd : errno, "open \"%s\"", path);
	/* /dev without a mount is where the nodes were made; /proc and /sys without one are empty.
	 */
	if (strcmp(path, "/dev") != 0 && !(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return 0;
	if (view_is_hidden_bind(b, fd, path)) {
		view_mounts_forget(b, fd);
		cleanup_close_fd(&fd);
		fd = path_make_dirs_in_root(b->root_fd, path, 0755);
		return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "make \"%s\"", path) : 0;
	}
	part.fd = fd;
	return place_part(b, &part, true, err);
}

/* A readable root; of a writable one only the place, its clone follows after the sweep. */
static int place_root(struct view_build *b, size_t n, struct sbx_error *err)
{
	const struct path_rule *rule = &b->plan->policy->paths[n];
	struct view_part part = view_root_part(b, n);
	cleanup_fd int target = -EBADF;
	struct stat st;

	if (!rule->read)
		return 0;
	if (fstat(b->roots[n].fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "look at root \"%s\"", rule->path);
	if (!rule->write)
		return place_part(b, &part, S_ISDIR(st.st_mode), err);
	target = S_ISDIR(st.st_mode) ? path_make_dirs_in_root(b->root_fd, rule->path, 0755)
				     : path_make_file_in_root(b->root_fd, rule->path, 0644);
	return target < 0 ? sbx_fail(err, SBX_E_SYSTEM, -target, "make the place of \"%s\"",
				     rule->path)
			  : 0;
}

static int new_root(struct view_build *b, struct sbx_error *err)
{
	cleanup_fd int fd = view_new_tmpfs(b, "tmpfs", "mode=0755,size=1m,nr_inodes=4096",
					   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	int r = fd < 0 ? fd : mount_tree_attach(fd, b->source_fd);

	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "make a new root");
	b->root_fd = take_fd(&fd);
	return 0;
}

/* The container's own file systems and the roots, into the new root. */
static int place_rest(struct view_build *b, struct sbx_error *err)
{
	static const char *const own_mounts[] = {"/dev", "/proc", "/sys"};
	const struct oci_process *process = room_process(b->plan);
	const struct policy *policy = b->plan->policy;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < ARRAY_SIZE(own_mounts); i++)
		r = place_own_mount(b, own_mounts[i], err);
	for (i = 0; r == 0 && i < policy->paths_n; i++)
		r = place_root(b, i, err);
	/* A working directory that is not in view is made, as everywhere, where it is missing. */
	if (r == 0 && process && process->cwd) {
		int fd = path_make_dirs_in_root(b->root_fd, process->cwd, 0755);

		cleanup_close_fd(&fd);
	}
	return r;
}

int view_build_closure(struct view_build *b, struct sbx_error *err)
{
	struct row *rows = arena_alloc_array(b->plan->arena, closure_paths_n, sizeof(*rows));
	size_t i;
	int r = 0;

	if (!rows)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "build the new root");
	for (i = 0; i < closure_paths_n; i++)
		rows[i].fd = -EBADF;
	for (i = 0; r == 0 && i < closure_paths_n; i++)
		r = row_open(b, closure_paths[i], &rows[i], err);
	if (r == 0)
		r = new_root(b, err);
	for (i = 0; r == 0 && i < closure_paths_n; i++)
		r = row_place(b, closure_paths[i], &rows[i], err);
	for (i = 0; i < closure_paths_n; i++)
		cleanup_close_fd(&rows[i].fd);
	return r < 0 ? r : place_rest(b, err);
}
