/*
 * The stage table: the whole set-up order of a container, one row a step.
 *
 * A row names its process, what it waits for, the rooms it applies, and what it tells the other
 * side when they are done. Both processes walk the same table and run their own rows; an error
 * names its row. The order decides security and is explained row by row in sequence.c.
 */
#ifndef SBX_LINUX_SEQUENCE_H
#define SBX_LINUX_SEQUENCE_H

#include "backends/linux/cgroup/cgroup.h"
#include "backends/linux/room.h"
#include "runtime/base/buf.h"
#include "runtime/base/msg.h"

/* What the layer above does in between; data is its own. */
struct sequence_events {
	/* The child exists and waits: store its pid before it goes on. */
	int (*spawned)(void *data, const struct run *run, struct sbx_error *err);
	/* The OCI state object for a hook, compact; also called in the child. */
	int (*hook_state)(void *data, const char *status, pid_t pid, struct buf *out);
	/* Pass the seccomp listener of the process pid on to who answers. */
	int (*listener)(void *data, int fd, pid_t pid, struct sbx_error *err);
	void *data;
};

/*
 * Make a container up to the point where only start is missing. In the runtime: 0 with run->pid,
 * run->pidfd, run->sync_fd and, with a terminal, run->tty_master_fd set; on failure everything is
 * undone. The child does not return: it waits on run->start_fd (a listening socket) or, where that
 * is negative, on run->sync_fd for MSG_START.
 */
int sequence_create(struct run *run, const struct sequence_events *events, struct sbx_error *err);

/*
 * Make a further process in a running container, up to the fork into its pid namespace.
 * run->container_pid is set. The child waits on run->sync_fd for MSG_START.
 */
int sequence_exec(struct run *run, const struct sequence_events *events, struct sbx_error *err);

/*
 * Let what sequence_exec() made go on: 0 when its execve(2) succeeded or it ended before, else its
 * error. run->pid and run->pidfd are the payload's from here on; where there is none, pid is 0.
 */
int sequence_start_exec(struct run *run, const struct sequence_events *events,
			struct sbx_error *err);

/* The same for a probe (run->probe): its answer, ten seconds at most. The process is gone. */
int sequence_start_probe(struct run *run, struct sbx_error *err);

/* Let the child behind sync_fd, the process pid, go on: 0 when its execve(2) succeeded, or the
 * child died in it; else its error, or that it died before. ret_confined becomes true where it told
 * that its Landlock domain refused an open that had worked before. */
int sequence_start(int sync_fd, pid_t pid, const struct sequence_events *events, bool *ret_confined,
		   struct sbx_error *err);

/* Take the listener of an MSG_LISTENER to where it belongs, and answer the child (start.c). */
int sequence_pass_listener(struct msg *msg, int sync_fd, pid_t pid,
			   const struct sequence_events *events, struct sbx_error *err);

/* Kill and reap what a failed or abandoned set-up made, and let every room undo. Idempotent. */
void sequence_undo(struct run *run);

/* The payload runs: what was kept for the undo is let go of. Idempotent. */
void sequence_settle(struct run *run);

/* A run with no descriptor open. */
void run_init(struct run *run, const struct plan *plan);
void run_close(struct run *run);

/* The child has them: only its end is to be seen by who reads. */
void run_close_output(struct run *run);

#endif
