/*
 * The stage table's actions around `created`: what the child hands over until then, and its wait
 * for the start.
 */
#ifndef SBX_LINUX_HANDOVER_H
#define SBX_LINUX_HANDOVER_H

#include "backends/linux/sequence.h"

/* One of the two processes on its way through the stage table. */
enum side { SIDE_RUNTIME, SIDE_CHILD };

struct sequence {
	struct run *run;
	const struct sequence_events *events;
	enum side side;
	pid_t child_pid; /* in the child: its own pid as the runtime sees it */
};

/* Child: the terminal's master, and what a monitor watches by. */
int handover_pass_terminal(struct sequence *seq, struct sbx_error *err);
int handover_pass_watch(struct sequence *seq, struct sbx_error *err);

/* Child: everything is set up; back when somebody has started it. */
int handover_wait_for_start(struct sequence *seq, struct sbx_error *err);

/* Runtime: take what comes until the child is created. */
int handover_await_created(struct sequence *seq, struct sbx_error *err);

#endif
