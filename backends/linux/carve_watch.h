/*
 * The carve-outs of a running container, seen from outside.
 *
 * A mount on a name goes where another program renames something over that name, on the host, where
 * the container has no say (an editor's save, git's own configuration), and it moves along where
 * that renames the name itself. The container's child therefore leaves behind what a monitor needs
 * to hear of that, to look, and to mount again.
 */
#ifndef SBX_LINUX_CARVE_WATCH_H
#define SBX_LINUX_CARVE_WATCH_H

#include <sys/stat.h>

#include "backends/linux/room.h"

enum carve_watch_fd {
	CARVE_MOUNT_NS,
	CARVE_USER_NS, /* for who is outside of it */
	CARVE_MOUNTS,  /* the mount table: POLLPRI (proc(5), /proc/PID/mountinfo) */
	CARVE_ROOT,    /* O_PATH */
	CARVE_WATCH_FDS
};
_Static_assert(sizeof(((struct run *)0)->watch_fds) == CARVE_WATCH_FDS * sizeof(int), "one each");

/* Has the plan a carve-out, or may the tree make it have one, and so something to watch? */
bool carve_watch_is_needed(const struct plan *plan);

/* In the runtime: run->plan becomes one with what the child made of protect. (view_protect.c) */
int carve_watch_adopt(struct run *run, struct sbx_error *err);

/* A detached one ends the container, instead of being put back: onDetach says so, or leaves it open
 * where one is closed for reading. */
bool carve_watch_kills(const struct policy *policy);

/* In the child, with its mounts finished and its root entered: the descriptors. */
int carve_watch_open(const struct run *run, int ret_fds[CARVE_WATCH_FDS], struct sbx_error *err);

#define CARVE_LISTENERS_MAX 256

struct carve_listeners {
	int fds[CARVE_LISTENERS_MAX];
	struct stat folders[CARVE_LISTENERS_MAX];
	size_t n;
};

/*
 * In the monitor: have SIGIO sent when a name comes or goes in one of the folders that the names of
 * carve-outs stand in (fcntl(2), F_NOTIFY). To be called again after a restoration, since the
 * folders may be others. A folder that cannot be read is left out, and so
 * is, with a warning, what is beyond the bound. Start with {0}.
 */
void carve_watch_listen(const struct plan *plan, const int fds[CARVE_WATCH_FDS],
			struct carve_listeners *listeners);

/* In the monitor: does every carve-out stand? */
bool carve_watch_stands(const struct plan *plan, const int fds[CARVE_WATCH_FDS]);

/*
 * In the monitor: make every carve-out stand, by a process of its own that enters the container's
 * mounts. How many did not; -ENOENT where a name has nothing any more, or another negative errno
 * where an object there cannot be closed.
 */
int carve_watch_restore(const struct plan *plan, const int fds[CARVE_WATCH_FDS]);

#endif
