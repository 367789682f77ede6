/*
 * Do the files of a group hold the limits that were written to them? The kernel rounds some down
 * (memory to pages); a larger number, or none, is not what was asked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/linux/cgroup/limits.h"
#include "runtime/base/cleanup.h"

static bool is_within(const char *found, const char *wanted)
{
	char *end;
	long long have = strtoll(found, &end, 10), want = strtoll(wanted, NULL, 10);

	if (strcmp(found, wanted) == 0)
		return true;
	return end != found && *end == '\0' && have >= 0 && have <= want;
}

int cgroup_verify(const struct cgroup *cg, const struct oci_resources *resources,
		  struct sbx_error *err)
{
	struct limits l = {.cg = cg, .resources = resources, .check_only = true};
	char found[CGROUP_VALUE_MAX];
	int r;

	if (!resources)
		return 0;
	if (cg->n == 0)
		return sbx_fail(err, SBX_E_GUARANTEE_UNAVAILABLE, 0,
				"read the limits: the container has no control group");
	limits_init(&l);
	r = limits_collect(&l, err);
	for (size_t i = 0; r == 0 && i < l.n; i++) {
		const struct limit_write *w = &l.v[i];
		ssize_t n = limits_read_file(w->h, w->file, found, sizeof(found));

		if (n == -ENOENT && w->optional)
			continue;
		if (n < 0)
			r = sbx_fail(err, SBX_E_SYSTEM, (int)-n, "read \"%s\"", w->file);
		else if (!is_within(found, w->value))
			r = sbx_fail(err, SBX_E_BOUNDARY_CHANGED, 0,
				     "\"%s\" holds \"%s\", and the profile sets \"%s\"", w->file,
				     found, w->value);
	}
	arena_release(&l.arena);
	return r;
}

bool cgroup_holds(const struct cgroup *cg, pid_t pid)
{
	struct cgroup now = {.n = 0};

	if (cg->n == 0 || cgroup_of_process(pid, &now, NULL) < 0)
		return false;
	for (size_t i = 0; i < cg->n; i++) {
		const struct cgroup_hierarchy *h = &cg->v[i];
		size_t k = 0, len = strlen(h->path);

		while (k < now.n && strcmp(now.v[k].controllers, h->controllers) != 0)
			k++;
		if (k == now.n || strncmp(now.v[k].path, h->path, len) != 0 ||
		    (now.v[k].path[len] && now.v[k].path[len] != '/'))
			return false;
	}
	return true;
}
