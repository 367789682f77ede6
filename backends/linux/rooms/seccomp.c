/*
 * System call filters: compiled in the runtime before the clone, installed in the child.
 *
 * Under a profile two filters are installed, the floor first: the bundle's own may forbid
 * seccomp(2) itself. Where the kernel has no filters a profile is refused, and so is a bundle that
 * asks for one.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/linux/room.h"
#include "backends/linux/seccomp_filters.h"

/* What prepare() leaves for apply(). */
struct filters {
	struct bpf_program floor, bundle;
};

/* Every boundary leans on the floor: without it a socket family that no namespace holds, a new
 * user namespace or a set-id bit in a bound folder stays open. */
#define FLOOR_CARRIES                                                                              \
	(GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY) | GUARANTEE_BIT(GUARANTEE_WRITE_BOUNDARY) |     \
	 GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY) | GUARANTEE_BIT(GUARANTEE_NETWORK_BOUNDARY))

/* No boundary of a profile stands without the floor, and there is no lesser one to fall back to. */
static int floor_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	enum floor_machine machine;

	if (!plan->host->seccomp_filter)
		return sbx_fail(err, SBX_E_GUARANTEE_UNAVAILABLE, 0,
				"confine system calls, which every profile needs: the kernel has "
				"no seccomp filters (CONFIG_SECCOMP_FILTER), or an outer filter "
				"refuses them");
	if (!seccomp_floor_native(&machine))
		return sbx_fail(err, SBX_E_GUARANTEE_UNAVAILABLE, 0,
				"confine system calls, which every profile needs: no table of "
				"system calls for this machine");
	plan->seccomp.floor = true;
	report_add(report, "syscalls", "seccomp", OUTCOME_ENFORCED, FLOOR_CARRIES,
		   "a filter of the profile's own beside the bundle's");
	return 0;
}

static int seccomp_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_seccomp *bundle = plan->spec->linux_.seccomp;
	int r;

	if (bundle) {
		r = seccomp_bundle_check(bundle, err);
		if (r < 0)
			return r;
		if (!plan->host->seccomp_filter)
			return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/linux/seccomp",
					   "apply the seccomp profile: the kernel has no seccomp "
					   "filters, or an outer filter refuses them");
		plan->seccomp.bundle = bundle;
		plan->seccomp.notifies = seccomp_bundle_notifies(bundle);
		if (plan->seccomp.notifies && plan->policy->confined)
			return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/linux/seccomp/syscalls",
					   "use \"SCMP_ACT_NOTIFY\" under a profile: a program "
					   "outside would act for the payload, and the profile "
					   "does not know it");
	}
	return plan->policy->confined ? floor_plan(plan, report, err) : 0;
}

/* Into the plan's memory, which lives as long as the run. */
static int program_keep(struct arena *arena, struct bpf_program *program)
{
	struct bpf_program kept = {.v = arena_alloc_array(arena, program->n, sizeof(*program->v)),
				   .n = program->n};

	if (kept.v)
		memcpy(kept.v, program->v, program->n * sizeof(*program->v));
	bpf_program_release(program);
	*program = kept;
	return kept.v ? 0 : -ENOMEM;
}

static unsigned floor_conditions(const struct plan *plan)
{
	const struct plan_shared *shared = &plan->shared;

	if (plan->rung != RUNG_SHARED)
		return 0;
	return FLOOR_SHARED | (shared->no_network ? FLOOR_NO_NETWORK : 0) |
	       (shared->no_metadata ? FLOOR_NO_METADATA : 0) |
	       (shared->no_watching ? FLOOR_NO_WATCHING : 0);
}

static int seccomp_prepare(struct run *run, struct sbx_error *err)
{
	const struct plan_seccomp *plan = &run->plan->seccomp;
	enum floor_machine machine;
	struct filters *filters;
	int r = 0;

	if (!plan->floor && !plan->bundle)
		return 0;
	filters = arena_alloc(run->plan->arena, sizeof(*filters));
	if (!filters)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "compile the system call filters");
	if (plan->floor)
		r = seccomp_floor_native(&machine)
			    ? seccomp_floor_compile(machine, floor_conditions(run->plan),
						    &filters->floor, err)
			    : sbx_fail(err, SBX_E_INTERNAL, 0, "compile for an unknown machine");
	if (r == 0 && plan->floor && program_keep(run->plan->arena, &filters->floor) < 0)
		r = sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "compile the system call filters");
	if (r == 0 && plan->bundle)
		r = seccomp_bundle_compile(plan->bundle, &filters->bundle, err);
	if (r == 0 && plan->bundle && program_keep(run->plan->arena, &filters->bundle) < 0)
		r = sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "compile the system call filters");
	if (r < 0)
		return r;
	*room_slot(run, &room_seccomp) = filters;
	return 0;
}

static int filter_install(const struct bpf_program *program, unsigned flags, const char *what,
			  struct sbx_error *err)
{
	struct sock_fprog prog = {.len = (unsigned short)program->n, .filter = program->v};

	if (program->n == 0)
		return 0;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog) == 0)
		return 0;
	if (errno == EACCES)
		return sbx_fail(err, SBX_E_SYSTEM, errno,
				"install %s (it needs CAP_SYS_ADMIN or noNewPrivileges)", what);
	return sbx_fail(err, SBX_E_SYSTEM, errno, "install %s", what);
}

static int seccomp_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct plan_seccomp *plan = &run->plan->seccomp;
	const struct filters *filters = *room_slot(run, &room_seccomp);
	int r;

	if (!plan->floor && !plan->bundle)
		return 0;
	if (stage == STAGE_NAMESPACES)
		return plan->notifies ? seccomp_start_passing(run->sync_fd, err) : 0;
	if (!filters || (plan->floor && filters->floor.n == 0) ||
	    (plan->bundle && filters->bundle.n == 0))
		return sbx_fail(err, SBX_E_INTERNAL, 0,
				"install system call filters: none was prepared");
	r = filter_install(&filters->floor, 0, "the profile's system call filter", err);
	if (r < 0 || !plan->bundle)
		return r;
	if (plan->notifies)
		return seccomp_install_notifying(
			&filters->bundle, seccomp_bundle_flags(plan->bundle), run->sync_fd, err);
	return filter_install(&filters->bundle, seccomp_bundle_flags(plan->bundle),
			      "the bundle's seccomp filter", err);
}

static void seccomp_dump(const struct plan *plan, struct json_writer *w)
{
	json_begin_object(w, "seccomp");
	json_write_bool(w, "floor", plan->seccomp.floor);
	json_write_bool(w, "bundle", plan->seccomp.bundle != NULL);
	json_write_bool(w, "notifies", plan->seccomp.notifies);
	json_end_object(w);
}

const struct room room_seccomp = {
	.name = "seccomp",
	.without_namespaces = true,
	.plan = seccomp_plan,
	.prepare = seccomp_prepare,
	.apply = seccomp_apply,
	.dump = seccomp_dump,
};
