/*
 * Which rung a container under a profile is made on.
 *
 * Rung 1 has namespaces and mounts of the container's own. Rung 2 is for hosts that refuse them:
 * the container is confined in the host's own tree, by Landlock, system call filters and a control
 * group where there is one (rooms/shared.c, landlock_shared.c, seccomp_shared.c). There is no
 * third: where neither can be had, nothing is made.
 */
#ifndef SBX_LINUX_RUNG_H
#define SBX_LINUX_RUNG_H

#include "backends/linux/plan.h"

#define RUNG_LANDLOCK_ABI 4 /* of rung 2: TCP (landlock(7)) */

/* The best rung of this host for any profile, its namespaces probed; 0: none. */
enum rung rung_of_host(const struct host_facts *host);

/*
 * Set plan->rung, and on rung 2 what of it the profile wants. SBX_E_GUARANTEE_UNAVAILABLE with the
 * pointer for what of bundle or profile rung 2 cannot do, with what is missing on this host and how
 * to get it.
 */
int rung_choose(struct plan *plan, struct report *report, struct sbx_error *err);

#endif
