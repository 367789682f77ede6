/*
 * A depth-first walk with an explicit stack of directory pairs. The source belongs to the image and
 * may be hostile but not changing: nothing of the container runs yet. Each entry is opened without
 * following links, and what was opened decides, not what was listed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/mount_copy.h"
#include "runtime/base/cleanup.h"

struct level {
	DIR *source;
	int target;
	struct stat st; /* of the source directory: set on the target when all is inside */
};

struct copy {
	struct level level[MOUNT_COPY_DEPTH_MAX];
	size_t depth;
	unsigned entries;
};

static int push(struct copy *c, int source_fd, int target_fd, const struct stat *st)
{
	struct level *l = &c->level[c->depth];

	l->source = fdopendir(source_fd);
	if (!l->source) {
		int r = -errno;

		close(source_fd);
		close(target_fd);
		return r;
	}
	l->target = target_fd;
	l->st = *st;
	c->depth++;
	return 0;
}

static void drop_top(struct copy *c)
{
	struct level *l = &c->level[--c->depth];

	closedir(l->source);
	close(l->target);
}

static int set_metadata(int fd, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};

	if (fchown(fd, st->st_uid, st->st_gid) < 0 || fchmod(fd, st->st_mode & 07777) < 0 ||
	    futimens(fd, times) < 0)
		return -errno;
	return 0;
}

static int copy_directory(struct copy *c, int from, int to, const char *name)
{
	cleanup_fd int source = -EBADF, target = -EBADF;
	struct stat st;

	if (c->depth == MOUNT_COPY_DEPTH_MAX)
		return -ENAMETOOLONG;
	source = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (source < 0 || fstat(source, &st) < 0)
		return -errno;
	if (mkdirat(to, name, 0700) < 0)
		return -errno;
	target = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (target < 0)
		return -errno;
	return push(c, take_fd(&source), take_fd(&target), &st);
}

static int copy_regular(int from, int to, const char *name)
{
	cleanup_fd int source = -EBADF, target = -EBADF;
	struct stat st;
	ssize_t n;

	source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (source < 0 || fstat(source, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	target = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (target < 0)
		return -errno;
	while ((n = sendfile(target, source, NULL, (size_t)1 << 30)) > 0)
		;
	if (n < 0)
		return -errno;
	return set_metadata(target, &st);
}

static int copy_link(int from, int to, const char *name, const struct stat *st)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(from, name, text, sizeof(text));

	if (n < 0)
		return -errno;
	if ((size_t)n == sizeof(text))
		return -ENAMETOOLONG;
	text[n] = '\0';
	if (symlinkat(text, to, name) < 0 ||
	    fchownat(to, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 0;
}

static int copy_node(int to, const char *name, const struct stat *st)
{
	/* the name was made by us in a directory that nobody else sees yet */
	if (mknodat(to, name, (st->st_mode & S_IFMT) | 0600, st->st_rdev) < 0 ||
	    fchownat(to, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(to, name, st->st_mode & 07777, 0) < 0)
		return -errno;
	return 0;
}

static int copy_entry(struct copy *c, const char *name)
{
	struct level *l = &c->level[c->depth - 1];
	int from = dirfd(l->source), to = l->target;
	struct stat st;

	if (++c->entries > MOUNT_COPY_ENTRIES_MAX)
		return -E2BIG;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	switch (st.st_mode & S_IFMT) {
	case S_IFDIR:
		return copy_directory(c, from, to, name);
	case S_IFREG:
		return copy_regular(from, to, name);
	case S_IFLNK:
		return copy_link(from, to, name, &st);
	case S_IFSOCK:
		return 0;
	default:
		return copy_node(to, name, &st);
	}
}

/* One step: an entry of the top directory, or its end. */
static int copy_step(struct copy *c, struct sbx_error *err)
{
	struct level *l = &c->level[c->depth - 1];
	struct dirent *entry;
	int r;

	errno = 0;
	entry = readdir(l->source);
	if (!entry) {
		if (errno)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "copy up: read a directory");
		/* the top's own mode and owner are the mount's */
		r = c->depth > 1 ? set_metadata(l->target, &l->st) : 0;
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "copy up: set a directory's mode");
		drop_top(c);
		return 0;
	}
	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return 0;
	r = copy_entry(c, entry->d_name);
	if (r == -E2BIG)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, 0, "copy up: more than %u entries",
				MOUNT_COPY_ENTRIES_MAX);
	if (r == -ENAMETOOLONG)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, 0,
				"copy up: deeper than %d directories at \"%s\"",
				MOUNT_COPY_DEPTH_MAX, entry->d_name);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "copy up \"%s\"", entry->d_name) : 0;
}

int mount_copy_tree(int source_fd, int target_fd, struct sbx_error *err)
{
	cleanup_fd int source = -EBADF, target = -EBADF;
	struct copy *c = calloc(1, sizeof(*c));
	struct stat st;
	int r;

	if (!c)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "copy up");
	source = openat(source_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	target = openat(target_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (source < 0 || target < 0 || fstat(source, &st) < 0) {
		r = sbx_fail(err, SBX_E_SYSTEM, errno, "copy up: open the directories");
		free(c);
		return r;
	}
	r = push(c, take_fd(&source), take_fd(&target), &st);
	if (r < 0)
		sbx_fail(err, SBX_E_SYSTEM, -r, "copy up: read a directory");
	while (r == 0 && c->depth > 0)
		r = copy_step(c, err);
	while (c->depth > 0)
		drop_top(c);
	free(c);
	return r;
}
