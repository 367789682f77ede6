/*
 * seccomp-agent SOCKET FILE [leave]: the program that a bundle's listenerPath names
 * (seccomp_unotify(2)).
 *
 * Takes one connection, writes the container process state that comes with the listener into FILE,
 * and answers every system call until the last process under the filter is gone: mkdir(2) and
 * mkdirat(2) fail with ENOMEDIUM, an errno that no file system gives; all others go on. With
 * "leave" it ends as soon as it has the listener.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 1) < 0)
		return -1;
	return accept(fd, NULL, NULL);
}

/* The text of the connection to its end, and the descriptor that came with its first byte. */
static int receive(int socket_fd, int out_fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char text[65536];
	struct iovec part = {text, sizeof(text)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.space)};
	ssize_t n = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
	int fd = -1;

	if (n <= 0 || message.msg_controllen < CMSG_LEN(sizeof(fd)))
		return -1;
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	for (; n > 0; n = read(socket_fd, text, sizeof(text)))
		if (write(out_fd, text, (size_t)n) != n)
			return -1;
	return fd;
}

static int answer(int listener)
{
	for (;;) {
		struct seccomp_notif asked = {0};
		struct seccomp_notif_resp said = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
		struct pollfd ready = {.fd = listener, .events = POLLIN};

		if (poll(&ready, 1, -1) < 0)
			return fail("poll");
		if (ready.revents & POLLHUP)
			return 0;
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0) {
			if (errno == ENOENT || errno == EINTR) /* the caller died meanwhile */
				continue;
			return fail("receive");
		}
		said.id = asked.id;
		if (asked.data.nr == SYS_mkdirat
#ifdef SYS_mkdir
		    || asked.data.nr == SYS_mkdir
#endif
		) {
			said.flags = 0;
			said.error = -ENOMEDIUM;
		}
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &said) < 0 && errno != ENOENT)
			return fail("send");
	}
}

int main(int argc, char **argv)
{
	int connection, out, listener;

	if (argc != 3 && !(argc == 4 && strcmp(argv[3], "leave") == 0))
		return 2;
	connection = listen_at(argv[1]);
	if (connection < 0)
		return fail(argv[1]);
	out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	listener = out < 0 ? -1 : receive(connection, out);
	close(out);
	if (listener < 0)
		return fail("take the listener");
	return argc == 4 ? 0 : answer(listener);
}
