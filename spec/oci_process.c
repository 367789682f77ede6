/*
 * config.md#process, also the document of exec --process: tables, then the rules between the
 * members of one object. Capability names stay text, since a name that this kernel does not know is
 * the capability room's decision.
 */
#include "spec/oci_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/num.h"

#define WINDOW_SIZE_MAX 65535 /* struct winsize */
#define ARGS_MAX	65536
#define GROUPS_MAX	65536 /* NGROUPS_MAX */
#define RLIMITS_MAX	64

#define DEADLINE_RUNTIME_MIN 1024 /* DL_SCALE of the kernel */

/* ---- user ---- */

static const struct decode_row user_rows[] = {
	{ROW(struct oci_user, DECODE_U32, uid, "uid"), .max = OCI_ID_MAX},
	{ROW(struct oci_user, DECODE_U32, gid, "gid"), .max = OCI_ID_MAX},
	{ROW(struct oci_user, DECODE_OPT_U64, umask, "umask"), .max = 0777},
	{ROW(struct oci_user, DECODE_U32S, additional_gids, "additionalGids"),
	 .count_offset = offsetof(struct oci_user, additional_gids_n), .max = OCI_ID_MAX,
	 .max_count = GROUPS_MAX},
};

static const struct decode_table user_table = {DECODE_TABLE(user_rows, struct oci_user)};

/* ---- consoleSize ---- */

static const struct decode_row console_rows[] = {
	{ROW(struct oci_process, DECODE_U32, console_height, "height"), .required = true,
	 .max = WINDOW_SIZE_MAX},
	{ROW(struct oci_process, DECODE_U32, console_width, "width"), .required = true,
	 .max = WINDOW_SIZE_MAX},
};

static const struct decode_table console_table = {DECODE_TABLE(console_rows, struct oci_process)};

static int decode_console(struct decoder *d, const struct json_node *value, void *member)
{
	struct oci_process *process = member;
	int r = decode_object(d, value, &console_table, process);

	if (r == 0)
		process->console_size_set = true;
	return r;
}

/* ---- capabilities ---- */

static const struct decode_row capability_rows[] = {
	{ROW(struct oci_capabilities, DECODE_STRINGS, sets[CAPSET_BOUNDING], "bounding")},
	{ROW(struct oci_capabilities, DECODE_STRINGS, sets[CAPSET_EFFECTIVE], "effective")},
	{ROW(struct oci_capabilities, DECODE_STRINGS, sets[CAPSET_INHERITABLE], "inheritable")},
	{ROW(struct oci_capabilities, DECODE_STRINGS, sets[CAPSET_PERMITTED], "permitted")},
	{ROW(struct oci_capabilities, DECODE_STRINGS, sets[CAPSET_AMBIENT], "ambient")},
};

static const struct decode_table capabilities_table = {
	DECODE_TABLE(capability_rows, struct oci_capabilities)};

/* ---- rlimits ---- */

static const struct {
	const char *name;
	int resource;
} rlimit_names[] = {
	{"RLIMIT_AS", RLIMIT_AS},
	{"RLIMIT_CORE", RLIMIT_CORE},
	{"RLIMIT_CPU", RLIMIT_CPU},
	{"RLIMIT_DATA", RLIMIT_DATA},
	{"RLIMIT_FSIZE", RLIMIT_FSIZE},
	{"RLIMIT_LOCKS", RLIMIT_LOCKS},
	{"RLIMIT_MEMLOCK", RLIMIT_MEMLOCK},
	{"RLIMIT_MSGQUEUE", RLIMIT_MSGQUEUE},
	{"RLIMIT_NICE", RLIMIT_NICE},
	{"RLIMIT_NOFILE", RLIMIT_NOFILE},
	{"RLIMIT_NPROC", RLIMIT_NPROC},
	{"RLIMIT_RSS", RLIMIT_RSS},
	{"RLIMIT_RTPRIO", RLIMIT_RTPRIO},
	{"RLIMIT_RTTIME", RLIMIT_RTTIME},
	{"RLIMIT_SIGPENDING", RLIMIT_SIGPENDING},
	{"RLIMIT_STACK", RLIMIT_STACK},
};

static const struct decode_row rlimit_rows[] = {
	{ROW(struct oci_rlimit, DECODE_STRING, type, "type"), .required = true},
	{ROW(struct oci_rlimit, DECODE_U64, soft, "soft"), .required = true},
	{ROW(struct oci_rlimit, DECODE_U64, hard, "hard"), .required = true},
};

static int check_rlimit(struct decoder *d, const struct json_node *object, void *decoded)
{
	struct oci_rlimit *rlimit = decoded;
	size_t i = 0;

	while (i < ARRAY_SIZE(rlimit_names) && strcmp(rlimit_names[i].name, rlimit->type) != 0)
		i++;
	if (i == ARRAY_SIZE(rlimit_names))
		return decode_fail(d, json_get(object, "type"), "is \"%.64s\", which is not known",
				   rlimit->type);
	if (rlimit->soft > rlimit->hard)
		return decode_fail(d, json_get(object, "soft"), "is more than \"hard\"");
	rlimit->resource = rlimit_names[i].resource;
	return 0;
}

static const struct decode_table rlimit_table = {DECODE_TABLE(rlimit_rows, struct oci_rlimit),
						 .check = check_rlimit};

/* ---- scheduler, ioPriority, execCPUAffinity ---- */

static const char *const scheduler_policies[] = {
	"SCHED_OTHER", "SCHED_FIFO", "SCHED_RR",	 "SCHED_BATCH",
	"SCHED_ISO",   "SCHED_IDLE", OCI_SCHED_DEADLINE, NULL,
};

static const char *const scheduler_flags[] = {
	"SCHED_FLAG_RESET_ON_FORK",  "SCHED_FLAG_RECLAIM",
	"SCHED_FLAG_DL_OVERRUN",     "SCHED_FLAG_KEEP_POLICY",
	"SCHED_FLAG_KEEP_PARAMS",    "SCHED_FLAG_UTIL_CLAMP_MIN",
	"SCHED_FLAG_UTIL_CLAMP_MAX", NULL,
};

/* The values that the flags of clamping need have no member. */
static int check_scheduler_flag(struct decoder *d, const struct json_node *flag)
{
	static const char clamp[] = "SCHED_FLAG_UTIL_CLAMP_";

	return strncmp(flag->text, clamp, sizeof(clamp) - 1) == 0
		       ? decode_fail(d, flag, "is %.64s, which config.json has no value for",
				     flag->text)
		       : 0;
}

static const struct decode_row scheduler_rows[] = {
	{ROW(struct oci_scheduler, DECODE_STRING, policy, "policy"), .required = true,
	 .words = scheduler_policies},
	{ROW(struct oci_scheduler, DECODE_OPT_I64, nice, "nice"), .min = -20, .max = 19},
	{ROW(struct oci_scheduler, DECODE_OPT_I64, priority, "priority"), .max = 99},
	{ROW(struct oci_scheduler, DECODE_STRINGS, flags, "flags"), .words = scheduler_flags,
	 .check = check_scheduler_flag},
	{ROW(struct oci_scheduler, DECODE_OPT_U64, runtime, "runtime")},
	{ROW(struct oci_scheduler, DECODE_OPT_U64, deadline, "deadline")},
	{ROW(struct oci_scheduler, DECODE_OPT_U64, period, "period")},
};

/* The member if it is given, else the object that lacks it. */
static const struct json_node *or_object(const struct json_node *object, const char *name)
{
	const struct json_node *member = json_get(object, name);

	return member ? member : object;
}

/* sched_setattr(2): the values that are not set, or the policy itself, come from the process. */
static bool keeps_old(const struct oci_scheduler *s)
{
	for (size_t i = 0; i < s->flags.n; i++)
		if (strncmp(s->flags.v[i], "SCHED_FLAG_KEEP_", strlen("SCHED_FLAG_KEEP_")) == 0)
			return true;
	return false;
}

/* As the kernel checks them (__checkparam_dl()): a period of 0 is the deadline. Its bounds of the
 * period are the host's sysctls. */
static int check_deadline(struct decoder *d, const struct json_node *object,
			  const struct oci_scheduler *s)
{
	if (s->runtime.v < DEADLINE_RUNTIME_MIN)
		return decode_fail(d, or_object(object, "runtime"),
				   "has the runtime %" PRIu64
				   ", SCHED_DEADLINE needs at least %d nanoseconds",
				   s->runtime.v, DEADLINE_RUNTIME_MIN);
	if (s->deadline.v < s->runtime.v || s->deadline.v > INT64_MAX)
		return decode_fail(d, or_object(object, "deadline"),
				   "has the deadline %" PRIu64
				   ", SCHED_DEADLINE needs one of at least \"runtime\"",
				   s->deadline.v);
	if (s->period.v != 0 && (s->period.v < s->deadline.v || s->period.v > INT64_MAX))
		return decode_fail(d, json_get(object, "period"),
				   "is less than \"deadline\", or too large");
	return 0;
}

/* sched(7): which attribute belongs to which policy. A zero says nothing and is always taken. */
static int check_scheduler(struct decoder *d, const struct json_node *object, void *decoded)
{
	const struct oci_scheduler *s = decoded;
	bool realtime = strcmp(s->policy, "SCHED_FIFO") == 0 || strcmp(s->policy, "SCHED_RR") == 0;
	bool deadline = strcmp(s->policy, "SCHED_DEADLINE") == 0;
	const struct {
		const char *name;
		bool given, fits;
	} members[] = {
		{"nice", s->nice.v != 0, !realtime && !deadline},
		{"priority", s->priority.v != 0, realtime},
		{"runtime", s->runtime.v != 0, deadline},
		{"deadline", s->deadline.v != 0, deadline},
		{"period", s->period.v != 0, deadline},
	};

	if (strcmp(s->policy, "SCHED_ISO") == 0)
		return decode_fail(
			d, json_get(object, "policy"),
			"is SCHED_ISO, a reserved name: no Linux kernel has that policy");
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (members[i].given && !members[i].fits)
			return decode_fail(d, json_get(object, members[i].name),
					   "does not belong to the policy %s", s->policy);
	if (keeps_old(s))
		return 0;
	if (realtime && s->priority.v == 0)
		return decode_fail(d, or_object(object, "priority"),
				   "has no priority, %s needs one of 1 to 99", s->policy);
	return deadline ? check_deadline(d, object, s) : 0;
}

static const struct decode_table scheduler_table = {
	DECODE_TABLE(scheduler_rows, struct oci_scheduler), .check = check_scheduler};

static const char *const io_classes[] = {"IOPRIO_CLASS_RT", "IOPRIO_CLASS_BE", "IOPRIO_CLASS_IDLE",
					 NULL};

static const struct decode_row io_priority_rows[] = {
	{ROW(struct oci_io_priority, DECODE_STRING, class_name, "class"), .required = true,
	 .words = io_classes},
	{ROW(struct oci_io_priority, DECODE_I64, priority, "priority"), .required = true, .max = 7},
};

static const struct decode_table io_priority_table = {
	DECODE_TABLE(io_priority_rows, struct oci_io_priority)};

/* sched_setaffinity(2) is told by us, so that the list is read here; a cpuset's is the kernel's. */
static int check_affinity(struct decoder *d, const struct json_node *value)
{
	unsigned long mask[OCI_CPUS_MAX / (8 * sizeof(unsigned long))];
	int r = oci_check_cpu_list(d, value);

	if (r < 0)
		return r;
	switch (num_parse_list(value->text, mask, OCI_CPUS_MAX)) {
	case 0:
		return 0;
	case -ERANGE:
		return decode_fail(d, value, "is \"%.64s\", want processors below %d", value->text,
				   OCI_CPUS_MAX);
	default:
		return decode_fail(d, value, "is \"%.64s\", want a list like \"0-3,7\"",
				   value->text);
	}
}

static const struct decode_row affinity_rows[] = {
	{ROW(struct oci_exec_cpu_affinity, DECODE_STRING, initial, "initial"), .empty_absent = true,
	 .check = check_affinity},
	{ROW(struct oci_exec_cpu_affinity, DECODE_STRING, final, "final"), .empty_absent = true,
	 .check = check_affinity},
};

static const struct decode_table affinity_table = {
	DECODE_TABLE(affinity_rows, struct oci_exec_cpu_affinity)};

/* ---- the process ---- */

int oci_check_env(struct decoder *d, const struct json_node *value)
{
	const char *equals = strchr(value->text, '=');

	if (!equals)
		return decode_fail(d, value, "is \"%.64s\", want NAME=VALUE", value->text);
	if (equals == value->text)
		return decode_fail(d, value, "has no name before \"=\"");
	return 0;
}

static const struct decode_row process_rows[] = {
	{ROW(struct oci_process, DECODE_BOOL, terminal, "terminal")},
	{.name = "consoleSize", .kind = DECODE_CUSTOM, .custom = decode_console},
	{ROW(struct oci_process, DECODE_STRUCT, user, "user"), .table = &user_table},
	{ROW(struct oci_process, DECODE_STRINGS, args, "args"), .max_count = ARGS_MAX},
	{ROW(struct oci_process, DECODE_STRINGS, env, "env"), .max_count = ARGS_MAX,
	 .check = oci_check_env},
	{ROW(struct oci_process, DECODE_STRING, cwd, "cwd"), .required = true,
	 .check = decode_check_absolute},
	{ROW(struct oci_process, DECODE_OBJECT, capabilities, "capabilities"),
	 .table = &capabilities_table},
	{ROW(struct oci_process, DECODE_ARRAY, rlimits, "rlimits"),
	 .count_offset = offsetof(struct oci_process, rlimits_n), .max_count = RLIMITS_MAX,
	 .table = &rlimit_table},
	{ROW(struct oci_process, DECODE_BOOL, no_new_privileges, "noNewPrivileges")},
	{ROW(struct oci_process, DECODE_OPT_I64, oom_score_adj, "oomScoreAdj"), .min = -1000,
	 .max = 1000},
	{ROW(struct oci_process, DECODE_STRING, apparmor_profile, "apparmorProfile"),
	 .empty_absent = true},
	{ROW(struct oci_process, DECODE_STRING, selinux_label, "selinuxLabel"),
	 .empty_absent = true},
	{ROW(struct oci_process, DECODE_OBJECT, scheduler, "scheduler"), .table = &scheduler_table},
	{ROW(struct oci_process, DECODE_OBJECT, io_priority, "ioPriority"),
	 .table = &io_priority_table},
	{ROW(struct oci_process, DECODE_OBJECT, exec_cpu_affinity, "execCPUAffinity"),
	 .table = &affinity_table},
};

static int check_process(struct decoder *d, const struct json_node *object, void *decoded)
{
	const struct oci_process *process = decoded;
	const struct json_node *node = json_get(object, "rlimits");

	if (process->args.v && process->args.n == 0)
		return decode_fail(d, json_get(object, "args"), "is empty");
	node = node ? node->child : NULL;
	for (size_t i = 0; node && i < process->rlimits_n; i++, node = node->next)
		for (size_t k = 0; k < i; k++)
			if (process->rlimits[k].resource == process->rlimits[i].resource)
				return decode_fail(d, json_get(node, "type"),
						   "is %s, which is there twice",
						   process->rlimits[i].type);
	return 0;
}

const struct decode_table oci_process_table = {DECODE_TABLE(process_rows, struct oci_process),
					       .check = check_process};
