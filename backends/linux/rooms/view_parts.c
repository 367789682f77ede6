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

#include "backends/linux/device_nodes.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
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

/* It shows what the part may show: what was below, what the part shows itself, or nothing (a null
 * device is what covers a file). */
static bool belongs(const struct view_build *b, const struct view_part *part,
		    const struct mount_line *line, int fd)
{
	return is_own_device(b, line->device) ||
	       (part->shows.line && part->shows.line->device == line->device &&
		path_is_below(line->root, part->shows.folder)) ||
	       was_below(b, part->place, line) || device_is_null(fd);
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

int view_part_clone(const struct view_build *b, struct view_part *part, struct sbx_error *err)
{
	int fd = mount_tree_clone_fd(part->fd, false);

	part->recursive = fd == -EINVAL;
	if (part->recursive)
		fd = mount_tree_clone_fd(part->fd, true);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "clone \"%s\"", part->place);
	if (!part->is_root)
		view_shown_by(b, part->fd, part->place, &part->shows);
	return fd;
}

/* A mount that the clone has already: to be hidden, or with the attributes that are due. */
static int settle(struct view_build *b, const struct view_part *part, const struct mount_line *line,
		  int fd, int there, bool hidden)
{
	if (!view_is_mount_of(there, fd))
		return -ESTALE;
	return hidden ? view_hide(b, there) : set_attributes(b, part, line, there);
}

static int bring(struct view_build *b, const struct view_part *part, const struct mount_line *line,
		 const char *inside, int target_fd, struct sbx_error *err)
{
	const char *rest = inside + (strcmp(part->place, "/") == 0 ? 0 : strlen(part->place));
	cleanup_fd int fd = view_open(part->fd, rest), clone = -EBADF, target = -EBADF;
	bool hidden;
	int r;

	if (fd < 0 || view_line_of(b, fd) != line)
		return view_is_covered(b, part->fd, line, rest) ? 0
								: view_fail_moved(line->point, err);
	hidden = !part->is_root && view_is_hidden_bind(b, fd, inside);
	if (hidden)
		view_mounts_forget(b, fd);
	else if (!belongs(b, part, line, fd))
		return view_fail_moved(line->point, err);
	if (hidden && !part->recursive)
		return 0;
	r = target = view_open(target_fd, rest);
	if (r >= 0 && part->recursive) {
		r = settle(b, part, line, fd, target, hidden);
	} else if (r >= 0) {
		r = clone = mount_tree_clone_fd(fd, false);
		if (r >= 0)
			r = set_attributes(b, part, line, clone);
		if (r >= 0)
			r = mount_tree_attach(clone, target);
	}
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "bring along \"%s\"", line->point) : 0;
}

/* What came along with a recursive clone belongs there as well. */
static int check_recursive(struct view_build *b, const struct view_part *part, int target_fd,
			   struct sbx_error *err)
{
	struct mount_table now;
	uint64_t top;
	size_t i;
	int r = fd_mount_id(target_fd, &top);

	if (r == 0)
		r = mount_table_load(b->run->proc_fd, b->plan->arena, &now);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "read the mount table");
	for (i = 0; i < now.n; i++) {
		const struct mount_line *line = &now.lines[i];
		const char *inside = view_path_inside(b, line->point);
		cleanup_fd int fd = -EBADF;

		if (line->id == top || !mount_line_is_on(&now, line, top))
			continue;
		fd = inside ? view_open(b->root_fd, inside) : -ENOENT;
		if (!belongs(b, part, line, fd))
			return view_fail_moved(line->point, err);
	}
	return 0;
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
	return r == 0 && part->recursive ? check_recursive(b, part, target_fd, err) : r;
}
