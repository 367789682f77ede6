/*
 * The roots of the profile: opened once, checked, cloned by that descriptor.
 *
 * What a root shows is asked from the mount table, as a folder of a file system: two names of one
 * folder are found so, whatever links and binds lead there.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backends/linux/mount_api.h"
#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/path.h"

/* ---- what a place shows ---- */

int view_shown_by(const struct view_build *b, int fd, const char *path, struct view_shown *ret)
{
	const struct mount_line *line = view_line_of(b, fd);
	const char *point = line ? view_path_inside(b, line->point) : NULL;
	const char *rest;

	*ret = (struct view_shown){NULL, NULL};
	if (!point || !path_is_below(path, point))
		return -ENOENT;
	rest = strcmp(point, "/") == 0 && path[1] ? path : path + strlen(point);
	ret->folder = arena_printf(b->plan->arena, "%s%s",
				   strcmp(line->root, "/") == 0 && *rest ? "" : line->root, rest);
	if (!ret->folder)
		return -ENOMEM;
	ret->line = line;
	return 0;
}

/* One of the two holds the other. */
static bool overlap(const struct view_shown *a, const struct view_shown *b)
{
	return a->line->device == b->line->device &&
	       (path_is_below(a->folder, b->folder) || path_is_below(b->folder, a->folder));
}

/* ---- second names ---- */

/*
 * Does the way into a root show an object that has its place elsewhere, under other bounds? own is
 * the root's own folder, NULL where the way is that itself: what it holds may be mounted in it a
 * second time. In the host's own root every folder has its place, so there only the whole of it is
 * a second name.
 */
static bool is_second_name(const struct view_build *b, const struct view_shown *way,
			   const struct view_shown *own, const struct view_shown *object,
			   bool is_root)
{
	if (!overlap(way, object) || (is_root && way->line == object->line))
		return false;
	if (is_root && path_is_below(object->folder, way->folder))
		return true;
	if (own && own->line->device == way->line->device &&
	    path_is_below(way->folder, own->folder))
		return is_root && !b->plan->view.host_is_root;
	return !is_root || own || !b->plan->view.host_is_root;
}

/* A mount that comes along below the root of the rule, and can be reached and written. */
static bool way_below(const struct view_build *b, const struct path_rule *rule,
		      const struct mount_line *line, struct view_shown *ret)
{
	const char *inside = view_path_inside(b, line->point);
	cleanup_fd int fd = -EBADF;
	struct statvfs fs;

	if (!inside || strcmp(inside, rule->path) == 0 || !path_is_below(inside, rule->path))
		return false;
	fd = path_open_in_root_nofollow(b->source_fd, inside, O_PATH);
	if (fd < 0 || view_line_of(b, fd) != line || fstatvfs(fd, &fs) < 0)
		return false;
	*ret = (struct view_shown){line, line->root};
	return !(fs.f_flag & ST_RDONLY);
}

/* No way into the root of the rule may show the object. */
static int check_object(const struct view_build *b, const struct path_rule *rule,
			const struct view_shown *own, const struct view_shown *object,
			const char *name, struct sbx_error *err)
{
	const char *place = rule->path;
	bool is_root = strcmp(name, "/") == 0, found;
	struct view_shown way;
	size_t i;

	found = is_second_name(b, own, NULL, object, is_root);
	for (i = 0; !found && i < b->table.n; i++) {
		if (b->table.lines[i].device != object->line->device ||
		    !way_below(b, rule, &b->table.lines[i], &way))
			continue;
		place = view_path_inside(b, b->table.lines[i].point);
		found = is_second_name(b, &way, own, object, is_root);
	}
	if (!found)
		return 0;
	return sbx_fail_at(err, SBX_E_UNSAFE_PATH, rule->path_pointer,
			   "open \"%s\": \"%s\" is a second name of \"%s\" in the container, or "
			   "of a part of it, which has other bounds",
			   rule->path, place, name);
}

/* What the profile keeps closed could be reached by a wider root that shows the same folder: the
 * container's root itself, and the narrower roots. Roots in one another are the policy's matter. */
static int check_second_names(const struct view_build *b, size_t n, struct sbx_error *err)
{
	const struct policy *policy = b->plan->policy;
	const struct path_rule *rule = &policy->paths[n];
	const struct view_shown *own = &b->roots[n].shows;
	struct view_shown object;
	size_t i;
	int r = 0;

	if (rule->write && view_shown_by(b, b->source_fd, "/", &object) == 0)
		r = check_object(b, rule, own, &object, "/", err);
	for (i = 0; r == 0 && i < policy->paths_n; i++) {
		const struct path_rule *other = &policy->paths[i];

		/* what lies in this root is carved out of it (view_carve.c) */
		if (!((rule->write && !other->write) || (rule->read && !other->read)) ||
		    path_is_below(rule->path, other->path) ||
		    path_is_below(other->path, rule->path))
			continue;
		r = check_object(b, rule, own, &b->roots[i].shows, other->path, err);
	}
	return r;
}

/* The profile knows a bind by the name that config.json gives it: a link of the image must not
 * bring it into what the profile opens. */
static int check_binds(const struct view_build *b, const struct path_rule *rule,
		       struct sbx_error *err)
{
	const struct plan_mounts *mounts = &b->plan->mounts;
	bool opens = rule->write || (rule->read && b->plan->view.kind == VIEW_CLOSURE);
	size_t i;

	for (i = 0; opens && i < mounts->n; i++) {
		const struct plan_mount *m = &mounts->v[i];
		const struct mount_line *line;
		const char *inside;

		if (m->kind != MOUNT_BIND || m->remount ||
		    path_is_below(m->destination, rule->path) ||
		    view_is_single_file(m->destination))
			continue;
		line = view_line_of_plan(b, i);
		inside = line ? view_path_inside(b, line->point) : NULL;
		if (inside && path_is_below(inside, rule->path))
			return sbx_fail_at(
				err, SBX_E_UNSAFE_PATH, rule->path_pointer,
				"open \"%s\": what config.json mounts at \"%s\" comes to "
				"\"%s\" by a link; name the real path as destination",
				rule->path, m->destination, inside);
	}
	return 0;
}

/* ---- the roots ---- */

/* For "%s \"%s\"%s": what a rule's path is named for. */
#define PURPOSE(rule)                                                                              \
	(rule)->is_protected ? "protect" : "use", (rule)->path,                                    \
		(rule)->is_protected ? ""                                                          \
		: (rule)->is_socket  ? " as a socket"                                              \
				     : " as a root"

static int check_kind(const struct path_rule *rule, mode_t mode, struct sbx_error *err)
{
	if (rule->is_socket ? S_ISSOCK(mode) : S_ISDIR(mode) || S_ISREG(mode))
		return 0;
	return sbx_fail_at(err, SBX_E_INVALID_PROFILE, rule->path_pointer, "%s \"%s\"%s: it is %s",
			   PURPOSE(rule), rule->is_socket ? "none" : "neither a folder nor a file");
}

static int open_root(const struct view_build *b, const struct path_rule *rule,
		     struct view_root *root, struct sbx_error *err)
{
	const struct mount_line *line;
	struct stat st;

	root->fd = view_open(b->source_fd, rule->path);
	if (root->fd == -ELOOP)
		return sbx_fail_at(
			err, SBX_E_INVALID_PROFILE, rule->path_pointer,
			"%s \"%s\"%s: a component is a symbolic link; name the real path",
			PURPOSE(rule));
	if (rule->is_protected && view_is_absent(root->fd))
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, rule->path_pointer,
				   "protect \"%s\": it does not exist, and to keep a name free is "
				   "not built; make it first",
				   rule->path);
	if (view_is_absent(root->fd))
		return sbx_fail_at(err, SBX_E_INVALID_PROFILE, rule->path_pointer,
				   "%s \"%s\"%s: it does not exist in the container",
				   PURPOSE(rule));
	if (root->fd < 0 || fstat(root->fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, root->fd < 0 ? -root->fd : errno,
				"look at \"%s\"", rule->path);
	line = view_line_of(b, root->fd);
	if (!line || !view_holds_files(line))
		return sbx_fail_at(
			err, SBX_E_INVALID_PROFILE, rule->path_pointer,
			"%s \"%s\"%s: it lies on a file system of the kernel (%s) that no "
			"value of a profile covers",
			PURPOSE(rule), line ? line->type : "unknown");
	if (check_kind(rule, st.st_mode, err) < 0)
		return -EINVAL;
	return view_shown_by(b, root->fd, rule->path, &root->shows) < 0
		       ? view_fail_moved(rule->path, err)
		       : 0;
}

int view_roots_open(struct view_build *b, struct sbx_error *err)
{
	const struct policy *policy = b->plan->policy;
	size_t i;
	int r = 0;

	b->roots = arena_alloc_array(b->plan->arena, policy->paths_n + 1, sizeof(*b->roots));
	if (!b->roots)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "open the roots");
	for (i = 0; i < policy->paths_n; i++)
		b->roots[i].fd = b->roots[i].clone = -EBADF;
	for (i = 0; r == 0 && i < policy->paths_n; i++)
		r = open_root(b, &policy->paths[i], &b->roots[i], err);
	for (i = 0; r == 0 && i < policy->paths_n; i++) {
		r = check_second_names(b, i, err);
		if (r == 0)
			r = check_binds(b, &policy->paths[i], err);
	}
	return r;
}

/* Covers below hid the folder's first name, or made a mount of the folder itself: then it is
 * opened again, and must be the same. */
static int open_covered(const struct view_build *b, const struct path_rule *rule,
			struct view_root *root, struct sbx_error *err)
{
	cleanup_fd int fd = view_open(b->source_fd, rule->path);
	struct stat was, is;

	if (fd < 0 || fstat(root->fd, &was) < 0 || fstat(fd, &is) < 0 || was.st_dev != is.st_dev ||
	    was.st_ino != is.st_ino)
		return view_fail_moved(rule->path, err);
	cleanup_close_fd(&root->fd);
	root->fd = take_fd(&fd);
	return 0;
}

/* A profile only narrows: a folder of a root that the bundle gives read-only stays so. */
static bool is_narrow(const struct view_build *b, const struct view_root *root)
{
	return b->plan->mounts.root_readonly && view_is_on_root(b, root->fd);
}

struct view_part view_root_part(const struct view_build *b, size_t n)
{
	const struct path_rule *rule = &b->plan->policy->paths[n];
	const struct view_root *root = &b->roots[n];

	return (struct view_part){
		.fd = root->fd,
		.place = rule->path,
		.shows = root->shows,
		.is_root = true,
		.writable = rule->write,
		.narrow = is_narrow(b, root),
		.recursive = root->recursive,
	};
}

/* It lies in a read-only carve-out of ours, and not on a mount that was read-only before. */
static bool is_opened_again(const struct view_build *b, size_t n)
{
	const struct path_rule *outer = policy_enclosing(b->plan->policy, n);

	return outer && !outer->write && !b->roots[n].shows.line->read_only;
}

static int clone_root(struct view_build *b, size_t n, struct sbx_error *err)
{
	struct view_part part = view_root_part(b, n);
	struct view_root *root = &b->roots[n];
	bool carved = is_opened_again(b, n);
	int r = root->clone = view_part_clone(b, &part, err);

	root->recursive = part.recursive;
	if (r < 0 || (!part.narrow && !carved))
		return r < 0 ? r : 0;
	r = mount_tree_set(root->clone, false, part.narrow ? MOUNT_ATTR_RDONLY : 0,
			   part.narrow ? 0 : MOUNT_ATTR_RDONLY);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "make root \"%s\" %s", part.place,
				part.narrow ? "read-only" : "writable again")
		     : 0;
}

int view_roots_clone(struct view_build *b, struct sbx_error *err)
{
	const struct policy *policy = b->plan->policy;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && b->covered && i < policy->paths_n; i++) {
		if (policy->paths[i].read)
			r = open_covered(b, &policy->paths[i], &b->roots[i], err);
	}
	for (i = 0; r == 0 && i < policy->paths_n; i++) {
		if (policy->paths[i].write)
			r = clone_root(b, i, err);
	}
	return r;
}

void view_roots_close(struct view_build *b)
{
	size_t i;

	for (i = 0; b->roots && i < b->plan->policy->paths_n; i++) {
		cleanup_close_fd(&b->roots[i].clone);
		cleanup_close_fd(&b->roots[i].fd);
	}
}
