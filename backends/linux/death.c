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
#include "runtime/base/cleanup.h"

#define END_WAIT_MS 1000 /* its descriptors close a moment before it is gone */

static bool ended(int pidfd, siginfo_t *how)
{
	struct pollfd end = {pidfd, POLLIN, 0};

	memset(how, 0, sizeof(*how));
	return pidfd >= 0 && poll(&end, 1, END_WAIT_MS) > 0 &&
	       waitid(P_PIDFD, (id_t)pidfd, how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       how->si_pid != 0;
}

/* The smallest memory limit that the container has in bytes, 0: none, and who set it. */
static long long memory_limit(const struct run *run, const char **ret_member)
{
	const struct {
		const struct oci_resources *resources;
		const char *member;
	} rows[] = {
		{run->plan->cgroup.resources, "linux.resources.memory.limit"},
		{run->plan->cgroup.ceiling, "limits.memory of the profile"},
	};
	long long least = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct oci_resources *r = rows[i].resources;
		long long limit = r && r->memory && r->memory->limit.set ? r->memory->limit.v : 0;

		if (limit <= 0 || (least > 0 && least <= limit))
			continue;
		least = limit;
		*ret_member = rows[i].member;
	}
	return least;
}

int death_explain(const struct run *run, int rc, struct sbx_error *err)
{
	const char *name, *member = NULL;
	long long limit = memory_limit(run, &member);
	siginfo_t how;

	if (!ended(run->pidfd, &how) || (how.si_code != CLD_KILLED && how.si_code != CLD_DUMPED))
		return rc;
	/* exec enters a group that had processes before: what it counted says nothing */
	if (!run->is_exec && run->cgroup && limit > 0 && how.si_status == SIGKILL &&
	    cgroup_oom_kills(run->cgroup) > 0)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM,
				"set up the container: the kernel killed its process: the memory "
				"limit of %lld bytes (%s) is too small for the set-up",
				limit, member);
	name = sigabbrev_np(how.si_status);
	return sbx_fail(err, SBX_E_SYSTEM, 0,
			"set up the container: its process died of signal %d (SIG%s)",
			how.si_status, name ? name : "?");
}
