/*
 * The walk over a tree of groups, with one descriptor whatever its depth.
 *
 * A container that may write its cgroup can nest groups without a limit, so neither recursion nor a
 * descriptor per level will do. The walk goes down by openat(2) of a child's name and up by "..",
 * which kernfs resolves to the true parent, and remembers for each level only where the directory
 * is to be continued (the d_off of getdents64(2)) and the child's name. Children come before their
 * parent: the order that removal needs.
 */
#include "backends/linux/cgroup/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"

#define WALK_DEPTH_MAX 16384
#define WALK_BUF_BYTES 4096

struct walk_level {
	off_t next; /* where the parent's directory goes on */
	char name[NAME_MAX + 1];
};

struct walk {
	int fd;
	struct walk_level *levels;
	size_t depth, cap;
};

static void walk_release(struct walk *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w->levels);
}

static int push(struct walk *w, const struct dirent64 *entry)
{
	size_t len = strnlen(entry->d_name, NAME_MAX);
	struct walk_level *level;

	if (w->depth == WALK_DEPTH_MAX)
		return -ELOOP;
	if (w->depth == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 8;
		struct walk_level *grown = realloc(w->levels, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		w->levels = grown;
		w->cap = cap;
	}
	level = &w->levels[w->depth++];
	level->next = entry->d_off;
	memcpy(level->name, entry->d_name, len);
	level->name[len] = '\0';
	return 0;
}

/* Go down into the next child directory. 1: went down, 0: there is none left, -errno. */
static int descend(struct walk *w)
{
	_Alignas(struct dirent64) char buf[WALK_BUF_BYTES];

	for (;;) {
		long n = syscall(SYS_getdents64, w->fd, buf, sizeof(buf));

		if (n < 0)
			return errno == ENOENT ? 0 : -errno;
		if (n == 0)
			return 0;
		for (long at = 0; at < n;) {
			struct dirent64 *entry = (struct dirent64 *)(buf + at);
			int child, r;

			at += entry->d_reclen;
			if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
			    strcmp(entry->d_name, "..") == 0)
				continue;
			child = openat(w->fd, entry->d_name,
				       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
			if (child < 0 && errno == ENOENT)
				continue;
			if (child < 0)
				return -errno;
			r = push(w, entry);
			if (r < 0) {
				close(child);
				return r;
			}
			close(w->fd);
			w->fd = child;
			return 1;
		}
	}
}

/* Back to the parent, continuing behind the child; with remove the child is removed. */
static int ascend(struct walk *w, bool remove)
{
	const struct walk_level *level = &w->levels[w->depth - 1];
	int parent = openat(w->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (parent < 0)
		return -errno;
	close(w->fd);
	w->fd = parent;
	w->depth--;
	if (remove && unlinkat(parent, level->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return -errno;
	return lseek(parent, level->next, SEEK_SET) < 0 ? -errno : 0;
}

static int walk(const struct cgroup_hierarchy *h, cgroup_visit_fn visit, void *data, bool remove)
{
	__attribute__((cleanup(walk_release))) struct walk w = {.fd = cgroup_open_dir(h)};

	if (w.fd < 0)
		return w.fd;
	for (;;) {
		int r = descend(&w);

		if (r < 0)
			return r;
		if (r > 0)
			continue;
		r = visit ? visit(w.fd, data) : 0;
		if (r != 0)
			return r;
		if (w.depth == 0)
			return 0;
		r = ascend(&w, remove);
		if (r < 0)
			return r;
	}
}

int cgroup_walk(const struct cgroup_hierarchy *h, cgroup_visit_fn visit, void *data)
{
	return walk(h, visit, data, false);
}

int cgroup_remove_children(const struct cgroup_hierarchy *h)
{
	return walk(h, NULL, NULL, true);
}
