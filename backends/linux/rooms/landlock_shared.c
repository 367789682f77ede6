/*
 * The rules of a container on rung 2, in the host's own tree.
 *
 * No mount hides anything here, so a rule is given to what may be read instead of to "/". Landlock
 * cannot take back below a rule what the rule gives: where something in a folder stays closed (the
 * runtime's own files, the private folders of a host's root), the folder gets no rule, and each
 * other name in it gets one. Such a folder cannot be listed, and what is made in it later is
 * closed.
 *
 * Of /dev only the harmless nodes open, and the terminal of the container's own. Nothing of /proc
 * may be written: with the privileges of root that would reach the machine's settings.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backends/linux/closure.h"
#include "backends/linux/device_nodes.h"
#include "backends/linux/landlock_rules.h"
#include "backends/linux/mount_table.h"
#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

#define DEPTH_MAX  32
#define PTMX_MAJOR 5
#define PTMX_MINOR 2

/* Beyond the closure: what C libraries and interpreters ask about the machine. */
static const char *const machine_folders[] = {
	"/sys/devices/system/cpu",
	"/sys/kernel/mm/transparent_hugepage",
};

/* Of /proc, where the processes in it are hidden. */
static const char *const machine_files[] = {
	"/proc/cpuinfo", "/proc/meminfo", "/proc/stat",	       "/proc/uptime",
	"/proc/loadavg", "/proc/version", "/proc/filesystems", "/proc/sys",
};

static const char *const kernel_folders[] = {"/dev", "/proc", "/sys"};

/* ---- what must stay closed ---- */

struct shared_facts {
	struct view_facts view;
	struct mount_table table; /* the host's */
};

/* A root in which one lies cannot close it; one that is not written at least keeps it as it is. */
static int check_own_files(const struct plan *plan, const struct view_facts *facts,
			   struct sbx_error *err)
{
	const struct policy *policy = plan->policy;

	for (size_t i = 0; i < policy->paths_n; i++)
		for (size_t k = 0; policy->paths[i].write && k < facts->covers_n; k++)
			if (path_is_below(facts->covers[k].path, policy->paths[i].path))
				return sbx_fail_at(
					err, SBX_E_GUARANTEE_UNAVAILABLE,
					policy->paths[i].path_pointer,
					"let \"%s\" be written: the runtime's own \"%s\" is in it, "
					"which without mounts cannot be closed; move it elsewhere "
					"(%s)",
					policy->paths[i].path, facts->covers[k].path,
					plan->host->restriction);
	return 0;
}

/* The mount that shows path: of several that hold it the deepest, of equal ones the last. */
static const struct mount_line *line_of(const struct mount_table *table, const char *path)
{
	const struct mount_line *best = NULL;

	for (size_t i = 0; i < table->n; i++)
		if (path_is_below(path, table->lines[i].point) &&
		    (!best || strlen(table->lines[i].point) >= strlen(best->point)))
			best = &table->lines[i];
	return best;
}

/* No value of a profile covers the kernel's own interfaces, and a rule holds below mount points. */
static int check_interfaces(const struct policy *policy, const struct mount_table *table,
			    struct sbx_error *err)
{
	for (size_t i = 0; i < policy->paths_n; i++) {
		const struct path_rule *rule = &policy->paths[i];
		const struct mount_line *line = line_of(table, rule->path);

		for (size_t k = 0; k < table->n && line && view_holds_files(line); k++)
			if (path_is_below(table->lines[k].point, rule->path) &&
			    !view_holds_files(&table->lines[k]))
				line = &table->lines[k];
		if (!line || !view_holds_files(line) || path_is_below(rule->path, "/dev"))
			return sbx_fail_at(
				err, SBX_E_INVALID_PROFILE, rule->path_pointer,
				"use \"%s\" as a root: no value of a profile covers what "
				"the kernel shows at \"%s\" (%s)",
				rule->path, line ? line->point : "/", line ? line->type : "?");
	}
	return 0;
}

int landlock_shared_prepare(struct run *run, void **ret_facts, struct sbx_error *err)
{
	const struct plan *plan = run->plan;
	struct shared_facts *facts = arena_alloc(plan->arena, sizeof(*facts));
	int r;

	if (!facts)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "prepare the Landlock rules");
	r = view_facts_gather(run, &facts->view, err);
	if (r < 0)
		return r;
	r = mount_table_load(run->proc_fd, plan->arena, &facts->table);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "read the mount table");
	*ret_facts = facts;
	r = check_own_files(plan, &facts->view, err);
	return r < 0 ? r : check_interfaces(plan->policy, &facts->table, err);
}

/* ---- folders with something closed in them ---- */

struct walk {
	const struct landlock_rules *rules;
	const struct shared_facts *facts;
	uint64_t rights;
};

enum closed { CLOSED_NOTHING, CLOSED_INSIDE, CLOSED_WHOLLY };

static void judge(const char *path, const char *shut, enum closed *closed)
{
	if (path_is_below(path, shut))
		*closed = CLOSED_WHOLLY;
	else if (path_is_below(shut, path) && *closed == CLOSED_NOTHING)
		*closed = CLOSED_INSIDE;
}

static enum closed is_closed(const struct walk *w, const char *path)
{
	enum closed closed = CLOSED_NOTHING;

	for (size_t i = 0; i < ARRAY_SIZE(kernel_folders); i++)
		judge(path, kernel_folders[i], &closed);
	for (size_t i = 0; i < w->facts->table.n; i++)
		if (!view_holds_files(&w->facts->table.lines[i]))
			judge(path, w->facts->table.lines[i].point, &closed);
	for (size_t i = 0; i < w->facts->view.covers_n; i++)
		judge(path, w->facts->view.covers[i].path, &closed);
	for (size_t i = 0; i < w->facts->view.hidden.n; i++)
		judge(path, w->facts->view.hidden.v[i], &closed);
	return closed;
}

static int add_tree(const struct walk *w, const char *path, unsigned depth, struct sbx_error *err);

static int add_entries(const struct walk *w, const char *path, unsigned depth,
		       struct sbx_error *err)
{
	cleanup_dir DIR *dir = NULL;
	struct dirent *entry;
	char below[PATH_MAX];
	int r = 0, fd = path_open_no_symlinks(w->rules->run->rootfs_fd, path[1] ? path + 1 : ".",
					      O_RDONLY | O_DIRECTORY);

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		cleanup_close_fd(&fd);
		return 0; /* who cannot list it opens nothing of it */
	}
	while (r == 0 && (entry = readdir(dir))) {
		int n = snprintf(below, sizeof(below), "%s/%s", path[1] ? path : "", entry->d_name);

		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && n > 0 &&
		    (size_t)n < sizeof(below))
			r = add_tree(w, below, depth + 1, err);
	}
	return r;
}

static int add_tree(const struct walk *w, const char *path, unsigned depth, struct sbx_error *err)
{
	switch (is_closed(w, path)) {
	case CLOSED_WHOLLY:
		return 0;
	case CLOSED_INSIDE:
		return depth < DEPTH_MAX ? add_entries(w, path, depth, err) : 0;
	default:
		return landlock_rule_add_path(w->rules, path, w->rights, err);
	}
}

/* ---- the rules ---- */

/* The closure's own links (a resolv.conf that lies elsewhere) are followed: the host made them. */
static int add_followed(const struct landlock_rules *rules, const char *path, uint64_t rights,
			struct sbx_error *err)
{
	cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? 0 : landlock_rule_add(rules, fd, rights, path, err);
}

static int add_host(const struct landlock_rules *rules, const struct shared_facts *facts,
		    struct sbx_error *err)
{
	const struct policy *policy = rules->run->plan->policy;
	struct walk w = {rules, facts, LANDLOCK_READ_RIGHTS};
	int r = 0;

	if (policy->host_write)
		w.rights |= LANDLOCK_WRITE_RIGHTS;
	if (policy->host_read)
		r = add_tree(&w, "/", 0, err);
	for (size_t i = 0; r == 0 && i < closure_paths_n; i++)
		r = add_followed(rules, closure_paths[i], LANDLOCK_READ_RIGHTS, err);
	return r;
}

static int add_roots(const struct landlock_rules *rules, struct sbx_error *err)
{
	const struct policy *policy = rules->run->plan->policy;
	int r = 0;

	for (size_t i = 0; r == 0 && i < policy->paths_n; i++) {
		const struct path_rule *rule = &policy->paths[i];
		uint64_t rights = (rule->read ? LANDLOCK_READ_RIGHTS : 0) |
				  (rule->write ? LANDLOCK_WRITE_RIGHTS : 0);
		cleanup_fd int fd =
			path_open_no_symlinks(rules->run->rootfs_fd, rule->path + 1, O_PATH);

		if (fd < 0)
			return sbx_fail_at(err, SBX_E_INVALID_PROFILE, rule->path_pointer,
					   "use \"%s\" as a root: %s", rule->path,
					   strerrordesc_np(-fd));
		r = landlock_rule_add(rules, fd, rights, rule->path, err);
	}
	return r;
}

static bool is_ptmx(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(PTMX_MAJOR, PTMX_MINOR);
}

static int add_devices(const struct landlock_rules *rules, struct sbx_error *err)
{
	static const char *const ptmx[] = {"/dev/ptmx", "/dev/pts/ptmx"};
	const uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE;
	struct stat st;
	int r = 0;

	for (size_t i = 0; r == 0 && i < device_nodes_n; i++) {
		cleanup_fd int fd = open(device_nodes[i].path, O_PATH | O_CLOEXEC);

		if (fd >= 0 && fstat(fd, &st) == 0 && device_node_is(&device_nodes[i], &st))
			r = landlock_rule_add(rules, fd,
					      read | (device_nodes[i].written
							      ? LANDLOCK_DEVICE_RIGHTS
							      : LANDLOCK_ACCESS_FS_IOCTL_DEV),
					      device_nodes[i].path, err);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(ptmx); i++) {
		cleanup_fd int fd = open(ptmx[i], O_PATH | O_CLOEXEC);

		if (fd >= 0 && fstat(fd, &st) == 0 && is_ptmx(&st))
			r = landlock_rule_add(rules, fd, read | LANDLOCK_DEVICE_RIGHTS, ptmx[i],
					      err);
	}
	/* of all terminals the container's own: the others are the user's */
	if (r == 0 && rules->run->plan->process.terminal)
		r = landlock_rule_add(rules, STDIN_FILENO, read | LANDLOCK_DEVICE_RIGHTS,
				      "the terminal", err);
	return r;
}

static int add_machine(const struct landlock_rules *rules, struct sbx_error *err)
{
	const uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	const struct plan *plan = rules->run->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(machine_folders); i++)
		r = landlock_rule_add_path(rules, machine_folders[i], read, err);
	if (r == 0 && plan->policy->host_read)
		r = landlock_rule_add_path(rules, "/sys", read, err);
	if (r == 0 && !plan->shared.hides_proc)
		return landlock_rule_add_path(rules, "/proc", read, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(machine_files); i++)
		r = landlock_rule_add_path(rules, machine_files[i], read, err);
	return r;
}

int landlock_shared_add(const struct landlock_rules *rules, const void *facts,
			struct sbx_error *err)
{
	int r = facts ? add_host(rules, facts, err)
		      : sbx_fail(err, SBX_E_INTERNAL, 0, "make Landlock rules: none prepared");

	if (r == 0)
		r = add_roots(rules, err);
	if (r == 0)
		r = add_devices(rules, err);
	if (r == 0)
		r = add_machine(rules, err);
	return r < 0 ? r
		     : landlock_rule_add_path(rules, rules->run->plan->shared.scratch,
					      LANDLOCK_READ_RIGHTS | LANDLOCK_WRITE_RIGHTS, err);
}
