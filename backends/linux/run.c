/*
 * What a run holds while it is set up: its descriptors, from none to none.
 */
#include <errno.h>
#include <sys/mman.h>

#include "backends/linux/sequence.h"
#include "runtime/base/cleanup.h"

void run_init(struct run *run, const struct plan *plan)
{
	*run = (struct run){.plan = plan};
	run->proc_fd = run->bundle_fd = run->rootfs_fd = run->sync_fd = run->start_fd = -EBADF;
	run->tty_master_fd = run->console_fd = run->executable_fd = run->landlock_fd = -EBADF;
	run->pidfd = run->container_pidfd = -EBADF;
	for (size_t i = 0; i < ARRAY_SIZE(run->watch_fds); i++)
		run->watch_fds[i] = -EBADF;
	run->output_fds[0] = run->output_fds[1] = -EBADF;
}

void run_close_output(struct run *run)
{
	for (size_t i = 0; i < ARRAY_SIZE(run->output_fds); i++)
		cleanup_close_fd(&run->output_fds[i]);
}

void run_close(struct run *run)
{
	int *const fds[] = {&run->proc_fd,    &run->bundle_fd,	    &run->rootfs_fd,
			    &run->sync_fd,    &run->start_fd,	    &run->tty_master_fd,
			    &run->console_fd, &run->executable_fd,  &run->landlock_fd,
			    &run->pidfd,      &run->container_pidfd};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		cleanup_close_fd(fds[i]);
	for (size_t i = 0; i < ARRAY_SIZE(run->watch_fds); i++)
		cleanup_close_fd(&run->watch_fds[i]);
	run_close_output(run);
	if (run->child_told)
		munmap(run->child_told, sizeof(*run->child_told));
	run->child_told = NULL;
	if (run->protected_paths)
		munmap(run->protected_paths, PROTECTED_BYTES);
	run->protected_paths = NULL;
}
