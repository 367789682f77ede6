/*
 * Limits that are lists: block devices, huge page sizes, network priorities, RDMA devices and the
 * file names of "unified".
 *
 * Names that become part of a file name are checked here; what becomes a value is one write and the
 * kernel checks it.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "backends/linux/cgroup/limits.h"
#include "runtime/base/cleanup.h"

#define RATE_MAX "max"

/* ---- block devices ---- */

struct throttle {
	const char *member;
	size_t offset; /* of the list in struct oci_block_io */
	const char *v1;
	const char *v2_key; /* in io.max */
};

#define LIST(name) offsetof(struct oci_block_io, name)

static const struct throttle throttles[] = {
	{"blockIO.throttleReadBpsDevice", LIST(throttle_read_bps), "blkio.throttle.read_bps_device",
	 "rbps"},
	{"blockIO.throttleWriteBpsDevice", LIST(throttle_write_bps),
	 "blkio.throttle.write_bps_device", "wbps"},
	{"blockIO.throttleReadIOPSDevice", LIST(throttle_read_iops),
	 "blkio.throttle.read_iops_device", "riops"},
	{"blockIO.throttleWriteIOPSDevice", LIST(throttle_write_iops),
	 "blkio.throttle.write_iops_device", "wiops"},
};

/* io.max keeps the keys that a write does not name, so each list is written on its own. */
static int add_throttle(struct limits *l, const struct cgroup_hierarchy *h,
			const struct throttle *t, struct sbx_error *err)
{
	const struct oci_block_devices *list =
		(const void *)((const char *)l->resources->block_io + t->offset);
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct oci_block_device *d = &list->v[i];
		long long major = d->major, minor = d->minor;
		unsigned long long rate = d->rate.v;

		if (!h->unified)
			r = limits_add(l, h, t->member, false, err, t->v1, "%lld:%lld %llu", major,
				       minor, rate);
		else if (rate == 0) /* v1's 0 takes a rule away */
			r = limits_add(l, h, t->member, false, err, "io.max",
				       "%lld:%lld %s=" RATE_MAX, major, minor, t->v2_key);
		else
			r = limits_add(l, h, t->member, false, err, "io.max", "%lld:%lld %s=%llu",
				       major, minor, t->v2_key, rate);
	}
	return r;
}

/* BFQ has its own files where it is the scheduler; without it v1 had CFQ's, cgroup2 has iocost's.
 */
static bool has_bfq(const struct cgroup_hierarchy *h)
{
	const char *file = h->unified ? "io.bfq.weight" : "blkio.bfq.weight";
	char text[16];

	return cgroup_read_file(h, file, text, sizeof(text)) >= 0;
}

static int add_weight(struct limits *l, const struct cgroup_hierarchy *h, uint64_t weight, bool bfq,
		      struct sbx_error *err)
{
	const char *file = h->unified ? (bfq ? "io.bfq.weight" : "io.weight")
				      : (bfq ? "blkio.bfq.weight" : "blkio.weight");

	if (h->unified && !bfq)
		weight = limits_io_weight(weight);
	return limits_add(l, h, "blockIO.weight", false, err, file, "%llu",
			  (unsigned long long)weight);
}

static int add_device_weight(struct limits *l, const struct cgroup_hierarchy *h,
			     const struct oci_block_device *d, bool bfq, struct sbx_error *err)
{
	static const char member[] = "blockIO.weightDevice";
	unsigned long long weight = d->weight.v, leaf = d->leaf_weight.v;
	const char *file = h->unified ? (bfq ? "io.bfq.weight" : "io.weight")
				      : (bfq ? "blkio.bfq.weight_device" : "blkio.weight_device");
	int r = 0;

	if (h->unified && d->leaf_weight.set && leaf)
		return limits_refuse(h, "blockIO.weightDevice.leafWeight", err);
	if (h->unified && !bfq)
		weight = limits_io_weight(weight);
	if (d->weight.set && d->weight.v)
		r = limits_add(l, h, member, false, err, file, "%lld:%lld %llu",
			       (long long)d->major, (long long)d->minor, weight);
	if (r == 0 && d->leaf_weight.set && leaf)
		r = limits_add(l, h, member, false, err, "blkio.leaf_weight_device",
			       "%lld:%lld %llu", (long long)d->major, (long long)d->minor, leaf);
	return r;
}

static int add_weights(struct limits *l, const struct cgroup_hierarchy *h,
		       const struct oci_block_io *io, struct sbx_error *err)
{
	bool weight = io->weight.set && io->weight.v;
	bool leaf = io->leaf_weight.set && io->leaf_weight.v;
	bool bfq = (weight || io->weight_device.n > 0) && has_bfq(h);
	int r = 0;

	if (leaf && h->unified)
		return limits_refuse(h, "blockIO.leafWeight", err);
	if (leaf)
		r = limits_add(l, h, "blockIO.leafWeight", false, err, "blkio.leaf_weight", "%llu",
			       (unsigned long long)io->leaf_weight.v);
	if (r == 0 && weight)
		r = add_weight(l, h, io->weight.v, bfq, err);
	for (size_t i = 0; r == 0 && i < io->weight_device.n; i++)
		r = add_device_weight(l, h, &io->weight_device.v[i], bfq, err);
	return r;
}

static bool block_io_is_empty(const struct oci_block_io *io)
{
	return !io || (!(io->weight.set && io->weight.v) &&
		       !(io->leaf_weight.set && io->leaf_weight.v) && io->weight_device.n == 0 &&
		       io->throttle_read_bps.n == 0 && io->throttle_write_bps.n == 0 &&
		       io->throttle_read_iops.n == 0 && io->throttle_write_iops.n == 0);
}

int limits_add_block_io(struct limits *l, struct sbx_error *err)
{
	const struct oci_block_io *io = l->resources->block_io;
	const struct cgroup_hierarchy *h;
	int r;

	if (block_io_is_empty(io))
		return 0;
	h = limits_place(l, CONTROLLER_IO, "blockIO", err);
	if (!h)
		return -EINVAL;
	r = add_weights(l, h, io, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(throttles); i++)
		r = add_throttle(l, h, &throttles[i], err);
	return r;
}

/* ---- huge pages ---- */

/* "2MB": it becomes part of a file name. */
static bool is_page_size(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits < 8 && text[0] != '0' && text[digits] &&
	       strchr("KMG", text[digits]) && strcmp(text + digits + 1, "B") == 0;
}

int limits_add_hugepages(struct limits *l, struct sbx_error *err)
{
	static const char member[] = "hugepageLimits";
	const struct cgroup_hierarchy *h;
	int r = 0;

	if (l->resources->hugepages_n == 0)
		return 0;
	h = limits_place(l, CONTROLLER_HUGETLB, member, err);
	if (!h)
		return -EINVAL;
	for (size_t i = 0; r == 0 && i < l->resources->hugepages_n; i++) {
		const struct oci_hugepage_limit *p = &l->resources->hugepages[i];
		const char *tail = h->unified ? "max" : "limit_in_bytes";
		unsigned long long limit = p->limit;

		if (!is_page_size(p->page_size))
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG,
					   "/linux/resources/hugepageLimits",
					   "use the page size \"%s\"", p->page_size);
		r = limits_add(l, h, member, false, err,
			       arena_printf(&l->arena, "hugetlb.%s.%s", p->page_size, tail), "%llu",
			       limit);
		if (r == 0) /* reservations, since Linux 5.7 */
			r = limits_add(
				l, h, member, true, err,
				arena_printf(&l->arena, "hugetlb.%s.rsvd.%s", p->page_size, tail),
				"%llu", limit);
	}
	return r;
}

/* ---- network ---- */

int limits_add_network(struct limits *l, struct sbx_error *err)
{
	const struct oci_network_cgroup *net = l->resources->network;
	const struct cgroup_hierarchy *h;
	int r = 0;

	if (net && net->class_id.set && net->class_id.v) {
		h = limits_place(l, CONTROLLER_NET_CLS, "network.classID", err);
		if (!h)
			return -EINVAL;
		r = limits_add(l, h, "network.classID", false, err, "net_cls.classid", "%llu",
			       (unsigned long long)net->class_id.v);
	}
	for (size_t i = 0; net && r == 0 && i < net->priorities_n; i++) {
		h = limits_place(l, CONTROLLER_NET_PRIO, "network.priorities", err);
		if (!h)
			return -EINVAL;
		r = limits_add(l, h, "network.priorities", false, err, "net_prio.ifpriomap",
			       "%s %u", net->priorities[i].name, net->priorities[i].priority);
	}
	return r;
}

/* ---- RDMA ---- */

int limits_add_rdma(struct limits *l, struct sbx_error *err)
{
	const struct cgroup_hierarchy *h;
	int r = 0;

	if (l->resources->rdma_n == 0)
		return 0;
	h = limits_place(l, CONTROLLER_RDMA, "rdma", err);
	if (!h)
		return -EINVAL;
	for (size_t i = 0; r == 0 && i < l->resources->rdma_n; i++) {
		const struct oci_rdma *d = &l->resources->rdma[i];

		if (d->hca_handles.set)
			r = limits_add(l, h, "rdma", false, err, "rdma.max", "%s hca_handle=%llu",
				       d->name, (unsigned long long)d->hca_handles.v);
		if (r == 0 && d->hca_objects.set)
			r = limits_add(l, h, "rdma", false, err, "rdma.max", "%s hca_object=%llu",
				       d->name, (unsigned long long)d->hca_objects.v);
	}
	return r;
}

/* ---- unified ---- */

/* A file of the group that sets a limit: one that moves or kills processes is no resource. */
static bool is_resource_file(const char *name)
{
	static const char *const not_limits[] = {
		"cgroup.procs",	 "cgroup.threads",	   "cgroup.kill",
		"cgroup.freeze", "cgroup.subtree_control", "cgroup.type",
	};

	if (!strchr(name, '.') || strchr(name, '/') || name[0] == '.' || strlen(name) > NAME_MAX)
		return false;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(not_limits); i++)
		if (strcmp(name, not_limits[i]) == 0)
			return false;
	return true;
}

/* Files like io.max take one line per write. */
static int add_lines(struct limits *l, const struct cgroup_hierarchy *h,
		     const struct oci_key_value *file, struct sbx_error *err)
{
	const char *at = file->value;
	int r = 0;

	do {
		size_t len = strcspn(at, "\n");

		if (len > 0)
			r = limits_add(l, h, "unified", false, err, file->key, "%.*s", (int)len,
				       at);
		at += len + (at[len] == '\n');
	} while (r == 0 && *at);
	return r;
}

int limits_add_unified(struct limits *l, struct sbx_error *err)
{
	const struct oci_key_values *files = &l->resources->unified;
	const struct cgroup_hierarchy *h = cgroup_find_unified(l->cg);
	int r = 0;

	if (files->n > 0 && !h)
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
				"set \"linux.resources.unified\": cgroup2 is not mounted");
	for (size_t i = 0; r == 0 && i < files->n; i++) {
		if (!is_resource_file(files->v[i].key))
			return sbx_fail_at(
				err, SBX_E_INVALID_CONFIG, "/linux/resources/unified",
				"set the cgroup file \"%s\": \"unified\" takes the name of "
				"a file that sets a limit, CONTROLLER.NAME like "
				"\"memory.high\", without a folder and none that moves, ends "
				"or freezes processes",
				files->v[i].key);
		r = add_lines(l, h, &files->v[i], err);
	}
	return r;
}
