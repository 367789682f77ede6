/*
 * What this host can enforce, mechanism by mechanism, with the reason and the remedy where it
 * cannot.
 *
 * Probes that change something (a user namespace, a mount) run in a short-lived child.
 */
#ifndef SBX_LINUX_DOCTOR_H
#define SBX_LINUX_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

struct doctor_finding {
	const char *mechanism; /* "landlock" */
	const char *serves;    /* what a profile needs it for */
	bool works;
	char reason[480];   /* what was seen */
	const char *remedy; /* what would help; "" where it works */
};

#define DOCTOR_FINDINGS_MAX 16

/* Fill findings (at most DOCTOR_FINDINGS_MAX); returns how many. Never fails as a whole. */
size_t doctor_examine(struct doctor_finding *findings);

#endif
