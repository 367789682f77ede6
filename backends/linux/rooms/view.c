/*
 * What a profile lets a container see and write, as mounts.
 *
 * The room acts once, in the child, when the bundle's tree is complete and not yet entered. Under
 * "host read allow" that tree stays, with the runtime's own files covered and, where it is the
 * host's own root, with its volatile and private folders empty. Under "host read deny" a new root
 * on a tmpfs takes its place that holds the runtime closure and the roots and nothing else: what
 * must be invisible is not there, so that no look-up, listing or loader trick can reach it.
 *
 * Writing is the other half. Every writable folder is cloned first, then the whole tree is made
 * read-only and private in one sweep, then the clones are put in their places: nothing that was
 * forgotten stays writable. Landlock repeats the same rules on objects (rooms/landlock.c).
 *
 * view_own.c and view_hidden.c look at the host beforehand, view_mounts.c at what the tree is made
 * of, view_roots.c at what the profile opens of it; view_tree.c, view_closure.c and view_write.c
 * hold the steps, view_parts.c is how a folder comes into the container's tree.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "backends/linux/carve_watch.h"
#include "backends/linux/closure.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/view_build.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

#define READ_BIT  GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY)
#define WRITE_BIT GUARANTEE_BIT(GUARANTEE_WRITE_BOUNDARY)
#define HOME_NAME ".home"

#define OWN_DEVICES_MAX 4 /* an empty folder, a new root, /dev/shm, the scratch folder */

/* ---- plan ---- */

/* Single files that engines bind into every container; anything else may be a folder. */
static const char *const single_files[] = {
	"/etc/hostname",
	"/etc/hosts",
	"/etc/resolv.conf",
	"/run/.containerenv",
};

bool view_is_single_file(const char *destination)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(single_files); i++) {
		if (strcmp(single_files[i], destination) == 0)
			return true;
	}
	return false;
}

/* path is in a readable root of the profile, or such a root is in it. */
static bool touches_readable_root(const struct policy *policy, const char *path)
{
	size_t i;

	for (i = 0; i < policy->paths_n; i++) {
		const struct path_rule *rule = &policy->paths[i];

		if (rule->read &&
		    (path_is_below(path, rule->path) || path_is_below(rule->path, path)))
			return true;
	}
	return false;
}

/* The kernel's own view of devices, which `spec --rootless` binds: it holds no sockets. */
static bool is_sysfs(const struct plan_mount *m)
{
	return strcmp(m->destination, "/sys") == 0 && m->source && strcmp(m->source, "/sys") == 0;
}

static void add_name(struct buf *out, const char *name)
{
	buf_printf(out, "%s%s", out->len ? ", " : "", name);
}

/* The folders of the host that are readable here, by which its sockets can be reached. */
static void name_host_folders(const struct plan *plan, struct buf *out)
{
	bool is_root = plan->view.host_is_root, all = plan->view.kind == VIEW_BUNDLE;
	const struct policy *policy = plan->policy;
	size_t i;

	if (room_has_create_hooks(plan))
		add_name(out, "what a hook mounts");
	if (is_root && all)
		add_name(out, "/");
	for (i = 0; is_root && !all && i < policy->paths_n; i++) {
		if (policy->paths[i].read)
			add_name(out, policy->paths[i].path);
	}
	for (i = 0; !is_root && i < plan->mounts.n; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind == MOUNT_BIND && !view_is_single_file(m->destination) && !is_sysfs(m) &&
		    (all || touches_readable_root(policy, m->destination)))
			add_name(out, m->destination);
	}
}

static void report_sockets(const struct plan *plan, struct report *report)
{
	cleanup_buf struct buf folders = BUF_INIT;

	name_host_folders(plan, &folders);
	if (folders.len == 0 && !buf_failed(&folders)) {
		report_add(report, "unixSockets", "mount", OUTCOME_ENFORCED, 0,
			   "no folder of the host but the bundle's root is in view");
		return;
	}
	report->capped_degraded = true;
	report_add(report, "unixSockets", "mount", OUTCOME_UNENFORCED, 0,
		   "a program can connect to sockets in what can be a folder of the host: %s",
		   buf_failed(&folders) ? "?" : folders.data);
}

/* Where the bundle makes read-only what the profile would let be written. */
static bool is_read_only(const struct plan *plan, const char *path)
{
	size_t i = room_mount_of(&plan->mounts, path);

	if (i == plan->mounts.n)
		return plan->spec->root_readonly;
	return ((plan->mounts.v[i].attr_set | plan->mounts.v[i].attr_set_recursive) &
		MOUNT_ATTR_RDONLY) != 0;
}

static void report_rules(const struct plan *plan, struct report *report)
{
	const struct policy *policy = plan->policy;
	char feature[64];
	size_t i;

	for (i = 0; i < policy->paths_n; i++) {
		const struct path_rule *rule = &policy->paths[i];

		snprintf(feature, sizeof(feature), "%s.read", rule->feature);
		report_add(report, feature, "mount+landlock", OUTCOME_ENFORCED, READ_BIT, "%s: %s",
			   rule->path, rule->read ? "allowed" : "not in view");
		snprintf(feature, sizeof(feature), "%s.write", rule->feature);
		report_add(report, feature, "mount+landlock", OUTCOME_ENFORCED, WRITE_BIT, "%s: %s",
			   rule->path,
			   !rule->write ? "read-only"
			   : is_read_only(plan, rule->path)
				   ? "allowed, but the bundle has it read-only"
				   : "allowed");
	}
}

static void report_carve_outs(const struct plan *plan, struct report *report)
{
	const struct policy *policy = plan->policy;
	size_t i;

	for (i = 0; i < policy->paths_n; i++) {
		if (policy_is_carve_out(policy, i))
			report_add(report, "carveOuts", "mount+monitor", OUTCOME_NARROWED,
				   READ_BIT | WRITE_BIT,
				   "%s is closed inside of what is open: no process of the "
				   "container undoes that; where one outside puts another object "
				   "at that name it is %s a moment later",
				   policy->paths[i].path,
				   carve_watch_kills(policy) ? "killed" : "closed again");
	}
}

/* In general words: the report comes before the tree is looked at. */
static void report_git(const struct plan *plan, struct report *report)
{
	const struct policy *policy = plan->policy;
	char feature[64];

	if (!policy->protects_git)
		return;
	snprintf(feature, sizeof(feature), "protect[%zu].write", policy->git_index);
	report_add(report, feature, "mount", OUTCOME_NARROWED, WRITE_BIT,
		   "read-only: hooks, configuration and what leads to them, of the workspace's "
		   "own repository as git's metadata lists it when the container is made; not "
		   "covered: a repository that is not there then, nested ones that it does not "
		   "list, programs in the workspace that its configuration names, what an "
		   "unfinished operation (rebase) will run");
	report_add(report, "carveOuts", "mount+monitor", OUTCOME_NARROWED, WRITE_BIT,
		   "what @git names is closed inside of what is open: no process of the "
		   "container undoes that; where one outside puts another object at such a name "
		   "it is %s a moment later",
		   carve_watch_kills(policy) ? "killed" : "closed again");
}

/* Where a name may be absent, it is kept by an object on the host. */
static void report_placeholders(const struct plan *plan, struct report *report)
{
	const struct policy *policy = plan->policy;

	for (size_t i = 0; i < policy->paths_n; i++)
		if (policy->paths[i].is_protected)
			report_add(report, "placeholders", "mount", OUTCOME_ENFORCED, 0,
				   "where %s is absent, an empty one stands in the workspace as "
				   "long as the container",
				   policy->paths[i].path);
}

static void report_host(const struct plan *plan, struct report *report)
{
	const struct plan_view *view = &plan->view;
	cleanup_buf struct buf rows = BUF_INIT;
	size_t i;

	for (i = 0; i < closure_paths_n; i++)
		buf_printf(&rows, "%s%s", i ? " " : "", closure_paths[i]);
	if (view->kind == VIEW_CLOSURE)
		report_add(report, "host.read", "mount+landlock", OUTCOME_ENFORCED, READ_BIT,
			   "a new root with the roots and: %s",
			   buf_failed(&rows) ? "?" : rows.data);
	else
		report_add(report, "host.read", "mount+landlock", OUTCOME_ENFORCED, READ_BIT, "%s",
			   view->host_is_root
				   ? "the host's root; /run, /tmp, /var/tmp, /dev/shm and homes "
				     "are empty"
				   : "the bundle's root and mounts");
	if (view->host_write)
		report_add(report, "host.write", "mount+landlock", OUTCOME_NARROWED, WRITE_BIT,
			   "allowed, but never procfs, sysfs, control groups, devices and new "
			   "names in \"/\"");
	else
		report_add(report, "host.write", "mount+landlock", OUTCOME_ENFORCED, WRITE_BIT,
			   "read-only");
	if (room_has_create_hooks(plan))
		report_add(report, "ownFiles", "mount", OUTCOME_UNENFORCED, READ_BIT | WRITE_BIT,
			   "the hooks before start can mount what they want into the container");
	else
		report_add(report, "ownFiles", "mount", OUTCOME_ENFORCED, READ_BIT | WRITE_BIT,
			   "the runtime's state, settings, bundle and program are not in view");
}

/* It runs with the caller's rights in the host's namespaces, while the payload runs. */
static void report_proc(const struct plan *plan, struct report *report)
{
	bool own = plan->namespaces.new_flags & CLONE_NEWPID;

	report_add(report, "proc", "mount", own ? OUTCOME_ENFORCED : OUTCOME_NARROWED,
		   GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY),
		   own ? "at /proc, of the container's own processes; any other is hidden"
		       : "at /proc, of its own Landlock domain; the others of the shared pid "
			 "namespace are hidden");
}

static void report_poststart(const struct plan *plan, struct report *report)
{
	if (plan->spec->hooks.n[HOOK_POSTSTART])
		report_add(report, "hooks.poststart", "none", OUTCOME_UNENFORCED,
			   READ_BIT | WRITE_BIT | GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY) |
				   GUARANTEE_BIT(GUARANTEE_NETWORK_BOUNDARY),
			   "a poststart hook runs beside the payload: it can mount what it wants "
			   "into the container and change its network");
}

/* The host's own /dev and /proc show its disks and its processes: a root "/" needs others. */
static int check_host_root(const struct plan *plan, struct sbx_error *err)
{
	if (!view_mounts_new(plan, "/proc", "proc"))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/mounts",
				   "confine a container on the host's root: it needs a mount of "
				   "type \"proc\" at /proc");
	if (!view_mounts_new(plan, "/dev", "tmpfs"))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/mounts",
				   "confine a container on the host's root: it needs a mount of "
				   "type \"tmpfs\" at /dev");
	return 0;
}

/* A new root shows the closure, whatever is closed of it; what is closed above it would take it
 * away. */
static bool closes_closure(const struct policy *policy, size_t n)
{
	const struct path_rule *rule = &policy->paths[n];
	size_t i;

	if (policy->host_read || rule->read || policy_enclosing(policy, n))
		return false;
	for (i = 0; i < closure_paths_n; i++) {
		if (path_is_below(closure_paths[i], rule->path))
			return true;
	}
	return closure_holds(rule->path);
}

/* Device nodes are opened by no value of a profile, so no root may hold them; and what the view
 * leaves open of itself no rule closes. */
static int check_roots(const struct policy *policy, struct sbx_error *err)
{
	size_t i;

	for (i = 0; i < policy->paths_n; i++) {
		const struct path_rule *rule = &policy->paths[i];
		bool is_shm = path_is_below(rule->path, "/dev/shm");

		if (path_is_below(rule->path, "/dev") && !is_shm)
			return sbx_fail_at(err, SBX_E_INVALID_PROFILE, rule->path_pointer,
					   "use \"%s\" as a root: no value of a profile covers "
					   "devices",
					   rule->path);
		if ((is_shm && !rule->write) || closes_closure(policy, i))
			return sbx_fail_at(
				err, SBX_E_UNSUPPORTED, rule->path_pointer,
				"close \"%s\": it is in what every container has; that is "
				"not built",
				rule->path);
	}
	return 0;
}

/* What other file systems show of the host (an overlay of its folders, a disk) cannot be compared
 * with the runtime's own files. */
static int check_types(const struct plan *plan, struct sbx_error *err)
{
	static const char *const types[] = {"proc", "sysfs", "tmpfs", "devpts", "mqueue"};
	char pointer[64];
	size_t i, k;

	for (i = 0; i < plan->mounts.n; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind != MOUNT_FILESYSTEM || m->remount || !m->type)
			continue;
		for (k = 0; k < ARRAY_SIZE(types) && strcmp(types[k], m->type) != 0;)
			k++;
		if (k < ARRAY_SIZE(types))
			continue;
		snprintf(pointer, sizeof(pointer), "/mounts/%zu/type", i);
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, pointer,
				   "mount a file system of type \"%s\" at \"%s\" under a "
				   "profile; bind a folder instead",
				   m->type, m->destination);
	}
	return 0;
}

/* What hides the others is that they cannot be traced. */
static int check_shared_pids(const struct plan *plan, struct sbx_error *err)
{
	if ((plan->namespaces.new_flags & CLONE_NEWPID) || plan->host->landlock_abi > 0)
		return 0;
	return sbx_fail(err, SBX_E_GUARANTEE_UNAVAILABLE, 0,
			"hide the other processes of a shared pid namespace: the kernel has no "
			"Landlock; add {\"type\": \"pid\"} to linux.namespaces");
}

/* The monitor has nothing to show in place of what is closed for reading. */
static int check_on_detach(const struct plan *plan, struct sbx_error *err)
{
	const struct policy *policy = plan->policy;

	if (policy->profile->on_detach != DETACH_REMOUNT)
		return 0;
	for (size_t i = 0; i < policy->paths_n; i++)
		if (view_carve_closes(policy, i).read)
			return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/onDetach",
					   "close \"%s\" again for reading while the container "
					   "runs: not built, onDetach can only be kill",
					   policy->paths[i].path);
	return 0;
}

static void report_scratch(const struct plan_view *view, struct report *report)
{
	const char *home = view->home ? ", HOME in it" : "";

	if (view->scratch_root)
		report_add(report, "scratch", "mount", OUTCOME_NARROWED, 0,
			   "%s, on disk below %s, limited by that file system alone%s",
			   view->scratch_path, view->scratch_root, home);
	else
		report_add(report, "scratch", "mount", OUTCOME_ENFORCED, 0, "%s, %llu bytes%s",
			   view->scratch_path, (unsigned long long)view->scratch_bytes, home);
}

/* On disk where the profile asks for no size, which only a tmpfs keeps, and where the ids of the
 * container are the host's: its folder is in one of root alone. */
static const char *scratch_root_of(const struct plan *plan)
{
	bool own_ids =
		(plan->namespaces.new_flags & CLONE_NEWUSER) || plan->namespaces.path[NS_USER];

	return plan->policy->scratch_is_asked || own_ids ? NULL : plan->options.scratch_root;
}

static int view_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct policy *policy = plan->policy;
	const struct oci_process *process = room_process(plan);
	struct plan_view *view = &plan->view;
	int r;

	if (!policy->confined)
		return 0;
	view->kind = policy->host_read ? VIEW_BUNDLE : VIEW_CLOSURE;
	view->host_is_root = plan->options.host_root;
	view->host_write = policy->host_write;
	view->scratch_path = policy->scratch_path;
	view->scratch_bytes = policy->scratch_bytes;
	view->scratch_root = scratch_root_of(plan);
	view->home = policy->isolated_home ? HOME_NAME : NULL;
	view->uid = process ? process->user.uid : 0;
	view->gid = process ? process->user.gid : 0;
	r = check_roots(policy, err);
	if (r == 0)
		r = check_on_detach(plan, err);
	if (r == 0)
		r = check_types(plan, err);
	if (r == 0)
		r = check_shared_pids(plan, err);
	if (r == 0 && view->host_is_root)
		r = check_host_root(plan, err);
	if (r < 0)
		return r;
	if (plan->mounts.rootfs_propagation & ~(unsigned long)(MS_PRIVATE | MS_REC)) {
		plan->mounts.rootfs_propagation = MS_PRIVATE | MS_REC;
		report_add(report, "mounts.propagation", "mount", OUTCOME_NARROWED, 0,
			   "private: later mounts of the host do not reach the container");
	}
	report_host(plan, report);
	report_poststart(plan, report);
	report_rules(plan, report);
	report_carve_outs(plan, report);
	report_git(plan, report);
	report_placeholders(plan, report);
	report_proc(plan, report);
	if (view_mount_at(plan, "/dev/shm") && !view_mounts_new(plan, "/dev/shm", "tmpfs"))
		report_add(report, "shm", "mount", OUTCOME_NARROWED, 0,
			   "what the bundle binds at /dev/shm is replaced by the container's own");
	report_sockets(plan, report);
	report_scratch(view, report);
	return 0;
}

/* ---- prepare and apply ---- */

static int view_prepare(struct run *run, struct sbx_error *err)
{
	struct view_facts *facts;
	int r;

	if (run->plan->view.kind == VIEW_NONE || run->is_exec)
		return 0;
	facts = arena_alloc(run->plan->arena, sizeof(*facts));
	if (!facts)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "prepare the view");
	r = view_facts_gather(run, facts, err);
	if (r == 0)
		r = view_protect_prepare(run, err);
	if (r == 0)
		*room_slot(run, &room_view) = facts;
	return r;
}

static int prepare_devices(struct view_build *b, struct sbx_error *err)
{
	b->devices_max = b->facts->covers_n + b->facts->hidden.n + b->plan->policy->paths_n +
			 OWN_DEVICES_MAX;
	b->devices = arena_alloc_array(b->plan->arena, b->devices_max, sizeof(*b->devices));
	return b->devices ? 0 : sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "list what is mounted");
}

static int build(struct view_build *b, struct sbx_error *err)
{
	int r = 0;

	if (b->plan->mounts.n)
		r = room_mounts_make_read_only(b->run, err);
	if (r == 0)
		r = view_mounts_read(b, err);
	if (r == 0)
		r = view_protect(b, err);
	if (r == 0)
		r = prepare_devices(b, err);
	if (r == 0)
		r = view_roots_open(b, err);
	if (r == 0)
		r = view_carve_check(b, err);
	if (r == 0)
		r = view_cover_files(b, err);
	if (r == 0)
		r = view_carve(b, err);
	if (r == 0 && b->covered)
		r = view_mounts_read(b, err);
	if (r == 0)
		r = view_mounts_close(b, err);
	if (r == 0 && b->plan->view.kind == VIEW_CLOSURE)
		r = view_check_dev(b, err);
	if (r == 0)
		r = view_roots_clone(b, err);
	if (r == 0 && b->plan->view.kind == VIEW_CLOSURE)
		r = view_build_closure(b, err);
	if (r == 0)
		r = view_set_writable(b, err);
	if (r == 0)
		r = view_mounts_hand_over(b, err);
	return r < 0 ? r : view_mount_scratch(b, err);
}

static int view_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	struct view_build b = {
		.run = run,
		.plan = run->plan,
		.facts = *room_slot(run, &room_view),
		.source_fd = run->rootfs_fd,
		.root_fd = run->rootfs_fd,
		.empty_fd = -EBADF,
	};
	size_t i;
	int r;

	if (stage != STAGE_PIVOT || run->plan->view.kind == VIEW_NONE)
		return 0;
	if (!b.facts || !run->plan->mounts.new_root)
		return sbx_fail(err, SBX_E_INTERNAL, 0, "build the view: nothing was prepared");
	for (i = 0; i < STAY_COUNT; i++)
		b.stays[i].fd = -EBADF;
	r = build(&b, err);
	cleanup_close_fd(&b.empty_fd);
	for (i = 0; i < STAY_COUNT; i++)
		cleanup_close_fd(&b.stays[i].fd);
	view_roots_close(&b);
	/* A new root takes the tree's place, the old one goes with the change of root. */
	if (b.root_fd != b.source_fd)
		close(b.source_fd);
	run->rootfs_fd = b.root_fd;
	return r < 0 ? sbx_prefix(err, "build the view of the profile") : 0;
}

static void view_dump(const struct plan *plan, struct json_writer *w)
{
	static const char *const kinds[] = {
		[VIEW_NONE] = "none", [VIEW_BUNDLE] = "bundle", [VIEW_CLOSURE] = "closure"};
	const struct plan_view *view = &plan->view;

	json_begin_object(w, "view");
	json_write_string(w, "kind", kinds[view->kind]);
	if (view->kind != VIEW_NONE) {
		json_write_bool(w, "hostIsRoot", view->host_is_root);
		json_write_bool(w, "hostWrite", view->host_write);
		json_write_string(w, "scratch", view->scratch_path);
		if (view->scratch_root)
			json_write_string(w, "scratchRoot", view->scratch_root);
		else
			json_write_uint(w, "scratchBytes", view->scratch_bytes);
		json_write_bool(w, "isolatedHome", view->home != NULL);
	}
	json_end_object(w);
}

const struct room room_view = {
	.name = "view",
	.plan = view_plan,
	.prepare = view_prepare,
	.apply = view_apply,
	.dump = view_dump,
};
