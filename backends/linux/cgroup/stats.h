/*
 * Figures of a running container, for `events`.
 */
#ifndef SBX_LINUX_CGROUP_STATS_H
#define SBX_LINUX_CGROUP_STATS_H

#include "backends/linux/cgroup/cgroup.h"

/* An object with cpu (nanoseconds), memory (bytes), pids, blkio and hugetlb; a limit that is none
 * is 2^64 - 1. 0 or -ENOMEM. */
int cgroup_write_stats(const struct cgroup *cg, const char *key, struct json_writer *w);

/* How many processes the kernel has killed for want of memory; 0 where it does not tell. */
uint64_t cgroup_oom_kills(const struct cgroup *cg);

#endif
