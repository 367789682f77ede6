/*
 * update: new limits for a container, from a resources document, from options, or both (an option
 * wins). What is not named keeps its value.
 *
 * A document may repeat the device rules that the container was made with, as managers send what
 * they have; other rules are refused by name, because the filter of a running container is not
 * changed in this release.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/num.h"
#include "runtime/cmd/cmds.h"
#include "runtime/container.h"
#include "runtime/rdt.h"

#define DOCUMENT_MAX_BYTES ((size_t)1 << 20)

enum value_form { FORM_U64, FORM_I64, FORM_BYTES, FORM_TEXT };
enum owner { OWNER_CPU, OWNER_MEMORY, OWNER_BLOCK_IO, OWNER_SELF };

/* clang-format off */
static const struct option_row rows[] = {
	{"resources", 'r', OPTION_VALUE, "FILE|-", "a JSON document of linux.resources"},
	{"blkio-weight", 0, OPTION_VALUE, "N", "block I/O weight, 10 to 1000"},
	{"cpu-period", 0, OPTION_VALUE, "USEC", "CFS period"},
	{"cpu-quota", 0, OPTION_VALUE, "USEC", "CFS quota, -1: none"},
	{"cpu-burst", 0, OPTION_VALUE, "USEC", "CFS burst"},
	{"cpu-share", 0, OPTION_VALUE, "N", "CPU shares, 2 to 262144"},
	{"cpu-rt-period", 0, OPTION_VALUE, "USEC", "realtime period (v1)"},
	{"cpu-rt-runtime", 0, OPTION_VALUE, "USEC", "realtime runtime (v1)"},
	{"cpu-idle", 0, OPTION_VALUE, "0|1", "run only when nothing else does"},
	{"cpuset-cpus", 0, OPTION_VALUE, "LIST", "CPUs to use"},
	{"cpuset-mems", 0, OPTION_VALUE, "LIST", "memory nodes to use"},
	{"memory", 'm', OPTION_VALUE, "BYTES", "memory limit, -1: none; k, m, g may follow"},
	{"memory-reservation", 0, OPTION_VALUE, "BYTES", "memory that is protected"},
	{"memory-swap", 0, OPTION_VALUE, "BYTES", "memory and swap together, -1: none"},
	{"kernel-memory", 0, OPTION_VALUE, "BYTES", "ignored on cgroup v1, refused on cgroup2"},
	{"kernel-memory-tcp", 0, OPTION_VALUE, "BYTES", "ignored on cgroup v1, refused on cgroup2"},
	{"pids-limit", 0, OPTION_VALUE, "N", "most processes and threads, -1: any"},
	{"l3-cache-schema", 0, OPTION_VALUE, "TEXT", "cache of the container's resctrl class"},
	{"mem-bw-schema", 0, OPTION_VALUE, "TEXT", "memory bandwidth of that class"},
};

#define OF(type, member) offsetof(struct type, member)

static const struct setting {
	const char *option;
	enum value_form form;
	enum owner owner;
	size_t offset; /* of the number or text in the owner */
	int64_t min, max; /* 0 is below min and allowed: it leaves the limit as it is */
} settings[] = {
	{"blkio-weight", FORM_U64, OWNER_BLOCK_IO, OF(oci_block_io, weight), 10, 1000},
	{"cpu-period", FORM_U64, OWNER_CPU, OF(oci_cpu, period), 0, INT64_MAX},
	{"cpu-quota", FORM_I64, OWNER_CPU, OF(oci_cpu, quota), -1, INT64_MAX},
	{"cpu-burst", FORM_U64, OWNER_CPU, OF(oci_cpu, burst), 0, INT64_MAX},
	{"cpu-share", FORM_U64, OWNER_CPU, OF(oci_cpu, shares), 2, 262144},
	{"cpu-rt-period", FORM_U64, OWNER_CPU, OF(oci_cpu, realtime_period), 0, INT64_MAX},
	{"cpu-rt-runtime", FORM_I64, OWNER_CPU, OF(oci_cpu, realtime_runtime), -1, INT64_MAX},
	{"cpu-idle", FORM_I64, OWNER_CPU, OF(oci_cpu, idle), 0, 1},
	{"cpuset-cpus", FORM_TEXT, OWNER_CPU, OF(oci_cpu, cpus), 0, 0},
	{"cpuset-mems", FORM_TEXT, OWNER_CPU, OF(oci_cpu, mems), 0, 0},
	{"memory", FORM_BYTES, OWNER_MEMORY, OF(oci_memory, limit), -1, INT64_MAX},
	{"memory-reservation", FORM_BYTES, OWNER_MEMORY, OF(oci_memory, reservation), -1, INT64_MAX},
	{"memory-swap", FORM_BYTES, OWNER_MEMORY, OF(oci_memory, swap), -1, INT64_MAX},
	{"kernel-memory", FORM_BYTES, OWNER_MEMORY, OF(oci_memory, kernel), -1, INT64_MAX},
	{"kernel-memory-tcp", FORM_BYTES, OWNER_MEMORY, OF(oci_memory, kernel_tcp), -1, INT64_MAX},
	{"pids-limit", FORM_I64, OWNER_SELF, OF(oci_resources, pids_limit), -1, INT64_MAX},
};
/* clang-format on */

/* ---- options ---- */

/* "-1", or digits with k, m or g behind, in either case, perhaps written out as KiB: the form that
 * runc's callers know. */
static int parse_bytes(const char *text, int64_t *ret)
{
	static const char units[] = "kmg";
	char digits[24];
	size_t len = strspn(text, "0123456789");
	const char *rest = text + len;
	int64_t value;
	int shift = 0;

	if (strcmp(text, "-1") == 0) {
		*ret = -1;
		return 0;
	}
	if (len == 0 || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, len);
	digits[len] = '\0';
	if (num_parse_i64(digits, 0, INT64_MAX, &value) < 0)
		return -ERANGE;
	if (*rest && strchr(units, *rest | 0x20))
		shift = 10 * (int)(strchr(units, *rest++ | 0x20) - units + 1);
	rest += shift && *rest == 'i';
	rest += *rest == 'b' || *rest == 'B';
	if (*rest)
		return -EINVAL;
	if (value > INT64_MAX >> shift)
		return -ERANGE;
	*ret = value << shift;
	return 0;
}

static void *make_once(struct arena *arena, void **object, size_t size)
{
	if (!*object)
		*object = arena_alloc(arena, size);
	return *object;
}

static void *owner_of(struct arena *arena, struct oci_resources *r, enum owner owner)
{
	switch (owner) {
	case OWNER_CPU:
		return make_once(arena, (void **)&r->cpu, sizeof(*r->cpu));
	case OWNER_MEMORY:
		return make_once(arena, (void **)&r->memory, sizeof(*r->memory));
	case OWNER_BLOCK_IO:
		return make_once(arena, (void **)&r->block_io, sizeof(*r->block_io));
	case OWNER_SELF:
		break;
	}
	return r;
}

static bool is_in_range(const struct setting *s, int64_t value)
{
	return value == 0 || (value >= s->min && value <= s->max);
}

static int set_value(const struct setting *s, const char *text, char *owner)
{
	struct oci_opt_u64 u = {.set = true};
	struct oci_opt_i64 i = {.set = true};
	int rc;

	if (s->form == FORM_TEXT) {
		memcpy(owner + s->offset, &text, sizeof(text));
		return 0;
	}
	rc = s->form == FORM_BYTES ? parse_bytes(text, &i.v)
				   : num_parse_i64(text, INT64_MIN, INT64_MAX, &i.v);
	if (rc == 0 && !is_in_range(s, i.v))
		rc = -ERANGE;
	if (rc < 0)
		return rc;
	u.v = (uint64_t)i.v;
	if (s->form == FORM_U64)
		memcpy(owner + s->offset, &u, sizeof(u));
	else
		memcpy(owner + s->offset, &i, sizeof(i));
	return 0;
}

static int refuse_value(const struct setting *s, const char *text, struct sbx_error *err)
{
	long long min = s->min, max = s->max;

	if (s->form == FORM_BYTES)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"\"--%s\" cannot be \"%s\": a number of bytes, k, m or g may "
				"follow, or -1 for none",
				s->option, text);
	if (s->max != INT64_MAX)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"\"--%s\" cannot be \"%s\": a number from %lld to %lld%s",
				s->option, text, min, max, min > 0 ? ", or 0 to leave it" : "");
	return sbx_fail(err, SBX_E_USAGE, 0, "\"--%s\" cannot be \"%s\": a decimal number%s",
			s->option, text, min < 0 ? ", or -1 for none" : "");
}

static int read_options(const struct invocation *in, struct arena *arena, struct oci_resources *r,
			struct sbx_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		const struct setting *s = &settings[i];
		const char *text = invocation_value(in, s->option);
		char *owner;
		int rc;

		if (!text)
			continue;
		owner = owner_of(arena, r, s->owner);
		if (!owner)
			return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "read \"--%s\"", s->option);
		rc = set_value(s, text, owner);
		if (rc < 0)
			return refuse_value(s, text, err);
	}
	return 0;
}

/* ---- document ---- */

static int read_document(const char *name, struct arena *arena, struct oci_resources **ret,
			 struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	cleanup_fd int fd = -EBADF;
	int rc;

	if (strcmp(name, "-") != 0) {
		fd = open(name, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "open \"%s\"", name);
	}
	rc = fd_read_all(fd < 0 ? STDIN_FILENO : fd, DOCUMENT_MAX_BYTES, &text);
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "read \"%s\"", name);
	return oci_parse_resources(arena, text.data ? text.data : "", text.len, ret, err);
}

static bool same_devices(const struct oci_resources *a, const struct oci_resources *b)
{
	if (!b || a->devices_n != b->devices_n)
		return false;
	for (size_t i = 0; i < a->devices_n; i++) {
		const struct oci_device_rule *x = &a->devices[i], *y = &b->devices[i];

		if (x->allow != y->allow || x->type != y->type || x->major != y->major ||
		    x->minor != y->minor || x->r != y->r || x->w != y->w || x->m != y->m)
			return false;
	}
	return true;
}

/* What the bundle said about every update of the memory limit, where this one says nothing. */
static int inherit_memory_check(struct container *c, struct oci_resources *r, struct sbx_error *err)
{
	const struct oci_resources *own;
	int rc;

	if (!r->memory || !r->memory->limit.set || r->memory->check_before_update.set)
		return 0;
	rc = container_load_spec(c, err);
	own = rc < 0 ? NULL : c->spec->linux_.resources;
	if (own && own->memory)
		r->memory->check_before_update = own->memory->check_before_update;
	return rc;
}

/* A limit of memory and swap together goes with the memory limit that is in force. */
static void inherit_memory_limit(const struct cgroup *group, struct oci_resources *r)
{
	int64_t limit;

	if (!r->memory || !r->memory->swap.set || r->memory->swap.v <= 0 || r->memory->limit.set)
		return;
	limit = cgroup_memory_limit(group);
	if (limit > 0)
		r->memory->limit = (struct oci_opt_i64){.set = true, .v = limit};
}

static int check_devices(struct container *c, const struct oci_resources *r, struct sbx_error *err)
{
	int rc;

	if (r->devices_n == 0)
		return 0;
	rc = container_load_spec(c, err);
	if (rc < 0)
		return rc;
	return same_devices(r, c->spec->linux_.resources)
		       ? 0
		       : sbx_fail(err, SBX_E_UNSUPPORTED, 0,
				  "change \"linux.resources.devices\" of a container that exists: "
				  "no "
				  "kernel takes a filter back; make a new container");
}

/* ---- the verb ---- */

struct change {
	const struct invocation *in;
	struct container *c;
};

static int change_rdt(void *data, struct sbx_error *err)
{
	const struct change *change = data;

	return rdt_update(change->c, invocation_value(change->in, "l3-cache-schema"),
			  invocation_value(change->in, "mem-bw-schema"), err);
}

static int update_container(const struct invocation *in, struct container *c, struct sbx_error *err)
{
	const char *document = invocation_value(in, "resources");
	struct oci_resources *r = arena_alloc(&c->arena, sizeof(*r));
	struct change change = {in, c};
	struct cgroup group;
	int rc = 0;

	if (!r)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "read the new limits");
	if (document)
		rc = read_document(document, &c->arena, &r, err);
	if (rc == 0)
		rc = read_options(in, &c->arena, r, err);
	if (rc == 0)
		rc = container_open(c, in->global, in->argv[0], STORE_LOCK_EXCLUSIVE, err);
	if (rc < 0)
		return rc;
	if (state_status(c->dir_fd, &c->state) == STATUS_STOPPED)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, ESRCH, "container not running");
	if (c->state.cgroup.n == 0)
		return cgroup_fail_none(err, "update the limits");
	rc = check_devices(c, r, err);
	if (rc == 0)
		rc = inherit_memory_check(c, r, err);
	if (rc == 0)
		rc = cgroup_payload(&c->state.cgroup, &group, err);
	if (rc == 0)
		inherit_memory_limit(&group, r);
	return rc < 0 ? rc : cgroup_update(&group, r, change_rdt, &change, err);
}

static int run_update(const struct invocation *in, struct sbx_error *err)
{
	struct container c;
	int rc;

	container_init(&c);
	rc = update_container(in, &c, err);
	container_release(&c);
	return rc;
}

const struct cmd cmd_update = {
	.name = "update",
	.operands = "CONTAINER",
	.help = "change the limits of a container",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.min_operands = 1,
	.max_operands = 1,
	.failure_status = 1,
	.run = run_update,
	.handles_processes = true,
};
