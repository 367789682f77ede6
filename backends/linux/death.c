/*
 * Why a child of ours ended without a word: killed for want of memory, or by a signal.
 */
#include "backends/linux/death.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "backends/linux/cgroup/stats.h"

#define END_WAIT_MS 1000 /* its descriptors close a moment before it is gone */

static bool ended(int pidfd, siginfo_t *how)
{
	struct pollfd end = {pidfd, POLLIN, 0};

	memset(how, 0, sizeof(*how));
	return pidfd >= 0 && poll(&end, 1, END_WAIT_MS) > 0 &&
	       waitid(P_PIDFD, (id_t)pidfd, how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       how->si_pid != 0;
}

static long long memory_limit(const struct run *run)
{
	const struct oci_resources *r = run->plan->cgroup.resources;

	return r && r->memory && r->memory->limit.set ? r->memory->limit.v : 0;
}

int death_explain(const struct run *run, int rc, struct sbx_error *err)
{
	siginfo_t how;
	const char *name;

	if (!ended(run->pidfd, &how) || (how.si_code != CLD_KILLED && how.si_code != CLD_DUMPED))
		return rc;
	/* exec enters a group that had processes before: what it counted says nothing */
	if (!run->is_exec && run->cgroup && memory_limit(run) > 0 && how.si_status == SIGKILL &&
	    cgroup_oom_kills(run->cgroup) > 0)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM,
				"set up the container: the kernel killed its process: the memory "
				"limit of %lld bytes (linux.resources.memory.limit) is too small "
				"for the set-up",
				memory_limit(run));
	name = sigabbrev_np(how.si_status);
	return sbx_fail(err, SBX_E_SYSTEM, 0,
			"set up the container: its process died of signal %d (SIG%s)",
			how.si_status, name ? name : "?");
}
