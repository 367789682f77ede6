#include "runtime/monitor/carve_keeper.h"

#include "runtime/base/log.h"

void carve_keeper_begin(struct carve_keeper *keeper, const struct container_state *state,
			const struct run *run)
{
	*keeper = (struct carve_keeper){.state = state, .plan = run->plan, .fds = run->watch_fds};
	carve_watch_listen(keeper->plan, keeper->fds, &keeper->listeners);
}

struct pollfd carve_keeper_wait(const struct carve_keeper *keeper)
{
	return (struct pollfd){keeper->state ? keeper->fds[CARVE_MOUNTS] : -1, POLLPRI, 0};
}

static void tell(const struct carve_keeper *keeper, int restored, bool kept)
{
	if (restored < 0)
		log_warning("container \"%s\": what a process outside replaced cannot be closed "
			    "again: errno %d",
			    keeper->state->id, -restored);
	else if (restored > 0)
		log_warning("container \"%s\": a process outside replaced what the profile closes, "
			    "at %d places: %s",
			    keeper->state->id, restored, kept ? "closed again" : "it is ended");
}

/* Without a freezer it takes a moment longer. */
static bool restore(struct carve_keeper *keeper)
{
	const struct cgroup *cg = &keeper->state->cgroup;
	bool freezes = cg->n > 0 && !cgroup_is_frozen(cg) && cgroup_freeze(cg, NULL) == 0;
	int restored = carve_watch_restore(keeper->plan, keeper->fds);
	bool kept = restored == 0 || (restored > 0 && !carve_watch_kills(keeper->plan->policy));

	tell(keeper, restored, kept);
	carve_watch_listen(keeper->plan, keeper->fds, &keeper->listeners);
	if (freezes && kept)
		cgroup_thaw(cg, NULL);
	return kept;
}

bool carve_keeper_keep(struct carve_keeper *keeper)
{
	keeper->resting = keeper->changed;
	keeper->changed = false;
	return !keeper->resting || carve_watch_stands(keeper->plan, keeper->fds) || restore(keeper);
}
