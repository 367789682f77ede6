/*
 * linux.intelRdt: the class of cache and memory bandwidth (resctrl.h) that the container's
 * processes are in. The runtime makes it before the child does anything, and puts a process of exec
 * into it as well; what these fork follows. A bundle that asks is refused where the host has no
 * resctrl.
 */
#include <errno.h>
#include <string.h>

#include "backends/linux/resctrl.h"
#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"

static int intel_rdt_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_intel_rdt *rdt = plan->spec->linux_.intel_rdt;

	(void)report;
	if (!rdt)
		return 0;
	/* names that the file system has for itself */
	if (rdt->clos_id &&
	    (strcmp(rdt->clos_id, "info") == 0 || strcmp(rdt->clos_id, "mon_groups") == 0 ||
	     strcmp(rdt->clos_id, "mon_data") == 0))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/intelRdt/closID",
				   "use the resctrl class \"%s\": it is no class", rdt->clos_id);
	return 0;
}

/* Before anything is made. */
static int intel_rdt_prepare(struct run *run, struct sbx_error *err)
{
	const struct oci_intel_rdt *rdt = run->plan->spec->linux_.intel_rdt;
	struct resctrl_group *group;
	int root_fd;

	if (!rdt)
		return 0;
	group = arena_alloc(run->plan->arena, sizeof(*group));
	if (!group)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "prepare intelRdt");
	root_fd = resctrl_open();
	if (root_fd < 0)
		return sbx_fail_at(
			err, SBX_E_UNSUPPORTED, "/linux/intelRdt",
			"apply \"linux.intelRdt\": the host has no resctrl (mount it on "
			"/sys/fs/resctrl, where the processor and the kernel can do it, or "
			"leave the member out): %s",
			strerror(-root_fd));
	*group = resctrl_group_of(root_fd, rdt, run->plan->options.id);
	*room_slot(run, &room_intel_rdt) = group;
	return 0;
}

static int intel_rdt_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct oci_intel_rdt *rdt = run->plan->spec->linux_.intel_rdt;
	struct resctrl_group *group = *room_slot(run, &room_intel_rdt);
	int rc = 0;

	(void)stage;
	if (!group)
		return 0;
	if (!run->is_exec) {
		rc = resctrl_make(group, rdt, err);
		if (rc == 0)
			rc = resctrl_set(group, rdt, err);
	}
	return rc < 0 ? rc : resctrl_add_task(group, run->pid, err);
}

static void intel_rdt_settle(struct run *run)
{
	struct resctrl_group *group = *room_slot(run, &room_intel_rdt);

	if (group)
		cleanup_close_fd(&group->root_fd);
	*room_slot(run, &room_intel_rdt) = NULL;
}

static void intel_rdt_undo(struct run *run)
{
	struct resctrl_group *group = *room_slot(run, &room_intel_rdt);
	struct oci_intel_rdt made;

	if (group && !run->is_exec) {
		/* only what this run made */
		made = (struct oci_intel_rdt){.clos_id = group->made ? NULL : group->name};
		group->monitored = group->made_monitored;
		(void)resctrl_remove(group, &made, NULL);
	}
	intel_rdt_settle(run);
}

static void intel_rdt_dump(const struct plan *plan, struct json_writer *w)
{
	const struct oci_intel_rdt *rdt = plan->spec->linux_.intel_rdt;

	if (!rdt)
		return;
	json_begin_object(w, "intelRdt");
	json_write_string(w, "class", rdt->clos_id ? rdt->clos_id : plan->options.id);
	json_write_bool(w, "monitored", rdt->enable_monitoring);
	json_end_object(w);
}

const struct room room_intel_rdt = {
	.name = "intelRdt",
	.plan = intel_rdt_plan,
	.prepare = intel_rdt_prepare,
	.apply = intel_rdt_apply,
	.undo = intel_rdt_undo,
	.settle = intel_rdt_settle,
	.dump = intel_rdt_dump,
};
