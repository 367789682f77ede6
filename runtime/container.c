/*
 * From a plan (bundle.c) to a created container, and back to nothing.
 *
 * Order of create, so that a runtime killed at any point leaves only what `delete --force` finds:
 * the store's directory and the first state (which names the cgroup) come before the first object
 * on the host; the child's pid is stored while the child still waits; the start socket gets its
 * name last, and a container without it is not created.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backends/linux/carve_watch.h"
#include "backends/linux/cgroup/stats.h"
#include "backends/linux/spawn.h"
#include "hooks/hooks.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "runtime/base/log.h"
#include "runtime/base/prefault.h"
#include "runtime/base/proc.h"
#include "runtime/base/user.h"
#include "runtime/container.h"
#include "runtime/ending.h"
#include "runtime/inherit.h"
#include "runtime/journal.h"
#include "runtime/listener.h"
#include "runtime/monitor/monitor.h"
#include "runtime/notify.h"
#include "runtime/rdt.h"
#include "runtime/scratch.h"
#include "runtime/sockets.h"

#define START_SOCKET_NEW "start.new"
#define DRAIN_MS	 2000 /* for who has a deadline: behind the end of the container */
#define DYING_WAIT_MS	 200  /* from a process's closed descriptors to its end */

void container_init(struct container *c)
{
	memset(c, 0, sizeof(*c));
	arena_init(&c->arena, CONTAINER_ARENA_BYTES);
	report_init(&c->report, &c->arena);
	c->dir_fd = -EBADF;
	c->store.root_fd = -EBADF;
	c->placeholders.journal_fd = -EBADF;
	run_init(&c->run, NULL);
}

void container_release(struct container *c)
{
	run_close(&c->run);
	cleanup_close_fd(&c->dir_fd);
	cleanup_close_fd(&c->placeholders.journal_fd);
	if (c->store.root_fd >= 0)
		store_close(&c->store);
	buf_release(&c->config);
	arena_release(&c->arena);
}

/* ---- create ---- */

/* A user of whom /etc/passwd knows nothing is told by number. */
static const char *owner_name(struct arena *arena)
{
	struct user_entry user;
	const char *name = user_find(geteuid(), &user)
				   ? arena_strdup(arena, user.name)
				   : arena_printf(arena, "%u", (unsigned)geteuid());

	return name ? name : "";
}

static void fill_times(const struct profile *profile, struct container_state *state)
{
	static const struct profile_limits none;
	const struct profile_limits *limits = profile ? &profile->limits : &none;

	state->grace_ms = limits->terminate_grace_ms.set ? limits->terminate_grace_ms.v
							 : PROFILE_TERMINATE_GRACE_DEFAULT_MS;
	state->deadline_ms = limits->deadline_ms.set ? limits->deadline_ms.v : 0;
}

static int fill_state(struct container *c, const char *id)
{
	struct container_state *state = &c->state;
	struct timespec now;
	struct tm utc;
	char text[40];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(state->id, sizeof(state->id), "%s", id);
	state->created = arena_printf(&c->arena, "%s.%09ldZ", text, now.tv_nsec);
	state->owner = geteuid() == 0 ? "root" : owner_name(&c->arena);
	state->oci_version = c->spec->oci_version;
	state->creator_pid = getpid();
	state->confined = c->policy->confined;
	state->rung = c->plan->rung;
	state->has_terminal = c->plan->process.terminal;
	state->has_poststart = c->spec->hooks.n[HOOK_POSTSTART] > 0;
	state->has_poststop = c->spec->hooks.n[HOOK_POSTSTOP] > 0;
	state->has_intel_rdt = c->spec->linux_.intel_rdt != NULL;
	state->has_carve_outs = carve_watch_is_needed(c->plan);
	fill_times(c->policy->profile, state);
	state->annotations = c->spec->annotations;
	return proc_start_time(getpid(), &state->creator_start_ticks);
}

/* What later verbs read. config.json is stored as it was read, whatever may since stand in the
 * bundle. */
static int store_documents(struct container *c, struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	struct json_writer w;
	int rc;

	rc = fd_create_file_at(c->dir_fd, "config.json", c->config.data, c->config.len, 0600);
	buf_release(&c->config);
	if (rc < 0 || !c->policy->profile)
		return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "store config.json") : 0;
	json_writer_init(&w, &text, 0);
	profile_write(&w, NULL, c->policy->profile);
	rc = buf_failed(&text) ? -ENOMEM
			       : fd_create_file_at(c->dir_fd, "profile", text.data, text.len, 0600);
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "store the profile");
	buf_reset(&text);
	json_writer_init(&w, &text, 0);
	report_write(&w, NULL, &c->report, c->report.reached);
	rc = buf_failed(&text) ? -ENOMEM
			       : fd_replace_file_at(c->dir_fd, "report", text.data, text.len, 0600);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "store the report") : 0;
}

static int store_child(void *data, const struct run *run, struct sbx_error *err)
{
	struct container *c = data;
	int rc = proc_start_time(run->pid, &c->state.pid_start_ticks);

	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "read the container's process");
	c->state.pid = run->pid;
	return state_save(c->dir_fd, &c->state, err);
}

int container_hook_state(void *container, const char *status, pid_t pid, struct buf *out)
{
	struct container *c = container;
	struct container_state state = c->state;
	enum container_status value = STATUS_CREATING;
	struct json_writer w;

	while (value < STATUS_STOPPED && strcmp(status_name(value), status) != 0)
		value++;
	state.pid = pid;
	json_writer_init(&w, out, 0);
	state_write_oci(&w, NULL, &state, value, false);
	return buf_failed(out) ? -ENOMEM : 0;
}

static int finish_create(struct container *c, const struct create_request *request,
			 struct sbx_error *err)
{
	struct run *run = &c->run;
	int rc = 0;

	if (request->console_socket) {
		rc = sockets_send_fd(request->console_socket, run->tty_master_fd, "/dev/ptmx", err);
		if (rc < 0)
			sbx_prefix(err, "pass the terminal on");
		cleanup_close_fd(&run->tty_master_fd);
	}
	if (rc == 0 && request->pidfd_socket)
		rc = sockets_send_fd(request->pidfd_socket, run->pidfd, "pidfd", err);
	if (rc == 0 && request->pid_file)
		rc = sockets_write_pid_file(request->pid_file, run->pid, err);
	if (rc == 0 && request->start_by_socket &&
	    renameat(c->dir_fd, START_SOCKET_NEW, c->dir_fd, STORE_START_SOCKET) < 0)
		rc = sbx_fail(err, SBX_E_SYSTEM, errno, "name the start socket");
	return rc;
}

static int check_terminal(const struct container *c, const struct create_request *request,
			  struct sbx_error *err)
{
	bool terminal = c->plan->process.terminal;

	if (terminal && !request->console_socket && (request->detached || request->start_by_socket))
		return sbx_fail(err, SBX_E_USAGE, 0,
				"cannot allocate a terminal without --console-socket when detached "
				"(process.terminal asks for one)");
	if (!terminal && request->console_socket)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"--console-socket needs process.terminal in config.json");
	return 0;
}

void container_name_hook_group(struct container *c)
{
	hook_group_name(c->hook_group, c->state.creator_pid, c->state.creator_start_ticks);
	c->run.hook_group = c->hook_group;
}

/* Its own profile is stored by now: of two that are made at once neither is overlooked. */
static int check_executors(const struct container *c, struct sbx_error *err)
{
	int n = c->policy->profile ? store_count_confined(&c->store, err) : 0;

	if (n < 0 || (uint64_t)n <= c->max_executors)
		return n < 0 ? n : 0;
	return sbx_fail(err, SBX_E_EXECUTOR_LIMIT, 0,
			"make a container with a profile: there are %d already, and the settings "
			"allow %llu (maxExecutors); delete one",
			n - 1, (unsigned long long)c->max_executors);
}

/* Where a run waits, and there is no deadline to hold without it, it is the monitor. */
static int make_monitor(struct container *c, struct foreground *fg, struct sbx_error *err)
{
	int rc;

	if (!monitor_is_needed(&c->state))
		return 0;
	if (fg && !c->state.deadline_ms) {
		carve_keeper_begin(&fg->keeper, &c->state, &c->run);
		c->state.monitor_pid = c->state.creator_pid;
		c->state.monitor_start_ticks = c->state.creator_start_ticks;
		return 0;
	}
	rc = monitor_make(&c->run, c->dir_fd, &c->state, err);
	return rc == 0 ? state_save(c->dir_fd, &c->state, err) : rc;
}

static void undo_create(struct container *c)
{
	sequence_undo(&c->run);
	monitor_await_end(&c->state);
}

static int make_container(struct container *c, const struct create_request *request,
			  struct sbx_error *err)
{
	const struct sequence_events events = {store_child, container_hook_state, listener_pass, c};
	int rc = fill_state(c, request->id);

	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "read the own start time");
	container_name_hook_group(c);
	c->run.cgroup = &c->state.cgroup;
	rc = cgroup_resolve(&c->plan->cgroup, &c->host, &c->state.cgroup, err);
	if (rc < 0)
		return rc;
	rc = state_save(c->dir_fd, &c->state, err);
	if (rc == 0)
		rc = store_documents(c, err);
	if (rc == 0)
		rc = check_executors(c, err);
	if (rc == 0 && c->plan->view.scratch_root)
		rc = scratch_make(c, err);
	if (rc == 0 && notify_is_asked())
		rc = notify_make_folder(c->dir_fd, err);
	if (rc == 0 && request->start_by_socket) {
		c->run.start_fd = sockets_listen_at(c->dir_fd, START_SOCKET_NEW, err);
		rc = c->run.start_fd < 0 ? c->run.start_fd : 0;
	}
	if (rc == 0)
		rc = journal_enter(c, err);
	if (rc == 0)
		rc = sequence_create(&c->run, &events, err);
	if (rc == 0)
		rc = make_monitor(c, request->foreground, err);
	if (rc == 0)
		rc = finish_create(c, request, err);
	if (rc < 0)
		undo_create(c);
	return rc;
}

int container_limit_output(struct container *c, struct foreground *fg, struct sbx_error *err)
{
	const struct profile *profile = c->policy->profile;

	if (!profile || !profile->limits.output_bytes.set)
		return 0;
	if (!fg)
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/limits/outputBytes",
				   "count the output of a container that does not run in the "
				   "foreground: its standard output is the caller's own");
	if (profile->limits.deadline_ms.set)
		fg->drain_ms = DRAIN_MS;
	return foreground_limit_output(fg, profile->limits.output_bytes.v,
				       c->plan->process.terminal, c->run.output_fds, err);
}

int container_create(struct container *c, const struct global_options *global,
		     const struct create_request *request, struct sbx_error *err)
{
	int rc = store_check_id(request->id, err);

	if (rc == 0)
		rc = container_plan(c, global, request, err);
	if (rc == 0)
		rc = check_terminal(c, request, err);
	if (rc == 0)
		rc = sockets_check_pid_file(request->pid_file, err);
	if (rc == 0)
		rc = container_limit_output(c, request->foreground, err);
	if (rc == 0)
		rc = inherit_check(c->plan, err);
	if (rc == 0 && c->store.root_fd < 0)
		rc = store_open(&c->store, global->root, true, err);
	if (rc < 0)
		return rc;
	c->dir_fd = store_create_container(&c->store, request->id, err);
	if (c->dir_fd < 0)
		return c->dir_fd;
	rc = make_container(c, request, err);
	run_close_output(&c->run);
	if (rc < 0)
		container_forget(c, request->id, NULL);
	return rc;
}

/* ---- start ---- */

static int run_state_hooks(struct container *c, enum oci_hook_kind kind, const char *status,
			   struct sbx_error *err)
{
	cleanup_buf struct buf state = BUF_INIT;
	struct hook_context context = {.cwd_fd = c->run.bundle_fd, .guarded = true};
	struct cgroup group;
	int rc = container_hook_state(c, status, kind == HOOK_POSTSTOP ? 0 : c->state.pid, &state);

	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "make the state for hooks");
	if (context.cwd_fd < 0)
		context.cwd_fd = c->run.bundle_fd =
			open(c->state.bundle, O_PATH | O_DIRECTORY | O_CLOEXEC);
	context.state_json = state.data;
	context.state_len = state.len;
	if (c->state.confined) {
		hook_group_of(&c->state.cgroup, c->hook_group, &group);
		hook_group_use(&group, &context);
	}
	if (kind != HOOK_POSTSTOP)
		return hooks_run(&c->spec->hooks, kind, &context, err);
	hooks_run_all(&c->spec->hooks, kind, &context);
	return 0;
}

/*
 * The payload runs, whatever the store says: a start that failed now would be believed to have
 * started nothing. Its name tells later verbs (SPAWN_NAME); the socket stays, so that even a
 * payload of that name is taken for a created container and not for a stopped one.
 */
static void store_started(struct container *c)
{
	struct sbx_error err = {0};

	c->state.started = true;
	if (state_save(c->dir_fd, &c->state, &err) == 0)
		unlinkat(c->dir_fd, STORE_START_SOCKET, 0);
	else
		log_warning("the container runs, which cannot be stored: %s", err.message);
}

/* For delete --force, should a poststart hook hang. */
static int name_starter(struct container *c, struct sbx_error *err)
{
	int rc;

	if (c->run.pid > 0)
		return 0; /* the creator itself */
	rc = proc_start_time(getpid(), &c->state.creator_start_ticks);
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "read the own start time");
	c->state.creator_pid = getpid();
	container_name_hook_group(c);
	return 0;
}

static int fail_execution(const struct container_state *state, struct sbx_error *err)
{
	if (cgroup_oom_kills(&state->cgroup) > 0)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM,
				"execute the program: the kernel killed the container's process: "
				"its memory limit is too small for the program");
	return sbx_fail(err, SBX_E_SYSTEM, 0, "execute the program: the container's process died");
}

/*
 * Behind the child's last word the end of the socket is execve's success or the end of the process.
 * A process that still bears our name has not executed anything. One that its parent has reaped
 * already counts as a payload that has ended.
 */
static int check_executed(const struct container_state *state, struct sbx_error *err)
{
	cleanup_fd int pidfd = sys_pidfd_open(state->pid, 0);
	char name[PROC_NAME_BYTES];
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	if (pidfd < 0)
		return 0;
	proc_find(state->pid, state->pid_start_ticks, name);
	if (strcmp(name, SPAWN_NAME) != 0 || poll(&end, 1, DYING_WAIT_MS) <= 0)
		return 0;
	return fail_execution(state, err);
}

int container_start(struct container *c, int sync_fd, struct sbx_error *err)
{
	const struct sequence_events events = {store_child, container_hook_state, listener_pass, c};
	bool stores_before = c->run.pid > 0 && !c->state.confined;
	int rc = name_starter(c, err);

	/* What run made dies with it until it is let go, so that can be stored before; but not
	 * what is heard of a profile's domain. */
	if (rc == 0 && stores_before) {
		c->state.started = true;
		rc = state_save(c->dir_fd, &c->state, err);
	}
	if (rc == 0)
		rc = monitor_tell_start(&c->state, err);
	if (rc == 0)
		rc = sequence_start(sync_fd, c->state.pid, &events, &c->state.landlock_seen, err);
	if (rc == -ECONNRESET) /* before its last word */
		rc = fail_execution(&c->state, err);
	if (rc == 0)
		rc = check_executed(&c->state, err);
	if (rc == 0 && !stores_before)
		store_started(c);
	if (rc == 0)
		sequence_settle(&c->run);
	if (rc < 0 || !c->state.has_poststart)
		return rc;
	rc = container_load_spec(c, err);
	if (rc == 0)
		rc = run_state_hooks(c, HOOK_POSTSTART, "running", err);
	if (rc < 0)
		container_destroy(c, NULL);
	return rc;
}

/* ---- the end ---- */

void container_kill_first(const struct container_state *state)
{
	cleanup_fd int pidfd = -EBADF;

	if (state->pid <= 0)
		return;
	pidfd = proc_open_pidfd(state->pid, state->pid_start_ticks);
	if (pidfd < 0)
		return;
	ending_of_first(state, pidfd);
	cgroup_let_die(&state->cgroup, NULL);
	proc_wait_gone(pidfd);
}

int container_destroy(struct container *c, struct sbx_error *err)
{
	struct sbx_error removal = {0};
	int rc;

	container_kill_first(&c->state);
	/* The groups were made, if at all, after the only state that was saved. */
	if (c->state.pid == 0)
		cgroup_remove_abandoned(&c->state.cgroup);
	if (c->state.confined)
		hook_group_destroy(&c->state.cgroup, c->hook_group);
	monitor_await_end(&c->state);
	/* Without a pid namespace of its own the group may still be populated. */
	rc = cgroup_signal_all(&c->state.cgroup, SIGKILL, &removal);
	rc = cgroup_remove(&c->state.cgroup, rc < 0 ? NULL : &removal);
	if (rc == 0)
		rc = rdt_remove(c, &removal);
	if (rc < 0) {
		if (err)
			*err = removal;
		return rc;
	}
	if (c->state.has_poststop && container_load_spec(c, NULL) == 0)
		run_state_hooks(c, HOOK_POSTSTOP, "stopped", NULL);
	return container_forget(c, c->state.id, err);
}
