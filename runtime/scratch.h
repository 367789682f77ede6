/*
 * Scratch on disk: a folder for one container below the administrator's scratchRoot.
 *
 * "sbx-" and 64 random bits, of root alone; what the container sees is the folder "tmp" in it. The
 * container's own folder in the store names it by a link, written before it is made, so that
 * whoever removes the container finds it, after a crash as well.
 */
#ifndef SBX_RUNTIME_SCRATCH_H
#define SBX_RUNTIME_SCRATCH_H

#include "runtime/container.h"

/*
 * Make one for a container whose plan has a scratchRoot, a folder that nobody but the administrator
 * can change (trusted_file.h); c->run.scratch_path is its "tmp". SBX_E_UNSAFE_PATH,
 * SBX_E_INVALID_SETTINGS (there is no such folder), SBX_E_SYSTEM.
 */
int scratch_make(struct container *c, struct sbx_error *err);

/* Remove the container's scratch folder with all in it, iteratively, by descriptor, and nothing
 * else; 0 where there is none. */
int scratch_remove(int container_fd, struct sbx_error *err);

#endif
