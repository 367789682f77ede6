/*
 * sbx-monitor: what stays beside a container whose profile has a deadline or carve-outs.
 *
 * It is forked by create, and so lives where the manager's own monitor does, behind a session of
 * its own, with /dev/null for 0 to 2, the log, and a descriptor of the container's first process.
 * It is never executed: there is no second program to find, and the image is the runtime's
 * read-only one. The container does not see it: it is in no group and no namespace of its.
 *
 * A deadline takes two processes, which watch each other. Where one dies or is stopped, the other
 * kills the container, as the deadline would not hold any more. The state names the elder, which
 * keeps the carve-outs (carve_keeper.h). Carve-outs alone take no process more where a run waits in
 * the foreground: that is the monitor itself.
 */
#ifndef SBX_RUNTIME_MONITOR_H
#define SBX_RUNTIME_MONITOR_H

#include "backends/linux/room.h"
#include "runtime/store.h"

/* Does the container need one? */
bool monitor_is_needed(const struct container_state *state);

/* Make the one of a created container; state gets its pid. On failure there is none. */
int monitor_make(const struct run *run, int container_fd, struct container_state *state,
		 struct sbx_error *err);

/*
 * The payload is about to start, and its time to run. SBX_E_BOUNDARY_CHANGED where the monitor is
 * not there any more. Nothing for a container without one.
 */
int monitor_tell_start(const struct container_state *state, struct sbx_error *err);

/* Alive, or not needed. */
bool monitor_is_well(const struct container_state *state);

/* The container's processes are gone, and so the monitor ends: wait for that. */
void monitor_await_end(const struct container_state *state);

#endif
