/* Interim, to be deleted: what backends/linux/cgroup does not have yet. */
#include "backends/linux/cgroup/cgroup.h"

int __attribute__((weak)) cgroup_signal_all(const struct cgroup *cg, int sig, struct sbx_error *err)
{
	(void)cg;
	(void)sig;
	(void)err;
	return 0;
}

bool __attribute__((weak)) cgroup_is_frozen(const struct cgroup *cg)
{
	(void)cg;
	return false;
}
