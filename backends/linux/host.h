/*
 * What this host offers, asked from the kernel once and never changed by asking.
 */
#ifndef SBX_LINUX_HOST_H
#define SBX_LINUX_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum cgroup_mode {
	CGROUP_MODE_NONE,
	CGROUP_MODE_V1,	    /* controllers on v1, no cgroup2 mount */
	CGROUP_MODE_HYBRID, /* controllers on v1, cgroup2 on /sys/fs/cgroup/unified */
	CGROUP_MODE_V2,	    /* cgroup2 on /sys/fs/cgroup */
};

struct host_facts {
	uid_t euid;
	gid_t egid;
	bool initial_userns; /* of the machine, as far as /proc/self/uid_map tells */
	bool privileged;     /* euid 0 with CAP_SYS_ADMIN: may make devices, write maps directly */
	unsigned landlock_abi; /* 0: not there (landlock_create_ruleset(2), VERSION flag) */
	bool seccomp_filter;   /* SECCOMP_GET_ACTION_AVAIL of KILL_PROCESS and ERRNO */
	bool mount_api;	       /* open_tree(2), move_mount(2), fsopen(2) and mount_setattr(2) */
	enum cgroup_mode cgroup_mode;
};

/* Ask the kernel. Cheap facts only (a handful of system calls); never fails: unknown is false. */
void host_probe(struct host_facts *host);

const char *cgroup_mode_name(enum cgroup_mode mode);

#endif
