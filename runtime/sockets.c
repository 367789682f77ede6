/*
 * sun_path holds 107 bytes, so a socket is named through its directory's descriptor:
 * "/proc/self/fd/N/NAME" (unix(7)).
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/sockets.h"

#define CONNECT_SECONDS 10

static int name_socket(struct sockaddr_un *address, int dir_fd, const char *name)
{
	int len;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	len = snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s", dir_fd,
		       name);
	return len < (int)sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

/* The directory of path as a descriptor, its last component in name. */
static int open_directory(const char *path, char name[NAME_MAX + 1])
{
	const char *slash = strrchr(path, '/');
	const char *last = slash ? slash + 1 : path;
	char dir[PATH_MAX];
	int fd;

	if (!*last || strlen(last) > NAME_MAX || (slash && slash - path >= PATH_MAX))
		return -EINVAL;
	memcpy(name, last, strlen(last) + 1);
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Who does not accept is not waited for: we may hold a lock. */
static int connect_in(int dir_fd, const char *name, int type)
{
	static const struct timeval limit = {.tv_sec = CONNECT_SECONDS};
	cleanup_fd int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	int rc = name_socket(&address, dir_fd, name);

	if (fd < 0)
		return -errno;
	if (rc < 0)
		return rc;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return take_fd(&fd);
}

static int send_with_name(int socket_fd, int fd, const char *name)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)name, strlen(name)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.space)};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(socket_fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int sockets_send_fd(const char *path, int fd, const char *name, struct sbx_error *err)
{
	char last[NAME_MAX + 1];
	cleanup_fd int dir_fd = open_directory(path, last);
	cleanup_fd int socket_fd = dir_fd < 0 ? dir_fd : connect_in(dir_fd, last, SOCK_STREAM);
	int rc = socket_fd < 0 ? socket_fd : send_with_name(socket_fd, fd, name);

	if (rc == -ETIMEDOUT || rc == -EAGAIN)
		return sbx_fail(err, SBX_E_SYSTEM, ETIMEDOUT,
				"send a descriptor to \"%s\": nobody accepted it within %d seconds",
				path, CONNECT_SECONDS);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "send a descriptor to \"%s\"", path) : 0;
}

int sockets_listen_at(int dir_fd, const char *name, struct sbx_error *err)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	int rc = name_socket(&address, dir_fd, name);

	/* The mode of a socket file is that of the descriptor before bind (unix(7)). */
	if (rc == 0 &&
	    (fd < 0 || fchmod(fd, 0600) < 0 ||
	     bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 4) < 0))
		rc = -errno;
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "listen for start") : take_fd(&fd);
}

int sockets_connect_at(int dir_fd, const char *name, struct sbx_error *err)
{
	int fd = connect_in(dir_fd, name, SOCK_SEQPACKET);

	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "reach the created container") : fd;
}

static int check_replaceable(int dir_fd, const char *name, const char *path, struct sbx_error *err)
{
	int rc = dir_fd < 0 ? dir_fd : 0;
	struct stat st;

	if (rc == 0 && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0
				       : sbx_fail(err, SBX_E_SYSTEM, errno,
						  "look at pid file \"%s\"", path);
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "write pid file \"%s\"", path);
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"write pid file \"%s\": it exists and is no regular file", path);
	return 0;
}

int sockets_check_pid_file(const char *path, struct sbx_error *err)
{
	char name[NAME_MAX + 1];
	cleanup_fd int dir_fd = path ? open_directory(path, name) : -EBADF;

	return path ? check_replaceable(dir_fd, name, path, err) : 0;
}

int sockets_write_pid_file(const char *path, pid_t pid, struct sbx_error *err)
{
	char name[NAME_MAX + 1], text[16];
	cleanup_fd int dir_fd = open_directory(path, name);
	int len = snprintf(text, sizeof(text), "%d", (int)pid);
	int rc = check_replaceable(dir_fd, name, path, err);

	if (rc < 0)
		return rc;
	rc = fd_replace_file_at(dir_fd, name, text, (size_t)len, 0644);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "write pid file \"%s\"", path) : 0;
}
