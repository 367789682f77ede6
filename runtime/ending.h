/*
 * Ending a container: in order, with a signal and a grace, or by force.
 *
 * Its first process is held by a descriptor from before the signal, so an end by itself is seen at
 * every moment, wins, and no later process of the same pid is hit.
 */
#ifndef SBX_RUNTIME_ENDING_H
#define SBX_RUNTIME_ENDING_H

#include "runtime/store.h"

/* What the image wants to be ended by (its annotation org.opencontainers.image.stopSignal:
 * image-spec, conversion.md), else SIGTERM. */
int ending_signal(const struct container_state *state);

/* True where the process behind pidfd has ended, or does so within ms milliseconds. */
bool ending_is_within(int pidfd, uint64_t ms);

/* One signal, a frozen container thawed for it, and ending_by_force() where the grace runs out. */
int ending_in_order(const struct container_state *state, int pidfd, uint64_t grace_ms,
		    struct sbx_error *err);

/* The end of the first process by force, on rung 2 after all that came from it. 0 or -errno of the
 * signal. */
int ending_of_first(const struct container_state *state, int pidfd);

/* SIGKILL for every process of the container; back when the first one is gone. */
int ending_by_force(const struct container_state *state, int pidfd, struct sbx_error *err);

/* Why a container was ended by us. Kept in the file `end` of its directory: noted before the first
 * signal, and in place, so that a full store cannot keep it from being told. */
enum end_cause { END_NONE, END_DEADLINE, END_OUTPUT_LIMIT, END_UNWATCHED, END_DETACHED };

/* Make the file; its descriptor, or -errno. */
int end_cause_open(int container_fd);
void end_cause_note(int end_fd, enum end_cause cause);
enum end_cause end_cause_read(int container_fd);

/* What is to be said of it, and the exit status of run: 0 where there was none. */
int end_cause_explain(enum end_cause cause, struct sbx_error *err);

#endif
