/*
 * resume: let the processes of a paused container go on.
 */
#include "runtime/cmd/cmds.h"
#include "runtime/container.h"

static int resume_container(struct container *c, struct sbx_error *err)
{
	/* Asked of the freezer itself: a pause that was interrupted half-way must be undone too. */
	if (!cgroup_is_frozen(&c->state.cgroup) &&
	    state_status(c->dir_fd, &c->state) != STATUS_PAUSED)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
				"cannot resume a container that is %s: container not paused",
				status_name(state_status(c->dir_fd, &c->state)));
	return cgroup_thaw(&c->state.cgroup, err);
}

static int run_resume(const struct invocation *in, struct sbx_error *err)
{
	struct container c;
	int rc;

	container_init(&c);
	rc = container_open(&c, in->global, in->argv[0], STORE_LOCK_EXCLUSIVE, err);
	if (rc == 0)
		rc = resume_container(&c, err);
	container_release(&c);
	return rc;
}

const struct cmd cmd_resume = {
	.name = "resume",
	.operands = "CONTAINER",
	.help = "thaw a paused container",
	.min_operands = 1,
	.max_operands = 1,
	.failure_status = 1,
	.run = run_resume,
	.handles_processes = true,
};
