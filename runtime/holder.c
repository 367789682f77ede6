/*
 * Theory of operation: the state names the process that makes or starts the container, but a run
 * lives on behind the start without the lock, and what holds the lock for a moment then (an update,
 * a pause) is somebody else. So a process is killed only where the kernel names it as the holder:
 * /proc/locks lists the flock(2) of the container's directory, by its inode.
 */
#include "runtime/holder.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/proc.h"

#define OWN_END_WAIT_MS 1000 /* for a start whose payload was killed */
#define WAIT_STEP_MS	10

static bool lock_comes_free(int dir_fd, int wait_ms)
{
	for (int waited = 0;; waited += WAIT_STEP_MS) {
		if (flock(dir_fd, LOCK_EX | LOCK_NB) == 0) {
			flock(dir_fd, LOCK_UN);
			return true;
		}
		if (waited >= wait_ms)
			return false;
		poll(NULL, 0, WAIT_STEP_MS);
	}
}

/* "9: FLOCK  ADVISORY  WRITE 1234 00:1c:5678 0 EOF"; who only waits has "->" before FLOCK. */
static bool holds_lock(int dir_fd, pid_t pid)
{
	cleanup_file FILE *locks = fopen("/proc/locks", "re");
	unsigned long long inode;
	char line[256];
	struct stat st;
	int holder;

	if (!locks || fstat(dir_fd, &st) < 0)
		return false;
	while (fgets(line, sizeof(line), locks))
		if (sscanf(line, "%*d: FLOCK %*s WRITE %d %*x:%*x:%llu", &holder, &inode) == 2 &&
		    holder == pid && inode == (unsigned long long)st.st_ino)
			return true;
	return false;
}

static int end_maker(const struct container_state *state)
{
	cleanup_fd int pidfd = proc_open_pidfd(state->creator_pid, state->creator_start_ticks);
	int rc = pidfd;

	if (rc >= 0)
		rc = proc_send_signal(pidfd, state->creator_pid, SIGKILL);
	return rc < 0 ? rc : proc_wait_gone(pidfd);
}

static int end_holder(struct container *c)
{
	int rc;

	if (state_status(c->dir_fd, &c->state) == STATUS_CREATING)
		return end_maker(&c->state);
	if (lock_comes_free(c->dir_fd, 0))
		return 0;
	container_kill_first(&c->state);
	if (lock_comes_free(c->dir_fd, OWN_END_WAIT_MS))
		return 0;
	/* The start has named itself meanwhile. */
	rc = state_load(&c->arena, c->dir_fd, &c->state, NULL);
	if (rc < 0 || !holds_lock(c->dir_fd, c->state.creator_pid))
		return rc;
	return end_maker(&c->state);
}

int container_end_holder(const struct global_options *global, const char *id)
{
	struct container c;
	int rc;

	container_init(&c);
	rc = container_open(&c, global, id, STORE_LOCK_NONE, NULL);
	if (rc == 0)
		rc = end_holder(&c);
	container_release(&c);
	return rc;
}
