/*
 * run: create, start, wait and delete in one process; the exit status is the payload's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "runtime/base/cleanup.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/container.h"
#include "runtime/ending.h"
#include "runtime/foreground.h"
#include "runtime/monitor/monitor.h"
#include "runtime/notify.h"
#include "runtime/out_of_view.h"

/* "sbx-" and 64 random bits: the name of a container that the caller did not name. */
static int generate_id(char id[32], struct sbx_error *err)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make a container id");
	snprintf(id, 32, "sbx-%016llx", (unsigned long long)number);
	return 0;
}

/* The exit status is the payload's own, but where we ended it. */
static int tell_end(const struct container *c, const struct global_options *global,
		    const struct foreground *fg, int status)
{
	struct sbx_error why = {0};
	enum end_cause cause =
		fg->cause || !monitor_is_needed(&c->state) ? fg->cause : end_cause_read(c->dir_fd);
	int ours = end_cause_explain(cause, &why);

	if (ours)
		output_error(global, &why);
	return ours ? ours : status;
}

static int wait_and_delete(struct container *c, const struct global_options *global,
			   struct foreground *fg, bool keep, struct sbx_error *err)
{
	const char *id = c->state.id;
	struct sbx_error gone = {0};
	int status, rc;

	/* Others may look at it, enter it, kill it and even delete it meanwhile. */
	rc = store_relock_container(&c->store, id, c->dir_fd, STORE_LOCK_NONE, err);
	if (rc < 0)
		return rc;
	fg->sweeps = c->plan->rung == RUNG_SHARED && c->plan->landlock.scope_signal;
	status = foreground_wait(fg, c->run.pid, c->run.pidfd, c->run.tty_master_fd, err);
	if (status < 0)
		return status;
	c->run.pid = 0;
	status = tell_end(c, global, fg, status);
	if (keep)
		return status;
	rc = store_relock_container(&c->store, id, c->dir_fd, STORE_LOCK_EXCLUSIVE, &gone);
	if (rc < 0 && gone.code == SBX_E_CONTAINER_UNKNOWN)
		return status;
	rc = container_destroy(c, err);
	return rc < 0 ? rc : status;
}

static int start_made(struct container *c, struct foreground *fg, struct sbx_error *err)
{
	int rc = notify_listen(c->dir_fd, &c->spec->linux_, &fg->notify_fd, err);

	if (rc == 0)
		rc = container_start(c, c->run.sync_fd, err);
	cleanup_close_fd(&c->run.sync_fd);
	if (rc < 0) {
		sequence_undo(&c->run);
		monitor_await_end(&c->state);
		container_forget(c, c->state.id, NULL);
	}
	return rc;
}

/* Behind "--" stands a command. */
static bool is_direct(const struct invocation *in)
{
	return strcmp(in->argv[-1], "--") == 0 && !invocation_value(in, "bundle");
}

/* Options of one form beside the other. */
static int check_form(const struct invocation *in, bool direct, struct sbx_error *err)
{
	static const char *const of_command[] = {"workspace", "rootfs", "root", "env"};
	static const char *const of_bundle[] = {"config"};
	const char *const *wrong = direct ? of_bundle : of_command;
	size_t n = direct ? ARRAY_SIZE(of_bundle) : ARRAY_SIZE(of_command);

	for (size_t i = 0; i < n; i++)
		if (invocation_value(in, wrong[i]))
			return sbx_fail(
				err, SBX_E_USAGE, 0,
				direct ? "--%s is for a bundle, not for run -- COMMAND"
				       : "--%s is for run -- COMMAND, not for a bundle (the "
					 "state root, --root, stands before the verb)",
				wrong[i]);
	return direct || in->argc == 1
		       ? 0
		       : sbx_fail(err, SBX_E_USAGE, 0,
				  "run takes one container or bundle, got %d arguments (a command "
				  "stands behind \"--\")",
				  in->argc);
}

/* What is to run, and its name. */
static int read_operands(const struct invocation *in, struct create_request *request,
			 struct direct_request *direct, char id[32], struct sbx_error *err)
{
	bool is_command = is_direct(in);
	int rc = check_form(in, is_command, err);

	if (rc < 0)
		return rc;
	request->id = id;
	if (is_command) {
		*direct = (struct direct_request){
			.command = in->argv,
			.workspace = invocation_value(in, "workspace"),
			.rootfs = invocation_value(in, "rootfs"),
			.roots = invocation_list(in, "root"),
			.env = invocation_list(in, "env"),
			.has_profile = request->profile || in->global->profile,
		};
		request->direct = direct;
		return generate_id(id, err);
	}
	if (!strchr(in->argv[0], '/') && strcmp(in->argv[0], ".") != 0) {
		request->id = in->argv[0];
		return 0;
	}
	if (invocation_value(in, "bundle"))
		return sbx_fail(err, SBX_E_USAGE, 0,
				"run takes one bundle, by --bundle or as \"%s\" (an argument "
				"with a slash is no container's name)",
				in->argv[0]);
	request->bundle = in->argv[0];
	return generate_id(id, err);
}

/* Nobody else knows it. */
static int print_id(const char *id, struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;

	buf_printf(&out, "%s\n", id);
	return output_print(&out, err);
}

static int run_run(const struct invocation *in, struct sbx_error *err)
{
	struct create_request request;
	struct direct_request direct;
	struct foreground fg;
	struct container c;
	char id[32];
	int rc = request_read(in, &request, err);

	if (rc == 0)
		rc = read_operands(in, &request, &direct, id, err);
	if (rc < 0)
		return rc;
	container_init(&c);
	foreground_init(&fg);
	request.foreground = request.detached ? NULL : &fg;
	if (!request.detached)
		rc = foreground_begin(&fg, err);
	if (rc == 0)
		rc = container_create(&c, in->global, &request, err);
	if (rc == 0)
		rc = start_made(&c, &fg, err);
	if (rc < 0 && request.direct && c.policy)
		out_of_view_explain(c.policy, direct.command[0], direct.has_profile, err);
	if (rc == 0 && request.detached && fg.notify_fd >= 0)
		rc = notify_await(&c, fg.notify_fd, err);
	if (rc == 0 && request.detached && request.id == id)
		rc = print_id(id, err);
	if (rc == 0 && !request.detached)
		rc = wait_and_delete(&c, in->global, &fg, invocation_flag(in, "keep"), err);
	foreground_end(&fg);
	container_release(&c);
	return rc;
}

const struct cmd cmd_run = {
	.name = "run",
	.operands = "CONTAINER|BUNDLE|-- COMMAND",
	.option_hint = ", global options stand before the verb, a command behind \"--\"",
	.help = "create, start, wait and delete; an argument with a slash is a bundle; a command "
		"behind -- needs none",
	.rows = create_option_rows,
	.rows_n = RUN_OPTION_ROWS,
	.min_operands = 1,
	.max_operands = -1,
	.needs_own_image = true,
	.failure_status = 1,
	.run = run_run,
	.handles_processes = true,
};
