/*
 * The probe of `report --verify`: what a process of the container can do, tried by one.
 *
 * It is a process set up by the rows of exec from the stored plan that tries instead of executing a
 * program. It never holds more than the payload where the container sees it: everything that needs
 * more is done by the joiner, before the fork; it never becomes dumpable, for nothing is executed;
 * its code is the runtime's sealed image; and what it answers goes over the sync pair, which no
 * process of another Landlock domain can take from it. What exec would change of a process once
 * more (capabilities only shrink under no_new_privs, descriptors that are close-on-exec) makes none
 * of the answers better.
 *
 * One row is one mechanism. Each is tried where its layer alone decides: just before the layer is
 * put on, where the same must work (the control), and just after it, where it must be refused.
 */
#ifndef SBX_LINUX_PROBE_H
#define SBX_LINUX_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "spec/proof.h"

#define PROBE_ROWS_MAX	   320
#define PROBE_REFUSALS_MAX 4

struct run;
struct plan;

enum probe_layer {
	PROBE_LANDLOCK, /* before and after the domain, in a place that no rule opens */
	PROBE_FILTER,	/* before and after the filters */
	PROBE_WHOLE,	/* both after everything, by two functions */
};

/* A row that is not of this container: nothing there to try. */
#define PROBE_NOT_TRIED 1

struct probe;
struct probe_row;
/* 0: it worked, a descriptor is closed again; -errno; PROBE_NOT_TRIED. */
typedef int (*probe_fn)(struct probe *probe, const struct probe_row *row);

struct probe_row {
	const char *name, *mechanism;
	uint32_t carries;
	enum probe_layer layer;
	probe_fn attempt;
	probe_fn control; /* NULL: the attempt itself, before the layer */
	/* what the control comes to where it is no success: the kernel's own later refusal */
	int control_errno;
	int refusals[PROBE_REFUSALS_MAX]; /* what the attempt may come to */
	const char *path;
	int nr; /* system call */
	uint64_t args[4];
};

struct probe_result {
	int16_t control, attempt; /* 0, -errno, PROBE_NOT_TRIED */
};

/* MSG_PROBED. */
struct probe_message {
	uint64_t n;
	struct probe_result results[PROBE_ROWS_MAX];
};

struct probe {
	struct arena *arena;
	const struct plan *plan;
	char *const *env; /* child: what would be handed to the program */
	uint32_t claimed;
	struct probe_row rows[PROBE_ROWS_MAX];
	size_t n;
	bool overflow;
	struct probe_message message;
	int places_fd; /* child: a detached folder of its own, with what to try Landlock on */
	bool has_device;
};

/* Planted by the runtime in the environment of the process, and in its own. */
#define PROBE_PLANTED_VALUE "sbx-verify-planted"
#define PROBE_KEPT_NAME	    "SBX_VERIFY_KEPT"
#define PROBE_CALLER_NAME   "SBX_VERIFY_CALLER"

/* The rows for this plan, for what is claimed. SBX_E_RESOURCE_LIMIT. */
int probe_prepare(struct probe *probe, struct arena *arena, const struct plan *plan,
		  uint32_t claimed, struct sbx_error *err);

/* Add a row (the tables do); more than fit make probe_prepare() fail. */
void probe_add_row(struct probe *probe, const struct probe_row *row);

/* ---- in the process ---- */

/* Joiner, with the rights of the set-up: make the places. */
int probe_make_places(struct run *run, struct sbx_error *err);
/* Joiner, before the Landlock domain; child, before the filters. */
void probe_before_landlock(struct run *run);
void probe_before_filter(struct run *run);
/* Child, in place of execve(2): the rest, then the answer. Does not return. */
_Noreturn void probe_finish(struct run *run);

/* ---- in the runtime ---- */

/* What came back, as evidence. */
void probe_judge(const struct probe *probe, struct proof *proof);

/* ---- the tables ---- */

void probe_add_calls(struct probe *probe);
void probe_add_landlock(struct probe *probe);
void probe_add_files(struct probe *probe);
void probe_add_process(struct probe *probe);
void probe_add_network(struct probe *probe);

#define PROBE_PROCESS GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY)
#define PROBE_WRITE   GUARANTEE_BIT(GUARANTEE_WRITE_BOUNDARY)
#define PROBE_READ    GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY)
#define PROBE_ENV     GUARANTEE_BIT(GUARANTEE_ENV_SCRUB)
#define PROBE_NETWORK GUARANTEE_BIT(GUARANTEE_NETWORK_BOUNDARY)
#define PROBE_LIMITS  GUARANTEE_BIT(GUARANTEE_RESOURCE_LIMITS)

#endif
