/*
 * Limits: conversions, the refusals by name, and, for root, what the kernel's files hold
 * afterwards.
 */
#include <stdlib.h>

#include "backends/linux/cgroup/limits.h"
#include "runtime/base/cleanup.h"
#include "tests/unit/cgroup_real.h"

/* ---- conversions ---- */

static void weights(void **state)
{
	static const uint64_t shares[][2] = {
		{0, 0}, {1, 1}, {2, 1}, {1024, 100}, {3333, 256}, {262144, 10000}, {300000, 10000}};
	uint64_t before = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++)
		assert_int_equal(limits_weight_from_shares(shares[i][0]), shares[i][1]);
	for (uint64_t s = 2; s <= 262144; s += 97) {
		uint64_t w = limits_weight_from_shares(s);

		assert_true(w >= before && w >= 1 && w <= 10000);
		before = w;
	}
	assert_int_equal(limits_io_weight(10), 1);
	assert_int_equal(limits_io_weight(750), 7475);
	assert_int_equal(limits_io_weight(1000), 10000);
}

/* ---- refusals, on layouts made up ---- */

static struct cgroup layout_of(enum cgroup_mode mode)
{
	static const char *const v1[] = {"cpu,cpuacct", "cpuset", "memory", "pids", "blkio"};
	struct cgroup cg = {.mode = mode};

	for (size_t i = 0; mode != CGROUP_MODE_V2 && i < ARRAY_SIZE(v1); i++) {
		strcpy(cg.v[cg.n].controllers, v1[i]);
		strcpy(cg.v[cg.n].mount, "/nonexistent");
		strcpy(cg.v[cg.n++].path, "/a");
	}
	if (mode != CGROUP_MODE_V1) {
		cg.v[cg.n].unified = true;
		strcpy(cg.v[cg.n].mount, "/nonexistent");
		strcpy(cg.v[cg.n++].path, "/a");
	}
	return cg;
}

static void check(enum cgroup_mode mode, const struct oci_resources *r, const char *refused)
{
	struct cgroup cg = layout_of(mode);
	struct sbx_error err = {0};
	int rc = cgroup_check_resources(&cg, r, &err);

	if (!refused) {
		if (rc < 0)
			fail_msg("%s", err.message);
		return;
	}
	assert_true(rc < 0);
	if (!strstr(err.message, refused) && !strstr(err.pointer, refused))
		fail_msg("\"%s\" at \"%s\" does not name \"%s\"", err.message, err.pointer,
			 refused);
}

static void v1_members_on_v2(void **state)
{
	struct oci_memory memory = {0};
	struct oci_cpu cpu = {0};
	struct oci_network_cgroup network = {0};
	struct oci_block_io io = {0};
	struct oci_resources r = {.memory = &memory, .cpu = &cpu};

	(void)state;
	check(CGROUP_MODE_V2, &r, NULL);
	memory.swappiness = (struct oci_opt_u64){true, 10};
	check(CGROUP_MODE_V2, &r, "memory.swappiness");
	check(CGROUP_MODE_V1, &r, NULL);
	memory.swappiness.set = false;
	memory.disable_oom_killer = (struct oci_opt_bool){true, false}; /* what docker sends */
	check(CGROUP_MODE_V2, &r, NULL);
	memory.disable_oom_killer.v = true;
	check(CGROUP_MODE_V2, &r, "memory.disableOOMKiller");
	memory = (struct oci_memory){.kernel = {true, 1 << 20}};
	check(CGROUP_MODE_V2, &r, "memory.kernel");
	check(CGROUP_MODE_V1, &r, NULL);
	memory = (struct oci_memory){.use_hierarchy = {true, false}};
	check(CGROUP_MODE_V2, &r, "memory.useHierarchy");
	memory = (struct oci_memory){0};
	cpu.realtime_runtime = (struct oci_opt_i64){true, 1000};
	check(CGROUP_MODE_V2, &r, "cpu.realtimeRuntime");
	cpu.realtime_runtime.v = 0;
	check(CGROUP_MODE_V2, &r, NULL);
	r.network = &network;
	network.class_id = (struct oci_opt_u64){true, 0x100001};
	check(CGROUP_MODE_V2, &r, "network.classID");
	check(CGROUP_MODE_V1, &r, "network.classID");
	r.network = NULL;
	r.block_io = &io;
	io.leaf_weight = (struct oci_opt_u64){true, 100};
	check(CGROUP_MODE_V2, &r, "blockIO.leafWeight");
}

static void unified(void **state)
{
	struct oci_key_value file = {"memory.high", "1000000"};
	struct oci_resources r = {.unified = {&file, 1}};
	static const char *const bad[] = {"../memory.high", "a/b",	   "memory", ".x",
					  "cgroup.procs",   "cgroup.kill", "a b.c",  ""};

	(void)state;
	check(CGROUP_MODE_V1, &r, "unified");
	check(CGROUP_MODE_HYBRID, &r, NULL);
	check(CGROUP_MODE_V2, &r, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		file.key = bad[i];
		check(CGROUP_MODE_V2, &r, "unified");
	}
}

static void memory_and_swap(void **state)
{
	struct oci_memory memory = {.limit = {true, 1 << 20}, .swap = {true, 1 << 19}};
	struct oci_resources r = {.memory = &memory};

	(void)state;
	check(CGROUP_MODE_V2, &r, "memory/swap");
	check(CGROUP_MODE_V1, &r, "memory/swap");
	memory.swap.v = 1 << 21;
	check(CGROUP_MODE_V2, &r, NULL);
	memory.limit.set = false;
	check(CGROUP_MODE_V2, &r, "memory/swap");
	memory.limit = (struct oci_opt_i64){true, -2};
	check(CGROUP_MODE_V2, &r, "memory/limit");
}

static void hugepages(void **state)
{
	struct oci_hugepage_limit page = {"2MB", 1 << 21};
	struct oci_resources r = {.hugepages = &page, .hugepages_n = 1};
	static const char *const bad[] = {"", "2", "MB", "2MB/../x", "02MB", "2TB", "2MB "};

	(void)state;
	check(CGROUP_MODE_V1, &r, "hugepageLimits"); /* no such hierarchy */
	check(CGROUP_MODE_HYBRID, &r, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		page.page_size = bad[i];
		check(CGROUP_MODE_V2, &r, "hugepageLimits");
	}
}

/* ---- the kernel's files ---- */

static struct cgroup real;

static const struct cgroup_hierarchy *place(const char *v1)
{
	const struct cgroup_hierarchy *h = cgroup_find_v1(&real, v1);
	char controllers[CGROUP_VALUE_MAX];

	if (h)
		return h;
	h = cgroup_find_unified(&real);
	if (h && cgroup_read_file(h, "cgroup.controllers", controllers, sizeof(controllers)) > 0 &&
	    strstr(controllers, v1))
		return h;
	return NULL;
}

static void expect(const struct cgroup_hierarchy *h, const char *v1, const char *v2,
		   const char *want)
{
	const char *file = h->unified ? v2 : v1;
	char text[CGROUP_VALUE_MAX] = "";

	assert_true(cgroup_read_file(h, file, text, sizeof(text)) >= 0);
	if (strcmp(text, want) != 0)
		fail_msg("%s holds \"%s\", not \"%s\"", file, text, want);
}

static void apply(const struct oci_resources *r)
{
	struct sbx_error err = {0};

	if (cgroup_apply(&real, r, &err) < 0)
		fail_msg("%s", err.message);
}

static void start(const char *controller)
{
	static struct oci_hugepage_limit page = {"2MB", 0};
	static struct oci_resources needs = {.hugepages = &page, .hugepages_n = 1};

	needs_resources = &needs; /* hybrid enables what is needed only */
	make(&real);
	if (!place(controller)) {
		unmake(&real);
		skip();
	}
}

static void real_pids(void **state)
{
	struct oci_resources r = {.pids_limit = {true, 42}};

	(void)state;
	start("pids");
	apply(&r);
	expect(place("pids"), "pids.max", "pids.max", "42");
	r.pids_limit.v = 0;
	apply(&r);
	expect(place("pids"), "pids.max", "pids.max", "0");
	r.pids_limit.v = -1;
	apply(&r);
	expect(place("pids"), "pids.max", "pids.max", "max");
	unmake(&real);
}

static void real_cpu(void **state)
{
	struct oci_cpu cpu = {
		.shares = {true, 2048}, .quota = {true, 50000}, .period = {true, 200000}};
	struct oci_resources r = {.cpu = &cpu};

	(void)state;
	start("cpu");
	apply(&r);
	if (!place("cpu")->unified) {
		expect(place("cpu"), "cpu.shares", NULL, "2048");
		expect(place("cpu"), "cpu.cfs_quota_us", NULL, "50000");
		expect(place("cpu"), "cpu.cfs_period_us", NULL, "200000");
	} else {
		expect(place("cpu"), NULL, "cpu.max", "50000 200000");
	}
	/* burst may not exceed quota: both directions need another order */
	cpu = (struct oci_cpu){.quota = {true, 100000}, .burst = {true, 90000}};
	apply(&r);
	cpu = (struct oci_cpu){.quota = {true, 20000}, .burst = {true, 10000}};
	apply(&r);
	expect(place("cpu"), "cpu.cfs_burst_us", "cpu.max.burst", "10000");
	unmake(&real);
}

static void real_memory(void **state)
{
	struct oci_memory memory = {.limit = {true, 64 << 20}, .swap = {true, 128 << 20}};
	struct oci_resources r = {.memory = &memory};
	struct sbx_error err = {0};

	(void)state;
	start("memory");
	apply(&r);
	expect(place("memory"), "memory.limit_in_bytes", "memory.max", "67108864");
	memory.limit.v = 256 << 20; /* above what both together were */
	memory.swap.v = 512 << 20;
	apply(&r);
	expect(place("memory"), "memory.limit_in_bytes", "memory.max", "268435456");
	memory.limit.v = 32 << 20;
	memory.swap.v = 32 << 20;
	apply(&r);
	expect(place("memory"), "memory.memsw.limit_in_bytes", "memory.swap.max",
	       place("memory")->unified ? "0" : "33554432");
	memory = (struct oci_memory){.swappiness = {true, 1000}};
	if (!place("memory")->unified) {
		assert_true(cgroup_apply(&real, &r, &err) < 0);
		assert_non_null(strstr(err.message, "memory.swappiness"));
	}
	unmake(&real);
}

static void real_hugepages(void **state)
{
	struct oci_hugepage_limit page = {"2MB", 4 << 20};
	struct oci_resources r = {.hugepages = &page, .hugepages_n = 1};

	(void)state;
	start("hugetlb");
	apply(&r);
	expect(place("hugetlb"), "hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.max", "4194304");
	expect(place("hugetlb"), "hugetlb.2MB.rsvd.limit_in_bytes", "hugetlb.2MB.rsvd.max",
	       "4194304");
	unmake(&real);
}

static void real_absent_file(void **state)
{
	struct oci_key_value file = {"nothing.max", "1"};
	struct oci_resources r = {.unified = {&file, 1}};
	struct sbx_error err = {0};

	(void)state;
	make(&real);
	if (!cgroup_find_unified(&real)) {
		unmake(&real);
		skip();
	}
	assert_true(cgroup_apply(&real, &r, &err) < 0);
	assert_int_equal(err.code, SBX_E_UNSUPPORTED);
	assert_non_null(strstr(err.message, "nothing.max"));
	unmake(&real);
}

/* ---- an update: all or nothing ---- */

static void refuse_update(const struct oci_resources *r)
{
	struct sbx_error err = {0};

	assert_true(cgroup_update(&real, r, NULL, NULL, &err) < 0);
	assert_non_null(strstr(err.message, "pids.limit"));
}

static int refuse_also(void *data, struct sbx_error *err)
{
	(void)data;
	return sbx_fail(err, SBX_E_SYSTEM, EIO, "also");
}

static void update_cpu(void **state)
{
	struct oci_cpu cpu = {.shares = {true, 2048}, .quota = {true, 50000}};
	struct oci_resources r = {.cpu = &cpu};
	struct sbx_error err = {0};

	(void)state;
	start("cpu");
	apply(&r);
	/* the quota and the burst need another order on the way back */
	cpu = (struct oci_cpu){.shares = {true, 512}, .quota = {true, 20000}};
	cpu.burst = (struct oci_opt_u64){true, 10000};
	cpu.period = (struct oci_opt_u64){true, 200000};
	r.pids_limit = (struct oci_opt_i64){true, -1};
	assert_true(cgroup_update(&real, &r, refuse_also, NULL, &err) < 0);
	assert_string_equal(err.message, "also: input/output error");
	r.pids_limit.set = false;
	expect(place("cpu"), "cpu.shares", "cpu.weight", place("cpu")->unified ? "174" : "2048");
	expect(place("cpu"), "cpu.cfs_burst_us", "cpu.max.burst", "0");
	expect(place("cpu"), "cpu.cfs_quota_us", "cpu.max",
	       place("cpu")->unified ? "50000 100000" : "50000");
	/* idle takes the weight along */
	cpu = (struct oci_cpu){.idle = {true, 1}};
	assert_true(cgroup_update(&real, &r, refuse_also, NULL, &err) < 0);
	expect(place("cpu"), "cpu.idle", "cpu.idle", "0");
	expect(place("cpu"), "cpu.shares", "cpu.weight", place("cpu")->unified ? "174" : "2048");
	unmake(&real);
}

static void update_memory(void **state)
{
	struct oci_memory memory = {.limit = {true, 64 << 20}, .swap = {true, 128 << 20}};
	struct oci_resources r = {.memory = &memory};
	struct sbx_error err = {0};
	bool v2;

	(void)state;
	start("memory");
	v2 = place("memory")->unified;
	apply(&r);
	memory = (struct oci_memory){.limit = {true, 256 << 20}, .swap = {true, 512 << 20}};
	memory.disable_oom_killer = (struct oci_opt_bool){true, !v2};
	assert_true(cgroup_update(&real, &r, refuse_also, NULL, &err) < 0);
	expect(place("memory"), "memory.limit_in_bytes", "memory.max", "67108864");
	expect(place("memory"), "memory.memsw.limit_in_bytes", "memory.swap.max",
	       v2 ? "67108864" : "134217728");
	if (!v2)
		expect(place("memory"), "memory.oom_control", NULL,
		       "oom_kill_disable 0\nunder_oom 0\noom_kill 0");
	unmake(&real);
}

static void update_lists(void **state)
{
	struct oci_block_device first = {.major = 7, .minor = 0, .rate = {true, 1000}};
	struct oci_block_device both[] = {{.major = 7, .minor = 0, .rate = {true, 2000}},
					  {.major = 7, .minor = 1, .rate = {true, 3000}}};
	struct oci_block_io io = {.throttle_read_iops = {&first, 1}};
	struct oci_resources r = {.block_io = &io};
	struct sbx_error err = {0};

	(void)state;
	start("blkio");
	if (access("/sys/block/loop1", F_OK) < 0) {
		unmake(&real);
		skip();
	}
	apply(&r);
	io.throttle_read_iops = (struct oci_block_devices){both, 2};
	assert_true(cgroup_update(&real, &r, refuse_also, NULL, &err) < 0);
	expect(place("blkio"), "blkio.throttle.read_iops_device", "io.max",
	       place("blkio")->unified ? "7:0 rbps=max wbps=max riops=1000 wiops=max" : "7:0 1000");
	assert_int_equal(cgroup_update(&real, &r, NULL, NULL, &err), 0);
	unmake(&real);
}

/* A write that the kernel refuses behind others. */
static void update_refused(void **state)
{
	struct oci_memory memory = {.reservation = {true, 1 << 20}};
	struct oci_resources r = {.memory = &memory, .pids_limit = {true, 42}};

	(void)state;
	start("pids");
	if (!place("memory")) {
		unmake(&real);
		skip();
	}
	apply(&r);
	memory.reservation.v = 2 << 20;
	r.pids_limit.v = INT64_MAX;
	refuse_update(&r);
	expect(place("pids"), "pids.max", "pids.max", "42");
	expect(place("memory"), "memory.soft_limit_in_bytes", "memory.low", "1048576");
	unmake(&real);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights),	  cmocka_unit_test(v1_members_on_v2),
		cmocka_unit_test(unified),	  cmocka_unit_test(memory_and_swap),
		cmocka_unit_test(hugepages),	  cmocka_unit_test(real_pids),
		cmocka_unit_test(real_cpu),	  cmocka_unit_test(real_memory),
		cmocka_unit_test(real_hugepages), cmocka_unit_test(real_absent_file),
		cmocka_unit_test(update_cpu),	  cmocka_unit_test(update_memory),
		cmocka_unit_test(update_lists),	  cmocka_unit_test(update_refused),
	};

	return cmocka_run_group_tests(tests, setup_root, NULL);
}
