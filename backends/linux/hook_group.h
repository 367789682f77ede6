/*
 * Hooks under a profile leave nothing behind: whatever a hook forked is killed when it returns.
 *
 * Hooks of the runtime's namespaces run in a group of their own beside the container's, so that the
 * container's limits do not bind them. Hooks that run inside share the container's new pid
 * namespace with its first process and nobody else, so that one kills all others (kill(2), pid -1).
 *
 * Whoever is in the group dies, so it must never be another container's: its name is reserved
 * (CGROUP_RESERVED_PREFIX), so neither an id nor a cgroupsPath leads there, and holds the process
 * that made the container, so no two containers share it, not even two with the same cgroupsPath.
 */
#ifndef SBX_LINUX_HOOK_GROUP_H
#define SBX_LINUX_HOOK_GROUP_H

#include <stdint.h>

#include "backends/linux/cgroup/cgroup.h"
#include "hooks/hooks.h"

#define HOOK_GROUP_NAME_BYTES 48

/* The name of the group, from the process that creates or created the container. */
void hook_group_name(char name[HOOK_GROUP_NAME_BYTES], pid_t creator, uint64_t start_ticks);

/* The group NAME beside a container's; nothing is made. Where the name does not fit, ret->n is 0.
 */
void hook_group_of(const struct cgroup *container, const char *name, struct cgroup *ret);

/* Let context's hooks run in the group: enter and leave are set, group must outlive the run. */
void hook_group_use(struct cgroup *group, struct hook_context *context);

/* For hooks that run in the container's pid namespace, called by its first process. */
void hook_group_kill_namespace(void *unused);

/* Kill and remove what a killed runtime left of the group. */
void hook_group_destroy(const struct cgroup *container, const char *name);

#endif
