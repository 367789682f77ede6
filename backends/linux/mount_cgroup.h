/*
 * The container's view of its own control group: what a mount of type "cgroup" becomes.
 */
#ifndef SBX_LINUX_MOUNT_CGROUP_H
#define SBX_LINUX_MOUNT_CGROUP_H

#include "backends/linux/room.h"

/*
 * Mount the view of run->cgroup on the directory target_fd (attached, in the caller's mount
 * namespace). Unified: cgroup2 in an own cgroup namespace, else a bind of the container's group;
 * v1 and hybrid: a tmpfs with one bind per hierarchy and a link for each controller that shares
 * one. Read-only where m says so, and always where the caller is unprivileged without an own cgroup
 * namespace (CVE-2023-25809). Without a group: an empty read-only directory.
 */
int mount_cgroup_view(const struct run *run, const struct plan_mount *m, int target_fd,
		      struct sbx_error *err);

#endif
