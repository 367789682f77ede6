/*
 * Freezing, listing and killing a whole tree of groups.
 *
 * Where the container has a cgroup2 group (v2, and hybrid beside v1) it decides: its freezer lets a
 * frozen process die, and cgroup.kill ends a tree in the kernel, forks in flight included
 * (cgroup-v2.rst, "Core Interface Files"). On v1 the freezer holds the tree still while its pids
 * are read and signalled, so that none forks away or is reused; a v1 freezer also holds back the
 * death of its processes, so every way out of here thaws.
 */
#include "backends/linux/cgroup/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/log.h"

#define FREEZE_WAIT_MS	5000
#define KILL_WAIT_MS	2000
#define PROCS_MAX_BYTES ((size_t)64 << 20) /* 4 Mi pids, the most that Linux has */

/* ---- freezer ---- */

static const struct cgroup_hierarchy *made_unified(const struct cgroup *cg)
{
	const struct cgroup_hierarchy *h = cgroup_find_unified(cg);

	return h && h->made ? h : NULL;
}

static const struct cgroup_hierarchy *made_freezer(const struct cgroup *cg)
{
	const struct cgroup_hierarchy *h = cgroup_find_v1(cg, "freezer");

	return h && h->made ? h : NULL;
}

/* cgroup.events raises POLLPRI at each change since its last read through the same descriptor. */
static int wait_frozen_v2(const struct cgroup_hierarchy *h)
{
	cleanup_fd int fd = cgroup_open_file(h, "cgroup.events", O_RDONLY);
	int64_t deadline = clock_now_ms() + FREEZE_WAIT_MS;

	if (fd < 0)
		return fd;
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLPRI};
		char text[256];
		ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
		int64_t left = deadline - clock_now_ms();

		if (n < 0)
			return -errno;
		text[n] = '\0';
		if (strstr(text, "populated 0"))
			return -ESRCH;
		if (strstr(text, "frozen 1"))
			return 0;
		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
			return -errno;
	}
}

/* v1 sets its tasks freezing and reports FROZEN when all are; a fork at the wrong moment leaves it
 * at FREEZING until the state is written again (cgroup-v1/freezer-subsystem.rst). */
static int freeze_v1(const struct cgroup_hierarchy *h)
{
	int64_t deadline = clock_now_ms() + FREEZE_WAIT_MS;

	for (int wait_ms = 0;;) {
		char text[32];
		int r = cgroup_write_file(h, "freezer.state", "FROZEN");
		ssize_t n;

		if (r < 0)
			return r;
		n = cgroup_read_file(h, "freezer.state", text, sizeof(text));
		if (n < 0)
			return (int)n;
		if (strcmp(text, "FROZEN") == 0)
			return 0;
		if (clock_now_ms() >= deadline)
			return -ETIMEDOUT;
		poll(NULL, 0, wait_ms);
		wait_ms = wait_ms < 10 ? wait_ms + 1 : 10;
	}
}

static int freeze_tree(const struct cgroup *cg, const struct cgroup_hierarchy **ret_h)
{
	const struct cgroup_hierarchy *v2 = made_unified(cg), *v1 = made_freezer(cg);
	int r = -ENOTSUP;

	if (v2) {
		*ret_h = v2;
		r = cgroup_write_file(v2, "cgroup.freeze", "1");
		if (r == 0)
			return wait_frozen_v2(v2);
	}
	if (v1 && (!v2 || r == -ENOENT)) { /* ENOENT: before Linux 5.2 */
		*ret_h = v1;
		r = freeze_v1(v1);
	}
	return r;
}

static int thaw_tree(const struct cgroup *cg, const struct cgroup_hierarchy **ret_h)
{
	const struct cgroup_hierarchy *v2 = made_unified(cg), *v1 = made_freezer(cg);
	int r = v2 ? cgroup_write_file(v2, "cgroup.freeze", "0") : -ENOENT;

	*ret_h = v2 && (r < 0 && r != -ENOENT) ? v2 : v1;
	if (v1) {
		int thawed = cgroup_write_file(v1, "freezer.state", "THAWED");

		r = r < 0 && r != -ENOENT ? r : thawed;
	}
	return r;
}

static int visit_thaw(int dirfd, void *data)
{
	cleanup_fd int fd = openat(dirfd, "freezer.state", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	(void)data;
	if (fd >= 0 && write(fd, "THAWED", strlen("THAWED")) < 0)
		log_debug("thaw a group below: errno %d", errno);
	return 0;
}

/* A v1 group that was frozen for itself, as by a runtime in the container, stays so when the one
 * above is thawed. */
static void thaw_each(const struct cgroup *cg)
{
	const struct cgroup_hierarchy *v1 = made_freezer(cg);

	if (v1)
		(void)cgroup_walk(v1, visit_thaw, NULL);
}

static void thaw_dying(const struct cgroup *cg)
{
	const struct cgroup_hierarchy *h;

	thaw_tree(cg, &h);
	thaw_each(cg);
}

static int fail_freezer(struct sbx_error *err, const struct cgroup_hierarchy *h, int r,
			const char *what)
{
	if (!h)
		return sbx_fail(err, SBX_E_SYSTEM, ENOTSUP, "%s the container: it has no freezer",
				what);
	if (r == -ESRCH)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
				"%s the container: container not running", what);
	if (r == -ETIMEDOUT)
		return sbx_fail(err, SBX_E_SYSTEM, ETIMEDOUT,
				"%s the container: a process in cgroup \"%s\" does not stop", what,
				h->path);
	return cgroup_fail(err, h, -r, what);
}

int cgroup_freeze(const struct cgroup *cg, struct sbx_error *err)
{
	const struct cgroup_hierarchy *h = NULL, *thawed;
	int r = freeze_tree(cg, &h);

	if (r == 0)
		return 0;
	if (h)
		thaw_tree(cg, &thawed);
	return fail_freezer(err, h, r, "freeze");
}

int cgroup_thaw(const struct cgroup *cg, struct sbx_error *err)
{
	const struct cgroup_hierarchy *h = NULL;
	int r = thaw_tree(cg, &h);

	return r == 0 ? 0 : fail_freezer(err, h, r, "thaw");
}

/* Somebody wants the group frozen: by its own file, or by that of a group above. */
static bool is_freezing_v2(const struct cgroup_hierarchy *h)
{
	struct cgroup_hierarchy part = *h;
	char text[16], *slash;

	do {
		if (cgroup_read_file(&part, "cgroup.freeze", text, sizeof(text)) > 0 &&
		    text[0] == '1')
			return true;
		slash = strrchr(part.path, '/');
		if (slash)
			*slash = '\0';
	} while (slash && part.path[0]);
	return false;
}

/*
 * "frozen 1" of cgroup.events is not enough: the kernel (seen on 6.18) leaves it there for good
 * when a group that has groups below is thawed while the killed processes of those are dying.
 */
static bool is_frozen_v2(const struct cgroup_hierarchy *h)
{
	char text[256];

	return cgroup_read_file(h, "cgroup.events", text, sizeof(text)) > 0 &&
	       strstr(text, "frozen 1") && is_freezing_v2(h);
}

bool cgroup_is_frozen(const struct cgroup *cg)
{
	const struct cgroup_hierarchy *v2 = made_unified(cg), *v1 = made_freezer(cg);
	char text[256];

	if (v2 && is_frozen_v2(v2))
		return true;
	return v1 && cgroup_read_file(v1, "freezer.state", text, sizeof(text)) > 0 &&
	       strcmp(text, "THAWED") != 0;
}

int cgroup_let_die(const struct cgroup *cg, struct sbx_error *err)
{
	int r = cgroup_is_frozen(cg) ? cgroup_thaw(cg, err) : 0;

	thaw_each(cg);
	return r;
}

/* ---- listing ---- */

struct pid_list {
	pid_t *v;
	size_t n, cap;
};

static int add_pid(struct pid_list *list, pid_t pid)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 64;
		pid_t *grown = realloc(list->v, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->v = grown;
		list->cap = cap;
	}
	list->v[list->n++] = pid;
	return 0;
}

/* Decimal lines from the kernel; 0 is a process of a pid namespace that this one cannot see. */
static int add_pids(struct pid_list *list, const char *text)
{
	while (*text) {
		char *end;
		long pid = strtol(text, &end, 10);

		if (end == text || (*end != '\n' && *end != '\0') || pid < 0 || pid > INT32_MAX)
			return -EPROTO;
		if (pid > 0) {
			int r = add_pid(list, (pid_t)pid);

			if (r < 0)
				return r;
		}
		text = *end ? end + 1 : end;
	}
	return 0;
}

static int visit_list(int dirfd, void *data)
{
	cleanup_fd int fd = openat(dirfd, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_buf struct buf text = BUF_INIT;
	int r;

	if (fd < 0)
		return errno == ENOENT || errno == ENODEV ? 0 : -errno;
	r = fd_read_all(fd, PROCS_MAX_BYTES, &text);
	/* threaded groups refuse: the processes stand in their domain's list; ENODEV: just removed
	 */
	if (r == -EOPNOTSUPP || r == -ENODEV)
		return 0;
	if (r < 0)
		return r;
	return text.len ? add_pids(data, text.data) : 0;
}

static const struct cgroup_hierarchy *list_hierarchy(const struct cgroup *cg)
{
	const struct cgroup_hierarchy *h = made_unified(cg);

	if (!h)
		h = made_freezer(cg);
	for (size_t i = 0; !h && i < cg->n; i++)
		if (cg->v[i].made)
			h = &cg->v[i];
	return h;
}

int cgroup_list_pids(const struct cgroup *cg, pid_t **ret_pids)
{
	const struct cgroup_hierarchy *h = list_hierarchy(cg);
	struct pid_list list = {0};
	int r = h ? cgroup_walk(h, visit_list, &list) : 0;

	if (r < 0 && r != -ENOENT) {
		free(list.v);
		return r;
	}
	*ret_pids = list.v;
	return (int)list.n;
}

/* ---- signals ---- */

/* Signal every process once. Count, or the first -errno other than that one has gone. */
static int signal_each(const struct cgroup *cg, int sig)
{
	cleanup_free pid_t *pids = NULL;
	int n = cgroup_list_pids(cg, &pids), first = 0;
	pid_t self = getpid();

	for (int i = 0; i < n; i++)
		if (pids[i] != self && kill(pids[i], sig) < 0 && errno != ESRCH && first == 0)
			first = -errno;
	return first < 0 ? first : n;
}

/* Without cgroup.kill. Frozen, one round reaches all; where freezing failed, rounds follow until
 * nothing is left that could have forked meanwhile. */
static int kill_by_rounds(const struct cgroup *cg)
{
	const struct cgroup_hierarchy *h;
	int64_t deadline = clock_now_ms() + KILL_WAIT_MS;
	cleanup_free pid_t *pids = NULL;
	bool frozen;
	int r = cgroup_list_pids(cg, &pids);

	/* Nobody is there who could fork: the usual case after the end of a pid namespace. */
	if (r == 0)
		return 0;
	frozen = freeze_tree(cg, &h) == 0;
	r = signal_each(cg, SIGKILL);

	thaw_dying(cg);
	while (!frozen && r > 0 && clock_now_ms() < deadline) {
		poll(NULL, 0, 2);
		r = signal_each(cg, SIGKILL);
	}
	return r < 0 ? r : 0;
}

static int kill_all(const struct cgroup *cg)
{
	const struct cgroup_hierarchy *v2 = made_unified(cg);
	char events[256];
	int r;

	/* the usual case after the end of a pid namespace: nobody is there */
	if (v2 && cgroup_read_file(v2, "cgroup.events", events, sizeof(events)) > 0 &&
	    strstr(events, "populated 0"))
		return 0;
	r = v2 ? cgroup_write_file(v2, "cgroup.kill", "1") : -ENOENT;
	if (r == -ENOENT)
		return kill_by_rounds(cg);
	thaw_dying(cg);
	return r;
}

static int signal_running(const struct cgroup *cg, int sig)
{
	const struct cgroup_hierarchy *h;
	bool was_frozen = cgroup_is_frozen(cg);
	int r;

	if (!was_frozen)
		freeze_tree(cg, &h);
	r = signal_each(cg, sig);
	if (!was_frozen)
		thaw_tree(cg, &h);
	return r < 0 ? r : 0;
}

int cgroup_signal_all(const struct cgroup *cg, int sig, struct sbx_error *err)
{
	const struct cgroup_hierarchy *h = list_hierarchy(cg);
	char full[CGROUP_FULL_PATH_MAX];
	int r;

	if (!h)
		return 0;
	r = cgroup_file_path(h, "", full);
	if (r == 0 && access(full, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (r == 0)
		r = sig == SIGKILL ? kill_all(cg) : signal_running(cg, sig);
	return r < 0 ? cgroup_fail(err, h, -r, "signal the processes of cgroup") : 0;
}
