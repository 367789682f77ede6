/*
 * The kernel's resource control file system (resctrl, Intel RDT): classes of cache and memory
 * bandwidth. Everything works by a descriptor of its root, so that a test can give it a tree of its
 * own.
 */
#ifndef SBX_LINUX_RESCTRL_H
#define SBX_LINUX_RESCTRL_H

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/base/error.h"
#include "spec/oci.h"

struct resctrl_group {
	int root_fd;
	const char *name; /* below the root, "." is the default class */
	const char *id;	  /* of the container: the name of its monitoring group */
	bool monitored;
	bool made;	     /* by resctrl_make(): else it was there before */
	bool made_monitored; /* the monitoring group likewise */
};

/* The root of the mounted file system. A descriptor, -ENODEV where there is none, or -errno. */
int resctrl_open(void);

/* The group that config.json asks for; makes nothing. */
struct resctrl_group resctrl_group_of(int root_fd, const struct oci_intel_rdt *rdt, const char *id);

/*
 * Make what is missing of it. Without closID the class has the container's id as name and must be
 * new; a closID without any schema must be there (config-linux.md#intel-rdt). On failure nothing is
 * left.
 */
int resctrl_make(struct resctrl_group *group, const struct oci_intel_rdt *rdt,
		 struct sbx_error *err);

/* The schemas: written into a class that is new, else compared with what others have set there. */
int resctrl_set(const struct resctrl_group *group, const struct oci_intel_rdt *rdt,
		struct sbx_error *err);

/* The schemas of a class that exists are changed (update). */
int resctrl_write(const struct resctrl_group *group, const struct oci_intel_rdt *rdt,
		  struct sbx_error *err);

/* A process and what it will fork. */
int resctrl_add_task(const struct resctrl_group *group, pid_t pid, struct sbx_error *err);

/* What was made at create: the monitoring group, and the class where it has no closID. What is not
 * there is no error. */
int resctrl_remove(const struct resctrl_group *group, const struct oci_intel_rdt *rdt,
		   struct sbx_error *err);

#endif
