#include "backends/linux/mount_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "runtime/base/path.h"

int mount_source_open(int root_fd, const struct plan_mount *m)
{
	int flags = O_PATH | (m->source_nofollow ? O_NOFOLLOW : 0);

	if (!m->source_inside)
		return mount_source_open_path(m->source, m->source_nofollow);
	return path_open_in_root(root_fd, *m->source_inside ? m->source_inside : "/", flags, 0);
}

int mount_source_open_path(const char *path, bool nofollow)
{
	return sys_open_tree(AT_FDCWD, path,
			     OPEN_TREE_CLOEXEC | (nofollow ? AT_SYMLINK_NOFOLLOW : 0));
}

int mount_source_note(struct arena *arena, int proc_fd, int fd, struct mount_source *out,
		      struct sbx_error *err)
{
	char path[PATH_MAX];
	int r = fd_path(proc_fd, fd, path, sizeof(path));

	if (r == 0 && fstat(fd, &out->st) < 0)
		r = -errno;
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "look at the source");
	if (path[0] != '/')
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
				"the source is \"%s\", which no path leads to: under a profile it "
				"cannot be mounted",
				path);
	out->path = arena_strdup(arena, path);
	return out->path ? 0 : sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "look at the source");
}

int mount_source_check(int proc_fd, int fd, const struct mount_source *noted, bool by_name,
		       struct sbx_error *err)
{
	char path[PATH_MAX];
	struct stat st;
	int r = by_name ? fd_path(proc_fd, fd, path, sizeof(path)) : 0;

	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "look at the source again");
	if (st.st_dev != noted->st.st_dev || st.st_ino != noted->st.st_ino ||
	    (by_name && strcmp(path, noted->path) != 0))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"the source is no longer \"%s\", which it was when the profile's "
				"view was decided",
				noted->path);
	return 0;
}
