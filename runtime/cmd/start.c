/*
 * start: let the payload of a created container go on to its execve.
 */
#include <errno.h>

#include "runtime/base/cleanup.h"
#include "runtime/cmd/cmds.h"
#include "runtime/container.h"
#include "runtime/notify.h"
#include "runtime/sockets.h"

static int connect_created(struct container *c, struct sbx_error *err)
{
	enum container_status status = state_status(c->dir_fd, &c->state);
	int fd;

	if (status == STATUS_RUNNING)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
				"cannot start an already running container");
	if (status != STATUS_CREATED)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
				"cannot start a container that is %s%s", status_name(status),
				status == STATUS_PAUSED ? " (resume it first)" : "");
	fd = sockets_connect_at(c->dir_fd, "start", err);
	if (fd == -ECONNREFUSED)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
				"cannot start an already running container");
	return fd;
}

static int listen_for_ready(struct container *c, int *ret_fd, struct sbx_error *err)
{
	int rc = notify_is_asked() ? container_load_spec(c, err) : 0;

	return c->spec ? notify_listen(c->dir_fd, &c->spec->linux_, ret_fd, err) : rc;
}

static int run_start(const struct invocation *in, struct sbx_error *err)
{
	cleanup_fd int sync_fd = -EBADF, notify_fd = -EBADF;
	struct container c;
	int rc;

	container_init(&c);
	rc = container_open(&c, in->global, in->argv[0], STORE_LOCK_EXCLUSIVE, err);
	if (rc == 0)
		rc = sync_fd = connect_created(&c, err);
	if (rc >= 0)
		rc = listen_for_ready(&c, &notify_fd, err);
	if (rc == 0)
		rc = container_start(&c, sync_fd, err);
	if (rc == 0 && notify_fd >= 0)
		rc = notify_await(&c, notify_fd, err);
	container_release(&c);
	return rc;
}

const struct cmd cmd_start = {
	.name = "start",
	.operands = "CONTAINER",
	.help = "start the process of a created container",
	.min_operands = 1,
	.max_operands = 1,
	.failure_status = 1,
	.run = run_start,
	.handles_processes = true,
};
