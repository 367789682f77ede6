/*
 * What is seen: own files and private folders covered, a new root built.
 *
 * All paths are taken below the descriptor of a tree. A path that the profile names must have no
 * link in it; a path of the closure may, and is resolved inside the bundle's tree. A cover that
 * hides a folder with something to keep below it is a tmpfs with the bare way to what is kept, and
 * clones of that in its place.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backends/linux/closure.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/path.h"
#include "runtime/base/procfs.h"

#define COVER_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define KEEPS_MAX   64

int view_open(int tree_fd, const char *path)
{
	return path_open_no_symlinks(tree_fd, path[1] ? path + 1 : ".", O_PATH);
}

static bool is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ELOOP;
}

/* ---- covers ---- */

/* What stays below a hidden folder: path inside the container, and a detached clone of it. */
struct keep {
	const char *path;
	int fd;
	bool directory;
};

struct keeps {
	struct keep v[KEEPS_MAX];
	size_t n;
};

static void keeps_close(struct keeps *keeps)
{
	while (keeps->n > 0)
		cleanup_close_fd(&keeps->v[--keeps->n].fd);
}

/* Only the topmost of nested paths: its clone brings the others along. */
static int keeps_add(const struct view_build *b, struct keeps *keeps, const char *path,
		     const char *hidden)
{
	cleanup_fd int place = -EBADF, fd = -EBADF;
	struct stat st;
	size_t i;

	if (!path_is_below(path, hidden) || strcmp(path, hidden) == 0)
		return 0;
	for (i = 0; i < keeps->n; i++) {
		if (path_is_below(path, keeps->v[i].path))
			return 0;
	}
	if (keeps->n == KEEPS_MAX)
		return -ENOSPC;
	place = view_open(b->source_fd, path);
	if (is_absent(place))
		return 0; /* a destination behind a link stands elsewhere */
	fd = place < 0 ? place : mount_tree_clone_fd(place, true);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	keeps->v[keeps->n++] = (struct keep){path, take_fd(&fd), S_ISDIR(st.st_mode)};
	return 0;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int keeps_collect(const struct view_build *b, const char *hidden, struct keeps *keeps)
{
	const struct policy *policy = b->plan->policy;
	const struct plan_mounts *mounts = &b->plan->mounts;
	size_t n = 0, i;
	cleanup_free const char **paths = calloc(policy->paths_n + mounts->n + 1, sizeof(*paths));
	int r = 0;

	if (!paths)
		return -ENOMEM;
	for (i = 0; i < policy->paths_n; i++)
		paths[n++] = policy->paths[i].path;
	for (i = 0; i < mounts->n; i++) {
		if (!mounts->v[i].remount)
			paths[n++] = mounts->v[i].destination;
	}
	qsort(paths, n, sizeof(*paths), compare_texts); /* parents first */
	for (i = 0; r == 0 && i < n; i++)
		r = keeps_add(b, keeps, paths[i], hidden);
	return r;
}

/*
 * A detached empty folder. One superblock serves for all covers without anything kept: the first
 * mount of it is kept open as well, and once that is attached the others are its clones (before
 * Linux 6.15 a detached mount cannot be cloned).
 */
static int empty_folder(struct view_build *b)
{
	int fd;

	if (b->empty_fd >= 0)
		return mount_tree_clone_fd(b->empty_fd, false);
	fd = view_new_tmpfs(b, "tmpfs", "mode=0555,size=4k,nr_inodes=4", COVER_ATTRS);
	if (fd < 0)
		return fd;
	b->empty_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (b->empty_fd < 0) {
		close(fd);
		return -errno;
	}
	return fd;
}

static int put_back(int cover, const struct keep *keep, const char *hidden)
{
	const char *inside = keep->path + strlen(hidden);
	cleanup_fd int target = keep->directory ? path_make_dirs_in_root(cover, inside, 0755)
						: path_make_file_in_root(cover, inside, 0644);

	return target < 0 ? target : mount_tree_attach(keep->fd, target);
}

/* The scratch folder's place, where it lies below a hidden folder. */
static int make_scratch_place(const struct view_build *b, int cover, const char *hidden)
{
	const char *inside = b->plan->view.scratch_path + strlen(hidden);
	int fd = path_make_dirs_in_root(cover, inside, 0755);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Hide the folder that target stands on, but for what is kept below it. */
static int cover_folder(struct view_build *b, int target, const char *path)
{
	bool holds_scratch = path_is_below(b->plan->view.scratch_path, path);
	struct keeps keeps = {.n = 0};
	cleanup_fd int cover = -EBADF;
	size_t i;
	int r = keeps_collect(b, path, &keeps);

	if (r == 0) {
		cover = keeps.n || holds_scratch
				? view_new_tmpfs(b, "tmpfs", "mode=0755,size=64k,nr_inodes=1024",
						 COVER_ATTRS)
				: empty_folder(b);
		r = cover < 0 ? cover : mount_tree_attach(cover, target);
	}
	for (i = 0; r == 0 && i < keeps.n; i++)
		r = put_back(cover, &keeps.v[i], path);
	if (r == 0 && holds_scratch)
		r = make_scratch_place(b, cover, path);
	keeps_close(&keeps);
	return r < 0 ? r : mount_tree_set(cover, false, MOUNT_ATTR_RDONLY, 0);
}

/* A file becomes the null device on a mount that opens no devices: there, and of no use. */
static int cover_file(const struct view_build *b, int target)
{
	cleanup_fd int null = view_open(b->source_fd, "/dev/null"), cover = -EBADF;
	struct stat st;
	int r;

	if (null < 0)
		return null;
	if (fstat(null, &st) < 0)
		return -errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
		return -ENODEV;
	cover = mount_tree_clone_fd(null, false);
	if (cover < 0)
		return cover;
	r = mount_tree_set(cover, false, COVER_ATTRS | MOUNT_ATTR_RDONLY, 0);
	return r < 0 ? r : mount_tree_attach(cover, target);
}

int view_hide(struct view_build *b, int fd)
{
	cleanup_fd int cover = -EBADF;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	view_mounts_forget(b, fd);
	if (!S_ISDIR(st.st_mode))
		return cover_file(b, fd);
	cover = empty_folder(b);
	return cover < 0 ? cover : mount_tree_attach(cover, fd);
}

/* May the payload rename the folder at path? A root itself is a mount and cannot be. */
static bool is_in_writable(const struct view_build *b, const char *path)
{
	const struct policy *policy = b->plan->policy;
	size_t i;

	if (policy->host_write)
		return true;
	for (i = 0; i < policy->paths_n; i++) {
		if (policy->paths[i].write && path_is_below(path, policy->paths[i].path) &&
		    strcmp(path, policy->paths[i].path) != 0)
			return true;
	}
	return false;
}

static int pin_folder(const struct view_build *b, const char *path)
{
	cleanup_fd int target = path_open_in_root_nofollow(b->source_fd, path, O_PATH);
	cleanup_fd int clone = -EBADF;
	struct statx stx;

	if (target < 0)
		return target;
	if (statx(target, "", AT_EMPTY_PATH, STATX_TYPE, &stx) < 0)
		return -errno;
	if (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return 0;
	clone = mount_tree_clone_fd(target, true);
	return clone < 0 ? clone : mount_tree_attach(clone, target);
}

/*
 * A cover moves along when a folder above it is renamed, and the name is free for a file of the
 * payload's own making, which the runtime would take for its own next time. A mount point cannot be
 * renamed (rename(2), EBUSY), so each folder above becomes one, from the top.
 */
static int pin_parents(const struct view_build *b, const char *path)
{
	char parent[PATH_MAX];
	size_t i, len = strlen(path);
	int r = 0;

	if (len >= sizeof(parent))
		return -ENAMETOOLONG;
	for (i = 1; r >= 0 && i < len; i++) {
		if (path[i] != '/')
			continue;
		memcpy(parent, path, i);
		parent[i] = '\0';
		if (is_in_writable(b, parent))
			r = pin_folder(b, parent);
	}
	return r;
}

/* Nothing can be mounted on a link, so it must stand where the payload cannot replace it. Names in
 * "/" are never its to change (rooms/landlock.c). */
static int check_link(const struct view_build *b, const struct view_cover *cover,
		      struct sbx_error *err)
{
	bool in_root = !strchr(cover->path + 1, '/') && b->plan->landlock.used;

	if (!is_in_writable(b, cover->path) || in_root)
		return 0;
	return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
			"cover the runtime's own files: \"%s\" is a link on the way to one, in a "
			"writable folder; name the real path on the command line",
			cover->path);
}

/* What stands at the path now may be another mount's: then the own file is hidden already. */
static int cover_own(struct view_build *b, const struct view_cover *cover, struct sbx_error *err)
{
	cleanup_fd int target = path_open_in_root_nofollow(b->source_fd, cover->path, O_PATH);
	struct stat st;
	int r;

	if (target == -ENOENT || target == -ENOTDIR)
		return 0;
	if (target < 0 || fstat(target, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, target < 0 ? -target : errno, "open \"%s\"",
				cover->path);
	if (st.st_dev != cover->device || st.st_ino != cover->inode)
		return 0;
	if (cover->link)
		return check_link(b, cover, err);
	b->covered = true;
	r = pin_parents(b, cover->path);
	if (r == 0) {
		cleanup_close_fd(&target);
		r = target = path_open_in_root_nofollow(b->source_fd, cover->path, O_PATH);
	}
	if (r >= 0)
		view_mounts_forget(b, target);
	if (r >= 0)
		r = cover->directory ? cover_folder(b, target, cover->path) : cover_file(b, target);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "cover the runtime's own \"%s\"",
				cover->path)
		     : 0;
}

static int hide_folder(struct view_build *b, const char *path, struct sbx_error *err)
{
	cleanup_fd int target = -EBADF;
	int r;

	if (strcmp(path, b->plan->view.scratch_path) == 0)
		return 0;
	target = view_open(b->source_fd, path);
	if (target == -ENOENT)
		return 0;
	b->covered = true;
	r = target < 0 ? target : cover_folder(b, target, path);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "hide the host's \"%s\"", path) : 0;
}

int view_cover_files(struct view_build *b, struct sbx_error *err)
{
	const struct view_facts *facts = b->facts;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < facts->covers_n; i++)
		r = cover_own(b, &facts->covers[i], err);
	/* A new root shows none of these. */
	for (i = 0; r == 0 && b->plan->view.kind == VIEW_BUNDLE && i < facts->hidden.n; i++)
		r = hide_folder(b, facts->hidden.v[i], err);
	return r;
}

/* ---- the new root ---- */

int view_attach(struct view_build *b, int mount_fd, const char *path, bool directory,
		struct sbx_error *err)
{
	cleanup_fd int target = directory ? path_make_dirs_in_root(b->root_fd, path, 0755)
					  : path_make_file_in_root(b->root_fd, path, 0644);
	int r = target < 0 ? target : mount_tree_attach(mount_fd, target);

	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "put \"%s\" into the new root", path) : 0;
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

	if (is_absent(fd))
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
		if (is_absent(fd))
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
	cleanup_fd int fd = open_own_mount(b, path), clone = -EBADF;
	struct view_part part = {.place = path};
	struct statx stx;
	int r;

	if (is_absent(fd))
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
	clone = view_part_clone(b, &part, err);
	if (clone < 0)
		return clone;
	r = view_attach(b, clone, path, true, err);
	return r < 0 ? r : view_part_fill(b, &part, clone, err);
}

/* A readable root; of a writable one only the place, its clone follows after the sweep. */
static int place_root(struct view_build *b, size_t n, struct sbx_error *err)
{
	const struct path_rule *rule = &b->plan->policy->paths[n];
	cleanup_fd int clone = -EBADF, target = -EBADF;
	struct view_part part;
	struct stat st;
	int r;

	if (!rule->read)
		return 0;
	if (fstat(b->roots[n].fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "look at root \"%s\"", rule->path);
	if (!rule->write) {
		part = view_root_part(b, n);
		clone = view_part_clone(b, &part, err);
		if (clone < 0)
			return clone;
		r = view_attach(b, clone, rule->path, S_ISDIR(st.st_mode), err);
		return r < 0 ? r : view_part_fill(b, &part, clone, err);
	}
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
