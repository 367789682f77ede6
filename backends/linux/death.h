/*
 * What to say of a child that ended in the middle of the set-up.
 */
#ifndef SBX_LINUX_DEATH_H
#define SBX_LINUX_DEATH_H

#include "backends/linux/room.h"

/* Where the child was killed: err says by what. Returns what the caller returns: rc, or err's. */
int death_explain(const struct run *run, int rc, struct sbx_error *err);

#endif
