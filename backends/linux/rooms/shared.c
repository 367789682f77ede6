/*
 * Rung 2: what a container is that has no namespaces and no mounts of its own.
 *
 * It runs as the caller, in the host's tree. Its scratch folder is a folder in the runtime's own
 * store, next to the state: nothing but the rule of Landlock leads there, and delete removes it
 * with the rest. Here the report says what rung 2 does and does not; the means are those of the
 * rooms landlock, seccomp and caps.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/linux/closure.h"
#include "backends/linux/room.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"

#define SCRATCH_NAME "scratch"

#define PROCESS_BIT GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY)
#define READ_BIT    GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY)
#define WRITE_BIT   GUARANTEE_BIT(GUARANTEE_WRITE_BOUNDARY)
#define NETWORK_BIT GUARANTEE_BIT(GUARANTEE_NETWORK_BOUNDARY)

/* ---- who runs ---- */

/* What a user namespace would have made of it, on the host. */
static uint32_t host_id(const struct plan *plan, const struct oci_id_maps *maps, uint32_t id)
{
	for (size_t i = 0; plan->spec->linux_.ns[NS_USER].set && i < maps->n; i++) {
		const struct oci_id_map *map = &maps->v[i];

		if (id >= map->container_id && id - map->container_id < map->size)
			return map->host_id + (id - map->container_id);
	}
	return id;
}

static int plan_user(struct plan *plan, struct sbx_error *err)
{
	const struct oci_process *asked = plan->spec->process;
	const struct oci_linux *linux_ = &plan->spec->linux_;
	struct oci_process *process = arena_alloc(plan->arena, sizeof(*process));

	if (!process)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "plan the process");
	if (!asked)
		return 0; /* the payload's room says so */
	*process = *asked;
	process->user.uid = host_id(plan, &linux_->uid_maps, asked->user.uid);
	process->user.gid = host_id(plan, &linux_->gid_maps, asked->user.gid);
	if (process->user.uid != plan->host->euid || process->user.gid != plan->host->egid)
		return sbx_fail_at(
			err, SBX_E_GUARANTEE_UNAVAILABLE, "/process/user",
			"run as user %u, group %u: without namespaces a confined process "
			"is the caller's, %u and %u (%s)",
			process->user.uid, process->user.gid, plan->host->euid, plan->host->egid,
			plan->host->restriction);
	if (plan->host->euid != 0)
		process->capabilities = NULL; /* those of a user namespace */
	plan->process.process = process;
	return 0;
}

/* ---- scratch ---- */

static bool is_entry_of(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

static int plan_scratch(struct plan *plan, struct sbx_error *err)
{
	struct plan_shared *shared = &plan->shared;
	const struct policy *policy = plan->policy;
	const struct strings *env = &policy->env;
	char *scratch = arena_printf(plan->arena, "%s/%s/" SCRATCH_NAME, plan->options.store_root,
				     plan->options.id);
	char *tmpdir = arena_printf(plan->arena, "TMPDIR=%s", scratch);
	char *home = arena_printf(plan->arena, "HOME=%s/" POLICY_HOME_NAME, scratch);

	shared->env.v = arena_alloc_array(plan->arena, env->n + 1, sizeof(*env->v));
	if (!scratch || !tmpdir || !home || !shared->env.v)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "plan the scratch folder");
	shared->scratch = scratch;
	shared->env.n = env->n;
	for (size_t i = 0; i < env->n; i++)
		shared->env.v[i] = is_entry_of(env->v[i], "TMPDIR") ? tmpdir
				   : policy->isolated_home && is_entry_of(env->v[i], "HOME")
					   ? home
					   : env->v[i];
	return 0;
}

static int make_folder(const char *path, struct sbx_error *err)
{
	return mkdir(path, 0700) < 0 && errno != EEXIST
		       ? sbx_fail(err, SBX_E_SYSTEM, errno, "make the scratch folder \"%s\"", path)
		       : 0;
}

static int prepare_shared(struct run *run, struct sbx_error *err)
{
	const struct plan *plan = run->plan;
	char *home;
	int r;

	if (plan->rung != RUNG_SHARED || run->is_exec)
		return 0;
	r = make_folder(plan->shared.scratch, err);
	if (r < 0 || !plan->policy->isolated_home)
		return r;
	home = arena_printf(plan->arena, "%s/" POLICY_HOME_NAME, plan->shared.scratch);
	return home ? make_folder(home, err)
		    : sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the home folder");
}

/* ---- the report ---- */

static void report_processes(const struct plan *plan, struct report *report)
{
	bool hidden = plan->shared.hides_proc;

	report_add(report, "rung", "host", OUTCOME_NARROWED, 0, "2: %s", plan->host->restriction);
	report_add(report, "processes", "landlock+seccomp",
		   hidden ? OUTCOME_ENFORCED : OUTCOME_UNENFORCED, PROCESS_BIT, "%s",
		   hidden ? "those of the host cannot be traced or changed; of /proc only what is "
			    "the machine's can be read, nothing of a process"
			  : "those of the host cannot be traced or changed, but their names and "
			    "command lines can be read in /proc; where the profile requires "
			    "processBoundary /proc is closed");
}

static void report_reading(const struct plan *plan, struct report *report)
{
	cleanup_buf struct buf rows = BUF_INIT;

	for (size_t i = 0; i < closure_paths_n; i++)
		buf_printf(&rows, "%s%s", i ? " " : "", closure_paths[i]);
	report_add(report, "host.read", "landlock", OUTCOME_NARROWED, 0, "%s%s",
		   plan->policy->host_read
			   ? "the host's root, but for /run, /tmp, /var/tmp, /dev and homes"
			   : "contents and listings are closed but for the roots and: ",
		   plan->policy->host_read ? ""
		   : buf_failed(&rows)	   ? "?"
					   : rows.data);
	if (report->asked & READ_BIT)
		report_add(report, "host.metadata.read", "landlock", OUTCOME_UNENFORCED, READ_BIT,
			   "without mounts, names, sizes, modes, links and extended attributes of "
			   "what is closed can be looked up (stat, readlink, getxattr)");
	report_add(report, "ownFiles", "landlock", OUTCOME_NARROWED, READ_BIT | WRITE_BIT,
		   "the runtime's state, settings and bundle are closed; its program can be read");
}

static void report_writing(const struct plan *plan, struct report *report)
{
	bool kept = plan->shared.no_metadata;

	report_add(report, "host.write", "landlock",
		   plan->policy->host_write ? OUTCOME_NARROWED : OUTCOME_ENFORCED, WRITE_BIT, "%s",
		   plan->policy->host_write
			   ? "allowed, but never /dev, /proc, /sys, private folders and names in "
			     "folders that hold one"
			   : "contents and names stay as they are");
	report_add(report, "host.metadata.write", "seccomp",
		   kept ? OUTCOME_ENFORCED : OUTCOME_UNENFORCED, WRITE_BIT, "%s",
		   kept ? "chmod, chown, utimes and setxattr are refused everywhere"
			: "modes, owners, times and extended attributes of files elsewhere "
			  "can be changed as far as the caller may; where the profile requires "
			  "writeBoundary the "
			  "calls are refused, in the workspace as well");
}

static void report_rules(const struct plan *plan, struct report *report)
{
	char feature[64];

	for (size_t i = 0; i < plan->policy->paths_n; i++) {
		const struct path_rule *rule = &plan->policy->paths[i];

		snprintf(feature, sizeof(feature), "%s.read", rule->feature);
		report_add(report, feature, "landlock", OUTCOME_ENFORCED, READ_BIT, "%s: %s",
			   rule->path, rule->read ? "allowed" : "closed");
		snprintf(feature, sizeof(feature), "%s.write", rule->feature);
		report_add(report, feature, "landlock", OUTCOME_ENFORCED, WRITE_BIT, "%s: %s",
			   rule->path, rule->write ? "allowed" : "read-only");
	}
}

static void report_others(const struct plan *plan, struct report *report)
{
	report->lifetime = "best-effort";
	if (plan->shared.no_network)
		report_add(report, "network", "landlock+seccomp", OUTCOME_ENFORCED, NETWORK_BIT,
			   "no socket of any family can be made, not even on loopback");
	else
		report_add(report, "network", "none", OUTCOME_UNENFORCED, 0,
			   "allowed: the host's own network");
	report_add(report, "unixSockets", "seccomp", OUTCOME_ENFORCED, 0,
		   "no Unix socket can be made but connected pairs");
	report_add(report, "ipc", "seccomp", OUTCOME_ENFORCED, PROCESS_BIT,
		   "System V IPC and message queues are refused; /dev/shm is closed");
	report_add(report, "scratch", "landlock", OUTCOME_NARROWED, 0,
		   "%s, as large as the file system lets it be", plan->shared.scratch);
	if (plan->host->euid != 0)
		report_add(report, "groups", "none", OUTCOME_NARROWED, 0,
			   "the caller's additional groups stay");
}

static int plan_shared_room(struct plan *plan, struct report *report, struct sbx_error *err)
{
	int r;

	if (plan->rung != RUNG_SHARED)
		return 0;
	r = plan_user(plan, err);
	if (r == 0)
		r = plan_scratch(plan, err);
	if (r < 0)
		return r;
	plan->view.host_is_root = true;
	plan->options.reaper = true;
	report_processes(plan, report);
	report_reading(plan, report);
	report_writing(plan, report);
	report_rules(plan, report);
	report_others(plan, report);
	return 0;
}

static void dump_shared(const struct plan *plan, struct json_writer *w)
{
	const struct plan_shared *shared = &plan->shared;

	if (plan->rung != RUNG_SHARED)
		return;
	json_begin_object(w, "rung2");
	json_write_bool(w, "noNetwork", shared->no_network);
	json_write_bool(w, "noMetadata", shared->no_metadata);
	json_write_bool(w, "noWatching", shared->no_watching);
	json_write_bool(w, "hidesProc", shared->hides_proc);
	json_write_string(w, "scratch", shared->scratch);
	json_end_object(w);
}

const struct room room_shared = {
	.name = "shared",
	.without_namespaces = true,
	.plan = plan_shared_room,
	.prepare = prepare_shared,
	.dump = dump_shared,
};
