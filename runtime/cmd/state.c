/*
 * state: the OCI state object of one container.
 */
#include "runtime/base/cleanup.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/container.h"

static int run_state(const struct invocation *in, struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;
	struct json_writer w;
	struct container c;
	int rc;

	container_init(&c);
	rc = container_open(&c, in->global, in->argv[0], STORE_LOCK_NONE, err);
	if (rc == 0) {
		json_writer_init(&w, &out, 2);
		state_write_oci(&w, NULL, &c.state, state_status(c.dir_fd, &c.state), true);
		rc = output_print(&out, err);
	}
	container_release(&c);
	return rc;
}

const struct cmd cmd_state = {
	.name = "state",
	.operands = "CONTAINER",
	.help = "print the state of a container",
	.min_operands = 1,
	.max_operands = 1,
	.failure_status = 1,
	.run = run_state,
};
