/*
 * Theory of operation: openat2(2) does the whole resolution in the kernel where it can. The walk
 * below does the same by hand, and also serves what openat2 has no mode for: making what is
 * missing.
 *
 * The walk keeps a stack with one O_PATH descriptor for every directory between the root and where
 * it stands. A component is opened with O_PATH|O_NOFOLLOW below the top of the stack; a directory
 * is pushed, a link's text is put before the rest of the path (an absolute one empties the stack
 * first), ".." pops and never the root. Nothing is ever reached by the kernel's own "..", so a
 * directory that is moved out of the tree meanwhile leads nowhere else: each descriptor was reached
 * from the root by names only.
 *
 * Behind a component that was made only names follow: what was there before the walk is not what
 * is to be made, and a link's text ("/missing/../proc") or somebody who puts a link there meanwhile
 * would lead to it.
 */
#include "runtime/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"

/* -EAGAIN says that a rename or mount anywhere raced with "..": asked again so often. */
#define OPEN_RETRIES	128
#define PROC_ROOT_INODE 1

enum missing { MISSING_FAILS, MISSING_DIRS, MISSING_FILE };

struct walk {
	int root_fd;
	int stack[PATH_DEPTH_MAX];
	size_t depth;
	char rest[PATH_MAX]; /* what is still to be resolved */
	int links;
	int flags; /* of the final open */
	mode_t mode;
	bool nofollow;
	enum missing missing;
	mode_t dir_mode;
	bool made; /* something that was missing */
};

static void walk_pop_to(struct walk *w, size_t depth)
{
	while (w->depth > depth)
		close(w->stack[--w->depth]);
}

static int walk_top(const struct walk *w)
{
	return w->depth ? w->stack[w->depth - 1] : w->root_fd;
}

static int walk_push(struct walk *w, int *fd)
{
	if (w->depth == PATH_DEPTH_MAX)
		return -ENAMETOOLONG;
	w->stack[w->depth++] = take_fd(fd);
	return 0;
}

/*
 * Take the next component of rest into name. Returns 1 when it is the last one, 0 when more
 * follows, -errno. A trailing slash counts as one more component ".", as path_resolution(7) has it.
 */
static int walk_next(struct walk *w, char name[NAME_MAX + 1])
{
	size_t skip = strspn(w->rest, "/");
	const char *start = w->rest + skip;
	size_t len = strcspn(start, "/");
	bool last = start[len] == '\0';

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	if (len == 0) {
		snprintf(name, NAME_MAX + 1, ".");
		w->rest[0] = '\0';
		return 1;
	}
	memcpy(name, start, len);
	name[len] = '\0';
	memmove(w->rest, start + len, strlen(start + len) + 1);
	return last;
}

/* A link on procfs that is no plain text link of the instance's root ("self", "mounts") jumps to an
 * object when followed; its text means nothing. */
static bool is_magic_link(int dir_fd, int link_fd)
{
	struct statfs fs;
	struct stat st;

	return fstatfs(link_fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC &&
	       !(fstat(dir_fd, &st) == 0 && st.st_ino == PROC_ROOT_INODE);
}

/* Put the text of the link before the rest of the path. */
static int walk_expand(struct walk *w, int link_fd, bool last)
{
	char target[PATH_MAX], joined[2 * PATH_MAX];
	ssize_t n;

	if (++w->links > PATH_SYMLINKS_MAX || w->made || is_magic_link(walk_top(w), link_fd))
		return -ELOOP;
	n = readlinkat(link_fd, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -ENOENT;
	target[n] = '\0';
	if (target[0] == '/')
		walk_pop_to(w, 0);
	snprintf(joined, sizeof(joined), "%s%s", target, last ? "" : w->rest);
	if (strlen(joined) >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memcpy(w->rest, joined, strlen(joined) + 1);
	return 0;
}

/* The directory that the walk stands in is the result: "/", "a/..", "a/". */
static int walk_finish_here(struct walk *w)
{
	int fd;

	if (w->missing == MISSING_FILE || (w->flags & O_CREAT))
		return -EISDIR;
	fd = openat(walk_top(w), ".", w->flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* -EAGAIN: made, or there after all: look again. */
static int walk_make_dir(struct walk *w, const char *name)
{
	bool made = mkdirat(walk_top(w), name, w->dir_mode) == 0;

	if (!made && errno != EEXIST)
		return -errno;
	w->made |= made;
	return -EAGAIN;
}

/* The last component is missing: what the caller wants made. -EAGAIN: made, look again. */
static int walk_make_last(struct walk *w, const char *name)
{
	int fd;

	if (w->missing == MISSING_DIRS)
		return walk_make_dir(w, name);
	if (w->missing == MISSING_FILE) {
		fd = openat(walk_top(w), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    w->mode);
		if (fd < 0 && errno != EEXIST)
			return -errno;
		if (fd >= 0)
			close(fd);
		w->made |= fd >= 0;
		return -EAGAIN;
	}
	if (!(w->flags & O_CREAT))
		return -ENOENT;
	fd = openat(walk_top(w), name, w->flags | O_NOFOLLOW | O_CLOEXEC, w->mode);
	return fd < 0 ? -errno : fd;
}

/* Open the last component, which is there and to be taken as it is. */
static int walk_open_last(struct walk *w, const char *name, int *probe, mode_t type)
{
	int fd;

	if (w->missing == MISSING_FILE && S_ISDIR(type))
		return -EISDIR;
	if ((w->flags & O_PATH) && !S_ISLNK(type)) {
		if ((w->flags & O_DIRECTORY) && !S_ISDIR(type))
			return -ENOTDIR;
		return take_fd(probe);
	}
	fd = openat(walk_top(w), name, w->flags | O_NOFOLLOW | O_CLOEXEC, w->mode);
	return fd < 0 ? -errno : fd;
}

/*
 * One component. Returns a descriptor (>= 0) when it was the last, -EINPROGRESS when the walk goes
 * on, another -errno on failure.
 */
static int walk_step(struct walk *w, const char *name, bool last)
{
	cleanup_fd int probe = -EBADF;
	struct stat st;
	int rc;

	if (strcmp(name, ".") == 0)
		return last ? walk_finish_here(w) : -EINPROGRESS;
	if (strcmp(name, "..") == 0) {
		if (w->made)
			return -ENOENT;
		if (w->depth)
			walk_pop_to(w, w->depth - 1);
		return last ? walk_finish_here(w) : -EINPROGRESS;
	}
	for (int tries = 0;; tries++) {
		probe = openat(walk_top(w), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (probe >= 0)
			break;
		if (errno != ENOENT || tries == OPEN_RETRIES)
			return -errno;
		if (!last && w->missing == MISSING_FAILS)
			return -ENOENT;
		rc = last ? walk_make_last(w, name) : walk_make_dir(w, name);
		if (rc != -EAGAIN)
			return rc;
	}
	if (fstat(probe, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode) && !(last && w->nofollow)) {
		rc = walk_expand(w, probe, last);
		return rc < 0 ? rc : -EINPROGRESS;
	}
	if (last)
		return walk_open_last(w, name, &probe, st.st_mode);
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	rc = walk_push(w, &probe);
	return rc < 0 ? rc : -EINPROGRESS;
}

static int walk_run(struct walk *w, const char *path)
{
	int rc = -EINPROGRESS;

	if (*path == '\0')
		return -ENOENT;
	if (strlen(path) >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memcpy(w->rest, path, strlen(path) + 1);
	/* O_EXCL: the link itself is "there already" (open(2)). */
	if ((w->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		w->nofollow = true;
	while (rc == -EINPROGRESS) {
		char name[NAME_MAX + 1];

		rc = walk_next(w, name);
		if (rc < 0)
			break;
		rc = walk_step(w, name, rc == 1);
	}
	walk_pop_to(w, 0);
	return rc;
}

/* openat2(2) with retries; -ENOSYS also where a sandbox answers -EPERM to unknown calls. */
static int try_openat2(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.mode = flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? mode : 0,
		.resolve = resolve,
	};
	int fd, tries = 0;

	do {
		fd = sys_openat2(dirfd, path, &how);
	} while (fd == -EAGAIN && ++tries < OPEN_RETRIES);
	return fd == -EPERM ? -ENOSYS : fd;
}

int path_open_in_root(int root_fd, const char *path, int flags, mode_t mode)
{
	int fd = try_openat2(root_fd, path, flags, mode, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

	if (fd == -ENOSYS) {
		struct walk w = {
			.root_fd = root_fd,
			.flags = flags & ~O_NOFOLLOW,
			.mode = mode,
			.nofollow = (flags & O_NOFOLLOW) != 0,
		};

		fd = walk_run(&w, path);
	}
	return fd;
}

int path_open_in_root_mount(int root_fd, const char *path, int flags)
{
	int fd = try_openat2(root_fd, path, flags, 0,
			     RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);

	return fd == -ENOSYS ? -EXDEV : fd;
}

int path_open_in_root_nofollow(int root_fd, const char *path, int flags)
{
	return path_open_in_root(root_fd, path, flags | O_NOFOLLOW, 0);
}

/* path_open_no_symlinks() without openat2(2). */
static int walk_no_symlinks(int dirfd, const char *path, int flags)
{
	cleanup_fd int dir =
		openat(dirfd, *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return -errno;
	for (;;) {
		cleanup_fd int probe = -EBADF;
		char name[NAME_MAX + 1];
		struct stat st;
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		path += len;
		if (len == 0) {
			probe = openat(dir, ".", flags | O_CLOEXEC);
			return probe < 0 ? -errno : take_fd(&probe);
		}
		probe = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (probe < 0)
			return -errno;
		if (fstat(probe, &st) < 0)
			return -errno;
		if (S_ISLNK(st.st_mode))
			return -ELOOP;
		if (*path == '\0' && !(flags & O_PATH)) {
			int fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);

			return fd < 0 ? -errno : fd;
		}
		if ((*path != '\0' || (flags & O_DIRECTORY)) && !S_ISDIR(st.st_mode))
			return -ENOTDIR;
		if (*path == '\0')
			return take_fd(&probe);
		cleanup_close_fd(&dir);
		dir = take_fd(&probe);
	}
}

int path_open_no_symlinks(int dirfd, const char *path, int flags)
{
	int fd;

	flags &= ~O_NOFOLLOW; /* it would return a link at the end instead of -ELOOP */
	if (flags & O_CREAT)
		return -EINVAL;
	fd = try_openat2(dirfd, path, flags, 0, RESOLVE_NO_SYMLINKS);
	if (fd == -ENOSYS)
		fd = *path ? walk_no_symlinks(dirfd, path, flags) : -ENOENT;
	return fd;
}

int path_make_dirs_in_root(int root_fd, const char *path, mode_t dir_mode)
{
	int fd = try_openat2(root_fd, path, O_PATH | O_DIRECTORY, 0,
			     RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

	if (fd == -ENOENT || fd == -ENOSYS) {
		struct walk w = {
			.root_fd = root_fd,
			.flags = O_PATH | O_DIRECTORY,
			.missing = MISSING_DIRS,
			.dir_mode = dir_mode,
		};

		fd = walk_run(&w, path);
	}
	return fd;
}

int path_make_file_in_root(int root_fd, const char *path, mode_t file_mode)
{
	struct walk w = {
		.root_fd = root_fd,
		.flags = O_PATH,
		.mode = file_mode,
		.missing = MISSING_FILE,
		.dir_mode = 0755,
	};
	struct stat st;
	int fd = try_openat2(root_fd, path, O_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

	if (fd == -ENOENT || fd == -ENOSYS)
		return walk_run(&w, path);
	if (fd >= 0 && (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))) {
		close(fd);
		return -EISDIR;
	}
	return fd;
}

int path_open_parent_in_root(int root_fd, const char *path, char *name, size_t size)
{
	char parent[PATH_MAX];
	size_t end = strlen(path), start;
	int fd;

	if (end >= sizeof(parent))
		return -ENAMETOOLONG;
	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	if (end == start || (end - start == 1 && path[start] == '.') ||
	    (end - start == 2 && path[start] == '.' && path[start + 1] == '.'))
		return -EINVAL;
	if (end - start >= size || end - start > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(parent, path, start);
	parent[start] = '\0';
	fd = path_make_dirs_in_root(root_fd, start ? parent : "/", 0755);
	if (fd < 0)
		return fd;
	memcpy(name, path + start, end - start);
	name[end - start] = '\0';
	return fd;
}

bool path_is_canonical(const char *path)
{
	size_t len = strlen(path);

	if (path[0] != '/' || len >= PATH_MAX)
		return false;
	if (len == 1)
		return true;
	for (const char *p = path; *p;) {
		size_t n = strcspn(p + 1, "/");

		if (n == 0 || (n == 1 && p[1] == '.') || (n == 2 && p[1] == '.' && p[2] == '.'))
			return false;
		p += n + 1;
	}
	return true;
}

bool path_is_below(const char *path, const char *tree)
{
	size_t len = strlen(tree);

	if (len == 1 && tree[0] == '/')
		return path[0] == '/';
	return strncmp(path, tree, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

int path_normalize(const char *path, char *out, size_t size)
{
	size_t used = 0;

	if (size < 2)
		return -ENAMETOOLONG;
	while (*path) {
		size_t n;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n == 2 && path[0] == '.' && path[1] == '.') {
			while (used > 0 && out[--used] != '/')
				;
		} else if (n > 0 && !(n == 1 && path[0] == '.')) {
			if (n + 2 > size - used)
				return -ENAMETOOLONG;
			out[used++] = '/';
			memcpy(out + used, path, n);
			used += n;
		}
		path += n;
	}
	if (used == 0)
		out[used++] = '/';
	out[used] = '\0';
	return 0;
}
