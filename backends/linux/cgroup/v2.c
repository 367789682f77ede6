/*
 * cgroup2: enabling controllers down the path, and giving a group to a container's root.
 */
#include "backends/linux/cgroup/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"

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

void cgroup_pass_controllers(const struct cgroup_hierarchy *h)
{
	char above[CGROUP_VALUE_MAX], list[CGROUP_VALUE_MAX];
	struct cgroup_hierarchy part = *h;

	*strrchr(part.path, '/') = '\0';
	if (cgroup_read_file(&part, "cgroup.controllers", above, sizeof(above)) <= 0)
		return;
	list_missing(above, "", CGROUP_MODE_V2, NULL, list);
	if (list[0])
		enable(&part, list);
}

/* ---- delegation ---- */

#define DELEGATE_LIST "/sys/kernel/cgroup/delegate"

/* What may be given away before Linux 4.15, which has no list. */
static const char always_delegated[] = "cgroup.procs\ncgroup.threads\ncgroup.subtree_control";

static int give(int dirfd, const char *files, uid_t uid)
{
	while (*files) {
		size_t len = strcspn(files, "\n");
		char name[128];

		/* a file of a controller that is not enabled is not there */
		if (len > 0 && len < sizeof(name)) {
			memcpy(name, files, len);
			name[len] = '\0';
			if (!strchr(name, '/') &&
			    fchownat(dirfd, name, uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0 &&
			    errno != ENOENT)
				return -errno;
		}
		files += len + (files[len] == '\n');
	}
	return fchown(dirfd, uid, (gid_t)-1) < 0 ? -errno : 0;
}

int cgroup_delegate(const struct cgroup *cg, uid_t uid, struct sbx_error *err)
{
	const struct cgroup_hierarchy *h = cgroup_find_unified(cg);
	cleanup_fd int dir = -EBADF;
	char list[CGROUP_VALUE_MAX];
	int r;

	if (!h)
		return 0;
	dir = cgroup_open_dir(h);
	if (dir < 0)
		return cgroup_fail(err, h, -dir, "open cgroup");
	if (cgroup_read_file_at(AT_FDCWD, DELEGATE_LIST, list, sizeof(list)) <= 0)
		snprintf(list, sizeof(list), "%s", always_delegated);
	r = give(dir, list, uid);
	return r < 0 ? cgroup_fail(err, h, -r, "delegate cgroup") : 0;
}
