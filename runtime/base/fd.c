/*
 * Theory of operation: plain loops around read(2) and write(2); close_range(2) for sweeps, with a
 * walk of /proc/self/fd where it is missing.
 *
 * A tree is removed with a fixed number of descriptors and without recursion: directories are
 * descended REMOVE_DEPTH levels; a non-empty directory deeper than that is renamed to the top of
 * the tree and met there again. So neither depth nor a long path nor memory limits it. Every
 * directory is tried with rmdir(2) first, which refuses a mount point (-EBUSY), and opened with
 * O_NOFOLLOW and without crossing a mount.
 */
#include "runtime/base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/num.h"

#define READ_MIN ((size_t)4 << 10)
#define READ_MAX ((size_t)1 << 20)

/* fd_read_all() where about expected bytes will come. */
static int read_all(int fd, size_t max, size_t expected, struct buf *out)
{
	size_t before = out->len, got = 0;
	size_t step = expected < READ_MIN   ? READ_MIN
		      : expected < READ_MAX ? expected + 1
					    : READ_MAX;

	for (;; step = READ_MIN) {
		size_t want = max - got < step ? max - got + 1 : step;
		char *room = buf_room(out, want);
		ssize_t n = room ? read(fd, room, want) : -1;
		int rc = 0;

		if (!room)
			rc = -ENOMEM;
		else if (n < 0 && errno == EINTR)
			continue;
		else if (n < 0)
			rc = -errno;
		else if ((size_t)n > max - got)
			rc = -EFBIG;
		if (rc < 0) {
			out->len = before;
			if (out->data)
				out->data[before] = '\0';
			return rc;
		}
		room[n] = '\0';
		if (n == 0)
			return 0;
		out->len += (size_t)n;
		got += (size_t)n;
	}
}

int fd_read_all(int fd, size_t max, struct buf *out)
{
	return read_all(fd, max, 0, out);
}

int fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_read_file_at(int dirfd, const char *name, size_t max, struct buf *out)
{
	/* O_NONBLOCK: the open of a FIFO without a writer returns. */
	cleanup_fd int fd =
		openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno; /* a socket is no regular file */
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return read_all(fd, max, (size_t)st.st_size, out);
}

/* The errnos of these say something else to a person. */
static const char *read_refusal(int rc)
{
	switch (rc) {
	case -EINVAL:
		return "it is no regular file";
	case -ELOOP:
		return "it is a symbolic link, which is not followed";
	default:
		return NULL;
	}
}

int fd_fail_read(struct sbx_error *err, enum sbx_code code, int rc, const char *fmt, ...)
{
	const char *reason = read_refusal(rc);
	char what[SBX_MESSAGE_MAX];
	va_list args;

	va_start(args, fmt);
	if (vsnprintf(what, sizeof(what), fmt, args) < 0)
		what[0] = '\0';
	va_end(args);
	return reason ? sbx_fail(err, code, 0, "%s: %s", what, reason)
		      : sbx_fail(err, code, -rc, "%s", what);
}

int fd_write_value_at(int dirfd, const char *name, const char *value)
{
	cleanup_fd int fd = openat(dirfd, name, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	size_t len = strlen(value);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = write(fd, value, len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int fd_mount_id(int fd, uint64_t *ret_id)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &stx) < 0)
		return -errno;
	if (!(stx.stx_mask & STATX_MNT_ID))
		return -ENOSYS;
	*ret_id = stx.stx_mnt_id;
	return 0;
}

/* "DIR/.BASE.RANDOM": beside its target, so that rename(2) stays on one file system. */
static int temporary_name(const char *name, char *out, size_t size)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	uint64_t random;
	int n;

	if (*base == '\0')
		return -EINVAL;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	n = snprintf(out, size, "%.*s.%.200s.%016llx", (int)(base - name), name, base,
		     (unsigned long long)random);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int fd_path(int proc_fd, int fd, char *out, size_t size)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "%sself/fd/%d", proc_fd == AT_FDCWD ? "/proc/" : "", fd);
	n = readlinkat(proc_fd, link, out, size);
	if (n < 0)
		return -errno;
	if ((size_t)n == size)
		return -ENAMETOOLONG;
	out[n] = '\0';
	return 0;
}

int fd_create_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode)
{
	cleanup_fd int fd =
		openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	return fd < 0 ? -errno : fd_write_all(fd, data, len);
}

int fd_replace_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode)
{
	char temporary[PATH_MAX];
	int rc = temporary_name(name, temporary, sizeof(temporary));

	if (rc < 0)
		return rc;
	rc = fd_create_file_at(dirfd, temporary, data, len, mode);
	if (rc == 0 && renameat(dirfd, temporary, dirfd, name) < 0)
		rc = -errno;
	if (rc < 0 && rc != -EEXIST)
		unlinkat(dirfd, temporary, 0);
	return rc;
}

/* ---- sweeps ---- */

enum sweep { SWEEP_CLOEXEC, SWEEP_CLOSE };

static bool is_kept(int fd, const int *keep, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (keep[i] == fd)
			return true;
	}
	return false;
}

/* close_range(2) is missing: visit the names of self/fd. The directory's own descriptor must be
 * among them, else this is not our process's list. */
static int sweep_by_proc(int proc_fd, int first, const int *keep, size_t n, enum sweep what)
{
	const char *path = proc_fd == AT_FDCWD ? "/proc/self/fd" : "self/fd";
	int fd_of_dir = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_dir DIR *dir = fd_of_dir < 0 ? NULL : fdopendir(fd_of_dir);
	struct dirent *entry;
	struct statfs fs;
	bool saw_itself = false;

	if (!dir) {
		int rc = -errno;

		cleanup_close_fd(&fd_of_dir);
		return rc;
	}
	if (fstatfs(dirfd(dir), &fs) < 0)
		return -errno;
	if (fs.f_type != PROC_SUPER_MAGIC)
		return -EXDEV;
	while ((errno = 0, entry = readdir(dir))) {
		uint64_t number;
		int fd;

		if (num_parse_u64(entry->d_name, 0, INT_MAX, &number) < 0)
			continue;
		fd = (int)number;
		if (fd == dirfd(dir)) {
			saw_itself = true;
			continue;
		}
		if (fd < first || is_kept(fd, keep, n))
			continue;
		if (what == SWEEP_CLOSE)
			close(fd);
		else if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
			return -errno;
	}
	if (errno)
		return -errno;
	return saw_itself ? 0 : -EXDEV;
}

int fd_cloexec_from(int first)
{
	/* Whatever the refusal (-ENOSYS, -EINVAL of an old kernel, -EPERM of a sandbox). */
	if (sys_close_range((unsigned int)first, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		return 0;
	return sweep_by_proc(AT_FDCWD, first, NULL, 0, SWEEP_CLOEXEC);
}

/* The smallest kept descriptor that is at least from, INT_MAX where there is none. */
static int next_kept(int from, const int *keep, size_t n)
{
	int next = INT_MAX;

	for (size_t i = 0; i < n; i++) {
		if (keep[i] >= from && keep[i] < next)
			next = keep[i];
	}
	return next;
}

int fd_close_from(int proc_fd, int first, const int *keep, size_t n)
{
	for (int from = first;;) {
		int next = next_kept(from, keep, n), rc = 0;

		if (next == INT_MAX)
			rc = sys_close_range((unsigned int)from, ~0U, 0);
		else if (next > from)
			rc = sys_close_range((unsigned int)from, (unsigned int)next - 1, 0);
		if (rc < 0)
			return sweep_by_proc(proc_fd, first, keep, n, SWEEP_CLOSE);
		if (next == INT_MAX)
			return 0;
		from = next + 1;
	}
}

void fd_batch_add(struct fd_batch *batch, int fd)
{
	if (fd < 0)
		return;
	if (batch->n == ARRAY_SIZE(batch->v))
		fd_batch_close(batch);
	batch->v[batch->n++] = fd;
}

void fd_batch_close(struct fd_batch *batch)
{
	const int *v = batch->v;

	for (size_t i = 0, end; i < batch->n; i = end) {
		for (end = i + 1; end < batch->n && v[end] == v[end - 1] + 1;)
			end++;
		if (end - i > 1 && sys_close_range((unsigned)v[i], (unsigned)v[end - 1], 0) == 0)
			continue;
		for (size_t k = i; k < end; k++)
			close(v[k]);
	}
	batch->n = 0;
}

int fd_fill_stdio(void)
{
	for (int fd = 0; fd < 3; fd++) {
		int got;

		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		got = open("/dev/null", O_RDWR | O_NOCTTY); /* inherited, as stdio is */
		if (got < 0)
			return -errno;
		if (got != fd) {
			close(got);
			return -EBADF;
		}
	}
	return 0;
}

/* ---- removing a tree ---- */

#define REMOVE_DEPTH	  16
#define REMOVE_PASSES_MAX (1 << 20)

struct removal {
	DIR *dirs[REMOVE_DEPTH];
	char names[REMOVE_DEPTH][NAME_MAX + 1]; /* of dirs[i] in dirs[i - 1]; [0] unused */
	int depth;				/* open directories */
	unsigned int moved;			/* number of the next directory moved to the top */
	bool progress;				/* of this pass over the top */
	int failure;				/* first refusal of this pass, -errno */
};

/* An own folder whose owner shut himself out of it is opened again; a capability needs no mode. */
static void make_accessible(int parent_fd, const char *name)
{
	cleanup_fd int fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[32];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (st.st_mode & S_IRWXU) == S_IRWXU ||
	    st.st_uid != geteuid())
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)!chmod(path, S_IRWXU);
}

static int open_directory(int parent_fd, const char *name, DIR **ret)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
	};
	int fd;

	if (geteuid() != 0)
		make_accessible(parent_fd, name);
	fd = sys_openat2(parent_fd, name, &how);
	/* Without openat2 the rmdir(2) before has refused a mount point. */
	if (fd == -ENOSYS || fd == -EPERM || fd == -EAGAIN) {
		fd = openat(parent_fd, name, (int)how.flags);
		if (fd < 0)
			fd = -errno;
	}
	if (fd < 0)
		return fd;
	*ret = fdopendir(fd);
	if (!*ret) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return 0;
}

/* Move the directory NAME of the deepest open directory to the top, under a free name. */
static int move_to_top(struct removal *rm, const char *name)
{
	int from = dirfd(rm->dirs[rm->depth - 1]), top = dirfd(rm->dirs[0]);

	for (int tries = 0; tries < 1000; tries++) {
		char free_name[48];

		snprintf(free_name, sizeof(free_name), ".sbx-remove-%u", rm->moved++);
		if (renameat(from, name, top, free_name) == 0)
			return 0;
		if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
			return -errno;
	}
	return -EEXIST;
}

static void note_failure(struct removal *rm, int rc)
{
	if (rm->failure == 0)
		rm->failure = rc;
}

/* A non-empty directory: descend into it, or bring it to the top when we are deep. */
static void enter_directory(struct removal *rm, const char *name)
{
	int rc;

	if (rm->depth == REMOVE_DEPTH) {
		rc = move_to_top(rm, name);
		rm->progress = rm->progress || rc == 0;
	} else {
		rc = open_directory(dirfd(rm->dirs[rm->depth - 1]), name, &rm->dirs[rm->depth]);
		if (rc == 0) {
			snprintf(rm->names[rm->depth], sizeof(rm->names[0]), "%s", name);
			rm->depth++;
		}
	}
	if (rc < 0 && rc != -ENOENT)
		note_failure(rm, rc);
}

static bool is_not_empty(int errnum)
{
	return errnum == ENOTEMPTY || errnum == EEXIST;
}

static void remove_entry(struct removal *rm, const struct dirent *entry)
{
	int dir = dirfd(rm->dirs[rm->depth - 1]);
	bool maybe_directory = entry->d_type == DT_DIR;

	if (!maybe_directory) {
		if (unlinkat(dir, entry->d_name, 0) == 0) {
			rm->progress = true;
			return;
		}
		if (errno == ENOENT)
			return;
		if (errno != EISDIR && errno != EPERM) {
			note_failure(rm, -errno);
			return;
		}
	}
	if (unlinkat(dir, entry->d_name, AT_REMOVEDIR) == 0)
		rm->progress = true;
	else if (is_not_empty(errno))
		enter_directory(rm, entry->d_name);
	else if (errno != ENOENT)
		note_failure(rm, errno == ENOTDIR ? -EPERM : -errno);
}

/* One pass over everything that is reachable from the top. */
static int remove_pass(struct removal *rm)
{
	while (rm->depth > 0) {
		DIR *dir = rm->dirs[rm->depth - 1];
		struct dirent *entry;

		errno = 0;
		entry = readdir(dir);
		if (entry) {
			if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
				remove_entry(rm, entry);
			continue;
		}
		if (errno)
			return -errno;
		if (rm->depth == 1)
			return rm->failure;
		closedir(dir);
		rm->depth--;
		if (unlinkat(dirfd(rm->dirs[rm->depth - 1]), rm->names[rm->depth], AT_REMOVEDIR) ==
		    0)
			rm->progress = true;
		else if (errno != ENOENT && !is_not_empty(errno))
			note_failure(rm, -errno);
	}
	return 0;
}

static int remove_contents(struct removal *rm, int dirfd, const char *name)
{
	for (int pass = 0; pass < REMOVE_PASSES_MAX; pass++) {
		int rc;

		rm->progress = false;
		rm->failure = 0;
		rc = remove_pass(rm);
		if (rc < 0)
			return rc;
		if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0)
			return 0;
		if (!is_not_empty(errno))
			return -errno;
		if (!rm->progress)
			return -ENOTEMPTY;
		rewinddir(rm->dirs[0]);
	}
	return -ENOTEMPTY;
}

int fd_remove_tree_at(int dirfd, const char *name)
{
	struct removal rm = {0};
	int rc;

	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0)
		return 0;
	if (!is_not_empty(errno))
		return -errno;
	rc = open_directory(dirfd, name, &rm.dirs[0]);
	if (rc < 0)
		return rc;
	rm.depth = 1;
	rc = remove_contents(&rm, dirfd, name);
	while (rm.depth > 0)
		closedir(rm.dirs[--rm.depth]);
	return rc;
}
