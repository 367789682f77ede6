/*
 * stop: one terminate signal, then one kill where the container has not ended within the grace.
 *
 * The process is held by a descriptor from before the signal, so an end by itself is seen at every
 * moment, wins, and no later process of the same pid is hit. A container that has ended is stopped
 * already: to stop it again is no error.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/num.h"
#include "runtime/base/proc.h"
#include "runtime/cmd/cmds.h"
#include "runtime/container.h"

/* What an image wants to be stopped by (image-spec, conversion.md). */
#define SIGNAL_ANNOTATION "org.opencontainers.image.stopSignal"

static const struct option_row rows[] = {
	{"grace", 0, OPTION_VALUE, "TIME", "time until the kill (default: the profile's, or 10s)"},
};

/* True where it ended in time. */
static bool ends_within(int pidfd, uint64_t grace_ms)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	int64_t begin = clock_now_ms();

	for (;;) {
		uint64_t passed = (uint64_t)(clock_now_ms() - begin);
		uint64_t left = passed < grace_ms ? grace_ms - passed : 0;

		if (poll(&end, 1, left < INT_MAX ? (int)left : INT_MAX) > 0)
			return true;
		if (left == 0)
			return false;
	}
}

static int read_grace(const struct invocation *in, struct container *c, uint64_t *ret_ms,
		      struct sbx_error *err)
{
	const char *given = invocation_value(in, "grace");
	const struct profile *profile;
	int rc;

	*ret_ms = PROFILE_TERMINATE_GRACE_DEFAULT_MS;
	if (given)
		return num_parse_duration_ms(given, ret_ms) == 0
			       ? 0
			       : sbx_fail(err, SBX_E_USAGE, 0,
					  "--grace takes digits with ms, s, m or h, not \"%s\"",
					  given);
	if (!c->state.confined)
		return 0;
	rc = container_load_spec(c, err);
	if (rc == 0)
		rc = container_load_policy(c, err);
	profile = rc == 0 ? c->policy->profile : NULL;
	if (profile && profile->limits.terminate_grace_ms.set)
		*ret_ms = profile->limits.terminate_grace_ms.v;
	return rc;
}

static int stop_signal(const struct container_state *state)
{
	int sig = -EINVAL;

	for (size_t i = 0; i < state->annotations.n; i++)
		if (strcmp(state->annotations.v[i].key, SIGNAL_ANNOTATION) == 0)
			sig = proc_parse_signal(state->annotations.v[i].value);
	return sig > 0 ? sig : SIGTERM;
}

static int end_all(struct container *c, int pidfd, struct sbx_error *err)
{
	int rc;

	if (c->state.cgroup.n > 0)
		rc = cgroup_signal_all(&c->state.cgroup, SIGKILL, err);
	else
		rc = proc_send_signal(pidfd, c->state.pid, SIGKILL) == -EPERM ? -EPERM : 0;
	if (rc == 0)
		rc = proc_wait_gone(pidfd);
	return rc == -ETIMEDOUT || rc == -EPERM
		       ? sbx_fail(err, SBX_E_SYSTEM, -rc, "kill the container's first process")
		       : rc;
}

static int stop_container(const struct invocation *in, struct container *c, struct sbx_error *err)
{
	enum container_status status = state_status(c->dir_fd, &c->state);
	cleanup_fd int pidfd = -EBADF;
	uint64_t grace_ms;
	int rc = read_grace(in, c, &grace_ms, err);

	if (rc < 0)
		return rc;
	if (status == STATUS_CREATING)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
				"cannot stop a container that is being created");
	pidfd = proc_open_pidfd(c->state.pid, c->state.pid_start_ticks);
	if (status == STATUS_STOPPED || pidfd == -ESRCH)
		return 0;
	if (pidfd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -pidfd, "open the container's first process");
	/* what was never started has nothing to end in order */
	if (!state_is_started(&c->state))
		return end_all(c, pidfd, err);
	rc = proc_send_signal(pidfd, c->state.pid, stop_signal(&c->state));
	if (rc < 0 && rc != -ESRCH)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "signal the container's first process");
	if (status == STATUS_PAUSED)
		rc = cgroup_thaw(&c->state.cgroup, err);
	if (rc < 0 && rc != -ESRCH)
		return rc;
	return ends_within(pidfd, grace_ms) ? 0 : end_all(c, pidfd, err);
}

static int run_stop(const struct invocation *in, struct sbx_error *err)
{
	struct container c;
	int rc;

	container_init(&c);
	rc = container_open(&c, in->global, in->argv[0], STORE_LOCK_NONE, err);
	if (rc == 0)
		rc = stop_container(in, &c, err);
	container_release(&c);
	return rc;
}

const struct cmd cmd_stop = {
	.name = "stop",
	.operands = "CONTAINER",
	.help = "end a container in order, or by force after a grace",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.min_operands = 1,
	.max_operands = 1,
	.failure_status = 1,
	.run = run_stop,
	.handles_processes = true,
};
