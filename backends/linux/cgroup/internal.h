/*
 * What the files of cgroup/ share: discovery, one hierarchy's files, the walk over a tree.
 */
#ifndef SBX_LINUX_CGROUP_INTERNAL_H
#define SBX_LINUX_CGROUP_INTERNAL_H

#include "backends/linux/cgroup/cgroup.h"

#define CGROUP_VALUE_MAX     4096 /* bytes of one control file that we read or write */
#define CGROUP_FULL_PATH_MAX 1024 /* mount, path and file name of one control file */

/* ---- discover.c ---- */

/* One hierarchy as the kernel describes it to the calling process. */
struct cgroup_mount {
	char controllers[48]; /* as in /proc/PID/cgroup; "" for cgroup2 */
	char own[512];	      /* the process's group, as in /proc/PID/cgroup */
	char mount[128];      /* "" until the mount is found */
	char root[512];	      /* which group is mounted there */
	bool unified;
};

struct cgroup_layout {
	struct cgroup_mount v[CGROUP_HIERARCHIES_MAX];
	size_t n;
	size_t missing; /* of n: mount not found yet */
};

/*
 * /proc/PID/cgroup (cgroups(7)): lines "ID:CONTROLLERS:PATH". A line that is malformed or does not
 * fit a bound is -EPROTO; more hierarchies than fit are -E2BIG.
 */
int cgroup_parse_membership(const char *data, size_t len, struct cgroup_layout *layout);

/*
 * One line of /proc/PID/mountinfo (proc(5)) without its newline: where it is a cgroup mount, note
 * it for its hierarchy; the first mount of a hierarchy wins. 0, or -EPROTO.
 */
int cgroup_parse_mount_line(const char *line, size_t len, struct cgroup_layout *layout);

/* The mounted hierarchies of pid (0: of the caller). proc_fd: a procfs, or -1 for /proc. */
int cgroup_discover(pid_t pid, struct cgroup_layout *layout, struct sbx_error *err);

/* The process's own group below the hierarchy's mount point: "/" where it is not below it. */
const char *cgroup_mount_own(const struct cgroup_mount *mount);

/* True where the comma separated list holds the name. */
bool cgroup_list_has(const char *list, const char *name);

/* ---- files.c ---- */

const struct cgroup_hierarchy *cgroup_find_v1(const struct cgroup *cg, const char *controller);
const struct cgroup_hierarchy *cgroup_find_unified(const struct cgroup *cg);

/* Path of FILE of the group ("" for the directory) into out. 0 or -ENAMETOOLONG. */
int cgroup_file_path(const struct cgroup_hierarchy *h, const char *file,
		     char out[CGROUP_FULL_PATH_MAX]);

/* The group's directory, or FILE in it. A descriptor or -errno. */
int cgroup_open_dir(const struct cgroup_hierarchy *h);
int cgroup_open_file(const struct cgroup_hierarchy *h, const char *file, int flags);

/* One write(2) of the value. 0 or -errno. */
int cgroup_write_file(const struct cgroup_hierarchy *h, const char *file, const char *value);
int cgroup_write_file_at(int dirfd, const char *file, const char *value);

/* At most size - 1 bytes, NUL-terminated, trailing newline dropped. Length or -errno. */
ssize_t cgroup_read_file(const struct cgroup_hierarchy *h, const char *file, char *out,
			 size_t size);
ssize_t cgroup_read_file_at(int dirfd, const char *file, char *out, size_t size);

/* For messages: the controllers, or "cgroup2". */
const char *cgroup_hierarchy_name(const struct cgroup_hierarchy *h);

/* Record a refusal of the kernel with what would help against it. Returns -errnum. */
int cgroup_fail(struct sbx_error *err, const struct cgroup_hierarchy *h, int errnum,
		const char *what);

/* ---- cgroup.c ---- */

/* Where a group of which the path alone is known lies: none of its directories is noted yet. */
void cgroup_set_mount(struct cgroup_hierarchy *h, const struct cgroup_mount *m);

enum cgroup_mode cgroup_layout_mode(const struct cgroup_layout *layout);

/* Make the group with its missing parents, this container's and no other's. */
int cgroup_make_group(struct cgroup_hierarchy *h, struct sbx_error *err);

/* Where ceiling (may be NULL) has limits, the group is split. */
void cgroup_split(struct cgroup *cg, const struct oci_resources *ceiling);

/* The groups below the split ones. */
int cgroup_make_payload(const struct cgroup *cg, struct sbx_error *err);

/* An empty group, and the empty one below where it is split. 0 or -errno. */
int cgroup_rmdir(const struct cgroup_hierarchy *h);

/* cgroup_remove() without a manager's help. */
int cgroup_remove_groups(const struct cgroup *cg, struct sbx_error *err);

/* ---- claim.c ---- */

/*
 * Make the group, or take over a vacant one that no container has, so that it is this container's
 * and no other's. -ENOENT, and err as it was, where its parent is missing; -EBUSY where it is in
 * use.
 */
int cgroup_take(const struct cgroup_hierarchy *h, struct sbx_error *err);

/* ---- v2.c ---- */

/*
 * Make the controllers available to the group, from the mount down (cgroup.subtree_control of every
 * group above). Pure cgroup2: all there are, because managers read statistics of each; hybrid: only
 * those that resources (may be NULL) need and no v1 hierarchy has. A controller that cannot be
 * enabled is an error only where resources need it, and then when its file is written.
 */
void cgroup_enable_controllers(const struct cgroup_hierarchy *h, enum cgroup_mode mode,
			       const struct oci_resources *resources);

/* Make what the group above has available to the group, for statistics as above. */
void cgroup_pass_controllers(const struct cgroup_hierarchy *h);

/* ---- walk.c ---- */

/* Called with each group's directory descriptor, children before their parent. 0 goes on. */
typedef int (*cgroup_visit_fn)(int dirfd, void *data);

/* Visit the group and all below it. 0, what visit returned, or -errno; -ENOENT when absent. */
int cgroup_walk(const struct cgroup_hierarchy *h, cgroup_visit_fn visit, void *data);

/* Remove the groups below (not the group itself). 0 or the first -errno. */
int cgroup_remove_children(const struct cgroup_hierarchy *h);

#endif
