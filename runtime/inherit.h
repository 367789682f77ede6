/*
 * Descriptors that the caller passes through to the payload: stdio, LISTEN_FDS (sd_listen_fds(3)),
 * --preserve-fds.
 */
#ifndef SBX_RUNTIME_INHERIT_H
#define SBX_RUNTIME_INHERIT_H

#include "backends/linux/plan.h"

/* LISTEN_FDS where LISTEN_PID is this process, else 0. */
int inherit_listen_fds(void);

/* Tell the payload (LISTEN_FDS, LISTEN_PID=1) what it gets. Changes spec->process->env. */
int inherit_extend_environment(struct arena *arena, struct oci_spec *spec, int listen_fds,
			       struct sbx_error *err);

/*
 * Every descriptor to be passed is open; under a profile none is a directory, an O_PATH or a
 * namespace descriptor, stdio included: each would walk past the profile's mounts.
 */
int inherit_check(const struct plan *plan, struct sbx_error *err);

#endif
