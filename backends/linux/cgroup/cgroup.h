/*
 * Control groups: one container's group on v1, hybrid and v2, by writing to cgroupfs.
 *
 * All work is by directory descriptor below the hierarchy's mount; a path never contains "..".
 * Conversions of config.json's values follow config-linux.md#control-groups and, for v2, the table
 * in docs/architecture.md. Removal waits for cgroup.events (v2) or retries with poll, never sleeps
 * blindly.
 */
#ifndef SBX_LINUX_CGROUP_H
#define SBX_LINUX_CGROUP_H

#include "backends/linux/plan.h"

#define CGROUP_HIERARCHIES_MAX 16
#define CGROUP_UNIT_MAX	       256 /* systemd's own bound, with the NUL */
#define CGROUP_DESCRIPTION_MAX 112

/* Names that begin so are the runtime's own: no id holds such a character, and no path that a
 * bundle gives may have such a part. */
#define CGROUP_RESERVED_PREFIX "sbx~"

/* Below a split group. */
#define CGROUP_PAYLOAD CGROUP_RESERVED_PREFIX "payload"

struct cgroup_hierarchy {
	char controllers[48]; /* "cpu,cpuacct", "name=systemd", "" for cgroup2 */
	char mount[128];      /* "/sys/fs/cgroup/memory" */
	char path[512];	      /* of this container below the mount, "/sbx/ID" */
	bool unified;
	bool split;	/* this group has the profile's limits, the processes are one below */
	bool made;	/* the group was made, or taken over vacant, by cgroup_create(): no other
			   container has it */
	uint64_t inode; /* systemd manager: of the group's directory; 0: not made yet */
};

/* systemd manager: the scope around the group. The description tells it from a later one of the
 * same name. */
struct cgroup_unit {
	char name[CGROUP_UNIT_MAX]; /* "" with the other managers */
	char description[CGROUP_DESCRIPTION_MAX];
	bool user_manager; /* of the calling user, not PID 1 */
};

struct cgroup {
	enum cgroup_mode mode;
	enum cgroup_manager manager;
	struct cgroup_unit unit;
	struct cgroup_hierarchy v[CGROUP_HIERARCHIES_MAX];
	size_t n; /* 0: no cgroup (disabled, or best effort failed) */
};

/* A path below a hierarchy's root: canonical, shorter than the bound, not the root itself, no part
 * of it reserved. Else SBX_E_INVALID_CONFIG at /linux/cgroupsPath. */
int cgroup_check_path(const char *path, struct sbx_error *err);

/*
 * Where the container's group will be: every mounted hierarchy of the caller, plan->path below its
 * root (rootless without a given path: below the caller's own group). Makes nothing; made is false
 * everywhere, and a group that is not made is never signalled. Saved to the state store before
 * cgroup_create(), so that a killed runtime leaves nothing that delete does not find. Disabled, or
 * best effort without cgroups: ret->n is 0. The systemd manager: where the group is likely to be,
 * and the unit's name; SBX_E_UNSUPPORTED where there is no systemd to ask.
 */
int cgroup_resolve(const struct plan_cgroup *plan, const struct host_facts *host,
		   struct cgroup *ret, struct sbx_error *err);

/*
 * Make the group in every resolved hierarchy, with its missing parents. On v1 a cpuset is filled
 * from its parent (cgroup-v1/cpusets.rst); on v2 the controllers are enabled down the path
 * (cgroup-v2.rst, "Enabling and Disabling"). A target that holds a process anywhere below it, that
 * is frozen, or that another container has (being made, or not deleted yet) is refused (-EBUSY); of
 * two that want it at the same time one gets it. A vacant one that somebody prepared is taken over
 * with what was set in it. plan->best_effort: hierarchies that refuse are dropped from
 * cg, and cg->n may become 0. On failure what was made is removed again. The systemd manager makes
 * nothing before there is a process: see cgroup_adopt().
 */
int cgroup_create(const struct plan_cgroup *plan, struct cgroup *cg, struct sbx_error *err);

/*
 * The systemd manager: a scope with pid in it, which so far waits, and in that the group. cg then
 * has the places; on failure nothing is left. The others: nothing.
 */
int cgroup_adopt(const struct plan_cgroup *plan, struct cgroup *cg, pid_t pid,
		 struct sbx_error *err);

/*
 * The systemd manager: a scope beside the container's, of the same manager, for processes that are
 * not the container's. Into cg only the unit's name goes, and into it every process that is given;
 * its end is theirs. 0 or -errno.
 */
void cgroup_name_scope(const struct cgroup *container, const char *unit, struct cgroup *ret);
int cgroup_start_scope(const struct cgroup *cg, pid_t pid, struct sbx_error *err);
int cgroup_stop_scope(const struct cgroup *cg, struct sbx_error *err);

/*
 * The systemd manager: a scope goes with its last process, and another container may have one of
 * the same name then. Groups whose directory is not the noted one do not count as made any more.
 */
void cgroup_forget_replaced(struct cgroup *cg);

/* Was the systemd manager built? */
bool cgroup_has_systemd(void);

/*
 * Where the processes are and what config.json's own limits are written to: cg's group, or the one
 * below where that is split. There a container with a cgroup namespace finds its root, so the
 * profile's limits are out of its sight, and no update of the bundle's lifts them. Nothing is
 * marked as made. -ENAMETOOLONG with err.
 */
int cgroup_payload(const struct cgroup *cg, struct cgroup *ret, struct sbx_error *err);

/* The groups that a process is in now, for entering only: nothing is marked as made. */
int cgroup_of_process(pid_t pid, struct cgroup *ret, struct sbx_error *err);

/*
 * Joining by the process itself is several times cheaper on v1 than being moved by another: "0"
 * written to `tasks` by a single-threaded process needs no global lock of the kernel. The runtime
 * opens the files, the child (which inherits them) writes them, before it makes a cgroup namespace.
 */
struct cgroup_entry {
	int fd[CGROUP_HIERARCHIES_MAX];
	size_t n;
	const struct cgroup *cg;
};

/* Open what the child needs to enter. The descriptors are CLOEXEC and owned by entry. */
int cgroup_entry_open(const struct cgroup *cg, struct cgroup_entry *entry, struct sbx_error *err);

/* Move the calling process (one thread) into every hierarchy. */
int cgroup_entry_use(const struct cgroup_entry *entry, struct sbx_error *err);

/* Close the descriptors; safe to call twice. */
void cgroup_entry_close(struct cgroup_entry *entry);

/* Descriptor for clone3's CLONE_INTO_CGROUP on v2; -ENOTSUP on v1 and hybrid, where it costs more
 * than entering. */
int cgroup_open_for_clone(const struct cgroup *cg);

/* Move another process into every hierarchy (those not joined by clone). */
int cgroup_join(const struct cgroup *cg, pid_t pid, bool unified_done, struct sbx_error *err);

/*
 * The manager of an ordinary user, for a process of his that is elsewhere: the kernel wants the
 * group above both to be his, so where that refuses systemd is asked to move it. The others:
 * nothing, the process enters by itself.
 */
int cgroup_bring(const struct cgroup *cg, pid_t pid, struct sbx_error *err);

/*
 * What of resources this layout cannot enforce is refused by name (SBX_E_UNSUPPORTED), before
 * anything is written: a v1 member on cgroup2, "unified" without cgroup2, a controller that is
 * nowhere. Needs a resolved group only.
 */
int cgroup_check_resources(const struct cgroup *cg, const struct oci_resources *resources,
			   struct sbx_error *err);

/* The limits that are asked for, "cpu.shares, pids.limit"; one of "none" is not. 0 or -ENOMEM. */
int cgroup_name_limits(const struct oci_resources *resources, struct buf *out);

/* What belongs to a change of limits and may refuse it. */
typedef int (*cgroup_also_fn)(void *data, struct sbx_error *err);

/*
 * New limits for a group that is in use: its files, then what also does (NULL: nothing), then the
 * scope's properties. Where one of them fails, what was written before is put back.
 */
int cgroup_update(const struct cgroup *cg, const struct oci_resources *resources,
		  cgroup_also_fn also, void *data, struct sbx_error *err);

/* The memory limit in force, in bytes; -1: none, or it cannot be read. */
int64_t cgroup_memory_limit(const struct cgroup *cg);

/* Write the limits that are set; what is unset, and 0 where clients mean "leave it", is left alone.
 * resources may be NULL. */
int cgroup_apply(const struct cgroup *cg, const struct oci_resources *resources,
		 struct sbx_error *err);

/* The files hold these limits, or less. SBX_E_BOUNDARY_CHANGED names the one that does not. */
int cgroup_verify(const struct cgroup *cg, const struct oci_resources *resources,
		  struct sbx_error *err);

/* The process is in the group or below it, in every hierarchy. */
bool cgroup_holds(const struct cgroup *cg, pid_t pid);

/*
 * The device filter: everything denied but the default list (mknod of all, the standard nodes of
 * /dev, terminals, /dev/net/tun), which is always allowed, and what the rules of resources (may be
 * NULL) allow; later rules win. v1 writes the list, cgroup2 gets a program. A list that v1 cannot
 * express is refused (SBX_E_UNSUPPORTED), never widened.
 */
int cgroup_apply_devices(const struct cgroup *cg, const struct oci_resources *resources,
			 struct sbx_error *err);

/* Stop and continue every process of the tree. Freezing waits up to 5 s and thaws where it fails.
 */
int cgroup_freeze(const struct cgroup *cg, struct sbx_error *err);
int cgroup_thaw(const struct cgroup *cg, struct sbx_error *err);
bool cgroup_is_frozen(const struct cgroup *cg);

/* SIGKILL was sent: what a freezer of v1 holds, in the groups below too, dies only when it is
 * thawed. 0 or -errno. */
int cgroup_let_die(const struct cgroup *cg, struct sbx_error *err);

/* WHAT cannot be done for want of a group; what would help is said with it. -errno. */
int cgroup_fail_none(struct sbx_error *err, const char *what);

/* Every pid in the group and below it, malloc'ed into *ret_pids; count or -errno. */
int cgroup_list_pids(const struct cgroup *cg, pid_t **ret_pids);

/*
 * Signal every process of the tree, a frozen one too. SIGKILL: by cgroup.kill where there is one,
 * else frozen, signalled and thawed; the tree is thawed afterwards in any case. It does not wait
 * for the ends. Nothing there is success.
 */
int cgroup_signal_all(const struct cgroup *cg, int sig, struct sbx_error *err);

/* A child group NAME in every hierarchy (hooks, exec --cgroup): made if missing. */
int cgroup_open_child(const struct cgroup *parent, const char *name, bool make, struct cgroup *ret,
		      struct sbx_error *err);

/*
 * exec --cgroup [CTRL[,CTRL]:]PATH: the existing group PATH below parent, in each hierarchy that
 * has it, or in those of these v1 controllers (parent's own in the others). "/" is parent itself.
 * SBX_E_USAGE for a path that leads out; -ENOENT where no hierarchy has it.
 */
int cgroup_open_sub(const struct cgroup *parent, const char *where, struct cgroup *ret,
		    struct sbx_error *err);

/* Give a cgroup2 group to another owner, who may then make groups below it: the directory and the
 * files that the kernel lists in /sys/kernel/cgroup/delegate (cgroup-v2.rst, "Delegation"). */
int cgroup_delegate(const struct cgroup *cg, uid_t uid, struct sbx_error *err);

/*
 * Remove the group and all below it; absent is success. Waits up to 5 s for killed processes to
 * leave (-EBUSY then). Where made is false nothing is done: it is someone else's.
 */
int cgroup_remove(const struct cgroup *cg, struct sbx_error *err);

/*
 * For a group whose creator was killed before it could save which parts it made: what no container
 * made stays, and so does what holds a process or a group.
 */
void cgroup_remove_abandoned(const struct cgroup *cg);

/*
 * Where the state that named the group is lost: each resolved group that exists and that a
 * container has counts as made, and so is signalled and removed; but never one that the caller
 * itself lives in or below (SBX_E_UNSAFE_PATH, and cg->n is 0). A scope counts by the id in its
 * description, for the rest of that is lost, and its groups go with it. 0 or -errno.
 */
int cgroup_recover(struct cgroup *cg, struct sbx_error *err);

/* State store form: an object with manager, mode and hierarchies. */
void cgroup_write(struct json_writer *w, const char *key, const struct cgroup *cg);
int cgroup_read(const struct json_node *node, struct cgroup *ret);

#endif
