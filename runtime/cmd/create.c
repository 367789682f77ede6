/*
 * create: everything up to the payload's execve, which waits for start.
 */
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/num.h"
#include "runtime/cmd/cmds.h"
#include "runtime/container.h"

const struct option_row create_option_rows[RUN_OPTION_ROWS] = {
	{"bundle", 'b', OPTION_VALUE, "DIR", "the bundle (default: the current folder)"},
	{"config", 'f', OPTION_VALUE, "FILE", "read this file instead of config.json"},
	{"console-socket", 0, OPTION_VALUE, "PATH", "send the terminal's master there"},
	{"pidfd-socket", 0, OPTION_VALUE, "PATH", "send a pidfd of the first process there"},
	{"pid-file", 0, OPTION_VALUE, "FILE", "write the first process's pid there"},
	{"no-pivot", 0, OPTION_FLAG, NULL, "move the root instead of pivot_root(2)"},
	{"no-new-keyring", 0, OPTION_FLAG, NULL, "keep the caller's session keyring"},
	{"preserve-fds", 0, OPTION_VALUE, "N", "pass N descriptors after stdio and LISTEN_FDS"},
	{"no-subreaper", 0, OPTION_FLAG, NULL, "accepted for other runtimes' callers"},
	{"profile", 0, OPTION_VALUE, "FILE|NAME", "access profile"},
	{"detach", 'd', OPTION_FLAG, NULL, "return when the process is started"},
	{"keep", 0, OPTION_FLAG, NULL, "keep the container after its exit"},
	{"workspace", 0, OPTION_VALUE, "DIR", "-- COMMAND: its folder (default: the current one)"},
	{"rootfs", 0, OPTION_VALUE, "DIR",
	 "-- COMMAND: its root file system (default: the host's)"},
	{"root", 0, OPTION_LIST, "PATH[:rw]", "-- COMMAND: one more folder, to read or to write"},
	{"env", 0, OPTION_LIST, "NAME[=VALUE]", "-- COMMAND: one more variable"},
};

/* The last ones are run's own. */
#define RUNS_OWN    6
#define CREATE_ROWS (ARRAY_SIZE(create_option_rows) - RUNS_OWN)

int request_read(const struct invocation *in, struct create_request *ret, struct sbx_error *err)
{
	const char *fds = invocation_value(in, "preserve-fds");
	const char *bundle = invocation_value(in, "bundle");
	uint64_t count = 0;

	if (fds && num_parse_u64(fds, 0, 1000, &count) < 0)
		return sbx_fail(err, SBX_E_USAGE, 0, "--preserve-fds takes 0 to 1000, not \"%s\"",
				fds);
	*ret = (struct create_request){
		.bundle = bundle ? bundle : ".",
		.config_file = invocation_value(in, "config"),
		.console_socket = invocation_value(in, "console-socket"),
		.pid_file = invocation_value(in, "pid-file"),
		.pidfd_socket = invocation_value(in, "pidfd-socket"),
		.profile = invocation_value(in, "profile"),
		.preserve_fds = (int)count,
		.no_pivot = invocation_flag(in, "no-pivot"),
		.no_new_keyring = invocation_flag(in, "no-new-keyring"),
		.detached = invocation_flag(in, "detach"),
	};
	return 0;
}

static int run_create(const struct invocation *in, struct sbx_error *err)
{
	struct create_request request;
	struct container c;
	int rc = request_read(in, &request, err);

	if (rc < 0)
		return rc;
	request.id = in->argv[0];
	request.start_by_socket = true;
	container_init(&c);
	rc = container_create(&c, in->global, &request, err);
	container_release(&c);
	return rc;
}

const struct cmd cmd_create = {
	.name = "create",
	.operands = "CONTAINER",
	.help = "make a container from a bundle; its process waits for start",
	.rows = create_option_rows,
	.rows_n = CREATE_ROWS,
	.min_operands = 1,
	.max_operands = 1,
	.needs_own_image = true,
	.failure_status = 1,
	.run = run_create,
	.handles_processes = true,
};
