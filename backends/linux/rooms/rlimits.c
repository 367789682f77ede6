/*
 * Resource limits of the process (getrlimit(2)), set before the change of user so that a hard limit
 * may still be raised. Values are the specification's 64-bit ones; RLIM_INFINITY is all ones on
 * Linux, as config.json writes it.
 *
 * What exec starts is forked by a process that has its user and limits already, and is counted with
 * that one: RLIMIT_NPROC is one more until the fork is done. Where the bundle's filter is there by
 * then, it need not let the limit be set, and the process that forks keeps counting.
 *
 * Under a profile no core is dumped. The limit for that is one byte, not zero: a core_pattern that
 * is a pipe ignores the limit but for this one value (core(5)), and a file of one byte is below the
 * least that the kernel writes.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "backends/linux/room.h"

static const struct rlimit no_core = {.rlim_cur = 1, .rlim_max = 1};

static int rlimits_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	(void)err;
	if (plan->policy->confined)
		report_add(report, "coreDumps", "rlimit", OUTCOME_ENFORCED, 0, "off");
	return 0;
}

static bool is_set_behind_fork(const struct run *run, const struct oci_rlimit *limit)
{
	return run->is_exec && limit->resource == RLIMIT_NPROC && !room_forks_filtered(run->plan);
}

/* Without the privilege to raise the hard limit there is room below that alone. */
static int set_with_room_for_joiner(const struct rlimit *limit)
{
	struct rlimit more = *limit;

	more.rlim_cur += more.rlim_cur < RLIM_INFINITY;
	more.rlim_max += more.rlim_max < RLIM_INFINITY;
	if (setrlimit(RLIMIT_NPROC, &more) == 0)
		return 0;
	more.rlim_max = limit->rlim_max;
	more.rlim_cur -= more.rlim_cur > more.rlim_max;
	return setrlimit(RLIMIT_NPROC, &more);
}

static int fail_limit(const struct oci_rlimit *limit, struct sbx_error *err)
{
	int cause = errno;
	struct rlimit now = {0};
	char hint[128] = "";

	if (cause == EPERM && getrlimit((int)limit->resource, &now) == 0)
		snprintf(hint, sizeof(hint),
			 " (more than %llu, the hard limit of the caller, needs CAP_SYS_RESOURCE)",
			 (unsigned long long)now.rlim_max);
	return sbx_fail(err, SBX_E_SYSTEM, cause, "set %s to %llu (soft) and %llu (hard)%s",
			limit->type, (unsigned long long)limit->soft,
			(unsigned long long)limit->hard, hint);
}

static int rlimits_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct oci_process *process = room_process(run->plan);
	struct rlimit limit;
	size_t i;

	for (i = 0; process && i < process->rlimits_n; i++) {
		bool counts = is_set_behind_fork(run, &process->rlimits[i]);
		int r;

		if (stage == STAGE_FORKED && !counts)
			continue;
		limit.rlim_cur = process->rlimits[i].soft;
		limit.rlim_max = process->rlimits[i].hard;
		r = counts && stage != STAGE_FORKED
			    ? set_with_room_for_joiner(&limit)
			    : setrlimit(process->rlimits[i].resource, &limit);
		if (r < 0)
			return fail_limit(&process->rlimits[i], err);
	}
	if (stage != STAGE_FORKED && run->plan->policy->confined &&
	    setrlimit(RLIMIT_CORE, &no_core) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "turn core dumps off");
	return 0;
}

const struct room room_rlimits = {
	.name = "rlimits",
	.without_namespaces = true,
	.plan = rlimits_plan,
	.apply = rlimits_apply,
};
