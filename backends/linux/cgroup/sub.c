/*
 * exec --cgroup: an existing group below the container's own, never one above or beside it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/linux/cgroup/internal.h"
#include "runtime/base/path.h"

#define LIST_BYTES 128

/* The hierarchy's path becomes that of the group below. 1, 0 where there is none, or -errno. */
static int descend(struct cgroup_hierarchy *h, const char *path, struct sbx_error *err)
{
	size_t len = strlen(h->path);
	char full[CGROUP_FULL_PATH_MAX];
	int n;

	if (*path == '\0') /* it is */
		return 1;
	n = snprintf(h->path + len, sizeof(h->path) - len, "/%s", path);
	if (n < 0 || (size_t)n >= sizeof(h->path) - len || !path_is_canonical(h->path))
		return sbx_fail(err, SBX_E_USAGE, 0,
				"\"%s\" is no cgroup path below the container's", path);
	if (cgroup_file_path(h, "", full) == 0 && access(full, F_OK) == 0)
		return 1;
	h->path[len] = '\0';
	return 0;
}

static int descend_everywhere(struct cgroup *cg, const char *path, struct sbx_error *err)
{
	int found = 0;

	for (size_t i = 0; i < cg->n; i++) {
		int rc = descend(&cg->v[i], path, err);

		if (rc < 0)
			return rc;
		found |= rc;
	}
	return found;
}

/* Only in the hierarchies of these controllers, which all have to be there. */
static int descend_listed(const struct cgroup *parent, struct cgroup *cg, char *list,
			  const char *path, struct sbx_error *err)
{
	char *rest = NULL;
	int found = 0;

	for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		const struct cgroup_hierarchy *h = cgroup_find_v1(parent, name);

		if (!h)
			return sbx_fail(err, SBX_E_USAGE, 0,
					"the container has no cgroup of a v1 controller \"%s\"",
					name);
		/* two controllers of one hierarchy */
		if (strcmp(cg->v[h - parent->v].path, h->path) != 0)
			continue;
		found = descend(&cg->v[h - parent->v], path, err);
		if (found <= 0)
			return found;
	}
	return found;
}

int cgroup_open_sub(const struct cgroup *parent, const char *where, struct cgroup *ret,
		    struct sbx_error *err)
{
	size_t prefix = strcspn(where, ":/");
	const char *path = where[prefix] == ':' ? where + prefix + 1 : where;
	struct cgroup cg = *parent;
	char list[LIST_BYTES];
	int rc = 1;

	path += strspn(path, "/");
	if (where[prefix] == ':') {
		if (prefix == 0 || prefix >= sizeof(list))
			return sbx_fail(err, SBX_E_USAGE, 0, "\"%s\" names no controller", where);
		snprintf(list, sizeof(list), "%.*s", (int)prefix, where);
		rc = descend_listed(parent, &cg, list, path, err);
	} else if (*path) { /* "/" is there, also where the container has no group */
		rc = descend_everywhere(&cg, path, err);
	}
	if (rc < 0)
		return rc;
	if (rc == 0)
		return sbx_fail(err, SBX_E_SYSTEM, ENOENT,
				"join the cgroup \"%s\" of the container", where);
	*ret = cg;
	return 0;
}
