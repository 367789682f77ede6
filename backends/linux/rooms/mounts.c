/*
 * The mounts of config.json, in list order.
 *
 * plan() decodes each entry into what the kernel will be asked; prepare(), in the runtime, opens
 * the bind sources that the child could not reach or may not map; apply(), in the child, builds
 * each mount detached, sets its attributes there and attaches it to its target. A source that lies
 * inside the root is opened in the child and only when its turn comes, so that a mount may use what
 * an earlier one brought. Mounts that are filled later (a tmpfs, /dev) become read-only after the
 * change of root; their descriptors wait in run->mount_fds until then.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/device_nodes.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/mount_cgroup.h"
#include "backends/linux/mount_copy.h"
#include "backends/linux/mount_idmap.h"
#include "backends/linux/mount_make.h"
#include "backends/linux/mount_options.h"
#include "backends/linux/mount_source.h"
#include "backends/linux/mount_target.h"
#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/path.h"

/* ---- plan ---- */

/* File systems without a device behind: read-only is the mount's attribute alone, their superblock
 * may be shared or is filled by us. labelled: takes context= (mount(8)). late: filled by us.
 * fallback: what to bind where a user namespace may not mount a new one. */
static const struct {
	const char *type;
	bool labelled, late;
	const char *fallback;
} pseudo[] = {
	{"proc", false, false, NULL},
	{"sysfs", false, false, "/sys"},
	{"tmpfs", true, true, NULL},
	{"devpts", true, false, NULL},
	{"mqueue", false, false, "/dev/mqueue"},
};

static int find_pseudo(const char *type)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pseudo); i++) {
		if (strcmp(type, pseudo[i].type) == 0)
			return (int)i;
	}
	return -1;
}

/* A new sysfs needs the network namespace's owner: without an own one the host's tree is shown. */
static void plan_sysfs_as_bind(struct plan_mount *m)
{
	m->kind = MOUNT_BIND;
	m->source = "/sys";
	m->data = NULL;
	m->recursive = true;
	m->attr_set_recursive |= MOUNT_ATTR_RDONLY;
	m->super_flags = 0;
}

static int plan_filesystem(struct plan *plan, struct plan_mount *m, struct sbx_error *err)
{
	const struct plan_namespaces *ns = &plan->namespaces;
	bool userns = room_has_userns(plan);
	/* the user namespace that is joined may own a network that is */
	bool own_net = (ns->new_flags & CLONE_NEWNET) || (ns->path[NS_USER] && ns->path[NS_NET]);
	int row = find_pseudo(m->type);
	size_t len;

	if (strcmp(m->type, "sysfs") == 0 && userns && !own_net) {
		plan_sysfs_as_bind(m);
		return 0;
	}
	if (strcmp(m->type, "devpts") == 0 && userns && m->data &&
	    !room_maps_id(&ns->gid_maps, 5) && mount_data_value(m->data, "gid", &len)) {
		m->data = mount_data_without(plan->arena, m->data, "gid");
		if (!m->data)
			return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "plan mounts");
	}
	m->inherit_mode = strcmp(m->type, "tmpfs") == 0 && !mount_data_value(m->data, "mode", &len);
	if (row < 0 || pseudo[row].labelled)
		m->label = plan->spec->linux_.mount_label;
	if (m->label && (!*m->label || mount_data_value(m->data, "context", &len)))
		m->label = NULL;
	if (row >= 0) {
		m->super_flags &= ~(unsigned long)MS_RDONLY;
		m->fallback = pseudo[row].fallback;
	}
	if ((m->attr_set & MOUNT_ATTR_RDONLY) &&
	    ((row >= 0 && pseudo[row].late) || strcmp(m->destination, "/dev") == 0)) {
		m->attr_set &= ~(uint64_t)MOUNT_ATTR_RDONLY;
		m->read_only_late = true;
	}
	return 0;
}

static int plan_bind(struct plan *plan, struct plan_mount *m, const char *pointer,
		     struct sbx_error *err)
{
	const struct plan_namespaces *ns = &plan->namespaces;

	if (m->remount)
		return 0;
	/* below the host's /sys stand the cgroups that the caller may write: CVE-2023-25809 */
	if (m->recursive && (m->attr_set & MOUNT_ATTR_RDONLY) && path_is_below(m->source, "/sys") &&
	    (room_has_userns(plan) || !plan->host->privileged))
		m->attr_set_recursive |= MOUNT_ATTR_RDONLY;
	if (m->source[0] != '/') {
		m->source = arena_printf(plan->arena, "%s/%s", plan->options.bundle, m->source);
		if (!m->source)
			return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "plan mounts");
	}
	if (m->idmap) {
		if (!plan->host->privileged)
			return sbx_fail_at(err, SBX_E_UNSUPPORTED, pointer,
					   "mount on \"%s\": an idmapped mount needs host root",
					   m->destination);
		if (!m->uid_maps->n && !m->gid_maps->n) {
			m->uid_maps = &ns->uid_maps;
			m->gid_maps = &ns->gid_maps;
		}
		if (!m->uid_maps->n || !m->gid_maps->n)
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
					   "mount on \"%s\": an idmapped mount needs uid and gid "
					   "mappings, its own or the container's",
					   m->destination);
		m->source_by_parent = true;
	} else if (!plan->options.host_root && path_is_below(m->source, plan->options.rootfs)) {
		m->source_inside = m->source + strlen(plan->options.rootfs);
	} else {
		m->source_by_parent = room_has_userns(plan) && plan->host->privileged;
	}
	return 0;
}

static int plan_mount(struct plan *plan, size_t i, struct plan_mount *m, struct sbx_error *err)
{
	const struct oci_mount *mount = &plan->spec->mounts[i];
	char destination[PATH_MAX], pointer[64];
	int r;

	snprintf(pointer, sizeof(pointer), "/mounts/%zu", i);
	if (!mount->destination ||
	    path_normalize(mount->destination, destination, sizeof(destination)) < 0)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "mount %zu: destination is missing or too long", i);
	*m = (struct plan_mount){
		.index = i,
		.destination = arena_strdup(plan->arena, destination),
		.type = mount->type ? mount->type : "bind",
		.source = mount->source,
		.uid_maps = &mount->uid_maps,
		.gid_maps = &mount->gid_maps,
	};
	if (!m->destination)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "plan mounts");
	r = mount_options_decode(plan->arena, mount, pointer, m, err);
	if (r < 0)
		return r;
	r = mount_target_check(m, pointer, err);
	if (r == 0 && m->kind == MOUNT_FILESYSTEM && !m->remount)
		r = bundle_bounds_check_type(plan->policy->bounds, m->type, err);
	if (r < 0)
		return r;
	if (m->kind == MOUNT_FILESYSTEM)
		return plan_filesystem(plan, m, err);
	return m->kind == MOUNT_BIND ? plan_bind(plan, m, pointer, err) : 0;
}

static int mounts_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	struct plan_mounts *mounts = &plan->mounts;
	size_t i, n = plan->spec->mounts_n;
	int r;

	(void)report;
	if (n == 0 || plan->namespaces.path[NS_MNT])
		return 0; /* a joined mount namespace is taken as it is: rootfs.c */
	if (!mounts->new_root)
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/mounts",
				   "mounts need a mount namespace of the container");
	mounts->v = arena_alloc_array(plan->arena, n, sizeof(*mounts->v));
	if (!mounts->v)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "plan mounts");
	for (i = 0; i < n; i++) {
		r = plan_mount(plan, i, &mounts->v[i], err);
		if (r < 0)
			return r;
	}
	mounts->n = n;
	return 0;
}

/* ---- prepare: in the runtime ---- */

/*
 * A tree cloned in the runtime's mount namespace is a peer of the host's mounts, where the child's
 * own copy would be at most a slave of them: cut it off before it is handed over.
 */
static int clone_source(struct run *run, const struct plan_mount *m, int source_fd,
			struct sbx_error *err)
{
	unsigned long slave = run->plan->mounts.rootfs_propagation & (MS_SLAVE | MS_SHARED);
	cleanup_fd int fd = mount_tree_clone_fd(source_fd, m->recursive), ns_fd = -EBADF;
	int r;

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "clone source \"%s\"", m->source);
	r = mount_tree_set_propagation(fd, (slave ? MS_SLAVE : MS_PRIVATE) | MS_REC);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "set propagation of \"%s\"", m->source);
	if (!m->idmap)
		return take_fd(&fd);
	ns_fd = mount_idmap_open(run->proc_fd, m->uid_maps, m->gid_maps, err);
	if (ns_fd < 0)
		return ns_fd;
	r = mount_tree_set_idmap(fd, m->idmap_recursive, ns_fd);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r,
				"map ids of \"%s\" (does its file system support it?)", m->source);
	return take_fd(&fd);
}

/* What the profile's view or the administrator's bounds depend on. */
static bool judges_sources(const struct plan *plan)
{
	return plan->view.kind != VIEW_NONE || plan->policy->bounds;
}

/* A node that any container has is no device of the host. */
static bool is_device(const struct stat *st)
{
	if (!S_ISCHR(st->st_mode) && !S_ISBLK(st->st_mode))
		return false;
	for (size_t i = 0; i < device_nodes_n; i++)
		if (device_node_is(&device_nodes[i], st))
			return false;
	return true;
}

static int judge_source(struct run *run, size_t i, int source, struct sbx_error *err)
{
	const struct bundle_bounds *bounds = run->plan->policy->bounds;
	struct mount_source *noted = &run->mount_sources[i];
	int r = mount_source_note(run->plan->arena, run->proc_fd, source, noted, err);

	if (r == 0)
		r = bundle_bounds_check_source(bounds, noted->path, err);
	if (r == 0 && is_device(&noted->st))
		r = bundle_bounds_check_device(bounds, noted->path, err);
	return r;
}

static int prepare_source(struct run *run, size_t i, struct sbx_error *err)
{
	const struct plan_mount *m = &run->plan->mounts.v[i];
	cleanup_fd int source = -EBADF;
	int r = 0;

	if (m->kind != MOUNT_BIND || m->remount || m->source_inside ||
	    !(m->source_by_parent || run->mount_sources))
		return 0;
	source = mount_source_open(run->rootfs_fd, m);
	if (source < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -source, "open source \"%s\"", m->source);
	if (run->mount_sources)
		r = judge_source(run, i, source, err);
	if (r < 0 || !m->source_by_parent)
		return r;
	r = clone_source(run, m, source, err);
	if (r >= 0)
		run->mount_fds[i] = r;
	return r < 0 ? r : 0;
}

static int mounts_prepare(struct run *run, struct sbx_error *err)
{
	const struct plan_mounts *mounts = &run->plan->mounts;
	struct arena *arena = run->plan->arena;
	size_t i;

	if (mounts->n == 0 || run->is_exec)
		return 0;
	run->mount_fds = arena_alloc_array(arena, mounts->n, sizeof(int));
	run->mount_ids = arena_alloc_array(arena, mounts->n, sizeof(uint64_t));
	if (judges_sources(run->plan))
		run->mount_sources =
			arena_alloc_array(arena, mounts->n, sizeof(*run->mount_sources));
	if (!run->mount_fds || !run->mount_ids ||
	    (judges_sources(run->plan) && !run->mount_sources))
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "prepare mounts");
	for (i = 0; i < mounts->n; i++)
		run->mount_fds[i] = -EBADF;
	for (i = 0; i < mounts->n; i++) {
		if (prepare_source(run, i, err) < 0)
			return sbx_prefix(err, "mount on \"%s\"", mounts->v[i].destination);
	}
	return 0;
}

static void mounts_undo(struct run *run)
{
	size_t i;

	for (i = 0; run->mount_fds && i < run->plan->mounts.n; i++)
		cleanup_close_fd(&run->mount_fds[i]);
}

/* ---- apply ---- */

/* copy-symlink: a source that is a link becomes the same link. 1: done, 0: no link. */
static int copy_source_link(const struct run *run, const struct plan_mount *m,
			    struct sbx_error *err)
{
	char text[PATH_MAX], have[PATH_MAX], name[NAME_MAX + 1];
	ssize_t n = readlink(m->source, text, sizeof(text) - 1), k;
	cleanup_fd int parent = -EBADF;

	if (n < 0)
		return 0;
	text[n] = '\0';
	parent = path_open_parent_in_root(run->rootfs_fd, m->destination, name, sizeof(name));
	if (parent < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -parent, "open the destination's parent");
	if (symlinkat(text, parent, name) == 0)
		return 1;
	if (errno != EEXIST)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "copy the link");
	k = readlinkat(parent, name, have, sizeof(have));
	if (k != n || memcmp(have, text, (size_t)n) != 0)
		return sbx_fail(err, SBX_E_SYSTEM, EEXIST, "copy the link");
	return 1;
}

static int attach(const struct plan_mount *m, int mount_fd, int target_fd, struct sbx_error *err)
{
	int r;

	if (m->propagation) {
		r = mount_tree_set_propagation(mount_fd, m->propagation);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "set propagation");
	}
	return mount_target_attach(mount_fd, target_fd, err);
}

size_t room_mount_of(const struct plan_mounts *mounts, const char *path)
{
	size_t i;

	for (i = mounts->n; i-- > 0;) {
		if (!mounts->v[i].remount && path_is_below(path, mounts->v[i].destination))
			return i;
	}
	return mounts->n;
}

static bool has_path_below(const struct strings *list, const char *destination)
{
	for (size_t i = 0; i < list->n; i++)
		if (path_is_below(list->v[i], destination))
			return true;
	return false;
}

/*
 * For room_mask, which hides what is in this mount and must not look for it by a path that the
 * image may exchange meanwhile. A view, built of other mounts, puts what stands for it in its place
 * (view_mounts_hand_over()).
 */
static void keep_for_mask(struct run *run, size_t i, int *fd)
{
	const struct plan_mounts *mounts = &run->plan->mounts;
	const char *destination = mounts->v[i].destination;

	if (has_path_below(&mounts->masked, destination) ||
	    has_path_below(&mounts->readonly, destination))
		run->mount_fds[i] = take_fd(fd);
}

/* Without mount ids (before Linux 5.8) none is known as the container's own. */
static void note_id(struct run *run, size_t i, int fd)
{
	if (run->plan->view.kind != VIEW_NONE)
		fd_mount_id(fd, &run->mount_ids[i]);
}

static int apply_filesystem(struct run *run, size_t i, struct sbx_error *err)
{
	const struct plan_mount *m = &run->plan->mounts.v[i];
	cleanup_fd int target = -EBADF, fd = -EBADF;
	mode_t covered = 0;
	struct stat st;
	bool existed;
	int r;

	target = mount_target_open(run->rootfs_fd, m, -EBADF, &existed, err);
	if (target < 0)
		return target;
	if (m->inherit_mode && existed) {
		if (fstat(target, &st) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "stat the destination");
		covered = st.st_mode;
	}
	fd = mount_make_filesystem(m, covered, err);
	if (fd < 0)
		return fd;
	if (m->copy_up && existed) {
		r = mount_copy_tree(target, fd, err);
		if (r < 0)
			return r;
	}
	r = attach(m, fd, target, err);
	if (r < 0)
		return r;
	note_id(run, i, fd);
	if (m->read_only_late)
		run->mount_fds[i] = take_fd(&fd);
	else
		keep_for_mask(run, i, &fd);
	return 0;
}

/* The descriptors go to done. */
static int apply_bind(struct run *run, size_t i, struct fd_batch *done, struct sbx_error *err)
{
	const struct plan_mount *m = &run->plan->mounts.v[i];
	cleanup_fd int target = -EBADF, fd = -EBADF;
	bool existed;
	int r;

	if (m->copy_symlink) {
		r = copy_source_link(run, m, err);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	fd = mount_make_bind(run, i, err);
	if (fd < 0)
		return fd;
	target = mount_target_open(run->rootfs_fd, m, fd, &existed, err);
	if (target < 0)
		return target;
	r = attach(m, fd, target, err);
	if (r < 0)
		return r;
	note_id(run, i, fd);
	keep_for_mask(run, i, &fd);
	fd_batch_add(done, take_fd(&fd));
	fd_batch_add(done, take_fd(&target));
	return 0;
}

static int apply_remount(struct run *run, size_t i, struct sbx_error *err)
{
	const struct plan_mount *m = &run->plan->mounts.v[i];
	cleanup_fd int fd = path_open_in_root(run->rootfs_fd, m->destination, O_PATH, 0);

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "open the destination");
	return mount_set_bind_attributes(m, fd, err);
}

static int apply_cgroup(struct run *run, size_t i, struct sbx_error *err)
{
	const struct plan_mount *m = &run->plan->mounts.v[i];
	cleanup_fd int target = -EBADF;
	bool existed;

	target = mount_target_open(run->rootfs_fd, m, -EBADF, &existed, err);
	return target < 0 ? target : mount_cgroup_view(run, m, target, err);
}

static int apply_all(struct run *run, struct sbx_error *err)
{
	const struct plan_mounts *mounts = &run->plan->mounts;
	struct fd_batch done = {0};
	mode_t mask = umask(0);
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < mounts->n; i++) {
		const struct plan_mount *m = &mounts->v[i];

		if (m->remount)
			r = apply_remount(run, i, err);
		else if (m->kind == MOUNT_BIND)
			r = apply_bind(run, i, &done, err);
		else if (m->kind == MOUNT_CGROUP)
			r = apply_cgroup(run, i, err);
		else
			r = apply_filesystem(run, i, err);
		if (r < 0)
			r = sbx_prefix(err, "mount \"%s\" on \"%s\"",
				       m->kind == MOUNT_BIND && m->source ? m->source : m->type,
				       m->destination);
	}
	umask(mask);
	fd_batch_close(&done);
	return r;
}

int room_mounts_make_read_only(struct run *run, struct sbx_error *err)
{
	const struct plan_mounts *mounts = &run->plan->mounts;
	size_t i;
	int r;

	for (i = 0; i < mounts->n; i++) {
		if (run->mount_fds[i] < 0 || !mounts->v[i].read_only_late)
			continue;
		r = mount_tree_set(run->mount_fds[i], false, MOUNT_ATTR_RDONLY, 0);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "make \"%s\" read-only",
					mounts->v[i].destination);
	}
	return 0;
}

static int mounts_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	if (run->plan->mounts.n == 0)
		return 0;
	if (stage == STAGE_ID_MAPS) {
		mounts_undo(run); /* the child has its own copies of the sources */
		return 0;
	}
	if (!run->mount_fds)
		return sbx_fail(err, SBX_E_INTERNAL, 0, "mounts were not prepared");
	if (stage == STAGE_MOUNTS)
		return apply_all(run, err);
	/* a view has it done before it clones them */
	return stage == STAGE_PIVOT && run->plan->view.kind == VIEW_NONE
		       ? room_mounts_make_read_only(run, err)
		       : 0;
}

/* ---- dump ---- */

static void mounts_dump(const struct plan *plan, struct json_writer *w)
{
	static const char *const kinds[] = {"filesystem", "bind", "cgroup"};
	size_t i;

	json_begin_array(w, "mounts");
	for (i = 0; i < plan->mounts.n; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		json_begin_object(w, NULL);
		json_write_string(w, "destination", m->destination);
		json_write_string(w, "kind", m->remount ? "remount" : kinds[m->kind]);
		if (m->kind != MOUNT_BIND)
			json_write_string(w, "type", m->type);
		if (m->source)
			json_write_string(w, "source", m->source);
		if (m->kind == MOUNT_BIND)
			json_write_bool(w, "recursive", m->recursive);
		json_write_uint(w, "attrSet", m->attr_set);
		json_write_uint(w, "attrClear", m->attr_clear);
		json_write_uint(w, "attrSetRecursive", m->attr_set_recursive);
		json_write_uint(w, "attrClearRecursive", m->attr_clear_recursive);
		json_write_bool(w, "readOnlyLate", m->read_only_late);
		if (m->data)
			json_write_string(w, "data", m->data);
		json_end_object(w);
	}
	json_end_array(w);
}

const struct room room_mounts = {
	.name = "mounts",
	.plan = mounts_plan,
	.prepare = mounts_prepare,
	.apply = mounts_apply,
	.undo = mounts_undo,
	.dump = mounts_dump,
};
