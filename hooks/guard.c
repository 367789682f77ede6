/*
 * Theory of operation: the guard only waits, with every signal blocked, for its child's end and for
 * the end of the leash. It keeps the descriptors that it was born with, the lock of the container
 * among them: nobody else works on the container before the last process is gone. To end a tree it
 * kills its children again and again, since those of a killed child become its own; a child's
 * number is not given to anyone else before the guard reaps it.
 */
#include "hooks/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/num.h"
#include "runtime/base/proc.h"

#define END_WAIT_MS 10000
#define END_STEP_MS 5

static void kill_children(void)
{
	cleanup_dir DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t self = getpid(), parent;
	uint64_t pid;

	while (proc && (entry = readdir(proc)) != NULL) {
		if (num_parse_u64(entry->d_name, 1, INT32_MAX, &pid) == 0 &&
		    proc_parent((pid_t)pid, &parent) == 0 && parent == self)
			kill((pid_t)pid, SIGKILL);
	}
}

/* Reap what is dead. False when there is no child any more. */
static bool reap(void)
{
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0)
			return errno != ECHILD;
		if (info.si_pid == 0)
			return true;
	}
}

static void end_tree(pid_t child)
{
	/* Its group in one step, and without a look at /proc; the child is not reaped yet. */
	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	for (int waited = 0; waited < END_WAIT_MS; waited += END_STEP_MS) {
		kill_children();
		if (!reap())
			return;
		poll(NULL, 0, END_STEP_MS);
	}
}

/* Until the child has ended. It is not reaped. */
static void guard_child(pid_t child, int leash_fd)
{
	struct pollfd fds[] = {
		{.fd = sys_pidfd_open(child, 0), .events = POLLIN},
		{.fd = leash_fd, .events = POLLIN},
	};

	if (fds[0].fd >= 0)
		while (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno == EINTR)
			;
	if (fds[0].revents)
		return;
	end_tree(child);
	_exit(128 + SIGKILL);
}

static void __attribute__((noreturn)) end_as(pid_t child)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)child, &info, WEXITED) < 0)
		_exit(127);
	if (info.si_code == CLD_EXITED)
		_exit(info.si_status);
	/* The same signal, and no core file of the caller's memory. */
	prctl(PR_SET_DUMPABLE, 0);
	proc_reset_signals();
	kill(getpid(), info.si_status);
	_exit(128 + info.si_status);
}

int guard_run(int leash_fd, void (*run)(void *data), void *data)
{
	sigset_t all;
	pid_t child;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL);
	setpgid(0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	child = fork();
	if (child == 0) {
		close(leash_fd);
		run(data);
		_exit(127);
	}
	if (child < 0)
		return -errno;
	guard_child(child, leash_fd);
	end_as(child);
}
