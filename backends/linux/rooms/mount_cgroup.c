/*
 * Control group views. On v1 and hybrid hosts each hierarchy is bound from the host's mount at the
 * container's own path: a bind shows the same files as a new mount inside a cgroup namespace would
 * and costs less. The tmpfs is attached first, because mounts cannot be attached below a detached
 * one before Linux 6.15, and becomes read-only last.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/cgroup/cgroup.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/mount_cgroup.h"
#include "backends/linux/mount_target.h"
#include "runtime/base/cleanup.h"

struct view {
	const struct run *run;
	uint64_t attrs; /* of every mount of the view */
	bool read_only;
	unsigned long propagation; /* 0: none asked */
};

static bool has_own_namespace(const struct plan *plan)
{
	return (plan->namespaces.new_flags & CLONE_NEWCGROUP) || plan->namespaces.path[NS_CGROUP];
}

/* A detached bind of the container's directory in one hierarchy. */
static int clone_group(const struct view *v, const struct cgroup_hierarchy *h,
		       struct sbx_error *err)
{
	char path[sizeof(h->mount) + sizeof(h->path)];
	cleanup_fd int fd = -EBADF;
	int r;

	snprintf(path, sizeof(path), "%s%s", h->mount, h->path);
	fd = mount_tree_clone(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "clone \"%s\"", path);
	r = mount_tree_set(fd, false, v->attrs, 0);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "set attributes of \"%s\"", path);
	if (v->propagation) {
		r = mount_tree_set_propagation(fd, v->propagation);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "set propagation of \"%s\"", path);
	}
	return take_fd(&fd);
}

/* ---- unified ---- */

static int make_unified(const struct view *v, struct sbx_error *err)
{
	const struct cgroup *cg = v->run->payload;
	int fd = -EPERM;

	if (has_own_namespace(v->run->plan)) {
		fd = mount_new_filesystem("cgroup2", "cgroup2", NULL, v->attrs);
		if (fd >= 0 || (fd != -EPERM && fd != -EBUSY) || !cg || cg->n == 0)
			return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "mount cgroup2") : fd;
	}
	if (cg && cg->n > 0)
		return clone_group(v, &cg->v[0], err);
	fd = mount_new_filesystem("tmpfs", "cgroup", "mode=555", v->attrs | MOUNT_ATTR_RDONLY);
	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "mount tmpfs") : fd;
}

/* ---- v1 and hybrid ---- */

static int mount_hierarchy(const struct view *v, int dir_fd, const struct cgroup_hierarchy *h,
			   const char *name, struct sbx_error *err)
{
	cleanup_fd int group = clone_group(v, h, err), target = -EBADF;

	if (group < 0)
		return group;
	if (mkdirat(dir_fd, name, 0755) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make directory \"%s\"", name);
	target = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (target < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open directory \"%s\"", name);
	return mount_target_attach(group, target, err);
}

/* cpu -> cpu,cpuacct: programs look for the controller's own name. */
static int link_controllers(int dir_fd, const struct cgroup_hierarchy *h, const char *name,
			    struct sbx_error *err)
{
	char list[sizeof(h->controllers)], *save = NULL, *word;

	memcpy(list, h->controllers, sizeof(list));
	list[sizeof(list) - 1] = '\0';
	for (word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (strncmp(word, "name=", 5) == 0 || strcmp(word, name) == 0)
			continue;
		if (symlinkat(name, dir_fd, word) < 0 && errno != EEXIST)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "link \"%s\"", word);
	}
	return 0;
}

static int fill_hierarchies(const struct view *v, int dir_fd, struct sbx_error *err)
{
	const struct cgroup *cg = v->run->payload;
	size_t i;
	int r;

	for (i = 0; cg && i < cg->n; i++) {
		const char *name = strrchr(cg->v[i].mount, '/');

		name = name ? name + 1 : cg->v[i].mount;
		r = mount_hierarchy(v, dir_fd, &cg->v[i], name, err);
		if (r == 0)
			r = link_controllers(dir_fd, &cg->v[i], name, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int mount_hierarchies(const struct view *v, int target_fd, struct sbx_error *err)
{
	cleanup_fd int dir = mount_new_filesystem("tmpfs", "cgroup", "mode=755",
						  v->attrs & ~(uint64_t)MOUNT_ATTR_RDONLY);
	int r;

	if (dir < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -dir, "mount tmpfs");
	r = mount_target_attach(dir, target_fd, err);
	if (r == 0)
		r = fill_hierarchies(v, dir, err);
	if (r < 0 || !v->read_only)
		return r;
	r = mount_tree_set(dir, false, MOUNT_ATTR_RDONLY, 0);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "make read-only") : 0;
}

int mount_cgroup_view(const struct run *run, const struct plan_mount *m, int target_fd,
		      struct sbx_error *err)
{
	struct view v = {
		.run = run,
		.attrs = m->attr_set | m->attr_set_recursive,
		.propagation = m->propagation,
	};
	cleanup_fd int fd = -EBADF;

	if (!run->plan->host->privileged && !has_own_namespace(run->plan))
		v.attrs |= MOUNT_ATTR_RDONLY;
	v.read_only = (v.attrs & MOUNT_ATTR_RDONLY) != 0;
	if (run->plan->host->cgroup_mode != CGROUP_MODE_V2)
		return mount_hierarchies(&v, target_fd, err);
	fd = make_unified(&v, err);
	return fd < 0 ? fd : mount_target_attach(fd, target_fd, err);
}
