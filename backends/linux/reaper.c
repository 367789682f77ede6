#include "backends/linux/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"

/* No name of the runtime's own set-up: the program is running (spawn.h). */
#define REAPER_NAME "sbx:reaper"

/* Queued with this value, which no kill(2) can do. */
#define END_SIGNAL SIGRTMAX
#define END_VALUE  0x5342

/* A signal to all that this process may signal: in a Landlock domain that scopes signals these are
 * its own descendants and no others. A fork that is under way fails with the signal pending. */
static void sweep(void)
{
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

_Noreturn static void end(bool sweeps, int status)
{
	if (sweeps)
		sweep();
	_exit(status);
}

static void wait_for_ended(pid_t child, bool sweeps)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == child)
			end(sweeps,
			    WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static bool is_end(int sig, const siginfo_t *info)
{
	return sig == END_SIGNAL && info->si_code == SI_QUEUE &&
	       info->si_value.sival_int == END_VALUE;
}

static void reap(pid_t child, bool sweeps, const sigset_t *all)
{
	siginfo_t info;

	for (;;) {
		int sig = sigwaitinfo(all, &info);

		if (sig == SIGCHLD)
			wait_for_ended(child, sweeps);
		else if (sweeps && sig > 0 && is_end(sig, &info))
			end(sweeps, 128 + SIGKILL);
		else if (sig > 0 && info.si_code != SI_KERNEL)
			kill(child, sig);
	}
}

int reaper_fork(bool sweeps, struct sbx_error *err)
{
	sigset_t all, before;
	pid_t child;

	if (sweeps && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "adopt what the program leaves");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child <= 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "fork the program");
	if (child == 0)
		return 0;
	prctl(PR_SET_NAME, REAPER_NAME);
	fd_close_from(AT_FDCWD, 0, NULL, 0);
	reap(child, sweeps, &all);
	return 0;
}

int reaper_end(int pidfd)
{
	siginfo_t info = {
		.si_signo = END_SIGNAL,
		.si_code = SI_QUEUE,
		.si_value.sival_int = END_VALUE,
	};

	return syscall(__NR_pidfd_send_signal, pidfd, END_SIGNAL, &info, 0) < 0 ? -errno : 0;
}
