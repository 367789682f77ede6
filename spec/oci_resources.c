/*
 * config-linux.md#control-groups, also the document of update --resources. What a controller makes
 * of the numbers is the cgroup driver's knowledge; here they only have to be numbers of the
 * specification, and names must not leave the directory in which they become file names.
 */
#include "spec/oci_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"

#define WEIGHT_MIN 10
#define WEIGHT_MAX 1000

/* ---- texts ---- */

int oci_check_cpu_list(struct decoder *d, const struct json_node *value)
{
	unsigned long number, first = 0;
	const char *p = value->text;
	bool ends_range = false;
	size_t digits;

	/* N, N-M, N-M:USED/GROUP, separated by commas: lib/bitmap.c of the kernel. */
	for (;;) {
		digits = strspn(p, "0123456789");
		if (digits == 0 || digits > 9)
			break;
		number = strtoul(p, NULL, 10);
		if (ends_range && number < first)
			return decode_fail(d, value,
					   "is \"%.64s\", with a range that ends before it begins",
					   value->text);
		p += digits;
		ends_range = *p == '-';
		first = number;
		if (*p == '\0')
			return 0;
		if (!strchr(",-:/", *p))
			break;
		p++;
	}
	return decode_fail(d, value, "is \"%.64s\", want a list like \"0-3,7\"", value->text);
}

/* A name that becomes one component of a path. */
static int check_component(struct decoder *d, const struct json_node *at, const char *name)
{
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strpbrk(name, "/\n"))
		return decode_fail(d, at, "has the name \"%.64s\", want a plain file name", name);
	return 0;
}

static int check_key_component(struct decoder *d, const struct json_node *value)
{
	return check_component(d, value, value->key);
}

/* "2MB": config-linux.md#huge-page-limits. */
static int check_page_size(struct decoder *d, const struct json_node *value)
{
	size_t digits = strspn(value->text, "0123456789");
	const char *unit = value->text + digits;

	if (digits > 0 && value->text[0] != '0' &&
	    (strcmp(unit, "KB") == 0 || strcmp(unit, "MB") == 0 || strcmp(unit, "GB") == 0))
		return 0;
	return decode_fail(d, value, "is \"%.64s\", want a size like \"2MB\"", value->text);
}

static int check_device_name(struct decoder *d, const struct json_node *value)
{
	return oci_check_net_name(d, value, value->text);
}

/* ---- devices ---- */

struct device_rule_raw {
	bool allow;
	const char *type, *access;
	struct oci_opt_i64 major, minor;
};

static const char *const device_types[] = {"a", "b", "c", NULL};

static const struct decode_row device_rows[] = {
	{ROW(struct device_rule_raw, DECODE_BOOL, allow, "allow"), .required = true},
	{ROW(struct device_rule_raw, DECODE_STRING, type, "type"), .empty_absent = true,
	 .words = device_types},
	{ROW(struct device_rule_raw, DECODE_OPT_I64, major, "major"), .min = -1, .max = UINT32_MAX},
	{ROW(struct device_rule_raw, DECODE_OPT_I64, minor, "minor"), .min = -1, .max = UINT32_MAX},
	{ROW(struct device_rule_raw, DECODE_STRING, access, "access"), .empty_absent = true},
};

static const struct decode_table device_table = {DECODE_TABLE(device_rows, struct device_rule_raw)};

static int decode_device_rule(struct decoder *d, const struct json_node *node,
			      struct oci_device_rule *rule)
{
	struct device_rule_raw raw = {0};
	int r = decode_object(d, node, &device_table, &raw);

	if (r < 0)
		return r;
	if (raw.access && raw.access[strspn(raw.access, "rwm")] != '\0')
		return decode_fail(d, json_get(node, "access"),
				   "is \"%.64s\", want letters of \"rwm\"", raw.access);
	*rule = (struct oci_device_rule){
		.allow = raw.allow,
		.type = raw.type ? raw.type[0] : 'a',
		.major = raw.major.set ? raw.major.v : -1,
		.minor = raw.minor.set ? raw.minor.v : -1,
		.r = !raw.access || strchr(raw.access, 'r'),
		.w = !raw.access || strchr(raw.access, 'w'),
		.m = !raw.access || strchr(raw.access, 'm'),
	};
	return 0;
}

static int decode_device_rules(struct decoder *d, const struct json_node *value, void *member)
{
	struct oci_resources *resources = member;
	struct oci_device_rule *rules;
	size_t n = 0;
	int r = decode_want(d, value, JSON_ARRAY);

	if (r < 0 || value->count == 0)
		return r;
	rules = arena_alloc_array(d->arena, value->count, sizeof(*rules));
	if (!rules)
		return decode_no_memory(d);
	for (const struct json_node *e = value->child; e; e = e->next) {
		r = decode_device_rule(d, e, &rules[n++]);
		if (r < 0)
			return r;
	}
	resources->devices = rules;
	resources->devices_n = n;
	return 0;
}

/* ---- cpu, memory, pids ---- */

static const struct decode_row cpu_rows[] = {
	{ROW(struct oci_cpu, DECODE_OPT_U64, shares, "shares")},
	{ROW(struct oci_cpu, DECODE_OPT_I64, quota, "quota")},
	{ROW(struct oci_cpu, DECODE_OPT_U64, burst, "burst")},
	{ROW(struct oci_cpu, DECODE_OPT_U64, period, "period")},
	{ROW(struct oci_cpu, DECODE_OPT_I64, realtime_runtime, "realtimeRuntime")},
	{ROW(struct oci_cpu, DECODE_OPT_U64, realtime_period, "realtimePeriod")},
	{ROW(struct oci_cpu, DECODE_STRING, cpus, "cpus"), .empty_absent = true,
	 .check = oci_check_cpu_list},
	{ROW(struct oci_cpu, DECODE_STRING, mems, "mems"), .empty_absent = true,
	 .check = oci_check_cpu_list},
	{ROW(struct oci_cpu, DECODE_OPT_I64, idle, "idle"), .max = 1},
};

static const struct decode_table cpu_table = {DECODE_TABLE(cpu_rows, struct oci_cpu)};

static const struct decode_row memory_rows[] = {
	{ROW(struct oci_memory, DECODE_OPT_I64, limit, "limit"), .min = -1, .max = INT64_MAX},
	{ROW(struct oci_memory, DECODE_OPT_I64, reservation, "reservation"), .min = -1,
	 .max = INT64_MAX},
	{ROW(struct oci_memory, DECODE_OPT_I64, swap, "swap"), .min = -1, .max = INT64_MAX},
	{ROW(struct oci_memory, DECODE_OPT_I64, kernel, "kernel"), .min = -1, .max = INT64_MAX},
	{ROW(struct oci_memory, DECODE_OPT_I64, kernel_tcp, "kernelTCP"), .min = -1,
	 .max = INT64_MAX},
	{ROW(struct oci_memory, DECODE_OPT_U64, swappiness, "swappiness"), .max = 100},
	{ROW(struct oci_memory, DECODE_OPT_BOOL, disable_oom_killer, "disableOOMKiller")},
	{ROW(struct oci_memory, DECODE_OPT_BOOL, use_hierarchy, "useHierarchy")},
	{ROW(struct oci_memory, DECODE_OPT_BOOL, check_before_update, "checkBeforeUpdate")},
};

static const struct decode_table memory_table = {DECODE_TABLE(memory_rows, struct oci_memory)};

static const struct decode_row pids_rows[] = {
	{ROW(struct oci_resources, DECODE_OPT_I64, pids_limit, "limit"), .min = -1,
	 .max = INT64_MAX},
};

static const struct decode_table pids_table = {DECODE_TABLE(pids_rows, struct oci_resources)};

/* ---- blockIO ---- */

/* Weights are 10 to 1000; Go clients write 0 for "not set". */
static int decode_weight(struct decoder *d, const struct json_node *value, void *member)
{
	struct oci_opt_u64 *weight = member;
	uint64_t v;
	int r = decode_u64(d, value, 0, WEIGHT_MAX, &v);

	if (r < 0 || v == 0)
		return r;
	if (v < WEIGHT_MIN)
		return decode_u64(d, value, WEIGHT_MIN, WEIGHT_MAX, &v);
	*weight = (struct oci_opt_u64){.set = true, .v = v};
	return 0;
}

#define WEIGHT(type_, member_, name_)                                                              \
	ROW(type_, DECODE_CUSTOM, member_, name_), .custom = decode_weight
#define DEVICE_NUMBER(member_, name_)                                                              \
	ROW(struct oci_block_device, DECODE_I64, member_, name_), .required = true,                \
								  .max = UINT32_MAX

static const struct decode_row weight_device_rows[] = {
	{DEVICE_NUMBER(major, "major")},
	{DEVICE_NUMBER(minor, "minor")},
	{WEIGHT(struct oci_block_device, weight, "weight")},
	{WEIGHT(struct oci_block_device, leaf_weight, "leafWeight")},
};

static const struct decode_table weight_device_table = {
	DECODE_TABLE(weight_device_rows, struct oci_block_device)};

static const struct decode_row throttle_device_rows[] = {
	{DEVICE_NUMBER(major, "major")},
	{DEVICE_NUMBER(minor, "minor")},
	{ROW(struct oci_block_device, DECODE_OPT_U64, rate, "rate"), .required = true},
};

static const struct decode_table throttle_device_table = {
	DECODE_TABLE(throttle_device_rows, struct oci_block_device)};

#define BLOCK_DEVICES(member_, name_, table_)                                                      \
	.name = (name_), .kind = DECODE_ARRAY, .offset = offsetof(struct oci_block_io, member_.v), \
	.count_offset = offsetof(struct oci_block_io, member_.n), .table = &(table_)

static const struct decode_row block_io_rows[] = {
	{WEIGHT(struct oci_block_io, weight, "weight")},
	{WEIGHT(struct oci_block_io, leaf_weight, "leafWeight")},
	{BLOCK_DEVICES(weight_device, "weightDevice", weight_device_table)},
	{BLOCK_DEVICES(throttle_read_bps, "throttleReadBpsDevice", throttle_device_table)},
	{BLOCK_DEVICES(throttle_write_bps, "throttleWriteBpsDevice", throttle_device_table)},
	{BLOCK_DEVICES(throttle_read_iops, "throttleReadIOPSDevice", throttle_device_table)},
	{BLOCK_DEVICES(throttle_write_iops, "throttleWriteIOPSDevice", throttle_device_table)},
};

static const struct decode_table block_io_table = {
	DECODE_TABLE(block_io_rows, struct oci_block_io)};

/* ---- hugepages, network, rdma ---- */

static const struct decode_row hugepage_rows[] = {
	{ROW(struct oci_hugepage_limit, DECODE_STRING, page_size, "pageSize"), .required = true,
	 .check = check_page_size},
	{ROW(struct oci_hugepage_limit, DECODE_U64, limit, "limit"), .required = true},
};

static const struct decode_table hugepage_table = {
	DECODE_TABLE(hugepage_rows, struct oci_hugepage_limit)};

static const struct decode_row priority_rows[] = {
	{ROW(struct oci_interface_priority, DECODE_STRING, name, "name"), .required = true,
	 .check = check_device_name},
	{ROW(struct oci_interface_priority, DECODE_U32, priority, "priority"), .required = true},
};

static const struct decode_table priority_table = {
	DECODE_TABLE(priority_rows, struct oci_interface_priority)};

static const struct decode_row network_rows[] = {
	{ROW(struct oci_network_cgroup, DECODE_OPT_U64, class_id, "classID"), .max = UINT32_MAX},
	{ROW(struct oci_network_cgroup, DECODE_ARRAY, priorities, "priorities"),
	 .count_offset = offsetof(struct oci_network_cgroup, priorities_n),
	 .table = &priority_table},
};

static const struct decode_table network_table = {
	DECODE_TABLE(network_rows, struct oci_network_cgroup)};

static const struct decode_row rdma_rows[] = {
	{ROW(struct oci_rdma, DECODE_OPT_U64, hca_handles, "hcaHandles"), .max = UINT32_MAX},
	{ROW(struct oci_rdma, DECODE_OPT_U64, hca_objects, "hcaObjects"), .max = UINT32_MAX},
};

static const struct decode_table rdma_table = {DECODE_TABLE(rdma_rows, struct oci_rdma)};

static int decode_rdma(struct decoder *d, const struct json_node *value, void *member)
{
	struct oci_resources *resources = member;
	struct oci_rdma *list;
	size_t n = 0;
	int r = decode_want(d, value, JSON_OBJECT);

	if (r < 0 || value->count == 0)
		return r;
	list = arena_alloc_array(d->arena, value->count, sizeof(*list));
	if (!list)
		return decode_no_memory(d);
	for (const struct json_node *e = value->child; e; e = e->next) {
		struct oci_rdma *rdma = &list[n++];

		r = check_component(d, e, e->key);
		if (r == 0)
			r = decode_object(d, e, &rdma_table, rdma);
		if (r < 0)
			return r;
		if (!rdma->hca_handles.set && !rdma->hca_objects.set)
			return decode_fail(d, e, "has neither \"hcaHandles\" nor \"hcaObjects\"");
		rdma->name = e->key;
	}
	resources->rdma = list;
	resources->rdma_n = n;
	return 0;
}

/* ---- the whole ---- */

static const struct decode_row resources_rows[] = {
	{.name = "devices", .kind = DECODE_CUSTOM, .custom = decode_device_rules},
	{ROW(struct oci_resources, DECODE_OBJECT, cpu, "cpu"), .table = &cpu_table},
	{ROW(struct oci_resources, DECODE_OBJECT, memory, "memory"), .table = &memory_table},
	{.name = "pids", .kind = DECODE_STRUCT, .table = &pids_table},
	{ROW(struct oci_resources, DECODE_OBJECT, block_io, "blockIO"), .table = &block_io_table},
	{ROW(struct oci_resources, DECODE_ARRAY, hugepages, "hugepageLimits"),
	 .count_offset = offsetof(struct oci_resources, hugepages_n), .table = &hugepage_table},
	{ROW(struct oci_resources, DECODE_OBJECT, network, "network"), .table = &network_table},
	{.name = "rdma", .kind = DECODE_CUSTOM, .custom = decode_rdma},
	{ROW(struct oci_resources, DECODE_MAP, unified, "unified"), .check = check_key_component},
};

const struct decode_table oci_resources_table = {
	DECODE_TABLE(resources_rows, struct oci_resources)};
