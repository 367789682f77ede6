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

struct cgroup_hierarchy {
	char controllers[48]; /* "cpu,cpuacct", "name=systemd", "" for cgroup2 */
	char mount[128];      /* "/sys/fs/cgroup/memory" */
	char path[512];	      /* of this container below the mount, "/sbx/ID" */
	bool unified;
	bool made; /* the last component was made by us */
};

struct cgroup {
	enum cgroup_mode mode;
	enum cgroup_manager manager;
	struct cgroup_hierarchy v[CGROUP_HIERARCHIES_MAX];
	size_t n; /* 0: no cgroup (disabled, or best effort failed) */
};

/* Make the group in every hierarchy. A non-empty existing target is refused (-EBUSY). */
int cgroup_create(const struct plan_cgroup *plan, const struct host_facts *host, struct cgroup *ret,
		  struct sbx_error *err);

/* Descriptor for clone3's CLONE_INTO_CGROUP on v2, -ENOTSUP on v1 and hybrid. */
int cgroup_open_for_clone(const struct cgroup *cg);

/* Move a process into every hierarchy (those not joined by clone). */
int cgroup_join(const struct cgroup *cg, pid_t pid, bool unified_done, struct sbx_error *err);

/* Write limits; unset members are left alone. Then the device filter (devices). */
int cgroup_apply(const struct cgroup *cg, const struct oci_resources *resources,
		 struct sbx_error *err);
int cgroup_apply_devices(const struct cgroup *cg, const struct oci_resources *resources,
			 const struct plan_devices *devices, struct sbx_error *err);

int cgroup_freeze(const struct cgroup *cg, struct sbx_error *err);
int cgroup_thaw(const struct cgroup *cg, struct sbx_error *err);
bool cgroup_is_frozen(const struct cgroup *cg);

/* Every pid in the group and below it, malloc'ed into *ret_pids; count or -errno. */
int cgroup_list_pids(const struct cgroup *cg, pid_t **ret_pids);

/* Signal every process of the tree; SIGKILL by cgroup.kill where there is one, else freeze, signal,
 * thaw until the tree is empty. */
int cgroup_signal_all(const struct cgroup *cg, int sig, struct sbx_error *err);

/* A child group NAME in every hierarchy (hooks, exec --cgroup): made if missing. */
int cgroup_open_child(const struct cgroup *parent, const char *name, bool make, struct cgroup *ret,
		      struct sbx_error *err);

/* Remove the group and all below it; absent is success. Waits up to 5 s for killed processes to
 * leave. */
int cgroup_remove(const struct cgroup *cg, struct sbx_error *err);

/* What update of a running container and `events --stats` need come with their issue. */

/* State store form: an object with manager, mode and hierarchies. */
void cgroup_write(struct json_writer *w, const char *key, const struct cgroup *cg);
int cgroup_read(const struct json_node *node, struct cgroup *ret);

#endif
