/*
 * One detached mount, as the plan describes it: a new file system from its options, or a clone of a
 * source with its attributes set.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/linux/mount_api.h"
#include "backends/linux/mount_make.h"
#include "backends/linux/mount_source.h"
#include "backends/linux/mount_target.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

/* ---- new file systems ---- */

static const struct {
	unsigned long flag;
	const char *key;
} super_flags[] = {
	{MS_RDONLY, "ro"},	   {MS_SYNCHRONOUS, "sync"}, {MS_DIRSYNC, "dirsync"},
	{MS_LAZYTIME, "lazytime"}, {MS_MANDLOCK, "mand"},
};

/* Report what the kernel said about the context, else the errno alone. */
static int fail_filesystem(int fs_fd, int r, const char *what, struct sbx_error *err)
{
	char message[256];

	mount_fs_message(fs_fd, message, sizeof(message));
	if (*message)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "%s: %s", what, message);
	return sbx_fail(err, SBX_E_SYSTEM, -r, "%s", what);
}

/* What the runtime has no row for went to the file system, which may not have it either. */
static int fail_option(int fs_fd, int r, const char *option, const struct plan_mount *m,
		       struct sbx_error *err)
{
	char message[256];

	mount_fs_message(fs_fd, message, sizeof(message));
	if (strstr(message, "Unknown parameter"))
		r = sbx_fail(
			err, SBX_E_SYSTEM, -r,
			"set option \"%s\": neither the runtime nor the file system %s has it: %s",
			option, m->type, message);
	else
		r = sbx_fail(err, SBX_E_SYSTEM, -r,
			     *message ? "set option \"%s\": %s" : "set option \"%s\"%s", option,
			     message);
	if (err)
		snprintf(err->pointer, sizeof(err->pointer), "/mounts/%zu/options", m->index);
	return r;
}

/* A row of mount_options.c without its key here must not pass in silence. */
static int check_super_flags(unsigned long flags, struct sbx_error *err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(super_flags); i++)
		flags &= ~super_flags[i].flag;
	return flags ? sbx_fail(err, SBX_E_INTERNAL, 0, "set superblock flag %#lx: it has no key",
				flags)
		     : 0;
}

static int set_options(int fs_fd, const struct plan_mount *m, mode_t covered, struct sbx_error *err)
{
	char option[128] = "", mode[16];
	size_t i;
	int r = check_super_flags(m->super_flags, err);

	if (r < 0)
		return r;
	if (m->source && *m->source)
		r = mount_fs_set(fs_fd, "source", m->source);
	for (i = 0; r == 0 && i < ARRAY_SIZE(super_flags); i++) {
		if (m->super_flags & super_flags[i].flag)
			r = mount_fs_set(fs_fd, super_flags[i].key, NULL);
	}
	if (r < 0)
		return fail_filesystem(fs_fd, r, "set source and flags", err);
	if (m->data) {
		r = mount_fs_set_list(fs_fd, m->data, option, sizeof(option));
		if (r < 0)
			return fail_option(fs_fd, r, option, m, err);
	}
	if (covered) {
		snprintf(mode, sizeof(mode), "%04o", covered & 07777);
		r = mount_fs_set(fs_fd, "mode", mode);
		if (r < 0)
			return fail_filesystem(fs_fd, r, "set mode", err);
	}
	if (m->label) {
		r = mount_fs_set(fs_fd, "context", m->label);
		if (r < 0)
			return fail_filesystem(fs_fd, r, "set the mount label", err);
	}
	return 0;
}

/* The host's own instance, as far as it may be shown: a user namespace that does not own what the
 * new file system would show. */
static int bind_fallback(const struct plan_mount *m, struct sbx_error *err)
{
	cleanup_fd int fd = mount_tree_clone(AT_FDCWD, m->fallback, AT_RECURSIVE);
	uint64_t attrs = m->attr_set | (strcmp(m->type, "sysfs") == 0 ? MOUNT_ATTR_RDONLY : 0);
	int r;

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "bind \"%s\" instead", m->fallback);
	r = mount_tree_set(fd, true, attrs, 0);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "bind \"%s\" instead", m->fallback);
	return take_fd(&fd);
}

int mount_make_filesystem(const struct plan_mount *m, mode_t covered, struct sbx_error *err)
{
	cleanup_fd int fs_fd = mount_fs_open(m->type);
	int fd, r;

	if (fs_fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fs_fd, "open file system type \"%s\"", m->type);
	r = set_options(fs_fd, m, covered, err);
	if (r < 0)
		return r;
	fd = mount_fs_make(fs_fd, m->attr_set | m->attr_set_recursive);
	if (fd >= 0)
		return fd;
	if (fd == -EPERM && m->fallback)
		return bind_fallback(m, err);
	if (fd == -EPERM && strcmp(m->type, "proc") == 0)
		return fail_filesystem(
			fs_fd, fd,
			"make a procfs (in a user namespace the host's /proc must be "
			"fully visible, and the pid namespace new)",
			err);
	return fail_filesystem(fs_fd, fd, "make the file system", err);
}

/* ---- binds ---- */

/* What goes from a single mount when its attributes are set: also what they replace. */
static uint64_t cleared(const struct plan_mount *m)
{
	return m->attr_clear | (MOUNT_ATTRS_REPLACED & ~m->attr_set);
}

static int set_this_mount(const struct plan_mount *m, int fd, struct sbx_error *err)
{
	int r;

	if (!(m->attr_set | m->attr_clear))
		return 0;
	r = mount_tree_set(fd, false, m->attr_set, cleared(m));
	if (r != -EPERM)
		return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "set attributes") : 0;
	/* a flag that an outer user namespace locked stays, unless its end was asked for */
	r = mount_tree_set(fd, false, m->attr_set, m->attr_clear);
	if (r == -EPERM && (m->attr_clear & ~(uint64_t)MOUNT_ATTR__ATIME))
		return sbx_fail(err, SBX_E_SYSTEM, -r, "cannot clear locked flags");
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "set attributes") : 0;
}

int mount_set_bind_attributes(const struct plan_mount *m, int fd, struct sbx_error *err)
{
	int r = set_this_mount(m, fd, err);

	if (r < 0)
		return r;
	if (m->attr_set_recursive | m->attr_clear_recursive) {
		r = mount_tree_set(fd, true, m->attr_set_recursive, m->attr_clear_recursive);
		if (r == -EPERM && (m->attr_clear_recursive & ~(uint64_t)MOUNT_ATTR__ATIME))
			return sbx_fail(err, SBX_E_SYSTEM, -r, "cannot clear locked flags");
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "set recursive attributes");
	}
	return 0;
}

/* open_tree(2) flags for m's source. */
static unsigned clone_flags(const struct plan_mount *m)
{
	return (m->recursive ? AT_RECURSIVE : 0) | (m->source_nofollow ? AT_SYMLINK_NOFOLLOW : 0);
}

/* The usual bind of one mount with attributes, in one call. */
static int clone_at_once(const struct plan_mount *m)
{
	if (m->recursive || (m->attr_set_recursive | m->attr_clear_recursive) ||
	    !(m->attr_set | m->attr_clear) || strcmp(m->destination, "/proc") == 0)
		return -EOPNOTSUPP;
	return mount_tree_clone_with(AT_FDCWD, m->source, clone_flags(m), m->attr_set, cleared(m));
}

/* By a descriptor, which is what the profile's view was decided for. */
static int clone_opened(const struct run *run, size_t i, struct sbx_error *err)
{
	const struct plan_mount *m = &run->plan->mounts.v[i];
	const struct mount_source *noted = run->mount_sources ? &run->mount_sources[i] : NULL;
	cleanup_fd int source = mount_source_open(run->rootfs_fd, m);
	int fd;

	if (source < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -source, "open source \"%s\"", m->source);
	if (noted && noted->path) {
		fd = mount_source_check(run->proc_fd, source, noted, !m->source_inside, err);
		if (fd < 0)
			return fd;
	}
	fd = mount_tree_clone_fd(source, m->recursive);
	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "clone source \"%s\"", m->source) : fd;
}

static int clone_by_path(const struct plan_mount *m, struct sbx_error *err)
{
	int fd = mount_tree_clone(AT_FDCWD, m->source, clone_flags(m));

	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "open source \"%s\"", m->source) : fd;
}

int mount_make_bind(struct run *run, size_t i, struct sbx_error *err)
{
	const struct plan_mount *m = &run->plan->mounts.v[i];
	bool opened = m->source_inside || run->mount_sources;
	cleanup_fd int fd = take_fd(&run->mount_fds[i]);
	int r;

	if (fd < 0 && !opened) {
		fd = clone_at_once(m);
		if (fd >= 0)
			return take_fd(&fd);
	}
	if (fd < 0)
		fd = opened ? clone_opened(run, i, err) : clone_by_path(m, err);
	if (fd < 0)
		return fd;
	if (strcmp(m->destination, "/proc") == 0 && !mount_is_procfs_root(fd))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"source \"%s\" is not the root of a procfs", m->source);
	r = mount_set_bind_attributes(m, fd, err);
	return r < 0 ? r : take_fd(&fd);
}
