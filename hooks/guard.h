/*
 * A guard: a process between the caller and one child, which ends all that the child started when
 * the caller dies, or gives up, before the child has ended.
 *
 * PR_SET_PDEATHSIG reaches one process; what that one forked lives on, in sessions of its own and
 * with nobody who knows of it. The guard is the reaper of all of it (PR_SET_CHILD_SUBREAPER), so
 * whatever loses its parent becomes a child of the guard and can be found. Where the child ends by
 * itself the guard goes, and what was left in the background on purpose lives on.
 */
#ifndef SBX_HOOKS_GUARD_H
#define SBX_HOOKS_GUARD_H

#include <sys/types.h>

/*
 * Called in a fork of the caller: be the guard, with run(data) in a child of its own that does not
 * return. leash_fd is the reading end of a pipe whose only writing end the caller holds; its end
 * means to end everything. The process ends as the child ended, with its exit status or by its
 * signal; -errno is returned where there is no child.
 */
int guard_run(int leash_fd, void (*run)(void *data), void *data);

#endif
