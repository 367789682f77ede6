/*
 * The link is read back only from the store, which is its owner's alone; even so only a name of our
 * own making, in a folder that no link leads to, is removed.
 */
#include "runtime/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/path.h"
#include "runtime/trusted_file.h"

#define LINK_NAME   "scratch"
#define NAME_PREFIX "sbx-"
#define NAME_DIGITS 16
#define INNER	    "tmp"

static int open_root(const char *root, struct sbx_error *err)
{
	struct caller_identity caller;
	int fd;

	caller_identify(&caller);
	fd = trusted_folder_open(root, TRUST_ADMIN, &caller, err);
	if (fd == -ENOENT)
		return sbx_fail(err, SBX_E_INVALID_SETTINGS, ENOENT,
				"open the settings' scratchRoot \"%s\"", root);
	return fd < 0 ? sbx_prefix(err, "the settings' scratchRoot") : fd;
}

static int make_folders(int root_fd, const char *name)
{
	cleanup_fd int fd = -EBADF;

	if (mkdirat(root_fd, name, 0700) < 0)
		return -errno;
	fd = openat(root_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || mkdirat(fd, INNER, 0700) < 0 || fchmodat(fd, INNER, 01777, 0) < 0)
		return -errno;
	return 0;
}

int scratch_make(struct container *c, struct sbx_error *err)
{
	const char *root = c->plan->view.scratch_root;
	cleanup_fd int root_fd = open_root(root, err);
	char name[sizeof(NAME_PREFIX) + NAME_DIGITS], path[PATH_MAX];
	uint64_t number;
	int n, rc;

	if (root_fd < 0)
		return root_fd;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return sbx_fail(err, SBX_E_SYSTEM, errno, "name the scratch folder");
	snprintf(name, sizeof(name), NAME_PREFIX "%016llx", (unsigned long long)number);
	n = snprintf(path, sizeof(path), "%s/%s", root, name);
	if (n < 0 || (size_t)n + sizeof("/" INNER) > sizeof(path))
		return sbx_fail(err, SBX_E_SYSTEM, ENAMETOOLONG, "name the scratch folder");
	if (symlinkat(path, c->dir_fd, LINK_NAME) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "note the scratch folder");
	rc = make_folders(root_fd, name);
	if (rc == -EEXIST) /* whose it may be */
		unlinkat(c->dir_fd, LINK_NAME, 0);
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "make the scratch folder \"%s\"", path);
	c->run.scratch_path = arena_printf(&c->arena, "%s/" INNER, path);
	return c->run.scratch_path
		       ? 0
		       : sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "name the scratch folder");
}

static bool is_own_name(const char *name)
{
	return strlen(name) == sizeof(NAME_PREFIX) - 1 + NAME_DIGITS &&
	       strncmp(name, NAME_PREFIX, sizeof(NAME_PREFIX) - 1) == 0 &&
	       strspn(name + sizeof(NAME_PREFIX) - 1, "0123456789abcdef") == NAME_DIGITS;
}

int scratch_remove(int container_fd, struct sbx_error *err)
{
	cleanup_fd int root_fd = -EBADF;
	char path[PATH_MAX], *name;
	ssize_t n = readlinkat(container_fd, LINK_NAME, path, sizeof(path) - 1);
	int rc;

	if (n < 0)
		return 0;
	path[n] = '\0';
	name = strrchr(path, '/');
	if (!path_is_canonical(path) || !name || name == path || !is_own_name(name + 1))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"remove the scratch folder: \"%s\" is none of this program's",
				path);
	*name++ = '\0';
	root_fd = path_open_no_symlinks(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	if (root_fd == -ENOENT)
		return 0;
	rc = root_fd < 0 ? root_fd : fd_remove_tree_at(root_fd, name);
	if (rc < 0 && rc != -ENOENT)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "remove the scratch folder \"%s/%s\"", path,
				name);
	return 0;
}
