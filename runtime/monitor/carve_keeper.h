/*
 * Keeping the carve-outs of a running container (backends/linux/carve_watch.h), in whatever process
 * stays beside it: the monitor, or a run in the foreground.
 *
 * That process waits for its poll entry, and for SIGIO, which it has blocked and reads.
 */
#ifndef SBX_RUNTIME_CARVE_KEEPER_H
#define SBX_RUNTIME_CARVE_KEEPER_H

#include <poll.h>

#include "backends/linux/carve_watch.h"
#include "runtime/store.h"

struct carve_keeper {
	const struct container_state *state; /* NULL: there is nothing to keep */
	const struct plan *plan;
	const int *fds; /* enum carve_watch_fd */
	struct carve_listeners listeners;
	bool changed; /* names or mounts, since the carve-outs were looked at */
	bool resting; /* from signals: names come and go as the payload likes */
};

#define CARVE_REST_MS 2 /* while it rests: to be called again then, and signals not waited for */

void carve_keeper_begin(struct carve_keeper *keeper, const struct container_state *state,
			const struct run *run);

struct pollfd carve_keeper_wait(const struct carve_keeper *keeper);

/* Look, where something changed, and close again what was detached: nobody inside moves until it
 * stands. False where the container is to be ended instead; where it has a freezer it is frozen
 * then. */
bool carve_keeper_keep(struct carve_keeper *keeper);

#endif
