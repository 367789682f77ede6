/*
 * Carve-outs: what the profile closes inside of what it opens.
 *
 * Landlock gives rights below a folder and cannot take them back, so these are mounts alone: over
 * what may not be read lies an empty folder or the null device, over what may not be written a
 * read-only view of itself. A mount point cannot be renamed, but the folder above it can, and takes
 * the mount along; so each folder between the root and the carve-out is bound on itself as well.
 *
 * A mount covers a name, not an object. Another name of the same object that the profile leaves
 * wider refuses the container: another mount of its file system, and for a single file a second
 * link, which could only be found by reading the whole tree. (Files in a closed folder are not
 * counted: the cost would grow with them. The manual says so.)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backends/linux/closure.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

/* Of a place that the rule holds for; NULL: the host, of which a closure stays in view. */
static struct view_bounds bounds_of(const struct policy *policy, const struct path_rule *rule,
				    const char *place)
{
	return rule ? (struct view_bounds){rule->read, rule->write}
		    : (struct view_bounds){policy->host_read || closure_holds(place),
					   policy->host_write};
}

/* What of a place that has these bounds the rule closes. */
static struct view_bounds narrowed(struct view_bounds outer, const struct path_rule *rule)
{
	return (struct view_bounds){outer.read && !rule->read, outer.write && !rule->write};
}

/* ---- second names ---- */

/*
 * Where a mount shows the object, or the part of it that the mount has: a path inside the
 * container, in the arena. NULL: nowhere, or no memory (*failed).
 */
static const char *place_in(const struct view_build *b, const struct mount_line *line,
			    const struct view_shown *object, bool *failed)
{
	const char *inside = view_path_inside(b, line->point);
	const char *rest, *place;

	if (!inside || line->device != object->line->device)
		return NULL;
	if (path_is_below(line->root, object->folder))
		return inside;
	if (!path_is_below(object->folder, line->root))
		return NULL;
	rest = object->folder + (strcmp(line->root, "/") == 0 ? 0 : strlen(line->root));
	if (!*rest)
		return inside;
	place = arena_printf(b->plan->arena, "%s%s", strcmp(inside, "/") == 0 ? "" : inside, rest);
	*failed |= !place;
	return place;
}

/* The mount at the place is this one, so it can be reached by that name. */
static bool is_reached(const struct view_build *b, const struct mount_line *line, const char *place,
		       bool *ret_read_only)
{
	cleanup_fd int fd = view_open(b->source_fd, place);
	struct statvfs fs;

	if (fd < 0 || view_line_of(b, fd) != line || fstatvfs(fd, &fs) < 0)
		return false;
	*ret_read_only = fs.f_flag & ST_RDONLY;
	return true;
}

/* The place shows what has that name in the object anyway: itself, or a part of it in its place. */
static bool is_own_place(const struct path_rule *rule, const struct view_shown *object,
			 const struct mount_line *line, const char *place)
{
	size_t folder = strcmp(object->folder, "/") == 0 ? 0 : strlen(object->folder);

	if (strcmp(place, rule->path) == 0)
		return true;
	return path_is_below(place, rule->path) && path_is_below(line->root, object->folder) &&
	       strcmp(line->root + folder, place + strlen(rule->path)) == 0;
}

static int check_second_mount(const struct view_build *b, size_t n, const struct mount_line *line,
			      struct sbx_error *err)
{
	const struct policy *policy = b->plan->policy;
	const struct path_rule *rule = &policy->paths[n];
	struct view_bounds closed;
	bool failed = false, read_only = false;
	const char *place = place_in(b, line, &b->roots[n].shows, &failed);

	if (failed)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "look for second names");
	if (!place || is_own_place(rule, &b->roots[n].shows, line, place))
		return 0;
	closed = narrowed(bounds_of(policy, policy_rule_of(policy, place), place), rule);
	if ((!closed.read && !closed.write) || !is_reached(b, line, place, &read_only) ||
	    (!closed.read && read_only))
		return 0;
	return sbx_fail_at(
		err, SBX_E_UNSAFE_PATH, rule->path_pointer,
		"close \"%s\": \"%s\" is a second name of it, or of a part of it, in the "
		"container, with wider bounds",
		rule->path, place);
}

static int check_names(const struct view_build *b, size_t n, struct sbx_error *err)
{
	const struct path_rule *rule = &b->plan->policy->paths[n];
	struct stat st;
	int r = 0;

	if (fstat(b->roots[n].fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "look at root \"%s\"", rule->path);
	if (!S_ISDIR(st.st_mode) && st.st_nlink != 1)
		return sbx_fail_at(err, SBX_E_UNSAFE_PATH, rule->path_pointer,
				   "close \"%s\": the file has %lu links, and its other names "
				   "cannot be found",
				   rule->path, (unsigned long)st.st_nlink);
	for (size_t i = 0; r == 0 && i < b->table.n; i++)
		r = check_second_mount(b, n, &b->table.lines[i], err);
	return r;
}

/* ---- the mounts ---- */

/* The object that was checked, and no other that stands at its name by now. */
static int open_object(const struct view_build *b, size_t n)
{
	cleanup_fd int fd = view_open(b->source_fd, b->plan->policy->paths[n].path);
	struct stat was, is;

	if (fd < 0)
		return fd;
	if (fstat(b->roots[n].fd, &was) < 0 || fstat(fd, &is) < 0)
		return -errno;
	return was.st_dev == is.st_dev && was.st_ino == is.st_ino ? take_fd(&fd) : -ESTALE;
}

static int cover_read_only(int target)
{
	cleanup_fd int clone = mount_tree_clone_fd(target, true);
	int r;

	if (clone < 0)
		return clone;
	r = mount_tree_set(clone, true, MOUNT_ATTR_RDONLY, 0);
	return r < 0 ? r : mount_tree_attach(clone, target);
}

static int carve(struct view_build *b, size_t n, bool hide, struct sbx_error *err)
{
	const char *path = b->plan->policy->paths[n].path;
	cleanup_fd int target = -EBADF;
	int r = view_pin_parents(b, path);

	if (r >= 0)
		r = target = open_object(b, n);
	if (r == -ESTALE || view_is_absent(r))
		return view_fail_moved(path, err);
	b->covered = true;
	if (r >= 0)
		r = hide ? view_close_root(b, target, path) : cover_read_only(target);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "close \"%s\"", path) : 0;
}

struct view_bounds view_carve_closes(const struct policy *policy, size_t n)
{
	const struct path_rule *rule = &policy->paths[n];

	return narrowed(bounds_of(policy, policy_enclosing(policy, n), rule->path), rule);
}

int view_carve_check(const struct view_build *b, struct sbx_error *err)
{
	const struct policy *policy = b->plan->policy;
	int r = 0;

	for (size_t i = 0; r == 0 && i < policy->paths_n; i++) {
		struct view_bounds closed = view_carve_closes(policy, i);

		if (closed.read || closed.write)
			r = check_names(b, i, err);
	}
	return r;
}

int view_carve(struct view_build *b, struct sbx_error *err)
{
	const struct policy *policy = b->plan->policy;
	int r = 0;

	for (size_t i = 0; r == 0 && i < policy->paths_n; i++) {
		struct view_bounds closed = view_carve_closes(policy, i);

		if (closed.read || closed.write)
			r = carve(b, i, closed.read, err);
	}
	return r;
}

/* ---- again ---- */

/* The mount that closes it is there. */
static bool stands(int fd, bool hidden)
{
	struct statvfs fs;
	struct statx stx;

	return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &stx) == 0 &&
	       (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) &&
	       (hidden || (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY)));
}

bool view_carve_stands(const struct plan *plan, int root_fd, size_t n)
{
	cleanup_fd int fd = view_open(root_fd, plan->policy->paths[n].path);

	return fd >= 0 && stands(fd, view_carve_closes(plan->policy, n).read);
}

int view_carve_again(const struct plan *plan, int root_fd, size_t n)
{
	const struct view_build b = {.plan = plan, .source_fd = root_fd};
	const char *path = plan->policy->paths[n].path;
	bool hidden = view_carve_closes(plan->policy, n).read;
	cleanup_fd int target = view_open(root_fd, path), pinned = -EBADF;
	struct stat st;
	int r;

	if (target < 0 || stands(target, hidden))
		return target < 0 ? target : 0;
	if (hidden)
		return -ENOTSUP;
	r = view_pin_parents(&b, path);
	if (r < 0)
		return r;
	/* on the mounts that were made just now */
	pinned = view_open(root_fd, path);
	if (pinned < 0 || fstat(pinned, &st) < 0)
		return pinned < 0 ? pinned : -errno;
	if (!S_ISDIR(st.st_mode) && st.st_nlink != 1)
		return st.st_nlink ? -EMLINK : -ENOENT; /* replaced once more */
	r = cover_read_only(pinned);
	return r < 0 ? r : 1;
}
