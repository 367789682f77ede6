/* Whose a group is: for root with writable hierarchies, on real groups. */
#include <stdlib.h>

#include "runtime/base/cleanup.h"
#include "tests/unit/cgroup_real.h"

static mode_t mode_of(const struct cgroup *cg)
{
	struct stat st = {0};

	for (size_t i = 0; i < cg->n; i++) {
		char full[CGROUP_FULL_PATH_MAX];

		assert_int_equal(cgroup_file_path(&cg->v[i], "", full), 0);
		if (stat(full, &st) < 0)
			return 0;
	}
	return st.st_mode & 07777;
}

static bool exists(const struct cgroup *cg)
{
	return mode_of(cg) != 0;
}

/* As somebody else made it: without the mark of a container's group. */
static void set_mode(const struct cgroup *cg, mode_t mode)
{
	for (size_t i = 0; i < cg->n; i++) {
		char full[CGROUP_FULL_PATH_MAX];

		assert_int_equal(cgroup_file_path(&cg->v[i], "", full), 0);
		assert_int_equal(chmod(full, mode), 0);
	}
}

/* Exit status: 0 it got the group, 1 it was refused as it should be, 2 anything else. */
static pid_t start_contender(const struct plan_cgroup *plan, int ready[2], int go[2])
{
	pid_t pid = fork();
	struct sbx_error err = {0};
	struct cgroup cg;
	char byte = 0;

	if (pid != 0)
		return pid;
	close(go[1]);
	if (cgroup_resolve(plan, &host, &cg, NULL) < 0 || write(ready[1], &byte, 1) != 1 ||
	    read(go[0], &byte, 1) != 0)
		_exit(2);
	if (cgroup_create(plan, &cg, &err) == 0)
		_exit(0);
	_exit(strstr(err.message, "another container's") ? 1 : 2);
}

static void refuses_a_populated_target(void **state)
{
	struct plan_cgroup plan = test_plan();
	struct sbx_error err = {0};
	struct cgroup cg, second;
	pid_t pid;

	(void)state;
	make(&cg);
	pid = start_sleeper(NULL);
	assert_int_equal(cgroup_join(&cg, pid, false, NULL), 0);
	assert_int_equal(cgroup_resolve(&plan, &host, &second, NULL), 0);
	assert_int_equal(cgroup_create(&plan, &second, &err), -EBUSY);
	assert_non_null(strstr(err.message, "holds processes"));
	assert_true(membership_is(pid, &cg));
	/* what was never made is never emptied */
	assert_int_equal(cgroup_remove(&second, NULL), 0);
	assert_true(membership_is(pid, &cg));
	end_sleeper(pid);
	/* vacant again, it still is the first one's */
	assert_int_equal(cgroup_create(&plan, &second, &err), -EBUSY);
	assert_non_null(strstr(err.message, "another container's"));
	cgroup_remove_abandoned(&cg);
	assert_int_equal(cgroup_remove(&second, NULL), 0);
	assert_true(exists(&cg));
	unmake(&cg);
}

/* What somebody prepared is taken over as it is, with its parents; a group below that another
 * container has keeps it from being taken. */
static void takes_over_a_vacant_target(void **state)
{
	struct plan_cgroup plan = test_plan(), above = test_plan();
	struct sbx_error err = {0};
	struct cgroup cg, parent;
	char path[64];

	(void)state;
	make(&cg);
	snprintf(path, sizeof(path), "%.*s", (int)(strrchr(test_path, '/') - test_path), test_path);
	above.path = path;
	assert_int_equal(cgroup_resolve(&above, &host, &parent, NULL), 0);
	assert_int_equal(cgroup_create(&above, &parent, &err), -EBUSY);
	assert_non_null(strstr(err.message, "another container's"));
	set_mode(&cg, 0750);
	cgroup_remove_abandoned(&cg); /* no container made it */
	assert_true(exists(&cg));
	assert_int_equal(cgroup_create(&plan, &cg, NULL), 0);
	assert_int_equal(mode_of(&cg), 01750);
	unmake(&cg);
}

/* The creator was killed before it said what it made. */
static void removes_what_is_abandoned(void **state)
{
	struct cgroup cg, unsaved;
	pid_t pid;

	(void)state;
	make(&cg);
	unsaved = cg;
	for (size_t i = 0; i < unsaved.n; i++)
		unsaved.v[i].made = false;
	pid = start_sleeper(NULL);
	assert_int_equal(cgroup_join(&cg, pid, false, NULL), 0);
	cgroup_remove_abandoned(&unsaved);
	assert_true(exists(&cg)); /* not empty */
	end_sleeper(pid);
	cgroup_remove_abandoned(&unsaved);
	assert_false(exists(&cg));
	unmake(&cg);
}

/* Two processes want one group again and again: each time exactly one gets it. */
static void only_one_gets_it(void **state)
{
	struct plan_cgroup plan = test_plan();
	int ready[2], go[2];
	struct cgroup cg;
	bool prepared;
	pid_t pids[4];

	(void)state;
	make(&cg);
	for (int round = 0; round < 50; round++) {
		int winners = 0, status;

		prepared = round % 2;
		if (prepared)
			set_mode(&cg, 0755);
		else
			assert_int_equal(cgroup_remove(&cg, NULL), 0);
		assert_int_equal(pipe(ready), 0);
		assert_int_equal(pipe(go), 0);
		for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
			pids[i] = start_contender(&plan, ready, go);
		close(ready[1]);
		close(go[0]);
		for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
			assert_int_equal(read(ready[0], &status, 1), 1);
		close(go[1]);
		for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
			winners += WEXITSTATUS(status) == 0;
		}
		close(ready[0]);
		assert_int_equal(winners, 1);
		assert_true(exists(&cg));
	}
	unmake(&cg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_a_populated_target),
		cmocka_unit_test(takes_over_a_vacant_target),
		cmocka_unit_test(removes_what_is_abandoned),
		cmocka_unit_test(only_one_gets_it),
	};

	return cmocka_run_group_tests(tests, setup_root, NULL);
}
