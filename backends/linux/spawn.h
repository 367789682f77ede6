/*
 * Making the child: clone3(2) with the new namespaces, or a short-lived joiner where some must be
 * entered first.
 */
#ifndef SBX_LINUX_SPAWN_H
#define SBX_LINUX_SPAWN_H

#include "backends/linux/room.h"

/*
 * What the container's first process is called (comm) from its first moment until execve(2) gives
 * it the payload's name: the one sign of whether the payload runs that nobody has to write down. A
 * name by execve(2) is a file's and holds no slash.
 */
#define SPAWN_NAME "sbx/init"

/*
 * Make the container's first process. Returns 0 in the child (run->pid 0), the pid in the runtime
 * with run->pid and run->pidfd set, or -errno. cgroup_fd is a cgroup2 directory to be born into, or
 * negative. In both, run->sync_fd is that side's end of a fresh pair.
 */
pid_t spawn_container(struct run *run, int cgroup_fd, struct sbx_error *err);

/* A namespace by its path, which must be one of that kind. A descriptor or -errno. */
int spawn_open_namespace(enum oci_ns kind, const char *path, struct sbx_error *err);

/*
 * exec: enter the namespaces of run->container_pid that the plan names, and its root (called in the
 * joiner; the process itself does not change its pid namespace, its next child does). 0 or -errno.
 */
int spawn_enter_container(struct run *run, int container_pidfd, struct sbx_error *err);

/* fork(2) with a fresh sync pair as above, no namespaces: exec's joiner. */
pid_t spawn_joiner(struct run *run, struct sbx_error *err);

/*
 * exec, in the joiner: fork the process that becomes the payload as a child of the runtime
 * (CLONE_PARENT). Returns 0 in it; in the joiner its pid, or -errno.
 */
pid_t spawn_payload(struct run *run, struct sbx_error *err);

/*
 * In the runtime: wait for the joiner run->pid to end, then put what it forked into run->pid and
 * run->pidfd. -errno, with the joiner's own error, where it forked nothing; run->pid is 0 then.
 */
int spawn_await_child(struct run *run, struct sbx_error *err);

#endif
