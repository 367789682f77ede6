/*
 * Theory of operation: SOCK_SEQPACKET keeps message borders, so a message is one sendmsg(2) and
 * one recvmsg(2). The receiver collects every descriptor of the control data first and judges the
 * message afterwards, so that a refused message leaks none.
 */
#include "runtime/base/msg.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"

#define MSG_MAGIC 0x53627831u /* "Sbx1" */

struct header {
	uint32_t magic;
	uint16_t type;
	uint16_t reserved; /* 0 */
	uint32_t length;   /* of the payload, bytes */
};

union control {
	struct cmsghdr align;
	unsigned char bytes[CMSG_SPACE(sizeof(int) * MSG_FDS_MAX)];
};

static const struct msg_row *find_row(const struct msg_protocol *protocol, uint16_t type)
{
	for (size_t i = 0; i < protocol->count; i++) {
		if (protocol->rows[i].type == type)
			return &protocol->rows[i];
	}
	return NULL;
}

static bool fits_row(const struct msg_row *row, size_t len, size_t fd_count)
{
	return row && len <= row->max_bytes && len <= MSG_PAYLOAD_MAX && fd_count == row->fds &&
	       fd_count <= MSG_FDS_MAX;
}

int msg_socketpair(int ret_fds[2])
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	ret_fds[0] = fds[0];
	ret_fds[1] = fds[1];
	return 0;
}

int msg_send(int fd, const struct msg_protocol *protocol, uint16_t type, const void *payload,
	     size_t len, const int *fds, size_t fd_count)
{
	struct header header = {.magic = MSG_MAGIC, .type = type, .length = (uint32_t)len};
	struct iovec iov[2] = {
		{.iov_base = &header, .iov_len = sizeof(header)},
		{.iov_base = (void *)payload, .iov_len = len},
	};
	struct msghdr hdr = {.msg_iov = iov, .msg_iovlen = len ? 2 : 1};
	union control control;
	ssize_t n;

	if (!fits_row(find_row(protocol, type), len, fd_count))
		return -EPROTO;
	if (fd_count) {
		struct cmsghdr *cmsg;

		memset(&control, 0, sizeof(control));
		hdr.msg_control = control.bytes;
		hdr.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cmsg = CMSG_FIRSTHDR(&hdr);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
	}
	do {
		n = sendmsg(fd, &hdr, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == sizeof(header) + len ? 0 : -EIO;
}

/* Take over every descriptor of the control data; false where there are more than we hold. */
static bool collect_fds(struct msghdr *hdr, struct msg *msg)
{
	bool ok = true;

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(hdr); cmsg; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
		size_t n;

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
			if (msg->fd_count < MSG_FDS_MAX) {
				msg->fds[msg->fd_count++] = fd;
			} else {
				close(fd);
				ok = false;
			}
		}
	}
	return ok;
}

int msg_receive(int fd, const struct msg_protocol *protocol, struct msg *ret)
{
	struct header header = {0};
	union control control;
	struct iovec iov[2] = {
		{.iov_base = &header, .iov_len = sizeof(header)},
		{.iov_base = ret->payload, .iov_len = sizeof(ret->payload)},
	};
	struct msghdr hdr = {
		.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;
	bool ok;

	ret->fd_count = 0;
	do {
		n = recvmsg(fd, &hdr, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	ok = collect_fds(&hdr, ret);
	if (n == 0 && ret->fd_count == 0)
		return -ECONNRESET;
	ok = ok && !(hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && (size_t)n >= sizeof(header) &&
	     header.magic == MSG_MAGIC && header.reserved == 0 &&
	     header.length == (size_t)n - sizeof(header) &&
	     fits_row(find_row(protocol, header.type), header.length, ret->fd_count);
	if (!ok) {
		msg_close_fds(ret);
		return -EPROTO;
	}
	ret->type = header.type;
	ret->len = header.length;
	for (size_t i = ret->fd_count; i < MSG_FDS_MAX; i++)
		ret->fds[i] = -EBADF;
	return 0;
}

void msg_close_fds(struct msg *msg)
{
	for (size_t i = 0; i < msg->fd_count; i++) {
		if (msg->fds[i] >= 0)
			close(msg->fds[i]);
		msg->fds[i] = -EBADF;
	}
	msg->fd_count = 0;
}
