#include "backends/linux/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"

/* No name of the runtime's own set-up: the program is running (spawn.h). */
#define REAPER_NAME "sbx:reaper"

static void wait_for_ended(pid_t child)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == child)
			_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static void reap(pid_t child, const sigset_t *all)
{
	siginfo_t info;

	for (;;) {
		int sig = sigwaitinfo(all, &info);

		if (sig == SIGCHLD)
			wait_for_ended(child);
		else if (sig > 0 && info.si_code != SI_KERNEL)
			kill(child, sig);
	}
}

int reaper_fork(struct sbx_error *err)
{
	sigset_t all, before;
	pid_t child;

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
	reap(child, &all);
	return 0;
}
