/*
 * Our program for systemd, started for one request (its own side: backends/linux/systemd/).
 *
 * It is run from the place that it was configured for and no other, by a descriptor that was looked
 * at, with nothing of the caller's environment and no descriptor but a socket for the request and
 * the answer, each one JSON object. It dies with us, and is killed when its time is over.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/cgroup/systemd.h"
#include "config.h"
#include "runtime/base/arena.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/proc.h"

#define BOOTED	       "/run/systemd/system" /* sd_booted(3) */
#define ANSWER_WAIT_MS 45000		     /* above the program's own patience */
#define ANSWER_MAX     8192
#define ADDRESS_MAX    512
#define OVERFLOW_UID   65534 /* of a file whose owner has no number in this user namespace */

#define ASK "use the systemd cgroup manager: "

static const struct json_limits answer_limits = {
	.max_bytes = ANSWER_MAX, .max_depth = 4, .max_values = 16, .max_string_bytes = ANSWER_MAX};

/* ---- where it is ---- */

#ifdef HAVE_SYSTEMD
bool cgroup_has_systemd(void)
{
	return true;
}

static int open_program(bool user_manager, struct sbx_error *err)
{
	cleanup_fd int fd = open(SYSTEMD_PROGRAM, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_fail(err, SBX_E_UNSUPPORTED, errno, ASK "open our program \"%s\"",
				SYSTEMD_PROGRAM);
	if (!S_ISREG(st.st_mode) || (st.st_mode & (S_IWGRP | S_IWOTH)) ||
	    (st.st_uid != 0 &&
	     (!user_manager || (st.st_uid != geteuid() && st.st_uid != OVERFLOW_UID))))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				ASK "our program \"%s\" could have been written by others",
				SYSTEMD_PROGRAM);
	return take_fd(&fd);
}
#else
bool cgroup_has_systemd(void)
{
	return false;
}

static int open_program(bool user_manager, struct sbx_error *err)
{
	(void)user_manager;
	return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
			ASK "this build has none (configured without libsystemd; give "
			    "--cgroup-manager=cgroupfs)");
}
#endif

/* D-Bus's form of an address has its own escapes. */
static int address_of_path(const char *path, const char *file, char *out, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_/.";
	size_t used = (size_t)snprintf(out, size, "unix:path=");

	for (; *path && used + 4 < size; path++)
		used += (size_t)snprintf(out + used, size - used,
					 strchr(plain, *path) ? "%c" : "%%%02x",
					 (unsigned char)*path);
	if (*path || used + strlen(file) >= size)
		return -ENAMETOOLONG;
	memcpy(out + used, file, strlen(file) + 1);
	return 0;
}

static int find_user_bus(char out[ADDRESS_MAX], struct sbx_error *err)
{
	const char *address = getenv("DBUS_SESSION_BUS_ADDRESS"), *dir = getenv("XDG_RUNTIME_DIR");

	/* One socket: other forms of an address start programs. */
	if (address && strncmp(address, "unix:", 5) == 0 && !strchr(address, ';') &&
	    strlen(address) < ADDRESS_MAX) {
		memcpy(out, address, strlen(address) + 1);
		return 0;
	}
	if (dir && *dir == '/' && address_of_path(dir, "/bus", out, ADDRESS_MAX) == 0)
		return 0;
	return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
			ASK "no bus of the user's own manager is known (log in with a session of "
			    "systemd, or start user@UID.service, and set XDG_RUNTIME_DIR; or give "
			    "--cgroup-manager=cgroupfs)");
}

int systemd_available(bool user_manager, struct sbx_error *err)
{
	char address[ADDRESS_MAX];
	cleanup_fd int fd = -EBADF;

	if (cgroup_has_systemd() && access(BOOTED, F_OK) < 0)
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
				ASK "this machine was not booted with systemd (there is no "
				    "\"" BOOTED "\"; give --cgroup-manager=cgroupfs)");
	fd = open_program(user_manager, err);
	if (fd < 0)
		return fd;
	return user_manager ? find_user_bus(address, err) : 0;
}

/* ---- the request ---- */

void systemd_begin(struct json_writer *w, struct buf *out, const char *call,
		   const struct cgroup_unit *unit)
{
	json_writer_init(w, out, 0);
	json_begin_object(w, NULL);
	json_write_string(w, "call", call);
	json_write_string(w, "unit", unit->name);
	json_write_string(w, "description", unit->description);
}

/* With the last member, the bus, which is nobody's business before. */
static int finish(bool user_manager, const struct buf *request, struct buf *out,
		  struct sbx_error *err)
{
	char address[ADDRESS_MAX] = "";
	struct json_writer w;
	int rc = user_manager ? find_user_bus(address, err) : 0;

	if (rc < 0)
		return rc;
	buf_append(out, request->data, request->len);
	json_writer_init(&w, out, 0);
	buf_puts(out, ",\"address\":");
	json_write_string(&w, NULL, address);
	buf_puts(out, "}");
	return buf_failed(request) || buf_failed(out)
		       ? sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the request to systemd")
		       : 0;
}

/* ---- the program ---- */

static void __attribute__((noreturn)) become_program(int program, int sock, pid_t parent)
{
	static char *const args[] = {"sbx-systemd", NULL}, *const env[] = {NULL};
	int null_fd;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || chdir("/") < 0)
		_exit(127);
	program = fcntl(program, F_DUPFD_CLOEXEC, 3);
	sock = fcntl(sock, F_DUPFD_CLOEXEC, 3);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (program < 0 || dup2(sock, 0) < 0 || dup2(sock, 1) < 0 ||
	    dup2(null_fd < 0 ? sock : null_fd, 2) < 0 ||
	    fd_close_from(AT_FDCWD, 3, &program, 1) < 0)
		_exit(127);
	proc_reset_signals();
	execveat(program, "", args, env, AT_EMPTY_PATH);
	_exit(127);
}

static int send_request(int sock, const struct buf *request)
{
	size_t sent = 0;

	while (sent < request->len) {
		ssize_t n = send(sock, request->data + sent, request->len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		sent += (size_t)n;
	}
	return shutdown(sock, SHUT_WR) < 0 ? -errno : 0;
}

static int receive_answer(int sock, struct buf *answer)
{
	int64_t end = clock_now_ms() + ANSWER_WAIT_MS;

	for (;;) {
		struct pollfd p = {.fd = sock, .events = POLLIN};
		int64_t left = end - clock_now_ms();
		char part[1024];
		ssize_t n;

		if (left <= 0 || answer->len > ANSWER_MAX)
			return left <= 0 ? -ETIMEDOUT : -EFBIG;
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		n = recv(sock, part, sizeof(part), 0);
		if (n == 0)
			return buf_failed(answer) ? -ENOMEM : 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			buf_append(answer, part, (size_t)n);
	}
}

static int converse(int program, const struct buf *request, struct buf *answer)
{
	const struct timeval patience = {.tv_sec = ANSWER_WAIT_MS / 1000};
	cleanup_fd int ours = -EBADF, theirs = -EBADF;
	int pair[2], rc, status;
	pid_t self = getpid(), pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	pid = fork();
	if (pid == 0)
		become_program(program, theirs, self);
	if (pid < 0)
		return -errno;
	cleanup_close_fd(&theirs);
	rc = send_request(ours, request);
	/* Where it died early it may have said why. */
	if (rc == 0 || rc == -EPIPE || rc == -ECONNRESET)
		rc = receive_answer(ours, answer);
	kill(pid, SIGKILL);
	proc_wait(pid, &status);
	return rc;
}

static int read_answer(const struct buf *answer, struct sbx_error *err)
{
	cleanup_arena struct arena arena;
	struct json_node *root = NULL;
	const struct json_node *text, *number;
	int64_t errnum = 0;

	arena_init(&arena, 256 << 10);
	if (answer->len == 0 || json_parse(&arena, "answer", answer->data, answer->len,
					   &answer_limits, &root, NULL) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, 0,
				"talk with systemd: our program for it gave no answer");
	text = json_get(root, "error");
	number = json_get(root, "errno");
	if (!text || text->type != JSON_STRING)
		return 0;
	if (number && (json_int64(number, &errnum) < 0 || errnum < 0 || errnum > 4095))
		errnum = 0;
	/* The text has the number's words already. */
	sbx_fail(err, errnum == EACCES || errnum == EPERM ? SBX_E_PERMISSION_DENIED : SBX_E_SYSTEM,
		 0, "%s", text->text);
	if (err)
		err->errnum = (int)errnum;
	return errnum ? -(int)errnum : -EINVAL;
}

int systemd_request(bool user_manager, const struct buf *request, struct sbx_error *err)
{
	cleanup_buf struct buf whole = BUF_INIT, answer = BUF_INIT;
	cleanup_fd int program = open_program(user_manager, err);
	int rc;

	if (program < 0)
		return program;
	rc = finish(user_manager, request, &whole, err);
	if (rc < 0)
		return rc;
	rc = converse(program, &whole, &answer);
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "talk with systemd");
	return read_answer(&answer, err);
}
