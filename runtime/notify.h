/*
 * sd_notify(3): the payload of a service tells its manager that it is ready.
 *
 * Where the caller of create or run has NOTIFY_SOCKET, a folder of the container's store is mounted
 * read-only on /run/notify, and the payload's NOTIFY_SOCKET names a socket there. Who starts the
 * payload with NOTIFY_SOCKET listens on it, waits for READY=1 or the payload's end, and tells its
 * own manager READY=1 with the MAINPID that the host sees. Nothing else is passed on: the payload
 * is not the manager's to believe.
 */
#ifndef SBX_RUNTIME_NOTIFY_H
#define SBX_RUNTIME_NOTIFY_H

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/base/arena.h"
#include "runtime/base/error.h"
#include "spec/oci.h"

struct container;

/* The caller has a manager to notify. */
bool notify_is_asked(void);

/* Add the mount and the variable to the bundle; state_root as --root, NULL: the default. Nothing
 * where it is not asked. */
int notify_extend_spec(struct arena *arena, struct oci_spec *spec, const char *state_root,
		       const char *id, struct sbx_error *err);

/* Make the folder in the container's. */
int notify_make_folder(int container_fd, struct sbx_error *err);

/*
 * Listen before the payload starts; *ret_fd stays -EBADF where it is not asked, or create made no
 * folder. maps are the uid and gid maps of a user namespace, whose root gets the socket.
 */
int notify_listen(int container_fd, const struct oci_linux *maps, int *ret_fd,
		  struct sbx_error *err);

/* Take what came, without waiting; true: it was READY=1. */
bool notify_take(int fd);

/* Tell the caller's manager; with a barrier wait until it has taken the message. What cannot be
 * told is logged. */
void notify_tell_ready(pid_t pid, bool barrier);

/* Give up the container's lock, which others may need meanwhile; wait for READY=1 or the end of the
 * first process; tell. */
int notify_await(struct container *c, int fd, struct sbx_error *err);

#endif
