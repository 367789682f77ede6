/*
 * Scheduling of the process: policy, I/O priority, processor affinity, execution domain.
 *
 * The runtime may itself be pinned to a few processors by whoever started it; a container gets the
 * processors of its cgroup instead, so the affinity is reset to "all" after the cgroup was joined
 * and the kernel cuts it to the cpuset (sched_setaffinity(2)). For a further process,
 * execCPUAffinity.initial binds the runtime before the cgroup is joined and .final the process
 * after it (config.md#process).
 */
#include <errno.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"
#include "runtime/base/num.h"

#define CPUS_WORDS (OCI_CPUS_MAX / (8 * sizeof(unsigned long)))

/* sched_setattr(2), first version of the structure (48 bytes). */
struct scheduler_attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

struct word_row {
	const char *word;
	unsigned value;
};

#define POLICY_FIFO	1
#define POLICY_RR	2
#define POLICY_DEADLINE 6

static const struct word_row policies[] = {
	{"SCHED_OTHER", 0},
	{"SCHED_FIFO", POLICY_FIFO},
	{"SCHED_RR", POLICY_RR},
	{"SCHED_BATCH", 3},
	{"SCHED_ISO", 4},
	{"SCHED_IDLE", 5},
	{OCI_SCHED_DEADLINE, POLICY_DEADLINE},
};

#define FLAG_RESET_ON_FORK 0x01

/* The two flags of clamping need members that config.json does not have. */
static const struct word_row policy_flags[] = {
	{"SCHED_FLAG_RESET_ON_FORK", FLAG_RESET_ON_FORK},
	{"SCHED_FLAG_RECLAIM", 0x02},
	{"SCHED_FLAG_DL_OVERRUN", 0x04},
	{"SCHED_FLAG_KEEP_POLICY", 0x08},
	{"SCHED_FLAG_KEEP_PARAMS", 0x10},
	{"SCHED_FLAG_UTIL_CLAMP_MIN", 0x20},
	{"SCHED_FLAG_UTIL_CLAMP_MAX", 0x40},
};

static const struct word_row io_classes[] = {
	{"IOPRIO_CLASS_RT", IOPRIO_CLASS_RT},
	{"IOPRIO_CLASS_BE", IOPRIO_CLASS_BE},
	{"IOPRIO_CLASS_IDLE", IOPRIO_CLASS_IDLE},
};

static bool word_value(const struct word_row *rows, size_t n, const char *word, unsigned *ret)
{
	size_t i;

	for (i = 0; word && i < n; i++) {
		if (strcmp(rows[i].word, word) == 0) {
			*ret = rows[i].value;
			return true;
		}
	}
	return false;
}

static bool is_list(const char *text)
{
	return text && text[0] != '\0';
}

static int affinity_set(const char *list, const char *member, struct sbx_error *err)
{
	unsigned long mask[CPUS_WORDS];

	if (num_parse_list(list, mask, OCI_CPUS_MAX) < 0)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process/execCPUAffinity",
				   "read %s \"%s\": it is no list of processors", member, list);
	if (syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "bind the process to processors \"%s\"",
				list);
	return 0;
}

static int scheduler_check(const struct oci_scheduler *s, struct sbx_error *err)
{
	unsigned policy, flag;
	size_t i;

	if (!word_value(policies, ARRAY_SIZE(policies), s->policy, &policy))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process/scheduler/policy",
				   "use scheduler policy \"%s\": it is not known",
				   s->policy ? s->policy : "");
	for (i = 0; i < s->flags.n; i++) {
		if (!word_value(policy_flags, ARRAY_SIZE(policy_flags), s->flags.v[i], &flag))
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process/scheduler/flags",
					   "use scheduler flag \"%s\": it is not known",
					   s->flags.v[i]);
	}
	if (s->nice.set && s->nice.v != 0 && policy != 0 && policy != 3)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process/scheduler/nice",
				   "set nice under policy \"%s\": it applies to SCHED_OTHER and "
				   "SCHED_BATCH only",
				   s->policy);
	if (s->priority.set && s->priority.v != 0 && policy != POLICY_FIFO && policy != POLICY_RR)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process/scheduler/priority",
				   "set priority under policy \"%s\": it applies to SCHED_FIFO "
				   "and SCHED_RR only",
				   s->policy);
	if ((s->runtime.set || s->deadline.set || s->period.set) && policy != POLICY_DEADLINE)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process/scheduler",
				   "set runtime, deadline or period under policy \"%s\": they "
				   "apply to SCHED_DEADLINE only",
				   s->policy);
	return 0;
}

static int sched_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_process *process = room_process(plan);
	const struct oci_linux *linux_part = &plan->spec->linux_;
	unsigned class_value;
	int r;

	(void)report;
	if (process && process->scheduler) {
		r = scheduler_check(process->scheduler, err);
		if (r < 0)
			return r;
	}
	if (process && process->io_priority) {
		const struct oci_io_priority *io = process->io_priority;

		if (!word_value(io_classes, ARRAY_SIZE(io_classes), io->class_name, &class_value))
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process/ioPriority/class",
					   "use I/O class \"%s\": it is not known",
					   io->class_name ? io->class_name : "");
		if (io->priority < 0 || io->priority >= 8)
			return sbx_fail_at(
				err, SBX_E_INVALID_CONFIG, "/process/ioPriority/priority",
				"set I/O priority %lld: it is not 0 to 7", (long long)io->priority);
	}
	if (linux_part->personality_domain &&
	    strcmp(linux_part->personality_domain, "LINUX") != 0 &&
	    strcmp(linux_part->personality_domain, "LINUX32") != 0)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/personality/domain",
				   "use execution domain \"%s\": it is not LINUX or LINUX32",
				   linux_part->personality_domain);
	if (linux_part->personality_flags.n > 0)
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/linux/personality/flags",
				   "use personality flag \"%s\": the specification defines none",
				   linux_part->personality_flags.v[0]);
	return 0;
}

/* In the runtime, before the new process joins its cgroup: what the child inherits. */
static int sched_prepare(struct run *run, struct sbx_error *err)
{
	const struct oci_process *process = room_process(run->plan);

	if (run->is_exec && process && process->scheduler &&
	    strcmp(process->scheduler->policy, OCI_SCHED_DEADLINE) == 0)
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/process/scheduler/policy",
				   "start a process under SCHED_DEADLINE by exec: it is forked, "
				   "which this policy forbids (sched(7))");
	if (!run->is_exec || !process || !process->exec_cpu_affinity ||
	    !is_list(process->exec_cpu_affinity->initial))
		return 0;
	return affinity_set(process->exec_cpu_affinity->initial, "initial", err);
}

static int affinity_apply(const struct run *run, const struct oci_process *process,
			  struct sbx_error *err)
{
	unsigned long all[CPUS_WORDS];

	if (run->is_exec && process->exec_cpu_affinity &&
	    is_list(process->exec_cpu_affinity->final))
		return affinity_set(process->exec_cpu_affinity->final, "final", err);
	memset(all, 0xff, sizeof(all));
	if (syscall(SYS_sched_setaffinity, 0, sizeof(all), all) < 0)
		log_debug("keep the runtime's processor affinity: errno %d", errno);
	return 0;
}

/* What EPERM means under this policy. The groups of v1 have their own time for real-time tasks, and
 * none at first (CONFIG_RT_GROUP_SCHED). */
static const char *permission_hint(unsigned policy, enum cgroup_mode mode)
{
	if (policy == POLICY_DEADLINE)
		return " (it needs CAP_SYS_NICE and a process that is bound to no subset of the "
		       "processors)";
	if (policy != POLICY_FIFO && policy != POLICY_RR)
		return "";
	return mode == CGROUP_MODE_V1 || mode == CGROUP_MODE_HYBRID
		       ? " (it needs CAP_SYS_NICE or RLIMIT_RTPRIO, and where the kernel divides "
			 "real-time by group a cpu.rt_runtime_us of the container's cgroup and of "
			 "those above it: linux.resources.cpu.realtimeRuntime)"
		       : " (it needs CAP_SYS_NICE or RLIMIT_RTPRIO)";
}

static unsigned flags_of(const struct oci_scheduler *s)
{
	unsigned flag, flags = 0;

	for (size_t i = 0; i < s->flags.n; i++)
		if (word_value(policy_flags, ARRAY_SIZE(policy_flags), s->flags.v[i], &flag))
			flags |= flag;
	return flags;
}

/* With the flag that a fork resets everything, exec's process gets everything behind the fork
 * again: that takes no privilege (sched(7)). Where it cannot be set there, the process has all but
 * the flag. */
static int scheduler_apply(const struct run *run, const struct oci_scheduler *s, enum stage stage,
			   struct sbx_error *err)
{
	struct scheduler_attr attr = {.size = sizeof(attr)};
	unsigned policy = 0;

	word_value(policies, ARRAY_SIZE(policies), s->policy, &policy);
	attr.policy = policy;
	attr.flags = flags_of(s);
	if (run->is_exec && stage != STAGE_FORKED)
		attr.flags &= ~(uint64_t)FLAG_RESET_ON_FORK;
	attr.nice = (int32_t)s->nice.v;
	attr.priority = (uint32_t)s->priority.v;
	attr.runtime = s->runtime.v;
	attr.deadline = s->deadline.v;
	attr.period = s->period.v;
	if (syscall(SYS_sched_setattr, 0, &attr, 0) == 0)
		return 0;
	return sbx_fail(err, SBX_E_SYSTEM, errno, "set the scheduler to \"%s\"%s", s->policy,
			errno == EPERM ? permission_hint(policy, run->plan->host->cgroup_mode)
				       : "");
}

static int sched_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct oci_process *process = room_process(run->plan);
	const char *domain = run->plan->spec->linux_.personality_domain;
	unsigned class_value = 0;
	int r;

	if (!process)
		return 0;
	if (stage == STAGE_FORKED)
		return process->scheduler && !room_forks_filtered(run->plan) &&
				       (flags_of(process->scheduler) & FLAG_RESET_ON_FORK)
			       ? scheduler_apply(run, process->scheduler, stage, err)
			       : 0;
	r = affinity_apply(run, process, err);
	if (r < 0)
		return r;
	if (process->scheduler) {
		r = scheduler_apply(run, process->scheduler, stage, err);
		if (r < 0)
			return r;
	}
	if (process->io_priority) {
		word_value(io_classes, ARRAY_SIZE(io_classes), process->io_priority->class_name,
			   &class_value);
		if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
			    IOPRIO_PRIO_VALUE(class_value, process->io_priority->priority)) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "set the I/O priority to %s %lld",
					process->io_priority->class_name,
					(long long)process->io_priority->priority);
	}
	if (domain && personality(strcmp(domain, "LINUX32") == 0 ? PER_LINUX32 : PER_LINUX) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "set the execution domain to \"%s\"",
				domain);
	return 0;
}

const struct room room_sched = {
	.name = "sched",
	.without_namespaces = true,
	.plan = sched_plan,
	.prepare = sched_prepare,
	.apply = sched_apply,
};
