/*
 * What the mounts of the bundle's finished tree are, asked from the kernel's mount table: not from
 * config.json, whose words a link, a bind of a bind or a folder with mounts below make untrue.
 *
 * A file system either holds files, and then the profile's rules decide about it, or it is an
 * interface of the kernel. Which ones hold files is an allow-list: all with a block device behind,
 * and the types of a table. The interfaces are closed before anything is cloned, so that every
 * clone of the tree has them closed: a procfs other than the container's own at /proc is hidden,
 * what else is no file system of files is read-only. What a container needs open (the stays) is
 * put back at the end, each at its one place, and only where the bundle made it for the container.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backends/linux/closure.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/path.h"

#define PROC_ROOT_INODE 1

/* File systems of files without a block device of their own. */
static const char *const data_types[] = {
	"tmpfs", "ramfs",    "overlay", "fuse",	  "nfs",      "nfs4",	"cifs",	  "smb3",
	"9p",	 "ceph",     "btrfs",	"zfs",	  "virtiofs", "vboxsf", "aufs",	  "afs",
	"ubifs", "ecryptfs", "shiftfs", "lustre", "bcachefs", "gpfs",	"beegfs", "orangefs",
};

static bool holds_files(const struct mount_line *line)
{
	size_t i;

	/* "MAJOR:MINOR"; major 0 is an anonymous device */
	if (strncmp(line->device, "0:", 2) != 0 || strncmp(line->type, "fuse.", 5) == 0)
		return true;
	for (i = 0; i < ARRAY_SIZE(data_types); i++) {
		if (strcmp(line->type, data_types[i]) == 0)
			return true;
	}
	return false;
}

static uint64_t mount_id(int fd)
{
	uint64_t id;

	return fd_mount_id(fd, &id) < 0 ? 0 : id;
}

/* ---- the table ---- */

int view_mounts_read(struct view_build *b, struct sbx_error *err)
{
	int r = mount_table_lines(b->run->proc_fd, b->plan->arena, &b->lines, &b->lines_n);

	return r < 0 ? sbx_fail(err, r == -ENOMEM ? SBX_E_RESOURCE_LIMIT : SBX_E_SYSTEM, -r,
				"read the mount table")
		     : 0;
}

static const struct mount_line *line_by_id(const struct view_build *b, uint64_t id)
{
	size_t i;

	for (i = 0; i < b->lines_n; i++) {
		if (b->lines[i].id == id)
			return &b->lines[i];
	}
	return NULL;
}

static const struct mount_line *line_of(const struct view_build *b, int fd)
{
	return line_by_id(b, mount_id(fd));
}

bool view_is_on_root(const struct view_build *b, int fd)
{
	uint64_t id = mount_id(fd);

	return id && id == mount_id(b->source_fd);
}

/* A path below the container's root as the container will see it; NULL: it is elsewhere. */
static const char *path_inside(const struct view_build *b, const char *point)
{
	const char *root = b->plan->options.rootfs;
	const char *inside;

	if (!path_is_below(point, root))
		return NULL;
	inside = strcmp(root, "/") == 0 ? point : point + strlen(root);
	return *inside ? inside : "/";
}

/* ---- the profile's roots ---- */

/* The folder of its file system that path (inside the container) shows. */
static int folder_shown(const struct view_build *b, const struct mount_line *line, const char *path,
			char *out, size_t size)
{
	const char *point = path_inside(b, line->point);
	const char *rest;
	int n;

	if (!point)
		return -ENOENT;
	rest = strcmp(point, "/") == 0 && path[1] ? path : path + strlen(point);
	n = snprintf(out, size, "%s%s", strcmp(line->root, "/") == 0 && *rest ? "" : line->root,
		     rest);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* What a place in the tree shows: a folder of a file system. */
struct shown {
	const struct mount_line *line;
	char folder[PATH_MAX];
};

static int shown_at(const struct view_build *b, const char *path, struct shown *ret)
{
	cleanup_fd int fd = view_open(b->source_fd, path);

	ret->line = fd < 0 ? NULL : line_of(b, fd);
	return ret->line ? folder_shown(b, ret->line, path, ret->folder, sizeof(ret->folder))
			 : -ENOENT;
}

/* One of the two holds the other. */
static bool overlap(const struct shown *a, const struct shown *b)
{
	return strcmp(a->line->device, b->line->device) == 0 &&
	       (path_is_below(a->folder, b->folder) || path_is_below(b->folder, a->folder));
}

/*
 * Does the way into a root show an object that has its place elsewhere, under other bounds? own is
 * the root's own folder, NULL where the way is that itself: what it holds may be mounted in it a
 * second time. In the host's own root every folder has its place, so there only the whole of it is
 * a second name.
 */
static bool is_second_name(const struct view_build *b, const struct shown *way,
			   const struct shown *own, const struct shown *object, bool is_root)
{
	if (!overlap(way, object) || (is_root && way->line == object->line))
		return false;
	if (is_root && path_is_below(object->folder, way->folder))
		return true;
	if (own && strcmp(own->line->device, way->line->device) == 0 &&
	    path_is_below(way->folder, own->folder))
		return is_root && !b->plan->view.host_is_root;
	return !is_root || own || !b->plan->view.host_is_root;
}

/* A mount that comes along below the root of the rule, and can be reached and written. */
static bool way_below(const struct view_build *b, const struct path_rule *rule,
		      const struct mount_line *line, struct shown *ret)
{
	const char *inside = path_inside(b, line->point);
	cleanup_fd int fd = -EBADF;
	struct statvfs fs;

	if (!inside || strcmp(inside, rule->path) == 0 || !path_is_below(inside, rule->path))
		return false;
	fd = path_open_in_root_nofollow(b->source_fd, inside, O_PATH);
	if (fd < 0 || mount_id(fd) != line->id || fstatvfs(fd, &fs) < 0)
		return false;
	ret->line = line;
	snprintf(ret->folder, sizeof(ret->folder), "%s", line->root);
	return !(fs.f_flag & ST_RDONLY);
}

/* No way into the root of the rule may show the object. */
static int check_object(const struct view_build *b, const struct path_rule *rule,
			const struct shown *own, const struct shown *object, const char *name,
			struct sbx_error *err)
{
	const char *place = rule->path;
	bool is_root = strcmp(name, "/") == 0, found;
	struct shown way;
	size_t i;

	found = is_second_name(b, own, NULL, object, is_root);
	for (i = 0; !found && i < b->lines_n; i++) {
		if (strcmp(b->lines[i].device, object->line->device) != 0 ||
		    !way_below(b, rule, &b->lines[i], &way))
			continue;
		place = path_inside(b, b->lines[i].point);
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
static int check_second_names(const struct view_build *b, const struct path_rule *rule,
			      struct sbx_error *err)
{
	const struct policy *policy = b->plan->policy;
	struct shown own, object;
	size_t i;
	int r = 0;

	if (shown_at(b, rule->path, &own) < 0)
		return 0;
	if (rule->write && shown_at(b, "/", &object) == 0)
		r = check_object(b, rule, &own, &object, "/", err);
	for (i = 0; r == 0 && i < policy->paths_n; i++) {
		const struct path_rule *other = &policy->paths[i];

		if (!((rule->write && !other->write) || (rule->read && !other->read)) ||
		    path_is_below(rule->path, other->path) || shown_at(b, other->path, &object) < 0)
			continue;
		r = check_object(b, rule, &own, &object, other->path, err);
	}
	return r;
}

static int check_root(const struct view_build *b, const struct path_rule *rule,
		      struct sbx_error *err)
{
	cleanup_fd int fd = view_open(b->source_fd, rule->path);
	const struct mount_line *line;
	struct stat st;

	if (fd == -ELOOP)
		return sbx_fail_at(err, SBX_E_INVALID_PROFILE, rule->path_pointer,
				   "use \"%s\" as a root: a component is a symbolic link; name the "
				   "real path",
				   rule->path);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return sbx_fail_at(err, SBX_E_INVALID_PROFILE, rule->path_pointer,
				   "use \"%s\" as a root: it does not exist in the container",
				   rule->path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, fd < 0 ? -fd : errno, "look at root \"%s\"",
				rule->path);
	line = line_of(b, fd);
	if (!line || !holds_files(line))
		return sbx_fail_at(err, SBX_E_INVALID_PROFILE, rule->path_pointer,
				   "use \"%s\" as a root: it lies on a file system of the kernel "
				   "(%s) that no value of a profile covers",
				   rule->path, line ? line->type : "unknown");
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return sbx_fail_at(err, SBX_E_INVALID_PROFILE, rule->path_pointer,
				   "use \"%s\" as a root: it is neither a folder nor a file",
				   rule->path);
	return check_second_names(b, rule, err);
}

int view_check_roots(const struct view_build *b, struct sbx_error *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < b->plan->policy->paths_n; i++)
		r = check_root(b, &b->plan->policy->paths[i], err);
	return r;
}

/* ---- the stays ---- */

const struct view_stay view_stays[STAY_COUNT] = {
	[STAY_PROC] = {"/proc", "proc", PROC_SUPER_MAGIC},
	[STAY_DEV] = {"/dev", "tmpfs", TMPFS_MAGIC},
	[STAY_PTS] = {"/dev/pts", "devpts", DEVPTS_SUPER_MAGIC},
	[STAY_MQUEUE] = {"/dev/mqueue", "mqueue", 0x19800202},
	[STAY_SHM] = {"/dev/shm", "tmpfs", TMPFS_MAGIC},
};

const struct plan_mount *view_mount_at(const struct plan *plan, const char *path)
{
	size_t i;

	for (i = plan->mounts.n; i-- > 0;) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (!m->remount && strcmp(m->destination, path) == 0)
			return m;
	}
	return NULL;
}

bool view_mounts_new(const struct plan *plan, const char *path, const char *type)
{
	const struct plan_mount *m = view_mount_at(plan, path);

	return m && m->kind == MOUNT_FILESYSTEM && m->type && strcmp(m->type, type) == 0;
}

/* The procfs of our own pid namespace: its "self" is us. */
static bool is_own_proc(int fd)
{
	char self[16], text[16];
	struct stat st;
	ssize_t n = readlinkat(fd, "self", text, sizeof(text) - 1);

	if (n <= 0 || fstat(fd, &st) < 0 || st.st_ino != PROC_ROOT_INODE)
		return false;
	text[n] = '\0';
	snprintf(self, sizeof(self), "%d", getpid());
	return strcmp(text, self) == 0;
}

/* The mount is one that an entry of the bundle made as a new file system of this type, empty. The
 * place says nothing: a link of the image leads a bind of the host there as well. */
static bool is_made(const struct view_build *b, const char *type, uint64_t id)
{
	const struct plan_mounts *mounts = &b->plan->mounts;
	size_t i;

	for (i = 0; id && i < mounts->n; i++) {
		if (b->run->mount_ids[i] == id && strcmp(mounts->v[i].type, type) == 0 &&
		    !mounts->v[i].copy_up)
			return true;
	}
	return false;
}

/* Made by the bundle for this container, at its place. The host's message queues are the same file
 * system in every namespace that shares them. */
static bool is_own_stay(const struct view_build *b, enum stay stay, int fd)
{
	const struct view_stay *row = &view_stays[stay];
	struct statfs fs;
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MODE, &stx) < 0 || fstatfs(fd, &fs) < 0 ||
	    !(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) || (unsigned long)fs.f_type != row->magic)
		return false;
	if (stay == STAY_PROC)
		return is_own_proc(fd);
	if (!is_made(b, row->type, mount_id(fd)))
		return false;
	return stay != STAY_MQUEUE ||
	       makedev(stx.stx_dev_major, stx.stx_dev_minor) != b->facts->host_mqueue;
}

static int fail_moved(const char *path, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
			"use what is mounted at \"%s\": something else stands there by now; no "
			"other program may move folders of the root while the container is made",
			path);
}

/* One that is not found at its place stays closed like all else. */
static void stays_find(struct view_build *b)
{
	struct statfs fs;
	size_t i;

	for (i = 0; i < STAY_COUNT; i++) {
		cleanup_fd int fd = view_open(b->source_fd, view_stays[i].path);

		b->stays[i].own = fd >= 0 && is_own_stay(b, (enum stay)i, fd);
		if (!b->stays[i].own)
			continue;
		b->stays[i].mount_id = mount_id(fd);
		b->stays[i].read_only = fstatfs(fd, &fs) < 0 || (fs.f_flags & ST_RDONLY);
		b->stays[i].fd = take_fd(&fd);
	}
}

/* In a new root the names are ours alone. */
int view_stay_open(const struct view_build *b, enum stay stay)
{
	int fd;

	if (b->root_fd != b->source_fd)
		return view_open(b->root_fd, view_stays[stay].path);
	fd = fcntl(b->stays[stay].fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

/* ---- closing ---- */

static bool is_stay(const struct view_build *b, const struct mount_line *line)
{
	size_t i;

	for (i = 0; i < STAY_COUNT; i++) {
		if (b->stays[i].own && b->stays[i].mount_id == line->id)
			return true;
	}
	return false;
}

/* A part of the container's own procfs, below it. */
static bool is_own_proc_part(const struct view_build *b, const struct mount_line *line,
			     const char *inside)
{
	const struct mount_line *own;

	if (!b->stays[STAY_PROC].own || !path_is_below(inside, "/proc"))
		return false;
	own = line_by_id(b, b->stays[STAY_PROC].mount_id);
	return own && strcmp(own->device, line->device) == 0 && strcmp(line->root, "/") != 0;
}

/* Another process's view of processes, or our own a second time, where no mask reaches, is hidden;
 * the rest is only closed. */
static int close_mount(struct view_build *b, const struct mount_line *line, const char *inside,
		       int fd)
{
	if (strcmp(line->type, "proc") != 0 || is_own_proc_part(b, line, inside))
		return mount_tree_set(fd, false, MOUNT_ATTR_RDONLY, 0);
	return view_hide(b, fd);
}

/* The mount id is the line's, or one that the line's is mounted below. */
static bool is_at_or_above(const struct view_build *b, const struct mount_line *line, uint64_t id)
{
	size_t depth;

	for (depth = 0; line && depth <= b->lines_n; depth++) {
		if (line->id == id)
			return true;
		line = line_by_id(b, line->parent);
	}
	return false;
}

/*
 * The line's mount is not found at its place, inside: does another one cover that or a folder
 * above? Then nobody reaches it. If what is found there is one that it is mounted below itself, it
 * was moved, and will be reached.
 */
static bool is_covered(const struct view_build *b, const struct mount_line *line,
		       const char *inside)
{
	char path[PATH_MAX], *slash;
	int n = snprintf(path, sizeof(path), "%s", inside);

	if (!line || n < 0 || (size_t)n >= sizeof(path))
		return false;
	for (;;) {
		cleanup_fd int fd =
			path_open_in_root_nofollow(b->source_fd, *path ? path : "/", O_PATH);

		if (fd >= 0)
			return !is_at_or_above(b, line, mount_id(fd));
		slash = strrchr(path, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
}

/* The same folder of the same file system, and the root of a mount: a clone is, too. */
static bool is_mount_of(int fd, int original)
{
	struct statx stx, want;

	return statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0 &&
	       statx(original, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &want) == 0 &&
	       (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) && stx.stx_ino == want.stx_ino &&
	       stx.stx_dev_major == want.stx_dev_major && stx.stx_dev_minor == want.stx_dev_minor;
}

/* Where something is to be masked in it, a mount must be found at its place, or be covered: else
 * the folder below it was moved. What covers it is then what the mask is for. */
static int check_places(struct view_build *b, struct sbx_error *err)
{
	const struct plan_mounts *mounts = &b->plan->mounts;
	size_t i;

	for (i = 0; i < mounts->n; i++) {
		const char *path = mounts->v[i].destination;
		cleanup_fd int fd = -EBADF;
		int *kept = &b->run->mount_fds[i];

		if (*kept < 0 || room_mount_of(mounts, path) != i)
			continue;
		fd = path_open_in_root(b->source_fd, path, O_PATH, 0);
		if (fd >= 0 && is_mount_of(fd, *kept))
			continue;
		if (!is_covered(b, line_of(b, *kept), path))
			return fail_moved(path, err);
		cleanup_close_fd(kept);
	}
	return 0;
}

int view_mounts_close(struct view_build *b, struct sbx_error *err)
{
	uint64_t root = mount_id(b->source_fd);
	size_t i;
	int r = check_places(b, err);

	if (r < 0)
		return r;
	stays_find(b);
	for (i = 0; i < b->lines_n; i++) {
		const struct mount_line *line = &b->lines[i];
		const char *inside = path_inside(b, line->point);
		cleanup_fd int fd = -EBADF;

		if (holds_files(line) || is_stay(b, line) || !is_at_or_above(b, line, root))
			continue;
		fd = inside ? path_open_in_root_nofollow(b->source_fd, inside, O_PATH) : -ENOENT;
		if (fd < 0 || mount_id(fd) != line->id) {
			if (inside && is_covered(b, line, inside))
				continue;
			return fail_moved(line->point, err);
		}
		if (strcmp(inside, "/proc") == 0 && strcmp(line->type, "proc") == 0)
			return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
					"use what the bundle mounts at \"/proc\": it shows other "
					"processes than the container's; give it a mount of type "
					"\"proc\"");
		r = close_mount(b, line, inside, fd);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "close the %s at \"%s\"", line->type,
					inside);
	}
	return 0;
}

/* ---- host read deny: binds in folders that stay in view ---- */

static bool is_in_closure(const char *inside)
{
	return closure_holds(inside) || path_is_below(inside, "/dev") ||
	       path_is_below(inside, "/sys") || path_is_below(inside, "/proc");
}

/* The destination may lead through links of the image: the mount table has the place itself. */
int view_mounts_hide_binds(struct view_build *b, struct sbx_error *err)
{
	size_t i;
	int r;

	for (i = 0; i < b->plan->mounts.n; i++) {
		const struct plan_mount *m = &b->plan->mounts.v[i];
		cleanup_fd int fd = -EBADF;
		const struct mount_line *line;
		const char *inside;

		if (m->kind != MOUNT_BIND || m->remount || view_is_single_file(m->destination))
			continue;
		fd = path_open_in_root(b->source_fd, m->destination, O_PATH, 0);
		line = fd < 0 ? NULL : line_of(b, fd);
		inside = line ? path_inside(b, line->point) : NULL;
		if (!inside || !is_in_closure(inside) || is_stay(b, line) ||
		    view_replaces_shm(b, inside, fd) ||
		    view_touches_readable_root(b->plan->policy, inside))
			continue;
		if (strcmp(inside, view_stays[STAY_DEV].path) == 0)
			return sbx_fail(
				err, SBX_E_UNSAFE_PATH, 0,
				"use what the bundle binds at \"/dev\" where the host may not be "
				"read; give it a mount of type \"tmpfs\"");
		r = view_hide(b, fd);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "hide \"%s\"", inside);
	}
	return 0;
}

/* ---- what room_mask works on ---- */

void view_mounts_forget(struct view_build *b, int fd)
{
	uint64_t id = mount_id(fd);
	size_t i;

	for (i = 0; id && i < b->plan->mounts.n; i++) {
		int *kept = &b->run->mount_fds[i];

		if (*kept >= 0 && mount_id(*kept) == id && is_mount_of(fd, *kept))
			cleanup_close_fd(kept);
	}
}

/* A new root has these of the bundle's mounts, and what lies in the rows of the closure, a bind
 * hidden or not: of that no path can be wanted. */
static bool is_brought_along(const struct view_build *b, const char *destination)
{
	return b->root_fd == b->source_fd || path_is_below(destination, "/dev") ||
	       path_is_below(destination, "/proc") || path_is_below(destination, "/sys");
}

/* path is to be hidden, or to be read-only. */
static int hand_over(struct view_build *b, const char *path, struct sbx_error *err)
{
	const struct plan_mounts *mounts = &b->plan->mounts;
	size_t i = room_mount_of(mounts, path);
	cleanup_fd int fd = -EBADF;
	int *kept;

	if (i == mounts->n || b->run->mount_fds[i] < 0)
		return 0;
	kept = &b->run->mount_fds[i];
	if (!is_brought_along(b, mounts->v[i].destination)) {
		cleanup_close_fd(kept);
		return 0;
	}
	fd = path_open_in_root(b->root_fd, mounts->v[i].destination, O_PATH, 0);
	if (fd < 0 || !is_mount_of(fd, *kept)) {
		fail_moved(mounts->v[i].destination, err);
		return sbx_prefix(err, "mask \"%s\" or make it read-only", path);
	}
	cleanup_close_fd(kept);
	*kept = take_fd(&fd);
	return 0;
}

int view_mounts_hand_over(struct view_build *b, struct sbx_error *err)
{
	const struct plan_mounts *mounts = &b->plan->mounts;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < mounts->masked.n; i++)
		r = hand_over(b, mounts->masked.v[i], err);
	for (i = 0; r == 0 && i < mounts->readonly.n; i++)
		r = hand_over(b, mounts->readonly.v[i], err);
	return r;
}
