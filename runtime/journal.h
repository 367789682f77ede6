/*
 * Where the journal of placeholders lies (backends/linux/placeholder.h), which outlives a reboot:
 * /var/lib/sbx-runtime for real root, else $XDG_STATE_HOME/sbx-runtime, by default
 * ~/.local/state/sbx-runtime. The rules of the runtime root hold for it (store.h).
 */
#ifndef SBX_RUNTIME_JOURNAL_H
#define SBX_RUNTIME_JOURNAL_H

#include "runtime/container.h"

/* The journal's folder, opened for reading. -ENOENT where there is none and it is not to be made,
 * or where no name of it is known. */
int journal_open(bool create, struct sbx_error *err);

/* Before the set-up of a container whose profile protects something: its key, in its folder and in
 * c->placeholders. No journal is no error: whether one is needed is seen in the tree. */
int journal_enter(struct container *c, struct sbx_error *err);

#endif
