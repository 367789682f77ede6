/*
 * The driver: a scope around the container's first process, and the group below it.
 *
 * A scope is made around a process that exists, so it comes after the clone and before the child
 * goes on; systemd moves the child, and /proc/PID/cgroup tells where to. On v1 systemd has groups
 * of some controllers only: in the other hierarchies the same path is made as cgroupfs.
 *
 * A scope goes by itself when its last process ends, and its name is free then. So that a
 * container which has ended never reaches another's processes, a unit is stopped only where its
 * description is the one that was given to it, and a group counts only while its directory is the
 * one that was noted (cgroup_forget_replaced()).
 */
#include "backends/linux/cgroup/systemd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/cgroup/internal.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"
#include "runtime/base/num.h"

#define CPU_PERIOD_US 100000 /* the kernel's */

/* ---- names ---- */

static int describe(const struct plan_cgroup *plan, struct cgroup_unit *unit, struct sbx_error *err)
{
	uint64_t mark;

	if (getrandom(&mark, sizeof(mark), 0) != sizeof(mark))
		return sbx_fail(err, SBX_E_SYSTEM, errno, "mark the scope");
	systemd_describe(plan->id, mark, unit->description);
	snprintf(unit->name, sizeof(unit->name), "%s", plan->unit);
	unit->user_manager = plan->user_manager;
	return 0;
}

/* A user's manager has groups in its own hierarchy and on cgroup2. */
static bool is_reached(const struct plan_cgroup *plan, const struct cgroup_mount *m)
{
	return !plan->user_manager || m->unified || strcmp(m->controllers, "name=systemd") == 0;
}

static int set_place(struct cgroup_hierarchy *h, const struct cgroup_mount *m, const char *scope,
		     const char *subgroup, struct sbx_error *err)
{
	int n = snprintf(h->path, sizeof(h->path), "%s%s%s", scope, *subgroup ? "/" : "", subgroup);

	if (n < 0 || (size_t)n >= sizeof(h->path))
		return sbx_fail(err, SBX_E_INVALID_CONFIG, ENAMETOOLONG, "use scope \"%s\"", scope);
	cgroup_set_mount(h, m);
	return 0;
}

int systemd_resolve(const struct plan_cgroup *plan, struct cgroup *cg, struct sbx_error *err)
{
	struct cgroup_layout layout;
	char scope[sizeof(cg->v[0].path)];
	size_t used;
	int rc = systemd_available(plan->user_manager, err);

	if (rc == 0)
		rc = describe(plan, &cg->unit, err);
	if (rc == 0)
		rc = cgroup_discover(0, &layout, err);
	if (rc < 0)
		return rc;
	rc = systemd_slice_path(plan->slice, scope, sizeof(scope));
	used = strlen(scope);
	if (rc < 0 || used + strlen(plan->unit) + 2 > sizeof(scope))
		return sbx_fail(err, SBX_E_INVALID_CONFIG, ENAMETOOLONG, "use slice \"%s\"",
				plan->slice);
	snprintf(scope + used, sizeof(scope) - used, "/%s", plan->unit);
	for (size_t i = 0; i < layout.n; i++) {
		if (!is_reached(plan, &layout.v[i]))
			continue;
		rc = set_place(&cg->v[cg->n++], &layout.v[i], scope, plan->subgroup, err);
		if (rc < 0)
			return rc;
	}
	cg->mode = cgroup_layout_mode(&layout);
	cgroup_split(cg, plan->ceiling);
	return cg->n ? 0 : sbx_fail(err, SBX_E_SYSTEM, ENOENT, "find a mounted cgroup hierarchy");
}

/* ---- the scope ---- */

static void write_bool(struct json_writer *w, const char *name, bool value)
{
	systemd_property_begin(w, name, "b", 0);
	json_write_bool(w, "value", value);
	json_end_object(w);
}

static void write_text(struct json_writer *w, const char *name, const char *value)
{
	systemd_property_begin(w, name, "s", 0);
	json_write_string(w, "value", value);
	json_end_object(w);
}

static void write_pid(struct json_writer *w, pid_t pid)
{
	systemd_property_begin(w, "PIDs", "au", 0);
	json_begin_array(w, "value");
	json_write_uint(w, NULL, (uint64_t)pid);
	json_end_array(w);
	json_end_object(w);
}

/* What every scope of ours has. A failed one is forgotten by systemd, as one that ended is. */
static void write_frame(struct json_writer *w, const struct cgroup *cg, pid_t pid)
{
	static const char *const accounting[] = {"CPUAccounting", "MemoryAccounting",
						 "IOAccounting", "TasksAccounting"};

	write_text(w, "Description", cg->unit.description);
	write_text(w, "CollectMode", "inactive-or-failed");
	write_bool(w, "Delegate", true);
	write_bool(w, "DefaultDependencies", false);
	for (size_t i = 0; i < ARRAY_SIZE(accounting); i++)
		write_bool(w, accounting[i], true);
	write_pid(w, pid);
}

int systemd_start(const struct plan_cgroup *plan, const struct cgroup *cg, pid_t pid,
		  struct sbx_error *err)
{
	cleanup_buf struct buf request = BUF_INIT;
	const struct systemd_cpu fresh = {.period_us = CPU_PERIOD_US};
	struct json_writer w;
	int rc = 0;

	systemd_begin(&w, &request, "start", &cg->unit);
	json_begin_array(&w, "properties");
	write_frame(&w, cg, pid);
	if (plan && plan->slice)
		write_text(&w, "Slice", plan->slice);
	if (plan)
		systemd_properties_write(&w, plan->resources, cg->mode == CGROUP_MODE_V2, &fresh);
	/* Later ones win over those above. */
	if (plan && plan->annotations)
		rc = systemd_annotations_write(&w, plan->annotations, err);
	json_end_array(&w);
	return rc < 0 ? rc : systemd_request(cg->unit.user_manager, &request, err);
}

/* ---- the group ---- */

/* Where systemd put the process; NULL: this hierarchy is none of systemd's for the scope. */
static const char *scope_of(const struct cgroup_mount *m, const char *unit)
{
	const char *own = cgroup_mount_own(m), *last = strrchr(own, '/');

	return last && strcmp(last + 1, unit) == 0 ? own : NULL;
}

static const char *find_scope(const struct cgroup_layout *layout, const char *unit)
{
	for (size_t i = 0; i < layout->n; i++)
		if (scope_of(&layout->v[i], unit))
			return scope_of(&layout->v[i], unit);
	return NULL;
}

static int note_inode(struct cgroup_hierarchy *h, struct sbx_error *err)
{
	char full[CGROUP_FULL_PATH_MAX];
	struct stat st;
	int rc = cgroup_file_path(h, "", full);

	if (rc == 0 && lstat(full, &st) < 0)
		rc = -errno;
	if (rc < 0)
		return cgroup_fail(err, h, -rc, "look at cgroup");
	h->inode = st.st_ino;
	return 0;
}

static int take_group(const struct plan_cgroup *plan, struct cgroup_hierarchy *h, bool is_scope,
		      struct sbx_error *err)
{
	int rc = 0;

	if (is_scope && !*plan->subgroup)
		h->made = true;
	else
		rc = cgroup_make_group(h, err);
	return rc < 0 ? rc : note_inode(h, err);
}

static int place(const struct plan_cgroup *plan, struct cgroup *cg, pid_t pid,
		 struct sbx_error *err)
{
	struct cgroup_layout layout;
	const char *scope;
	int rc = cgroup_discover(pid, &layout, err);

	if (rc < 0)
		return rc;
	scope = find_scope(&layout, cg->unit.name);
	if (!scope)
		return sbx_fail(err, SBX_E_SYSTEM, ENOENT,
				"find the process in scope \"%s\", which systemd made for it",
				cg->unit.name);
	cg->n = 0;
	for (size_t i = 0; i < layout.n; i++) {
		const struct cgroup_mount *m = &layout.v[i];
		const char *own = scope_of(m, cg->unit.name);

		if (!is_reached(plan, m) || (plan->user_manager && !own))
			continue;
		rc = set_place(&cg->v[cg->n], m, own ? own : scope, plan->subgroup, err);
		if (rc < 0)
			return rc;
		rc = take_group(plan, &cg->v[cg->n++], own != NULL, err);
		if (rc < 0)
			return rc;
	}
	cgroup_split(cg, plan->ceiling);
	return cgroup_make_payload(cg, err);
}

int systemd_adopt(const struct plan_cgroup *plan, struct cgroup *cg, pid_t pid,
		  struct sbx_error *err)
{
	const struct cgroup_hierarchy *unified;
	struct cgroup payload;
	int rc = systemd_start(plan, cg, pid, err);

	if (rc == 0)
		rc = place(plan, cg, pid, err);
	if (rc == 0)
		rc = cgroup_payload(cg, &payload, err);
	if (rc == 0)
		rc = cgroup_join(&payload, pid, false, err);
	if (rc < 0) {
		systemd_stop(cg, NULL);
		return rc;
	}
	/* Behind the move: a group that holds processes gives no controllers on. */
	unified = cgroup_find_unified(cg);
	if (unified && *plan->subgroup)
		cgroup_pass_controllers(unified);
	if (unified && unified->split)
		cgroup_pass_controllers(cgroup_find_unified(&payload));
	/* Those that systemd does not know are passed on from the root where they are needed. */
	if (unified)
		cgroup_enable_controllers(unified, CGROUP_MODE_HYBRID, plan->resources);
	return 0;
}

void cgroup_forget_replaced(struct cgroup *cg)
{
	for (size_t i = 0; i < cg->n; i++) {
		struct cgroup_hierarchy *h = &cg->v[i];
		char full[CGROUP_FULL_PATH_MAX];
		struct stat st;

		if (h->inode && (cgroup_file_path(h, "", full) < 0 || lstat(full, &st) < 0 ||
				 st.st_ino != h->inode))
			h->made = false;
	}
}

/* ---- a scope beside ---- */

void cgroup_name_scope(const struct cgroup *container, const char *unit, struct cgroup *ret)
{
	*ret = (struct cgroup){.manager = CGROUP_MANAGER_SYSTEMD, .mode = container->mode};
	snprintf(ret->unit.name, sizeof(ret->unit.name), "%s", unit);
	snprintf(ret->unit.description, sizeof(ret->unit.description), "sbx-runtime %s", unit);
	ret->unit.user_manager = container->unit.user_manager;
}

int cgroup_start_scope(const struct cgroup *cg, pid_t pid, struct sbx_error *err)
{
	return systemd_start(NULL, cg, pid, err);
}

int cgroup_stop_scope(const struct cgroup *cg, struct sbx_error *err)
{
	return systemd_stop(cg, err);
}

/* ---- later ---- */

static int64_t read_number(const struct cgroup_hierarchy *h, const char *file, int64_t otherwise)
{
	char text[32];
	int64_t value;

	return cgroup_read_file(h, file, text, sizeof(text)) > 0 &&
			       num_parse_i64(text, INT64_MIN, INT64_MAX, &value) == 0
		       ? value
		       : otherwise;
}

static struct systemd_cpu current_cpu(const struct cgroup *cg)
{
	const struct cgroup_hierarchy *h = cgroup_find_unified(cg);
	const struct cgroup_hierarchy *v1 = cgroup_find_v1(cg, "cpu");
	struct systemd_cpu now = {.period_us = CPU_PERIOD_US};
	char text[64];

	if (v1) {
		now.quota_us = read_number(v1, "cpu.cfs_quota_us", 0);
		now.period_us = (uint64_t)read_number(v1, "cpu.cfs_period_us", CPU_PERIOD_US);
		return now;
	}
	if (!h || cgroup_read_file(h, "cpu.max", text, sizeof(text)) <= 0)
		return now;
	/* The kernel wrote it, "max" for none. NOLINTNEXTLINE(cert-err34-c) */
	if (sscanf(text, "%" SCNi64 " %" SCNu64, &now.quota_us, &now.period_us) != 2)
		/* NOLINTNEXTLINE(cert-err34-c) */
		sscanf(text, "max %" SCNu64, &now.period_us);
	return now;
}

int systemd_update(const struct cgroup *cg, const struct oci_resources *resources,
		   struct sbx_error *err)
{
	const struct systemd_cpu now = current_cpu(cg);
	cleanup_buf struct buf request = BUF_INIT;
	struct json_writer w;
	size_t before;

	systemd_begin(&w, &request, "set", &cg->unit);
	json_begin_array(&w, "properties");
	before = request.len;
	systemd_properties_write(&w, resources, cg->mode == CGROUP_MODE_V2, &now);
	if (request.len == before)
		return 0;
	json_end_array(&w);
	return systemd_request(cg->unit.user_manager, &request, err);
}

int systemd_stop(const struct cgroup *cg, struct sbx_error *err)
{
	cleanup_buf struct buf request = BUF_INIT;
	struct json_writer w;

	systemd_begin(&w, &request, "stop", &cg->unit);
	return systemd_request(cg->unit.user_manager, &request, err);
}

/* What of the path is below the scope: "/container", or "". */
static const char *below_scope(const char *path, const char *unit)
{
	size_t len = strlen(unit);

	for (const char *at = path; (at = strchr(at, '/')) != NULL; at++)
		if (strncmp(at + 1, unit, len) == 0 && (!at[1 + len] || at[1 + len] == '/'))
			return at + 1 + len;
	return path + strlen(path);
}

/* It ended, and took its group along. */
static bool has_ended(const struct cgroup *cg)
{
	bool noted = false;

	for (size_t i = 0; i < cg->n; i++) {
		char full[CGROUP_FULL_PATH_MAX];

		noted |= cg->v[i].inode != 0;
		if (cgroup_file_path(&cg->v[i], "", full) < 0 || access(full, F_OK) == 0)
			return false;
	}
	return noted;
}

/* On v1, where systemd has no group of every controller. */
static void remove_empty(const struct cgroup_hierarchy *h)
{
	char full[CGROUP_FULL_PATH_MAX];

	if (!h->made && !h->unified && cgroup_file_path(h, "", full) == 0)
		rmdir(full);
}

int systemd_remove(const struct cgroup *cg, struct sbx_error *err)
{
	struct cgroup scope = *cg;
	struct sbx_error refused = {0};
	int stopped = has_ended(cg) ? 0 : systemd_stop(cg, &refused), rc;

	/* What is below the name now may be another's. */
	if (stopped == 0 && cg->mode == CGROUP_MODE_V2)
		return 0;
	for (size_t i = 0; i < scope.n; i++) {
		struct cgroup_hierarchy *h = &scope.v[i];

		/* left by a create that was killed */
		remove_empty(h);
		h->path[below_scope(h->path, cg->unit.name) - h->path] = '\0';
		remove_empty(h);
	}
	rc = cgroup_remove_groups(&scope, err);
	if (rc == 0 && stopped < 0)
		log_warning("the container's groups are removed, its scope is not: %s",
			    refused.message);
	return rc;
}

static int attach(const struct cgroup *cg, pid_t pid, struct sbx_error *err)
{
	cleanup_buf struct buf request = BUF_INIT;
	struct json_writer w;
	const char *below = cg->n ? below_scope(cg->v[0].path, cg->unit.name) : "";

	systemd_begin(&w, &request, "attach", &cg->unit);
	json_write_string(&w, "below", below);
	json_write_uint(&w, "pid", (uint64_t)pid);
	return systemd_request(cg->unit.user_manager, &request, err);
}

int cgroup_bring(const struct cgroup *cg, pid_t pid, struct sbx_error *err)
{
	int rc;

	if (!cg->unit.user_manager)
		return 0;
	rc = cgroup_join(cg, pid, false, err);
	return rc == -EACCES || rc == -EPERM ? attach(cg, pid, err) : rc;
}
