/*
 * The score adjustment of the out-of-memory killer (proc_pid_oom_score_adj(5)): written through the
 * private procfs, left alone where config.json does not name it.
 *
 * Lowering it below what the runtime itself started with needs CAP_SYS_RESOURCE in the initial user
 * namespace; a runtime without it keeps the present value and warns. The runtime may write the
 * value for the child that it made (at the cgroup's row), or a process for itself.
 */
#include <errno.h>
#include <stdio.h>

#include "backends/linux/room.h"
#include "runtime/base/log.h"
#include "runtime/base/procfs.h"

static int oom_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct oci_process *process = room_process(run->plan);
	char value[16], file[32];
	int r;

	if (!process || !process->oom_score_adj.set)
		return 0;
	snprintf(value, sizeof(value), "%d", (int)process->oom_score_adj.v);
	if (stage == STAGE_CGROUP)
		snprintf(file, sizeof(file), "%d/oom_score_adj", run->pid);
	else
		snprintf(file, sizeof(file), "self/oom_score_adj");
	r = procfs_write(run->proc_fd, file, value);
	if (r == 0)
		return 0;
	if ((r == -EACCES || r == -EPERM) &&
	    (!run->plan->host->privileged || !run->plan->host->initial_userns)) {
		log_warning("keep the present oom score adjustment: %s is not permitted", value);
		return 0;
	}
	return sbx_fail(err, SBX_E_SYSTEM, -r, "set the oom score adjustment to %s", value);
}

const struct room room_oom = {
	.name = "oom",
	.without_namespaces = true,
	.apply = oom_apply,
};
