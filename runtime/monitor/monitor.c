/*
 * Theory of operation: the elder is forked by the runtime and forks the younger one. Both hold the
 * first process by a descriptor and sleep in poll(2): its end is theirs. The signal for the start
 * comes to the elder, who passes it on; from then on the younger counts the deadline, and the elder
 * a later one, should the younger not be able to keep it. The elder hears by SIGCHLD of the
 * younger's end and that it was stopped; the younger holds a descriptor of the elder.
 *
 * Killing needs no memory, no file and no process more: where the control group cannot be killed,
 * the signal by the descriptor ends the container's pid namespace.
 */
#include "runtime/monitor/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "runtime/base/log.h"
#include "runtime/base/proc.h"
#include "runtime/ending.h"
#include "runtime/monitor/carve_keeper.h"

#define NAME	       "sbx-monitor"
#define START_SIGNAL   SIGUSR1
#define LOOK_MS	       500  /* of the younger, at the elder */
#define ELDER_SLACK_MS 2000 /* behind the deadline and the grace of the younger */

struct watch {
	const struct container_state *state;
	int first;		    /* pidfd of the container's first process */
	int end_fd;		    /* where the cause is noted */
	int signal_fd;		    /* of START_SIGNAL, SIGCHLD and SIGIO */
	int elder;		    /* the younger's: pidfd; else -EBADF */
	pid_t younger;		    /* the elder's, where there is one */
	int64_t due_ms;		    /* by clock_now_ms(); 0: not started, or no deadline */
	struct carve_keeper keeper; /* the elder's */
};

/* ---- the loop ---- */

enum event { EVENT_ENDED, EVENT_DUE, EVENT_ALONE, EVENT_DETACHED };

static uint64_t allowed_ms(const struct watch *w)
{
	return w->state->deadline_ms + (w->younger ? w->state->grace_ms + ELDER_SLACK_MS : 0);
}

static void begin(struct watch *w)
{
	uint64_t allowed = allowed_ms(w);
	int64_t now = clock_now_ms();

	if (w->due_ms || !w->state->deadline_ms)
		return;
	w->due_ms = allowed < (uint64_t)(INT64_MAX - now) ? now + (int64_t)allowed : INT64_MAX;
	if (w->younger)
		kill(w->younger, START_SIGNAL);
}

/* The younger was stopped, or is no more. */
static bool has_lost_younger(const struct watch *w)
{
	siginfo_t how = {0};

	return waitid(P_PID, (id_t)w->younger, &how, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 ||
	       how.si_pid != 0;
}

/* True where it tells of a loss. */
static bool take_signals(struct watch *w)
{
	struct signalfd_siginfo info;
	bool lost = false;

	while (read(w->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == START_SIGNAL)
			begin(w);
		else if (info.ssi_signo == SIGIO)
			w->keeper.changed = true;
		else
			lost = w->younger && has_lost_younger(w);
	}
	return lost;
}

/* The younger hears of the elder's end, but has to look whether it was stopped. */
static bool is_elder_stopped(const struct watch *w)
{
	char letter;

	return w->elder >= 0 && proc_state(getppid(), &letter) == 0 &&
	       (letter == 'T' || letter == 't');
}

static int left_ms(const struct watch *w)
{
	int64_t left = w->due_ms - clock_now_ms();
	int look = w->elder >= 0 ? LOOK_MS : -1;

	if (w->keeper.resting)
		return CARVE_REST_MS;
	if (!w->due_ms || (look >= 0 && left > look))
		return look;
	return left <= 0 ? 0 : left < INT_MAX ? (int)left : INT_MAX;
}

static bool has_ended(const struct watch *w)
{
	return ending_is_within(w->first, 0);
}

static enum event wait_for_event(struct watch *w)
{
	for (;;) {
		struct pollfd ready[] = {
			{w->first, POLLIN, 0},
			{w->keeper.resting ? -1 : w->signal_fd, POLLIN, 0},
			{w->elder, POLLIN, 0},
			carve_keeper_wait(&w->keeper),
		};
		bool alone;

		if (poll(ready, ARRAY_SIZE(ready), left_ms(w)) < 0 && errno != EINTR)
			return EVENT_ALONE;
		w->keeper.changed |= ready[3].revents != 0;
		alone = take_signals(w) || ready[2].revents || is_elder_stopped(w);
		/* the end of both comes at the same time */
		if (has_ended(w))
			return EVENT_ENDED;
		if (alone)
			return EVENT_ALONE;
		if (w->due_ms && clock_now_ms() >= w->due_ms)
			return EVENT_DUE;
		if (!carve_keeper_keep(&w->keeper))
			return EVENT_DETACHED;
	}
}

/* ---- the end ---- */

static int end_container(const struct watch *w, enum end_cause cause)
{
	uint64_t grace_ms = cause == END_DEADLINE && !w->younger ? w->state->grace_ms : 0;
	struct sbx_error err = {0};
	int rc;

	end_cause_note(w->end_fd, cause);
	if (has_ended(w)) {
		end_cause_note(w->end_fd, END_NONE);
		return 0;
	}
	rc = grace_ms ? ending_in_order(w->state, w->first, grace_ms, &err) : 0;
	if (rc == 0)
		/* what is left of the group, in a pid namespace that is not its own */
		rc = ending_by_force(w->state, w->first, &err);
	end_cause_explain(cause, &err);
	log_error(&err);
	return rc;
}

static int watch(struct watch *w)
{
	static const enum end_cause causes[] = {[EVENT_DUE] = END_DEADLINE,
						[EVENT_ALONE] = END_UNWATCHED,
						[EVENT_DETACHED] = END_DETACHED};
	enum event event = wait_for_event(w);

	return event == EVENT_ENDED ? 0 : end_container(w, causes[event]);
}

/* ---- the processes ---- */

static int discard_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);

	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	return null < 0 ? -errno : 0;
}

/* Nothing of the caller's but the log, and nothing that holds a folder. */
static int settle(const struct watch *w, const struct run *run, int ready_fd)
{
	int keep[4 + CARVE_WATCH_FDS] = {w->first, w->end_fd, ready_fd}, log_fd = log_sink();
	size_t n = 3;
	int rc;

	for (size_t i = 0; w->state->has_carve_outs && i < CARVE_WATCH_FDS; i++)
		keep[n++] = run->watch_fds[i];

	if (log_fd > 2)
		keep[n++] = log_fd;
	else
		log_set_sink(-1, LOG_FORMAT_TEXT, LOG_LEVEL_ERROR);
	if (setsid() < 0 || chdir("/") < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_NAME, NAME) < 0)
		return -errno;
	rc = discard_stdio();
	return rc < 0 ? rc : fd_close_from(AT_FDCWD, 3, keep, n);
}

static int listen_for_signals(struct watch *w)
{
	sigset_t set;

	proc_reset_signals();
	sigemptyset(&set);
	sigaddset(&set, START_SIGNAL);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGIO);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	w->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signal_fd < 0 ? -errno : 0;
}

/* It ends as we do; nobody else may ask for it. */
static void reap_younger(const struct watch *w)
{
	cleanup_fd int pidfd = sys_pidfd_open(w->younger, 0);

	if (pidfd < 0 || !ending_is_within(pidfd, ELDER_SLACK_MS))
		kill(w->younger, SIGKILL);
	waitpid(w->younger, NULL, 0);
}

static void __attribute__((noreturn)) be_younger(struct watch *w, pid_t elder, int ready_fd)
{
	close(ready_fd);
	w->elder = sys_pidfd_open(elder, 0);
	if (w->elder < 0 || getppid() != elder)
		_exit(end_container(w, END_UNWATCHED) < 0);
	_exit(watch(w) < 0);
}

static void __attribute__((noreturn)) be_elder(struct watch *w, const struct run *run, int ready_fd)
{
	pid_t self = getpid();
	int rc;

	if (settle(w, run, ready_fd) < 0 || listen_for_signals(w) < 0)
		_exit(1);
	if (w->state->deadline_ms) {
		w->younger = fork();
		if (w->younger < 0)
			_exit(1);
		if (w->younger == 0)
			be_younger(w, self, ready_fd);
	}
	if (w->state->has_carve_outs)
		carve_keeper_begin(&w->keeper, w->state, run);
	if (write(ready_fd, "", 1) != 1)
		_exit(1);
	close(ready_fd);
	rc = watch(w);
	if (w->younger)
		reap_younger(w);
	_exit(rc < 0);
}

/* ---- the runtime's side ---- */

bool monitor_is_needed(const struct container_state *state)
{
	return state->deadline_ms || state->has_carve_outs;
}

static int fork_elder(struct watch *w, const struct run *run, pid_t *ret_pid)
{
	cleanup_fd int ready = -EBADF;
	int ends[2];
	pid_t pid;
	char byte;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	ready = ends[0];
	pid = fork();
	if (pid == 0)
		be_elder(w, run, ends[1]);
	close(ends[1]);
	if (pid < 0)
		return -errno;
	if (read(ready, &byte, 1) == 1) {
		*ret_pid = pid;
		return 0;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -ECHILD;
}

int monitor_make(const struct run *run, int container_fd, struct container_state *state,
		 struct sbx_error *err)
{
	struct watch w = {.state = state, .first = run->pidfd, .signal_fd = -1, .elder = -1};
	cleanup_fd int end_fd = end_cause_open(container_fd);
	int rc = end_fd;

	w.end_fd = end_fd;
	if (rc >= 0)
		rc = fork_elder(&w, run, &state->monitor_pid);
	if (rc == 0)
		rc = proc_start_time(state->monitor_pid, &state->monitor_start_ticks);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "make the container's monitor") : 0;
}

/* A run in the foreground, which has its own end. */
static bool is_the_run(const struct container_state *state)
{
	return state->monitor_pid == state->creator_pid &&
	       state->monitor_start_ticks == state->creator_start_ticks;
}

int monitor_tell_start(const struct container_state *state, struct sbx_error *err)
{
	cleanup_fd int pidfd = -EBADF;
	int rc;

	if (!monitor_is_needed(state) || is_the_run(state))
		return 0;
	rc = pidfd = proc_open_pidfd(state->monitor_pid, state->monitor_start_ticks);
	if (rc >= 0)
		rc = proc_send_signal(pidfd, state->monitor_pid, START_SIGNAL);
	return rc < 0 ? sbx_fail(err, SBX_E_BOUNDARY_CHANGED, -rc,
				 "start the container: its monitor (process %d) is not there",
				 state->monitor_pid)
		      : 0;
}

bool monitor_is_well(const struct container_state *state)
{
	char letter;

	return !monitor_is_needed(state) ||
	       (proc_is_alive(state->monitor_pid, state->monitor_start_ticks) &&
		proc_state(state->monitor_pid, &letter) == 0 && letter != 'T' && letter != 't');
}

void monitor_await_end(const struct container_state *state)
{
	cleanup_fd int pidfd = -EBADF;

	if (state->monitor_pid <= 0 || is_the_run(state))
		return;
	pidfd = proc_open_pidfd(state->monitor_pid, state->monitor_start_ticks);
	if (pidfd < 0)
		return;
	if (!ending_is_within(pidfd, ELDER_SLACK_MS))
		proc_send_signal(pidfd, state->monitor_pid, SIGKILL);
	proc_wait_gone(pidfd);
	waitpid(state->monitor_pid, NULL, WNOHANG); /* run's own child */
}
