/*
 * Theory of operation: the state names the process that makes or starts the container, but a run
 * lives on behind the start without the lock, and what holds the lock for a moment then (an update,
 * a pause) is somebody else. So a process is killed only where the kernel names it as the holder:
 * /proc/locks lists the flock(2) of the container's directory, by its inode.
 *
 * A maker's child dies with it, unless it was stopped before it could ask the kernel for that; then
 * it keeps the directory open, and with it the lock, under the dead maker's pid. It is known by
 * that and by the name that every such child has until it is the payload.
 */
#include "runtime/holder.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "backends/linux/spawn.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "runtime/base/num.h"
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

static bool is_named(pid_t pid, uint64_t ticks, const char *want)
{
	char name[PROC_NAME_BYTES];

	return proc_find(pid, ticks, name) && strcmp(name, want) == 0;
}

static bool has_open(const char *pid, const struct stat *directory)
{
	char path[64];
	cleanup_dir DIR *fds = NULL;
	struct dirent *entry;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	fds = opendir(path);
	while (fds && (entry = readdir(fds)))
		if (fstatat(dirfd(fds), entry->d_name, &st, 0) == 0 &&
		    st.st_dev == directory->st_dev && st.st_ino == directory->st_ino)
			return true;
	return false;
}

static void end_if_child(const char *name, const struct stat *directory)
{
	cleanup_fd int pidfd = -EBADF;
	uint64_t pid, ticks;

	if (num_parse_u64(name, 1, INT32_MAX, &pid) < 0)
		return;
	pidfd = sys_pidfd_open((pid_t)pid, 0);
	/* the descriptor is the process that is looked at, or one that has ended */
	if (pidfd < 0 || proc_start_time((pid_t)pid, &ticks) < 0 ||
	    !is_named((pid_t)pid, ticks, SPAWN_NAME) || !has_open(name, directory))
		return;
	proc_send_signal(pidfd, (pid_t)pid, SIGKILL);
	proc_wait_gone(pidfd);
}

static void end_children(int dir_fd)
{
	cleanup_dir DIR *all = opendir("/proc");
	struct dirent *entry;
	struct stat st;

	if (fstat(dir_fd, &st) < 0)
		return;
	while (all && (entry = readdir(all)))
		end_if_child(entry->d_name, &st);
}

static int end_holder(struct container *c)
{
	int rc = 0;

	if (state_status(c->dir_fd, &c->state) == STATUS_CREATING) {
		rc = end_maker(&c->state);
	} else {
		if (lock_comes_free(c->dir_fd, 0))
			return 0;
		container_kill_first(&c->state);
		if (lock_comes_free(c->dir_fd, OWN_END_WAIT_MS))
			return 0;
		/* The start has named itself meanwhile. */
		rc = state_load(&c->arena, c->dir_fd, &c->state, NULL);
		if (rc == 0 && holds_lock(c->dir_fd, c->state.creator_pid))
			rc = end_maker(&c->state);
	}
	if (!lock_comes_free(c->dir_fd, OWN_END_WAIT_MS))
		end_children(c->dir_fd);
	return rc;
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
