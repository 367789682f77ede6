/*
 * The group is made anew for every hook, in the hook's own child just before its execve, so that a
 * hook can never be outside of it; a hook without any cgroup hierarchy on the host is refused.
 * Where systemd has the groups it is a scope: what is beside the container's is not the runtime's
 * to make.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/hook_group.h"

void hook_group_name(char name[HOOK_GROUP_NAME_BYTES], pid_t creator, uint64_t start_ticks)
{
	snprintf(name, HOOK_GROUP_NAME_BYTES, CGROUP_RESERVED_PREFIX "hooks-%d-%llu", (int)creator,
		 (unsigned long long)start_ticks);
}

static bool is_scope(const struct cgroup *group)
{
	return group->manager == CGROUP_MANAGER_SYSTEMD;
}

void hook_group_of(const struct cgroup *container, const char *name, struct cgroup *ret)
{
	char unit[HOOK_GROUP_NAME_BYTES + 8];

	if (is_scope(container)) {
		snprintf(unit, sizeof(unit), "sbx-%s.scope", name + strlen(CGROUP_RESERVED_PREFIX));
		cgroup_name_scope(container, unit, ret);
		return;
	}
	*ret = *container;
	for (size_t i = 0; i < ret->n; i++) {
		struct cgroup_hierarchy *h = &ret->v[i];
		size_t parent = (size_t)(strrchr(h->path, '/') + 1 - h->path);
		size_t room = sizeof(h->path) - parent;
		int len = snprintf(h->path + parent, room, "%s", name);

		/* A shortened name could be another group's. */
		if (len < 0 || (size_t)len >= room) {
			ret->n = 0;
			return;
		}
		/* The name is this container's alone, whichever of its processes made the group. */
		h->made = true;
	}
}

static int enter_group(void *data, struct sbx_error *err)
{
	const struct plan_cgroup plan = {.manager = CGROUP_MANAGER_CGROUPFS};
	struct cgroup *group = data;
	int rc;

	if (is_scope(group))
		return cgroup_start_scope(group, getpid(), err);
	if (group->n == 0)
		return sbx_fail(
			err, SBX_E_GUARANTEE_UNAVAILABLE, 0,
			"run a hook under a profile: no cgroup holds what it leaves behind");
	rc = cgroup_create(&plan, group, err);
	return rc < 0 ? rc : cgroup_join(group, getpid(), false, err);
}

static void leave_group(void *data)
{
	struct cgroup *group = data;

	if (is_scope(group)) {
		(void)cgroup_stop_scope(group, NULL);
		return;
	}
	(void)cgroup_signal_all(group, SIGKILL, NULL);
	(void)cgroup_remove(group, NULL);
}

void hook_group_use(struct cgroup *group, struct hook_context *context)
{
	context->enter = enter_group;
	context->leave = leave_group;
	context->data = group;
}

void hook_group_kill_namespace(void *unused)
{
	(void)unused;
	if (getpid() != 1)
		return;
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

void hook_group_destroy(const struct cgroup *container, const char *name)
{
	struct cgroup group;

	hook_group_of(container, name, &group);
	if (group.n || is_scope(&group))
		leave_group(&group);
}
