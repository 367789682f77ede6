/*
 * Making, entering and removing one container's group in every mounted hierarchy.
 *
 * Ten v1 hierarchies make this one of the dearest parts of a start, so each step is counted: one
 * mkdir(2) of the whole path (parents are made only when that says ENOENT), one open and one write
 * to enter. The parents that we make on v1's cpuset get cgroup.clone_children, so that the groups
 * below them are born with CPUs and memory nodes and need no copying.
 *
 * On v1 and hybrid every v1 hierarchy is joined and cgroup2 as well: managers look for the
 * container in each of them.
 */
#include "backends/linux/cgroup/internal.h"
#include "backends/linux/cgroup/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/path.h"

#define REMOVE_WAIT_MS 5000
#define CLAIM_TRIES    16

/* ---- one hierarchy ---- */

/* v1 only: a cpuset without CPUs or nodes takes no process. Older mounts with "noprefix" call the
 * files "cpus" and "mems". */
static int fill_cpuset_file(const struct cgroup_hierarchy *group,
			    const struct cgroup_hierarchy *parent, const char *file)
{
	char value[CGROUP_VALUE_MAX];
	ssize_t n = cgroup_read_file(group, file, value, sizeof(value));

	if (n == -ENOENT) {
		file += strlen("cpuset.");
		n = cgroup_read_file(group, file, value, sizeof(value));
	}
	if (n != 0)
		return n < 0 ? (int)n : 0;
	n = cgroup_read_file(parent, file, value, sizeof(value));
	if (n <= 0)
		return n < 0 ? (int)n : -ENOSPC;
	return cgroup_write_file(group, file, value);
}

static int fill_cpuset(const struct cgroup_hierarchy *group)
{
	struct cgroup_hierarchy parent = *group;
	char *slash = strrchr(parent.path, '/');
	int r;

	*slash = '\0';
	r = fill_cpuset_file(group, &parent, "cpuset.cpus");
	return r < 0 ? r : fill_cpuset_file(group, &parent, "cpuset.mems");
}

static bool is_cpuset_v1(const struct cgroup_hierarchy *h)
{
	return !h->unified && cgroup_list_has(h->controllers, "cpuset");
}

/* Make the groups above; the path is canonical. */
static int make_parents(const struct cgroup_hierarchy *h)
{
	struct cgroup_hierarchy part = *h;
	char *slash = part.path;

	while ((slash = strchr(slash + 1, '/')) != NULL) {
		char full[CGROUP_FULL_PATH_MAX];
		int r;

		*slash = '\0';
		r = cgroup_file_path(&part, "", full);
		if (r < 0)
			return r;
		if (mkdir(full, 0755) < 0) {
			if (errno != EEXIST)
				return -errno;
		} else if (is_cpuset_v1(h)) {
			r = fill_cpuset(&part);
			if (r < 0)
				return r;
			cgroup_write_file(&part, "cgroup.clone_children", "1");
		}
		*slash = '/';
	}
	return 0;
}

/* Until the group is this container's and no other's. */
static int claim(const struct cgroup_hierarchy *h, struct sbx_error *err)
{
	int r = cgroup_take(h, err);

	for (int tries = 0; r == -ENOENT && tries < CLAIM_TRIES; tries++) {
		r = make_parents(h);
		if (r == 0)
			r = cgroup_take(h, err);
		else if (r != -ENOENT)
			return cgroup_fail(err, h, -r, "make the parents of cgroup");
	}
	return r == -ENOENT ? cgroup_fail(err, h, ENOENT, "make cgroup") : r;
}

int cgroup_make_group(struct cgroup_hierarchy *h, struct sbx_error *err)
{
	int r = claim(h, err);

	if (r < 0)
		return r;
	h->made = true;
	if (is_cpuset_v1(h)) {
		r = fill_cpuset(h);
		if (r < 0)
			return cgroup_fail(err, h, -r, "copy the parent's CPUs to cgroup");
	}
	return 0;
}

/* ---- create ---- */

int cgroup_check_path(const char *path, struct sbx_error *err)
{
	if (strstr(path, "/" CGROUP_RESERVED_PREFIX))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/cgroupsPath",
				   "use cgroup path \"%s\": names that begin with \"%s\" are this "
				   "runtime's own",
				   path, CGROUP_RESERVED_PREFIX);
	if (path_is_canonical(path) && path[1] != '\0' &&
	    strlen(path) < sizeof(((struct cgroup_hierarchy *)NULL)->path))
		return 0;
	return sbx_fail_at(
		err, SBX_E_INVALID_CONFIG, "/linux/cgroupsPath",
		"use cgroup path \"%s\": it must name a group below the hierarchy's root, "
		"without \"..\" or empty parts",
		path);
}

void cgroup_set_mount(struct cgroup_hierarchy *h, const struct cgroup_mount *m)
{
	memcpy(h->controllers, m->controllers, sizeof(h->controllers));
	memcpy(h->mount, m->mount, sizeof(h->mount));
	h->unified = m->unified;
	h->split = false;
	h->made = false;
	h->inode = 0;
}

static int set_path(struct cgroup_hierarchy *h, const struct cgroup_mount *m, const char *base,
		    const char *path, struct sbx_error *err)
{
	int n = snprintf(h->path, sizeof(h->path), "%s%s", base[1] ? base : "", path);

	if (n < 0 || (size_t)n >= sizeof(h->path))
		return sbx_fail(err, SBX_E_INVALID_CONFIG, ENAMETOOLONG,
				"use cgroup path \"%s\" (at most %zu bytes)", path,
				sizeof(h->path) - 1);
	cgroup_set_mount(h, m);
	return 0;
}

enum cgroup_mode cgroup_layout_mode(const struct cgroup_layout *layout)
{
	bool v1 = false, v2 = false;

	for (size_t i = 0; i < layout->n; i++) {
		v1 |= !layout->v[i].unified;
		v2 |= layout->v[i].unified;
	}
	if (v1)
		return v2 ? CGROUP_MODE_HYBRID : CGROUP_MODE_V1;
	return v2 ? CGROUP_MODE_V2 : CGROUP_MODE_NONE;
}

/* ---- the profile's limits ---- */

void cgroup_split(struct cgroup *cg, const struct oci_resources *ceiling)
{
	const struct {
		const char *controller;
		bool asked;
	} rows[] = {
		{"pids", ceiling && ceiling->pids_limit.set},
		{"memory", ceiling && ceiling->memory},
		{"cpu", ceiling && ceiling->cpu},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct cgroup_hierarchy *h = cgroup_find_v1(cg, rows[i].controller);

		if (!h)
			h = cgroup_find_unified(cg);
		if (h && rows[i].asked)
			cg->v[h - cg->v].split = true;
	}
}

/* The group below a split one. */
static int below(const struct cgroup_hierarchy *h, struct cgroup_hierarchy *ret,
		 struct sbx_error *err)
{
	size_t len = strlen(h->path), room = sizeof(h->path) - len;

	*ret = *h;
	ret->split = ret->made = false;
	ret->inode = 0;
	if ((size_t)snprintf(ret->path + len, room, "/" CGROUP_PAYLOAD) >= room)
		return cgroup_fail(err, h, ENAMETOOLONG, "name a group below cgroup");
	return 0;
}

int cgroup_rmdir(const struct cgroup_hierarchy *h)
{
	struct cgroup_hierarchy group;
	char full[CGROUP_FULL_PATH_MAX];
	int r;

	if (h->split && below(h, &group, NULL) == 0 && cgroup_file_path(&group, "", full) == 0)
		rmdir(full);
	r = cgroup_file_path(h, "", full);
	return r == 0 && rmdir(full) < 0 ? -errno : r;
}

int cgroup_payload(const struct cgroup *cg, struct cgroup *ret, struct sbx_error *err)
{
	int r = 0;

	*ret = *cg;
	for (size_t i = 0; r == 0 && i < ret->n; i++)
		if (cg->v[i].split)
			r = below(&cg->v[i], &ret->v[i], err);
	return r;
}

int cgroup_make_payload(const struct cgroup *cg, struct sbx_error *err)
{
	struct cgroup_hierarchy group;
	int r = 0;

	for (size_t i = 0; r == 0 && i < cg->n; i++) {
		if (!cg->v[i].split)
			continue;
		r = below(&cg->v[i], &group, err);
		if (r == 0)
			r = cgroup_make_group(&group, err);
	}
	return r;
}

/* Nothing is in the groups above yet: with a process in it a group becomes a threaded one, below
 * which none can enter (cgroup-v2.rst, "Threads"). */
static int enable_payload(const struct plan_cgroup *plan, const struct cgroup *cg,
			  struct sbx_error *err)
{
	const struct cgroup_hierarchy *unified = cgroup_find_unified(cg);
	struct cgroup_hierarchy group;
	int r;

	if (!unified || !unified->split)
		return 0;
	r = below(unified, &group, err);
	if (r < 0)
		return r;
	cgroup_enable_controllers(&group, cg->mode, plan->ceiling);
	cgroup_enable_controllers(&group, cg->mode, plan->resources);
	return 0;
}

/* What a failed step leaves: groups that were made or taken over, all empty. */
static void remove_made(struct cgroup_hierarchy *v, size_t n)
{
	while (n-- > 0) {
		if (v[n].made)
			cgroup_rmdir(&v[n]);
		v[n].made = false;
	}
}

int cgroup_resolve(const struct plan_cgroup *plan, const struct host_facts *host,
		   struct cgroup *ret, struct sbx_error *err)
{
	struct cgroup_layout layout;
	bool below_own = !plan->path_given && (host->euid != 0 || !host->initial_userns);
	int r;

	ret->mode = CGROUP_MODE_NONE;
	ret->manager = plan->manager;
	ret->n = 0;
	ret->unit = (struct cgroup_unit){.name = ""};
	if (plan->manager == CGROUP_MANAGER_SYSTEMD)
		return systemd_resolve(plan, ret, err);
	if (plan->manager == CGROUP_MANAGER_DISABLED)
		return 0;
	r = cgroup_check_path(plan->path, err);
	if (r < 0)
		return r;
	r = cgroup_discover(0, &layout, err);
	if (r < 0)
		return r;
	if (layout.n == 0 && !plan->best_effort)
		return sbx_fail(err, SBX_E_SYSTEM, ENOENT,
				"find a mounted cgroup hierarchy (mount cgroups, or give "
				"--cgroup-manager=disabled)");
	for (size_t i = 0; i < layout.n; i++) {
		const struct cgroup_mount *m = &layout.v[i];

		r = set_path(&ret->v[i], m, below_own ? cgroup_mount_own(m) : "/", plan->path, err);
		if (r < 0)
			return r;
	}
	ret->mode = cgroup_layout_mode(&layout);
	ret->n = layout.n;
	cgroup_split(ret, plan->ceiling);
	return 0;
}

/* A process that enters would stop there, and the runtime wait for it without end. An empty group
 * below a frozen one says so itself. */
static int check_thawed(const struct cgroup *cg, struct sbx_error *err)
{
	const struct cgroup_hierarchy *h = cgroup_find_v1(cg, "freezer");
	bool is_v1 = h != NULL;
	char text[CGROUP_VALUE_MAX];

	if (!h)
		h = cgroup_find_unified(cg);
	if (!h ||
	    cgroup_read_file(h, is_v1 ? "freezer.parent_freezing" : "cgroup.events", text,
			     sizeof(text)) <= 0 ||
	    !(is_v1 ? text[0] == '1' : strstr(text, "frozen 1") != NULL))
		return 0;
	return sbx_fail(err, SBX_E_SYSTEM, EBUSY,
			"use cgroup \"%s\" of %s: a group above it is frozen", h->path,
			cgroup_hierarchy_name(h));
}

int cgroup_create(const struct plan_cgroup *plan, struct cgroup *cg, struct sbx_error *err)
{
	size_t kept = 0;
	int r;

	if (cg->manager == CGROUP_MANAGER_SYSTEMD)
		return 0;
	for (size_t i = 0; i < cg->n; i++) {
		struct cgroup_hierarchy *h = &cg->v[i];

		r = cgroup_make_group(h, plan->best_effort ? NULL : err);
		if (r == 0) {
			if (h->unified)
				cgroup_enable_controllers(h, cg->mode, plan->resources);
			if (kept != i)
				cg->v[kept] = *h;
			kept++;
			continue;
		}
		if (!plan->best_effort) {
			remove_made(cg->v, i + 1);
			return r;
		}
		remove_made(h, 1);
		log_debug("cgroup \"%s\" of %s is left out: %s", h->path, cgroup_hierarchy_name(h),
			  strerror(-r));
	}
	cg->n = kept;
	r = check_thawed(cg, err);
	if (r == 0)
		r = cgroup_make_payload(cg, err);
	if (r == 0)
		r = enable_payload(plan, cg, err);
	if (r < 0)
		remove_made(cg->v, cg->n);
	return r;
}

int cgroup_adopt(const struct plan_cgroup *plan, struct cgroup *cg, pid_t pid,
		 struct sbx_error *err)
{
	return cg->manager == CGROUP_MANAGER_SYSTEMD ? systemd_adopt(plan, cg, pid, err) : 0;
}

int cgroup_of_process(pid_t pid, struct cgroup *ret, struct sbx_error *err)
{
	struct cgroup_layout layout;
	int r = cgroup_discover(pid, &layout, err);

	if (r < 0)
		return r;
	ret->manager = CGROUP_MANAGER_CGROUPFS;
	ret->unit = (struct cgroup_unit){.name = ""};
	ret->mode = cgroup_layout_mode(&layout);
	ret->n = 0;
	for (size_t i = 0; i < layout.n; i++) {
		r = set_path(&ret->v[i], &layout.v[i], "/", cgroup_mount_own(&layout.v[i]), err);
		if (r < 0)
			return r;
	}
	ret->n = layout.n;
	return 0;
}

/* ---- enter ---- */

void cgroup_entry_close(struct cgroup_entry *entry)
{
	for (size_t i = 0; i < entry->n; i++)
		cleanup_close_fd(&entry->fd[i]);
	entry->n = 0;
}

int cgroup_entry_open(const struct cgroup *cg, struct cgroup_entry *entry, struct sbx_error *err)
{
	entry->cg = cg;
	entry->n = 0;
	for (size_t i = 0; i < cg->n; i++) {
		const struct cgroup_hierarchy *h = &cg->v[i];
		int fd = cgroup_open_file(h, h->unified ? "cgroup.procs" : "tasks", O_WRONLY);

		if (fd < 0) {
			cgroup_entry_close(entry);
			return cgroup_fail(err, h, -fd, "open for entering cgroup");
		}
		entry->fd[entry->n++] = fd;
	}
	return 0;
}

int cgroup_entry_use(const struct cgroup_entry *entry, struct sbx_error *err)
{
	for (size_t i = 0; i < entry->n; i++) {
		ssize_t n;

		do
			n = write(entry->fd[i], "0", 1);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return cgroup_fail(err, &entry->cg->v[i], errno, "enter cgroup");
	}
	return 0;
}

int cgroup_open_for_clone(const struct cgroup *cg)
{
	char type[32];

	if (cg->mode != CGROUP_MODE_V2 || cg->n != 1 || cg->manager == CGROUP_MANAGER_SYSTEMD)
		return -ENOTSUP;
	/* below a threaded group: entering says why it cannot be */
	if (cgroup_read_file(&cg->v[0], "cgroup.type", type, sizeof(type)) <= 0 ||
	    strcmp(type, "domain") != 0)
		return -ENOTSUP;
	return cgroup_open_dir(&cg->v[0]);
}

int cgroup_join(const struct cgroup *cg, pid_t pid, bool unified_done, struct sbx_error *err)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	for (size_t i = 0; i < cg->n; i++) {
		const struct cgroup_hierarchy *h = &cg->v[i];
		int r;

		if (h->unified && unified_done)
			continue;
		r = cgroup_write_file(h, "cgroup.procs", text);
		if (r < 0)
			return cgroup_fail(err, h, -r, "move the process into cgroup");
	}
	return 0;
}

int cgroup_open_child(const struct cgroup *parent, const char *name, bool make, struct cgroup *ret,
		      struct sbx_error *err)
{
	struct cgroup cg = *parent;

	for (size_t i = 0; i < cg.n; i++) {
		struct cgroup_hierarchy *h = &cg.v[i];
		size_t len = strlen(h->path);
		int n = snprintf(h->path + len, sizeof(h->path) - len, "/%s", name);
		int r = 0;

		if (n < 0 || (size_t)n >= sizeof(h->path) - len)
			r = sbx_fail(err, SBX_E_USAGE, ENAMETOOLONG, "use cgroup \"%s\"", name);
		else if (!path_is_canonical(h->path) || name[0] == '\0')
			r = sbx_fail(err, SBX_E_USAGE, EINVAL, "use cgroup \"%s\"", name);
		h->made = false;
		if (r == 0 && make)
			r = cgroup_make_group(h, err);
		if (r < 0) {
			cg.n = i;
			remove_made(cg.v, cg.n);
			return r;
		}
	}
	*ret = cg;
	return 0;
}

/* ---- remove ---- */

/* Wait until something may have changed: on cgroup2 the kernel tells when the last process left
 * (cgroup.events raises POLLPRI after a read), on v1 nothing does. */
static void wait_for_change(const struct cgroup_hierarchy *h, int wait_ms)
{
	cleanup_fd int fd = -EBADF;
	struct pollfd p = {.events = POLLPRI};
	char text[256];
	ssize_t n = 0;

	if (h->unified)
		fd = cgroup_open_file(h, "cgroup.events", O_RDONLY);
	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	p.fd = fd;
	if (strstr(text, "populated 1"))
		poll(&p, 1, REMOVE_WAIT_MS);
	else
		poll(NULL, 0, wait_ms);
}

static int remove_group(const struct cgroup_hierarchy *h, int64_t deadline_ms)
{
	char full[CGROUP_FULL_PATH_MAX];
	int r = cgroup_file_path(h, "", full);

	if (r < 0)
		return r;
	if (!h->made)
		return 0;
	for (int wait_ms = 1;;) {
		if (rmdir(full) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY && errno != ENOTEMPTY)
			return -errno;
		r = cgroup_remove_children(h);
		if (r == 0 && (rmdir(full) == 0 || errno == ENOENT))
			return 0;
		if (r < 0 && r != -EBUSY && r != -ENOTEMPTY && r != -ENOENT)
			return r;
		if (clock_now_ms() >= deadline_ms)
			return -EBUSY;
		wait_for_change(h, wait_ms);
		wait_ms = wait_ms < 32 ? wait_ms * 2 : 50;
	}
}

int cgroup_remove_groups(const struct cgroup *cg, struct sbx_error *err)
{
	int64_t deadline_ms = clock_now_ms() + REMOVE_WAIT_MS;
	int first = 0;

	/* cgroup2 first: it tells when it is empty, and the others are by then */
	for (size_t i = cg->n; i-- > 0;) {
		int r = remove_group(&cg->v[i], deadline_ms);

		if (r < 0 && first == 0)
			first = cgroup_fail(err, &cg->v[i], -r, "remove cgroup");
	}
	return first;
}

int cgroup_remove(const struct cgroup *cg, struct sbx_error *err)
{
	return cg->manager == CGROUP_MANAGER_SYSTEMD ? systemd_remove(cg, err)
						     : cgroup_remove_groups(cg, err);
}
