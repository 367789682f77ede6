/*
 * Theory of operation: backends/linux/carve_watch.h. Looking takes no namespace: a path below the
 * descriptor of the container's root is walked in its own mounts. Mounting does, and is left to a
 * process that enters the mount namespace and no other of the container, so that nobody inside can
 * see it.
 *
 * dnotify, and not inotify(7): the end of an inotify instance takes some 15 ms, for which every run
 * would wait, and a user has 128 of them.
 */
#include "backends/linux/carve_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"
#include "runtime/base/path.h"
#include "runtime/base/proc.h"

#define NAME_EVENTS    (DN_CREATE | DN_DELETE | DN_RENAME | DN_MULTISHOT)
#define RESTORED_MAX   100 /* of an exit status; what is above is an errno */
#define ABSENT_WAIT_MS 200 /* some editors move the old file away first */
#define ABSENT_STEP_MS 5

static bool is_closed(const struct policy *policy, size_t n)
{
	struct view_bounds closed = view_carve_closes(policy, n);

	return closed.read || closed.write;
}

bool carve_watch_is_needed(const struct plan *plan)
{
	const struct policy *policy = plan->policy;
	bool needed = policy->protects_git || policy->keeps_names;

	for (size_t i = 0; !needed && i < policy->paths_n; i++)
		needed = is_closed(policy, i);
	return needed && plan->view.kind != VIEW_NONE;
}

bool carve_watch_kills(const struct policy *policy)
{
	bool kills = policy->profile->on_detach == DETACH_KILL;

	if (policy->profile->on_detach != DETACH_DEFAULT)
		return kills;
	for (size_t i = 0; !kills && i < policy->paths_n; i++)
		kills = view_carve_closes(policy, i).read;
	return kills;
}

/* ---- the child's side ---- */

int carve_watch_open(const struct run *run, int ret_fds[CARVE_WATCH_FDS], struct sbx_error *err)
{
	static const char *const files[] = {[CARVE_MOUNT_NS] = "self/ns/mnt",
					    [CARVE_USER_NS] = "self/ns/user",
					    [CARVE_MOUNTS] = "self/mountinfo"};
	int rc = 0;

	for (size_t i = 0; i < CARVE_WATCH_FDS; i++) {
		ret_fds[i] = i == CARVE_ROOT ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
					     : openat(run->proc_fd, files[i], O_RDONLY | O_CLOEXEC);
		if (ret_fds[i] < 0 && rc == 0)
			rc = -errno;
	}
	if (rc == 0)
		return 0;
	for (size_t i = 0; i < CARVE_WATCH_FDS; i++)
		cleanup_close_fd(&ret_fds[i]);
	return sbx_fail(err, SBX_E_SYSTEM, -rc, "watch what the profile closes inside of roots");
}

/* ---- the monitor's side ---- */

static bool is_heard(const struct carve_listeners *listeners, const struct stat *folder)
{
	for (size_t i = 0; i < listeners->n; i++)
		if (listeners->folders[i].st_dev == folder->st_dev &&
		    listeners->folders[i].st_ino == folder->st_ino)
			return true;
	return false;
}

/* The watch is the descriptor's, and ends with it. */
static void listen_to(int root_fd, const char *path, struct carve_listeners *listeners)
{
	cleanup_fd int fd = path_open_no_symlinks(root_fd, path[1] ? path + 1 : ".",
						  O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	struct stat folder;

	if (fd < 0 || fstat(fd, &folder) < 0 || is_heard(listeners, &folder))
		return;
	if (listeners->n == CARVE_LISTENERS_MAX) {
		log_warning(
			"\"%s\" is not watched for names that come and go: more than %d folders",
			path, CARVE_LISTENERS_MAX);
		return;
	}
	if (fcntl(fd, F_NOTIFY, NAME_EVENTS) < 0)
		return;
	listeners->folders[listeners->n] = folder;
	listeners->fds[listeners->n++] = take_fd(&fd);
}

/* From the enclosing root down: the folder of each name on the way. */
static void listen_on_the_way(const struct policy *policy, size_t n, int root_fd,
			      struct carve_listeners *listeners)
{
	const struct path_rule *outer = policy_enclosing(policy, n);
	const char *path = policy->paths[n].path;
	char folder[PATH_MAX];

	for (const char *end = path + (outer ? strlen(outer->path) : 0); end;
	     end = strchr(end + 1, '/')) {
		size_t len = (size_t)(end - path);

		if (len >= sizeof(folder))
			return;
		memcpy(folder, path, len);
		folder[len] = '\0';
		listen_to(root_fd, len ? folder : "/", listeners);
	}
}

void carve_watch_listen(const struct plan *plan, const int fds[CARVE_WATCH_FDS],
			struct carve_listeners *listeners)
{
	while (listeners->n > 0)
		close(listeners->fds[--listeners->n]);
	for (size_t i = 0; i < plan->policy->paths_n; i++)
		if (is_closed(plan->policy, i))
			listen_on_the_way(plan->policy, i, fds[CARVE_ROOT], listeners);
}

bool carve_watch_stands(const struct plan *plan, const int fds[CARVE_WATCH_FDS])
{
	for (size_t i = 0; i < plan->policy->paths_n; i++)
		if (is_closed(plan->policy, i) && !view_carve_stands(plan, fds[CARVE_ROOT], i))
			return false;
	return true;
}

static int restore(const struct plan *plan, int root_fd)
{
	int restored = 0, r = 0;

	for (size_t i = 0; r >= 0 && i < plan->policy->paths_n; i++) {
		if (!is_closed(plan->policy, i))
			continue;
		r = view_carve_again(plan, root_fd, i);
		for (int waited = 0; r == -ENOENT && waited < ABSENT_WAIT_MS;
		     waited += ABSENT_STEP_MS) {
			usleep(ABSENT_STEP_MS * 1000);
			r = view_carve_again(plan, root_fd, i);
		}
		restored += r > 0 ? r : 0;
	}
	return r < 0 ? r : restored;
}

static int enter_and_restore(const struct plan *plan, const int fds[CARVE_WATCH_FDS])
{
	cleanup_fd int root = -EBADF;

	if (room_has_userns(plan) && setns(fds[CARVE_USER_NS], CLONE_NEWUSER) < 0)
		return -errno;
	if (setns(fds[CARVE_MOUNT_NS], CLONE_NEWNS) < 0)
		return -errno;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno : restore(plan, root);
}

int carve_watch_restore(const struct plan *plan, const int fds[CARVE_WATCH_FDS])
{
	int status, rc;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		rc = enter_and_restore(plan, fds);
		_exit(rc < 0 ? RESTORED_MAX - rc : rc > RESTORED_MAX ? RESTORED_MAX : rc);
	}
	rc = proc_wait(pid, &status);
	if (rc < 0)
		return rc;
	return status > RESTORED_MAX ? RESTORED_MAX - status : status;
}
