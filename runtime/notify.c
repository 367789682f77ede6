/*
 * Both ends are datagrams of lines. The payload's is read with recv(2), which drops descriptors
 * that came along. BARRIER=1 carries the writing end of a pipe, which the manager closes when it
 * has read everything before (sd_notify_barrier(3)); who does not know it closes it as well.
 */
#include "runtime/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"
#include "runtime/base/proc.h"
#include "runtime/container.h"

#define FOLDER		"notify"
#define SOCKET		"notify.sock"
#define INSIDE		"/run/notify"
#define VARIABLE	"NOTIFY_SOCKET"
#define MESSAGE_BYTES	4096
#define BARRIER_WAIT_MS 30000
#define SEND_SECONDS	10

static const char *manager_socket(void)
{
	const char *path = secure_getenv(VARIABLE);

	return path && *path ? path : NULL;
}

bool notify_is_asked(void)
{
	return manager_socket() != NULL;
}

/* ---- create ---- */

static int add_mount(struct arena *arena, struct oci_spec *spec, const char *source)
{
	static char *const options[] = {"bind", "ro", "nosuid", "nodev", "noexec", NULL};
	struct oci_mount *longer = arena_alloc_array(arena, spec->mounts_n + 1, sizeof(*longer));

	if (!longer || !source)
		return -ENOMEM;
	if (spec->mounts_n)
		memcpy(longer, spec->mounts, spec->mounts_n * sizeof(*longer));
	longer[spec->mounts_n] =
		(struct oci_mount){.destination = INSIDE,
				   .type = "bind",
				   .source = source,
				   .options = {(char **)options, ARRAY_SIZE(options) - 1}};
	spec->mounts = longer;
	spec->mounts_n++;
	return 0;
}

static int add_variable(struct arena *arena, struct strings *env)
{
	char **longer = arena_alloc_array(arena, env->n + 2, sizeof(*longer));

	if (!longer)
		return -ENOMEM;
	if (env->n)
		memcpy(longer, env->v, env->n * sizeof(*longer));
	longer[env->n] = VARIABLE "=" INSIDE "/" SOCKET;
	env->v = longer;
	env->n++;
	return 0;
}

int notify_extend_spec(struct arena *arena, struct oci_spec *spec, const char *state_root,
		       const char *id, struct sbx_error *err)
{
	struct store store;
	int rc;

	if (!notify_is_asked() || !spec->process)
		return 0;
	rc = store_open(&store, state_root, false, err);
	if (rc < 0)
		return rc;
	store_close(&store);
	rc = add_mount(arena, spec, arena_printf(arena, "%s/%s/" FOLDER, store.root, id));
	if (rc == 0)
		rc = add_variable(arena, &spec->process->env);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "pass " VARIABLE " on") : 0;
}

int notify_make_folder(int container_fd, struct sbx_error *err)
{
	if (mkdirat(container_fd, FOLDER, 0755) < 0 || fchmodat(container_fd, FOLDER, 0755, 0) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make a folder for " VARIABLE);
	return 0;
}

/* ---- start ---- */

static int host_id(const struct oci_id_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		if (maps->v[i].container_id == 0)
			return (int)maps->v[i].host_id;
	return -1; /* as it is */
}

int notify_listen(int container_fd, const struct oci_linux *maps, int *ret_fd,
		  struct sbx_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	cleanup_fd int folder = -EBADF, fd = -EBADF;

	*ret_fd = -EBADF;
	if (!notify_is_asked())
		return 0;
	folder = openat(container_fd, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return errno == ENOENT ? 0
				       : sbx_fail(err, SBX_E_SYSTEM, errno,
						  "open the folder for " VARIABLE);
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SOCKET, folder);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlinkat(folder, SOCKET, 0); /* of a start that failed */
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    fchownat(folder, SOCKET, (uid_t)host_id(&maps->uid_maps),
		     (gid_t)host_id(&maps->gid_maps), AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(folder, SOCKET, 0777, 0) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "listen for the payload's readiness");
	*ret_fd = take_fd(&fd);
	return 0;
}

static bool says_ready(const char *message)
{
	static const char word[] = "READY=1";

	for (const char *line = message; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, sizeof(word) - 1) == 0 &&
		    (line[sizeof(word) - 1] == '\n' || line[sizeof(word) - 1] == '\0'))
			return true;
	}
	return false;
}

bool notify_take(int fd)
{
	char message[MESSAGE_BYTES + 1];
	ssize_t n = recv(fd, message, MESSAGE_BYTES, MSG_DONTWAIT);

	if (n <= 0)
		return false;
	message[n] = '\0';
	return says_ready(message);
}

static int connect_manager(int *ret_fd)
{
	const char *path = manager_socket();
	static const struct timeval limit = {.tv_sec = SEND_SECONDS};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = path ? strlen(path) : 0;
	cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	/* Whose queue is full, and who does not read it, is not waited for. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return -errno;
	if (len < 2 || len >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
		return -EINVAL;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	if (connect(fd, (struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int send_barrier(int fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char text[] = "BARRIER=1";
	struct iovec part = {text, sizeof(text) - 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.space)};
	int ends[2], rc = 0;
	struct pollfd closed;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &ends[1], sizeof(ends[1]));
	if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
		rc = -errno;
	close(ends[1]);
	closed = (struct pollfd){.fd = ends[0]};
	if (rc == 0 && poll(&closed, 1, BARRIER_WAIT_MS) == 0)
		rc = -ETIMEDOUT;
	close(ends[0]);
	return rc;
}

void notify_tell_ready(pid_t pid, bool barrier)
{
	cleanup_fd int fd = -EBADF;
	char text[48];
	int rc = connect_manager(&fd), len;

	len = snprintf(text, sizeof(text), "MAINPID=%d\nREADY=1", (int)pid);
	if (rc == 0 && send(fd, text, (size_t)len, MSG_NOSIGNAL) < 0)
		rc = -errno;
	if (rc == 0 && barrier)
		rc = send_barrier(fd);
	if (rc < 0)
		log_warning("the container is ready, but " VARIABLE " \"%s\" cannot be told: %s",
			    manager_socket(), strerror(-rc));
}

static void wait_ready(int fd, int pidfd, pid_t pid)
{
	struct pollfd ready[] = {{.fd = fd, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};

	for (;;) {
		if (poll(ready, ARRAY_SIZE(ready), -1) < 0 && errno != EINTR)
			return;
		if (ready[0].revents && notify_take(fd)) {
			notify_tell_ready(pid, true);
			return;
		}
		/* What it said last is taken before its end counts. */
		if (!ready[0].revents && ready[1].revents)
			return;
	}
}

int notify_await(struct container *c, int fd, struct sbx_error *err)
{
	cleanup_fd int pidfd = proc_open_pidfd(c->state.pid, c->state.pid_start_ticks);
	int rc = store_relock_container(&c->store, c->state.id, c->dir_fd, STORE_LOCK_NONE, err);

	if (rc == 0 && pidfd >= 0)
		wait_ready(fd, pidfd, c->state.pid);
	return rc;
}
