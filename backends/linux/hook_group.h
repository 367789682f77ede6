/*
 * Hooks under a profile leave nothing behind: whatever a hook forked is killed when it returns.
 *
 * Hooks of the runtime's namespaces run in a group of their own beside the container's
 * ("PATH.hooks", so that the container's limits do not bind them). Hooks that run inside share the
 * container's new pid namespace with its first process and nobody else, so that one kills all
 * others (kill(2), pid -1).
 */
#ifndef SBX_LINUX_HOOK_GROUP_H
#define SBX_LINUX_HOOK_GROUP_H

#include "backends/linux/cgroup/cgroup.h"
#include "hooks/hooks.h"

/* The hooks' group that belongs to a container's; nothing is made. */
void hook_group_of(const struct cgroup *container, struct cgroup *ret);

/* Let context's hooks run in the group: enter and leave are set, group must outlive the run. */
void hook_group_use(struct cgroup *group, struct hook_context *context);

/* For hooks that run in the container's pid namespace, called by its first process. */
void hook_group_kill_namespace(void *unused);

/* Kill and remove what a killed runtime left of the group. */
void hook_group_destroy(const struct cgroup *container);

#endif
