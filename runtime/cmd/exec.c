/*
 * exec: a further process in a running container, by --process FILE or by words.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"
#include "runtime/base/fd.h"
#include "runtime/base/num.h"
#include "runtime/base/proc.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/container.h"
#include "runtime/listener.h"
#include "runtime/ending.h"
#include "runtime/foreground.h"
#include "runtime/inherit.h"
#include "runtime/sockets.h"

#define PROCESS_BYTES_MAX ((size_t)4 << 20)
#define ENDING_WAIT_MS	  200

static const struct option_row rows[] = {
	{"process", 'p', OPTION_VALUE, "FILE",
	 "process.json; replaces every other option about the process"},
	{"console-socket", 0, OPTION_VALUE, "PATH", "send the terminal's master there"},
	{"pidfd-socket", 0, OPTION_VALUE, "PATH", "send a pidfd of the process there"},
	{"pid-file", 0, OPTION_VALUE, "FILE", "write the process's pid there"},
	{"detach", 'd', OPTION_FLAG, NULL, "return when the process is started"},
	{"cwd", 0, OPTION_VALUE, "DIR", "working directory"},
	{"env", 'e', OPTION_LIST, "NAME=VALUE", "add to the container's environment"},
	{"tty", 't', OPTION_FLAG, NULL, "give it a terminal"},
	{"user", 'u', OPTION_VALUE, "UID[:GID]", "numeric user and group"},
	{"additional-gids", 'g', OPTION_LIST, "GID", "supplementary group"},
	{"process-label", 0, OPTION_VALUE, "LABEL", "SELinux label"},
	{"apparmor", 0, OPTION_VALUE, "PROFILE", "AppArmor profile"},
	{"no-new-privs", 0, OPTION_FLAG, NULL, "set no_new_privs"},
	{"cap", 'c', OPTION_LIST, "CAP", "add a capability"},
	{"preserve-fds", 0, OPTION_VALUE, "N", "pass N descriptors after stdio and LISTEN_FDS"},
	{"cgroup", 0, OPTION_LIST, "[CTRL:]PATH", "join a group below the container's"},
	{"ignore-paused", 0, OPTION_FLAG, NULL,
	 "enter a paused container; the process waits frozen"},
	{"no-subreaper", 0, OPTION_FLAG, NULL, "accepted for other runtimes' callers"},
};

/* A copy of list with the words of more behind it. */
static int append_strings(struct arena *arena, struct strings *list,
			  const struct option_values *more)
{
	char **longer = arena_alloc_array(arena, list->n + more->count + 1, sizeof(*longer));

	if (!longer)
		return -ENOMEM;
	if (list->n)
		memcpy(longer, list->v, list->n * sizeof(*longer));
	for (size_t i = 0; i < more->count; i++)
		longer[list->n + i] = (char *)more->list[i];
	list->v = longer;
	list->n += more->count;
	return 0;
}

static int add_groups(struct arena *arena, struct oci_user *user, const struct option_values *more,
		      struct sbx_error *err)
{
	uint32_t *gids =
		arena_alloc_array(arena, user->additional_gids_n + more->count + 1, sizeof(*gids));

	if (!gids)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "read the groups");
	if (user->additional_gids_n)
		memcpy(gids, user->additional_gids, user->additional_gids_n * sizeof(*gids));
	for (size_t i = 0; i < more->count; i++)
		if (num_parse_id(more->list[i], &gids[user->additional_gids_n + i]) < 0)
			return sbx_fail(err, SBX_E_USAGE, 0,
					"--additional-gids takes a number, not \"%s\"",
					more->list[i]);
	user->additional_gids = gids;
	user->additional_gids_n += more->count;
	return 0;
}

/* As config.json's env: a word without a value would be no variable. */
static int check_env(const struct option_values *words, struct sbx_error *err)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *equals = strchr(words->list[i], '=');

		if (!equals || equals == words->list[i])
			return sbx_fail(err, SBX_E_USAGE, 0, "--env takes NAME=VALUE, not \"%s\"",
					words->list[i]);
	}
	return 0;
}

/* Never into the inheritable or ambient set (CVE-2022-29162). */
static int add_capabilities(struct arena *arena, struct oci_process *process,
			    const struct option_values *more)
{
	static const enum oci_cap_set sets[] = {CAPSET_BOUNDING, CAPSET_EFFECTIVE,
						CAPSET_PERMITTED};
	struct oci_capabilities *caps = arena_alloc(arena, sizeof(*caps));

	if (!caps)
		return -ENOMEM;
	if (process->capabilities)
		*caps = *process->capabilities;
	caps->sets[CAPSET_INHERITABLE] = (struct strings){0};
	process->capabilities = caps;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		if (append_strings(arena, &caps->sets[sets[i]], more) < 0)
			return -ENOMEM;
	return 0;
}

static int process_of_words(const struct invocation *in, struct container *c,
			    struct oci_process *process, struct sbx_error *err)
{
	const char *user = invocation_value(in, "user"), *cwd = invocation_value(in, "cwd");
	int gid_given, rc;

	*process = *c->spec->process;
	process->args = (struct strings){in->argv + 1, (size_t)in->argc - 1};
	process->terminal = invocation_flag(in, "tty");
	process->console_size_set = false;
	/* a reservation for one process, and none that was forked can have it (rooms/sched.c) */
	if (process->scheduler && process->scheduler->policy &&
	    strcmp(process->scheduler->policy, OCI_SCHED_DEADLINE) == 0)
		process->scheduler = NULL;
	if (cwd && cwd[0] != '/')
		return sbx_fail(err, SBX_E_USAGE, 0, "--cwd takes an absolute path, not \"%s\"",
				cwd);
	if (cwd)
		process->cwd = cwd;
	if (user) {
		process->user.gid = 0;
		rc = num_parse_user(user, &process->user.uid, &process->user.gid, &gid_given);
		if (rc < 0)
			return sbx_fail(err, SBX_E_USAGE, 0,
					"--user takes UID or UID:GID as numbers, not \"%s\"", user);
	}
	if (invocation_flag(in, "no-new-privs"))
		process->no_new_privileges = true;
	if (invocation_value(in, "apparmor"))
		process->apparmor_profile = invocation_value(in, "apparmor");
	if (invocation_value(in, "process-label"))
		process->selinux_label = invocation_value(in, "process-label");
	rc = check_env(invocation_list(in, "env"), err);
	if (rc == 0)
		rc = add_groups(&c->arena, &process->user, invocation_list(in, "additional-gids"),
				err);
	if (rc == 0 && (append_strings(&c->arena, &process->env, invocation_list(in, "env")) < 0 ||
			add_capabilities(&c->arena, process, invocation_list(in, "cap")) < 0))
		rc = sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "read the process");
	return rc;
}

static int process_of_file(const char *path, struct container *c, struct oci_process **ret,
			   struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	int rc = fd_read_file_at(AT_FDCWD, path, PROCESS_BYTES_MAX, &text);

	if (rc < 0)
		return fd_fail_read(err, SBX_E_INVALID_CONFIG, rc, "read process \"%s\"", path);
	return oci_parse_process(&c->arena, text.data, text.len, ret, err);
}

static int read_process(const struct invocation *in, struct container *c, struct sbx_error *err)
{
	const char *file = invocation_value(in, "process");
	struct oci_process *process = arena_alloc(&c->arena, sizeof(*process));
	int rc;

	if (!process)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "read the process");
	if (!file && in->argc < 2)
		return sbx_fail(err, SBX_E_USAGE, 0, "exec needs a command or --process FILE");
	rc = file ? process_of_file(file, c, &process, err) : process_of_words(in, c, process, err);
	if (rc == 0)
		c->spec->process = process;
	return rc;
}

static int fail_not_running(struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
			"cannot exec in a container that is not running");
}

static int check_status(const struct invocation *in, const struct container *c,
			struct sbx_error *err)
{
	enum container_status status = state_status(c->dir_fd, &c->state);

	/* A created container may be paused as well. */
	if (c->state.confined && (status == STATUS_CREATED || status == STATUS_PAUSED) &&
	    !state_is_started(&c->state))
		return sbx_fail(
			err, SBX_E_CONTAINER_STATUS, 0,
			"cannot exec before start in a container with a profile: its boundary is "
			"complete only then");
	switch (status) {
	case STATUS_RUNNING:
	case STATUS_CREATED:
		return 0;
	case STATUS_PAUSED:
		if (invocation_flag(in, "ignore-paused"))
			return 0;
		return sbx_fail(
			err, SBX_E_CONTAINER_STATUS, 0,
			"cannot exec in a paused container (resume it, or wait for that with "
			"--ignore-paused)");
	default:
		return fail_not_running(err);
	}
}

/* What can be enforced here and now may be less than where create ran. */
static int check_guarantees(const struct container *c, struct sbx_error *err)
{
	cleanup_buf struct buf stored = BUF_INIT;
	int rc = container_read_report(c, &stored, err);

	if (rc < 0)
		return rc;
	return report_check_stored(&c->report, stored.data ? stored.data : "", stored.len, err);
}

/* The report is that of the first process. */
static void tell_dropped(const struct policy *policy)
{
	for (size_t i = 0; i < policy->env_dropped.n; i++)
		log_warning("the variable \"%s\" is not passed on: the container has a profile",
			    policy->env_dropped.v[i]);
}

static int plan_exec(const struct invocation *in, struct container *c, struct sbx_error *err)
{
	const char *fds = invocation_value(in, "preserve-fds");
	uint64_t preserve = 0;
	struct plan_options options = {
		.id = c->state.id,
		.bundle = c->state.bundle,
		.rootfs = c->state.rootfs,
		.cgroup_manager = c->state.cgroup.manager,
		.listen_fds = inherit_listen_fds(),
		.console_socket = invocation_value(in, "console-socket"),
		.detached = invocation_flag(in, "detach"),
		.settings = in->global->config,
		.state_root = in->global->root,
		.store_root = c->store.root,
		.rung = (enum rung)c->state.rung,
		.host_root = c->state.rung == RUNG_SHARED,
	};
	int rc;

	if (fds && num_parse_u64(fds, 0, 1000, &preserve) < 0)
		return sbx_fail(err, SBX_E_USAGE, 0, "--preserve-fds takes 0 to 1000, not \"%s\"",
				fds);
	options.preserve_fds = (int)preserve;
	rc = inherit_extend_environment(&c->arena, c->spec, options.listen_fds, err);
	if (rc == 0)
		rc = container_load_policy(c, err);
	if (rc < 0)
		return rc;
	tell_dropped(c->policy);
	host_probe(&c->host);
	if (c->state.rung == RUNG_SHARED)
		host_probe_namespaces(&c->host, true);
	rc = plan_build(&c->arena, c->policy, &c->host, &options, &c->plan, &c->report, err);
	c->run.plan = c->plan;
	if (rc == 0 && c->state.confined)
		rc = check_guarantees(c, err);
	if (rc == 0)
		rc = inherit_check(c->plan, err);
	return rc;
}

static int check_terminal(const struct plan *plan, struct sbx_error *err)
{
	if (plan->process.terminal && plan->options.detached && !plan->options.console_socket)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"cannot allocate a terminal without --console-socket when detached "
				"(process.terminal asks for one)");
	if (!plan->process.terminal && plan->options.console_socket)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"--console-socket needs a process with a terminal");
	return 0;
}

static int nothing_to_store(void *data, const struct run *run, struct sbx_error *err)
{
	(void)data;
	(void)run;
	(void)err;
	return 0;
}

static int start_process(const struct invocation *in, struct container *c, struct sbx_error *err)
{
	const struct sequence_events events = {nothing_to_store, container_hook_state,
					       listener_pass, c};
	const char *pidfd_socket = invocation_value(in, "pidfd-socket");
	const char *pid_file = invocation_value(in, "pid-file");
	const char *console = c->plan->options.console_socket;
	struct run *run = &c->run;
	int rc;

	if (c->plan->rung == RUNG_SHARED)
		run->rootfs_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	run->container_pid = c->state.pid;
	run->container_pidfd = proc_open_pidfd(c->state.pid, c->state.pid_start_ticks);
	if (run->container_pidfd < 0)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, -run->container_pidfd,
				"open the container's first process");
	rc = sequence_exec(run, &events, err);
	if (rc < 0)
		return rc;
	if (console) {
		rc = sockets_send_fd(console, run->tty_master_fd, "/dev/ptmx", err);
		cleanup_close_fd(&run->tty_master_fd);
	}
	if (rc == 0)
		rc = sequence_start_exec(run, &events, err);
	cleanup_close_fd(&run->sync_fd);
	run_close_output(run);
	if (rc == 0 && pidfd_socket)
		rc = sockets_send_fd(pidfd_socket, run->pidfd, "pidfd", err);
	if (rc == 0 && pid_file)
		rc = sockets_write_pid_file(pid_file, run->pid, err);
	if (rc < 0)
		sequence_undo(run);
	return rc;
}

static int enter_groups(const struct invocation *in, struct container *c, struct sbx_error *err)
{
	const struct option_values *groups = invocation_list(in, "cgroup");
	struct cgroup payload;
	int rc;

	if (groups->count == 0)
		return 0;
	rc = cgroup_payload(&c->state.cgroup, &payload, err);
	if (rc == 0)
		c->state.cgroup = payload;
	for (size_t i = 0; rc == 0 && i < groups->count; i++)
		rc = cgroup_open_sub(&c->state.cgroup, groups->list[i], &c->state.cgroup, err);
	return rc;
}

static int begin(const struct invocation *in, struct container *c, struct foreground *fg,
		 struct sbx_error *err)
{
	int rc = check_status(in, c, err);

	if (rc == 0)
		rc = enter_groups(in, c, err);
	if (rc == 0)
		rc = container_load_spec(c, err);
	if (rc == 0)
		rc = read_process(in, c, err);
	if (rc == 0)
		rc = plan_exec(in, c, err);
	if (rc == 0)
		rc = check_terminal(c->plan, err);
	if (rc == 0)
		rc = sockets_check_pid_file(invocation_value(in, "pid-file"), err);
	if (rc == 0)
		rc = container_limit_output(c, c->plan->options.detached ? NULL : fg, err);
	if (rc == 0 && !c->plan->options.detached)
		rc = foreground_begin(fg, err);
	return rc == 0 ? start_process(in, c, err) : rc;
}

/* What the end of the container made fail is told as that, not by the system call that met it. */
static int explain_end(const struct container *c, int rc, struct sbx_error *err)
{
	struct pollfd end = {.fd = c->run.container_pidfd, .events = POLLIN};

	/* the namespaces of a process go a moment before it ends */
	if (err->code == SBX_E_SYSTEM && end.fd >= 0 &&
	    (err->errnum == ESRCH || err->errnum == ENOMEM || err->errnum == 0))
		poll(&end, 1, ENDING_WAIT_MS);
	return state_status(c->dir_fd, &c->state) == STATUS_STOPPED ? fail_not_running(err) : rc;
}

/* What the process has left running could not be told from the rest of the container. */
static int end_container(const struct global_options *global, struct container *c)
{
	struct sbx_error why = {0};
	int status = end_cause_explain(END_OUTPUT_LIMIT, &why);

	container_kill_first(&c->state);
	output_error(global, &why);
	return status;
}

static int exec_in(const struct invocation *in, struct container *c, struct foreground *fg,
		   struct sbx_error *err)
{
	int rc = container_open(c, in->global, in->argv[0], STORE_LOCK_NONE, err);

	if (rc < 0)
		return rc;
	rc = begin(in, c, fg, err);
	if (rc < 0)
		return explain_end(c, rc, err);
	if (c->plan->options.detached)
		return rc;
	rc = foreground_wait(fg, c->run.pid, c->run.pidfd, c->run.tty_master_fd, err);
	return fg->cause ? end_container(in->global, c) : rc;
}

static int run_exec(const struct invocation *in, struct sbx_error *err)
{
	struct foreground fg;
	struct container c;
	int rc;

	container_init(&c);
	foreground_init(&fg);
	rc = exec_in(in, &c, &fg, err);
	foreground_end(&fg);
	container_release(&c);
	return rc;
}

const struct cmd cmd_exec = {
	.name = "exec",
	.operands = "CONTAINER [COMMAND [ARGUMENT...]]",
	.help = "run a further process in a container",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.min_operands = 1,
	.max_operands = -1,
	.stop_at_operand = true,
	.needs_own_image = true,
	.failure_status = 255,
	.run = run_exec,
	.handles_processes = true,
};
