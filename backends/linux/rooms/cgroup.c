/*
 * The control group of a container: a thin room, the work is in cgroup/.
 *
 * The group is made while the runtime prepares, before there is a child; its limits and the device
 * filter stand before the child goes on; the child enters by itself, which is much cheaper than
 * being moved, as its first step and before it makes a cgroup namespace. exec enters in the same
 * way.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "backends/linux/cgroup/cgroup.h"
#include "backends/linux/room.h"

/* Any limit but the device list, which a rootless runtime cannot and need not set. */
static bool has_limits(const struct oci_resources *r)
{
	return r && (r->cpu || r->memory || r->pids_limit.set || r->block_io || r->hugepages_n ||
		     r->network || r->rdma_n || r->unified.n);
}

static int plan_group(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_linux *linux_ = &plan->spec->linux_;
	struct plan_cgroup *cg = &plan->cgroup;
	const char *given = linux_->cgroups_path;

	(void)report;
	cg->manager = plan->options.cgroup_manager;
	cg->resources = linux_->resources;
	cg->path_given = given && *given;
	if (cg->manager == CGROUP_MANAGER_SYSTEMD)
		return sbx_fail(
			err, SBX_E_UNSUPPORTED, 0,
			"use the systemd cgroup manager: this release writes cgroupfs only");
	if (cg->path_given)
		cg->path = arena_printf(plan->arena, "%s%s", *given == '/' ? "" : "/", given);
	else
		cg->path = arena_printf(plan->arena, "/sbx/%s", plan->options.id);
	if (!cg->path)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "plan the cgroup");
	if (cg->path_given && cg->manager != CGROUP_MANAGER_DISABLED) {
		int rc = cgroup_check_path(cg->path, err);

		if (rc < 0)
			return rc;
	}
	cg->best_effort = (plan->host->euid != 0 || !plan->host->initial_userns) &&
			  !cg->path_given && !has_limits(cg->resources);
	return 0;
}

/* ---- in the runtime ---- */

static int open_entry(struct run *run, struct sbx_error *err)
{
	struct cgroup_entry *entry = arena_alloc(run->plan->arena, sizeof(*entry));

	if (!entry)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "prepare to enter the cgroup");
	*room_slot(run, &room_cgroup) = entry;
	return cgroup_entry_open(run->cgroup, entry, err);
}

static int make(struct run *run, struct sbx_error *err)
{
	int rc = cgroup_check_resources(run->cgroup, run->plan->cgroup.resources, err);

	if (rc == 0)
		rc = cgroup_create(&run->plan->cgroup, run->cgroup, err);
	return rc < 0 ? rc : open_entry(run, err);
}

/* exec: the group of the container, or, where that is gone or closed to us, the one that its first
 * process is in now. */
static int prepare_exec(struct run *run, struct sbx_error *err)
{
	struct cgroup *now;
	int rc = open_entry(run, err);

	if (rc == 0)
		return 0;
	now = arena_alloc(run->plan->arena, sizeof(*now));
	if (!now)
		return rc;
	rc = cgroup_of_process(run->container_pid, now, err);
	if (rc < 0)
		return rc;
	run->cgroup = now;
	return open_entry(run, err);
}

static int prepare(struct run *run, struct sbx_error *err)
{
	return run->is_exec && run->cgroup && run->cgroup->n > 0 ? prepare_exec(run, err) : 0;
}

/* Only the host's root may filter devices. Rootless, device nodes are bind mounts of the host's,
 * and what its files' modes allow. */
static bool may_filter_devices(const struct host_facts *host)
{
	return host->privileged && host->initial_userns;
}

static int limit(struct run *run, struct sbx_error *err)
{
	const struct plan_cgroup *plan = &run->plan->cgroup;
	int rc = cgroup_apply(run->cgroup, plan->resources, err);

	if (rc == 0 && may_filter_devices(run->plan->host))
		rc = cgroup_apply_devices(run->cgroup, plan->resources, err);
	return rc;
}

/* ---- stages ---- */

static int apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	struct cgroup_entry *entry = *room_slot(run, &room_cgroup);

	if (!run->cgroup || run->cgroup->n == 0)
		return 0;
	switch (stage) {
	case STAGE_PREPARE: /* runtime */
		return make(run, err);
	case STAGE_CGROUP: /* runtime: the child has its own copies by now */
		cgroup_entry_close(entry);
		return run->is_exec ? 0 : limit(run, err);
	case STAGE_NAMESPACES: /* child */
		return run->born_in_cgroup ? 0 : cgroup_entry_use(entry, err);
	default:
		return 0;
	}
}

static void undo(struct run *run)
{
	struct cgroup_entry *entry = *room_slot(run, &room_cgroup);

	if (entry)
		cgroup_entry_close(entry);
	if (!run->cgroup || run->is_exec)
		return;
	cgroup_signal_all(run->cgroup, SIGKILL, NULL);
	cgroup_remove(run->cgroup, NULL);
}

static void dump(const struct plan *plan, struct json_writer *w)
{
	const struct plan_cgroup *cg = &plan->cgroup;
	static const char *const managers[] = {"cgroupfs", "systemd", "disabled"};

	json_begin_object(w, "cgroup");
	json_write_string(w, "manager", managers[cg->manager]);
	if (cg->manager != CGROUP_MANAGER_DISABLED)
		json_write_string(w, "path", cg->path);
	json_write_bool(w, "bestEffort", cg->best_effort);
	json_end_object(w);
}

const struct room room_cgroup = {
	.name = "cgroup",
	.plan = plan_group,
	.prepare = prepare,
	.apply = apply,
	.undo = undo,
	.dump = dump,
};
