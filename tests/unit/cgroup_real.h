/*
 * For tests on real control groups: root, with hierarchies that may be written; skipped else. All
 * happens below /sbx-test-PID and is removed again.
 */
#ifndef SBX_TESTS_CGROUP_REAL_H
#define SBX_TESTS_CGROUP_REAL_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/linux/cgroup/internal.h"

static char test_path[64];
static struct host_facts host;
static const struct oci_resources *needs_resources; /* for the controllers of cgroup2 */

static inline int setup_root(void **state)
{
	(void)state;
	host_probe(&host);
	snprintf(test_path, sizeof(test_path), "/sbx-test-%d/a", (int)getpid());
	return 0;
}

static inline struct plan_cgroup test_plan(void)
{
	return (struct plan_cgroup){
		.path = test_path, .path_given = true, .resources = needs_resources};
}

static inline void make(struct cgroup *cg)
{
	struct plan_cgroup plan = test_plan();
	struct sbx_error err = {0};

	if (geteuid() != 0 || host.cgroup_mode == CGROUP_MODE_NONE)
		skip();
	assert_int_equal(cgroup_resolve(&plan, &host, cg, &err), 0);
	assert_true(cg->n > 0);
	if (cgroup_create(&plan, cg, &err) < 0) {
		if (err.errnum == EROFS)
			skip();
		fail_msg("%s", err.message);
	}
}

/* Remove the group and the parent that the test made. */
static inline void unmake(struct cgroup *cg)
{
	struct sbx_error err = {0};

	if (cgroup_remove(cg, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < cg->n; i++) {
		char full[CGROUP_FULL_PATH_MAX];

		*strrchr(cg->v[i].path, '/') = '\0';
		assert_int_equal(cgroup_file_path(&cg->v[i], "", full), 0);
		assert_int_equal(rmdir(full), 0);
	}
}

static inline pid_t start_sleeper(const struct cgroup_entry *entry)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (entry && cgroup_entry_use(entry, NULL) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	return pid;
}

static inline void end_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static inline bool membership_is(pid_t pid, const struct cgroup *cg)
{
	struct cgroup_layout layout;

	assert_int_equal(cgroup_discover(pid, &layout, NULL), 0);
	assert_int_equal(layout.n, cg->n);
	for (size_t i = 0; i < layout.n; i++)
		if (strcmp(cgroup_mount_own(&layout.v[i]), cg->v[i].path) != 0)
			return false;
	return true;
}

#endif
