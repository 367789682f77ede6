/*
 * One hierarchy's control files: opened by the path of the group, read and written in one call.
 *
 * cgroupfs holds no symbolic links and nobody but its owner makes directories there, so the path
 * "MOUNT/GROUP/FILE" means the same to everyone; O_NOFOLLOW stays on as a second lock. A value is
 * one write(2): the kernel parses each write as a whole command.
 */
#include "backends/linux/cgroup/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"

const struct cgroup_hierarchy *cgroup_find_v1(const struct cgroup *cg, const char *controller)
{
	for (size_t i = 0; i < cg->n; i++)
		if (!cg->v[i].unified && cgroup_list_has(cg->v[i].controllers, controller))
			return &cg->v[i];
	return NULL;
}

const struct cgroup_hierarchy *cgroup_find_unified(const struct cgroup *cg)
{
	for (size_t i = 0; i < cg->n; i++)
		if (cg->v[i].unified)
			return &cg->v[i];
	return NULL;
}

int cgroup_file_path(const struct cgroup_hierarchy *h, const char *file,
		     char out[CGROUP_FULL_PATH_MAX])
{
	int n = snprintf(out, CGROUP_FULL_PATH_MAX, "%s%s%s%s", h->mount, h->path, *file ? "/" : "",
			 file);

	return n < 0 || n >= CGROUP_FULL_PATH_MAX ? -ENAMETOOLONG : 0;
}

int cgroup_open_file(const struct cgroup_hierarchy *h, const char *file, int flags)
{
	char path[CGROUP_FULL_PATH_MAX];
	int fd, r = cgroup_file_path(h, file, path);

	if (r < 0)
		return r;
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int cgroup_open_dir(const struct cgroup_hierarchy *h)
{
	return cgroup_open_file(h, "", O_RDONLY | O_DIRECTORY);
}

static int write_value(int fd, const char *value)
{
	size_t len = strlen(value);
	ssize_t n;

	do
		n = write(fd, value, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int cgroup_write_file(const struct cgroup_hierarchy *h, const char *file, const char *value)
{
	cleanup_fd int fd = cgroup_open_file(h, file, O_WRONLY);

	return fd < 0 ? fd : write_value(fd, value);
}

int cgroup_write_file_at(int dirfd, const char *file, const char *value)
{
	cleanup_fd int fd = openat(dirfd, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : write_value(fd, value);
}

static ssize_t read_value(int fd, char *out, size_t size)
{
	size_t len = 0;

	while (len < size - 1) {
		ssize_t n = read(fd, out + len, size - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (len > 0 && out[len - 1] == '\n')
		len--;
	out[len] = '\0';
	return (ssize_t)len;
}

ssize_t cgroup_read_file(const struct cgroup_hierarchy *h, const char *file, char *out, size_t size)
{
	cleanup_fd int fd = cgroup_open_file(h, file, O_RDONLY);

	return fd < 0 ? fd : read_value(fd, out, size);
}

ssize_t cgroup_read_file_at(int dirfd, const char *file, char *out, size_t size)
{
	cleanup_fd int fd = openat(dirfd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : read_value(fd, out, size);
}

const char *cgroup_hierarchy_name(const struct cgroup_hierarchy *h)
{
	return h->unified ? "cgroup2" : h->controllers;
}

int cgroup_fail_none(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
			"%s of a container that has no cgroup (make it without --cgroup-manager "
			"disabled; an ordinary user needs a group that is delegated before, by a "
			"unit of systemd with Delegate=yes or by --systemd-cgroup)",
			what);
}

int cgroup_fail(struct sbx_error *err, const struct cgroup_hierarchy *h, int errnum,
		const char *what)
{
	const char *help = "";
	enum sbx_code code = SBX_E_SYSTEM;

	switch (errnum) {
	case EROFS:
		help = " (cgroups are mounted read-only here: mount them writable, or give "
		       "--cgroup-manager=disabled)";
		code = SBX_E_PERMISSION_DENIED;
		break;
	case EACCES:
	case EPERM:
		help = " (the group is not delegated to this user: delegate it, or give "
		       "--cgroup-manager=disabled)";
		code = SBX_E_PERMISSION_DENIED;
		break;
	case EOPNOTSUPP:
		help = " (it lies below a threaded group: give another linux.cgroupsPath)";
		break;
	case EBUSY:
		help = " (it is in use)";
		break;
	default:
		break;
	}
	return sbx_fail(err, code, errnum, "%s \"%s\" of %s below \"%s\"%s", what, h->path,
			cgroup_hierarchy_name(h), h->mount, help);
}
