/*
 * The container's root: its own mount, the change of root, the final read-only flag.
 *
 * In the child, inside its new mount namespace: the propagation of the whole inherited tree is cut
 * first, so that nothing below reaches the host; then the root directory is opened again by its
 * path (a descriptor of the runtime belongs to the host's mount namespace and cannot be mounted
 * from), compared with the runtime's descriptor, cloned and attached on itself. From then on
 * run->rootfs_fd is that mount and every other room works below it. The clone stands at the
 * bundle's own path because createContainer hooks look for it there.
 *
 * The change of root is pivot_root(".", ".") (pivot_root(2), NOTES): the old root ends up on top of
 * the new one and is detached. Where that is impossible (an initramfs, --no-pivot) the root mount
 * is moved over "/" after every procfs and sysfs of the host has been detached, because a process
 * that could reach a fully visible one could mount a new one.
 *
 * Without an own mount namespace: a joined one is taken as it is, its root is the container's root,
 * and nothing is mounted, masked or made read-only in it. With none at all (linux.namespaces
 * without "mount") the process is confined to the root directory by chroot(2), and what would need
 * a mount is refused by the planner.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backends/linux/mount_api.h"
#include "backends/linux/mount_table.h"
#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "runtime/base/path.h"
#include "runtime/base/procfs.h"

#define OLD_ROOT_STACK_MAX 64 /* mounts on the old root itself */

static const struct {
	const char *word;
	unsigned long flags;
} propagations[] = {
	{"shared", MS_SHARED},	       {"rshared", MS_SHARED | MS_REC},
	{"slave", MS_SLAVE},	       {"rslave", MS_SLAVE | MS_REC},
	{"private", MS_PRIVATE},       {"rprivate", MS_PRIVATE | MS_REC},
	{"unbindable", MS_UNBINDABLE}, {"runbindable", MS_UNBINDABLE | MS_REC},
};

static int plan_propagation(struct plan_mounts *mounts, const char *word, struct sbx_error *err)
{
	size_t i;

	mounts->rootfs_propagation = MS_PRIVATE | MS_REC;
	if (!word || !*word)
		return 0;
	for (i = 0; i < ARRAY_SIZE(propagations); i++) {
		if (strcmp(word, propagations[i].word) == 0) {
			mounts->rootfs_propagation = propagations[i].flags;
			return 0;
		}
	}
	return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/rootfsPropagation",
			   "unknown rootfsPropagation \"%s\"", word);
}

static int rootfs_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_spec *spec = plan->spec;
	struct plan_mounts *mounts = &plan->mounts;

	(void)report;
	mounts->new_root = (plan->namespaces.new_flags & CLONE_NEWNS) != 0;
	mounts->no_pivot = plan->options.no_pivot;
	mounts->root_readonly = spec->root_readonly;
	if (mounts->new_root && !plan->host->mount_api)
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
				"set up mounts: the kernel's mount interface (open_tree, fsopen, "
				"move_mount, mount_setattr) is missing or refused; it needs Linux "
				"5.12 and no seccomp filter that hides it");
	if (mounts->no_pivot && strcmp(plan->options.rootfs, "/") == 0)
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/root/path",
				   "move the host's own root over itself; leave --no-pivot out");
	if (!mounts->new_root && !plan->namespaces.path[NS_MNT] && spec->root_readonly)
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/root/readonly",
				   "a read-only root needs a mount namespace");
	return plan_propagation(mounts, spec->linux_.rootfs_propagation, err);
}

/* ---- before the mounts ---- */

static int mountinfo_read(const struct run *run, struct buf *out, struct sbx_error *err)
{
	int r = mount_table_read(run->proc_fd, out);

	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "read the mount table") : 0;
}

/*
 * Make the mount that holds the directory fd private, and only that one: with rootfsPropagation
 * "shared" the rest of the tree stays in the host's peer groups, but a mount attached below a
 * shared parent would appear on the host, and pivot_root(2) refuses it.
 */
static int make_parent_private(const struct run *run, int fd, struct sbx_error *err)
{
	cleanup_buf struct buf table = BUF_INIT;
	struct mount_line info;
	uint64_t id, at;
	char *save = NULL, *line;
	int r = mountinfo_read(run, &table, err);

	if (r < 0)
		return r;
	r = fd_mount_id(fd, &id);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "look up the mount of the root");
	for (line = strtok_r(table.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		cleanup_fd int mount = -EBADF;

		if (!mount_line_parse(line, &info) || info.id != id)
			continue;
		mount = path_open_no_symlinks(AT_FDCWD, info.point, O_PATH);
		if (mount < 0 || fd_mount_id(mount, &at) < 0 || at != id)
			break;
		r = mount_tree_set_propagation(mount, MS_PRIVATE);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "make mount \"%s\" private",
					info.point);
		return 0;
	}
	return sbx_fail(err, SBX_E_SYSTEM, ENOENT, "find the mount that holds the root");
}

/* Cut the namespace's tree off the host: see rootfsPropagation in config-linux.md. */
static int set_initial_propagation(const struct run *run, int root_fd, struct sbx_error *err)
{
	unsigned long wanted = run->plan->mounts.rootfs_propagation;
	const struct mount_attr attr = {
		.propagation = wanted & MS_SLAVE ? MS_SLAVE : MS_PRIVATE,
	};
	int r;

	if (wanted & MS_SHARED)
		return make_parent_private(run, root_fd, err);
	r = sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "set the propagation of \"/\"") : 0;
}

/* The root directory in this mount namespace; it must be the one the runtime checked. */
static int open_root_again(const struct run *run, struct sbx_error *err)
{
	const char *path = run->plan->options.rootfs;
	cleanup_fd int fd = path_open_no_symlinks(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	struct stat mine, checked;

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd,
				"open root \"%s\" (the container's root user must be able to reach "
				"it)",
				path);
	if (fstat(fd, &mine) < 0 || fstat(run->rootfs_fd, &checked) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "stat root \"%s\"", path);
	if (mine.st_dev != checked.st_dev || mine.st_ino != checked.st_ino)
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0, "root \"%s\" was replaced", path);
	return take_fd(&fd);
}

/*
 * Where the root is attached: on itself. Where a folder on the way is closed to the root user of a
 * new user namespace, on "/", for want of a reachable place: a hook of that user could not reach
 * the bundle's path either; the root is then the clone that the runtime prepared.
 */
static int open_place(const struct run *run, int *prepared, struct sbx_error *err)
{
	int place = open_root_again(run, err);

	if (place != -EACCES || !prepared) {
		if (prepared)
			cleanup_close_fd(prepared);
		return place;
	}
	place = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return place < 0 ? sbx_fail(err, SBX_E_SYSTEM, errno, "open \"/\"") : place;
}

/* What is mounted in the root is refused only where it gets into a procfs by another mount. */
static int refuse_procfs(const struct run *run, int root, struct sbx_error *err)
{
	struct statfs fs;

	if (fstatfs(root, &fs) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "stat the root's file system");
	return fs.f_type == PROC_SUPER_MAGIC
		       ? sbx_fail(err, SBX_E_UNSAFE_PATH, 0, "root \"%s\" lies in a procfs",
				  run->plan->options.rootfs)
		       : 0;
}

static int make_root_mount(struct run *run, struct sbx_error *err)
{
	int *prepared = *room_slot(run, &room_rootfs), r;
	cleanup_fd int place = open_place(run, prepared, err), root = -EBADF;

	if (place < 0)
		return place;
	r = set_initial_propagation(run, place, err);
	if (r < 0)
		return r;
	root = prepared && *prepared >= 0 ? take_fd(prepared) : mount_tree_clone_fd(place, true);
	if (root < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -root, "clone root \"%s\"",
				run->plan->options.rootfs);
	r = refuse_procfs(run, root, err);
	if (r < 0)
		return r;
	if (run->plan->mounts.rootfs_propagation & MS_SHARED) {
		r = mount_tree_set_propagation(root, MS_PRIVATE);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "make the root mount private");
	}
	r = mount_tree_attach(root, place);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "attach root \"%s\"",
				run->plan->options.rootfs);
	close(run->rootfs_fd);
	run->rootfs_fd = take_fd(&root);
	return 0;
}

/* In the runtime: a clone for a child in a user namespace that cannot reach the root's path. */
static int rootfs_prepare(struct run *run, struct sbx_error *err)
{
	const struct plan *plan = run->plan;
	bool slave = plan->mounts.rootfs_propagation & (MS_SLAVE | MS_SHARED);
	cleanup_fd int fd = -EBADF;
	int *slot, r;

	if (run->is_exec || !plan->mounts.new_root || !plan->host->privileged ||
	    !room_has_userns(plan))
		return 0;
	slot = arena_alloc(plan->arena, sizeof(*slot));
	if (!slot)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "prepare the root");
	fd = mount_tree_clone_fd(run->rootfs_fd, true);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "clone root \"%s\"", plan->options.rootfs);
	/* a peer of the host's mounts must not get into a less privileged namespace */
	r = mount_tree_set_propagation(fd, (slave ? MS_SLAVE : MS_PRIVATE) | MS_REC);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "set the propagation of the root");
	*slot = take_fd(&fd);
	*room_slot(run, &room_rootfs) = slot;
	return 0;
}

static void rootfs_undo(struct run *run)
{
	int *prepared = *room_slot(run, &room_rootfs);

	if (prepared)
		cleanup_close_fd(prepared);
}

/* ---- the change of root ---- */

/*
 * pivot_root(2) left the old root on top of the new one, where ".." and setns(2) of a later exec
 * lead. What stands on the old root itself goes first: a root "/" is mounted there, and the view of
 * a profile on top of that. From the old root's descriptor umount2(2) finds only these, and says
 * EINVAL when none is left.
 */
static int detach_old(int old_root, int new_root, struct sbx_error *err)
{
	cleanup_fd int above = -EBADF;
	uint64_t old = 0, now = 0;
	int detached = 0, r;

	if (fchdir(old_root) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "enter the old root");
	while (detached < OLD_ROOT_STACK_MAX && umount2(".", MNT_DETACH) == 0)
		detached++;
	if (detached == 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "detach the old root");
	if (fchdir(new_root) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "enter the root mount");
	r = fd_mount_id(old_root, &old);
	if (r == 0) {
		above = open("..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		r = above < 0 ? -errno : fd_mount_id(above, &now);
	}
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "look for the old root");
	return now != old ? 0
			  : sbx_fail(err, SBX_E_SYSTEM, EBUSY,
				     "detach the old root: it is still above the new one");
}

static int pivot(const struct run *run, struct sbx_error *err)
{
	cleanup_fd int old_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (old_root < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open \"/\"");
	if (fchdir(run->rootfs_fd) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "enter the root mount");
	r = sys_pivot_root(".", ".");
	if (r < 0)
		return sbx_fail(
			err, SBX_E_SYSTEM, -r,
			"pivot to the root mount (where \"/\" is an initramfs, --no-pivot)");
	if (run->plan->mounts.rootfs_propagation & MS_SHARED) {
		/* an unmount in a peer of the host would unmount on the host */
		r = mount_tree_set_propagation(old_root, MS_SLAVE | MS_REC);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "cut the old root off");
	}
	return detach_old(old_root, run->rootfs_fd, err);
}

static bool is_host_view(const char *fs_type)
{
	return strcmp(fs_type, "proc") == 0 || strcmp(fs_type, "sysfs") == 0;
}

/* Detach every procfs and sysfs of the host from this namespace, last mounted first. */
static int detach_host_views(const struct run *run, struct sbx_error *err)
{
	cleanup_buf struct buf table = BUF_INIT;
	cleanup_free char **points = NULL;
	struct mount_line info;
	char *save = NULL, *line;
	size_t n = 0, cap = 0;
	int r = mountinfo_read(run, &table, err);

	if (r < 0)
		return r;
	for (line = strtok_r(table.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!mount_line_parse(line, &info) || !is_host_view(info.type) ||
		    path_is_below(info.point, run->plan->options.rootfs))
			continue;
		if (n == cap) {
			char **more = reallocarray(points, cap + 64, sizeof(*points));

			if (!more)
				return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM,
						"read the mount table");
			points = more;
			cap += 64;
		}
		points[n++] = info.point;
	}
	while (n-- > 0) {
		if (umount2(points[n], MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL &&
		    errno != ENOENT)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "detach \"%s\"", points[n]);
	}
	return 0;
}

static int move_root(const struct run *run, struct sbx_error *err)
{
	cleanup_fd int host_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (host_root < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open \"/\"");
	r = detach_host_views(run, err);
	if (r < 0)
		return r;
	r = mount_tree_attach(run->rootfs_fd, host_root);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "move the root mount to \"/\"");
	if (fchdir(run->rootfs_fd) < 0 || chroot(".") < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "change root");
	return 0;
}

static int finish_root(const struct run *run, struct sbx_error *err)
{
	const struct plan_mounts *mounts = &run->plan->mounts;
	unsigned long propagation = mounts->rootfs_propagation;
	int r;

	if (propagation & (MS_SHARED | MS_UNBINDABLE)) {
		r = mount_tree_set_propagation(run->rootfs_fd, propagation);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "set the propagation of the root");
	}
	if (mounts->root_readonly) {
		r = mount_tree_set(run->rootfs_fd, false, MOUNT_ATTR_RDONLY, 0);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "make the root read-only");
	}
	return 0;
}

static int change_root(struct run *run, struct sbx_error *err)
{
	const struct plan *plan = run->plan;
	int r = 0;

	if (plan->mounts.new_root) {
		r = plan->mounts.no_pivot ? move_root(run, err) : pivot(run, err);
	} else if (!plan->namespaces.path[NS_MNT]) {
		if (fchdir(run->rootfs_fd) < 0 || chroot(".") < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "change root");
	}
	if (r < 0)
		return r;
	/* the working directory is the new root by now, but in a joined namespace */
	if (plan->namespaces.path[NS_MNT] && chdir("/") < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "enter the container's \"/\"");
	return plan->mounts.new_root ? finish_root(run, err) : 0;
}

/* setns(2) made the joined namespace's root ours: that is the root from now on. */
static int adopt_joined_root(struct run *run, struct sbx_error *err)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open the joined mount namespace's root");
	if (run->rootfs_fd >= 0)
		close(run->rootfs_fd);
	run->rootfs_fd = fd;
	return 0;
}

static int rootfs_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	if (stage == STAGE_MOUNTS && run->plan->mounts.new_root)
		return make_root_mount(run, err);
	if (stage == STAGE_MOUNTS && run->plan->namespaces.path[NS_MNT])
		return adopt_joined_root(run, err);
	if (stage == STAGE_PIVOT)
		return change_root(run, err);
	if (stage == STAGE_ID_MAPS)
		rootfs_undo(run); /* the child has its own copy */
	return 0;
}

static void rootfs_dump(const struct plan *plan, struct json_writer *w)
{
	const struct plan_mounts *mounts = &plan->mounts;
	size_t i;

	json_begin_object(w, "rootfs");
	json_write_string(w, "path", plan->options.rootfs);
	json_write_string(w, "change",
			  !mounts->new_root  ? (plan->namespaces.path[NS_MNT] ? "joined" : "chroot")
			  : mounts->no_pivot ? "move"
					     : "pivot");
	for (i = 0; i < ARRAY_SIZE(propagations); i++) {
		if (propagations[i].flags == mounts->rootfs_propagation)
			json_write_string(w, "propagation", propagations[i].word);
	}
	json_write_bool(w, "readonly", mounts->root_readonly);
	json_end_object(w);
}

const struct room room_rootfs = {
	.name = "rootfs",
	.plan = rootfs_plan,
	.prepare = rootfs_prepare,
	.apply = rootfs_apply,
	.undo = rootfs_undo,
	.dump = rootfs_dump,
};
