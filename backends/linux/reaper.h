/*
 * A first process for commands that are none.
 *
 * The kernel delivers to the first process of a pid namespace no signal that it does not catch
 * (pid_namespaces(7)), and leaves it every orphan to wait for. Most programs know nothing of that:
 * Ctrl-C would not end them. So a program can be the child of a process that does.
 */
#ifndef SBX_LINUX_REAPER_H
#define SBX_LINUX_REAPER_H

#include <stdbool.h>

#include "runtime/base/error.h"

/*
 * Fork: 0 in the child, which goes on to be the program. The caller never returns: it waits for
 * whatever ends, passes on signals but those that the terminal sent to both, and ends with the
 * child's exit status, 128+N where signal N ended it. It keeps no descriptor. sweeps: it is in a
 * Landlock domain that scopes signals, adopts every descendant, and kills them all at its end.
 */
int reaper_fork(bool sweeps, struct sbx_error *err);

/* From outside: let the first process behind pidfd, one that sweeps, end all and itself. 0 or
 * -errno; another process dies of the signal. */
int reaper_end(int pidfd);

#endif
