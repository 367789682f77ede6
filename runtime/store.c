/*
 * Theory of operation: the runtime root is walked from "/" component by component, each opened
 * O_PATH|O_NOFOLLOW below the one before and judged by its owner and mode; from then on everything
 * is reached from that descriptor by single names. A container is claimed by mkdirat(2), which only
 * one can win, and locked by flock(2) on its directory; after the lock was waited for, the name is
 * compared with the descriptor again, because the container may have been removed, and even made
 * anew, meanwhile.
 */
#include "runtime/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/path.h"
#include "runtime/scratch.h"
#include "runtime/trusted_file.h"

#define ROOT_NAME	"sbx-runtime"
#define DEFAULT_ROOT	"/run/" ROOT_NAME
#define ROOT_LINKS_MAX	8
#define LOCK_TRIES	100
#define LOCK_WAIT_MS	10000
#define LOCK_POLL_MS	5
#define CONTAINER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---- the runtime root ---- */

struct walk {
	int dir_fd;
	char done[PATH_MAX]; /* the path of dir_fd, "" for "/" */
	char rest[PATH_MAX]; /* what is still to be walked: canonical, "" at the end */
	bool shared;	     /* others may write to dir_fd, which is sticky */
	bool create;
	bool keep; /* make the root sticky: cleaners of $XDG_RUNTIME_DIR pass it by */
	int links;
};

/* Inside a user namespace that does not map every id, all unmapped owners look the same: there the
 * machine's root may be one of them. */
static bool is_trusted_owner(uid_t uid, bool may_be_unmapped)
{
	struct caller_identity caller;

	if (uid == 0 || uid == geteuid())
		return true;
	if (!may_be_unmapped)
		return false;
	caller_identify(&caller);
	return !caller.initial_userns && uid == caller.machine_root;
}

/* The rules of store.h for one component, a directory or a link; rest is what follows it. */
static int check_component(struct walk *w, const struct stat *st, const char *path,
			   struct sbx_error *err)
{
	bool last = w->rest[0] == '\0', link = S_ISLNK(st->st_mode);
	bool writable = !link && (st->st_mode & (S_IWGRP | S_IWOTH));
	bool caller = st->st_uid == geteuid();

	if (link && (last || w->shared || (caller && st->st_uid != 0)))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0, "\"%s\" is a symbolic link", path);
	if (!link && !S_ISDIR(st->st_mode))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, ENOTDIR, "enter \"%s\"", path);
	if (!is_trusted_owner(st->st_uid, !last))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0, "\"%s\" is owned by uid %u", path,
				(unsigned int)st->st_uid);
	if (w->shared && !caller)
		return sbx_fail(
			err, SBX_E_UNSAFE_PATH, 0,
			"\"%s\" is owned by uid %u, and must be the caller's: the directory "
			"above may be written by all",
			path, (unsigned int)st->st_uid);
	if (writable && (last || !(st->st_mode & S_ISVTX)))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0, "\"%s\" is writable by group or others",
				path);
	if (!link)
		w->shared = writable;
	return 0;
}

static int walk_from_root(struct walk *w, struct sbx_error *err)
{
	struct stat st;

	cleanup_close_fd(&w->dir_fd);
	w->done[0] = '\0';
	w->shared = false;
	w->dir_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->dir_fd < 0 || fstat(w->dir_fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open \"/\"");
	return check_component(w, &st, "/", err);
}

/* Begin again with the text of a link that root made in place of its name. */
static int walk_link(struct walk *w, int link_fd, const char *path, struct sbx_error *err)
{
	char target[PATH_MAX], joined[3 * PATH_MAX];
	ssize_t n = readlinkat(link_fd, "", target, sizeof(target) - 1);

	if (n < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "read the link \"%s\"", path);
	if (++w->links > ROOT_LINKS_MAX)
		return sbx_fail(err, SBX_E_UNSAFE_PATH, ELOOP, "follow \"%s\"", path);
	target[n] = '\0';
	snprintf(joined, sizeof(joined), "%s/%s%s", target[0] == '/' ? "" : w->done, target,
		 w->rest);
	if (path_normalize(joined, w->rest, sizeof(w->rest)) < 0 || w->rest[1] == '\0')
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0, "\"%s\" leads nowhere", path);
	return walk_from_root(w, err);
}

static int open_or_make(struct walk *w, const char *name, const char *path, struct sbx_error *err)
{
	int fd = openat(w->dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool last = w->rest[0] == '\0';

	if (fd >= 0)
		return fd;
	if (errno == ENOENT && !w->create)
		return -ENOENT;
	if (errno == ENOENT) {
		if (mkdirat(w->dir_fd, name, 0700) < 0 && errno != EEXIST)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "make \"%s\"", path);
		if (last && w->keep && fchmodat(w->dir_fd, name, 01700, 0) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "make \"%s\" sticky", path);
		fd = openat(w->dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	return sbx_fail(err, SBX_E_SYSTEM, errno, "open \"%s\"", path);
}

/* The next component. 0, -ENOENT without a message where it is missing, -errno. */
static int walk_step(struct walk *w, struct sbx_error *err)
{
	size_t len = strcspn(w->rest + 1, "/");
	cleanup_fd int fd = -EBADF;
	char name[NAME_MAX + 1], path[PATH_MAX + NAME_MAX + 2];
	struct stat st;
	int rc;

	if (len > NAME_MAX)
		return sbx_fail(err, SBX_E_USAGE, ENAMETOOLONG, "walk \"%s\"", w->rest);
	memcpy(name, w->rest + 1, len);
	name[len] = '\0';
	memmove(w->rest, w->rest + 1 + len, strlen(w->rest + 1 + len) + 1);
	snprintf(path, sizeof(path), "%s/%s", w->done, name);
	if (strlen(path) >= sizeof(w->done))
		return sbx_fail(err, SBX_E_USAGE, ENAMETOOLONG, "walk \"%s\"", path);
	fd = open_or_make(w, name, path, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "look at \"%s\"", path);
	rc = check_component(w, &st, path, err);
	if (rc < 0)
		return rc;
	if (S_ISLNK(st.st_mode))
		return walk_link(w, fd, path, err);
	cleanup_close_fd(&w->dir_fd);
	w->dir_fd = take_fd(&fd);
	memcpy(w->done, path, strlen(path) + 1);
	return 0;
}

/* Where the root is when nobody said. Real root owns /run and is never sent elsewhere by its
 * environment; the root of a rootless manager's user namespace does not own it. */
static int default_root(struct walk *w, struct sbx_error *err)
{
	const char *xdg = secure_getenv("XDG_RUNTIME_DIR");
	bool given = xdg && *xdg != '\0'; /* conmon passes an empty one for root */
	struct stat st;

	if (geteuid() == 0 && (!given || stat("/run", &st) < 0 || st.st_uid == 0))
		return path_normalize(DEFAULT_ROOT, w->rest, sizeof(w->rest));
	if (given && *xdg != '/')
		return sbx_fail(err, SBX_E_USAGE, 0, "XDG_RUNTIME_DIR is \"%s\", not absolute",
				xdg);
	w->keep = true;
	if (given)
		snprintf(w->rest, sizeof(w->rest), "%s/" ROOT_NAME, xdg);
	else
		snprintf(w->rest, sizeof(w->rest), "/run/user/%u/" ROOT_NAME,
			 (unsigned int)geteuid());
	memcpy(w->done, w->rest, sizeof(w->done));
	return path_normalize(w->done, w->rest, sizeof(w->rest));
}

static int given_root(struct walk *w, const char *root, struct sbx_error *err)
{
	char cwd[PATH_MAX], joined[2 * PATH_MAX + 2];

	if (*root == '\0' || strlen(root) >= PATH_MAX)
		return sbx_fail(err, SBX_E_USAGE, 0, "--root must be a path");
	cwd[0] = '\0';
	if (*root != '/' && !getcwd(cwd, sizeof(cwd)))
		return sbx_fail(err, SBX_E_SYSTEM, errno, "read the current directory");
	snprintf(joined, sizeof(joined), "%s/%s", cwd, root);
	if (path_normalize(joined, w->rest, sizeof(w->rest)) < 0)
		return sbx_fail(err, SBX_E_USAGE, ENAMETOOLONG, "use --root");
	if (w->rest[1] == '\0')
		return sbx_fail(err, SBX_E_USAGE, 0, "--root must not be \"/\"");
	return 0;
}

int store_open(struct store *store, const char *root, bool create, struct sbx_error *err)
{
	struct walk w = {.dir_fd = -EBADF, .create = create};
	int rc = root ? given_root(&w, root, err) : default_root(&w, err);

	store->root_fd = -EBADF;
	store->root[0] = '\0';
	if (rc < 0)
		return rc;
	snprintf(store->root, sizeof(store->root), "%s", w.rest); /* as it is wanted */
	rc = walk_from_root(&w, err);
	while (rc == 0 && w.rest[0] != '\0')
		rc = walk_step(&w, err);
	if (rc == -ENOENT && !create) {
		cleanup_close_fd(&w.dir_fd);
		return 0; /* nothing was ever made: an empty store */
	}
	if (rc < 0) {
		cleanup_close_fd(&w.dir_fd);
		sbx_prefix(err,
			   root ? "open the runtime root \"%s\""
				: "open the runtime root \"%s\" (--root or XDG_RUNTIME_DIR names "
				  "another)",
			   store->root);
		store->root[0] = '\0';
		return rc;
	}
	snprintf(store->root, sizeof(store->root), "%s", w.done);
	store->root_fd = w.dir_fd;
	return 0;
}

void store_close(struct store *store)
{
	cleanup_close_fd(&store->root_fd);
}

/* ---- containers ---- */

int store_check_id(const char *id, struct sbx_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_+.-";
	size_t len = strlen(id);

	if (len == 0)
		return sbx_fail(err, SBX_E_INVALID_ID, 0, "container id cannot be empty");
	if (len > CONTAINER_ID_MAX)
		return sbx_fail(err, SBX_E_INVALID_ID, 0,
				"container id \"%.40s...\" is longer than %d characters", id,
				CONTAINER_ID_MAX);
	if (strcmp(id, ".") == 0 || strcmp(id, "..") == 0)
		return sbx_fail(err, SBX_E_INVALID_ID, 0,
				"invalid container id \"%s\": it is the name of a folder", id);
	if (id[strspn(id, allowed)] != '\0')
		return sbx_fail(
			err, SBX_E_INVALID_ID, 0,
			"invalid container id \"%s\": letters, digits and _ + . - are allowed%s",
			id,
			strchr(id, '/') ? " (a bundle is given by --bundle; run alone takes one "
					  "by its path)"
					: "");
	return 0;
}

static int fail_unknown(const char *id, struct sbx_error *err)
{
	/* The first words are what managers look for. */
	return sbx_fail(err, SBX_E_CONTAINER_UNKNOWN, 0, "container does not exist: \"%s\"", id);
}

static const int lock_operations[] = {
	[STORE_LOCK_NONE] = LOCK_UN,
	[STORE_LOCK_SHARED] = LOCK_SH,
	[STORE_LOCK_EXCLUSIVE] = LOCK_EX,
};

static int lock_directory(int fd, enum store_lock lock)
{
	while (flock(fd, lock_operations[lock]) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* -EWOULDBLOCK: the holder's hook may hang, or be who asks. */
static int lock_directory_soon(int fd, enum store_lock lock)
{
	for (int waited = 0; waited < LOCK_WAIT_MS; waited += LOCK_POLL_MS) {
		if (flock(fd, lock_operations[lock] | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		usleep(LOCK_POLL_MS * 1000);
	}
	return -EWOULDBLOCK;
}

/* The directory still is the one that its name leads to. */
static bool is_current(const struct store *store, const char *id, int fd)
{
	struct stat held, named;

	return fstat(fd, &held) == 0 &&
	       fstatat(store->root_fd, id, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

static int open_directory(const struct store *store, const char *id, struct sbx_error *err)
{
	cleanup_fd int fd = -EBADF;
	struct stat st;

	if (store->root_fd < 0)
		return fail_unknown(id, err);
	fd = openat(store->root_fd, id, CONTAINER_FLAGS);
	if (fd < 0 && errno == ENOENT)
		return fail_unknown(id, err);
	if (fd < 0)
		return sbx_fail(
			err, errno == ELOOP || errno == ENOTDIR ? SBX_E_UNSAFE_PATH : SBX_E_SYSTEM,
			errno, "open the state of container \"%s\"", id);
	if (fstat(fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "look at the state of container \"%s\"",
				id);
	if (!is_trusted_owner(st.st_uid, false) || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"the state of container \"%s\" is owned by uid %u, mode %04o", id,
				(unsigned int)st.st_uid, (unsigned int)(st.st_mode & 07777));
	return take_fd(&fd);
}

int store_open_container(const struct store *store, const char *id, enum store_lock lock,
			 struct sbx_error *err)
{
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		cleanup_fd int fd = open_directory(store, id, err);
		int rc;

		if (fd < 0)
			return fd;
		if (lock == STORE_LOCK_NONE)
			return take_fd(&fd);
		rc = lock_directory_soon(fd, lock);
		if (rc == -EWOULDBLOCK)
			return sbx_fail(
				err, SBX_E_CONTAINER_STATUS, 0,
				"container \"%s\" has been in another command's hands for %d "
				"seconds: a hook of it may hang (\"delete --force\" ends it)",
				id, LOCK_WAIT_MS / 1000);
		if (rc < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -rc, "lock container \"%s\"", id);
		if (is_current(store, id, fd))
			return take_fd(&fd);
	}
	return sbx_fail(err, SBX_E_SYSTEM, EBUSY, "lock container \"%s\"", id);
}

int store_relock_container(const struct store *store, const char *id, int container_fd,
			   enum store_lock lock, struct sbx_error *err)
{
	int rc = lock_directory(container_fd, lock);

	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "lock container \"%s\"", id);
	if (lock != STORE_LOCK_NONE && !is_current(store, id, container_fd))
		return fail_unknown(id, err);
	return 0;
}

bool store_is_busy(int container_fd)
{
	if (flock(container_fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	lock_directory(container_fd, STORE_LOCK_NONE);
	return false;
}

bool store_is_unused(int container_fd)
{
	/* How fd_replace_file_at() calls what will be the state. */
	static const char unfinished[] = ".state.";
	int fd = openat(container_fd, ".", CONTAINER_FLAGS);
	cleanup_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		    strncmp(name, unfinished, strlen(unfinished)) != 0)
			return false;
	}
	return true;
}

int store_create_container(const struct store *store, const char *id, struct sbx_error *err)
{
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		struct sbx_error failure = {0};
		int fd;

		if (mkdirat(store->root_fd, id, 0700) < 0) {
			if (errno == EEXIST)
				return sbx_fail(err, SBX_E_CONTAINER_EXISTS, 0,
						"container with given ID already exists: \"%s\"",
						id);
			return sbx_fail(err, SBX_E_SYSTEM, errno,
					"make the state of container \"%s\" in \"%s\"", id,
					store->root);
		}
		fd = store_open_container(store, id, STORE_LOCK_EXCLUSIVE, &failure);
		if (fd >= 0)
			return fd;
		/* Removed by a `delete --force` before we had the lock: claim it again. */
		if (failure.code != SBX_E_CONTAINER_UNKNOWN) {
			if (err)
				*err = failure;
			return fd;
		}
	}
	return sbx_fail(err, SBX_E_SYSTEM, EBUSY, "make the state of container \"%s\"", id);
}

int store_remove_container(const struct store *store, const char *id, struct sbx_error *err)
{
	cleanup_fd int fd = -EBADF;
	int rc;

	if (store->root_fd < 0)
		return 0;
	fd = openat(store->root_fd, id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = fd < 0 ? 0 : scratch_remove(fd, err);
	if (rc < 0)
		return rc;
	rc = fd_remove_tree_at(store->root_fd, id);
	if (rc < 0 && rc != -ENOENT)
		return sbx_fail(err, SBX_E_SYSTEM, rc, "remove the state of container \"%s\"", id);
	return 0;
}

/* ---- listing ---- */

static int compare_ids(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_ids(char **ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(ids[i]);
	free(ids);
}

/* Append a copy of id; the list is NULL-terminated. */
static int add_id(char ***ids, size_t *n, size_t *cap, const char *id)
{
	if (*n + 2 > *cap) {
		size_t more = *cap ? *cap * 2 : 16;
		char **grown = reallocarray(*ids, more, sizeof(**ids));

		if (!grown)
			return -ENOMEM;
		*ids = grown;
		*cap = more;
	}
	(*ids)[*n] = strdup(id);
	if (!(*ids)[*n])
		return -ENOMEM;
	(*ids)[++*n] = NULL;
	return 0;
}

static int read_ids(DIR *dir, char ***ids, size_t *n)
{
	size_t cap = 0;
	int rc = 0;

	*ids = calloc(1, sizeof(**ids));
	if (!*ids)
		return -ENOMEM;
	while (rc == 0) {
		struct dirent *entry;

		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return -errno;
		if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
		    store_check_id(entry->d_name, NULL) == 0)
			rc = add_id(ids, n, &cap, entry->d_name);
	}
	return rc;
}

int store_list(const struct store *store, char ***ret_ids, struct sbx_error *err)
{
	cleanup_dir DIR *dir = NULL;
	char **ids = NULL;
	size_t n = 0;
	int rc = 0;

	if (store->root_fd < 0) {
		ids = calloc(1, sizeof(*ids));
		rc = ids ? 0 : -ENOMEM;
	} else {
		int fd = openat(store->root_fd, ".", CONTAINER_FLAGS);

		dir = fd < 0 ? NULL : fdopendir(fd);
		if (!dir) {
			rc = -errno;
			if (fd >= 0)
				close(fd);
		} else {
			rc = read_ids(dir, &ids, &n);
		}
	}
	if (rc < 0) {
		free_ids(ids, n);
		return sbx_fail(err, SBX_E_SYSTEM, rc, "list the runtime root \"%s\"", store->root);
	}
	if (n > 0)
		qsort(ids, n, sizeof(*ids), compare_ids);
	*ret_ids = ids;
	return (int)n;
}

int store_count_confined(const struct store *store, struct sbx_error *err)
{
	char path[NAME_MAX + sizeof("/profile")];
	char **ids = NULL;
	int confined = 0, n = store_list(store, &ids, err);

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/profile", ids[i]);
		confined += faccessat(store->root_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
		free(ids[i]);
	}
	free(ids);
	return n < 0 ? n : confined;
}

/* ---- files of a container ---- */

/* Want of memory or descriptors says nothing about the file. */
static int fail_read(int errnum, const char *name, struct sbx_error *err)
{
	bool ours = errnum == ENOMEM || errnum == EMFILE || errnum == ENFILE;

	return sbx_fail(err, ours ? SBX_E_SYSTEM : SBX_E_INVALID_STATE_FILE, errnum,
			"read the stored %s", name);
}

int store_read_file(int container_fd, const char *name, size_t max, struct buf *out,
		    struct sbx_error *err)
{
	cleanup_fd int fd = openat(container_fd, name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int rc;

	if (fd < 0)
		return fail_read(errno, name, err);
	if (fstat(fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "look at the stored %s", name);
	/* No link is left when the file was replaced between open and here. */
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1 || !is_trusted_owner(st.st_uid, false) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"the stored %s is no regular file of the runtime's own (uid %u, "
				"mode %06o, %lu links)",
				name, (unsigned int)st.st_uid, (unsigned int)st.st_mode,
				(unsigned long)st.st_nlink);
	rc = fd_read_all(fd, max, out);
	return rc < 0 ? fail_read(-rc, name, err) : 0;
}
