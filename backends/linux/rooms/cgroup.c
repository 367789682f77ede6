/*
 * The control group of a container: a thin room, the work is in cgroup/.
 *
 * The group is made while the runtime prepares (before there is a child), the child is moved into
 * it before it makes a cgroup namespace, and the limits stand before the child goes on.
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

static int cgroup_plan(struct plan *plan, struct report *report, struct sbx_error *err)
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

static int cgroup_make(struct run *run, struct sbx_error *err)
{
	return cgroup_create(&run->plan->cgroup, run->cgroup, err);
}

static int cgroup_enter(struct run *run, struct sbx_error *err)
{
	return cgroup_join(run->cgroup, run->pid, false, err);
}

static int cgroup_apply_stage(struct run *run, enum stage stage, struct sbx_error *err)
{
	if (!run->cgroup || run->cgroup->n == 0)
		return 0;
	switch (stage) {
	case STAGE_PREPARE:
		return run->is_exec ? 0 : cgroup_make(run, err);
	case STAGE_CGROUP:
		return cgroup_enter(run, err);
	default:
		return 0;
	}
}

static void cgroup_undo(struct run *run)
{
	if (!run->cgroup || run->is_exec)
		return;
	cgroup_remove(run->cgroup, NULL);
}

static void cgroup_dump(const struct plan *plan, struct json_writer *w)
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
	.plan = cgroup_plan,
	.apply = cgroup_apply_stage,
	.undo = cgroup_undo,
	.dump = cgroup_dump,
};
