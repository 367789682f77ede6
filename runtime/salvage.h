/*
 * Removing a container whose state is missing or damaged (delete --force).
 */
#ifndef SBX_RUNTIME_SALVAGE_H
#define SBX_RUNTIME_SALVAGE_H

#include "runtime/container.h"

/*
 * c is what container_open() left, with the exclusive lock, where it found no state that it could
 * use. Kills what is in the container's cgroup and removes that and the directory; what cannot be
 * found is a warning in the log, what cannot be removed an error.
 */
int container_salvage(struct container *c, const struct global_options *global, const char *id,
		      struct sbx_error *err);

#endif
