/*
 * Planning is pure: every room reads policy, host facts and what earlier rooms planned, and writes
 * its own member. The report is complete when the last room has planned.
 */
#include <errno.h>

#include "backends/linux/plan.h"
#include "backends/linux/room.h"
#include "backends/linux/rung.h"

int plan_build(struct arena *arena, const struct policy *policy, const struct host_facts *host,
	       const struct plan_options *options, struct plan **ret, struct report *report,
	       struct sbx_error *err)
{
	struct plan *plan = arena_alloc(arena, sizeof(*plan));
	int rc;

	if (!plan)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "plan the container");
	plan->arena = arena;
	plan->policy = policy;
	plan->spec = policy->spec;
	plan->host = host;
	plan->options = *options;
	policy_report(policy, report);
	rc = rung_choose(plan, report, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < linux_rooms_n; i++) {
		if (!linux_rooms[i]->plan || !room_serves(linux_rooms[i], plan))
			continue;
		rc = linux_rooms[i]->plan(plan, report, err);
		if (rc < 0)
			return rc;
	}
	report_finish(report, plan->rung == RUNG_NAMESPACES);
	if (policy->profile) {
		rc = report_check(report, policy->profile, err);
		if (rc < 0)
			return rc;
	}
	*ret = plan;
	return 0;
}

void plan_write(struct json_writer *w, const char *key, const struct plan *plan)
{
	json_begin_object(w, key);
	for (size_t i = 0; i < linux_rooms_n; i++)
		if (linux_rooms[i]->dump && room_serves(linux_rooms[i], plan))
			linux_rooms[i]->dump(plan, w);
	json_end_object(w);
}
