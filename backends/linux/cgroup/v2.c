/*
 * cgroup2: enabling controllers down the path, and the table of its resource files.
 */
#include "backends/linux/cgroup/internal.h"

#include <stdio.h>
#include <string.h>

/* ---- controllers ---- */

/* Does the bundle limit something of this controller? */
static bool resources_need(const struct oci_resources *r, const char *controller)
{
	size_t len = strlen(controller);

	if (!r)
		return false;
	for (size_t i = 0; i < r->unified.n; i++)
		if (strncmp(r->unified.v[i].key, controller, len) == 0 &&
		    r->unified.v[i].key[len] == '.')
			return true;
	if (strcmp(controller, "cpu") == 0 || strcmp(controller, "cpuset") == 0)
		return r->cpu != NULL;
	if (strcmp(controller, "memory") == 0)
		return r->memory != NULL;
	if (strcmp(controller, "pids") == 0)
		return r->pids_limit.set;
	if (strcmp(controller, "io") == 0)
		return r->block_io != NULL;
	if (strcmp(controller, "hugetlb") == 0)
		return r->hugepages_n > 0;
	if (strcmp(controller, "rdma") == 0)
		return r->rdma_n > 0;
	return false;
}

static bool has_word(const char *words, const char *word, size_t len)
{
	while (*words) {
		size_t n = strcspn(words, " ");

		if (n == len && memcmp(words, word, len) == 0)
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

/* The controllers of root that the group lacks, as "+a +b"; empty where nothing is to do. */
static void list_missing(const char *root, const char *group, enum cgroup_mode mode,
			 const struct oci_resources *resources, char out[CGROUP_VALUE_MAX])
{
	size_t used = 0;

	out[0] = '\0';
	while (*root) {
		size_t len = strcspn(root, " ");
		char name[64];

		if (len > 0 && len < sizeof(name) && used + len + 3 < CGROUP_VALUE_MAX) {
			memcpy(name, root, len);
			name[len] = '\0';
			if (!has_word(group, name, len) &&
			    (mode == CGROUP_MODE_V2 || resources_need(resources, name)))
				used += (size_t)snprintf(out + used, CGROUP_VALUE_MAX - used,
							 "%s+%s", used ? " " : "", name);
		}
		root += len + (root[len] == ' ');
	}
}

/* All at once; where one of them is refused, one by one. */
static void enable(const struct cgroup_hierarchy *group, const char *list)
{
	if (cgroup_write_file(group, "cgroup.subtree_control", list) == 0)
		return;
	while (*list) {
		size_t len = strcspn(list, " ");
		char one[65];

		if (len < sizeof(one)) {
			memcpy(one, list, len);
			one[len] = '\0';
			cgroup_write_file(group, "cgroup.subtree_control", one);
		}
		list += len + (list[len] == ' ');
	}
}

void cgroup_enable_controllers(const struct cgroup_hierarchy *h, enum cgroup_mode mode,
			       const struct oci_resources *resources)
{
	char root[CGROUP_VALUE_MAX], group[CGROUP_VALUE_MAX], list[CGROUP_VALUE_MAX];
	struct cgroup_hierarchy part = *h;
	char *slash = part.path;

	*slash = '\0';
	if (cgroup_read_file(&part, "cgroup.controllers", root, sizeof(root)) <= 0)
		return;
	if (mode != CGROUP_MODE_V2)
		group[0] = '\0';
	else if (cgroup_read_file(h, "cgroup.controllers", group, sizeof(group)) < 0)
		return;
	list_missing(root, group, mode, resources, list);
	if (list[0] == '\0')
		return;
	do {
		enable(&part, list);
		*slash = '/';
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
}
