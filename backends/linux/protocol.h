/*
 * The messages between the runtime and the child that becomes the payload.
 *
 * One table (protocol.c) says who sends what at which stage, how long it is and how many
 * descriptors come with it. The peer's end of file means that it died or, after MSG_EXECUTING (of
 * exec: MSG_START), that execve(2) succeeded (every descriptor of the child is close-on-exec).
 *
 * A process inside may get hold of the child's end (ptrace(2), pidfd_getfd(2)) once the child is
 * visible there. A pid therefore never comes by message (spawn.h), exec forks its child into view
 * behind every message but MSG_ERROR, and an error is only shown.
 */
#ifndef SBX_LINUX_PROTOCOL_H
#define SBX_LINUX_PROTOCOL_H

#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/error.h"
#include "runtime/base/msg.h"

enum linux_message {
	MSG_NONE,
	MSG_PROCEED, /* runtime to child: cgroup and maps are done; the child's pid as the host sees
			it */
	MSG_MOUNTED, /* child to runtime: prestart and createRuntime hooks may run */
	MSG_HOOKS_DONE, /* runtime to child */
	MSG_TERMINAL,	/* child to runtime: the pty's master */
	MSG_WATCH,	/* child to runtime: enum carve_watch_fd */
	MSG_CREATED,	/* child to runtime: everything is set up, only start is missing */
	MSG_START,	/* runtime to child: the rest of the rows, then execve */
	MSG_EXECUTING,	/* child to runtime, not of exec: hooks have run, the program is next */
	MSG_LISTENER,	/* child to runtime: a seccomp listener, at whatever point it exists */
	MSG_LISTENING,	/* runtime to child: it has been passed on */
	MSG_ERROR,	/* child to runtime: a struct sbx_error, then the child exits */
	MSG_CONFINED,	/* child to runtime, under a profile: Landlock was seen to refuse */
	MSG_PROBED,	/* report --verify: what the probe came to (probe.h) */
};

struct message_pid {
	int64_t pid;
};

extern const struct msg_protocol linux_protocol;

/* Send a message without descriptors. 0 or -errno. */
int protocol_send(int fd, enum linux_message type, const void *payload, size_t len);

/*
 * Wait for exactly this message. An MSG_ERROR instead fills err as the child saw it; end of file is
 * reported as the child's death. msg may be NULL. 0 or -errno.
 */
int protocol_expect(int fd, enum linux_message type, struct msg *msg, struct sbx_error *err);

/* Wait for any message. Whoever gets one that it does not expect gives it to protocol_take_error().
 */
int protocol_receive(int fd, const char *what, struct msg *msg, struct sbx_error *err);

/*
 * The error record of an MSG_ERROR into err; SBX_E_INTERNAL for any other message. -errno always.
 * The record is foreign text: codes out of range become SBX_E_INTERNAL, control bytes are escaped,
 * and requirements, which are printed as JSON, are never taken.
 */
int protocol_take_error(struct msg *msg, struct sbx_error *err);

/* What the runtime failed with (rc, err), or rather the child's own error, should that wait in fd:
 * the failure may be no more than the end of the child. */
int protocol_prefer_error(int fd, int rc, struct sbx_error *err);

/* Send an error record to the other side; what cannot be sent is dropped (the end of file tells).
 */
void protocol_send_error(int fd, const struct sbx_error *error);

#endif
