/*
 * The control group of a container: a thin room, the work is in cgroup/.
 *
 * The group is made while the runtime prepares, before there is a child; its limits and the device
 * filter stand before the child goes on; the child enters by itself, which is much cheaper than
 * being moved, as its first step and before it makes a cgroup namespace. exec enters in the same
 * way.
 */
#include <errno.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "backends/linux/cgroup/cgroup.h"
#include "backends/linux/cgroup/systemd.h"
#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"

#define SUBGROUP_ANNOTATION "run.oci.systemd.subgroup"

/* Any limit but the device list, which a rootless runtime cannot and need not set. */
static bool has_limits(const struct oci_resources *r)
{
	return r && (r->cpu || r->memory || r->pids_limit.set || r->block_io || r->hugepages_n ||
		     r->network || r->rdma_n || r->unified.n);
}

/* The names of the scope, which systemd makes for us (cgroup/systemd.h). */
static int plan_scope(struct plan *plan, const char *given, struct sbx_error *err)
{
	struct plan_cgroup *cg = &plan->cgroup;
	int rc;

	cg->id = plan->options.id;
	cg->annotations = &plan->spec->annotations;
	cg->user_manager = plan->host->euid != 0 || !plan->host->initial_userns;
	rc = systemd_names(plan->arena, given, cg->id, cg->user_manager, &cg->slice, &cg->unit,
			   err);
	if (rc == 0)
		rc = systemd_subgroup(oci_annotation(plan->spec, SUBGROUP_ANNOTATION),
				      &cg->subgroup, err);
	return rc < 0 ? rc : systemd_check_annotations(cg->annotations, err);
}

/* ---- the profile's limits ---- */

/* The kernel's own period; its longest for the quotas that it takes no shorter one for, below a
 * millisecond of processor time (sched-bwc.rst). */
#define CPU_PERIOD_US	   UINT64_C(100000)
#define CPU_PERIOD_LONG_US UINT64_C(1000000)
#define CPU_MILLI_LONG	   10

static bool is_real_time(const struct oci_process *process)
{
	const char *policy = process && process->scheduler ? process->scheduler->policy : NULL;

	return policy && (strcmp(policy, "SCHED_FIFO") == 0 || strcmp(policy, "SCHED_RR") == 0 ||
			  strcmp(policy, "SCHED_DEADLINE") == 0);
}

/* What stands in a profile, as the members of linux.resources that do it. Swap is no way round the
 * limit of memory. */
static int plan_ceiling(struct plan *plan, struct report *report, struct sbx_error *err)
{
	/* salvage.c plans without a policy: a group above goes with all below it */
	const struct profile *profile = plan->policy ? plan->policy->profile : NULL;
	const struct profile_limits *limits = profile ? &profile->limits : NULL;
	const uint32_t bit = GUARANTEE_BIT(GUARANTEE_RESOURCE_LIMITS);
	bool v1 = plan->host && plan->host->cgroup_mode != CGROUP_MODE_V2;
	struct {
		struct oci_resources resources;
		struct oci_memory memory;
		struct oci_cpu cpu;
	} * own;

	if (!limits || !profile_has_group_limits(limits))
		return 0;
	if (plan->options.cgroup_manager == CGROUP_MANAGER_DISABLED)
		return sbx_fail_at(err, SBX_E_GUARANTEE_UNAVAILABLE, "/limits",
				   "enforce the profile's limits: they need control groups, and "
				   "--cgroup-manager is disabled");
	own = arena_alloc(plan->arena, sizeof(*own));
	if (!own)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "plan the profile's limits");
	if (limits->cpus_milli.set && is_real_time(room_process(plan)))
		return sbx_fail_at(
			err, SBX_E_UNSUPPORTED, "/process/scheduler/policy",
			"schedule by a real-time policy under limits.cpus, which does not "
			"hold such processes");
	if (limits->pids.set) {
		own->resources.pids_limit =
			(struct oci_opt_i64){.set = true, .v = (int64_t)limits->pids.v};
		report_add(report, "limits.pids", "cgroup", OUTCOME_ENFORCED, bit,
			   "at most %llu processes and threads",
			   (unsigned long long)limits->pids.v);
	}
	if (limits->memory_bytes.set) {
		own->resources.memory = &own->memory;
		own->memory.limit = own->memory.swap =
			(struct oci_opt_i64){.set = true, .v = (int64_t)limits->memory_bytes.v};
		report_add(report, "limits.memory", "cgroup",
			   v1 ? OUTCOME_UNENFORCED : OUTCOME_ENFORCED, bit,
			   "at most %llu bytes, swap and tmpfs included%s",
			   (unsigned long long)limits->memory_bytes.v,
			   v1 ? ", but not what cgroup v1 counts apart, as the buffers of TCP"
			      : "");
	}
	if (limits->cpus_milli.set) {
		uint64_t period =
			limits->cpus_milli.v < CPU_MILLI_LONG ? CPU_PERIOD_LONG_US : CPU_PERIOD_US;

		own->resources.cpu = &own->cpu;
		own->cpu.period = (struct oci_opt_u64){.set = true, .v = period};
		own->cpu.quota = (struct oci_opt_i64){
			.set = true, .v = (int64_t)(limits->cpus_milli.v * period / 1000)};
		report_add(report, "limits.cpus", "cgroup", OUTCOME_ENFORCED, bit,
			   "at most %llu.%03u processors",
			   (unsigned long long)limits->cpus_milli.v / 1000,
			   (unsigned)(limits->cpus_milli.v % 1000));
	}
	plan->cgroup.ceiling = &own->resources;
	return 0;
}

/* A refusal by the kernel or the layout, told as what it means for the profile. */
static int fail_ceiling(int rc, struct sbx_error *err)
{
	if (rc == 0)
		return 0;
	err->code = SBX_E_GUARANTEE_UNAVAILABLE;
	return sbx_prefix(err, "enforce the profile's limits");
}

static int check_ceiling(const struct run *run, struct sbx_error *err)
{
	return fail_ceiling(cgroup_check_resources(run->cgroup, run->plan->cgroup.ceiling, err),
			    err);
}

/* Before anything is charged to the group: v1 takes no limit below what is in use. */
static int apply_ceiling(const struct run *run, struct sbx_error *err)
{
	return fail_ceiling(cgroup_apply(run->cgroup, run->plan->cgroup.ceiling, err), err);
}

static int plan_group(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_linux *linux_ = &plan->spec->linux_;
	struct plan_cgroup *cg = &plan->cgroup;
	const char *given = linux_->cgroups_path;
	int rc = plan_ceiling(plan, report, err);

	if (rc < 0)
		return rc;
	cg->manager = plan->options.cgroup_manager;
	cg->resources = linux_->resources;
	cg->path_given = given && *given;
	if (cg->manager == CGROUP_MANAGER_SYSTEMD)
		return plan_scope(plan, given, err);
	if (cg->path_given)
		cg->path = arena_printf(plan->arena, "%s%s", *given == '/' ? "" : "/", given);
	else
		cg->path = arena_printf(plan->arena, "/sbx/%s", plan->options.id);
	if (!cg->path)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "plan the cgroup");
	cg->best_effort = (plan->host->euid != 0 || !plan->host->initial_userns ||
			   plan->rung == RUNG_SHARED) &&
			  !cg->path_given && !has_limits(cg->resources) && !cg->ceiling;
	return cg->path_given && cg->manager != CGROUP_MANAGER_DISABLED
		       ? cgroup_check_path(cg->path, err)
		       : 0;
}

/* ---- in the runtime ---- */

static int open_entry(struct run *run, struct sbx_error *err)
{
	struct cgroup_entry *entry = arena_alloc(run->plan->arena, sizeof(*entry));

	if (!entry)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "prepare to enter the cgroup");
	*room_slot(run, &room_cgroup) = entry;
	return cgroup_entry_open(run->payload, entry, err);
}

static int name_payload(struct run *run, struct sbx_error *err)
{
	if (!run->payload)
		run->payload = arena_alloc(run->plan->arena, sizeof(*run->payload));
	if (!run->payload)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "name the cgroup");
	return cgroup_payload(run->cgroup, run->payload, err);
}

static bool is_by_systemd(const struct run *run)
{
	return run->cgroup->manager == CGROUP_MANAGER_SYSTEMD;
}

/* There is no group to write them to. */
static void warn_of_dropped(const struct plan_cgroup *plan)
{
	cleanup_buf struct buf names = BUF_INIT;

	if (cgroup_name_limits(plan->resources, &names) == 0 && names.len > 0)
		log_warning("without a cgroup (--cgroup-manager=disabled) these limits of "
			    "linux.resources are not set: %s",
			    names.data);
}

static int make(struct run *run, struct sbx_error *err)
{
	int rc = cgroup_check_resources(run->cgroup, run->plan->cgroup.resources, err);

	if (rc == 0)
		rc = check_ceiling(run, err);
	if (rc < 0 || is_by_systemd(run))
		return rc;
	rc = cgroup_create(&run->plan->cgroup, run->cgroup, err);
	if (rc == 0)
		rc = apply_ceiling(run, err);
	if (rc == 0)
		rc = name_payload(run, err);
	return rc < 0 ? rc : open_entry(run, err);
}

static int prepare(struct run *run, struct sbx_error *err)
{
	struct sbx_error gone = {0};
	int rc;

	rc = run->cgroup ? name_payload(run, err) : 0;
	if (rc < 0 || !run->is_exec || !run->cgroup || run->cgroup->n == 0)
		return rc;
	/* where it is gone or closed to us, the child enters what the first process is in */
	if (open_entry(run, &gone) < 0)
		log_debug("%s", gone.message);
	return 0;
}

/* exec, in the child: the container's group, or, where that takes no process (it is gone, or the
 * container made groups below it and moved into them), the one of its first process. */
static int enter_for_exec(const struct run *run, const struct cgroup_entry *entry,
			  struct sbx_error *err)
{
	struct cgroup_entry now_entry = {.n = 0};
	struct cgroup *now;
	int rc;

	if (entry->n > 0 && cgroup_entry_use(entry, err) == 0)
		return 0;
	now = arena_alloc(run->plan->arena, sizeof(*now));
	if (!now)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "enter the cgroup");
	rc = cgroup_of_process(run->container_pid, now, err);
	if (rc == 0)
		rc = cgroup_entry_open(now, &now_entry, err);
	if (rc == 0)
		rc = cgroup_entry_use(&now_entry, err);
	cgroup_entry_close(&now_entry);
	return rc;
}

static int enter(const struct run *run, const struct cgroup_entry *entry, struct sbx_error *err)
{
	if (run->is_exec)
		return enter_for_exec(run, entry, err);
	return run->born_in_cgroup || is_by_systemd(run) ? 0 : cgroup_entry_use(entry, err);
}

/* Where that is not possible the child enters what the first process is in, or says why not. */
static int bring(const struct run *run)
{
	struct sbx_error refused = {0};

	if (cgroup_bring(run->payload, run->pid, &refused) < 0)
		log_debug("%s", refused.message);
	return 0;
}

/* The scope's groups are known from here on. */
static int adopt(struct run *run, struct sbx_error *err)
{
	int rc = cgroup_adopt(&run->plan->cgroup, run->cgroup, run->pid, err);

	if (rc == 0)
		rc = apply_ceiling(run, err);
	return rc < 0 ? rc : name_payload(run, err);
}

/* Only the host's root may filter devices. Rootless, device nodes are bind mounts of the host's,
 * and what its files' modes allow. */
static bool may_filter_devices(const struct host_facts *host)
{
	return host->privileged && host->initial_userns;
}

/* Whom the host calls the container's user; false where that is not ours to say. */
static bool find_host_uid(const struct plan *plan, uid_t *ret)
{
	const struct plan_namespaces *ns = &plan->namespaces;
	const struct oci_process *process = room_process(plan);
	uint32_t uid = process ? process->user.uid : 0;

	*ret = uid;
	if (!(ns->new_flags & CLONE_NEWUSER))
		return !ns->path[NS_USER];
	for (size_t i = 0; i < ns->uid_maps.n; i++) {
		const struct oci_id_map *map = &ns->uid_maps.v[i];

		if (uid < map->container_id || uid - map->container_id >= map->size)
			continue;
		*ret = map->host_id + (uid - map->container_id);
		return true;
	}
	return false;
}

/* A writable view of an own cgroup namespace is of use only to its owner (config-linux.md, "Cgroup
 * ownership"). */
static bool wants_delegation(const struct plan *plan)
{
	if (!(plan->namespaces.new_flags & CLONE_NEWCGROUP))
		return false;
	for (size_t i = 0; i < plan->mounts.n; i++)
		if (plan->mounts.v[i].kind == MOUNT_CGROUP &&
		    !(plan->mounts.v[i].attr_set & MOUNT_ATTR_RDONLY))
			return true;
	return false;
}

/* What an ordinary user makes is his already, and he can give it to nobody. */
static int delegate(const struct run *run, struct sbx_error *err)
{
	const struct plan *plan = run->plan;
	uid_t uid;

	if (run->cgroup->mode != CGROUP_MODE_V2 || !wants_delegation(plan) ||
	    !find_host_uid(plan, &uid) || uid == plan->host->euid || !plan->host->privileged)
		return 0;
	return cgroup_delegate(run->payload, uid, err);
}

/* Under a profile no rule of the bundle opens a device: the second net below the mount view. */
static const struct oci_resources *device_resources(const struct plan *plan)
{
	static struct oci_device_rule nothing = {
		.type = 'a', .major = -1, .minor = -1, .r = true, .w = true, .m = true};
	static const struct oci_resources closed = {.devices = &nothing, .devices_n = 1};

	return plan->policy->confined ? &closed : plan->cgroup.resources;
}

static int limit(struct run *run, struct sbx_error *err)
{
	int rc = cgroup_apply(run->payload, run->plan->cgroup.resources, err);

	if (rc == 0 && may_filter_devices(run->plan->host))
		rc = cgroup_apply_devices(run->payload, device_resources(run->plan), err);
	return rc < 0 ? rc : delegate(run, err);
}

/* ---- stages ---- */

static int apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	struct cgroup_entry *entry = *room_slot(run, &room_cgroup);

	if (stage == STAGE_PREPARE && run->plan->cgroup.manager == CGROUP_MANAGER_DISABLED)
		warn_of_dropped(&run->plan->cgroup);
	if (!run->cgroup || run->cgroup->n == 0)
		return 0;
	switch (stage) {
	case STAGE_PREPARE: /* runtime */
		return make(run, err);
	case STAGE_SPAWN: /* runtime */
		return is_by_systemd(run) ? adopt(run, err) : 0;
	case STAGE_CGROUP: /* runtime: the child has its own copies by now */
		if (entry)
			cgroup_entry_close(entry);
		return run->is_exec ? bring(run) : limit(run, err);
	case STAGE_NAMESPACES: /* child */
		return enter(run, entry, err);
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
	if (cg->manager == CGROUP_MANAGER_SYSTEMD) {
		json_write_string(w, "slice", cg->slice);
		json_write_string(w, "unit", cg->unit);
		json_write_string(w, "subgroup", cg->subgroup);
	} else if (cg->manager == CGROUP_MANAGER_CGROUPFS) {
		json_write_string(w, "path", cg->path);
	}
	json_write_bool(w, "bestEffort", cg->best_effort);
	json_end_object(w);
}

const struct room room_cgroup = {
	.name = "cgroup",
	.without_namespaces = true,
	.plan = plan_group,
	.prepare = prepare,
	.apply = apply,
	.undo = undo,
	.dump = dump,
};
