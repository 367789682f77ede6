/*
 * What can be found of a container without its state: the cgroup, whose name create took from
 * config.json, by the room that took it; the copy of config.json stands beside the state. Without
 * that copy the name is the default one. A cgroup of that name that a container has is this one's,
 * for no two have the same, and so is whatever runs in it.
 *
 * Nothing else is believed: no hook is run, and a profile's documents are removed unread.
 */
#include "runtime/salvage.h"

#include <signal.h>
#include <string.h>

#include "backends/linux/room.h"
#include "runtime/base/log.h"

/* The path is of the manager's own form; where there is none, who calls create calls delete. */
static enum cgroup_manager find_manager(const struct global_options *global, const char *path)
{
	if (global->cgroup_manager == CGROUP_MANAGER_DISABLED || !path || !*path)
		return global->cgroup_manager;
	return strchr(path, ':') && !strchr(path, '/') ? CGROUP_MANAGER_SYSTEMD
						       : CGROUP_MANAGER_CGROUPFS;
}

/* Into c->state.cgroup, which has no hierarchy where nothing is found. */
static int find_cgroup(struct container *c, const struct global_options *global, const char *id,
		       struct sbx_error *err)
{
	static const struct oci_spec nothing;
	struct plan plan = {.arena = &c->arena, .spec = &nothing, .host = &c->host};
	struct sbx_error unread = {0};
	int rc;

	plan.options.id = id;
	if (container_load_spec(c, &unread) == 0)
		plan.spec = c->spec;
	else
		log_warning("%s; its cgroup is looked for by the default name", unread.message);
	plan.options.cgroup_manager = find_manager(global, plan.spec->linux_.cgroups_path);
	host_probe(&c->host);
	rc = room_cgroup.plan(&plan, NULL, err);
	if (rc == 0)
		rc = cgroup_resolve(&plan.cgroup, &c->host, &c->state.cgroup, err);
	return rc < 0 ? rc : cgroup_recover(&c->state.cgroup, err);
}

static int end_processes(struct container *c, struct sbx_error *err)
{
	struct sbx_error refused = {0};
	int rc;

	rc = cgroup_signal_all(&c->state.cgroup, SIGKILL, &refused);
	rc = cgroup_remove(&c->state.cgroup, rc < 0 ? NULL : &refused);
	if (rc < 0 && err)
		*err = refused;
	return rc;
}

int container_salvage(struct container *c, const struct global_options *global, const char *id,
		      struct sbx_error *err)
{
	struct sbx_error unknown = {0};
	int rc = 0;

	memset(&c->state, 0, sizeof(c->state));
	if (!store_is_unused(c->dir_fd)) {
		if (find_cgroup(c, global, id, &unknown) < 0) {
			c->state.cgroup.n = 0;
			log_warning("what \"%s\" left running is not found: %s", id,
				    unknown.message);
		}
		rc = end_processes(c, err);
	}
	return rc < 0 ? rc : container_forget(c, id, err);
}
