/*
 * From linux.resources to the properties of a scope (systemd.resource-control(5)).
 *
 * One row a property. A property of the scope bounds the container's group from above, so a row
 * gives way where "unified" says something else of the same file; those of cgroup2's files that
 * count only in the scope (weights) or need it as well (protection) are taken from "unified", too.
 * What a manager is too old for is left out by our program, which asks its version: the group's
 * file holds in any case.
 */
#include <string.h>

#include "backends/linux/cgroup/limits.h"
#include "backends/linux/cgroup/systemd.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/num.h"

#define INFINITE	UINT64_MAX
#define USEC_PER_SEC	1000000ULL
#define QUOTA_STEP	10000ULL /* systemd counts in whole percents, and rounds down */
#define CPUS_MAX	8192
#define WORD_BITS	(8 * sizeof(unsigned long))
#define ANNOTATION	"org.systemd.property."
#define ANNOTATIONS_MAX 64

enum layout { BOTH, V1, V2 };

typedef bool (*value_fn)(const struct oci_resources *r, const struct systemd_cpu *now,
			 uint64_t *ret);

/* ---- values ---- */

static bool from_bytes(const struct oci_opt_i64 *bytes, uint64_t *ret)
{
	*ret = bytes->v < 0 ? INFINITE : (uint64_t)bytes->v;
	return bytes->set && bytes->v != 0;
}

static bool memory_max(const struct oci_resources *r, const struct systemd_cpu *now, uint64_t *ret)
{
	(void)now;
	return r->memory && from_bytes(&r->memory->limit, ret);
}

static bool memory_low(const struct oci_resources *r, const struct systemd_cpu *now, uint64_t *ret)
{
	(void)now;
	return r->memory && from_bytes(&r->memory->reservation, ret);
}

static bool swap_max(const struct oci_resources *r, const struct systemd_cpu *now, uint64_t *ret)
{
	int64_t swap;

	(void)now;
	if (!r->memory || !limits_swap(r->memory, &swap))
		return false;
	*ret = swap < 0 ? INFINITE : (uint64_t)swap;
	return true;
}

/* A unit's TasksMax cannot be 0; 1 lets the container's first process live and no other, too. */
static bool tasks_max(const struct oci_resources *r, const struct systemd_cpu *now, uint64_t *ret)
{
	const struct oci_opt_i64 *pids = &r->pids_limit;

	(void)now;
	*ret = pids->v < 0 ? INFINITE : pids->v == 0 ? 1 : (uint64_t)pids->v;
	return pids->set;
}

static bool cpu_shares(const struct oci_resources *r, const struct systemd_cpu *now, uint64_t *ret)
{
	(void)now;
	if (!r->cpu || !r->cpu->shares.set || r->cpu->shares.v == 0)
		return false;
	*ret = r->cpu->shares.v;
	return true;
}

static bool cpu_weight(const struct oci_resources *r, const struct systemd_cpu *now, uint64_t *ret)
{
	if (!cpu_shares(r, now, ret))
		return false;
	*ret = limits_weight_from_shares(*ret);
	return true;
}

static bool cpu_idle(const struct oci_resources *r, const struct systemd_cpu *now, uint64_t *ret)
{
	(void)now;
	*ret = 0;
	return r->cpu && r->cpu->idle.set && r->cpu->idle.v == 1;
}

static bool cpu_period(const struct oci_resources *r, const struct systemd_cpu *now, uint64_t *ret)
{
	(void)now;
	if (!r->cpu || !r->cpu->period.set || r->cpu->period.v == 0)
		return false;
	*ret = r->cpu->period.v;
	return true;
}

/* Rounded up: what the scope allows more than was asked for the group's own file takes back. */
static bool cpu_quota(const struct oci_resources *r, const struct systemd_cpu *now, uint64_t *ret)
{
	bool given = r->cpu && r->cpu->quota.set && r->cpu->quota.v != 0;
	uint64_t period = now->period_us, scaled;
	int64_t quota = given ? r->cpu->quota.v : now->quota_us;

	/* a new period alone: what the quota is per second changes with it */
	if (!given && (!cpu_period(r, now, &period) || quota <= 0))
		return false;
	cpu_period(r, now, &period);
	if (quota < 0 || period == 0 ||
	    __builtin_mul_overflow((uint64_t)quota, USEC_PER_SEC, &scaled)) {
		*ret = INFINITE;
		return true;
	}
	scaled = scaled / period + (scaled % period != 0);
	*ret = (scaled / QUOTA_STEP + (scaled % QUOTA_STEP != 0)) * QUOTA_STEP;
	return true;
}

static bool block_weight(const struct oci_resources *r, const struct systemd_cpu *now,
			 uint64_t *ret)
{
	(void)now;
	if (!r->block_io || !r->block_io->weight.set || r->block_io->weight.v == 0)
		return false;
	*ret = r->block_io->weight.v;
	return true;
}

static bool io_weight(const struct oci_resources *r, const struct systemd_cpu *now, uint64_t *ret)
{
	if (!block_weight(r, now, ret))
		return false;
	*ret = limits_io_weight(*ret);
	return true;
}

/* ---- rows ---- */

/* clang-format off */
static const struct row {
	const char *name;
	unsigned since; /* version of systemd, 0: any that is alive */
	enum layout layout;
	const char *file; /* of cgroup2 */
	value_fn value;
} rows[] = {
	{"TasksMax", 0, BOTH, "pids.max", tasks_max},
	{"MemoryMax", 0, V2, "memory.max", memory_max},
	{"MemoryLimit", 0, V1, "memory.max", memory_max},
	{"MemoryLow", 0, V2, "memory.low", memory_low},
	{"MemorySwapMax", 0, V2, "memory.swap.max", swap_max},
	{"CPUWeight", 0, V2, "cpu.weight", cpu_weight},
	{"CPUWeight", 252, V2, "cpu.idle", cpu_idle},
	{"CPUShares", 0, V1, "cpu.weight", cpu_shares},
	{"CPUQuotaPeriodUSec", 242, BOTH, "cpu.max", cpu_period},
	{"CPUQuotaPerSecUSec", 0, BOTH, "cpu.max", cpu_quota},
	{"IOWeight", 0, V2, "io.weight", io_weight},
	{"BlockIOWeight", 0, V1, "io.weight", block_weight},
};

/* What unified sets that the scope has to have as well. */
static const struct {
	const char *file, *name;
	uint64_t max;
} unified_rows[] = {
	{"cpu.weight", "CPUWeight", 10000},
	{"io.weight", "IOWeight", 10000},
	{"memory.min", "MemoryMin", INFINITE},
	{"memory.low", "MemoryLow", INFINITE},
};
/* clang-format on */

static const char *unified_value(const struct oci_resources *r, const char *file)
{
	for (size_t i = 0; i < r->unified.n; i++)
		if (strcmp(r->unified.v[i].key, file) == 0)
			return r->unified.v[i].value;
	return NULL;
}

void systemd_property_begin(struct json_writer *w, const char *name, const char *type,
			    unsigned since)
{
	json_begin_object(w, NULL);
	json_write_string(w, "name", name);
	json_write_string(w, "type", type);
	if (since)
		json_write_uint(w, "since", since);
}

static void write_number(struct json_writer *w, const char *name, unsigned since, uint64_t value)
{
	systemd_property_begin(w, name, "t", since);
	json_write_uint(w, "value", value);
	json_end_object(w);
}

static void write_unified(struct json_writer *w, const struct oci_resources *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(unified_rows); i++) {
		const char *text = unified_value(r, unified_rows[i].file);
		uint64_t value = INFINITE;

		if (text && strncmp(text, "default ", 8) == 0)
			text += 8;
		/* What the kernel understands otherwise holds in the group below. */
		if (text && ((strcmp(text, "max") == 0 && unified_rows[i].max == INFINITE) ||
			     num_parse_u64(text, 0, unified_rows[i].max, &value) == 0))
			write_number(w, unified_rows[i].name, 0, value);
	}
}

/* A list of CPUs or nodes as systemd takes it: bytes, the lowest bit first. */
static void write_set(struct json_writer *w, const char *name, const char *list)
{
	unsigned long mask[CPUS_MAX / WORD_BITS] = {0};
	size_t bytes = 0;

	if (!list || !*list || num_parse_list(list, mask, CPUS_MAX) < 0)
		return;
	for (size_t i = 0; i < CPUS_MAX; i++)
		if (mask[i / WORD_BITS] >> (i % WORD_BITS) & 1)
			bytes = i / 8 + 1;
	systemd_property_begin(w, name, "ay", 244);
	json_begin_array(w, "value");
	for (size_t i = 0; i < bytes; i++)
		json_write_uint(w, NULL, mask[i * 8 / WORD_BITS] >> (i * 8 % WORD_BITS) & 0xff);
	json_end_array(w);
	json_end_object(w);
}

void systemd_properties_write(struct json_writer *w, const struct oci_resources *resources,
			      bool unified, const struct systemd_cpu *now)
{
	if (!resources)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		uint64_t value;

		if ((row->layout == V1 && unified) || (row->layout == V2 && !unified) ||
		    unified_value(resources, row->file))
			continue;
		if (row->value(resources, now, &value))
			write_number(w, row->name, row->since, value);
	}
	if (!unified)
		return;
	write_unified(w, resources);
	if (resources->cpu && !unified_value(resources, "cpuset.cpus"))
		write_set(w, "AllowedCPUs", resources->cpu->cpus);
	if (resources->cpu && !unified_value(resources, "cpuset.mems"))
		write_set(w, "AllowedMemoryNodes", resources->cpu->mems);
}

int systemd_annotations_write(struct json_writer *w, const struct oci_key_values *annotations,
			      struct sbx_error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < annotations->n; i++) {
		const struct oci_key_value *a = &annotations->v[i];
		int rc;

		if (strncmp(a->key, ANNOTATION, strlen(ANNOTATION)) != 0)
			continue;
		if (++n > ANNOTATIONS_MAX)
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/annotations",
					   "set more than %d properties of the container's scope",
					   ANNOTATIONS_MAX);
		rc = systemd_value_write(w, a->key + strlen(ANNOTATION), a->value, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int systemd_check_annotations(const struct oci_key_values *annotations, struct sbx_error *err)
{
	cleanup_buf struct buf unused = BUF_INIT;
	struct json_writer w;

	json_writer_init(&w, &unused, 0);
	json_begin_array(&w, NULL);
	return systemd_annotations_write(&w, annotations, err);
}
