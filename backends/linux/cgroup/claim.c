/*
 * Whose a group is.
 *
 * Whoever has a group kills all that is in it, so no two containers may have one: not two that are
 * made at the same time, and not one that was made where another, whose processes have ended, was
 * not deleted yet. A container's group carries the sticky bit as its mark. mkdir(2) sets it in the
 * same step, and only one mkdir(2) can succeed; a vacant group that somebody prepared, which has no
 * mark, gets it under its flock(2). The kernel makes nothing of the bit here, and it is there for
 * every user and on every kernel, which an extended attribute is not.
 */
#include "backends/linux/cgroup/internal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

#define GROUP_MARK	  S_ISVTX
#define CLAIM_TRIES	  16
#define ABANDONED_WAIT_MS 200
#define ABANDONED_STEP_MS 10

static bool is_marked(const struct stat *st)
{
	return st->st_mode & GROUP_MARK;
}

enum { VACANT, POPULATED, TAKEN };

static int visit_occupied(int dirfd, void *data)
{
	char procs[32];
	ssize_t n = cgroup_read_file_at(dirfd, "cgroup.procs", procs, sizeof(procs));
	struct stat st;

	(void)data;
	if (n > 0)
		return POPULATED;
	/* EOPNOTSUPP: threaded, its processes are listed by the domain above */
	if (n < 0 && n != -EOPNOTSUPP && n != -ENODEV && n != -ENOENT)
		return (int)n;
	return fstat(dirfd, &st) == 0 && is_marked(&st) ? TAKEN : VACANT;
}

static int fail_taken(const struct cgroup_hierarchy *h, struct sbx_error *err)
{
	return sbx_fail(
		err, SBX_E_SYSTEM, EBUSY,
		"use cgroup \"%s\" of %s: it is another container's (or was, and its state is "
		"lost: remove the cgroup)",
		h->path, cgroup_hierarchy_name(h));
}

/* An existing target may be used only when nobody has it and nothing lives in it: its processes
 * would become part of this container, and die with it. */
static int check_vacant(const struct cgroup_hierarchy *h, struct sbx_error *err)
{
	char value[256];
	int r = cgroup_walk(h, visit_occupied, NULL);

	if (r == POPULATED)
		return sbx_fail(err, SBX_E_SYSTEM, EBUSY,
				"use cgroup \"%s\" of %s: it exists and holds processes", h->path,
				cgroup_hierarchy_name(h));
	if (r == TAKEN)
		return fail_taken(h, err);
	if (r == -ENOENT)
		return -EAGAIN;
	if (r < 0)
		return cgroup_fail(err, h, -r, "look into the existing cgroup");
	if (cgroup_read_file(h, h->unified ? "cgroup.freeze" : "freezer.self_freezing", value,
			     sizeof(value)) > 0 &&
	    value[0] == '1')
		return sbx_fail(err, SBX_E_SYSTEM, EBUSY,
				"use cgroup \"%s\" of %s: it exists and is frozen", h->path,
				cgroup_hierarchy_name(h));
	return 0;
}

/* The descriptor's group still is the one that the path leads to. */
static bool is_current(const char *full, const struct stat *held)
{
	struct stat named;

	return lstat(full, &named) == 0 && named.st_dev == held->st_dev &&
	       named.st_ino == held->st_ino;
}

/* Make an existing group this container's. -EAGAIN: it went away meanwhile. */
static int claim_existing(const struct cgroup_hierarchy *h, const char *full, struct sbx_error *err)
{
	cleanup_fd int fd = cgroup_open_dir(h);
	struct stat st;
	int r;

	if (fd == -ENOENT)
		return -EAGAIN;
	if (fd < 0)
		return cgroup_fail(err, h, -fd, "look into the existing cgroup");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return fail_taken(h, err); /* by whoever sets the mark now */
	r = check_vacant(h, err);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0 || fchmod(fd, (st.st_mode & 07777) | GROUP_MARK) < 0)
		return cgroup_fail(err, h, errno, "take over cgroup");
	return is_current(full, &st) ? 0 : -EAGAIN;
}

int cgroup_take(const struct cgroup_hierarchy *h, struct sbx_error *err)
{
	char full[CGROUP_FULL_PATH_MAX];
	int r = cgroup_file_path(h, "", full);

	for (int tries = 0; r == 0 && tries < CLAIM_TRIES; tries++) {
		if (mkdir(full, 0755 | GROUP_MARK) == 0)
			return 0;
		if (errno == EEXIST) {
			int claimed = claim_existing(h, full, err);

			if (claimed != -EAGAIN)
				return claimed;
		} else {
			r = -errno;
		}
	}
	return r == -ENOENT ? r : cgroup_fail(err, h, r < 0 ? -r : EBUSY, "make cgroup");
}

/* The creator is dead, its child dies: it may still stand in the group for a moment. */
static void remove_abandoned(const struct cgroup_hierarchy *h)
{
	char full[CGROUP_FULL_PATH_MAX];
	struct stat st;

	if (h->made || cgroup_file_path(h, "", full) < 0)
		return;
	for (int waited = 0; waited < ABANDONED_WAIT_MS; waited += ABANDONED_STEP_MS) {
		if (lstat(full, &st) < 0 || !is_marked(&st) || cgroup_rmdir(h) != -EBUSY)
			return;
		poll(NULL, 0, ABANDONED_STEP_MS);
	}
}

void cgroup_remove_abandoned(const struct cgroup *cg)
{
	for (size_t i = 0; i < cg->n; i++)
		remove_abandoned(&cg->v[i]);
}

/* ---- without a state ---- */

static bool holds_caller(const struct cgroup_hierarchy *h, const struct cgroup_layout *own)
{
	for (size_t i = 0; i < own->n; i++) {
		if (strcmp(own->v[i].mount, h->mount) == 0 &&
		    path_is_below(cgroup_mount_own(&own->v[i]), h->path))
			return true;
	}
	return false;
}

int cgroup_recover(struct cgroup *cg, struct sbx_error *err)
{
	struct cgroup_layout own;
	char *mark = strrchr(cg->unit.description, ' ');
	int r = cgroup_discover(0, &own, err);

	if (r < 0)
		return r;
	if (mark)
		mark[1] = '\0';
	for (size_t i = 0; i < cg->n; i++) {
		char full[CGROUP_FULL_PATH_MAX];
		struct stat st;

		if (holds_caller(&cg->v[i], &own)) {
			cg->n = 0;
			return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
					"the caller itself is in cgroup \"%s\"", cg->v[i].path);
		}
		/* A name of systemd's may be another's by now: its description decides. */
		if (mark)
			continue;
		cg->v[i].made = cgroup_file_path(&cg->v[i], "", full) == 0 &&
				lstat(full, &st) == 0 && is_marked(&st);
	}
	return 0;
}
