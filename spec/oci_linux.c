/*
 * config-linux.md but for its big sections (resources, seccomp). Lists that the specification keys
 * by a word (namespaces, timeOffsets) become arrays indexed by an enum; duplicates are found there.
 */
#include "spec/oci_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/cleanup.h"

#define NANOSECS_MAX  999999999
#define FILE_MODE_MAX 07777

/* ---- id mappings ---- */

static const struct decode_row id_map_rows[] = {
	{ROW(struct oci_id_map, DECODE_U32, container_id, "containerID"), .required = true,
	 .max = OCI_ID_MAX},
	{ROW(struct oci_id_map, DECODE_U32, host_id, "hostID"), .required = true,
	 .max = OCI_ID_MAX},
	{ROW(struct oci_id_map, DECODE_U32, size, "size"), .required = true, .min = 1,
	 .max = UINT32_MAX},
};

/* The kernel wants first + count <= 4294967295 on both sides (map_write()). */
static int check_id_map(struct decoder *d, const struct json_node *object, void *decoded)
{
	const struct oci_id_map *map = decoded;
	uint64_t room = UINT32_MAX;

	if (map->size > room - map->container_id || map->size > room - map->host_id)
		return decode_fail(d, json_get(object, "size"), "reaches beyond the last id");
	return 0;
}

static const struct decode_table id_map_table = {DECODE_TABLE(id_map_rows, struct oci_id_map),
						 .check = check_id_map};

static bool ranges_overlap(uint32_t a, uint32_t a_size, uint32_t b, uint32_t b_size)
{
	return a < (uint64_t)b + b_size && b < (uint64_t)a + a_size;
}

int oci_decode_id_maps(struct decoder *d, const struct json_node *value, void *member)
{
	struct oci_id_maps *maps = member;
	const struct json_node *node;
	struct oci_id_map *list;
	size_t n = 0;
	int r = decode_want(d, value, JSON_ARRAY);

	if (r < 0 || value->count == 0)
		return r;
	if (value->count > OCI_ID_MAPS_MAX)
		return decode_fail(d, value, "has %u mappings, the kernel takes at most %d",
				   value->count, OCI_ID_MAPS_MAX);
	list = arena_alloc_array(d->arena, value->count, sizeof(*list));
	if (!list)
		return decode_no_memory(d);
	for (node = value->child; node; node = node->next) {
		struct oci_id_map *map = &list[n];

		r = decode_object(d, node, &id_map_table, map);
		if (r < 0)
			return r;
		for (size_t i = 0; i < n; i++)
			if (ranges_overlap(map->container_id, map->size, list[i].container_id,
					   list[i].size) ||
			    ranges_overlap(map->host_id, map->size, list[i].host_id, list[i].size))
				return decode_fail(d, node, "overlaps the mapping %zu", i);
		n++;
	}
	*maps = (struct oci_id_maps){.v = list, .n = n};
	return 0;
}

/* ---- namespaces, time ---- */

struct namespace_raw {
	const char *type, *path;
};

static const struct decode_row namespace_rows[] = {
	{ROW(struct namespace_raw, DECODE_STRING, type, "type"), .required = true},
	{ROW(struct namespace_raw, DECODE_STRING, path, "path"), .empty_absent = true,
	 .check = decode_check_absolute},
};

static const struct decode_table namespace_table = {
	DECODE_TABLE(namespace_rows, struct namespace_raw)};

static int decode_namespace(struct decoder *d, const struct json_node *node,
			    struct oci_linux *linux_)
{
	struct namespace_raw raw = {0};
	int r = decode_object(d, node, &namespace_table, &raw);
	int ns = 0;

	if (r < 0)
		return r;
	while (ns < NS_COUNT && strcmp(raw.type, oci_ns_name(ns)) != 0)
		ns++;
	if (ns == NS_COUNT)
		return decode_fail(d, json_get(node, "type"), "is \"%.64s\", which is not known",
				   raw.type);
	if (linux_->ns[ns].set)
		return decode_fail(d, json_get(node, "type"), "is \"%s\", which is there twice",
				   raw.type);
	linux_->ns[ns] = (struct oci_namespace){.set = true, .path = raw.path};
	return 0;
}

static int decode_namespaces(struct decoder *d, const struct json_node *value, void *member)
{
	int r = decode_want(d, value, JSON_ARRAY);

	for (const struct json_node *e = value->child; e && r == 0; e = e->next)
		r = decode_namespace(d, e, member);
	return r;
}

static const struct decode_row time_rows[] = {
	{ROW(struct oci_time_offset, DECODE_I64, secs, "secs")},
	{ROW(struct oci_time_offset, DECODE_U32, nanosecs, "nanosecs"), .max = NANOSECS_MAX},
};

static const struct decode_table time_table = {DECODE_TABLE(time_rows, struct oci_time_offset)};

static int decode_time_offset(struct decoder *d, const struct json_node *value, void *member)
{
	struct oci_time_offset *offset = member;
	int r = decode_object(d, value, &time_table, offset);

	if (r == 0)
		offset->set = true;
	return r;
}

static const struct decode_row clock_rows[] = {
	{ROW(struct oci_linux, DECODE_CUSTOM, monotonic, "monotonic"),
	 .custom = decode_time_offset},
	{ROW(struct oci_linux, DECODE_CUSTOM, boottime, "boottime"), .custom = decode_time_offset},
};

/* The keys are the clocks that a time namespace has, not extensible members. */
static const struct decode_table clock_table = {DECODE_TABLE(clock_rows, struct oci_linux),
						.closed = true};

/* ---- devices, network devices ---- */

static const char *const device_types[] = {"c", "b", "u", "p", NULL};

struct device_raw {
	struct oci_device device;
	struct oci_opt_i64 major, minor;
};

static const struct decode_row device_rows[] = {
	{ROW(struct device_raw, DECODE_STRING, device.type, "type"), .required = true,
	 .words = device_types},
	{ROW(struct device_raw, DECODE_STRING, device.path, "path"), .required = true,
	 .check = decode_check_absolute},
	{ROW(struct device_raw, DECODE_OPT_I64, major, "major"), .max = OCI_DEV_MAJOR_MAX},
	{ROW(struct device_raw, DECODE_OPT_I64, minor, "minor"), .max = OCI_DEV_MINOR_MAX},
	{ROW(struct device_raw, DECODE_OPT_U64, device.file_mode, "fileMode"),
	 .max = S_IFMT | FILE_MODE_MAX},
	{ROW(struct device_raw, DECODE_OPT_U64, device.uid, "uid"), .max = OCI_ID_MAX},
	{ROW(struct device_raw, DECODE_OPT_U64, device.gid, "gid"), .max = OCI_ID_MAX},
};

static const struct decode_table device_table = {DECODE_TABLE(device_rows, struct device_raw)};

/* podman copies st_mode as a whole: the bits of the file type are fine where they say the same as
 * "type", and are dropped. */
static int check_file_mode(struct decoder *d, const struct json_node *node,
			   struct oci_device *device)
{
	mode_t want = device->type[0] == 'p' ? S_IFIFO : device->type[0] == 'b' ? S_IFBLK : S_IFCHR;
	mode_t type = (mode_t)device->file_mode.v & S_IFMT;

	if (type != 0 && type != want)
		return decode_fail(d, json_get(node, "fileMode"),
				   "has the bits of another file type than \"%s\"", device->type);
	device->file_mode.v &= FILE_MODE_MAX;
	return 0;
}

static int decode_device(struct decoder *d, const struct json_node *node, struct oci_device *ret)
{
	struct device_raw raw = {0};
	int r = decode_object(d, node, &device_table, &raw);

	if (r < 0)
		return r;
	if (raw.device.type[0] != 'p' && !(raw.major.set && raw.minor.set))
		return decode_fail(d, node, "lacks the member \"%s\"",
				   raw.major.set ? "minor" : "major");
	r = check_file_mode(d, node, &raw.device);
	if (r < 0)
		return r;
	raw.device.major = raw.major.v;
	raw.device.minor = raw.minor.v;
	*ret = raw.device;
	return 0;
}

static int decode_devices(struct decoder *d, const struct json_node *value, void *member)
{
	struct oci_linux *linux_ = member;
	struct oci_device *list;
	size_t n = 0;
	int r = decode_want(d, value, JSON_ARRAY);

	if (r < 0 || value->count == 0)
		return r;
	list = arena_alloc_array(d->arena, value->count, sizeof(*list));
	if (!list)
		return decode_no_memory(d);
	for (const struct json_node *e = value->child; e; e = e->next) {
		r = decode_device(d, e, &list[n++]);
		if (r < 0)
			return r;
	}
	linux_->devices = list;
	linux_->devices_n = n;
	return 0;
}

int oci_check_net_name(struct decoder *d, const struct json_node *at, const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > OCI_NET_NAME_MAX || strpbrk(name, "/: \t\n\v\f\r") ||
	    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return decode_fail(d, at,
				   "has \"%.64s\", want a network device name of 1 to %d "
				   "bytes without \"/\", \":\" or blanks",
				   name, OCI_NET_NAME_MAX);
	return 0;
}

static int check_net_name(struct decoder *d, const struct json_node *value)
{
	return oci_check_net_name(d, value, value->text);
}

static const struct decode_row net_device_rows[] = {
	{ROW(struct oci_net_device, DECODE_STRING, name, "name"), .empty_absent = true,
	 .check = check_net_name},
};

static const struct decode_table net_device_table = {
	DECODE_TABLE(net_device_rows, struct oci_net_device)};

static int decode_net_devices(struct decoder *d, const struct json_node *value, void *member)
{
	struct oci_linux *linux_ = member;
	struct oci_net_device *list;
	size_t n = 0;
	int r = decode_want(d, value, JSON_OBJECT);

	if (r < 0 || value->count == 0)
		return r;
	list = arena_alloc_array(d->arena, value->count, sizeof(*list));
	if (!list)
		return decode_no_memory(d);
	for (const struct json_node *e = value->child; e; e = e->next) {
		r = oci_check_net_name(d, e, e->key);
		if (r == 0)
			r = decode_object(d, e, &net_device_table, &list[n]);
		if (r < 0)
			return r;
		list[n++].host_name = e->key;
	}
	linux_->net_devices = list;
	linux_->net_devices_n = n;
	return 0;
}

/* ---- intelRdt, memoryPolicy, personality ---- */

static int check_clos_id(struct decoder *d, const struct json_node *value)
{
	const char *id = value->text;

	/* "/" is the default group. */
	if (strcmp(id, "/") == 0 ||
	    (!strpbrk(id, "/\n") && strcmp(id, ".") != 0 && strcmp(id, "..") != 0))
		return 0;
	return decode_fail(d, value, "is \"%.64s\", want \"/\" or a plain file name", id);
}

static int check_one_line(struct decoder *d, const struct json_node *value)
{
	/* Checks see strings only here. NOLINTNEXTLINE(clang-analyzer-core.*) */
	return strchr(value->text, '\n') ? decode_fail(d, value, "has more than one line") : 0;
}

static const struct decode_row intel_rdt_rows[] = {
	{ROW(struct oci_intel_rdt, DECODE_STRING, clos_id, "closID"), .empty_absent = true,
	 .check = check_clos_id},
	{ROW(struct oci_intel_rdt, DECODE_STRING, l3_cache_schema, "l3CacheSchema"),
	 .empty_absent = true},
	{ROW(struct oci_intel_rdt, DECODE_STRING, mem_bw_schema, "memBwSchema"),
	 .empty_absent = true},
	{ROW(struct oci_intel_rdt, DECODE_STRINGS, schemata, "schemata"), .check = check_one_line},
	{ROW(struct oci_intel_rdt, DECODE_BOOL, enable_monitoring, "enableMonitoring")},
};

static const struct decode_table intel_rdt_table = {
	DECODE_TABLE(intel_rdt_rows, struct oci_intel_rdt)};

const char *const oci_memory_modes[] = {
	"MPOL_BIND",	  "MPOL_DEFAULT",	 "MPOL_INTERLEAVE",	     "MPOL_LOCAL",
	"MPOL_PREFERRED", "MPOL_PREFERRED_MANY", "MPOL_WEIGHTED_INTERLEAVE", NULL,
};

const char *const oci_memory_flags[] = {"MPOL_F_NUMA_BALANCING", "MPOL_F_RELATIVE_NODES",
					"MPOL_F_STATIC_NODES", NULL};

static const struct decode_row memory_policy_rows[] = {
	{ROW(struct oci_memory_policy, DECODE_STRING, mode, "mode"), .required = true,
	 .words = oci_memory_modes},
	{ROW(struct oci_memory_policy, DECODE_STRING, nodes, "nodes"), .empty_absent = true,
	 .check = oci_check_cpu_list},
	{ROW(struct oci_memory_policy, DECODE_STRINGS, flags, "flags"), .words = oci_memory_flags},
};

static const struct decode_table memory_policy_table = {
	DECODE_TABLE(memory_policy_rows, struct oci_memory_policy)};

static const char *const personality_domains[] = {"LINUX", "LINUX32", NULL};
static const char *const personality_flags[] = {NULL}; /* the specification defines none */

static const struct decode_row personality_rows[] = {
	{ROW(struct oci_linux, DECODE_STRING, personality_domain, "domain"), .required = true,
	 .words = personality_domains},
	{ROW(struct oci_linux, DECODE_STRINGS, personality_flags, "flags"),
	 .words = personality_flags},
};

static const struct decode_table personality_table = {
	DECODE_TABLE(personality_rows, struct oci_linux)};

/* ---- the whole ---- */

/* The four words of the specification and, as managers write them, their recursive forms. */
static const char *const propagation_words[] = {
	"shared", "slave",    "private",     "unbindable", "rshared",
	"rslave", "rprivate", "runbindable", NULL,
};

/* A ".." would leave the place that the manager or the administrator gave the runtime. */
static int check_cgroups_path(struct decoder *d, const struct json_node *value)
{
	const char *p = value->text;

	for (; p; p = strchr(p, '/')) {
		p += strspn(p, "/");
		if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0'))
			return decode_fail(d, value, "is \"%.128s\", \"..\" is not allowed",
					   value->text);
	}
	return check_one_line(d, value);
}

static const struct decode_row linux_rows[] = {
	{.name = "namespaces", .kind = DECODE_CUSTOM, .custom = decode_namespaces},
	{ROW(struct oci_linux, DECODE_CUSTOM, uid_maps, "uidMappings"),
	 .custom = oci_decode_id_maps},
	{ROW(struct oci_linux, DECODE_CUSTOM, gid_maps, "gidMappings"),
	 .custom = oci_decode_id_maps},
	{.name = "timeOffsets", .kind = DECODE_STRUCT, .table = &clock_table},
	{.name = "devices", .kind = DECODE_CUSTOM, .custom = decode_devices},
	{.name = "netDevices", .kind = DECODE_CUSTOM, .custom = decode_net_devices},
	{ROW(struct oci_linux, DECODE_STRING, cgroups_path, "cgroupsPath"), .empty_absent = true,
	 .check = check_cgroups_path},
	{ROW(struct oci_linux, DECODE_OBJECT, resources, "resources"),
	 .table = &oci_resources_table},
	{ROW(struct oci_linux, DECODE_STRING, rootfs_propagation, "rootfsPropagation"),
	 .empty_absent = true, .words = propagation_words},
	{ROW(struct oci_linux, DECODE_OBJECT, seccomp, "seccomp"), .table = &oci_seccomp_table},
	{ROW(struct oci_linux, DECODE_MAP, sysctl, "sysctl")},
	{ROW(struct oci_linux, DECODE_STRINGS, masked_paths, "maskedPaths"),
	 .check = decode_check_absolute},
	{ROW(struct oci_linux, DECODE_STRINGS, readonly_paths, "readonlyPaths"),
	 .check = decode_check_absolute},
	{ROW(struct oci_linux, DECODE_STRING, mount_label, "mountLabel"), .empty_absent = true},
	{ROW(struct oci_linux, DECODE_OBJECT, intel_rdt, "intelRdt"), .table = &intel_rdt_table},
	{.name = "personality", .kind = DECODE_STRUCT, .table = &personality_table},
	{ROW(struct oci_linux, DECODE_OBJECT, memory_policy, "memoryPolicy"),
	 .table = &memory_policy_table},
};

const struct decode_table oci_linux_table = {DECODE_TABLE(linux_rows, struct oci_linux)};
