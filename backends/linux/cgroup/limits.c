/*
 * The table of resource files, and the writes.
 *
 * A row says for one number of linux.resources which file takes it on v1 and on cgroup2
 * (config-linux.md#control-groups, cgroup-v2.rst); no file means that the layout cannot do it, and
 * a bundle that asks is refused by name. Where hybrid splits the controllers, each row follows its
 * own. What needs more than one number or a list has its own function behind the table.
 *
 * Some pairs of files bound each other (memory and memory plus swap, quota and burst, the realtime
 * pair), so that the right order depends on what stands there now. Instead of reading first, a
 * write that the kernel calls invalid is tried again after the others, while there is progress.
 */
#include "backends/linux/cgroup/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"

#define ARENA_BYTES ((size_t)4 << 20)

static const struct {
	const char *v1, *v2;
} controllers[CONTROLLER_COUNT] = {
	[CONTROLLER_CPU] = {"cpu", "cpu"},	    [CONTROLLER_CPUSET] = {"cpuset", "cpuset"},
	[CONTROLLER_MEMORY] = {"memory", "memory"}, [CONTROLLER_PIDS] = {"pids", "pids"},
	[CONTROLLER_IO] = {"blkio", "io"},	    [CONTROLLER_HUGETLB] = {"hugetlb", "hugetlb"},
	[CONTROLLER_NET_CLS] = {"net_cls", NULL},   [CONTROLLER_NET_PRIO] = {"net_prio", NULL},
	[CONTROLLER_RDMA] = {"rdma", "rdma"},
};

/* ---- rows ---- */

enum value_kind { KIND_U64, KIND_I64, KIND_BOOL, KIND_TEXT };

/* How a number becomes text. */
enum conversion {
	AS_NUMBER,
	AS_MAX_IF_NEGATIVE, /* "max" */
	AS_WEIGHT,	    /* cpu.shares on cgroup2 */
};

#define ZERO_IS_UNSET 1u /* clients send 0 for "leave it" */

#define INLINE SIZE_MAX /* the number stands in struct oci_resources itself */

struct limit_row {
	const char *member;
	size_t object; /* offset of the pointer in struct oci_resources, or INLINE */
	size_t field;  /* offset in that object */
	enum value_kind kind;
	enum controller controller;
	unsigned flags;
	const char *v1, *v2; /* files; NULL: refused there */
	enum conversion v1_as, v2_as;
};

#define ROW(obj, type, name) offsetof(struct oci_resources, obj), offsetof(struct type, name)

/* clang-format off */
static const struct limit_row rows[] = {
	{"cpu.shares", ROW(cpu, oci_cpu, shares), KIND_U64, CONTROLLER_CPU, ZERO_IS_UNSET,
	 "cpu.shares", "cpu.weight", AS_NUMBER, AS_WEIGHT},
	{"cpu.idle", ROW(cpu, oci_cpu, idle), KIND_I64, CONTROLLER_CPU, 0,
	 "cpu.idle", "cpu.idle", AS_NUMBER, AS_NUMBER},
	{"cpu.burst", ROW(cpu, oci_cpu, burst), KIND_U64, CONTROLLER_CPU, 0,
	 "cpu.cfs_burst_us", "cpu.max.burst", AS_NUMBER, AS_NUMBER},
	{"cpu.realtimePeriod", ROW(cpu, oci_cpu, realtime_period), KIND_U64, CONTROLLER_CPU,
	 ZERO_IS_UNSET, "cpu.rt_period_us", NULL, AS_NUMBER, AS_NUMBER},
	{"cpu.realtimeRuntime", ROW(cpu, oci_cpu, realtime_runtime), KIND_I64, CONTROLLER_CPU,
	 ZERO_IS_UNSET, "cpu.rt_runtime_us", NULL, AS_NUMBER, AS_NUMBER},
	{"cpu.cpus", ROW(cpu, oci_cpu, cpus), KIND_TEXT, CONTROLLER_CPUSET, 0,
	 "cpuset.cpus", "cpuset.cpus", AS_NUMBER, AS_NUMBER},
	{"cpu.mems", ROW(cpu, oci_cpu, mems), KIND_TEXT, CONTROLLER_CPUSET, 0,
	 "cpuset.mems", "cpuset.mems", AS_NUMBER, AS_NUMBER},
	{"memory.reservation", ROW(memory, oci_memory, reservation), KIND_I64, CONTROLLER_MEMORY,
	 ZERO_IS_UNSET, "memory.soft_limit_in_bytes", "memory.low", AS_NUMBER, AS_MAX_IF_NEGATIVE},
	{"memory.swappiness", ROW(memory, oci_memory, swappiness), KIND_U64, CONTROLLER_MEMORY, 0,
	 "memory.swappiness", NULL, AS_NUMBER, AS_NUMBER},
	{"memory.disableOOMKiller", ROW(memory, oci_memory, disable_oom_killer), KIND_BOOL,
	 CONTROLLER_MEMORY, ZERO_IS_UNSET, "memory.oom_control", NULL, AS_NUMBER, AS_NUMBER},
	{"pids.limit", INLINE, offsetof(struct oci_resources, pids_limit), KIND_I64,
	 CONTROLLER_PIDS, 0, "pids.max", "pids.max", AS_MAX_IF_NEGATIVE, AS_MAX_IF_NEGATIVE},
};
/* clang-format on */

/* ---- making the list ---- */

const struct cgroup_hierarchy *limits_place(const struct limits *l, enum controller controller,
					    const char *member, struct sbx_error *err)
{
	const struct cgroup_hierarchy *v1 = cgroup_find_v1(l->cg, controllers[controller].v1);
	const struct cgroup_hierarchy *v2 = cgroup_find_unified(l->cg);

	if (v1)
		return v1;
	if (v2 && controllers[controller].v2)
		return v2;
	sbx_fail(err, SBX_E_UNSUPPORTED, 0, "set \"linux.resources.%s\": %s%s", member,
		 v2 ? "cgroup2 has no controller " : "no hierarchy is mounted with the controller ",
		 controllers[controller].v1);
	return NULL;
}

int limits_refuse(const struct cgroup_hierarchy *h, const char *member, struct sbx_error *err)
{
	sbx_fail(err, SBX_E_UNSUPPORTED, 0, "set \"linux.resources.%s\": %s cannot do it", member,
		 h->unified ? "cgroup2" : "cgroup v1");
	return -EINVAL;
}

int limits_add(struct limits *l, const struct cgroup_hierarchy *h, const char *member,
	       bool optional, struct sbx_error *err, const char *file, const char *fmt, ...)
{
	struct limit_write w = {.h = h, .member = member, .file = file, .optional = optional};
	char text[CGROUP_VALUE_MAX];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(text) || l->n == LIMIT_WRITES_MAX)
		return sbx_fail(err, SBX_E_INVALID_CONFIG, E2BIG, "set \"linux.resources.%s\"",
				member);
	if (!l->v)
		l->v = arena_alloc_array(&l->arena, LIMIT_WRITES_MAX, sizeof(*l->v));
	w.value = arena_strndup(&l->arena, text, (size_t)n);
	if (!l->v || !w.value || !w.file)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "set \"linux.resources.%s\"", member);
	l->v[l->n++] = w;
	return 0;
}

struct number {
	bool set, negative;
	uint64_t magnitude;
	const char *text; /* KIND_TEXT */
};

static struct number row_number(const struct limit_row *row, const struct oci_resources *r)
{
	const char *object = (const char *)r;
	struct number n = {0};

	if (row->object != INLINE)
		memcpy(&object, (const char *)r + row->object, sizeof(object));
	if (!object)
		return n;
	if (row->kind == KIND_U64) {
		const struct oci_opt_u64 *v = (const void *)(object + row->field);

		n.set = v->set;
		n.magnitude = v->v;
	} else if (row->kind == KIND_I64) {
		const struct oci_opt_i64 *v = (const void *)(object + row->field);

		n.set = v->set;
		n.negative = v->v < 0;
		n.magnitude = n.negative ? 0 - (uint64_t)v->v : (uint64_t)v->v;
	} else if (row->kind == KIND_BOOL) {
		const struct oci_opt_bool *v = (const void *)(object + row->field);

		n.set = v->set;
		n.magnitude = v->v;
	} else {
		memcpy(&n.text, object + row->field, sizeof(n.text));
		n.set = n.text && n.text[0];
	}
	if (n.set && (row->flags & ZERO_IS_UNSET) && n.magnitude == 0)
		n.set = false;
	return n;
}

static int add_row(struct limits *l, const struct limit_row *row, struct sbx_error *err)
{
	struct number n = row_number(row, l->resources);
	const struct cgroup_hierarchy *h;
	const char *file;
	enum conversion as;

	if (!n.set)
		return 0;
	h = limits_place(l, row->controller, row->member, err);
	if (!h)
		return -EINVAL;
	file = h->unified ? row->v2 : row->v1;
	as = h->unified ? row->v2_as : row->v1_as;
	if (!file)
		return limits_refuse(h, row->member, err);
	if (row->kind == KIND_TEXT)
		return limits_add(l, h, row->member, false, err, file, "%s", n.text);
	if (as == AS_MAX_IF_NEGATIVE && n.negative)
		return limits_add(l, h, row->member, false, err, file, "max");
	if (as == AS_WEIGHT)
		n.magnitude = limits_weight_from_shares(n.magnitude);
	return limits_add(l, h, row->member, false, err, file, "%s%llu", n.negative ? "-" : "",
			  (unsigned long long)n.magnitude);
}

typedef int (*add_fn)(struct limits *l, struct sbx_error *err);

static const add_fn composites[] = {
	limits_add_cpu_max, limits_add_memory, limits_add_block_io, limits_add_hugepages,
	limits_add_network, limits_add_rdma,   limits_add_unified, /* last: it overrides */
};

void limits_init(struct limits *l)
{
	arena_init(&l->arena, ARENA_BYTES);
}

int limits_collect(struct limits *l, struct sbx_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = add_row(l, &rows[i], err);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(composites); i++) {
		int r = composites[i](l, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- writing ---- */

/* The kernel refuses shares of a group that runs only when nothing else does. */
static bool is_share_of_idle(const struct limit_write *w)
{
	char idle[16];

	return (strcmp(w->file, "cpu.shares") == 0 || strcmp(w->file, "cpu.weight") == 0) &&
	       cgroup_read_file(w->h, "cpu.idle", idle, sizeof(idle)) > 0 && strcmp(idle, "1") == 0;
}

static int fail_write(const struct limit_write *w, int r, struct sbx_error *err)
{
	const char *why = "";

	if (r == -ENOENT)
		return sbx_fail(err, SBX_E_UNSUPPORTED, ENOENT,
				"set \"linux.resources.%s\": cgroup \"%s\" of %s has no file "
				"\"%s\" (its controller is not available here, or not enabled in "
				"the groups above)",
				w->member, w->h->path, cgroup_hierarchy_name(w->h), w->file);
	if (r == -EBUSY)
		why = " (more is in use already)";
	else if (r == -EINVAL && is_share_of_idle(w))
		why = " (a group with cpu.idle takes no shares: set cpu.idle to 0 first)";
	else if (r == -EINVAL && strncmp(w->file, "cpu.cfs_", 8) == 0)
		why = " (in cgroup v1 no group has more than one above it, where the profile's "
		      "limits.cpus stand)";
	return sbx_fail(err, r == -EACCES || r == -EPERM ? SBX_E_PERMISSION_DENIED : SBX_E_SYSTEM,
			-r, "set \"linux.resources.%s\": write \"%s\" to \"%s\" of cgroup \"%s\"%s",
			w->member, w->value, w->file, w->h->path, why);
}

static int write_one(struct limits *l, const struct limit_write *w)
{
	int r = l->undo ? limits_remember(l->undo, w) : 0;

	if (r == 0)
		r = limits_write_file(w->h, w->file, w->value);
	return r == -ENOENT && w->optional ? 0 : r;
}

int limits_write(struct limits *l, struct sbx_error *err)
{
	size_t left = l->n, before;

	for (size_t i = 0; i < l->n; i++)
		l->v[i].done = false;
	do {
		before = left;
		for (size_t i = 0; i < l->n; i++) {
			struct limit_write *w = &l->v[i];
			int r = w->done ? 0 : write_one(l, w);

			if (r < 0 && r != -EINVAL)
				return fail_write(w, r, err);
			if (r < 0 || w->done)
				continue;
			w->done = true;
			left--;
		}
	} while (left > 0 && left < before);
	for (size_t i = 0; i < l->n; i++)
		if (!l->v[i].done)
			return fail_write(&l->v[i], -EINVAL, err);
	return 0;
}

static int run_limits(const struct cgroup *cg, const struct oci_resources *resources, bool execute,
		      struct sbx_error *err)
{
	struct limits l = {.cg = cg, .resources = resources, .check_only = !execute};
	int r;

	if (!resources || cg->n == 0)
		return 0;
	limits_init(&l);
	r = limits_collect(&l, err);
	if (r == 0 && execute)
		r = limits_write(&l, err);
	arena_release(&l.arena);
	return r;
}

int cgroup_check_resources(const struct cgroup *cg, const struct oci_resources *resources,
			   struct sbx_error *err)
{
	return run_limits(cg, resources, false, err);
}

int cgroup_apply(const struct cgroup *cg, const struct oci_resources *resources,
		 struct sbx_error *err)
{
	return run_limits(cg, resources, true, err);
}
