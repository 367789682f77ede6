/*
 * What is seen: own files and private folders covered.
 *
 * All paths are taken below the descriptor of a tree. A path that the profile names must have no
 * link in it. A cover that hides a folder with something to keep below it is a tmpfs with the bare
 * way to what is kept, and clones of that in its place.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/device_nodes.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

#define COVER_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define KEEPS_MAX   64

int view_open(int tree_fd, const char *path)
{
	return path_open_no_symlinks(tree_fd, path[1] ? path + 1 : ".", O_PATH);
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
		     const char *hidden, bool closed)
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
	if (view_is_absent(place))
		return 0; /* a destination behind a link stands elsewhere */
	fd = place < 0 ? place : mount_tree_clone_fd(place, true);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	/* no other mount says that the root may only be read: around it nothing may be done */
	if (closed && !policy_rule_of(b->plan->policy, path)->write) {
		int r = mount_tree_set(fd, true, MOUNT_ATTR_RDONLY, 0);

		if (r < 0)
			return r;
	}
	keeps->v[keeps->n++] = (struct keep){path, take_fd(&fd), S_ISDIR(st.st_mode)};
	return 0;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* What stays: what the profile knows and what the bundle mounts; in a root that the profile closes
 * (closed) only what it opens. */
static int keeps_collect(const struct view_build *b, const char *hidden, bool closed,
			 struct keeps *keeps)
{
	const struct policy *policy = b->plan->policy;
	const struct plan_mounts *mounts = &b->plan->mounts;
	size_t n = 0, i;
	cleanup_free const char **paths = calloc(policy->paths_n + mounts->n + 1, sizeof(*paths));
	int r = 0;

	if (!paths)
		return -ENOMEM;
	for (i = 0; i < policy->paths_n; i++) {
		if (policy->paths[i].read || !closed)
			paths[n++] = policy->paths[i].path;
	}
	for (i = 0; !closed && i < mounts->n; i++) {
		if (!mounts->v[i].remount)
			paths[n++] = mounts->v[i].destination;
	}
	qsort(paths, n, sizeof(*paths), compare_texts); /* parents first */
	for (i = 0; r == 0 && i < n; i++)
		r = keeps_add(b, keeps, paths[i], hidden, closed);
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
static int cover_folder(struct view_build *b, int target, const char *path, bool closed)
{
	bool holds_scratch = path_is_below(b->plan->view.scratch_path, path);
	struct keeps keeps = {.n = 0};
	cleanup_fd int cover = -EBADF;
	size_t i;
	int r = keeps_collect(b, path, closed, &keeps);

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
	int r;

	if (null < 0)
		return null;
	if (!device_is_null(null))
		return -ENODEV;
	cover = mount_tree_clone_fd(null, false);
	if (cover < 0)
		return cover;
	r = mount_tree_set(cover, false, COVER_ATTRS | MOUNT_ATTR_RDONLY, 0);
	return r < 0 ? r : mount_tree_attach(cover, target);
}

int view_close_root(struct view_build *b, int target, const char *path)
{
	struct stat st;

	if (fstat(target, &st) < 0)
		return -errno;
	view_mounts_forget(b, target);
	return S_ISDIR(st.st_mode) ? cover_folder(b, target, path, true) : cover_file(b, target);
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
int view_pin_parents(const struct view_build *b, const char *path)
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
	r = view_pin_parents(b, cover->path);
	if (r == 0) {
		cleanup_close_fd(&target);
		r = target = path_open_in_root_nofollow(b->source_fd, cover->path, O_PATH);
	}
	if (r >= 0)
		view_mounts_forget(b, target);
	if (r >= 0)
		r = cover->directory ? cover_folder(b, target, cover->path, false)
				     : cover_file(b, target);
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
	r = target < 0 ? target : cover_folder(b, target, path, false);
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
