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
#include <sched.h>
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
#include "runtime/base/kernel.h"
#include "runtime/base/path.h"

#define PROC_ROOT_INODE 1

/* File systems of files without a block device of their own. */
static const char *const data_types[] = {
	"tmpfs", "ramfs",    "overlay", "fuse",	  "nfs",      "nfs4",	"cifs",	  "smb3",
	"9p",	 "ceph",     "btrfs",	"zfs",	  "virtiofs", "vboxsf", "aufs",	  "afs",
	"ubifs", "ecryptfs", "shiftfs", "lustre", "bcachefs", "gpfs",	"beegfs", "orangefs",
};

bool view_holds_files(const struct mount_line *line)
{
	size_t i;

	/* major 0 is an anonymous device */
	if (major(line->device) != 0 || strncmp(line->type, "fuse.", 5) == 0)
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
	int r = mount_table_load(b->run->proc_fd, b->plan->arena, &b->table);

	if (r == 0 && !b->checked.lines)
		b->checked = b->table;
	return r < 0 ? sbx_fail(err, r == -ENOMEM ? SBX_E_RESOURCE_LIMIT : SBX_E_SYSTEM, -r,
				"read the mount table")
		     : 0;
}

const struct mount_line *view_line_of(const struct view_build *b, int fd)
{
	return mount_line_by_id(&b->table, mount_id(fd));
}

bool view_is_on_root(const struct view_build *b, int fd)
{
	uint64_t id = mount_id(fd);

	return id && id == mount_id(b->source_fd);
}

const char *view_path_inside(const struct view_build *b, const char *point)
{
	const char *root = b->plan->options.rootfs;
	const char *inside;

	if (!path_is_below(point, root))
		return NULL;
	inside = strcmp(root, "/") == 0 ? point : point + strlen(root);
	return *inside ? inside : "/";
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
		const struct plan_mount *m = &mounts->v[i];

		if (b->run->mount_ids[i] == id && m->kind == MOUNT_FILESYSTEM &&
		    strcmp(m->type, type) == 0 && !m->copy_up)
			return true;
	}
	return false;
}

/* Made by the bundle for this container, at its place. Message queues are one file system for all
 * that share the IPC namespace. The procfs of a shared pid namespace can be narrowed where it is a
 * new instance. */
static bool is_own_stay(const struct view_build *b, enum stay stay, int fd)
{
	const struct view_stay *row = &view_stays[stay];
	unsigned long new_flags = b->plan->namespaces.new_flags;
	struct statfs fs;
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MODE, &stx) < 0 || fstatfs(fd, &fs) < 0 ||
	    !(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) || (unsigned long)fs.f_type != row->magic)
		return false;
	if (stay == STAY_PROC && !is_own_proc(fd))
		return false;
	if (stay == STAY_PROC && (new_flags & CLONE_NEWPID))
		return true;
	if (stay == STAY_MQUEUE && !(new_flags & CLONE_NEWIPC))
		return false;
	return is_made(b, row->type, mount_id(fd));
}

/* Of the processes of a shared pid namespace only those that we may trace (procfs(5), hidepid),
 * which in a Landlock domain are its own. */
static int proc_narrow(int fd, struct sbx_error *err)
{
	cleanup_fd int fs_fd = sys_fspick(fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
	int r = fs_fd < 0 ? fs_fd : mount_fs_set(fs_fd, "hidepid", "ptraceable");

	if (r == 0)
		r = sys_fsconfig(fs_fd, SYS_FSCONFIG_RECONFIGURE, NULL, NULL, 0);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r,
				"hide in /proc the other processes of a shared pid namespace (it "
				"needs hidepid=ptraceable of Linux 5.8); give the container a pid "
				"namespace of its own")
		     : 0;
}

int view_fail_moved(const char *path, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
			"use what is mounted at \"%s\": something else stands there by now; no "
			"other program may move folders of the root while the container is made",
			path);
}

/* One that is not found at its place stays closed like all else. */
static int stays_find(struct view_build *b, struct sbx_error *err)
{
	struct statfs fs;
	size_t i;
	int r;

	for (i = 0; i < STAY_COUNT; i++) {
		cleanup_fd int fd = view_open(b->source_fd, view_stays[i].path);

		b->stays[i].own = fd >= 0 && is_own_stay(b, (enum stay)i, fd);
		if (!b->stays[i].own)
			continue;
		if (i == STAY_PROC && !(b->plan->namespaces.new_flags & CLONE_NEWPID)) {
			r = proc_narrow(fd, err);
			if (r < 0)
				return r;
		}
		b->stays[i].mount_id = mount_id(fd);
		b->stays[i].read_only = fstatfs(fd, &fs) < 0 || (fs.f_flags & ST_RDONLY);
		b->stays[i].fd = take_fd(&fd);
	}
	return 0;
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
	own = mount_line_by_id(&b->table, b->stays[STAY_PROC].mount_id);
	return own && own->device == line->device && strcmp(line->root, "/") != 0;
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

/* If what is found at the place is a mount that the line's is mounted below, it was moved, and will
 * be reached. */
bool view_is_covered(const struct view_build *b, int fd, const struct mount_line *line,
		     const char *path)
{
	char way[PATH_MAX], *slash;
	int n = snprintf(way, sizeof(way), "%s", path);

	if (!line || n < 0 || (size_t)n >= sizeof(way))
		return false;
	for (;;) {
		cleanup_fd int found = view_open(fd, *way ? way : "/");
		uint64_t id = found < 0 ? 0 : mount_id(found);

		if (found >= 0)
			return id && !mount_line_is_on(&b->table, line, id);
		slash = strrchr(way, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
}

/* The same folder of the same file system, and the root of a mount: a clone is, too. */
bool view_is_mount_of(int fd, int original)
{
	struct statx stx, want;

	return statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0 &&
	       statx(original, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &want) == 0 &&
	       (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) && stx.stx_ino == want.stx_ino &&
	       stx.stx_dev_major == want.stx_dev_major && stx.stx_dev_minor == want.stx_dev_minor;
}

const struct mount_line *view_line_of_plan(const struct view_build *b, size_t i)
{
	uint64_t id = b->run->mount_ids[i];

	return id ? mount_line_by_id(&b->table, id) : NULL;
}

/* Where something is to be masked in it, a mount must be found at its place, or be covered: else
 * the folder below it was moved. What covers it is then what the mask is for. */
static int check_places(struct view_build *b, struct sbx_error *err)
{
	const struct plan_mounts *mounts = &b->plan->mounts;
	size_t i;

	for (i = 0; i < mounts->n; i++) {
		int *kept = &b->run->mount_fds[i];
		const struct mount_line *line = view_line_of_plan(b, i);
		const char *place = line ? view_path_inside(b, line->point) : NULL;
		cleanup_fd int fd = -EBADF;

		if (*kept < 0 || room_mount_of(mounts, mounts->v[i].destination) != i)
			continue;
		fd = place ? view_open(b->source_fd, place) : -ENOENT;
		if (fd >= 0 && view_is_mount_of(fd, *kept))
			continue;
		if (!place || !view_is_covered(b, b->source_fd, line, place))
			return view_fail_moved(mounts->v[i].destination, err);
		cleanup_close_fd(kept);
	}
	return 0;
}

/* The table leaves out what cannot be reached just now: a mount whose folder was carried out of the
 * bind that it lies in. It could come back. */
static int check_listed(const struct view_build *b, struct sbx_error *err)
{
	const struct plan_mounts *mounts = &b->plan->mounts;
	size_t i;

	for (i = 0; i < mounts->n && !room_has_create_hooks(b->plan); i++) {
		if (b->run->mount_ids[i] && !view_line_of_plan(b, i))
			return view_fail_moved(mounts->v[i].destination, err);
	}
	return 0;
}

int view_mounts_close(struct view_build *b, struct sbx_error *err)
{
	uint64_t root = mount_id(b->source_fd);
	size_t i;
	int r = check_listed(b, err);

	if (r == 0)
		r = check_places(b, err);
	if (r == 0)
		r = stays_find(b, err);
	if (r < 0)
		return r;
	for (i = 0; i < b->table.n; i++) {
		const struct mount_line *line = &b->table.lines[i];
		const char *inside = view_path_inside(b, line->point);
		cleanup_fd int fd = -EBADF;

		if (view_holds_files(line) || is_stay(b, line) ||
		    !mount_line_is_on(&b->table, line, root))
			continue;
		fd = inside ? view_open(b->source_fd, inside) : -ENOENT;
		if (fd < 0 || mount_id(fd) != line->id) {
			if (inside && view_is_covered(b, b->source_fd, line, inside))
				continue;
			return view_fail_moved(line->point, err);
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

/* The innermost bind of the bundle that line's mount is or lies in; NULL: none. */
static const struct plan_mount *bind_of(const struct view_build *b, const struct mount_line *line,
					const struct mount_line **ret)
{
	const struct plan_mounts *mounts = &b->plan->mounts;
	size_t i = mounts->n;

	while (line && i-- > 0) {
		const struct plan_mount *m = &mounts->v[i];
		uint64_t id = b->run->mount_ids[i];

		if (m->kind != MOUNT_BIND || m->remount || !id ||
		    !mount_line_is_on(&b->table, line, id))
			continue;
		*ret = mount_line_by_id(&b->table, id);
		return *ret ? m : NULL;
	}
	return NULL;
}

static bool is_in_readable_root(const struct policy *policy, const char *inside)
{
	size_t i;

	for (i = 0; i < policy->paths_n; i++) {
		if (policy->paths[i].read && path_is_below(inside, policy->paths[i].path))
			return true;
	}
	return false;
}

bool view_is_hidden_bind(const struct view_build *b, int fd, const char *path)
{
	const struct mount_line *at;
	const struct plan_mount *m = bind_of(b, view_line_of(b, fd), &at);
	const char *inside = m ? view_path_inside(b, at->point) : NULL;

	if (!inside || is_in_readable_root(b->plan->policy, inside))
		return false;
	/* replaced, but under this name alone */
	if (strcmp(path, inside) == 0 && view_replaces_shm(b, inside, fd))
		return false;
	if (is_in_closure(inside))
		return !view_is_single_file(m->destination);
	/* one that holds a row of the closure, or what an engine binds in the place of a link */
	return !path_is_below(path, inside) &&
	       !(view_is_single_file(m->destination) && strcmp(m->destination, path) == 0);
}

int view_check_dev(const struct view_build *b, struct sbx_error *err)
{
	cleanup_fd int fd = view_open(b->source_fd, view_stays[STAY_DEV].path);
	const struct mount_line *at, *line = fd < 0 ? NULL : view_line_of(b, fd);
	const struct plan_mount *m = bind_of(b, line, &at);
	const char *inside = m ? view_path_inside(b, at->point) : NULL;

	if (!inside || strcmp(inside, view_stays[STAY_DEV].path) != 0)
		return 0;
	return sbx_fail(
		err, SBX_E_UNSAFE_PATH, 0,
		"use what the bundle binds at \"/dev\" where the host may not be read; give "
		"it a mount of type \"tmpfs\"");
}

/* ---- what room_mask works on ---- */

void view_mounts_forget(struct view_build *b, int fd)
{
	uint64_t id = mount_id(fd);
	size_t i;

	for (i = 0; id && i < b->plan->mounts.n; i++) {
		int *kept = &b->run->mount_fds[i];

		if (*kept >= 0 && mount_id(*kept) == id && view_is_mount_of(fd, *kept))
			cleanup_close_fd(kept);
	}
}

/* A new root has these of the bundle's mounts; of the others no path can be wanted. */
static bool is_brought_along(const struct view_build *b, const char *place)
{
	return b->root_fd == b->source_fd || path_is_below(place, "/dev") ||
	       path_is_below(place, "/proc") || path_is_below(place, "/sys") ||
	       is_in_readable_root(b->plan->policy, place);
}

/* path is to be hidden, or to be read-only. */
static int hand_over(struct view_build *b, const char *path, struct sbx_error *err)
{
	const struct plan_mounts *mounts = &b->plan->mounts;
	size_t i = room_mount_of(mounts, path);
	const struct mount_line *line;
	cleanup_fd int fd = -EBADF;
	const char *place;
	int *kept;

	if (i == mounts->n || b->run->mount_fds[i] < 0)
		return 0;
	kept = &b->run->mount_fds[i];
	line = view_line_of_plan(b, i);
	place = line ? view_path_inside(b, line->point) : NULL;
	if (!place || !is_brought_along(b, place)) {
		cleanup_close_fd(kept);
		return 0;
	}
	fd = view_open(b->root_fd, place);
	if (fd < 0 || !view_is_mount_of(fd, *kept)) {
		view_fail_moved(mounts->v[i].destination, err);
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
