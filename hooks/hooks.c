/*
 * Theory of operation: a hook is a forked child with four descriptors: the state as a memory file
 * on stdin (so that neither a hook that never reads nor a large state can block anybody), /dev/null
 * on stdout, a pipe on stderr whose last bytes are kept, and a close-on-exec pipe on which the
 * child reports why it could not become the hook. The parent polls the child's pidfd and the
 * stderr pipe until the child ends or its time is over; it never waits for the pipe's end, which a
 * daemon that the hook leaves behind may hold. The process group is signalled before the child is
 * reaped, so its number cannot have been given to somebody else. A guarded hook is the child of
 * that child, which then ends as the hook did.
 */
#include "hooks/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooks/guard.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "runtime/base/log.h"
#include "runtime/base/proc.h"

#define STDERR_KEPT_BYTES  ((size_t)16 << 10)
#define STDERR_SHOWN_BYTES ((size_t)400) /* of a message */
#define KILL_WAIT_MS	   10000	 /* for a killed hook to be gone */
#define CHILD_FAILED	   127
#define PIPE_HELD_READS	   256 /* of 4 KiB: 1 MiB, pipe-max-size */

struct running {
	pid_t pid;
	int pidfd;
	int stderr_fd; /* nonblocking; -EBADF after its end */
	int report_fd; /* nonblocking: a struct sbx_error, or nothing */
	int leash_fd;  /* guarded: what ends when we do */
	size_t tail_len;
	char tail[STDERR_KEPT_BYTES];
};

/* What the child needs from the parent. */
struct launch {
	const struct oci_hook *hook;
	const struct hook_context *context;
	int stdin_fd, stderr_fd, report_fd;
	pid_t parent;
};

/* ---- the child ---- */

/* The null device, if what is called so here is it; else our stderr takes stdout as well. A
 * container's /dev may hold anything under that name: O_NONBLOCK, and checked. */
static int open_null(int otherwise)
{
	int fd = open("/dev/null", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3) &&
	    fcntl(fd, F_SETFL, 0) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return otherwise;
}

/* A descriptor above the standard ones, so that placing those overwrites none of ours. */
static int lift(int fd)
{
	return fd < 3 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : fd;
}

static int prepare_child(struct launch *l, struct sbx_error *err)
{
	int null_fd, rc;

	setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != l->parent)
		return sbx_fail(err, SBX_E_HOOK_FAILED, 0, "bind to the runtime's life");
	l->stdin_fd = lift(l->stdin_fd);
	l->stderr_fd = lift(l->stderr_fd);
	null_fd = lift(open_null(l->stderr_fd));
	if (dup2(l->stdin_fd, 0) < 0 || dup2(null_fd, 1) < 0 || dup2(l->stderr_fd, 2) < 0)
		return sbx_fail(err, SBX_E_HOOK_FAILED, errno, "set up standard streams");
	if (l->context->cwd_fd >= 0 && fchdir(l->context->cwd_fd) < 0)
		return sbx_fail(err, SBX_E_HOOK_FAILED, errno, "change the directory");
	rc = fd_cloexec_from(3);
	if (rc < 0)
		return sbx_fail(err, SBX_E_HOOK_FAILED, rc, "keep descriptors back");
	if (l->context->enter)
		return l->context->enter(l->context->data, err);
	return 0;
}

static void run_child(void *data)
{
	static char *const nothing[] = {NULL};
	struct launch *l = data;
	const struct oci_hook *hook = l->hook;
	char *const only_path[] = {(char *)hook->path, NULL};
	char *const *args = hook->args.n ? hook->args.v : only_path;
	char *const *env = l->context->default_env;
	struct sbx_error err = {0};

	if (hook->env_set)
		env = hook->env.n ? hook->env.v : nothing;
	if (!env || l->context->force_empty_env)
		env = nothing;
	proc_reset_signals();
	l->report_fd = lift(l->report_fd);
	if (prepare_child(l, &err) == 0) {
		execve(hook->path, args, env);
		sbx_fail(&err, SBX_E_HOOK_FAILED, errno, "execute");
	}
	fd_write_all(l->report_fd, &err, sizeof(err));
	_exit(CHILD_FAILED);
}

static void run_guarded(struct launch *l, int leash_fd)
{
	struct sbx_error err = {0};

	l->parent = getpid();
	sbx_fail(&err, SBX_E_HOOK_FAILED, guard_run(leash_fd, run_child, l), "fork");
	fd_write_all(l->report_fd, &err, sizeof(err));
	_exit(CHILD_FAILED);
}

/* ---- the parent ---- */

/* The state as a file that stands at its beginning. */
static int open_state(const struct hook_context *context)
{
	/* Where memory files must not be executable (vm.memfd_noexec) it has to be said. */
	cleanup_fd int fd = memfd_create("hook-state", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	int rc;

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("hook-state", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fd_write_all(fd, context->state_json, context->state_len);
	if (rc < 0)
		return rc;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return take_fd(&fd);
}

/* A CLOEXEC pipe whose reading end does not block. */
static int open_pipe(int *ret_read, int *ret_write)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0) {
		int rc = -errno;

		close(fds[0]);
		close(fds[1]);
		return rc;
	}
	*ret_read = fds[0];
	*ret_write = fds[1];
	return 0;
}

static void close_running(struct running *r)
{
	cleanup_close_fd(&r->pidfd);
	cleanup_close_fd(&r->stderr_fd);
	cleanup_close_fd(&r->report_fd);
	cleanup_close_fd(&r->leash_fd);
}

static void reap(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	proc_wait(pid, &status);
}

/* In the child this does not return. */
static pid_t fork_hook(struct launch *l, struct running *r, struct sbx_error *err)
{
	cleanup_fd int leash_fd = -EBADF;
	pid_t pid;
	int rc = l->context->guarded ? open_pipe(&leash_fd, &r->leash_fd) : 0;

	if (rc < 0)
		return sbx_fail(err, SBX_E_HOOK_FAILED, rc, "make a pipe");
	pid = fork();
	if (pid < 0)
		return sbx_fail(err, SBX_E_HOOK_FAILED, errno, "fork");
	if (pid == 0) {
		cleanup_close_fd(&r->leash_fd);
		if (l->context->guarded)
			run_guarded(l, leash_fd);
		run_child(l);
	}
	return pid;
}

static int launch_hook(const struct oci_hook *hook, const struct hook_context *context,
		       struct running *r, struct sbx_error *err)
{
	cleanup_fd int stdin_fd = open_state(context), stderr_fd = -EBADF, report_fd = -EBADF;
	struct launch l = {.hook = hook, .context = context, .parent = getpid()};
	int rc;

	if (stdin_fd < 0)
		return sbx_fail(err, SBX_E_HOOK_FAILED, stdin_fd, "make the state's memory file");
	rc = open_pipe(&r->stderr_fd, &stderr_fd);
	if (rc == 0)
		rc = open_pipe(&r->report_fd, &report_fd);
	if (rc < 0)
		return sbx_fail(err, SBX_E_HOOK_FAILED, rc, "make a pipe");
	l.stdin_fd = stdin_fd;
	l.stderr_fd = stderr_fd;
	l.report_fd = report_fd;
	r->pid = fork_hook(&l, r, err);
	if (r->pid < 0)
		return r->pid;
	setpgid(r->pid, r->pid); /* whoever comes first; fails harmlessly after the execve */
	r->pidfd = sys_pidfd_open(r->pid, 0);
	if (r->pidfd < 0) {
		reap(r->pid);
		return sbx_fail(err, SBX_E_HOOK_FAILED, r->pidfd, "open a pidfd");
	}
	return 0;
}

/* Keep the last STDERR_KEPT_BYTES of what the hook says; false when there is no more for now. */
static bool read_stderr(struct running *r)
{
	char chunk[4096];
	ssize_t n = read(r->stderr_fd, chunk, sizeof(chunk));
	size_t len, over;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EINTR;
	if (n <= 0) {
		cleanup_close_fd(&r->stderr_fd);
		return false;
	}
	len = (size_t)n;
	over = r->tail_len + len > sizeof(r->tail) ? r->tail_len + len - sizeof(r->tail) : 0;
	memmove(r->tail, r->tail + over, r->tail_len - over);
	r->tail_len -= over;
	memcpy(r->tail + r->tail_len, chunk, len);
	r->tail_len += len;
	return true;
}

/* Until the child has ended (0) or timeout_ms (-1: none) is over (-ETIMEDOUT). */
static int await_end(struct running *r, int64_t timeout_ms)
{
	int64_t deadline = timeout_ms < 0 ? -1 : clock_now_ms() + timeout_ms;

	for (;;) {
		struct pollfd fds[] = {
			{.fd = r->pidfd, .events = POLLIN},
			{.fd = r->stderr_fd, .events = POLLIN},
		};
		int64_t left = -1;

		if (deadline >= 0) {
			left = deadline - clock_now_ms();
			if (left <= 0)
				return -ETIMEDOUT;
			if (left > 3600 * 1000)
				left = 3600 * 1000;
		}
		if (poll(fds, ARRAY_SIZE(fds), (int)left) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			read_stderr(r);
		if (fds[0].revents) {
			/* What a full pipe holds, and no more: others may go on writing. */
			for (size_t i = 0; i < PIPE_HELD_READS; i++) {
				if (r->stderr_fd < 0 || !read_stderr(r))
					break;
			}
			return 0;
		}
	}
}

/* The end of what the hook said, its trailing line ends cut, at most STDERR_SHOWN_BYTES. */
static const char *shown_tail(struct running *r)
{
	size_t from = 0, end = r->tail_len;
	char *start;

	if (end == sizeof(r->tail))
		end--;
	while (end > 0 && (r->tail[end - 1] == '\n' || r->tail[end - 1] == '\r'))
		end--;
	r->tail[end] = '\0';
	if (end > STDERR_SHOWN_BYTES) {
		from = end - STDERR_SHOWN_BYTES;
		start = memchr(r->tail + from, '\n', STDERR_SHOWN_BYTES - 1);
		if (start)
			from = (size_t)(start - r->tail) + 1;
	}
	return r->tail + from;
}

static int judge(struct running *r, struct sbx_error *err)
{
	struct sbx_error reported;
	siginfo_t info = {0};
	const char *tail;

	if (waitid(P_PID, (id_t)r->pid, &info, WEXITED) < 0)
		return sbx_fail(err, SBX_E_HOOK_FAILED, errno, "wait");
	if (read(r->report_fd, &reported, sizeof(reported)) == sizeof(reported)) {
		reported.message[sizeof(reported.message) - 1] = '\0';
		if (reported.errnum < 0 || reported.errnum > 4095)
			reported.errnum = 0;
		sbx_fail(err, SBX_E_HOOK_FAILED, 0, "%s", reported.message);
		if (err)
			err->errnum = reported.errnum;
		return reported.errnum ? -reported.errnum : -EINVAL;
	}
	if (info.si_code == CLD_EXITED && info.si_status == 0)
		return 0;
	tail = shown_tail(r);
	return sbx_fail(err, SBX_E_HOOK_FAILED, 0, "%s %d%s%s",
			info.si_code == CLD_EXITED ? "exit status" : "killed by signal",
			info.si_status, *tail ? ": " : "", tail);
}

/* The guard ends what it guards; else the whole group at once, then the child itself, should it
 * have left the group. */
static int end_by_force(struct running *r, int why, int64_t timeout_s, struct sbx_error *err)
{
	bool guarded = r->leash_fd >= 0;
	const char *tail;
	int status;

	cleanup_close_fd(&r->leash_fd);
	if (guarded)
		await_end(r, KILL_WAIT_MS);
	kill(-r->pid, SIGKILL);
	sys_pidfd_send_signal(r->pidfd, SIGKILL);
	if (await_end(r, KILL_WAIT_MS) == 0)
		proc_wait(r->pid, &status);
	if (why != -ETIMEDOUT)
		return sbx_fail(err, SBX_E_HOOK_FAILED, why, "wait");
	tail = shown_tail(r);
	return sbx_fail(err, SBX_E_HOOK_FAILED, 0, "timed out after %lld s, killed%s%s",
			(long long)timeout_s, *tail ? ": " : "", tail);
}

static int run_hook(const struct oci_hook *hook, const struct hook_context *context,
		    struct sbx_error *err)
{
	struct running r = {
		.pidfd = -EBADF, .stderr_fd = -EBADF, .report_fd = -EBADF, .leash_fd = -EBADF};
	int64_t timeout_ms = -1;
	int rc;

	if (hook->timeout_s.set) {
		timeout_ms = hook->timeout_s.v;
		if (__builtin_mul_overflow(timeout_ms, 1000, &timeout_ms) || timeout_ms < 0)
			timeout_ms = INT64_MAX / 2;
	}
	rc = launch_hook(hook, context, &r, err);
	if (rc == 0) {
		rc = await_end(&r, timeout_ms);
		rc = rc == 0 ? judge(&r, err) : end_by_force(&r, rc, hook->timeout_s.v, err);
	}
	close_running(&r);
	if (context->leave)
		context->leave(context->data);
	return rc;
}

/* One hook with its name in the error. A parent that ignores SIGCHLD would lose exit statuses. */
static int run_named(const struct oci_hook *hook, enum oci_hook_kind kind,
		     const struct hook_context *context, struct sbx_error *err)
{
	struct sigaction fresh = {.sa_handler = SIG_DFL}, before;
	int rc;

	sigaction(SIGCHLD, &fresh, &before);
	rc = run_hook(hook, context, err);
	sigaction(SIGCHLD, &before, NULL);
	if (rc < 0)
		sbx_prefix(err, "run %s hook \"%s\"", oci_hook_kind_name(kind), hook->path);
	return rc;
}

int hooks_run(const struct oci_hooks *hooks, enum oci_hook_kind kind,
	      const struct hook_context *context, struct sbx_error *err)
{
	for (size_t i = 0; i < hooks->n[kind]; i++) {
		int rc = run_named(&hooks->v[kind][i], kind, context, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

void hooks_run_all(const struct oci_hooks *hooks, enum oci_hook_kind kind,
		   const struct hook_context *context)
{
	for (size_t i = 0; i < hooks->n[kind]; i++) {
		struct sbx_error err = {0};

		if (run_named(&hooks->v[kind][i], kind, context, &err) < 0)
			log_warning("%s", err.message);
	}
}
