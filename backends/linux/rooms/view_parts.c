/*
 * Parts of the container's tree: a folder of the source tree under its own name, with the mounts
 * that belong below it, each brought alone.
 *
 * One recursive clone would be less work. But other programs may rename folders meanwhile (a
 * container that shares a volume or the image), and a folder that is carried into a root takes what
 * is mounted in it along; one that is carried out of it and back is in the kernel's clone and in no
 * mount table between. So the clone is of the folder's own file system, and a mount comes only if
 * the table that was checked shows it below the name; it is found again by its number.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "backends/linux/mount_api.h"
#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/path.h"

int view_new_tmpfs(struct view_build *b, const char *source, const char *options, uint64_t attrs)
{
	cleanup_fd int fd = mount_new_filesystem("tmpfs", source, options, attrs);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (b->devices_n == b->devices_max)
		return -ENOSPC;
	b->devices[b->devices_n++] = st.st_dev;
	return take_fd(&fd);
}

static bool is_own_device(const struct view_build *b, dev_t device)
{
	size_t i;

	for (i = 0; i < b->devices_n; i++) {
		if (b->devices[i] == device)
			return true;
	}
	return false;
}

/* A null device is what covers a file. */
static bool is_null_device(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* The table of the bundle's finished tree had this below place. */
static bool was_below(const struct view_build *b, const char *place, const struct mount_line *line)
{
	size_t i;

	for (i = 0; i < b->checked.n; i++) {
		const struct mount_line *was = &b->checked.lines[i];
		const char *inside = view_path_inside(b, was->point);

		if (inside && path_is_below(inside, place) && was->device == line->device &&
		    path_is_below(line->root, was->root))
			return true;
	}
	return false;
}

/* It shows what the part may show: what was below, what the part shows itself, or nothing. */
static bool belongs(const struct view_build *b, const struct view_part *part,
		    const struct mount_line *line, int fd)
{
	return is_own_device(b, line->device) ||
	       (part->shows.line && part->shows.line->device == line->device &&
		path_is_below(line->root, part->shows.folder)) ||
	       was_below(b, part->place, line) || is_null_device(fd);
}

/* A writable part is filled after the sweep: what the bundle or we had closed stays so. */
static int set_attributes(const struct view_build *b, const struct view_part *part,
			  const struct mount_line *line, int fd)
{
	bool ours = !mount_line_by_id(&b->checked, line->id);
	bool closed = line->read_only || !view_holds_files(line) || (ours && part->narrow);
	struct mount_attr attr = {.propagation = MS_PRIVATE};

	if (part->writable) {
		attr.attr_set = MOUNT_ATTR_NODEV | (closed ? MOUNT_ATTR_RDONLY : 0);
		attr.attr_clr = closed ? 0 : MOUNT_ATTR_RDONLY;
	}
	return sys_mount_setattr(fd, "", AT_EMPTY_PATH, &attr);
}

static int bring(struct view_build *b, const struct view_part *part, const struct mount_line *line,
		 const char *inside, int target_fd, struct sbx_error *err)
{
	const char *rest = inside + (strcmp(part->place, "/") == 0 ? 0 : strlen(part->place));
	cleanup_fd int fd = path_open_in_root_nofollow(part->fd, rest, O_PATH);
	cleanup_fd int clone = -EBADF, target = -EBADF;
	int r;

	if (fd < 0 || view_line_of(b, fd) != line)
		return view_is_covered(b, part->fd, line, rest) ? 0
								: view_fail_moved(line->point, err);
	if (!part->is_root && view_is_hidden_bind(b, fd, inside)) {
		view_mounts_forget(b, fd);
		return 0;
	}
	if (!belongs(b, part, line, fd))
		return view_fail_moved(line->point, err);
	clone = mount_tree_clone_fd(fd, false);
	r = clone < 0 ? clone : set_attributes(b, part, line, clone);
	if (r == 0)
		r = target = path_open_in_root_nofollow(target_fd, rest, O_PATH);
	if (r >= 0)
		r = mount_tree_attach(clone, target);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "bring along \"%s\"", line->point) : 0;
}

int view_part_fill(struct view_build *b, const struct view_part *part, int target_fd,
		   struct sbx_error *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < b->table.n; i++) {
		const struct mount_line *line = &b->table.lines[i];
		const char *inside = view_path_inside(b, line->point);

		if (inside && path_is_below(inside, part->place) &&
		    strcmp(inside, part->place) != 0)
			r = bring(b, part, line, inside, target_fd, err);
	}
	return r;
}
