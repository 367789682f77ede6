/*
 * For delete --force: end the create, run or start that holds the container's lock because a hook,
 * or the payload's own execve, hangs in it.
 */
#ifndef SBX_RUNTIME_HOLDER_H
#define SBX_RUNTIME_HOLDER_H

#include "runtime/container.h"

/*
 * A create, or a run that still makes the container, is killed, and its child dies with it. Of a
 * start, or a run that starts, first the payload is killed: if that was all it waited for it ends
 * by itself, with an error; else it is killed as well (a poststart hook). Any other holder is left
 * alone, and whoever wants the lock waits for it. 0 or -errno.
 */
int container_end_holder(const struct global_options *global, const char *id);

#endif
