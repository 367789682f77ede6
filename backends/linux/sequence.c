/*
 * Walking the stage table.
 *
 * The runtime prepares (everything that needs the host's view: descriptors, compiled filters, the
 * cgroup), makes the child, and then serves it: maps, cgroup, hooks of the runtime's namespaces.
 * The child does everything that happens inside and ends as the payload. Each waits only for
 * messages that its row names, so a dead peer is an end of file and ends the other side.
 *
 * The child dies with the runtime (PR_SET_PDEATHSIG) until it is created; from then on the
 * container belongs to whoever starts or deletes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/linux/carve_watch.h"
#include "backends/linux/hook_group.h"
#include "backends/linux/death.h"
#include "backends/linux/probe/probe.h"
#include "backends/linux/protocol.h"
#include "backends/linux/handover.h"
#include "backends/linux/sequence.h"
#include "backends/linux/spawn.h"
#include "hooks/hooks.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "runtime/base/log.h"
#include "runtime/base/proc.h"
#include "runtime/base/procfs.h"

#define ROW_ROOMS_MAX 8

struct stage_row {
	const char *name;
	enum stage stage;
	enum side side;
	bool (*when)(const struct plan *plan); /* NULL: always */
	enum linux_message awaits;	       /* before the rooms */
	const struct room *rooms[ROW_ROOMS_MAX];
	int (*action)(struct sequence *seq, struct sbx_error *err); /* after the rooms */
	enum linux_message tells;				    /* at the end */
};

/* ---- which rows a plan has ---- */

static bool has_runtime_hooks(const struct plan *plan)
{
	return plan->spec->hooks.n[HOOK_PRESTART] || plan->spec->hooks.n[HOOK_CREATE_RUNTIME];
}

static bool has_container_hooks(const struct plan *plan)
{
	return plan->spec->hooks.n[HOOK_CREATE_CONTAINER];
}

static bool has_start_hooks(const struct plan *plan)
{
	return plan->spec->hooks.n[HOOK_START_CONTAINER];
}

static bool filters_late(const struct plan *plan)
{
	return !room_filters_early(plan);
}

static bool is_confined(const struct plan *plan)
{
	return plan->policy->confined;
}

static bool is_probed(const struct plan *plan)
{
	return plan->options.probed;
}

static bool has_namespaces(const struct plan *plan)
{
	return plan->rung != RUNG_SHARED;
}

/* ---- actions: what is no single room's business ---- */

static int prepare_rooms(struct sequence *seq, struct sbx_error *err)
{
	struct run *run = seq->run;

	run->proc_fd = procfs_open_root();
	if (run->proc_fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -run->proc_fd, "open a private procfs");
	for (size_t i = 0; i < linux_rooms_n; i++) {
		bool serves = linux_rooms[i]->prepare && room_serves(linux_rooms[i], run->plan);
		int rc = serves ? linux_rooms[i]->prepare(run, err) : 0;

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int store_child(struct sequence *seq, struct sbx_error *err)
{
	return seq->events->spawned(seq->events->data, seq->run, err);
}

static int spawn_first(struct sequence *seq, struct sbx_error *err)
{
	struct run *run = seq->run;
	cleanup_fd int cgroup_fd = run->payload ? cgroup_open_for_clone(run->payload) : -ENOTSUP;
	pid_t pid = spawn_container(run, cgroup_fd, err);

	if (pid < 0)
		return pid;
	if (pid == 0)
		seq->side = SIDE_CHILD;
	run->born_in_cgroup = cgroup_fd >= 0;
	return 0;
}

static int spawn_second(struct sequence *seq, struct sbx_error *err)
{
	pid_t pid = spawn_joiner(seq->run, err);

	if (pid == 0)
		seq->side = SIDE_CHILD;
	return pid < 0 ? pid : 0;
}

/* In the hook's own child: the payload's whole confinement, for the file is the image's own. */
static int confine_hook(void *data, struct sbx_error *err)
{
	struct sequence *seq = data;
	int rc = room_landlock.apply(seq->run, STAGE_LANDLOCK, err);

	return rc < 0 ? rc : room_seccomp.apply(seq->run, STAGE_SECCOMP, err);
}

/* Under a profile nothing that a hook left running survives it. */
static void contain_hooks(struct sequence *seq, enum oci_hook_kind kind, struct cgroup *group,
			  struct hook_context *context)
{
	if (!is_confined(seq->run->plan))
		return;
	if (seq->side == SIDE_RUNTIME) {
		hook_group_of(seq->run->cgroup, seq->run->hook_group, group);
		hook_group_use(group, context);
		return;
	}
	context->leave = hook_group_kill_namespace;
	context->force_empty_env = kind == HOOK_CREATE_CONTAINER;
	if (kind == HOOK_START_CONTAINER)
		context->enter = confine_hook;
}

static int run_hooks(struct sequence *seq, enum oci_hook_kind kind, const char *status, pid_t pid,
		     struct sbx_error *err)
{
	const struct run *run = seq->run;
	bool inside = kind == HOOK_START_CONTAINER;
	cleanup_buf struct buf state = BUF_INIT;
	struct hook_context context = {
		.cwd_fd = inside ? -1 : run->bundle_fd,
		.default_env = inside ? run->env : NULL,
		.guarded = seq->side == SIDE_RUNTIME,
		.data = seq,
	};
	struct cgroup group;
	int rc = seq->events->hook_state(seq->events->data, status, pid, &state);

	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "make the state for hooks");
	context.state_json = state.data;
	context.state_len = state.len;
	contain_hooks(seq, kind, &group, &context);
	return hooks_run(&run->plan->spec->hooks, kind, &context, err);
}

static int run_runtime_hooks(struct sequence *seq, struct sbx_error *err)
{
	int rc = run_hooks(seq, HOOK_PRESTART, "creating", seq->run->pid, err);

	return rc < 0 ? rc : run_hooks(seq, HOOK_CREATE_RUNTIME, "creating", seq->run->pid, err);
}

static int run_container_hooks(struct sequence *seq, struct sbx_error *err)
{
	return run_hooks(seq, HOOK_CREATE_CONTAINER, "creating", seq->child_pid, err);
}

/* And tell that what may take its time is over: what follows need not be allowed to tell. A start
 * that was killed meanwhile does not stop the program. */
static int run_start_hooks(struct sequence *seq, struct sbx_error *err)
{
	int rc = 0;

	if (has_start_hooks(seq->run->plan))
		rc = run_hooks(seq, HOOK_START_CONTAINER, "created", seq->child_pid, err);
	if (rc == 0)
		(void)protocol_send(seq->run->sync_fd, MSG_EXECUTING, NULL, 0);
	return rc;
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The caller's environment lies in our memory, and the payload's neighbours may read that. */
static void forget_environment(void)
{
	for (char **entry = environ; entry && *entry; entry++)
		explicit_bzero(*entry, strlen(*entry));
	environ = NULL;
}

/*
 * 0-2, what the caller passes on, and our own sockets; the rest is gone before anything waits, and
 * in exec before anything is visible inside. The sync channel is harmless in foreign hands: nothing
 * is read from it any more but one error to be shown (protocol.h), and whoever holds it open makes
 * the runtime wait for the end of the process at most. The ruleset, and the listening socket of
 * create, decide about the container's own process only.
 */
static int close_descriptors(struct sequence *seq, struct sbx_error *err)
{
	struct run *run = seq->run;
	int passed = run->plan->options.listen_fds + run->plan->options.preserve_fds;
	int keep[5], rc;
	size_t n = 0;

	log_set_sink(-1, LOG_FORMAT_TEXT, LOG_LEVEL_ERROR);
	forget_environment();
	if (run->sync_fd >= 3 + passed)
		keep[n++] = run->sync_fd;
	if (run->start_fd >= 3 + passed)
		keep[n++] = run->start_fd;
	if (run->landlock_fd >= 3 + passed)
		keep[n++] = run->landlock_fd;
	if (run->probe && run->probe->places_fd >= 3 + passed)
		keep[n++] = run->probe->places_fd;
	qsort(keep, n, sizeof(keep[0]), compare_fds);
	/* In exec the container's /proc does not show us: we are not in its pid namespace yet. */
	rc = fd_close_from(run->proc_fd < 0 ? AT_FDCWD : run->proc_fd, 3 + passed, keep, n);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "close descriptors") : 0;
}

/* exec: what is visible in the container's pid namespace from here on holds no more than the
 * payload. */
static int fork_payload(struct sequence *seq, struct sbx_error *err)
{
	pid_t pid = spawn_payload(seq->run, err);

	if (pid > 0)
		_exit(0);
	return pid;
}

static int enter_container(struct sequence *seq, struct sbx_error *err)
{
	struct run *run = seq->run;
	int rc;

	prctl(PR_SET_DUMPABLE, 0);
	rc = spawn_enter_container(run, run->container_pidfd, err);
	if (rc < 0)
		return rc;
	close(run->rootfs_fd);
	run->rootfs_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (run->rootfs_fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open the container's root");
	return 0;
}

/* The evidence of the first process, for report --verify. A start that was killed needs none. */
static int tell_confined(struct sequence *seq, struct sbx_error *err)
{
	(void)err;
	if (seq->run->landlock_seen)
		(void)protocol_send(seq->run->sync_fd, MSG_CONFINED, NULL, 0);
	return 0;
}

static int make_probe_places(struct sequence *seq, struct sbx_error *err)
{
	return probe_make_places(seq->run, err);
}

static int probe_unconfined(struct sequence *seq, struct sbx_error *err)
{
	(void)err;
	probe_before_landlock(seq->run);
	return 0;
}

static int probe_unfiltered(struct sequence *seq, struct sbx_error *err)
{
	(void)err;
	probe_before_filter(seq->run);
	return 0;
}

static int probe_all(struct sequence *seq, struct sbx_error *err)
{
	(void)err;
	probe_finish(seq->run);
}

/* ---- the tables ---- */

/* clang-format off */
static const struct stage_row create_rows[] = {
	{"prepare", STAGE_PREPARE, SIDE_RUNTIME, .action = prepare_rooms},
	{"make cgroup", STAGE_PREPARE, SIDE_RUNTIME, .rooms = {&room_cgroup}},
	/* The table continues in two processes from here. */
	{"spawn", STAGE_SPAWN, SIDE_RUNTIME, .action = spawn_first},
	/* A manager that makes the group around a process makes it now. */
	{"store child", STAGE_SPAWN, SIDE_RUNTIME, .rooms = {&room_cgroup}, .action = store_child},
	{"id maps", STAGE_ID_MAPS, SIDE_RUNTIME,
	 .rooms = {&room_userns, &room_rootfs, &room_mounts}}, /* these let go of what they handed over */
	/* Limits stand before the child does anything; the cgroup namespace is made inside the group. */
	{"cgroup", STAGE_CGROUP, SIDE_RUNTIME, .rooms = {&room_cgroup, &room_intel_rdt, &room_oom, &room_net_devices},
	 .tells = MSG_PROCEED},
	{"namespaces", STAGE_NAMESPACES, SIDE_CHILD, .awaits = MSG_PROCEED,
	 .rooms = {&room_cgroup, &room_namespaces, &room_userns}},
	{"network", STAGE_NETWORK, SIDE_CHILD, .rooms = {&room_network}},
	{"mounts", STAGE_MOUNTS, SIDE_CHILD,
	 .rooms = {&room_rootfs, &room_mounts, &room_devices, &room_tty, &room_payload}},
	{"mounted", STAGE_MOUNTS, SIDE_CHILD, .when = has_runtime_hooks, .tells = MSG_MOUNTED},
	{"runtime hooks", STAGE_HOOKS_RUNTIME, SIDE_RUNTIME, .when = has_runtime_hooks, .awaits = MSG_MOUNTED,
	 .action = run_runtime_hooks, .tells = MSG_HOOKS_DONE},
	{"hooks done", STAGE_HOOKS_RUNTIME, SIDE_CHILD, .when = has_runtime_hooks, .awaits = MSG_HOOKS_DONE},
	{"container hooks", STAGE_HOOKS_CONTAINER, SIDE_CHILD, .when = has_container_hooks,
	 .action = run_container_hooks},
	/* After the last hook that may fill a network, the payload's own empty one. */
	{"own network", STAGE_OWN_NETWORK, SIDE_CHILD, .rooms = {&room_network}},
	/* Mounts are complete: what the profile shows, the new root, then masks and read-only. */
	{"pivot", STAGE_PIVOT, SIDE_CHILD,
	 .rooms = {&room_view, &room_rootfs, &room_mounts, &room_mask}},
	{"watch", STAGE_PIVOT, SIDE_CHILD, .when = carve_watch_is_needed, .action = handover_pass_watch},
	{"terminal", STAGE_TTY, SIDE_CHILD, .rooms = {&room_tty, &room_uts, &room_sysctl},
	 .action = handover_pass_terminal},
	{"limits", STAGE_LIMITS, SIDE_CHILD,
	 .rooms = {&room_rlimits, &room_sched, &room_mempolicy, &room_keyring, &room_lsm,
		   &room_landlock, &room_payload}},
	/* Without no_new_privs a filter needs CAP_SYS_ADMIN, so it comes before that is dropped. */
	{"early filter", STAGE_SECCOMP, SIDE_CHILD, .when = room_filters_early, .rooms = {&room_seccomp}},
	{"privileges", STAGE_PRIVILEGES, SIDE_CHILD, .rooms = {&room_caps}},
	{"executable", STAGE_EXECUTABLE, SIDE_CHILD, .rooms = {&room_payload}},
	{"descriptors", STAGE_DESCRIPTORS, SIDE_CHILD, .action = close_descriptors},
	{"created", STAGE_CREATED, SIDE_CHILD, .action = handover_wait_for_start},
	{"await created", STAGE_CREATED, SIDE_RUNTIME, .action = handover_await_created},
	{"boundary", STAGE_BOUNDARY, SIDE_CHILD, .rooms = {&room_network}},
	{"start hooks", STAGE_HOOKS_START, SIDE_CHILD, .action = run_start_hooks},
	{"landlock", STAGE_LANDLOCK, SIDE_CHILD, .when = is_confined, .rooms = {&room_landlock},
	 .action = tell_confined},
	{"filter", STAGE_SECCOMP, SIDE_CHILD, .when = filters_late, .rooms = {&room_seccomp}},
	{"exec", STAGE_EXEC, SIDE_CHILD, .rooms = {&room_payload}},
};

/*
 * On rung 2 there is nothing to enter and nothing to mount. The first process stays outside of the
 * program's Landlock domain, in one around it: the program can neither signal nor trace it, and its
 * own signals reach the program and what that made, and nobody else. Both domains are of the same
 * rules. What is forked off is filtered like any payload; the first process runs our code alone.
 */
static const struct stage_row rung2_rows[] = {
	{"prepare", STAGE_PREPARE, SIDE_RUNTIME, .action = prepare_rooms},
	{"make cgroup", STAGE_PREPARE, SIDE_RUNTIME, .rooms = {&room_cgroup}},
	{"spawn", STAGE_SPAWN, SIDE_RUNTIME, .action = spawn_first},
	{"store child", STAGE_SPAWN, SIDE_RUNTIME, .rooms = {&room_cgroup}, .action = store_child},
	{"cgroup", STAGE_CGROUP, SIDE_RUNTIME, .rooms = {&room_cgroup, &room_oom}, .tells = MSG_PROCEED},
	/* No user namespace either: of that room only that the process cannot be traced any more. */
	{"join cgroup", STAGE_NAMESPACES, SIDE_CHILD, .awaits = MSG_PROCEED,
	 .rooms = {&room_cgroup, &room_userns}},
	{"make terminal", STAGE_MOUNTS, SIDE_CHILD, .rooms = {&room_tty}},
	{"terminal", STAGE_TTY, SIDE_CHILD, .rooms = {&room_tty}, .action = handover_pass_terminal},
	{"limits", STAGE_LIMITS, SIDE_CHILD,
	 .rooms = {&room_rlimits, &room_sched, &room_mempolicy, &room_keyring, &room_lsm,
		   &room_landlock, &room_payload}},
	{"privileges", STAGE_PRIVILEGES, SIDE_CHILD, .rooms = {&room_caps}},
	{"executable", STAGE_EXECUTABLE, SIDE_CHILD, .rooms = {&room_payload}},
	{"descriptors", STAGE_DESCRIPTORS, SIDE_CHILD, .action = close_descriptors},
	{"created", STAGE_CREATED, SIDE_CHILD, .action = handover_wait_for_start},
	{"await created", STAGE_CREATED, SIDE_RUNTIME, .action = handover_await_created},
	{"starting", STAGE_HOOKS_START, SIDE_CHILD, .action = run_start_hooks},
	{"outer landlock", STAGE_OUTER_LANDLOCK, SIDE_CHILD, .rooms = {&room_landlock}},
	{"first process", STAGE_FIRST_PROCESS, SIDE_CHILD, .rooms = {&room_payload}},
	{"landlock", STAGE_LANDLOCK, SIDE_CHILD, .rooms = {&room_landlock}},
	{"filter", STAGE_SECCOMP, SIDE_CHILD, .rooms = {&room_seccomp}},
	{"exec", STAGE_EXEC, SIDE_CHILD, .rooms = {&room_payload}},
};

static const struct stage_row exec_rows[] = {
	{"prepare", STAGE_PREPARE, SIDE_RUNTIME, .action = prepare_rooms},
	{"spawn", STAGE_SPAWN, SIDE_RUNTIME, .action = spawn_second},
	{"cgroup", STAGE_CGROUP, SIDE_RUNTIME, .rooms = {&room_cgroup, &room_intel_rdt, &room_oom},
	 .tells = MSG_PROCEED},
	{"join cgroup", STAGE_NAMESPACES, SIDE_CHILD, .awaits = MSG_PROCEED, .rooms = {&room_cgroup}},
	/* What passes a listener on must not be visible inside while it has our privileges. */
	{"listener", STAGE_NAMESPACES, SIDE_CHILD, .when = room_filters_early, .rooms = {&room_seccomp}},
	{"join", STAGE_NAMESPACES, SIDE_CHILD, .when = has_namespaces, .action = enter_container},
	{"namespace root", STAGE_NAMESPACES, SIDE_CHILD, .rooms = {&room_userns}},
	{"probe places", STAGE_MOUNTS, SIDE_CHILD, .when = is_probed, .action = make_probe_places},
	{"terminal", STAGE_MOUNTS, SIDE_CHILD, .rooms = {&room_tty}},
	{"limits", STAGE_LIMITS, SIDE_CHILD,
	 .rooms = {&room_rlimits, &room_sched, &room_mempolicy, &room_keyring, &room_lsm,
		   &room_landlock, &room_payload}},
	{"early filter", STAGE_SECCOMP, SIDE_CHILD, .when = room_filters_early, .rooms = {&room_seccomp}},
	{"privileges", STAGE_PRIVILEGES, SIDE_CHILD, .rooms = {&room_caps}},
	{"executable", STAGE_EXECUTABLE, SIDE_CHILD, .rooms = {&room_payload}},
	{"pass terminal", STAGE_TTY, SIDE_CHILD, .action = handover_pass_terminal},
	/* With a terminal it replaces 0-2 here: the caller's own are not the payload's to see. */
	{"descriptors", STAGE_DESCRIPTORS, SIDE_CHILD, .rooms = {&room_tty}, .action = close_descriptors},
	{"probe without landlock", STAGE_LANDLOCK, SIDE_CHILD, .when = is_probed, .action = probe_unconfined},
	{"landlock", STAGE_LANDLOCK, SIDE_CHILD, .when = is_confined, .rooms = {&room_landlock}},
	{"created", STAGE_CREATED, SIDE_CHILD, .action = handover_wait_for_start},
	{"await created", STAGE_CREATED, SIDE_RUNTIME, .action = handover_await_created},
	/*
	 * Only now does anything become visible in the container's pid namespace, to processes that
	 * may have CAP_SYS_PTRACE: they can read its memory, duplicate its descriptors and steer it.
	 * So everything that it holds or may do beyond the payload is gone by now (CVE-2016-9962), and
	 * it waits for nobody. What is left belongs to a session, or would stop the fork: a filter
	 * with no_new_privs need not allow one.
	 */
	{"fork", STAGE_SPAWN, SIDE_CHILD, .action = fork_payload},
	{"forked", STAGE_FORKED, SIDE_CHILD, .rooms = {&room_rlimits, &room_sched}},
	{"session", STAGE_TTY, SIDE_CHILD, .rooms = {&room_tty}},
	{"probe without filter", STAGE_SECCOMP, SIDE_CHILD, .when = is_probed, .action = probe_unfiltered},
	{"filter", STAGE_SECCOMP, SIDE_CHILD, .when = filters_late, .rooms = {&room_seccomp}},
	{"probe", STAGE_EXEC, SIDE_CHILD, .when = is_probed, .action = probe_all},
	{"exec", STAGE_EXEC, SIDE_CHILD, .rooms = {&room_payload}},
};
/* clang-format on */

static int await_row(struct sequence *seq, enum linux_message type, struct sbx_error *err)
{
	struct message_pid message;
	struct msg msg;
	int rc = protocol_expect(seq->run->sync_fd, type, &msg, err);

	if (rc == 0 && type == MSG_PROCEED && msg.len == sizeof(message)) {
		memcpy(&message, msg.payload, sizeof(message));
		seq->child_pid = (pid_t)message.pid;
	}
	return rc;
}

static int tell_row(struct sequence *seq, enum linux_message type, struct sbx_error *err)
{
	struct message_pid message = {.pid = seq->run->pid};
	bool with_pid = type == MSG_PROCEED;
	int rc = protocol_send(seq->run->sync_fd, type, with_pid ? &message : NULL,
			       with_pid ? sizeof(message) : 0);

	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "tell the other process to go on") : 0;
}

static int run_row(struct sequence *seq, const struct stage_row *row, struct sbx_error *err)
{
	int rc = 0;

	log_debug("stage %s", row->name);
	if (row->awaits)
		rc = await_row(seq, row->awaits, err);
	for (size_t i = 0; rc == 0 && i < ROW_ROOMS_MAX && row->rooms[i]; i++)
		if (row->rooms[i]->apply)
			rc = row->rooms[i]->apply(seq->run, row->stage, err);
	if (seq->side == SIDE_CHILD)
		rc = room_explain_overflow(seq->run->plan, rc, err);
	if (rc == 0 && row->action)
		rc = row->action(seq, err);
	if (rc == 0 && row->tells)
		rc = tell_row(seq, row->tells, err);
	if (rc < 0 && err && !err->stage[0])
		strncpy(err->stage, row->name, sizeof(err->stage) - 1);
	return rc;
}

/* In the child an error goes to the other side, and the process ends. */
static int end_walk(struct sequence *seq, int rc, struct sbx_error *err)
{
	if (seq->side == SIDE_RUNTIME) {
		if (rc < 0) {
			if (rc == -ECONNRESET || rc == -EPIPE)
				rc = death_explain(seq->run, rc, err);
			rc = protocol_prefer_error(seq->run->sync_fd, rc, err);
			sequence_undo(seq->run);
		}
		return rc;
	}
	if (seq->run->sync_fd >= 0)
		protocol_send_error(seq->run->sync_fd, err);
	_exit(1);
}

static int walk(struct sequence *seq, const struct stage_row *rows, size_t n, struct sbx_error *err)
{
	struct sbx_error own = {0};
	int rc = 0;

	if (!err)
		err = &own;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		/* spawn turns one process into two: the side is read again for every row. */
		if (rows[i].side == seq->side && (!rows[i].when || rows[i].when(seq->run->plan)))
			rc = run_row(seq, &rows[i], err);
	}
	return end_walk(seq, rc, err);
}

int sequence_create(struct run *run, const struct sequence_events *events, struct sbx_error *err)
{
	struct sequence seq = {.run = run, .events = events};

	if (run->plan->rung == RUNG_SHARED)
		return walk(&seq, rung2_rows, ARRAY_SIZE(rung2_rows), err);
	return walk(&seq, create_rows, ARRAY_SIZE(create_rows), err);
}

int sequence_exec(struct run *run, const struct sequence_events *events, struct sbx_error *err)
{
	struct sequence seq = {.run = run, .events = events};

	run->is_exec = true;
	return walk(&seq, exec_rows, ARRAY_SIZE(exec_rows), err);
}

void sequence_undo(struct run *run)
{
	int status;

	if (run->pid > 0) {
		proc_send_signal(run->pidfd, run->pid, SIGKILL);
		proc_wait(run->pid, &status);
		run->pid = 0;
	}
	for (size_t i = linux_rooms_n; i > 0; i--)
		if (linux_rooms[i - 1]->undo)
			linux_rooms[i - 1]->undo(run);
}

void sequence_settle(struct run *run)
{
	for (size_t i = 0; i < linux_rooms_n; i++)
		if (linux_rooms[i]->settle)
			linux_rooms[i]->settle(run);
}
