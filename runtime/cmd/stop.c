/*
 * stop: one terminate signal, then one kill where the container has not ended within the grace. A
 * container that has ended is stopped already: to stop it again is no error.
 */
#include <errno.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/num.h"
#include "runtime/base/proc.h"
#include "runtime/cmd/cmds.h"
#include "runtime/container.h"
#include "runtime/ending.h"

static const struct option_row rows[] = {
	{"grace", 0, OPTION_VALUE, "TIME", "time until the kill (default: the profile's, or 10s)"},
};

static int read_grace(const struct invocation *in, const struct container_state *state,
		      uint64_t *ret_ms, struct sbx_error *err)
{
	const char *given = invocation_value(in, "grace");

	*ret_ms = state->grace_ms;
	if (!given || num_parse_duration_ms(given, ret_ms) == 0)
		return 0;
	return sbx_fail(err, SBX_E_USAGE, 0, "--grace takes digits with ms, s, m or h, not \"%s\"",
			given);
}

static int stop_container(const struct invocation *in, struct container *c, struct sbx_error *err)
{
	enum container_status status = state_status(c->dir_fd, &c->state);
	cleanup_fd int pidfd = -EBADF;
	uint64_t grace_ms;
	int rc = read_grace(in, &c->state, &grace_ms, err);

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
	return state_is_started(&c->state) ? ending_in_order(&c->state, pidfd, grace_ms, err)
					   : ending_by_force(&c->state, pidfd, err);
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
