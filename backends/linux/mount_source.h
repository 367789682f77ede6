/*
 * The source of a bind, looked at once. What a profile allows depends on what a source is, and its
 * path may lead elsewhere a moment later (CVE-2021-30465): what was judged is noted, and what is
 * mounted must be that.
 */
#ifndef SBX_LINUX_MOUNT_SOURCE_H
#define SBX_LINUX_MOUNT_SOURCE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "backends/linux/plan.h"

struct mount_source {
	const char *path; /* canonical, on the host; NULL: not looked at */
	struct stat st;
};

/* O_PATH of m's source: on the host as mount(2) would find it (an automount is triggered), below
 * the container's root as a destination is found. A descriptor or -errno. */
int mount_source_open(int root_fd, const struct plan_mount *m);

/* As above by a path of the host; nofollow: its last component is not followed. */
int mount_source_open_path(const char *path, bool nofollow);

/* Note what fd is. SBX_E_UNSUPPORTED for what has no path (a namespace). proc_fd: a procfs that
 * shows this process. */
int mount_source_note(struct arena *arena, int proc_fd, int fd, struct mount_source *out,
		      struct sbx_error *err);

/* SBX_E_UNSAFE_PATH unless fd is what was noted; by_name: under the same path too, and so with the
 * same mounts below. */
int mount_source_check(int proc_fd, int fd, const struct mount_source *noted, bool by_name,
		       struct sbx_error *err);

#endif
