/*
 * Waiting for a process in the foreground: signals are forwarded, a terminal is relayed.
 */
#ifndef SBX_RUNTIME_FOREGROUND_H
#define SBX_RUNTIME_FOREGROUND_H

#include <sys/types.h>

#include "runtime/base/error.h"
#include "runtime/ending.h"
#include "runtime/monitor/carve_keeper.h"
#include "runtime/output_pipes.h"

struct foreground {
	int signal_fd;
	int notify_fd; /* where the process says that it is ready (notify.h), or -EBADF */
	struct output_budget budget;
	struct carve_keeper keeper;
	enum end_cause cause; /* why the process was killed by us */
	struct output_pipes pipes;
	int drain_ms; /* how long a reader may keep us behind the end; -1: as it likes */
	bool sweeps;  /* the process is a first one that sweeps (reaper.h) */
	bool asked;   /* to end */
};

void foreground_init(struct foreground *fg);

/* To be called before the child exists: so much of output, of a terminal's or, without one, through
 * pipes, whose other ends go to theirs. What exceeds it kills the process. */
int foreground_limit_output(struct foreground *fg, uint64_t bytes, bool terminal, int theirs[2],
			    struct sbx_error *err);

/*
 * Block the signals that will be forwarded; to be called before the child exists, so that none is
 * lost. The child resets its mask before execve.
 */
int foreground_begin(struct foreground *fg, struct sbx_error *err);

/*
 * Wait for our child. Every signal but SIGCHLD, SIGURG (and SIGWINCH without a terminal) is sent
 * on. With master_fd >= 0, stdin and stdout are relayed to the pty in raw mode, the window size
 * follows SIGWINCH, and the caller's modes are restored. Returns the exit status as a shell gives
 * it (128 + signal), or -errno.
 */
int foreground_wait(struct foreground *fg, pid_t pid, int pidfd, int master_fd,
		    struct sbx_error *err);

void foreground_end(struct foreground *fg);

#endif
