/*
 * Framed messages between processes of the runtime over an AF_UNIX SOCK_SEQPACKET pair.
 *
 * A message is a fixed header {magic, type, length}, a bounded payload and at most MSG_FDS_MAX
 * descriptors. Each protocol is one table of rows (type, name, largest payload, descriptors
 * expected); what does not fit its row is refused (-EPROTO) and its descriptors are closed.
 */
#ifndef SBX_BASE_MSG_H
#define SBX_BASE_MSG_H

#include <stddef.h>
#include <stdint.h>

#define MSG_PAYLOAD_MAX 8192
#define MSG_FDS_MAX	8

struct msg_row {
	uint16_t type;
	const char *name;
	size_t max_bytes; /* of the payload */
	size_t fds;	  /* exactly so many */
};

struct msg_protocol {
	const char *name;
	const struct msg_row *rows;
	size_t count;
};

struct msg {
	uint16_t type;
	size_t len;
	size_t fd_count;
	int fds[MSG_FDS_MAX]; /* owned by the receiver */
	unsigned char payload[MSG_PAYLOAD_MAX];
};

/* A connected CLOEXEC pair; 0 or -errno. */
int msg_socketpair(int ret_fds[2]);

/* Send one message; never raises SIGPIPE (-EPIPE). 0 or -errno. */
int msg_send(int fd, const struct msg_protocol *protocol, uint16_t type, const void *payload,
	     size_t len, const int *fds, size_t fd_count);

/* Receive one message. 0, -ECONNRESET on end of file, -EPROTO, or -errno, and ret holds no
 * descriptor then. Retries on EINTR. */
int msg_receive(int fd, const struct msg_protocol *protocol, struct msg *ret);

/* Close every descriptor still held by msg. */
void msg_close_fds(struct msg *msg);

#endif
