/*
 * Control groups: the parsers on fixed bytes, and, for root with writable hierarchies, the life of
 * a real group.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/linux/cgroup/internal.h"
#include "runtime/base/cleanup.h"
#include "tests/unit/cgroup_real.h"

/* ---- parsers ---- */

static const char membership[] = "9:name=systemd:/\n"
				 "4:memory:/outer/own\n"
				 "3:cpu,cpuacct:/x\n"
				 "0::/user.slice\n";

static void parses_membership(void **state)
{
	struct cgroup_layout layout;

	(void)state;
	assert_int_equal(cgroup_parse_membership(membership, sizeof(membership) - 1, &layout), 0);
	assert_int_equal(layout.n, 4);
	assert_string_equal(layout.v[0].controllers, "name=systemd");
	assert_string_equal(layout.v[1].own, "/outer/own");
	assert_string_equal(layout.v[2].controllers, "cpu,cpuacct");
	assert_false(layout.v[2].unified);
	assert_true(layout.v[3].unified);
	assert_string_equal(layout.v[3].own, "/user.slice");
}

static void refuses_bad_membership(void **state)
{
	static const char *const bad[] = {"x", "1:cpu", "1:cpu:", "1:cpu:relative", ":", "1:cpu\n"};
	char line[2048], many[1024] = "";
	struct cgroup_layout layout;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(cgroup_parse_membership(bad[i], strlen(bad[i]), &layout), -EPROTO);
	snprintf(line, sizeof(line), "1:cpu:/%01000d\n", 0);
	assert_int_equal(cgroup_parse_membership(line, strlen(line), &layout), -EPROTO);
	snprintf(line, sizeof(line), "1:%0100d:/\n", 0);
	assert_int_equal(cgroup_parse_membership(line, strlen(line), &layout), -EPROTO);
	assert_int_equal(cgroup_parse_membership("1:cpu:/a\0b\n", 11, &layout), -EPROTO);
	for (int i = 0; i <= CGROUP_HIERARCHIES_MAX; i++)
		strcat(many, "1:cpu:/\n");
	assert_int_equal(cgroup_parse_membership(many, strlen(many), &layout), -E2BIG);
}

static void parse_line(const char *line, struct cgroup_layout *layout)
{
	assert_int_equal(cgroup_parse_mount_line(line, strlen(line), layout), 0);
}

static void finds_mounts(void **state)
{
	struct cgroup_layout l;

	(void)state;
	assert_int_equal(cgroup_parse_membership(membership, sizeof(membership) - 1, &l), 0);
	parse_line("22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw", &l);
	parse_line("34 30 0:31 /outer /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory", &l);
	parse_line("35 30 0:31 / /later rw - cgroup cgroup rw,memory", &l);
	parse_line(
		"36 30 0:32 / /sys/fs/cgroup/cpu\\040x rw master:2 propagate_from:1 - cgroup none "
		"rw,cpuacct,cpu",
		&l);
	parse_line("39 30 0:36 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd",
		   &l);
	assert_int_equal(l.missing, 1);
	parse_line("40 30 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw", &l);
	assert_int_equal(l.missing, 0);
	assert_string_equal(l.v[0].mount, "/sys/fs/cgroup/systemd");
	assert_string_equal(l.v[1].mount, "/sys/fs/cgroup/memory");
	assert_string_equal(l.v[2].mount, "/sys/fs/cgroup/cpu x");
	assert_string_equal(l.v[3].mount, "/sys/fs/cgroup/unified");
	assert_string_equal(cgroup_mount_own(&l.v[1]), "/own");
	assert_string_equal(cgroup_mount_own(&l.v[0]), "/");
	assert_string_equal(cgroup_mount_own(&l.v[3]), "/user.slice");
}

static void own_group_outside_of_the_mount(void **state)
{
	struct cgroup_mount m = {.own = "/../other", .root = "/"};

	(void)state;
	assert_string_equal(cgroup_mount_own(&m), "/");
	m = (struct cgroup_mount){.own = "/outer2/x", .root = "/outer"};
	assert_string_equal(cgroup_mount_own(&m), "/");
	m = (struct cgroup_mount){.own = "/outer", .root = "/outer"};
	assert_string_equal(cgroup_mount_own(&m), "/");
}

static void refuses_bad_mount_lines(void **state)
{
	static const char *const bad[] = {
		"34 30 0:31 / /x rw - cgroup2 cgroup2",
		"34",
		"",
		"34 30 0:31 / /x rw shared:1",
		"34 30 0:31 / /x\\04 rw - cgroup2 cgroup2 rw",
		"34 30 0:31 / /x\\000 rw - cgroup2 cgroup2 rw",
		"34 30 0:31 / relative rw - cgroup2 cgroup2 rw",
	};
	struct cgroup_layout l;

	(void)state;
	for (size_t i = 1; i < ARRAY_SIZE(bad); i++) {
		cgroup_parse_membership("0::/\n", 5, &l);
		assert_int_equal(cgroup_parse_mount_line(bad[i], strlen(bad[i]), &l), -EPROTO);
		assert_int_equal(l.missing, 1);
	}
	/* no superblock options behind the source is still a cgroup2 mount */
	cgroup_parse_membership("0::/\n", 5, &l);
	parse_line(bad[0], &l);
	assert_int_equal(l.missing, 0);
}

static void lists(void **state)
{
	(void)state;
	assert_true(cgroup_list_has("cpu,cpuacct", "cpu"));
	assert_true(cgroup_list_has("cpu,cpuacct", "cpuacct"));
	assert_false(cgroup_list_has("cpuset", "cpu"));
	assert_false(cgroup_list_has("", "cpu"));
}

static void checks_paths(void **state)
{
	static const char *const bad[] = {"/",
					  "",
					  "a",
					  "/a/",
					  "/a//b",
					  "/a/../b",
					  "/..",
					  "/./a",
					  "/" CGROUP_RESERVED_PREFIX "a",
					  "/a/" CGROUP_RESERVED_PREFIX "hooks-1-2/b"};
	char longest[600] = "/";

	(void)state;
	assert_int_equal(cgroup_check_path("/a/b:c", NULL), 0);
	assert_int_equal(cgroup_check_path("/a/x" CGROUP_RESERVED_PREFIX "b", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(cgroup_check_path(bad[i], NULL) < 0);
	memset(longest + 1, 'x', sizeof(longest) - 2);
	assert_true(cgroup_check_path(longest, NULL) < 0);
}

/* ---- the state form ---- */

static void state_round_trip(void **state)
{
	struct cgroup cg = {.mode = CGROUP_MODE_HYBRID, .n = 2}, back;
	cleanup_buf struct buf text = BUF_INIT;
	cleanup_arena struct arena arena;
	struct json_node *root;
	struct json_writer w;

	(void)state;
	cg.v[0] = (struct cgroup_hierarchy){
		"cpu,cpuacct", "/sys/fs/cgroup/cpu", "/sbx/a", 0, 1, 1, 0};
	cg.v[1] = (struct cgroup_hierarchy){"", "/sys/fs/cgroup/unified", "/sbx/a", 1, 0, 0, 0};
	json_writer_init(&w, &text, 0);
	cgroup_write(&w, NULL, &cg);
	arena_init(&arena, 1 << 20);
	assert_int_equal(
		json_parse(&arena, "state", text.data, text.len, &json_limits_profile, &root, NULL),
		0);
	assert_int_equal(cgroup_read(root, &back), 0);
	assert_int_equal(back.n, 2);
	assert_int_equal(back.mode, CGROUP_MODE_HYBRID);
	assert_memory_equal(&back.v[0], &cg.v[0], sizeof(cg.v[0]));
	assert_memory_equal(&back.v[1], &cg.v[1], sizeof(cg.v[1]));
}

static void a_scope_round_trip(void **state)
{
	struct cgroup cg = {.mode = CGROUP_MODE_V2,
			    .manager = CGROUP_MANAGER_SYSTEMD,
			    .unit = {"a-b.scope", "sbx-runtime container b 1f", true},
			    .n = 1},
		      back;
	cleanup_buf struct buf text = BUF_INIT;
	cleanup_arena struct arena arena;
	struct json_node *root;
	struct json_writer w;

	(void)state;
	cg.v[0] = (struct cgroup_hierarchy){"", "/sys/fs/cgroup", "/a-b.scope/container", 1, 0,
					    1,	UINT64_MAX};
	json_writer_init(&w, &text, 0);
	cgroup_write(&w, NULL, &cg);
	arena_init(&arena, 1 << 20);
	assert_int_equal(
		json_parse(&arena, "state", text.data, text.len, &json_limits_profile, &root, NULL),
		0);
	assert_int_equal(cgroup_read(root, &back), 0);
	assert_memory_equal(&back.unit, &cg.unit, sizeof(cg.unit));
	assert_memory_equal(&back.v[0], &cg.v[0], sizeof(cg.v[0]));
}

static void state_refuses(void **state)
{
	static const char *const bad[] = {
		"{}",
		"[]",
		"{\"manager\":\"cgroupfs\",\"mode\":\"v2\",\"hierarchies\":[{}]}",
		"{\"manager\":\"cgroupfs\",\"mode\":\"v3\",\"hierarchies\":[]}",
		"{\"manager\":\"other\",\"mode\":\"v2\",\"hierarchies\":[]}",
		"{\"manager\":\"cgroupfs\",\"mode\":\"v2\",\"hierarchies\":[{\"controllers\":\"\","
		"\"mount\":\"/m\",\"path\":\"/a/../..\",\"unified\":true,\"made\":true}]}",
		"{\"manager\":\"cgroupfs\",\"mode\":\"v2\",\"hierarchies\":[{\"controllers\":\"\","
		"\"mount\":\"/m\",\"path\":\"/\",\"unified\":true,\"made\":true}]}",
		"{\"manager\":\"systemd\",\"mode\":\"v2\",\"hierarchies\":[]}",
		"{\"manager\":\"systemd\",\"mode\":\"v2\",\"unit\":\"a/b.scope\",\"description\":"
		"\"x\",\"userManager\":false,\"hierarchies\":[]}",
		"{\"manager\":\"systemd\",\"mode\":\"v2\",\"unit\":\"ssh.service\",\"description\":"
		"\"x\",\"userManager\":false,\"hierarchies\":[]}",
	};
	cleanup_arena struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct json_node *root;
		struct cgroup cg;

		assert_int_equal(json_parse(&arena, "state", bad[i], strlen(bad[i]),
					    &json_limits_profile, &root, NULL),
				 0);
		assert_int_equal(cgroup_read(root, &cg), -EINVAL);
	}
}

/* ---- real groups ---- */

static void joins_every_hierarchy(void **state)
{
	struct cgroup cg;
	pid_t pid;

	(void)state;
	make(&cg);
	pid = start_sleeper(NULL);
	assert_false(membership_is(pid, &cg));
	assert_int_equal(cgroup_join(&cg, pid, false, NULL), 0);
	assert_true(membership_is(pid, &cg));
	end_sleeper(pid);
	unmake(&cg);
}

static void enters_by_itself(void **state)
{
	struct cgroup_entry entry;
	struct cgroup cg;
	pid_t pid;

	(void)state;
	make(&cg);
	assert_int_equal(cgroup_entry_open(&cg, &entry, NULL), 0);
	pid = start_sleeper(&entry);
	for (int i = 0; i < 500 && !membership_is(pid, &cg); i++)
		usleep(2000);
	assert_true(membership_is(pid, &cg));
	cgroup_entry_close(&entry);
	end_sleeper(pid);
	unmake(&cg);
}

static void removes_nested_groups(void **state)
{
	struct cgroup cg, child, grandchild;

	(void)state;
	make(&cg);
	assert_int_equal(cgroup_open_child(&cg, "b", true, &child, NULL), 0);
	assert_int_equal(cgroup_open_child(&child, "c", true, &grandchild, NULL), 0);
	assert_int_equal(cgroup_open_child(&cg, "d", true, &child, NULL), 0);
	assert_true(cgroup_open_child(&cg, "..", true, &child, NULL) < 0);
	assert_true(cgroup_open_child(&cg, "", true, &child, NULL) < 0);
	unmake(&cg);
}

static bool runs(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

static bool ends(pid_t pid)
{
	for (int i = 0; i < 1000; i++, usleep(2000))
		if (!runs(pid))
			return true;
	return false;
}

/* A sleeper in the group, and one in a child group of it. */
static void populate(const struct cgroup *cg, pid_t pids[2])
{
	struct cgroup child;

	assert_int_equal(cgroup_open_child(cg, "child", true, &child, NULL), 0);
	pids[0] = start_sleeper(NULL);
	pids[1] = start_sleeper(NULL);
	assert_int_equal(cgroup_join(cg, pids[0], false, NULL), 0);
	assert_int_equal(cgroup_join(&child, pids[1], false, NULL), 0);
}

static void lists_the_tree(void **state)
{
	cleanup_free pid_t *listed = NULL;
	struct cgroup cg;
	pid_t pids[2];

	(void)state;
	make(&cg);
	assert_int_equal(cgroup_list_pids(&cg, &listed), 0);
	free(take_ptr(listed));
	populate(&cg, pids);
	assert_int_equal(cgroup_list_pids(&cg, &listed), 2);
	assert_true(listed[0] != listed[1]);
	for (int i = 0; i < 2; i++)
		assert_true(listed[i] == pids[0] || listed[i] == pids[1]);
	end_sleeper(pids[0]);
	end_sleeper(pids[1]);
	unmake(&cg);
}

static int counter_pipe[2];

/* Writes a byte each millisecond. */
static pid_t start_counter(void)
{
	pid_t pid;

	assert_int_equal(pipe2(counter_pipe, O_NONBLOCK | O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		for (;; usleep(1000))
			if (write(counter_pipe[1], "x", 1) < 0 && errno != EAGAIN)
				_exit(1);
	return pid;
}

static bool counts(void)
{
	char drain[65536];

	while (read(counter_pipe[0], drain, sizeof(drain)) > 0)
		;
	usleep(50000);
	return read(counter_pipe[0], drain, sizeof(drain)) > 0;
}

static void freezes_and_thaws(void **state)
{
	struct cgroup cg;
	pid_t pid;

	(void)state;
	make(&cg);
	pid = start_counter();
	assert_int_equal(cgroup_join(&cg, pid, false, NULL), 0);
	assert_false(cgroup_is_frozen(&cg));
	assert_true(counts());
	assert_int_equal(cgroup_freeze(&cg, NULL), 0);
	assert_true(cgroup_is_frozen(&cg));
	assert_false(counts());
	assert_int_equal(cgroup_thaw(&cg, NULL), 0);
	assert_false(cgroup_is_frozen(&cg));
	assert_true(counts());
	end_sleeper(pid);
	close(counter_pipe[0]);
	close(counter_pipe[1]);
	unmake(&cg);
}

/* With the group above it. */
static void is_frozen_from_above(void **state)
{
	const struct cgroup_hierarchy *h;
	struct cgroup_hierarchy above;
	struct cgroup cg;
	pid_t pid;

	(void)state;
	make(&cg);
	h = cgroup_find_unified(&cg);
	if (!h) {
		unmake(&cg);
		skip();
	}
	above = *h;
	*strrchr(above.path, '/') = '\0';
	pid = start_sleeper(NULL);
	assert_int_equal(cgroup_join(&cg, pid, false, NULL), 0);
	if (cgroup_write_file(&above, "cgroup.freeze", "1") == 0) {
		for (int i = 0; i < 1000 && !cgroup_is_frozen(&cg); i++)
			usleep(5000);
		assert_true(cgroup_is_frozen(&cg));
		assert_int_equal(cgroup_write_file(&above, "cgroup.freeze", "0"), 0);
	}
	assert_false(cgroup_is_frozen(&cg));
	end_sleeper(pid);
	unmake(&cg);
}

static void kills_the_tree(void **state)
{
	struct cgroup cg;
	pid_t pids[2];

	(void)state;
	for (int frozen = 0; frozen <= 1; frozen++) {
		make(&cg);
		populate(&cg, pids);
		assert_true(runs(pids[0]) && runs(pids[1]));
		if (frozen)
			assert_int_equal(cgroup_freeze(&cg, NULL), 0);
		assert_int_equal(cgroup_signal_all(&cg, SIGKILL, NULL), 0);
		assert_true(ends(pids[0]));
		assert_true(ends(pids[1]));
		assert_false(cgroup_is_frozen(&cg));
		unmake(&cg);
		assert_int_equal(cgroup_signal_all(&cg, SIGKILL, NULL), 0); /* gone */
	}
}

/* The same without cgroup.kill and its freezer: v1's way. */
static void kills_the_tree_on_v1(void **state)
{
	struct cgroup cg, v1 = {.mode = CGROUP_MODE_V1};
	pid_t pids[2];

	(void)state;
	for (int frozen = 0; frozen <= 1; frozen++) {
		make(&cg);
		v1.n = 0;
		for (size_t i = 0; i < cg.n; i++)
			if (!cg.v[i].unified)
				v1.v[v1.n++] = cg.v[i];
		if (v1.n == 0) {
			unmake(&cg);
			skip();
		}
		populate(&cg, pids);
		if (frozen)
			assert_int_equal(cgroup_freeze(&v1, NULL), 0);
		assert_int_equal(cgroup_signal_all(&v1, SIGKILL, NULL), 0);
		assert_true(ends(pids[0]));
		assert_true(ends(pids[1]));
		assert_false(cgroup_is_frozen(&v1));
		unmake(&cg);
	}
}

static void signals_the_tree(void **state)
{
	struct cgroup cg;
	pid_t pids[2];

	(void)state;
	make(&cg);
	populate(&cg, pids);
	assert_int_equal(cgroup_signal_all(&cg, 0, NULL), 0); /* control: nothing ends */
	assert_true(runs(pids[0]) && runs(pids[1]));
	assert_int_equal(cgroup_signal_all(&cg, SIGTERM, NULL), 0);
	assert_true(ends(pids[0]));
	assert_true(ends(pids[1]));
	unmake(&cg);
}

/* What this runtime did not make, it does not touch. */
static void leaves_foreign_groups_alone(void **state)
{
	struct cgroup cg, foreign;
	cleanup_free pid_t *listed = NULL;
	pid_t pids[2];

	(void)state;
	make(&cg);
	populate(&cg, pids);
	foreign = cg;
	for (size_t i = 0; i < foreign.n; i++)
		foreign.v[i].made = false;
	assert_int_equal(cgroup_signal_all(&foreign, SIGKILL, NULL), 0);
	assert_int_equal(cgroup_list_pids(&foreign, &listed), 0);
	assert_true(cgroup_freeze(&foreign, NULL) < 0);
	usleep(20000);
	assert_true(runs(pids[0]) && runs(pids[1]));
	end_sleeper(pids[0]);
	end_sleeper(pids[1]);
	unmake(&cg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_membership),
		cmocka_unit_test(refuses_bad_membership),
		cmocka_unit_test(finds_mounts),
		cmocka_unit_test(own_group_outside_of_the_mount),
		cmocka_unit_test(refuses_bad_mount_lines),
		cmocka_unit_test(lists),
		cmocka_unit_test(checks_paths),
		cmocka_unit_test(state_round_trip),
		cmocka_unit_test(a_scope_round_trip),
		cmocka_unit_test(state_refuses),
		cmocka_unit_test(joins_every_hierarchy),
		cmocka_unit_test(enters_by_itself),
		cmocka_unit_test(removes_nested_groups),
		cmocka_unit_test(lists_the_tree),
		cmocka_unit_test(freezes_and_thaws),
		cmocka_unit_test(is_frozen_from_above),
		cmocka_unit_test(kills_the_tree),
		cmocka_unit_test(kills_the_tree_on_v1),
		cmocka_unit_test(signals_the_tree),
		cmocka_unit_test(leaves_foreign_groups_alone),
	};

	return cmocka_run_group_tests(tests, setup_root, NULL);
}
