/*
 * delete: remove what is left of a container. A created one is killed first, as managers expect; a
 * running one only with --force, and then an unknown one is no error.
 */
#include <errno.h>

#include "runtime/base/cleanup.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/match.h"
#include "runtime/container.h"
#include "runtime/holder.h"
#include "runtime/salvage.h"

static const struct option_row rows[] = {
	{"force", 'f', OPTION_FLAG, NULL, "kill a running container; an unknown one is no error"},
	MATCH_OPTION_ROW,
};

static int check_status(const struct container *c, struct sbx_error *err)
{
	enum container_status status = state_status(c->dir_fd, &c->state);

	if (status == STATUS_CREATED || status == STATUS_STOPPED)
		return 0;
	return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
			"cannot delete container %s that is not stopped: %s (--force kills it)",
			c->state.id, status_name(status));
}

static int delete_container(const struct invocation *in, const char *id, struct container *c,
			    bool force, struct sbx_error *err)
{
	int rc;

	if (force)
		container_end_holder(in->global, id);
	rc = container_open(c, in->global, id, STORE_LOCK_EXCLUSIVE, err);
	if (rc < 0 && force && err->code == SBX_E_CONTAINER_UNKNOWN)
		return 0;
	/* Who has the lock may be making it: nothing is known, so nothing is removed. */
	if (rc < 0 && force && err->code == SBX_E_CONTAINER_STATUS && c->dir_fd < 0)
		return sbx_fail(
			err, SBX_E_CONTAINER_STATUS, 0,
			"delete container \"%s\": a process that holds it does not end, nothing "
			"is removed (is it frozen or stopped?)",
			id);
	/* With the lock none is being made: its create was killed, or its state is lost. */
	if (rc < 0 && force && c->dir_fd >= 0 &&
	    (err->code == SBX_E_INVALID_STATE_FILE || err->code == SBX_E_CONTAINER_STATUS))
		return container_salvage(c, in->global, id, err);
	if (rc == 0 && !force)
		rc = check_status(c, err);
	return rc < 0 ? rc : container_destroy(c, err);
}

static int delete_one(const struct invocation *in, const char *id, struct sbx_error *err)
{
	struct container c;
	int rc;

	container_init(&c);
	rc = delete_container(in, id, &c, invocation_flag(in, "force"), err);
	container_release(&c);
	return rc;
}

static int run_delete(const struct invocation *in, struct sbx_error *err)
{
	return match_containers(in, delete_one, err);
}

const struct cmd cmd_delete = {
	.name = "delete",
	.operands = "CONTAINER",
	.help = "remove a container",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.min_operands = 1,
	.max_operands = 1,
	.failure_status = 1,
	.run = run_delete,
	.handles_processes = true,
};
