/*
 * The small hand-overs between the runtime and its callers: console and pidfd sockets, the start
 * socket, the pid file.
 */
#ifndef SBX_RUNTIME_SOCKETS_H
#define SBX_RUNTIME_SOCKETS_H

#include <sys/types.h>

#include "runtime/base/error.h"

/*
 * Connect to the AF_UNIX stream socket path (longer than sun_path allowed) and send fd with
 * SCM_RIGHTS and the non-empty text name.
 */
int sockets_send_fd(const char *path, int fd, const char *name, struct sbx_error *err);

/* Listen on the SOCK_SEQPACKET socket NAME (0600) in dir_fd. A descriptor or -errno. */
int sockets_listen_at(int dir_fd, const char *name, struct sbx_error *err);

/* Connect to it. A descriptor, -ECONNREFUSED where nobody listens any more, or -errno. */
int sockets_connect_at(int dir_fd, const char *name, struct sbx_error *err);

/*
 * The pid as decimal digits without a newline, by temporary file and rename. That would replace
 * whatever has this name, a device node of the host as well, so anything but a regular file is
 * refused, as it is by the check, which comes before anything is made. path may be NULL there.
 */
int sockets_check_pid_file(const char *path, struct sbx_error *err);
int sockets_write_pid_file(const char *path, pid_t pid, struct sbx_error *err);

#endif
