/*
 * Which limits a bundle asks for, for a container that gets no group: the list is made for a layout
 * that has every controller, and never written.
 */
#include <errno.h>
#include <string.h>

#include "backends/linux/cgroup/limits.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"

/* Two hierarchies, because all names do not fit one. */
static const struct cgroup everything = {
	.mode = CGROUP_MODE_HYBRID,
	.n = 3,
	.v = {{.controllers = "cpu,cpuset,memory,pids,blkio", .mount = "/dev/null"},
	      {.controllers = "hugetlb,net_cls,net_prio,rdma", .mount = "/dev/null"},
	      {.unified = true, .mount = "/dev/null"}},
};

/* "No limit" is not lost. */
static bool limits_nothing(const struct limit_write *w)
{
	return strcmp(w->value, "-1") == 0 || strcmp(w->value, "max") == 0;
}

static bool is_named(const struct limits *l, size_t n, const char *member)
{
	for (size_t i = 0; i < n; i++)
		if (!limits_nothing(&l->v[i]) && strcmp(l->v[i].member, member) == 0)
			return true;
	return false;
}

int cgroup_name_limits(const struct oci_resources *resources, struct buf *out)
{
	struct limits l = {.cg = &everything, .resources = resources, .check_only = true};
	int r;

	if (!resources)
		return 0;
	limits_init(&l);
	/* what is invalid is not set here, so what was collected before it counts */
	(void)limits_collect(&l, NULL);
	for (size_t i = 0; i < l.n; i++)
		if (!limits_nothing(&l.v[i]) && !is_named(&l, i, l.v[i].member))
			buf_printf(out, "%s%s", out->len ? ", " : "", l.v[i].member);
	r = buf_failed(out) ? -ENOMEM : 0;
	arena_release(&l.arena);
	return r;
}
