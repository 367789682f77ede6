/*
 * kill: a signal to the container's first process, or with --all to every process of its cgroup.
 *
 * The first process is addressed by a descriptor checked against its start time, so that a reused
 * pid is never hit. Signal 0 is sent to nobody: it asks whether one is there. The texts are what
 * managers match: "container not running", "no such process".
 */
#include <errno.h>
#include <signal.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/proc.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/match.h"
#include "runtime/container.h"
#include "runtime/ending.h"

static const struct option_row rows[] = {
	{"all", 'a', OPTION_FLAG, NULL, "signal every process of the container"},
	MATCH_OPTION_ROW,
};

static int fail_not_running(struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_CONTAINER_STATUS, ESRCH, "container not running");
}

static int signal_first(struct container *c, int sig, struct sbx_error *err)
{
	cleanup_fd int pidfd = proc_open_pidfd(c->state.pid, c->state.pid_start_ticks);
	int rc;

	if (pidfd == -ESRCH)
		return fail_not_running(err);
	if (pidfd >= 0 && sig == SIGKILL)
		rc = ending_of_first(&c->state, pidfd);
	else
		rc = pidfd < 0 ? pidfd : proc_send_signal(pidfd, c->state.pid, sig);
	if (rc == -ESRCH)
		return fail_not_running(err);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "signal the container's first process")
		      : 0;
}

/* Whether anything is there: a group without processes takes any other signal. */
static int probe_all(const struct container *c, struct sbx_error *err)
{
	cleanup_free pid_t *pids = NULL;
	int n = cgroup_list_pids(&c->state.cgroup, &pids);

	if (n < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -n, "list the processes");
	return n > 0 ? 0 : fail_not_running(err);
}

static int signal_container(struct container *c, int sig, bool all, struct sbx_error *err)
{
	enum container_status status = state_status(c->dir_fd, &c->state);
	int rc;

	/* What outlived the first process (no pid namespace of its own) is reached all the same. */
	if (all && c->state.cgroup.n > 0)
		return sig ? cgroup_signal_all(&c->state.cgroup, sig, err) : probe_all(c, err);
	if (status == STATUS_STOPPED || c->state.pid <= 0)
		return all && sig ? 0 : fail_not_running(err);
	rc = signal_first(c, sig, err);
	if (rc == 0 && sig == SIGKILL)
		rc = cgroup_let_die(&c->state.cgroup, err);
	return rc;
}

static int kill_one(const struct invocation *in, const char *id, struct sbx_error *err)
{
	const char *name = in->argc > 1 ? in->argv[1] : "TERM";
	int rc, sig = proc_parse_signal(name);
	struct container c;

	if (sig < 0)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"unknown signal \"%s\" (a name as TERM, or 0 to 64)", name);
	container_init(&c);
	rc = container_open(&c, in->global, id, STORE_LOCK_NONE, err);
	if (rc == 0)
		rc = signal_container(&c, sig, invocation_flag(in, "all"), err);
	container_release(&c);
	return rc;
}

static int run_kill(const struct invocation *in, struct sbx_error *err)
{
	return match_containers(in, kill_one, err);
}

const struct cmd cmd_kill = {
	.name = "kill",
	.operands = "CONTAINER [SIGNAL]",
	.help = "send a signal (default TERM) to a container",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.min_operands = 1,
	.max_operands = 2,
	.failure_status = 1,
	.run = run_kill,
	.handles_processes = true,
};
