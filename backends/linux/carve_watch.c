/*
 * Theory of operation: backends/linux/carve_watch.h. The names are watched in the folders that they
 * stand in, from the enclosing root down, and by the bare names: which folder an event is from does
 * not matter, since each event leads to a look at all of them.
 *
 * The process that puts one back enters the mount namespace and no other of the container, so that
 * nobody inside can see it.
 */
#include "backends/linux/carve_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/proc.h"

#define NAME_EVENTS    (IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR)
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
	bool needed = false;

	for (size_t i = 0; plan->view.kind != VIEW_NONE && !needed && i < policy->paths_n; i++)
		needed = is_closed(policy, i);
	return needed;
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

/* ---- the names ---- */

/* Where the path of a carve-out leaves the root around it: the first of its names. */
static const char *first_name(const struct policy *policy, size_t n)
{
	const struct path_rule *outer = policy_enclosing(policy, n);

	return policy->paths[n].path + (outer ? strlen(outer->path) : 0) + 1;
}

static bool has_name(const struct policy *policy, size_t n, const char *name)
{
	size_t len = strlen(name);

	for (const char *part = first_name(policy, n); part; part = strchr(part, '/')) {
		part += *part == '/';
		if (strncmp(part, name, len) == 0 && (part[len] == '/' || !part[len]))
			return true;
	}
	return false;
}

static bool matters(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->paths_n; i++)
		if (is_closed(policy, i) && has_name(policy, i, name))
			return true;
	return false;
}

/* inotify_add_watch(2) takes a path alone: that of the folder that we go into. */
static int watch_folder(int names_fd, int folder)
{
	if (fchdir(folder) < 0 || inotify_add_watch(names_fd, ".", NAME_EVENTS) < 0)
		return -errno;
	return 0;
}

static int watch_folders_of(const struct policy *policy, size_t n, int root_fd, int names_fd)
{
	const char *path = policy->paths[n].path;
	int r = 0;

	for (const char *end = first_name(policy, n) - 1; r == 0 && end;
	     end = strchr(end + 1, '/')) {
		char folder[PATH_MAX];
		cleanup_fd int fd = -EBADF;

		if (end - path >= PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(folder, path, (size_t)(end - path));
		strcpy(folder + (end - path), end == path ? "/" : "");
		fd = view_open(root_fd, folder);
		r = fd < 0 ? fd : watch_folder(names_fd, fd);
	}
	return r;
}

static int watch_names(const struct policy *policy, int root_fd, int names_fd)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < policy->paths_n; i++)
		if (is_closed(policy, i))
			r = watch_folders_of(policy, i, root_fd, names_fd);
	return r;
}

bool carve_watch_take(const struct plan *plan, const int fds[CARVE_WATCH_FDS])
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *event;
	bool found = false;
	ssize_t n;

	while ((n = read(fds[CARVE_NAMES], events, sizeof(events))) > (ssize_t)sizeof(*event))
		for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(*event) + event->len)) {
			event = (const void *)(events + at);
			found |= (event->mask & IN_Q_OVERFLOW) || !event->len ||
				 matters(plan->policy, event->name);
		}
	return found;
}

/* ---- the child's side ---- */

static int open_names(const struct policy *policy)
{
	cleanup_fd int names = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	cleanup_fd int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (names < 0) /* one that never says anything */
		return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (before < 0 || root < 0)
		return -errno;
	r = watch_names(policy, root, names);
	if (fchdir(before) < 0)
		return -errno;
	return r == -ENOSPC || r == 0 ? take_fd(&names) : r;
}

int carve_watch_open(const struct run *run, int ret_fds[CARVE_WATCH_FDS], struct sbx_error *err)
{
	static const char *const files[] = {[CARVE_MOUNT_NS] = "self/ns/mnt",
					    [CARVE_USER_NS] = "self/ns/user",
					    [CARVE_MOUNTS] = "self/mountinfo"};
	int rc = 0;

	for (size_t i = 0; i < CARVE_WATCH_FDS; i++) {
		ret_fds[i] = i == CARVE_NAMES
				     ? open_names(run->plan->policy)
				     : openat(run->proc_fd, files[i], O_RDONLY | O_CLOEXEC);
		if (ret_fds[i] < 0 && rc == 0)
			rc = i == CARVE_NAMES ? ret_fds[i] : -errno;
	}
	if (rc == 0)
		return 0;
	for (size_t i = 0; i < CARVE_WATCH_FDS; i++)
		cleanup_close_fd(&ret_fds[i]);
	return sbx_fail(err, SBX_E_SYSTEM, -rc, "watch what the profile closes inside of roots");
}

/* ---- the monitor's side ---- */

static int restore(const struct plan *plan, int root_fd)
{
	const struct policy *policy = plan->policy;
	int restored = 0, r = 0;

	for (size_t i = 0; r >= 0 && i < policy->paths_n; i++) {
		if (!is_closed(policy, i))
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
	int rc;

	if (room_has_userns(plan) && setns(fds[CARVE_USER_NS], CLONE_NEWUSER) < 0)
		return -errno;
	if (setns(fds[CARVE_MOUNT_NS], CLONE_NEWNS) < 0)
		return -errno;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	rc = root < 0 ? -errno : restore(plan, root);
	if (rc >= 0) /* of folders that are others now */
		watch_names(plan->policy, root, fds[CARVE_NAMES]);
	return rc;
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
