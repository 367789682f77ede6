/*
 * pause: stop every process of a container by the freezer of its cgroup.
 */
#include "runtime/cmd/cmds.h"
#include "runtime/container.h"

static int pause_container(struct container *c, struct sbx_error *err)
{
	enum container_status status = state_status(c->dir_fd, &c->state);

	if (status != STATUS_RUNNING && status != STATUS_CREATED)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
				"cannot pause a container that is %s: container not running",
				status_name(status));
	if (c->state.cgroup.n == 0)
		return cgroup_fail_none(err, "freeze the processes");
	return cgroup_freeze(&c->state.cgroup, err);
}

static int run_pause(const struct invocation *in, struct sbx_error *err)
{
	struct container c;
	int rc;

	container_init(&c);
	rc = container_open(&c, in->global, in->argv[0], STORE_LOCK_EXCLUSIVE, err);
	if (rc == 0)
		rc = pause_container(&c, err);
	container_release(&c);
	return rc;
}

const struct cmd cmd_pause = {
	.name = "pause",
	.operands = "CONTAINER",
	.help = "freeze every process of a container",
	.min_operands = 1,
	.max_operands = 1,
	.failure_status = 1,
	.run = run_pause,
	.handles_processes = true,
};
