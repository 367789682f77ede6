/*
 * spec/oci: a table of fragments, each put into the smallest document of its section, with what
 * must come of it; then every member of the specification in one document and where it lands.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "runtime/base/cleanup.h"
#include "spec/oci.h"
#include "tests/unit/oci_cases.h"

#define ARENA_BYTES ((size_t)64 << 20)

static const char *const templates[] = {
	[RAW] = "%s",
	[TOP] = "{\"ociVersion\":\"1.3.0\",%s}",
	[PROCESS] = "{\"ociVersion\":\"1.3.0\",\"process\":{\"cwd\":\"/\",%s}}",
	[MOUNT] = "{\"ociVersion\":\"1.3.0\",\"mounts\":[{\"destination\":\"/m\",%s}]}",
	[HOOK] = "{\"ociVersion\":\"1.3.0\",\"hooks\":{\"poststart\":[{\"path\":\"/h\",%s}]}}",
	[LINUX] = "{\"ociVersion\":\"1.3.0\",\"linux\":{%s}}",
	[DEVICE] = "{\"ociVersion\":\"1.3.0\",\"linux\":{\"devices\":[{\"path\":\"/dev/x\",%s}]}}",
	[RESOURCES] = "{\"ociVersion\":\"1.3.0\",\"linux\":{\"resources\":{%s}}}",
	[SECCOMP] = ("{\"ociVersion\":\"1.3.0\",\"linux\":{\"seccomp\":{"
		     "\"defaultAction\":\"SCMP_ACT_ERRNO\",%s}}}"),
};

/* Whether a case comes out as the table says; else it is printed. */
static bool run_case(const struct oci_case *row)
{
	cleanup_arena struct arena arena;
	struct sbx_error err = {0};
	struct oci_spec *spec = NULL;
	char document[4096];
	bool right;
	int n, r;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = snprintf(document, sizeof(document), templates[row->place], row->fragment);
#pragma GCC diagnostic pop
	arena_init(&arena, ARENA_BYTES);
	r = oci_parse(&arena, document, (size_t)n, &spec, &err);
	if (!row->pointer)
		right = r == 0 && spec;
	else
		/* The pointer stands in the text too, for those who only see that. */
		right = r < 0 && !spec && strcmp(err.pointer, row->pointer) == 0 &&
			strstr(err.message, row->message) && strstr(err.message, err.pointer) &&
			(err.code == SBX_E_INVALID_CONFIG || err.code == SBX_E_INVALID_JSON);
	if (!right)
		print_error("%s: %d, %s [%s], expected %s [%s]\n", document, r, err.message,
			    err.pointer, row->message ? row->message : "no error",
			    row->pointer ? row->pointer : "");
	return right;
}

static void test_cases(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < oci_cases_n; i++)
		wrong += !run_case(&oci_cases[i]);
	print_message("%zu cases\n", oci_cases_n);
	assert_int_equal(wrong, 0);
}

/* ---- the golden document ---- */

static char *read_file(const char *name, size_t *ret_len)
{
	const char *srcdir = getenv("srcdir");
	char path[4096];
	char *data = malloc(1 << 20);
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", srcdir ? srcdir : ".", name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("open %s: set srcdir", path);
	*ret_len = fread(data, 1, 1 << 20, file);
	fclose(file);
	return data;
}

#define STRINGS(list, ...)                                                                         \
	do {                                                                                       \
		static const char *const want_[] = {__VA_ARGS__};                                  \
		assert_int_equal((list).n, ARRAY_SIZE(want_));                                     \
		for (size_t i_ = 0; i_ < ARRAY_SIZE(want_); i_++)                                  \
			assert_string_equal((list).v[i_], want_[i_]);                              \
		assert_null((list).v[(list).n]);                                                   \
	} while (0)

#define OPT(opt, value)                                                                            \
	do {                                                                                       \
		assert_true((opt).set);                                                            \
		assert_true((opt).v == (value));                                                   \
	} while (0)

static void check_full_process(const struct oci_process *p)
{
	assert_true(p->terminal);
	assert_true(p->console_size_set);
	assert_int_equal(p->console_height, 24);
	assert_int_equal(p->console_width, 80);
	assert_int_equal(p->user.uid, 1000);
	assert_int_equal(p->user.gid, UINT32_C(4294967294));
	OPT(p->user.umask, 63);
	assert_int_equal(p->user.additional_gids_n, 2);
	assert_int_equal(p->user.additional_gids[0], 5);
	assert_int_equal(p->user.additional_gids[1], 6);
	STRINGS(p->args, "sh", "-c", "", "\xc3\xa9");
	STRINGS(p->env, "PATH=/bin", "A=", "A=b=c\nd");
	assert_string_equal(p->cwd, "/home");
	STRINGS(p->capabilities->sets[CAPSET_BOUNDING], "CAP_CHOWN", "CAP_KILL");
	STRINGS(p->capabilities->sets[CAPSET_EFFECTIVE], "CAP_CHOWN");
	STRINGS(p->capabilities->sets[CAPSET_PERMITTED], "CAP_FUTURE");
	STRINGS(p->capabilities->sets[CAPSET_AMBIENT], "CAP_KILL");
	assert_int_equal(p->capabilities->sets[CAPSET_INHERITABLE].n, 0);
	assert_int_equal(p->rlimits_n, 2);
	assert_int_equal(p->rlimits[0].resource, RLIMIT_NOFILE);
	assert_int_equal(p->rlimits[0].soft, 1024);
	assert_int_equal(p->rlimits[0].hard, 4096);
	assert_int_equal(p->rlimits[1].resource, RLIMIT_CORE);
	assert_true(p->rlimits[1].hard == UINT64_MAX);
	assert_true(p->no_new_privileges);
	OPT(p->oom_score_adj, -500);
	assert_string_equal(p->apparmor_profile, "docker-default");
	assert_string_equal(p->selinux_label, "a:b:c:s0");
	assert_string_equal(p->scheduler->policy, "SCHED_DEADLINE");
	STRINGS(p->scheduler->flags, "SCHED_FLAG_RESET_ON_FORK");
	OPT(p->scheduler->runtime, 10000);
	OPT(p->scheduler->deadline, 20000);
	OPT(p->scheduler->period, 30000);
	assert_string_equal(p->io_priority->class_name, "IOPRIO_CLASS_BE");
	assert_int_equal(p->io_priority->priority, 4);
	assert_string_equal(p->exec_cpu_affinity->initial, "0-1");
	assert_string_equal(p->exec_cpu_affinity->final, "2,3");
}

static void check_full_top(const struct oci_spec *s)
{
	assert_string_equal(s->oci_version, "1.3.0");
	assert_string_equal(s->root_path, "rootfs");
	assert_true(s->root_readonly);
	assert_string_equal(s->hostname, "box");
	assert_string_equal(s->domainname, "example.org");
	assert_int_equal(s->mounts_n, 2);
	assert_string_equal(s->mounts[0].destination, "/proc");
	assert_string_equal(s->mounts[0].type, "proc");
	assert_string_equal(s->mounts[0].source, "proc");
	assert_int_equal(s->mounts[0].options.n, 0);
	assert_string_equal(s->mounts[1].destination, "/data/x");
	assert_null(s->mounts[1].type);
	STRINGS(s->mounts[1].options, "rbind", "ro", "idmap");
	assert_int_equal(s->mounts[1].uid_maps.n, 1);
	assert_int_equal(s->mounts[1].uid_maps.v[0].host_id, 7);
	assert_int_equal(s->mounts[1].gid_maps.v[0].size, 8);
	for (int kind = 0; kind < HOOK_KIND_COUNT; kind++) {
		assert_int_equal(s->hooks.n[kind], 1);
		assert_string_equal(s->hooks.v[kind][0].path + 1, oci_hook_kind_name(kind));
	}
	STRINGS(s->hooks.v[HOOK_PRESTART][0].args, "fix", "x");
	STRINGS(s->hooks.v[HOOK_PRESTART][0].env, "K=v");
	assert_true(s->hooks.v[HOOK_PRESTART][0].env_set);
	OPT(s->hooks.v[HOOK_PRESTART][0].timeout_s, 30);
	assert_true(s->hooks.v[HOOK_POSTSTOP][0].env_set);
	assert_int_equal(s->hooks.v[HOOK_POSTSTOP][0].env.n, 0);
	assert_false(s->hooks.v[HOOK_POSTSTART][0].env_set);
	assert_false(s->hooks.v[HOOK_POSTSTART][0].timeout_s.set);
	assert_string_equal(oci_annotation(s, "org.example.a"), "1");
	assert_string_equal(oci_annotation(s, "empty"), "");
	assert_null(oci_annotation(s, "org.example"));
	assert_ptr_equal(json_get(s->json, "annotations")->child->text, s->annotations.v[0].value);
}

static void check_full_linux(const struct oci_linux *l)
{
	for (int ns = 0; ns < NS_COUNT; ns++)
		assert_true(l->ns[ns].set);
	assert_string_equal(l->ns[NS_NET].path, "/run/netns/x");
	assert_null(l->ns[NS_PID].path);
	assert_int_equal(l->uid_maps.n, 2);
	assert_int_equal(l->uid_maps.v[1].container_id, 1);
	assert_int_equal(l->uid_maps.v[1].host_id, 100001);
	assert_int_equal(l->uid_maps.v[1].size, 65535);
	assert_int_equal(l->gid_maps.n, 1);
	assert_int_equal(l->monotonic.secs, -172800);
	assert_int_equal(l->monotonic.nanosecs, 0);
	assert_int_equal(l->boottime.secs, 604800);
	assert_int_equal(l->boottime.nanosecs, 999999999);
	assert_int_equal(l->devices_n, 2);
	assert_string_equal(l->devices[0].path, "/dev/fuse");
	assert_string_equal(l->devices[0].type, "c");
	assert_int_equal(l->devices[0].major, 10);
	assert_int_equal(l->devices[0].minor, 229);
	OPT(l->devices[0].file_mode, 438);
	OPT(l->devices[0].uid, 0);
	OPT(l->devices[0].gid, 7);
	assert_string_equal(l->devices[1].type, "p");
	assert_false(l->devices[1].file_mode.set);
	assert_int_equal(l->net_devices_n, 2);
	assert_string_equal(l->net_devices[0].host_name, "eth0");
	assert_string_equal(l->net_devices[0].name, "ctr%d");
	assert_string_equal(l->net_devices[1].host_name, "ens4");
	assert_null(l->net_devices[1].name);
	assert_string_equal(l->cgroups_path, "/sub/path");
	assert_string_equal(l->rootfs_propagation, "slave");
	assert_int_equal(l->sysctl.n, 3);
	assert_string_equal(l->sysctl.v[0].key, "net.ipv4.ip_forward");
	assert_string_equal(l->sysctl.v[0].value, "1");
	STRINGS(l->masked_paths, "/proc/kcore", "/sys/firmware");
	STRINGS(l->readonly_paths, "/proc/sys");
	assert_string_equal(l->mount_label, "system_u:object_r:x:s0");
	assert_string_equal(l->intel_rdt->clos_id, "guaranteed_group");
	assert_string_equal(l->intel_rdt->l3_cache_schema, "L3:0=7f0;1=1f");
	assert_string_equal(l->intel_rdt->mem_bw_schema, "MB:0=20;1=70");
	STRINGS(l->intel_rdt->schemata, "L2:0=f", "MB:0=20");
	assert_true(l->intel_rdt->enable_monitoring);
	assert_string_equal(l->personality_domain, "LINUX32");
	assert_int_equal(l->personality_flags.n, 0);
	assert_string_equal(l->memory_policy->mode, "MPOL_INTERLEAVE");
	assert_string_equal(l->memory_policy->nodes, "0-3");
	STRINGS(l->memory_policy->flags, "MPOL_F_STATIC_NODES");
}

static void check_full_resources(const struct oci_resources *r)
{
	assert_int_equal(r->devices_n, 3);
	assert_false(r->devices[0].allow);
	assert_int_equal(r->devices[0].type, 'a');
	assert_int_equal(r->devices[0].major, -1);
	assert_true(r->devices[0].r && r->devices[0].w && r->devices[0].m);
	assert_true(r->devices[1].allow);
	assert_int_equal(r->devices[1].type, 'c');
	assert_int_equal(r->devices[1].major, 10);
	assert_int_equal(r->devices[1].minor, 229);
	assert_true(r->devices[1].r && r->devices[1].w && !r->devices[1].m);
	assert_int_equal(r->devices[2].type, 'b');
	assert_int_equal(r->devices[2].minor, -1);
	assert_true(!r->devices[2].r && !r->devices[2].w && r->devices[2].m);
	OPT(r->cpu->shares, 1024);
	OPT(r->cpu->quota, -1);
	OPT(r->cpu->burst, 1000);
	OPT(r->cpu->period, 500000);
	OPT(r->cpu->realtime_runtime, 950000);
	OPT(r->cpu->realtime_period, 1000000);
	OPT(r->cpu->idle, 0);
	assert_string_equal(r->cpu->cpus, "2-3");
	assert_string_equal(r->cpu->mems, "0-7");
	OPT(r->memory->limit, 536870912);
	OPT(r->memory->reservation, 536870911);
	OPT(r->memory->swap, -1);
	OPT(r->memory->kernel, 1);
	OPT(r->memory->kernel_tcp, 2);
	OPT(r->memory->swappiness, 0);
	OPT(r->memory->disable_oom_killer, false);
	OPT(r->memory->use_hierarchy, true);
	OPT(r->memory->check_before_update, true);
	OPT(r->pids_limit, 32771);
	OPT(r->block_io->weight, 10);
	OPT(r->block_io->leaf_weight, 1000);
	assert_int_equal(r->block_io->weight_device.n, 2);
	assert_int_equal(r->block_io->weight_device.v[0].major, 8);
	OPT(r->block_io->weight_device.v[0].weight, 500);
	OPT(r->block_io->weight_device.v[0].leaf_weight, 300);
	assert_int_equal(r->block_io->weight_device.v[1].minor, 16);
	assert_false(r->block_io->weight_device.v[1].weight.set);
	assert_int_equal(r->block_io->throttle_read_bps.n, 1);
	OPT(r->block_io->throttle_read_bps.v[0].rate, 600);
	OPT(r->block_io->throttle_write_bps.v[0].rate, 601);
	OPT(r->block_io->throttle_read_iops.v[0].rate, 602);
	OPT(r->block_io->throttle_write_iops.v[0].rate, UINT64_MAX);
	assert_int_equal(r->hugepages_n, 1);
	assert_string_equal(r->hugepages[0].page_size, "2MB");
	assert_int_equal(r->hugepages[0].limit, 209715200);
	OPT(r->network->class_id, 1048577);
	assert_int_equal(r->network->priorities_n, 2);
	assert_string_equal(r->network->priorities[1].name, "eth1");
	assert_int_equal(r->network->priorities[1].priority, 1000);
	assert_int_equal(r->rdma_n, 1);
	assert_string_equal(r->rdma[0].name, "mlx5_1");
	OPT(r->rdma[0].hca_handles, 3);
	assert_false(r->rdma[0].hca_objects.set);
	assert_int_equal(r->unified.n, 2);
	assert_string_equal(r->unified.v[1].key, "io.max");
	assert_string_equal(r->unified.v[1].value, "259:0 rbps=1\n259:1 wbps=2");
}

static void check_full_seccomp(const struct oci_seccomp *s)
{
	assert_string_equal(s->default_action, "SCMP_ACT_ERRNO");
	OPT(s->default_errno_ret, 38);
	STRINGS(s->architectures, "SCMP_ARCH_X86", "SCMP_ARCH_X32");
	STRINGS(s->flags, "SECCOMP_FILTER_FLAG_LOG");
	assert_string_equal(s->listener_path, "/run/agent.sock");
	assert_string_equal(s->listener_metadata, "meta");
	assert_int_equal(s->rules_n, 2);
	STRINGS(s->rules[0].names, "getcwd", "chmod");
	assert_string_equal(s->rules[0].action, "SCMP_ACT_ALLOW");
	assert_int_equal(s->rules[0].args_n, 2);
	assert_int_equal(s->rules[0].args[1].index, 5);
	assert_true(s->rules[0].args[1].value == UINT64_MAX);
	assert_int_equal(s->rules[0].args[1].value_two, 2114060288);
	assert_string_equal(s->rules[0].args[1].op, "SCMP_CMP_MASKED_EQ");
	STRINGS(s->rules[1].names, "mknod");
	assert_string_equal(s->rules[1].action, "SCMP_ACT_TRACE");
	OPT(s->rules[1].errno_ret, 1);
}

static void test_full_document(void **state)
{
	cleanup_arena struct arena arena;
	struct sbx_error err = {0};
	struct oci_spec *spec = NULL;
	size_t len;
	cleanup_free char *data = read_file("tests/unit/oci_full.json", &len);

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	if (oci_parse(&arena, data, len, &spec, &err) != 0)
		fail_msg("%s", err.message);
	check_full_top(spec);
	check_full_process(spec->process);
	check_full_linux(&spec->linux_);
	check_full_resources(spec->linux_.resources);
	check_full_seccomp(spec->linux_.seccomp);
}

/* ---- the rest ---- */

static void test_minimal(void **state)
{
	static const char document[] = "{\"ociVersion\":\"1.0.0\"}";
	cleanup_arena struct arena arena;
	struct oci_spec *spec = NULL;

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	assert_int_equal(oci_parse(&arena, document, sizeof(document) - 1, &spec, NULL), 0);
	assert_null(spec->process);
	assert_null(spec->root_path);
	assert_null(spec->linux_.resources);
	assert_int_equal(spec->mounts_n, 0);
	assert_false(spec->linux_.ns[NS_PID].set);
	assert_null(oci_annotation(spec, "a"));
}

static void test_process_document(void **state)
{
	static const struct {
		const char *document;
		const char *pointer; /* NULL: accepted */
		const char *message;
	} cases[] = {
		{"{\"cwd\":\"/\",\"args\":[\"a\"],\"user\":{\"uid\":3}}", NULL, ""},
		{"{\"args\":[\"a\"]}", "", "the process document: the document lacks"},
		{"{\"cwd\":\"/\",\"user\":{\"uid\":-1}}", "/user/uid", "is -1, want 0 to 42949672"},
		{"[]", "", "is an array, want an object"},
		{"{\"cwd\":\"/\"", "", "parse the process document"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_arena struct arena arena;
		struct sbx_error err = {0};
		struct oci_process *process = NULL;
		const char *text = cases[i].document;
		int r;

		arena_init(&arena, ARENA_BYTES);
		r = oci_parse_process(&arena, text, strlen(text), &process, &err);
		assert_int_equal(r == 0, cases[i].pointer == NULL);
		assert_int_equal(process != NULL, cases[i].pointer == NULL);
		if (r == 0)
			continue;
		assert_string_equal(err.pointer, cases[i].pointer);
		assert_non_null(strstr(err.message, cases[i].message));
	}
}

static void test_resources_document(void **state)
{
	static const char good[] = "{\"memory\":{\"limit\":1024},\"pids\":{\"limit\":-1}}";
	static const char bad[] = "{\"memory\":{\"limit\":-2}}";
	cleanup_arena struct arena arena;
	struct sbx_error err = {0};
	struct oci_resources *resources = NULL;

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	assert_int_equal(oci_parse_resources(&arena, good, sizeof(good) - 1, &resources, &err), 0);
	assert_int_equal(resources->memory->limit.v, 1024);
	assert_int_equal(resources->pids_limit.v, -1);
	assert_true(oci_parse_resources(&arena, bad, sizeof(bad) - 1, &resources, &err) < 0);
	assert_string_equal(err.pointer, "/memory/limit");
}

static void test_sysctl_path(void **state)
{
	static const struct {
		const char *key, *path;
	} cases[] = {
		{"net.ipv4.ip_forward", "net/ipv4/ip_forward"},
		{"net/ipv4/ip_forward", "net/ipv4/ip_forward"},
		{"net.ipv4.conf.eno2/100.forwarding", "net/ipv4/conf/eno2.100/forwarding"},
		{"net/ipv4/conf/eno2.100/forwarding", "net/ipv4/conf/eno2.100/forwarding"},
		{"net", "net"},
		{"", NULL},
		{".", NULL},
		{"/net/ipv4", NULL},
		{"net..ipv4", NULL},
		{"net//ipv4", NULL},
		{"net/../kernel/core_pattern", NULL},
		{"net.//.kernel.core_pattern", NULL},
		{"net/./x", NULL},
		{"net./.x", NULL},
		{"net.ipv4.", NULL},
		{"net/ipv4/", NULL},
		{"net.a b", NULL},
		{"net.a\n", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char path[OCI_SYSCTL_PATH_MAX];
		int r = oci_sysctl_path(cases[i].key, path, sizeof(path));

		if (!cases[i].path && r == 0)
			fail_msg("\"%s\" gives %s", cases[i].key, path);
		if (!cases[i].path)
			continue;
		assert_int_equal(r, 0);
		assert_string_equal(path, cases[i].path);
	}
	{
		char small[4];

		assert_int_equal(oci_sysctl_path("abc", small, sizeof(small)), 0);
		assert_int_equal(oci_sysctl_path("abcd", small, sizeof(small)), -EINVAL);
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(oci_ns_name(NS_NET), "network");
	assert_int_equal(oci_ns_flag(NS_USER), 0x10000000);
	assert_int_equal(oci_ns_flag(NS_TIME), 0x80);
	assert_string_equal(oci_hook_kind_name(HOOK_CREATE_RUNTIME), "createRuntime");
}

/* 5,000 mappings must be one clean error, not a message to the kernel. */
static void test_many_mappings(void **state)
{
	enum { MAPPINGS = 5000 };
	cleanup_arena struct arena arena;
	struct sbx_error err = {0};
	struct oci_spec *spec = NULL;
	cleanup_free char *document = malloc(MAPPINGS * 64 + 128);
	size_t n = (size_t)sprintf(document, "{\"ociVersion\":\"1.0.0\",\"linux\":{"
					     "\"uidMappings\":[");

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	for (int i = 0; i < MAPPINGS; i++)
		n += (size_t)sprintf(document + n,
				     "%s{\"containerID\":%d,\"hostID\":%d,\"size\":1}",
				     i ? "," : "", i, i);
	n += (size_t)sprintf(document + n, "]}}");
	assert_true(oci_parse(&arena, document, n, &spec, &err) < 0);
	assert_string_equal(err.pointer, "/linux/uidMappings");
	assert_non_null(strstr(err.message, "has 5000 mappings, the kernel takes at most 340"));
}

static void test_arena_exhausted(void **state)
{
	size_t len, refused = 0;
	cleanup_free char *data = read_file("tests/unit/oci_full.json", &len);

	(void)state;
	for (size_t limit = 0; limit < 128 << 10; limit += 1000) {
		cleanup_arena struct arena arena;
		struct sbx_error err = {0};
		struct oci_spec *spec = NULL;
		int r;

		arena_init(&arena, limit);
		r = oci_parse(&arena, data, len, &spec, &err);
		if (r == 0)
			continue;
		refused++;
		assert_null(spec);
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(err.code, SBX_E_RESOURCE_LIMIT);
	}
	assert_true(refused > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_full_document),
		cmocka_unit_test(test_minimal),
		cmocka_unit_test(test_process_document),
		cmocka_unit_test(test_resources_document),
		cmocka_unit_test(test_sysctl_path),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_many_mappings),
		cmocka_unit_test(test_arena_exhausted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
