/*
 * resctrl classes, in a folder that stands in for the file system: what the kernel makes in a new
 * class (tasks, schemata) the test makes, and the kernel's own checks are not there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/linux/resctrl.h"
#include "runtime/base/fd.h"
#include "tests/unit/privileges.h"

struct fixture {
	char path[256];
	int root;
	struct sbx_error err;
};

static void put(struct fixture *f, const char *name, const char *text)
{
	assert_int_equal(fd_replace_file_at(f->root, name, text, strlen(text), 0600), 0);
}

static void expect(struct fixture *f, const char *name, const char *text)
{
	char found[256] = "";
	int fd = openat(f->root, name, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, found, sizeof(found) - 1) >= 0);
	close(fd);
	assert_string_equal(found, text);
}

static bool exists(const struct fixture *f, const char *name)
{
	return faccessat(f->root, name, F_OK, 0) == 0;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!mkdtemp(temporary_template(f->path, "sbx-resctrl")))
		return -1;
	f->root = open(f->path, O_PATH | O_DIRECTORY);
	assert_int_equal(mkdirat(f->root, "mon_groups", 0755), 0);
	assert_int_equal(mkdirat(f->root, "info", 0755), 0);
	put(f, "tasks", "");
	put(f, "schemata", "    L3:0=7ff;1=7ff\n    MB:0=100;1=100\n");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->root);
	fd_remove_tree_at(AT_FDCWD, f->path);
	free(f);
	return 0;
}

/* covers linux.intelRdt.l3CacheSchema linux.intelRdt.memBwSchema linux.intelRdt.schemata */
static void test_own_class(void **state)
{
	struct fixture *f = *state;
	char *more[] = {(char *)"L2:0=f", NULL};
	struct oci_intel_rdt rdt = {.l3_cache_schema = "L3:0=7f0;1=1f\nMB:0=1",
				    .mem_bw_schema = "MB:0=20;1=70",
				    .schemata = {more, 1}};
	struct resctrl_group group = resctrl_group_of(f->root, &rdt, "box");

	assert_int_equal(resctrl_make(&group, &rdt, &f->err), 0);
	assert_true(group.made);
	put(f, "box/schemata", "");
	put(f, "box/tasks", "");
	assert_int_equal(resctrl_set(&group, &rdt, &f->err), 0);
	/* memory bandwidth from its own member alone, the rest last */
	expect(f, "box/schemata", "L3:0=7f0;1=1f\nMB:0=20;1=70\nL2:0=f\n");
	assert_int_equal(resctrl_add_task(&group, 4711, &f->err), 0);
	expect(f, "box/tasks", "4711");
	unlinkat(f->root, "box/schemata", 0);
	unlinkat(f->root, "box/tasks", 0);
	assert_int_equal(resctrl_remove(&group, &rdt, &f->err), 0);
	assert_false(exists(f, "box"));
	assert_int_equal(resctrl_remove(&group, &rdt, &f->err), 0);
}

static void test_own_class_is_new(void **state)
{
	struct fixture *f = *state;
	struct oci_intel_rdt rdt = {.mem_bw_schema = "MB:0=20"};
	struct resctrl_group group = resctrl_group_of(f->root, &rdt, "box");

	assert_int_equal(mkdirat(f->root, "box", 0755), 0);
	assert_true(resctrl_make(&group, &rdt, &f->err) < 0);
	assert_false(group.made);
	assert_true(exists(f, "box"));
}

/* covers linux.intelRdt.closID */
static void test_given_class(void **state)
{
	struct fixture *f = *state;
	struct oci_intel_rdt rdt = {.clos_id = "gold"};
	struct resctrl_group group = resctrl_group_of(f->root, &rdt, "box");

	/* without a schema it must be there */
	assert_true(resctrl_make(&group, &rdt, &f->err) < 0);
	assert_false(exists(f, "gold"));
	assert_int_equal(mkdirat(f->root, "gold", 0755), 0);
	put(f, "gold/schemata", "    L3:0=00f;1=7FF\n    MB:0= 20;1= 70\n");
	put(f, "gold/tasks", "");
	assert_int_equal(resctrl_make(&group, &rdt, &f->err), 0);
	assert_false(group.made);
	assert_int_equal(resctrl_set(&group, &rdt, &f->err), 0);
	/* with one it is compared, and never written */
	rdt.l3_cache_schema = "L3:1=7ff;0=f";
	assert_int_equal(resctrl_set(&group, &rdt, &f->err), 0);
	rdt.l3_cache_schema = "L3:0=f0";
	assert_int_equal(resctrl_set(&group, &rdt, &f->err), -EINVAL);
	assert_non_null(strstr(f->err.message, "other schemata"));
	rdt.l3_cache_schema = "L3:2=f";
	assert_int_equal(resctrl_set(&group, &rdt, &f->err), -EINVAL);
	rdt.l3_cache_schema = "L2:0=f";
	assert_int_equal(resctrl_set(&group, &rdt, &f->err), -EINVAL);
	rdt.l3_cache_schema = "garbage";
	assert_int_equal(resctrl_set(&group, &rdt, &f->err), -EINVAL);
	expect(f, "gold/schemata", "    L3:0=00f;1=7FF\n    MB:0= 20;1= 70\n");
	assert_int_equal(resctrl_remove(&group, &rdt, &f->err), 0);
	assert_true(exists(f, "gold"));
	/* update writes it */
	rdt.l3_cache_schema = "L3:0=1";
	assert_int_equal(resctrl_write(&group, &rdt, &f->err), 0);
}

static void test_given_class_is_made(void **state)
{
	struct fixture *f = *state;
	struct oci_intel_rdt rdt = {.clos_id = "silver", .mem_bw_schema = "MB:0=20"};
	struct resctrl_group group = resctrl_group_of(f->root, &rdt, "box");

	assert_int_equal(resctrl_make(&group, &rdt, &f->err), 0);
	assert_true(group.made);
	assert_int_equal(resctrl_remove(&group, &rdt, &f->err), 0);
	assert_true(exists(f, "silver")); /* it has a name of its own: others may use it */
}

/* covers linux.intelRdt.enableMonitoring */
static void test_monitoring(void **state)
{
	struct fixture *f = *state;
	struct oci_intel_rdt rdt = {.clos_id = "/", .enable_monitoring = true};
	struct resctrl_group group = resctrl_group_of(f->root, &rdt, "box");

	assert_int_equal(resctrl_make(&group, &rdt, &f->err), 0);
	assert_true(exists(f, "mon_groups/box"));
	put(f, "mon_groups/box/tasks", "");
	assert_int_equal(resctrl_add_task(&group, 12, &f->err), 0);
	expect(f, "tasks", "12");
	expect(f, "mon_groups/box/tasks", "12");
	unlinkat(f->root, "mon_groups/box/tasks", 0);
	assert_int_equal(resctrl_remove(&group, &rdt, &f->err), 0);
	assert_false(exists(f, "mon_groups/box"));
	assert_true(exists(f, "mon_groups"));
}

static void test_failure_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	struct oci_intel_rdt rdt = {.mem_bw_schema = "MB:0=20", .enable_monitoring = true};
	struct resctrl_group group = resctrl_group_of(f->root, &rdt, "box");

	/* a new class of the stand-in has no mon_groups */
	assert_true(resctrl_make(&group, &rdt, &f->err) < 0);
	assert_false(exists(f, "box"));
	/* the kernel's own words are in the error */
	put(f, "info/last_cmd_status", "mask is wrong\n");
	assert_int_equal(mkdirat(f->root, "box", 0755), 0);
	assert_true(resctrl_write(&group, &rdt, &f->err) < 0);
	assert_non_null(strstr(f->err.message, "mask is wrong"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_own_class),	TEST(test_own_class_is_new),
		TEST(test_given_class), TEST(test_given_class_is_made),
		TEST(test_monitoring),	TEST(test_failure_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
