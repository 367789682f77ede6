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
	int landlock_errata;   /* bits of what is mended in it; 0: the kernel does not say */
	bool seccomp_filter;   /* SECCOMP_GET_ACTION_AVAIL of KILL_PROCESS and ERRNO */
	bool mount_api;	       /* open_tree(2), move_mount(2), fsopen(2) and mount_setattr(2) */
	enum cgroup_mode cgroup_mode;
	/* set by host_probe_namespaces(): */
	int namespaces_error;  /* what making a container's namespaces fails with; 0: it works */
	int own_proc_error;    /* what mounting their own procfs fails with */
	char restriction[400]; /* of either: what refuses it, and what would help */
};

/* Ask the kernel. Cheap facts only (a handful of system calls); never fails: unknown is false. */
void host_probe(struct host_facts *host);

/* As host_facts.privileged, alone. */
bool host_is_privileged(void);

/*
 * Make the namespaces of a container and mount a procfs in them, in a child that ends at once: what
 * settings say is not what a kernel with filters and security modules around it does. Unless it is
 * to be thorough, the machine's own root with no filter around is taken at its word.
 */
void host_probe_namespaces(struct host_facts *host, bool thorough);

/* Namespaces and their own procfs can be made, or nobody asked. */
static inline bool host_is_unrestricted(const struct host_facts *host)
{
	return host->namespaces_error == 0 && host->own_proc_error == 0;
}

const char *cgroup_mode_name(enum cgroup_mode mode);

#endif
