/*
 * A walk from "/" by descriptors. Each step opens one component without following a link and judges
 * what fstat(2) says about the open object, so that a rename between check and use changes nothing.
 * For the administrator's files faccessat2(2) is asked as well: mode bits do not show ACLs.
 */
#include "runtime/trusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/num.h"
#include "runtime/base/path.h"

#define OVERFLOW_UID_DEFAULT 65534
#define MAP_BYTES_MAX	     65536

struct walk {
	const char *path;
	enum file_trust trust;
	const struct caller_identity *caller;
	struct sbx_error *err;
	bool folder; /* it is what path names, not a file */
};

/* ---- who calls ---- */

static uid_t overflow_uid(void)
{
	cleanup_buf struct buf text = BUF_INIT;
	uint64_t value;

	if (fd_read_file_at(AT_FDCWD, "/proc/sys/fs/overflowuid", 64, &text) < 0 || text.len == 0)
		return OVERFLOW_UID_DEFAULT;
	text.data[strcspn(text.data, "\n")] = '\0';
	return num_parse_u64(text.data, 0, UINT32_MAX, &value) < 0 ? OVERFLOW_UID_DEFAULT
								   : (uid_t)value;
}

static void read_map(char *text, struct caller_identity *ret)
{
	bool root_mapped = false, initial = false;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long inside, outside, count;

		/* The kernel wrote it. NOLINTNEXTLINE(cert-err34-c) */
		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &count) != 3)
			continue;
		if (inside == 0 && outside == 0 && count == UINT32_MAX)
			initial = true;
		if (outside == 0 && count > 0) {
			root_mapped = true;
			ret->machine_root = (uid_t)inside;
		}
		if (ret->euid >= inside && ret->euid - inside < count)
			ret->outer_uid = (uid_t)(outside + (ret->euid - inside));
	}
	ret->initial_userns = initial;
	if (!root_mapped)
		ret->machine_root = overflow_uid();
}

void caller_identify(struct caller_identity *ret)
{
	cleanup_buf struct buf map = BUF_INIT;

	*ret = (struct caller_identity){.initial_userns = true,
					.machine_root = 0,
					.euid = geteuid(),
					.outer_uid = geteuid()};
	if (fd_read_file_at(AT_FDCWD, "/proc/self/uid_map", MAP_BYTES_MAX, &map) == 0 && map.len)
		read_map(map.data, ret);
}

/* ---- the walk ---- */

static int unsafe(const struct walk *w, const char *what, size_t len)
{
	return sbx_fail(w->err, SBX_E_UNSAFE_PATH, 0, "trust \"%s\": \"%.*s\" %s", w->path,
			len ? (int)len : 1, w->path, what);
}

/* True where the caller could change the object although its owner and mode look right. */
static bool caller_writes(const struct walk *w, int fd)
{
	if (w->trust != TRUST_ADMIN || w->caller->euid == 0)
		return false;
	return faccessat(fd, "", W_OK, AT_EACCESS | AT_EMPTY_PATH) == 0;
}

/* len: of the part of the path that fd stands for. */
static int check_object(const struct walk *w, int fd, bool last, size_t len)
{
	struct stat st;

	last = last && !w->folder;
	if (fstat(fd, &st) < 0)
		return sbx_fail(w->err, SBX_E_UNSAFE_PATH, errno, "look at \"%s\"", w->path);
	if (S_ISLNK(st.st_mode))
		return unsafe(w, "is a symbolic link", len);
	if (last ? !S_ISREG(st.st_mode) : !S_ISDIR(st.st_mode))
		return unsafe(w, last ? "is no regular file" : "is no directory", len);
	if (last && st.st_nlink != 1)
		return unsafe(w, "has more than one link", len);
	if (st.st_uid != w->caller->machine_root &&
	    (w->trust == TRUST_ADMIN || st.st_uid != w->caller->euid))
		return unsafe(w,
			      w->trust == TRUST_ADMIN ? "is not owned by root"
						      : "is owned by neither root nor the caller",
			      len);
	if (st.st_mode & 022)
		return unsafe(w, "is writable by group or others", len);
	if (caller_writes(w, fd))
		return unsafe(w, "is writable by the caller", len);
	return 0;
}

static int open_component(const struct walk *w, int dir_fd, const char *name, bool last, size_t len)
{
	int flags = last && !w->folder ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH;
	int fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || errno == ENOENT)
		return fd < 0 ? -ENOENT : fd;
	if (errno == ELOOP)
		return unsafe(w, "is a symbolic link", len);
	return sbx_fail(w->err, SBX_E_UNSAFE_PATH, errno, "open \"%s\"", w->path);
}

/* Returns the open file. */
static int walk_path(const struct walk *w)
{
	cleanup_fd int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *name = w->path + 1;
	int r;

	if (fd < 0)
		return sbx_fail(w->err, SBX_E_UNSAFE_PATH, errno, "open \"/\"");
	r = check_object(w, fd, false, 1);
	while (r == 0) {
		char component[NAME_MAX + 1];
		size_t len = strcspn(name, "/");
		bool last = name[len] == '\0';
		int next;

		if (len == 0 || len > NAME_MAX)
			return -ENOENT;
		memcpy(component, name, len);
		component[len] = '\0';
		next = open_component(w, fd, component, last, (size_t)(name + len - w->path));
		if (next < 0)
			return next;
		close(fd);
		fd = next;
		r = check_object(w, fd, last, (size_t)(name + len - w->path));
		if (r == 0 && last)
			return take_fd(&fd);
		name += len + 1;
	}
	return r;
}

static int absolute_path(const char *path, char *out, size_t size)
{
	char joined[2 * PATH_MAX], cwd[PATH_MAX];

	if (path[0] == '/')
		return path_normalize(path, out, size);
	if (!getcwd(cwd, sizeof(cwd)))
		return -errno;
	if (snprintf(joined, sizeof(joined), "%s/%s", cwd, path) >= (int)sizeof(joined))
		return -ENAMETOOLONG;
	return path_normalize(joined, out, size);
}

int trusted_file_read(const char *path, enum file_trust trust, const struct caller_identity *caller,
		      size_t max, struct buf *out, struct sbx_error *err)
{
	char absolute[PATH_MAX];
	struct walk w = {.path = absolute, .trust = trust, .caller = caller, .err = err};
	cleanup_fd int fd = -EBADF;
	int r = absolute_path(path, absolute, sizeof(absolute));

	if (r < 0)
		return sbx_fail(err, SBX_E_UNSAFE_PATH, -r, "find \"%s\"", path);
	fd = walk_path(&w);
	if (fd < 0)
		return fd;
	r = fd_read_all(fd, max, out);
	if (r == -EFBIG)
		return sbx_fail(err, SBX_E_UNSAFE_PATH, EFBIG, "read \"%s\": more than %zu bytes",
				absolute, max);
	return r < 0 ? sbx_fail(err, SBX_E_UNSAFE_PATH, -r, "read \"%s\"", absolute) : 0;
}

int trusted_folder_open(const char *path, enum file_trust trust,
			const struct caller_identity *caller, struct sbx_error *err)
{
	struct walk w = {
		.path = path, .trust = trust, .caller = caller, .err = err, .folder = true};

	return walk_path(&w);
}
