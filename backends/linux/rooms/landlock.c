/*
 * Landlock: the view's rules again, on objects instead of mounts.
 *
 * What slips past the view (a descriptor passed in by a process outside, a mount that was missed)
 * still has to lie below a rule. The ruleset is made after the change of root, while the set-up may
 * still open everything, and enforced as the last step but one before execve, after which the
 * process cannot change mounts. Landlock knows only what is allowed: "/" may be read and executed
 * (the view is what limits reading), and the writable places may be changed. Device nodes are
 * opened for writing one by one, after a look at what they are.
 *
 * Rules are bound to inodes and hold for every process that descends from this one; a further
 * process (exec) makes the same ruleset for itself. Sources: landlock(7),
 * Documentation/userspace-api/landlock.rst.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <dirent.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "backends/linux/device_nodes.h"
#include "backends/linux/landlock_rules.h"
#include "backends/linux/room.h"
#include "backends/linux/rung.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/path.h"

#define FILE_RIGHTS                                                                                \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |                               \
	 LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                             \
	 LANDLOCK_ACCESS_FS_IOCTL_DEV)
#define NODE_RIGHTS (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)

#define ABI_REFER     2
#define ABI_TRUNCATE  3
#define ABI_IOCTL_DEV 5
#define ABI_SCOPE     6

#define CARRIES (GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY) | GUARANTEE_BIT(GUARANTEE_WRITE_BOUNDARY))

/* ---- plan ---- */

static uint64_t handled_rights(unsigned abi)
{
	uint64_t rights = LANDLOCK_READ_RIGHTS | LANDLOCK_WRITE_RIGHTS | NODE_RIGHTS |
			  LANDLOCK_ACCESS_FS_IOCTL_DEV;

	if (abi < ABI_REFER)
		rights &= ~LANDLOCK_ACCESS_FS_REFER;
	if (abi < ABI_TRUNCATE)
		rights &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi < ABI_IOCTL_DEV)
		rights &= ~LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return rights;
}

/* Abstract sockets belong to a network namespace. One that is joined may be the host's. */
static bool shares_network(const struct plan *plan)
{
	return !plan->namespaces.own_network_late && !(plan->namespaces.new_flags & CLONE_NEWNET);
}

/* What a shared namespace would let through is cut by the domain, from ABI 6 on. */
static bool plan_scope(const struct plan *plan, const char *feature, const char *cut,
		       const char *open, struct report *report)
{
	bool scoped = plan->landlock.abi >= ABI_SCOPE;

	report_add(report, feature, "landlock", scoped ? OUTCOME_ENFORCED : OUTCOME_UNENFORCED, 0,
		   "%s", scoped ? cut : open);
	return scoped;
}

static void plan_scopes(struct plan *plan, struct report *report)
{
	if (shares_network(plan))
		plan->landlock.scope_abstract = plan_scope(
			plan, "abstractSockets", "only those of the same set of processes",
			"the host's can be reached: it needs Landlock ABI 6 (Linux 6.12)", report);
	else
		report_add(report, "abstractSockets", "namespace", OUTCOME_ENFORCED, 0,
			   "of the container's own network namespace");
	if (!(plan->namespaces.new_flags & CLONE_NEWPID))
		plan->landlock.scope_signal = plan_scope(
			plan, "signals", "only to those of the same set of processes",
			"others of the shared pid namespace can be signalled: it needs Landlock "
			"ABI 6 (Linux 6.12)",
			report);
}

/* Rung 2: the only layer there is. */
static int plan_shared(struct plan *plan, struct report *report, struct sbx_error *err)
{
	unsigned abi = plan->host->landlock_abi;

	if (abi < RUNG_LANDLOCK_ABI)
		return sbx_fail(
			err, SBX_E_GUARANTEE_UNAVAILABLE, 0,
			"confine without namespaces: that needs Landlock ABI %d (Linux 6.7, "
			"\"landlock\" in the lsm= boot parameter, no filter around us that refuses "
			"it), here it is %u; and %s",
			RUNG_LANDLOCK_ABI, abi, plan->host->restriction);
	plan->landlock.abi = abi;
	plan->landlock.used = plan->landlock.scope_abstract = true;
	plan->landlock.closes_network = plan->shared.no_network;
	plan->landlock.scope_signal = plan_scope(
		plan, "signals", "only to those of the same set of processes",
		"others of the same user can be signalled: it needs Landlock ABI 6 (Linux 6.12)",
		report);
	plan->landlock.scope_abstract = abi >= ABI_SCOPE;
	if (!plan->landlock.scope_signal)
		report_add(report, "signals", "landlock", OUTCOME_UNENFORCED,
			   GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY), "no scope for signals");
	report_add(report, "landlock", "landlock", OUTCOME_ENFORCED, CARRIES,
		   "ABI %u, errata mended: %#x", abi, (unsigned)plan->host->landlock_errata);
	return 0;
}

static int landlock_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	unsigned abi = plan->host->landlock_abi;

	(void)err;
	if (!plan->policy->confined)
		return 0;
	if (plan->rung == RUNG_SHARED)
		return plan_shared(plan, report, err);
	plan->landlock.abi = abi;
	plan->landlock.used = abi > 0;
	if (abi == 0)
		report_add(report, "landlock", "landlock", OUTCOME_UNENFORCED, CARRIES,
			   "the kernel has no Landlock (CONFIG_SECURITY_LANDLOCK, and \"landlock\" "
			   "in the lsm= boot parameter), or an outer filter refuses it");
	else if (abi < ABI_TRUNCATE) {
		report->capped_degraded = true;
		report_add(report, "landlock", "landlock", OUTCOME_NARROWED, CARRIES,
			   "ABI %u does not see truncate: only the mounts stop it; ABI 3 (Linux "
			   "6.2) does",
			   abi);
	} else
		report_add(report, "landlock", "landlock", OUTCOME_ENFORCED, CARRIES, "ABI %u",
			   abi);
	plan_scopes(plan, report);
	return 0;
}

/* ---- the ruleset ---- */

int landlock_rule_add(const struct landlock_rules *rules, int fd, uint64_t rights, const char *path,
		      struct sbx_error *err)
{
	struct landlock_path_beneath_attr attr = {
		.parent_fd = fd,
		.allowed_access = rights & rules->handled,
	};
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "look at \"%s\"", path);
	if (!S_ISDIR(st.st_mode))
		attr.allowed_access &= FILE_RIGHTS;
	if (attr.allowed_access == 0)
		return 0;
	r = sys_landlock_add_rule(rules->fd, LANDLOCK_RULE_PATH_BENEATH, &attr);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "add a Landlock rule for \"%s\"", path) : 0;
}

static int open_inside(const struct landlock_rules *rules, const char *path)
{
	return path_open_no_symlinks(rules->run->rootfs_fd, path[1] ? path + 1 : ".", O_PATH);
}

int landlock_rule_add_path(const struct landlock_rules *rules, const char *path, uint64_t rights,
			   struct sbx_error *err)
{
	cleanup_fd int fd = open_inside(rules, path);

	/* -EACCES: the process has no more rights than we here, and opens nothing of it either */
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -EACCES)
		return 0;
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "open \"%s\"", path);
	return landlock_rule_add(rules, fd, rights, path, err);
}

#define PTS_MAJOR_FIRST 136 /* UNIX98 pty slaves: 136 to 143 */
#define PTS_MAJOR_LAST	143

static int rules_add_nodes(const struct landlock_rules *rules, struct sbx_error *err)
{
	struct stat st;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < device_nodes_n; i++) {
		const struct device_node *node = &device_nodes[i];
		cleanup_fd int fd = open_inside(rules, node->path);

		if (fd >= 0 && fstat(fd, &st) == 0 && device_node_is(node, &st))
			r = landlock_rule_add(rules, fd,
					      node->written ? LANDLOCK_DEVICE_RIGHTS
							    : LANDLOCK_ACCESS_FS_IOCTL_DEV,
					      node->path, err);
	}
	if (r == 0) {
		/* the terminal's slave, bound on this name */
		cleanup_fd int fd = open_inside(rules, "/dev/console");

		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
		    major(st.st_rdev) >= PTS_MAJOR_FIRST && major(st.st_rdev) <= PTS_MAJOR_LAST)
			r = landlock_rule_add(rules, fd, LANDLOCK_DEVICE_RIGHTS, "/dev/console",
					      err);
	}
	return r;
}

/* Places of one file system type each, where the view leaves them writable. */
static const struct {
	const char *path;
	unsigned long magic;
	uint64_t rights;
} places[] = {
	{"/dev/pts", DEVPTS_SUPER_MAGIC, LANDLOCK_DEVICE_RIGHTS},
	{"/dev/shm", TMPFS_MAGIC, LANDLOCK_WRITE_RIGHTS},
	/* mq_open(3) comes by a mount of the kernel's own, which is not below "/" */
	{"/dev/mqueue", 0x19800202, LANDLOCK_WRITE_RIGHTS | LANDLOCK_ACCESS_FS_READ_FILE},
	{"/proc", PROC_SUPER_MAGIC, LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE},
};

static int rules_add_places(const struct landlock_rules *rules, struct sbx_error *err)
{
	struct statfs fs;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < ARRAY_SIZE(places); i++) {
		cleanup_fd int fd = open_inside(rules, places[i].path);

		if (fd >= 0 && fstatfs(fd, &fs) == 0 &&
		    (unsigned long)fs.f_type == places[i].magic && !(fs.f_flags & ST_RDONLY))
			r = landlock_rule_add(rules, fd, places[i].rights, places[i].path, err);
	}
	return r;
}

/* Under "host write allow": everything below "/" but the folders of the kernel and of devices.
 * Landlock cannot take back below a rule what the rule gives, so "/" itself has none. */
static int rules_add_host(const struct landlock_rules *rules, struct sbx_error *err)
{
	static const char *const kernel_folders[] = {"dev", "proc", "sys"};
	cleanup_dir DIR *dir = NULL;
	struct dirent *entry;
	char path[NAME_MAX + 2];
	int r = 0, fd = openat(rules->run->rootfs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t i;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		r = errno;
		cleanup_close_fd(&fd);
		return sbx_fail(err, SBX_E_SYSTEM, r, "list \"/\"");
	}
	while (r == 0 && (entry = readdir(dir))) {
		for (i = 0; i < ARRAY_SIZE(kernel_folders); i++) {
			if (strcmp(entry->d_name, kernel_folders[i]) == 0)
				break;
		}
		if (i < ARRAY_SIZE(kernel_folders) || strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "/%s", entry->d_name);
		r = landlock_rule_add_path(rules, path, LANDLOCK_WRITE_RIGHTS, err);
	}
	return r;
}

static int rules_add_writable(const struct landlock_rules *rules, struct sbx_error *err)
{
	const struct policy *policy = rules->run->plan->policy;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < policy->paths_n; i++) {
		if (policy->paths[i].write)
			r = landlock_rule_add_path(rules, policy->paths[i].path,
						   LANDLOCK_WRITE_RIGHTS, err);
	}
	if (r == 0) {
		/* the image may have a link there; the mount is what it leads to */
		cleanup_fd int fd = path_open_in_root(
			rules->run->rootfs_fd, rules->run->plan->view.scratch_path, O_PATH, 0);

		r = fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "open the scratch folder")
			   : landlock_rule_add(rules, fd, LANDLOCK_WRITE_RIGHTS, "scratch", err);
	}
	return r;
}

static int rules_add_view(const struct landlock_rules *rules, struct sbx_error *err)
{
	int r = landlock_rule_add_path(rules, "/", LANDLOCK_READ_RIGHTS, err);

	if (r == 0 && rules->run->plan->view.host_write)
		r = rules_add_host(rules, err);
	if (r == 0)
		r = rules_add_writable(rules, err);
	if (r == 0)
		r = rules_add_nodes(rules, err);
	return r < 0 ? r : rules_add_places(rules, err);
}

static int ruleset_make(struct run *run, struct sbx_error *err)
{
	const struct plan *plan = run->plan;
	struct landlock_rules rules = {.run = run, .handled = handled_rights(plan->landlock.abi)};
	struct sys_landlock_ruleset attr = {
		.handled_access_fs = rules.handled,
		.handled_access_net =
			plan->landlock.closes_network
				? LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP
				: 0,
		.scoped =
			(plan->landlock.scope_abstract ? LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET : 0) |
			(plan->landlock.scope_signal ? LANDLOCK_SCOPE_SIGNAL : 0),
	};
	cleanup_fd int fd = sys_landlock_create_ruleset(&attr, sizeof(attr), 0);
	int r;

	/* Before scopes and network rules the structure had one member. */
	if ((fd == -E2BIG || fd == -EINVAL) && !attr.handled_access_net)
		fd = sys_landlock_create_ruleset(&attr, sizeof(attr.handled_access_fs), 0);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "make a Landlock ruleset");
	rules.fd = fd;
	r = plan->rung == RUNG_SHARED
		    ? landlock_shared_add(&rules, *room_slot(run, &room_landlock), err)
		    : rules_add_view(&rules, err);
	if (r < 0)
		return r;
	run->landlock_fd = take_fd(&fd);
	return 0;
}

/* A node that every container has and that no rule opens for writing. */
static int open_witness(void)
{
	int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* What report --verify says of the first process: one open that the domain, and nothing else, came
 * to refuse. */
static int restrict_self(struct run *run)
{
	bool works = !run->is_exec && open_witness() == 0;
	int r = sys_landlock_restrict_self(run->landlock_fd, 0);

	run->landlock_seen = r == 0 && works && open_witness() == -EACCES;
	return r;
}

static int landlock_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	int r;

	if (!run->plan->landlock.used)
		return 0;
	if (stage == STAGE_LIMITS)
		return ruleset_make(run, err);
	if (stage != STAGE_LANDLOCK && stage != STAGE_OUTER_LANDLOCK)
		return 0;
	if (run->landlock_fd < 0)
		return sbx_fail(err, SBX_E_INTERNAL, 0, "enforce Landlock: there is no ruleset");
	r = restrict_self(run);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "enforce the Landlock ruleset");
	if (stage == STAGE_LANDLOCK)
		cleanup_close_fd(&run->landlock_fd);
	return 0;
}

static int landlock_prepare(struct run *run, struct sbx_error *err)
{
	return run->plan->rung == RUNG_SHARED
		       ? landlock_shared_prepare(run, room_slot(run, &room_landlock), err)
		       : 0;
}

static void landlock_dump(const struct plan *plan, struct json_writer *w)
{
	json_begin_object(w, "landlock");
	json_write_bool(w, "used", plan->landlock.used);
	json_write_uint(w, "abi", plan->landlock.abi);
	json_write_bool(w, "scopeAbstractSockets", plan->landlock.scope_abstract);
	json_write_bool(w, "scopeSignals", plan->landlock.scope_signal);
	json_end_object(w);
}

const struct room room_landlock = {
	.name = "landlock",
	.without_namespaces = true,
	.plan = landlock_plan,
	.prepare = landlock_prepare,
	.apply = landlock_apply,
	.dump = landlock_dump,
};
