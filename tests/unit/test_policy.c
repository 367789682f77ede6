/* Bundle and profile into a policy: what is open, what is refused by name, the environment. */
#include "runtime/base/cleanup.h"
#include "spec/policy.h"
#include "tests/unit/profile_fixture.h"

#define PROCESS(env) "'process':{'cwd':'/','args':['sh','-c','echo \\u0001'],'env':[" env "]}"
#define BUNDLE(env, mounts)                                                                        \
	"{'ociVersion':'1.2.0','root':{'path':'r'},'mounts':[" mounts "]," PROCESS(env) "}"
#define MOUNT(path) "{'destination':'" path "','type':'tmpfs','source':'x'}"

static struct oci_spec *bundle(struct arena *arena, const char *text)
{
	struct sbx_error err = {0};
	struct oci_spec *spec = NULL;
	const char *document = quoted(text);

	if (oci_parse(arena, document, strlen(document), &spec, &err) < 0)
		fail_msg("%s: %s at \"%s\"", document, err.message, err.pointer);
	return spec;
}

static struct policy *build(struct arena *arena, const char *bundle_text, const char *profile_text)
{
	struct sbx_error err = {0};
	struct policy *policy = NULL;
	struct profile *profile = profile_text ? parse(arena, profile_text) : NULL;

	if (policy_build(arena, bundle(arena, bundle_text), profile, NULL, &policy, &err) < 0)
		fail_msg("%s: at \"%s\"", err.message, err.pointer);
	return policy;
}

static enum sbx_code refusal(const char *profile_text, struct sbx_error *err)
{
	cleanup_arena struct arena arena;
	struct policy *policy = NULL;

	arena_init(&arena, FIXTURE_ARENA_BYTES);
	memset(err, 0, sizeof(*err));
	if (policy_build(&arena, bundle(&arena, BUNDLE("", "")), parse(&arena, profile_text), NULL,
			 &policy, err) == 0)
		fail_msg("%s was built", profile_text);
	assert_null(policy);
	return err->code;
}

#define PROFILE(members) "{'version':1,'workspace':{'root':'/w'},'command':'allow'," members "}"
#define OPEN		 "'read':'allow','write':'allow'"

/* ---- what is refused by name ---- */

static void test_unbuilt(void **state)
{
	static const char *const rows[][2] = {
		{"/network/rules",
		 PROFILE("'network':{'rules':[{'target':'tcp:a:1','access':'allow'}]}")},
		{"/network/rules",
		 PROFILE("'network':{'rules':[{'target':'tcp:a:1','access':'gated'}]}")},
		{"/network/forwards",
		 PROFILE("'network':{'forwards':[{'listen':1,'to':'tcp:a:1'}]}")},
		{"/network/learn", PROFILE("'network':{'learn':true}")},
		{"/network/proxyEnv", PROFILE("'network':{'proxyEnv':true}")},
		{"/network/proxyPorts", PROFILE("'network':{'proxyPorts':{'socks':1}}")},
		{"/network/route", PROFILE("'network':{'route':'corp'}")},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sbx_error err;

		if (refusal(rows[i][1], &err) != SBX_E_UNSUPPORTED ||
		    strcmp(err.pointer, rows[i][0]) != 0)
			fail_msg("%s: %s at \"%s\": %s", rows[i][1], sbx_code_name(err.code),
				 err.pointer, err.message);
	}
}

static void test_command(void **state)
{
	struct sbx_error err;

	(void)state;
	assert_int_equal(refusal("{'version':1,'workspace':{'root':'/w'}}", &err),
			 SBX_E_COMMAND_DENIED);
	assert_int_equal(refusal("{'version':1,'workspace':{'root':'/w'},'command':'gated'}", &err),
			 SBX_E_GRANT_REQUIRED);
	/* the requirement list names the class and the command as a JSON array */
	assert_non_null(strstr(err.requirements, "\"class\":\"command.start.v1\""));
	assert_non_null(strstr(err.requirements, "\"kind\":\"command.execute\""));
	assert_non_null(strstr(err.requirements, "\"target\":\"[\\\"sh\\\",\\\"-c\\\""));
	/* unconfined does not open the command */
	assert_int_equal(refusal("{'version':1,'workspace':{'root':'/w'," OPEN "},'host':{" OPEN
				 "},'network':{'access':'allow'},'isolation':'unconfined',"
				 "'ackUnconfined':true,'command':'gated'}",
				 &err),
			 SBX_E_GRANT_REQUIRED);
}

/* ---- what is open ---- */

static void test_plain_bundle(void **state)
{
	cleanup_arena struct arena arena;
	struct policy *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	p = build(&arena, BUNDLE("'A=1','LD_PRELOAD=x','A=2','B=','A=3','HOME=/h'", ""), NULL);
	assert_false(p->confined);
	assert_null(p->profile);
	assert_int_equal(p->asked, 0);
	assert_true(p->host_read && p->host_write && p->network_allowed);
	/* of equal names the last; nothing is dropped or added */
	assert_int_equal(p->env.n, 4);
	assert_string_equal(p->env.v[0], "LD_PRELOAD=x");
	assert_string_equal(p->env.v[1], "B=");
	assert_string_equal(p->env.v[2], "A=3");
	assert_string_equal(p->env.v[3], "HOME=/h");
	assert_null(p->env.v[4]);
	assert_int_equal(p->env_dropped.n, 0);
}

static void test_paths(void **state)
{
	cleanup_arena struct arena arena;
	struct policy *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	p = build(&arena, BUNDLE("", ""),
		  "{'version':1,'command':'allow','workspace':{'root':'/w'," OPEN "},'roots':["
		  "{'path':'/opt/sdk','read':'allow'},{'path':'/a','read':'gated'},"
		  "{'path':'/a/b','read':'allow','write':'gated'}],'network':{'access':'gated'}}");
	assert_true(p->confined);
	assert_int_equal(p->paths_n, 4);
	assert_string_equal(p->paths[0].path, "/a");
	assert_string_equal(p->paths[0].feature, "roots[0]");
	assert_false(p->paths[0].read); /* gated is closed */
	assert_true(p->paths[1].read);	/* allow inside deny */
	assert_false(p->paths[1].write);
	assert_string_equal(p->paths[2].path, "/opt/sdk");
	assert_string_equal(p->paths[3].feature, "workspace");
	assert_true(p->paths[3].read && p->paths[3].write);
	assert_false(p->host_read || p->host_write || p->network_allowed);
	assert_true(p->isolated_home);
	assert_int_equal(p->asked, GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY) |
					   GUARANTEE_BIT(GUARANTEE_WRITE_BOUNDARY) |
					   GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY) |
					   GUARANTEE_BIT(GUARANTEE_ENV_SCRUB) |
					   GUARANTEE_BIT(GUARANTEE_NETWORK_BOUNDARY));
	assert_int_equal(strlen(p->fingerprint), PROFILE_FINGERPRINT_LEN);
}

static void test_carve_outs(void **state)
{
	cleanup_arena struct arena arena;
	struct policy *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	p = build(&arena, BUNDLE("", ""),
		  "{'version':1,'command':'allow','workspace':{'root':'/w'," OPEN "},'host':{"
		  "'read':'allow'},'roots':[{'path':'/w/a','read':'allow'},{'path':'/w/a/b'," OPEN
		  "},{'path':'/o'},{'path':'/w/p/q'," OPEN "},{'path':'/w/r'," OPEN
		  "}],'protect':['p','a/x','r']}");
	/* /o /w /w/a /w/a/b /w/p /w/p/q /w/r; nothing of a/x, which is closed already */
	assert_int_equal(p->paths_n, 7);
	assert_true(policy_is_carve_out(p, 0));
	assert_false(policy_is_carve_out(p, 1));
	assert_true(policy_is_carve_out(p, 2));
	assert_false(policy_is_carve_out(p, 3)); /* opened again */
	assert_string_equal(p->paths[4].path, "/w/p");
	assert_string_equal(p->paths[4].path_pointer, "/protect/1"); /* sorted */
	assert_true(p->paths[4].is_protected && p->paths[4].read && !p->paths[4].write);
	assert_true(policy_is_carve_out(p, 4));
	assert_false(p->paths[5].write); /* not below protect */
	assert_false(p->paths[6].write || p->paths[6].is_protected);
	assert_true(policy_is_carve_out(p, 6));
	assert_ptr_equal(policy_enclosing(p, 3), &p->paths[2]);
	assert_null(policy_enclosing(p, 0));
	assert_ptr_equal(policy_rule_of(p, "/w/a/bc"), &p->paths[2]);
	assert_ptr_equal(policy_rule_of(p, "/w/a/b/c"), &p->paths[3]);
	assert_null(policy_rule_of(p, "/wx"));
}

static void test_asked(void **state)
{
	cleanup_arena struct arena arena;
	struct policy *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	p = build(&arena, BUNDLE("", ""),
		  "{'version':1,'command':'allow','workspace':{'root':'/w'," OPEN "},'host':{" OPEN
		  "},'network':{'access':'allow'},'require':['targetNetwork']}");
	assert_int_equal(p->asked, GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY) |
					   GUARANTEE_BIT(GUARANTEE_ENV_SCRUB) |
					   GUARANTEE_BIT(GUARANTEE_TARGET_NETWORK));
	p = build(&arena, BUNDLE("", ""),
		  "{'version':1,'command':'allow','workspace':{'root':'/w'," OPEN "},'host':{" OPEN
		  "},'network':{'access':'allow'},'isolation':'unconfined','ackUnconfined':true}");
	assert_false(p->confined);
	assert_int_equal(p->asked, 0);
	assert_non_null(p->profile);
	/* deny rules need no proxy: the empty namespace denies everything */
	p = build(&arena, BUNDLE("", ""), PROFILE("'network':{'rules':[{'target':'tcp:a:1'}]}"));
	assert_false(p->network_allowed);
	/* a pod's sandbox container has no workspace */
	p = NULL;
	assert_int_equal(
		policy_build(&arena, bundle(&arena, BUNDLE("", "")),
			     profile_sandbox_part(&arena, parse(&arena, PROFILE("'home':"
										"'real'"))),
			     NULL, &p, NULL),
		0);
	assert_true(p->confined && p->host_read && !p->host_write);
	assert_false(p->network_allowed);
	assert_int_equal(p->paths_n, 0);
}

static void test_scratch(void **state)
{
	static const struct {
		const char *mounts, *profile, *path;
	} rows[] = {
		{"", PROFILE("'home':'real'"), "/tmp"},
		{MOUNT("/data"), PROFILE("'home':'real'"), "/tmp"},
		{MOUNT("/tmpfs"), PROFILE("'home':'real'"), "/tmp"},
		{MOUNT("/tmp"), PROFILE("'home':'real'"), "/run/sbx"},
		{MOUNT("/x/../tmp//"), PROFILE("'home':'real'"), "/run/sbx"},
		{MOUNT("/tmp/x"), PROFILE("'home':'real'"), "/run/sbx"},
		{"", PROFILE("'roots':[{'path':'/tmp/x'}]"), "/run/sbx"},
		{"", PROFILE("'roots':[{'path':'/tmp'}]"), "/run/sbx"},
		{MOUNT("/tmp") "," MOUNT("/run"), PROFILE("'home':'real'"), "/run/sbx"},
		{MOUNT("/tmp") "," MOUNT("/run/sbx"), PROFILE("'home':'real'"), NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_arena struct arena arena;
		cleanup_buf struct buf text = BUF_INIT;
		struct policy *p = NULL;
		struct sbx_error err = {0};

		arena_init(&arena, FIXTURE_ARENA_BYTES);
		buf_printf(
			&text,
			"{'ociVersion':'1.2.0','root':{'path':'r'},'mounts':[%s]," PROCESS("") "}",
			rows[i].mounts);
		if (policy_build(&arena, bundle(&arena, text.data), parse(&arena, rows[i].profile),
				 NULL, &p, &err) < 0) {
			assert_null(rows[i].path);
			assert_int_equal(err.code, SBX_E_INVALID_CONFIG);
			continue;
		}
		assert_non_null(rows[i].path);
		assert_string_equal(p->scratch_path, rows[i].path);
		assert_int_equal(p->scratch_bytes, PROFILE_SCRATCH_DEFAULT_BYTES);
	}
}

/* ---- environment ---- */

static bool has(const struct strings *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->v[i], text) == 0)
			return true;
	return false;
}

static bool has_name(const struct strings *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strncmp(list->v[i], name, strlen(name)) == 0 && list->v[i][strlen(name)] == '=')
			return true;
	return false;
}

static void test_environment(void **state)
{
	static const char *const dropped[] = {"LD_PRELOAD",
					      "LD_LIBRARY_PATH",
					      "LD_AUDIT",
					      "LD_",
					      "BASH_ENV",
					      "ENV",
					      "GCONV_PATH",
					      "PYTHONSTARTUP",
					      "PERL5OPT",
					      "NODE_OPTIONS",
					      "RUBYOPT",
					      "JAVA_TOOL_OPTIONS",
					      "GLIBC_TUNABLES",
					      "BASH_FUNC_x%%",
					      "LUA_INIT_5_4",
					      "ZDOTDIR",
					      "PS1",
					      "PS4",
					      "R_PROFILE",
					      "ERL_AFLAGS",
					      "DOTNET_STARTUP_HOOKS",
					      "SHELLOPTS"};
	static const char *const kept[] = {"PATH",  "LDFLAGS",	 "LD",	       "ENVIRONMENT",
					   "MYENV", "BASH",	 "PYTHONPATH", "NODE_ENV",
					   "LANG",  "ld_preload"};
	cleanup_arena struct arena arena;
	cleanup_buf struct buf text = BUF_INIT;
	struct policy *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	buf_puts(&text,
		 "{'ociVersion':'1.2.0','root':{'path':'r'},'process':{'cwd':'/','args':['x'],"
		 "'env':['HOME=/root','TMPDIR=/x','A=1','A=2','LANG=old'");
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++)
		buf_printf(&text, ",'%s=secret'", dropped[i]);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		buf_printf(&text, ",'%s=v'", kept[i]);
	buf_puts(&text, "]}}");
	p = build(&arena, text.data, PROFILE("'home':'isolated'"));
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++) {
		if (has_name(&p->env, dropped[i]) || !has(&p->env_dropped, dropped[i]))
			fail_msg("%s", dropped[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (!has_name(&p->env, kept[i]) || has(&p->env_dropped, kept[i]))
			fail_msg("%s", kept[i]);
	}
	assert_true(has(&p->env, "A=2") && !has(&p->env, "A=1"));
	assert_true(has(&p->env, "LANG=v") && !has(&p->env, "LANG=old"));
	assert_true(has(&p->env, "TMPDIR=/tmp") && !has(&p->env, "TMPDIR=/x"));
	assert_true(has(&p->env, "HOME=/tmp/.home") && !has(&p->env, "HOME=/root"));
	assert_int_equal(p->env.n, ARRAY_SIZE(kept) + 3);
	assert_null(p->env.v[p->env.n]);
	/* the real home is the config's */
	p = build(&arena, text.data, PROFILE("'home':'real'"));
	assert_true(has(&p->env, "HOME=/root") && has(&p->env, "TMPDIR=/tmp"));
}

static void test_environment_is_not_quadratic(void **state)
{
	cleanup_arena struct arena arena;
	struct strings env = {.n = 200000}, out, dropped;
	struct policy policy = {.confined = false};

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	env.v = arena_alloc_array(&arena, env.n + 1, sizeof(*env.v));
	for (size_t i = 0; i < env.n; i++)
		env.v[i] = arena_printf(&arena, "NAME%zu=%zu", i % 1000, i);
	assert_int_equal(policy_environment(&arena, &policy, &env, &out, &dropped, NULL), 0);
	assert_int_equal(out.n, 1000);
	assert_string_equal(out.v[0], "NAME0=199000");
}

/* ---- report ---- */

static void test_report_of_policy(void **state)
{
	cleanup_arena struct arena arena;
	struct report report;
	struct policy *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	p = build(&arena, BUNDLE("'LD_PRELOAD=x'", ""),
		  "{'version':1,'command':'allow','workspace':{'root':'/w'," OPEN "},'network':{"
		  "'access':'gated'},'roots':[{'path':'/a','read':'allow','write':'gated'}]}");
	report_init(&report, &arena);
	policy_report(p, &report);
	assert_int_equal(report.asked, p->asked);
	assert_string_equal(report.access_kind, "scopedWrite");
	assert_int_equal(report.write_trees.n, 1);
	assert_string_equal(report.write_trees.v[0], "/w");
	assert_int_equal(report.n, 3);
	assert_string_equal(report.entries[0].feature, "network");
	assert_non_null(strstr(report.entries[0].detail, "gated"));
	assert_string_equal(report.entries[2].feature, "environment");
	assert_non_null(strstr(report.entries[2].detail, "LD_PRELOAD"));
	p = build(&arena, BUNDLE("", ""), PROFILE("'home':'real'"));
	report_init(&report, &arena);
	policy_report(p, &report);
	assert_string_equal(report.access_kind, "readOnly");
	p = build(&arena, BUNDLE("", ""), NULL);
	report_init(&report, &arena);
	policy_report(p, &report);
	assert_int_equal(report.n, 0);
	assert_string_equal(report.access_kind, "broadWrite");
}

static void test_written(void **state)
{
	cleanup_arena struct arena arena;
	cleanup_buf struct buf out = BUF_INIT;
	struct json_node *root = NULL;
	struct json_writer w;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	json_writer_init(&w, &out, 0);
	policy_write(&w, NULL, build(&arena, BUNDLE("'A=1'", ""), PROFILE("'home':'real'")));
	assert_false(buf_failed(&out));
	assert_int_equal(
		json_parse(&arena, "policy", out.data, out.len, &json_limits_profile, &root, NULL),
		0);
	assert_int_equal(json_get(root, "confined")->type, JSON_TRUE);
	assert_string_equal(json_get(json_get(root, "scratch"), "path")->text, "/tmp");
	assert_int_equal(json_get(root, "paths")->count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unbuilt),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_plain_bundle),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_carve_outs),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_scratch),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_environment_is_not_quadratic),
		cmocka_unit_test(test_report_of_policy),
		cmocka_unit_test(test_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
