/*
 * Conversions to cgroup2, whose numbers are not v1's: weights on another scale, quota and period in
 * one file, swap counted apart from memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/linux/cgroup/limits.h"
#include "runtime/base/log.h"
#include "runtime/base/num.h"

#define V1_UNLIMITED (INT64_MAX & ~INT64_C(0xffff)) /* whole pages, of up to 64 KiB */

#define QUOTA_TEXT_MAX 64

/* ---- weights ----
 *
 * libm would cost every start its loader; these two are exact to 1e-9 over the small range used. */

static double log2_of(double x)
{
	double result = 0, bit = 0.5;

	while (x >= 2) {
		x /= 2;
		result += 1;
	}
	for (int i = 0; i < 48; i++, bit /= 2) {
		x *= x;
		if (x >= 2) {
			x /= 2;
			result += bit;
		}
	}
	return result;
}

/* x >= 0 */
static double exp10_of(double x)
{
	double sum = 1, term = 1, power = 1;

	while (x >= 1) {
		power *= 10;
		x -= 1;
	}
	x *= 2.302585092994045684; /* ln 10 */
	for (int i = 1; i < 40; i++) {
		term *= x / i;
		sum += term;
	}
	return power * sum;
}

uint64_t limits_weight_from_shares(uint64_t shares)
{
	double l, weight;
	uint64_t whole;

	if (shares == 0)
		return 0;
	if (shares <= 2)
		return 1;
	if (shares >= 262144)
		return 10000;
	l = log2_of((double)shares);
	weight = exp10_of((l * l + 125 * l) / 612 - 7.0 / 34);
	whole = (uint64_t)weight;
	return weight - (double)whole > 1e-6 ? whole + 1 : whole;
}

uint64_t limits_io_weight(uint64_t weight)
{
	if (weight < 10)
		return 1;
	return weight > 1000 ? 10000 : 1 + (weight - 10) * 9999 / 990;
}

/* ---- cpu ---- */

static int add_cpu_v1(struct limits *l, const struct cgroup_hierarchy *h, bool quota, bool period,
		      struct sbx_error *err)
{
	const struct oci_cpu *cpu = l->resources->cpu;
	int r = 0;

	if (period)
		r = limits_add(l, h, "cpu.period", false, err, "cpu.cfs_period_us", "%llu",
			       (unsigned long long)cpu->period.v);
	if (r == 0 && quota)
		r = limits_add(l, h, "cpu.quota", false, err, "cpu.cfs_quota_us", "%lld",
			       (long long)cpu->quota.v);
	return r;
}

/* The file takes both; a period alone must not take the quota away. */
static const char *current_quota(const struct cgroup_hierarchy *h, char now[QUOTA_TEXT_MAX])
{
	if (cgroup_read_file(h, "cpu.max", now, QUOTA_TEXT_MAX) <= 0)
		return "max";
	now[strcspn(now, " ")] = '\0';
	return now;
}

int limits_add_cpu_max(struct limits *l, struct sbx_error *err)
{
	const struct oci_cpu *cpu = l->resources->cpu;
	bool quota = cpu && cpu->quota.set && cpu->quota.v != 0;
	bool period = cpu && cpu->period.set && cpu->period.v != 0;
	const char *member = quota ? "cpu.quota" : "cpu.period";
	const struct cgroup_hierarchy *h;
	char now[QUOTA_TEXT_MAX];

	if (!quota && !period)
		return 0;
	h = limits_place(l, CONTROLLER_CPU, member, err);
	if (!h)
		return -EINVAL;
	if (!h->unified)
		return add_cpu_v1(l, h, quota, period, err);
	if (!quota)
		return limits_add(l, h, member, false, err, "cpu.max", "%s %llu",
				  current_quota(h, now), (unsigned long long)cpu->period.v);
	if (cpu->quota.v < 0)
		return period ? limits_add(l, h, member, false, err, "cpu.max", "max %llu",
					   (unsigned long long)cpu->period.v)
			      : limits_add(l, h, member, false, err, "cpu.max", "max");
	return period ? limits_add(l, h, member, false, err, "cpu.max", "%lld %llu",
				   (long long)cpu->quota.v, (unsigned long long)cpu->period.v)
		      : limits_add(l, h, member, false, err, "cpu.max", "%lld",
				   (long long)cpu->quota.v);
}

/* ---- memory ---- */

static int add_bytes(struct limits *l, const struct cgroup_hierarchy *h, const char *member,
		     const char *file, int64_t bytes, struct sbx_error *err)
{
	bool none = bytes == 0 || bytes == -1; /* nothing is limited: the file may be absent */

	if (bytes == -1 && h->unified)
		return limits_add(l, h, member, true, err, file, "max");
	return limits_add(l, h, member, none, err, file, "%lld", (long long)bytes);
}

static int check_bytes(int64_t limit, int64_t swap, struct sbx_error *err)
{
	if (limit < -1)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/resources/memory/limit",
				   "set a memory limit of %lld bytes", (long long)limit);
	if (swap < -1)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/resources/memory/swap",
				   "set a swap limit of %lld bytes", (long long)swap);
	if (swap <= 0)
		return 0;
	if (limit == 0)
		return sbx_fail_at(
			err, SBX_E_INVALID_CONFIG, "/linux/resources/memory/swap",
			"set a limit of memory and swap together: it needs a memory limit, and "
			"there is none");
	if (swap < limit || limit == -1)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/resources/memory/swap",
				   "set a limit of memory and swap together (%lld bytes) below the "
				   "memory limit (%lld)",
				   (long long)swap, (long long)limit);
	return 0;
}

/* checkBeforeUpdate: the killer of cgroup2 would end what does not fit; v1 refuses by itself, less
 * clearly. */
static int check_usage(const struct cgroup_hierarchy *h, const struct oci_memory *memory,
		       struct sbx_error *err)
{
	unsigned long long limit = (unsigned long long)memory->limit.v, usage = 0;
	char text[32];

	if (!memory->check_before_update.v || !memory->limit.set || memory->limit.v <= 0)
		return 0;
	if (cgroup_read_file(h, h->unified ? "memory.current" : "memory.usage_in_bytes", text,
			     sizeof(text)) > 0)
		usage = strtoull(text, NULL, 10);
	if (usage <= limit)
		return 0;
	return sbx_fail(
		err, SBX_E_RESOURCE_LIMIT, EBUSY,
		"set \"linux.resources.memory.limit\": rejecting memory limit %llu, of which "
		"%llu bytes are in use (checkBeforeUpdate)",
		limit, usage);
}

static int add_memory_v1(struct limits *l, const struct cgroup_hierarchy *h, int64_t limit,
			 int64_t swap, struct sbx_error *err)
{
	int r = 0;

	if (limit != 0)
		r = limits_add(l, h, "memory.limit", false, err, "memory.limit_in_bytes", "%lld",
			       (long long)limit);
	if (limit == -1 && swap == 0)
		swap = -1; /* memory alone cannot exceed memory plus swap */
	if (r == 0 && swap != 0)
		r = add_bytes(l, h, "memory.swap", "memory.memsw.limit_in_bytes", swap, err);
	return r;
}

int64_t cgroup_memory_limit(const struct cgroup *cg)
{
	const struct cgroup_hierarchy *h = cgroup_find_v1(cg, "memory");
	char text[32];
	int64_t bytes;

	if (!h)
		h = cgroup_find_unified(cg);
	if (!h ||
	    cgroup_read_file(h, h->unified ? "memory.max" : "memory.limit_in_bytes", text,
			     sizeof(text)) <= 0 ||
	    num_parse_i64(text, 0, V1_UNLIMITED - 1, &bytes) < 0)
		return -1;
	return bytes;
}

bool limits_swap(const struct oci_memory *memory, int64_t *ret)
{
	int64_t limit = memory->limit.set ? memory->limit.v : 0;
	int64_t swap = memory->swap.set ? memory->swap.v : 0;

	*ret = swap > 0 ? swap - limit : -1;
	return swap != 0 || limit == -1;
}

static int add_memory_v2(struct limits *l, const struct cgroup_hierarchy *h, int64_t limit,
			 struct sbx_error *err)
{
	const struct oci_memory *memory = l->resources->memory;
	int64_t swap;
	int r = 0;

	if (limit == -1)
		r = limits_add(l, h, "memory.limit", false, err, "memory.max", "max");
	else if (limit != 0)
		r = limits_add(l, h, "memory.limit", false, err, "memory.max", "%lld",
			       (long long)limit);
	if (r < 0 || !limits_swap(memory, &swap))
		return r;
	return add_bytes(l, h, "memory.swap", "memory.swap.max", swap, err);
}

/* Deprecated, and no kernel of today limits it: v1 ignores it as the field's runtimes do. */
static int check_kernel_memory(const struct limits *l, const struct cgroup_hierarchy *h,
			       const struct oci_memory *memory, struct sbx_error *err)
{
	bool kernel = memory->kernel.set && memory->kernel.v > 0;
	bool tcp = memory->kernel_tcp.set && memory->kernel_tcp.v > 0;

	if (!kernel && !tcp)
		return 0;
	if (h->unified)
		return limits_refuse(h, kernel ? "memory.kernel" : "memory.kernelTCP", err);
	if (l->check_only) /* told when it is left out */
		return 0;
	log_warning(
		"ignored \"linux.resources.memory.%s\": deprecated, the kernel does not limit it",
		kernel ? "kernel" : "kernelTCP");
	return 0;
}

static int check_hierarchy(struct limits *l, const struct cgroup_hierarchy *h,
			   const struct oci_memory *memory, struct sbx_error *err)
{
	if (!memory->use_hierarchy.set)
		return 0;
	if (!h->unified) /* Linux before 5.11 had the choice */
		return limits_add(l, h, "memory.useHierarchy", memory->use_hierarchy.v, err,
				  "memory.use_hierarchy", "%d", memory->use_hierarchy.v);
	return memory->use_hierarchy.v ? 0 : limits_refuse(h, "memory.useHierarchy", err);
}

int limits_add_memory(struct limits *l, struct sbx_error *err)
{
	const struct oci_memory *memory = l->resources->memory;
	int64_t limit = memory && memory->limit.set ? memory->limit.v : 0;
	int64_t swap = memory && memory->swap.set ? memory->swap.v : 0;
	const struct cgroup_hierarchy *h;
	int r;

	if (!memory || !(memory->limit.set || memory->swap.set || memory->kernel.set ||
			 memory->kernel_tcp.set || memory->use_hierarchy.set))
		return 0;
	h = limits_place(l, CONTROLLER_MEMORY, "memory.limit", err);
	if (!h)
		return -EINVAL;
	r = check_bytes(limit, swap, err);
	if (r == 0)
		r = check_kernel_memory(l, h, memory, err);
	if (r == 0)
		r = check_hierarchy(l, h, memory, err);
	if (r == 0)
		r = check_usage(h, memory, err);
	if (r < 0)
		return r;
	return h->unified ? add_memory_v2(l, h, limit, err) : add_memory_v1(l, h, limit, swap, err);
}
