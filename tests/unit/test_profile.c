/* The profile document: what is taken, what is refused and where, what it says. */
#include "runtime/base/cleanup.h"
#include "tests/unit/profile_fixture.h"

static const char *const full =
	"{'version':1,'workspace':{'root':'/workspace','read':'allow','write':'allow'},"
	"'host':{'read':'deny','write':'deny'},"
	"'roots':[{'path':'/opt/sdk','read':'allow','write':'deny'}],"
	"'protect':['@git','.envrc'],"
	"'network':{'access':'deny','route':'direct','rules':[{'target':'tcp:github.com:443','"
	"access':"
	"'allow'},{'target':'tcp:*.npmjs.org:443','access':'gated'}]},"
	"'command':'allow','home':'isolated','isolation':'sandboxed','ackUnconfined':false,"
	"'unixSockets':['/run/build/agent.sock'],"
	"'limits':{'deadline':'10m','terminateGrace':'5s','outputBytes':1048576,'pids':256,"
	"'memory':'2GiB','cpus':1.5,'scratch':'1GiB'},"
	"'onDetach':'remount','require':['readBoundary','targetNetwork'],'minLevel':'full'}";

/* ---- what is taken ---- */

static void test_full_document(void **state)
{
	cleanup_arena struct arena arena;
	struct profile *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	p = parse(&arena, full);
	assert_string_equal(p->workspace.path, "/workspace");
	assert_int_equal(p->workspace.read, ACCESS_ALLOW);
	assert_int_equal(p->roots_n, 1);
	assert_int_equal(p->roots[0].write, ACCESS_DENY);
	assert_int_equal(p->protect.n, 2);
	assert_string_equal(p->protect.v[0], ".envrc");
	assert_int_equal(p->rules_n, 2);
	assert_int_equal(p->limits.deadline_ms.v, 600000);
	assert_int_equal(p->limits.terminate_grace_ms.v, 5000);
	assert_int_equal(p->limits.memory_bytes.v, UINT64_C(2) << 30);
	assert_int_equal(p->limits.cpus_milli.v, 1500);
	assert_int_equal(p->on_detach, DETACH_REMOUNT);
	assert_int_equal(p->require, GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY) |
					     GUARANTEE_BIT(GUARANTEE_TARGET_NETWORK));
	assert_int_equal(p->min_level, LEVEL_FULL);
}

static void test_defaults(void **state)
{
	cleanup_arena struct arena arena;
	cleanup_buf struct buf out = BUF_INIT;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	print(parse(&arena, "{'version':1,'workspace':{'root':'/w'}}"), &out);
	assert_string_equal(
		out.data,
		quoted("{'version':1,'workspace':{'root':'/w','read':'deny','write':'deny'},"
		       "'host':{'read':'deny','write':'deny'},'roots':[],'protect':[],"
		       "'network':{'access':'deny','route':'direct','rules':[]},'command':'deny',"
		       "'home':'isolated','isolation':'sandboxed','unixSockets':[],'require':[]}"));
}

/* Left out it is not the same word as "none". */
static void test_least_level(void **state)
{
	cleanup_arena struct arena arena;
	cleanup_buf struct buf out = BUF_INIT;
	const struct profile *left_out, *none;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	left_out = parse(&arena, "{'version':1,'workspace':{'root':'/w'}}");
	none = parse(&arena, "{'version':1,'workspace':{'root':'/w'},'minLevel':'none'}");
	assert_false(left_out->min_level_none);
	assert_true(none->min_level_none);
	assert_int_equal(none->min_level, LEVEL_NONE);
	assert_false(parse(&arena, "{'version':1,'workspace':{'root':'/w'},"
				   "'minLevel':'degraded'}")
			     ->min_level_none);
	print(none, &out);
	assert_non_null(strstr(out.data, quoted("'minLevel':'none'")));
}

static const char *const taken[] = {
	"{'version':1,'workspace':{'root':'/a b\\u0001/...'}}",
	"{'version':1,'workspace':{'root':'/w','read':'gated','write':'allow'}}",
	"{'version':1,'workspace':{'root':'/w'},'roots':[{'path':'/w/x'},{'path':'/wx'}]}",
	"{'version':1,'workspace':{'root':'/w'},'limits':{}}",
	"{'version':1,'workspace':{'root':'/w'},'limits':{'terminateGrace':'0s'}}",
	"{'version':1,'workspace':{'root':'/w'},'limits':{'memory':1,'scratch':'512MiB'}}",
	"{'version':1,'workspace':{'root':'/w'},'limits':{'cpus':0.001,'pids':4194304}}",
	"{'version':1,'workspace':{'root':'/w'},'network':{'access':'gated','rules':[]}}",
	"{'version':1,'workspace':{'root':'/w'},'network':{'rules':[{'target':'tcp:10.0.0.0/8:*',"
	"'access':'allow','addressClasses':['private']},{'target':'tcp:1.1.1.1:53','access':'gated'"
	","
	"'tls':'any','ech':'refuse','inspect':true}]}}",
	"{'version':1,'workspace':{'root':'/w'},'network':{'rules':[{'target':'tcp:10.0.0.0/8:*'},"
	"{'target':'tcp:224.0.0.0/4:*','access':'deny'}]}}",
	"{'version':1,'workspace':{'root':'/w'},'network':{'rules':[{'target':'tcp:0.0.0.0/0:443',"
	"'access':'allow'}]}}",
	"{'version':1,'workspace':{'root':'/w'},'network':{'forwards':[{'listen':5432,'to':"
	"'tcp:10.0.0.5:5432'}],'learn':true,'proxyEnv':true,'proxyPorts':{'http':1,'socks':2}}}",
	"{'version':1,'workspace':{'root':'/"
	"w','read':'allow','write':'allow'},'host':{'read':'allow',"
	"'write':'allow'},'network':{'access':'allow'},'isolation':'unconfined','ackUnconfined':"
	"true,"
	"'command':'gated','roots':[{'path':'/x','read':'allow','write':'allow'}]}",
	"{'version':1,'workspace':{'root':'/w'},'protect':['a/b','..a','.git','@git','@git']}",
	"{'version':1,'workspace':{'root':'/w'},'require':['unixSockets','processBoundary',"
	"'processBoundary'],'minLevel':'none','onDetach':'kill','home':'real'}",
};

static void test_written_document_is_read_again(void **state)
{
	(void)state;
	for (size_t i = 0; i <= ARRAY_SIZE(taken); i++) {
		cleanup_arena struct arena arena;
		cleanup_buf struct buf first = BUF_INIT, second = BUF_INIT;
		struct profile *profile, *again = NULL;
		char a[PROFILE_FINGERPRINT_LEN + 1], b[PROFILE_FINGERPRINT_LEN + 1];

		arena_init(&arena, FIXTURE_ARENA_BYTES);
		profile = parse(&arena, i < ARRAY_SIZE(taken) ? taken[i] : full);
		print(profile, &first);
		assert_int_equal(profile_parse(&arena, first.data, first.len, PROFILE_ROLE_PROFILE,
					       NULL, &again, NULL),
				 0);
		print(again, &second);
		assert_string_equal(first.data, second.data);
		profile_fingerprint(profile, a);
		profile_fingerprint(again, b);
		assert_string_equal(a, b);
	}
}

/* ---- what is refused ---- */

struct refusal {
	const char *pointer, *text;
};

#define WITH(members)	 "{'version':1,'workspace':{'root':'/w'}," members "}"
#define NETWORK(members) WITH("'network':{" members "}")
#define RULE(members)	 NETWORK("'rules':[{" members "}]")
#define UNCONFINED(workspace, host, network, more)                                                 \
	"{'version':1,'workspace':{'root':'/w'," workspace "},'host':{" host                       \
	"},'network':{" network "},'isolation':'unconfined'" more "}"
#define RW "'read':'allow','write':'allow'"

static const struct refusal refusals[] = {
	/* version and shape */
	{"", "[]"},
	{"", "1"},
	{"", "{'workspace':{'root':'/w'}}"},
	{"/version", "{'version':2,'workspace':{'root':'/w'}}"},
	{"/version", "{'version':0,'workspace':{'root':'/w'}}"},
	{"/version", "{'version':'1','workspace':{'root':'/w'}}"},
	{"/version", "{'version':1.0,'workspace':{'root':'/w'}}"},
	{"/version", "{'version':18446744073709551617,'workspace':{'root':'/w'}}"},
	{"/version", "{'version':null,'workspace':{'root':'/w'}}"},
	{"/versions", "{'versions':1,'version':1,'workspace':{'root':'/w'}}"},
	{"/Home", WITH("'Home':'real'")},
	{"/host/exec", WITH("'host':{'exec':'allow'}")},
	{"/workspace/path", "{'version':1,'workspace':{'path':'/w'}}"},
	{"/roots/0/name", WITH("'roots':[{'path':'/x','name':'y'}]")},
	{"/network/acess", NETWORK("'acess':'allow'")},
	{"/limits/ram", WITH("'limits':{'ram':1}")},
	{"/host", WITH("'host':null")},
	{"/host", WITH("'host':[]")},
	{"/roots", WITH("'roots':{}")},
	{"/roots/0", WITH("'roots':['/x']")},
	{"/roots/0", WITH("'roots':[{'read':'allow'}]")},
	{"/protect", WITH("'protect':'.envrc'")},
	{"/protect/0", WITH("'protect':[1]")},
	{"/ackUnconfined", WITH("'ackUnconfined':1")},
	{"/command", WITH("'command':'ask'")},
	{"/command", WITH("'command':true")},
	{"/command", WITH("'command':'Allow'")},
	{"/home", WITH("'home':'fake'")},
	{"/isolation", WITH("'isolation':''")},
	{"/minLevel", WITH("'minLevel':'best'")},
	{"/onDetach", WITH("'onDetach':'ignore'")},
	{"/require/0", WITH("'require':['everything']")},
	{"/require/1", WITH("'require':['envScrub',1]")},
	{"/require", WITH("'require':'envScrub'")},
	/* paths */
	{"/workspace/root", "{'version':1}"},
	{"/workspace/root", "{'version':1,'workspace':{}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':''}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':'/'}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':'w'}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':'./w'}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':'~/w'}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':'..'}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':'/w/'}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':'//w'}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':'/w//x'}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':'/w/.'}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':'/w/../x'}}"},
	{"/workspace/root", "{'version':1,'workspace':{'root':7}}"},
	{"/roots/0/path", WITH("'roots':[{'path':'/x/'}]")},
	{"/roots/0/path", WITH("'roots':[{'path':'/'}]")},
	{"/roots/1/path", WITH("'roots':[{'path':'/x'},{'path':'x'}]")},
	{"/roots/2/path",
	 WITH("'roots':[{'path':'/x'},{'path':'/y'},{'path':'/x','read':'allow'}]")},
	{"/roots/1/path", WITH("'roots':[{'path':'/x'},{'path':'/w'}]")},
	{"/unixSockets/0", WITH("'unixSockets':['run/x.sock']")},
	{"/unixSockets/0", WITH("'unixSockets':['@abstract']")},
	{"/protect/0", WITH("'protect':['']")},
	{"/protect/0", WITH("'protect':['/etc']")},
	{"/protect/0", WITH("'protect':['..']")},
	{"/protect/0", WITH("'protect':['a/../b']")},
	{"/protect/0", WITH("'protect':['a/']")},
	{"/protect/0", WITH("'protect':['./a']")},
	{"/protect/0", WITH("'protect':['a//b']")},
	{"/protect/0", WITH("'protect':['@svn']")},
	/* contradictions */
	{"/workspace/write", "{'version':1,'workspace':{'root':'/w','write':'allow'}}"},
	{"/workspace/write",
	 "{'version':1,'workspace':{'root':'/w','write':'gated','read':'deny'}}"},
	{"/roots/0/write", WITH("'roots':[{'path':'/x','write':'allow'}]")},
	{"/host/write", WITH("'host':{'write':'gated'}")},
	{"/network/rules", NETWORK("'access':'allow','rules':[{'target':'tcp:a:1'}]")},
	{"/ackUnconfined", WITH("'ackUnconfined':true")},
	{"/isolation", UNCONFINED(RW, RW, "'access':'allow'", "")},
	{"/isolation", UNCONFINED(RW, RW, "'access':'allow'", ",'ackUnconfined':false")},
	{"/workspace",
	 UNCONFINED("'read':'allow'", RW, "'access':'allow'", ",'ackUnconfined':true")},
	{"/workspace/write", UNCONFINED("'read':'allow','write':'gated'", RW, "'access':'allow'",
					",'ackUnconfined':true")},
	{"/host/write", UNCONFINED(RW, "'read':'allow','write':'gated'", "'access':'allow'",
				   ",'ackUnconfined':true")},
	{"/host", UNCONFINED(RW, "", "'access':'allow'", ",'ackUnconfined':true")},
	{"/network/access", UNCONFINED(RW, RW, "'access':'gated'", ",'ackUnconfined':true")},
	{"/network", UNCONFINED(RW, RW, "", ",'ackUnconfined':true")},
	{"/protect",
	 UNCONFINED(RW, RW, "'access':'allow'", ",'ackUnconfined':true,'protect':['a']")},
	{"/unixSockets",
	 UNCONFINED(RW, RW, "'access':'allow'", ",'ackUnconfined':true,'unixSockets':['/a']")},
	{"/require",
	 UNCONFINED(RW, RW, "'access':'allow'", ",'ackUnconfined':true,'require':['unixSockets']")},
	{"/network/route",
	 UNCONFINED(RW, RW, "'access':'allow','route':'corp'", ",'ackUnconfined':true")},
	{"/roots/0/path",
	 UNCONFINED(RW, RW, "'access':'allow'",
		    ",'ackUnconfined':true,'roots':[{'path':'/x','read':'allow'}]")},
	/* network */
	{"/network/route", NETWORK("'route':''")},
	{"/network/route", NETWORK("'route':'../x'")},
	{"/network/rules/0", RULE("'access':'allow'")},
	{"/network/rules/0/target", RULE("'target':'tcp:*:443'")},
	{"/network/rules/0/target", RULE("'target':'tcp:127.1:443'")},
	{"/network/rules/0/target", RULE("'target':443")},
	{"/network/rules/0/target", RULE("'target':'tcp:10.0.0.1:443','access':'allow'")},
	{"/network/rules/0/target", RULE("'target':'tcp:10.0.0.1:443','access':'gated'")},
	{"/network/rules/0/target", RULE("'target':'tcp:169.254.169.254:80','access':'allow','"
					 "addressClasses':['link-local']")},
	{"/network/rules/0/target",
	 RULE("'target':'tcp:169.254.169.254:80','access':'allow','addressClasses':['metadata']")},
	{"/network/rules/0/target", RULE("'target':'tcp:224.0.0.1:80','access':'allow',"
					 "'addressClasses':['private','loopback','metadata']")},
	{"/network/rules/0/target", RULE("'target':'tcp:[::ffff:127.0.0.1]:80','access':'allow'")},
	{"/network/rules/0/target", RULE("'target':'tcp:[64:ff9b::7f00:1]:80','access':'allow'")},
	{"/network/rules/0/addressClasses/0",
	 RULE("'target':'tcp:a:1','access':'allow','addressClasses':['multicast']")},
	{"/network/rules/0/addressClasses",
	 RULE("'target':'tcp:10.0.0.1:1','access':'deny','addressClasses':['private']")},
	{"/network/rules/0/tls", RULE("'target':'tcp:a:1','access':'allow','tls':'none'")},
	{"/network/rules/0/tls", RULE("'target':'tcp:a:1','tls':'any'")},
	{"/network/rules/0/ech", RULE("'target':'tcp:a:1','access':'allow','ech':true")},
	{"/network/rules/1/target",
	 NETWORK("'rules':[{'target':'tcp:a:1'},{'target':'tcp:a:1','access':'allow'}]")},
	{"/network/rules", NETWORK("'rules':[{'target':'tcp:A:1'},{'target':'tcp:a.:1'}]")},
	{"/network/forwards/0/listen", NETWORK("'forwards':[{'listen':0,'to':'tcp:a:1'}]")},
	{"/network/forwards/0", NETWORK("'forwards':[{'listen':1}]")},
	{"/network/forwards/0/to", NETWORK("'forwards':[{'listen':1,'to':'tcp:*.a:1'}]")},
	{"/network/forwards/0/to", NETWORK("'forwards':[{'listen':1,'to':'tcp:a:*'}]")},
	{"/network/forwards",
	 NETWORK("'forwards':[{'listen':1,'to':'tcp:a:1'},{'listen':1,'to':'tcp:b:1'}]")},
	{"/network/proxyPorts", NETWORK("'proxyPorts':{'http':1,'socks':1}")},
	{"/network/proxyPorts/http", NETWORK("'proxyPorts':{'http':65536}")},
	{"/network/learn", NETWORK("'learn':'yes'")},
	/* limits */
	{"/limits/deadline", WITH("'limits':{'deadline':600}")},
	{"/limits/deadline", WITH("'limits':{'deadline':'10'}")},
	{"/limits/deadline", WITH("'limits':{'deadline':'10d'}")},
	{"/limits/deadline", WITH("'limits':{'deadline':'0s'}")},
	{"/limits/deadline", WITH("'limits':{'deadline':'-1s'}")},
	{"/limits/deadline", WITH("'limits':{'deadline':'9223372036854775807h'}")},
	{"/limits/memory", WITH("'limits':{'memory':'2GB'}")},
	{"/limits/memory", WITH("'limits':{'memory':-1}")},
	{"/limits/memory", WITH("'limits':{'memory':0}")},
	{"/limits/memory", WITH("'limits':{'memory':1.5}")},
	{"/limits/memory", WITH("'limits':{'memory':'8589934592GiB'}")},
	{"/limits/memory", WITH("'limits':{'memory':9223372036854775808}")},
	{"/limits/pids", WITH("'limits':{'pids':'256'}")},
	{"/limits/pids", WITH("'limits':{'pids':0}")},
	{"/limits/pids", WITH("'limits':{'pids':4294967297}")},
	{"/limits/cpus", WITH("'limits':{'cpus':0}")},
	{"/limits/cpus", WITH("'limits':{'cpus':1e3}")},
	{"/limits/cpus", WITH("'limits':{'cpus':0.0001}")},
	{"/limits/cpus", WITH("'limits':{'cpus':-1}")},
	{"/limits/cpus", WITH("'limits':{'cpus':'1'}")},
	{"/limits/outputBytes", WITH("'limits':{'outputBytes':true}")},
	{"/limits/scratch", WITH("'limits':{'scratch':0}")},
	{"/limits", WITH("'limits':[]")},
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		cleanup_arena struct arena arena;
		struct sbx_error err = {0};
		struct profile *profile = NULL;
		const char *document = quoted(refusals[i].text);

		arena_init(&arena, FIXTURE_ARENA_BYTES);
		if (profile_parse(&arena, document, strlen(document), PROFILE_ROLE_PROFILE, NULL,
				  &profile, &err) == 0)
			fail_msg("%s was taken", document);
		if (err.code != SBX_E_INVALID_PROFILE ||
		    strcmp(err.pointer, refusals[i].pointer) != 0)
			fail_msg("%s: %s at \"%s\", not at \"%s\": %s", document,
				 sbx_code_name(err.code), err.pointer, refusals[i].pointer,
				 err.message);
		assert_null(profile);
		assert_true(err.message[0] != '\0');
	}
}

static void test_no_json(void **state)
{
	static const char *const rows[] = {
		"",
		"{",
		"{'version':1,'version':1,'workspace':{'root':'/w'}}",
		"{'version':1,'workspace':{'root':'/w','root':'/x'}}",
		"{'version':1,'workspace':{'root':'/w\\u0000'}}",
		"{'version':1,'workspace':{'root':'/w'}} x",
		"{'version':1,/**/'workspace':{'root':'/w'}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_arena struct arena arena;
		struct sbx_error err = {0};
		struct profile *profile = NULL;
		const char *document = quoted(rows[i]);

		arena_init(&arena, FIXTURE_ARENA_BYTES);
		assert_true(profile_parse(&arena, document, strlen(document), PROFILE_ROLE_PROFILE,
					  NULL, &profile, &err) < 0);
		assert_int_equal(err.code, SBX_E_INVALID_JSON);
	}
}

static void test_lists_are_bounded(void **state)
{
	for (unsigned n = 1024; n <= 1025; n++) {
		cleanup_arena struct arena arena;
		cleanup_buf struct buf text = BUF_INIT;
		struct profile *profile = NULL;
		int r;

		(void)state;
		arena_init(&arena, FIXTURE_ARENA_BYTES);
		buf_puts(&text, quoted("{'version':1,'workspace':{'root':'/w'},'roots':["));
		for (unsigned i = 0; i < n; i++)
			buf_printf(&text, "%s{\"path\":\"/r/%u\"}", i ? "," : "", i);
		buf_puts(&text, "]}");
		r = profile_parse(&arena, text.data, text.len, PROFILE_ROLE_PROFILE, NULL, &profile,
				  NULL);
		assert_int_equal(r == 0, n == 1024);
	}
}

static void test_workspace_of_the_annotation(void **state)
{
	cleanup_arena struct arena arena;
	struct profile *p = NULL;
	struct sbx_error err = {0};
	const char *without = quoted("{'version':1,'workspace':{'read':'allow'}}");
	const char *with = quoted("{'version':1,'workspace':{'root':'/w'}}");
	const char *clash = quoted("{'version':1,'roots':[{'path':'/data'}]}");

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	assert_int_equal(profile_parse(&arena, without, strlen(without), PROFILE_ROLE_PROFILE,
				       "/data", &p, NULL),
			 0);
	assert_string_equal(p->workspace.path, "/data");
	assert_int_equal(p->workspace.read, ACCESS_ALLOW);
	assert_int_equal(
		profile_parse(&arena, with, strlen(with), PROFILE_ROLE_PROFILE, "/data", &p, NULL),
		0);
	assert_string_equal(p->workspace.path, "/w");
	assert_int_equal(profile_parse(&arena, without, strlen(without), PROFILE_ROLE_CEILING, NULL,
				       &p, NULL),
			 0);
	assert_null(p->workspace.path);
	assert_true(profile_parse(&arena, without, strlen(without), PROFILE_ROLE_PROFILE,
				  "/data/..", &p, &err) < 0);
	assert_int_equal(err.code, SBX_E_INVALID_PROFILE);
	assert_true(profile_parse(&arena, clash, strlen(clash), PROFILE_ROLE_PROFILE, "/data", &p,
				  &err) < 0);
	assert_string_equal(err.pointer, "/roots/0/path");
}

/* ---- what it says ---- */

static const char *const judged =
	"{'version':1,'workspace':{'root':'/repo/app','read':'allow','write':'allow'},"
	"'host':{'read':'gated'},'protect':['@git','.envrc','ci/keys'],'command':'gated',"
	"'roots':[{'path':'/repo/app/gen','read':'allow'},{'path':'/repo','read':'deny'},"
	"{'path':'/opt/sdk','read':'allow','write':'gated'}],"
	"'network':{'access':'gated','rules':["
	"{'target':'tcp:*.x:443','access':'allow'},{'target':'tcp:a.x:443'},"
	"{'target':'tcp:b.x:*','access':'gated'},{'target':'tcp:10.0.0.0/8:*','access':'allow',"
	"'addressClasses':['private']},{'target':'tcp:10.6.6.6:*','access':'deny'},"
	"{'target':'tcp:8.8.8.0/24:*'}]}}";

static void test_access(void **state)
{
	static const struct {
		const char *kind, *scope;
		enum access access;
		const char *why;
	} rows[] = {
		{"command.execute", "make -j2", ACCESS_GATED, "/command"},
		{"filesystem.read", "/repo/app", ACCESS_ALLOW, "/workspace/read"},
		{"filesystem.write", "/repo/app/src/a.c", ACCESS_ALLOW, "/workspace/write"},
		{"filesystem.write", "/repo/app-tools/x", ACCESS_DENY, "/roots/1/write"},
		{"filesystem.read", "/repo/app-tools/x", ACCESS_DENY, "/roots/1/read"},
		{"filesystem.read", "/repository", ACCESS_GATED, "/host/read"},
		{"filesystem.write", "/repo/app/gen/x", ACCESS_DENY, "/roots/2/write"},
		{"filesystem.read", "/repo/app/gen/x", ACCESS_ALLOW, "/roots/2/read"},
		{"filesystem.write", "/repo/app/.envrc", ACCESS_DENY, "\".envrc\""},
		{"filesystem.read", "/repo/app/.envrc", ACCESS_ALLOW, "/workspace/read"},
		{"filesystem.write", "/repo/app/.envrc2", ACCESS_ALLOW, "/workspace/write"},
		{"filesystem.write", "/repo/app/ci/keys/a", ACCESS_DENY, "\"ci/keys\""},
		{"filesystem.write", "/repo/app/.git/hooks/pre-commit", ACCESS_DENY, "@git"},
		{"filesystem.write", "/repo/app/.git/config", ACCESS_DENY, "@git"},
		{"filesystem.write", "/repo/app/.git/worktrees/w/gitdir", ACCESS_DENY, "@git"},
		{"filesystem.write", "/repo/app/.git/modules/a/b/config", ACCESS_DENY, "@git"},
		{"filesystem.write", "/repo/app/.git/modules/a/hooks/x", ACCESS_DENY, "@git"},
		{"filesystem.write", "/repo/app/.git/objects/aa", ACCESS_ALLOW, "/workspace/write"},
		{"filesystem.write", "/", ACCESS_DENY, "/host/write"},
		{"filesystem.read", "host", ACCESS_GATED, "/host/read"},
		{"filesystem.write", "tree:/opt/sdk", ACCESS_GATED, "/roots/0/write"},
		{"filesystem.read", "tree:/repo/app", ACCESS_ALLOW, "/workspace/read"},
		{"network", "broad", ACCESS_GATED, "/network/access"},
		{"network", "tcp:c.x:443", ACCESS_ALLOW, "tcp:*.x:443"},
		{"network", "tcp:C.X.:443", ACCESS_ALLOW, "tcp:*.x:443"},
		{"network", "tcp:x:443", ACCESS_GATED, "/network/access"},
		{"network", "tcp:c.x:80", ACCESS_GATED, "/network/access"},
		{"network", "tcp:a.x:443", ACCESS_DENY, "tcp:a.x:443"},
		{"network", "tcp:b.x:443", ACCESS_GATED, "tcp:b.x:*"},
		{"network", "tcp:*.x:443", ACCESS_DENY, "tcp:a.x:443"},
		{"network", "tcp:10.1.2.3:22", ACCESS_ALLOW, "tcp:10.0.0.0/8:*"},
		{"network", "tcp:10.6.6.6:22", ACCESS_DENY, "tcp:10.6.6.6:*"},
		{"network", "tcp:[::ffff:10.6.6.6]:22", ACCESS_DENY, "tcp:10.6.6.6:*"},
		{"network", "tcp:[64:ff9b::8.8.8.8]:53", ACCESS_DENY, "tcp:8.8.8.0/24:*"},
		{"network", "tcp:10.0.0.0/8:22", ACCESS_DENY, "tcp:10.6.6.6:*"},
		{"network", "tcp:192.168.0.1:22", ACCESS_DENY, "not public"},
		{"network", "tcp:127.0.0.1:22", ACCESS_DENY, "not public"},
		{"network", "tcp:1.1.1.1:22", ACCESS_GATED, "/network/access"},
	};
	cleanup_arena struct arena arena;
	struct profile *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	p = parse(&arena, judged);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf why = BUF_INIT;

		if (ask(p, rows[i].kind, rows[i].scope) != rows[i].access)
			fail_msg("%s %s is %s", rows[i].kind, rows[i].scope,
				 access_name(ask(p, rows[i].kind, rows[i].scope)));
		assert_int_equal(profile_explain(p, rows[i].kind, rows[i].scope, &why, NULL), 0);
		if (!strstr(why.data, rows[i].why) ||
		    !strstr(why.data, access_name(rows[i].access)))
			fail_msg("\"%s\" does not name %s", why.data, rows[i].why);
	}
}

static void test_malformed_questions(void **state)
{
	static const char *const rows[][2] = {
		{"command", "ls"},
		{"command.start", "ls"},
		{"", ""},
		{"filesystem.execute", "/x"},
		{"Network", "broad"},
		{"command.execute", ""},
		{"filesystem.read", ""},
		{"filesystem.read", "x"},
		{"filesystem.read", "/x/"},
		{"filesystem.read", "/x/../y"},
		{"filesystem.read", "Host"},
		{"filesystem.read", "tree:"},
		{"filesystem.read", "tree:/repo/app/src"},
		{"filesystem.read", "tree:/"},
		{"filesystem.write", "tree:/repo/app/"},
		{"network", ""},
		{"network", "tcp:*:443"},
		{"network", "host"},
		{"network", "tcp:0x7f.1:443"},
	};
	cleanup_arena struct arena arena;
	struct profile *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	p = parse(&arena, judged);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf why = BUF_INIT;
		struct sbx_error err = {0};
		enum access access = (enum access)77;

		if (profile_access(p, rows[i][0], rows[i][1], &access, &err) == 0)
			fail_msg("%s %s was answered", rows[i][0], rows[i][1]);
		assert_int_equal(access, 77);
		assert_int_equal(err.code, SBX_E_USAGE);
		assert_true(profile_explain(p, rows[i][0], rows[i][1], &why, NULL) < 0);
	}
}

/* No rule at all allows nothing (an empty allow list is not "everything"). */
static void test_empty_rules_deny(void **state)
{
	cleanup_arena struct arena arena;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	assert_int_equal(ask(parse(&arena, NETWORK("'rules':[]")), "network", "tcp:a.x:443"),
			 ACCESS_DENY);
	assert_int_equal(ask(parse(&arena, NETWORK("'access':'allow'")), "network", "tcp:a.x:443"),
			 ACCESS_ALLOW);
}

/* ---- fingerprint ---- */

static void fingerprint_of(const char *text, char ret[PROFILE_FINGERPRINT_LEN + 1])
{
	cleanup_arena struct arena arena;

	arena_init(&arena, FIXTURE_ARENA_BYTES);
	profile_fingerprint(parse(&arena, text), ret);
}

static void test_fingerprint_ignores_order(void **state)
{
	static const char *const reordered =
		"{'minLevel':'full','require':['targetNetwork','readBoundary'],'onDetach':'remount'"
		","
		"'limits':{'scratch':1073741824,'cpus':1.500,'memory':'2048MiB','pids':256,"
		"'outputBytes':'1MiB','terminateGrace':'5000ms','deadline':'600s'},"
		"'unixSockets':['/run/build/agent.sock'],'command':'allow',"
		"'network':{'rules':[{'access':'gated','target':'tcp:*.NPMJS.org:443'},"
		"{'access':'allow','target':'tcp:github.com.:443','ech':'allow','inspect':false,"
		"'addressClasses':[]}]},"
		"'protect':['.envrc','@git'],'roots':[{'read':'allow','path':'/opt/sdk'}],"
		"'workspace':{'write':'allow','read':'allow','root':'/workspace'},'version':1}";
	char a[PROFILE_FINGERPRINT_LEN + 1], b[PROFILE_FINGERPRINT_LEN + 1];

	(void)state;
	fingerprint_of(full, a);
	fingerprint_of(reordered, b);
	assert_string_equal(a, b);
	assert_int_equal(strlen(a), PROFILE_FINGERPRINT_LEN);
	assert_int_equal(strspn(a, "0123456789abcdef"), PROFILE_FINGERPRINT_LEN);
}

/* One change per member; every text must give its own fingerprint. */
static const struct {
	const char *from, *to;
} changes[] = {
	{"'root':'/workspace','read':'allow','write':'allow'",
	 "'root':'/workspace2','read':'allow','write':'allow'"},
	{"'read':'allow','write':'allow'}", "'read':'allow','write':'gated'}"},
	{"'root':'/workspace','read':'allow'", "'root':'/workspace','read':'gated'"},
	{"'host':{'read':'deny','write':'deny'}", "'host':{'read':'allow','write':'deny'}"},
	{"'host':{'read':'deny','write':'deny'}", "'host':{'read':'allow','write':'allow'}"},
	{"'path':'/opt/sdk'", "'path':'/opt/sdj'"},
	{"'path':'/opt/sdk','read':'allow','write':'deny'",
	 "'path':'/opt/sdk','read':'allow','write':'allow'"},
	{"'path':'/opt/sdk','read':'allow','write':'deny'",
	 "'path':'/opt/sdk','read':'gated','write':'deny'"},
	{"'roots':[", "'roots':[{'path':'/more'},"},
	{"'@git',", ""},
	{"'.envrc'", "'.envrc','x'"},
	{"'access':'deny','route'", "'access':'gated','route'"},
	{"'route':'direct'", "'route':'corp'"},
	{"'route':'direct'", "'learn':true"},
	{"'route':'direct'", "'proxyEnv':true"},
	{"'route':'direct'", "'proxyPorts':{'http':3129}"},
	{"'route':'direct'", "'proxyPorts':{'socks':3129}"},
	{"'route':'direct'", "'forwards':[{'listen':1,'to':'tcp:a:1'}]"},
	{"'route':'direct'", "'forwards':[{'listen':2,'to':'tcp:a:1'}]"},
	{"'route':'direct'", "'forwards':[{'listen':1,'to':'tcp:a:2'}]"},
	{"github.com", "github.con"},
	{"github.com:443", "github.com:*"},
	{"'tcp:github.com:443','access':'allow'", "'tcp:github.com:443','access':'gated'"},
	{"'tcp:github.com:443','access':'allow'", "'tcp:github.com:443','access':'deny'"},
	{"'tcp:github.com:443',", "'tcp:github.com:443','tls':'any',"},
	{"'tcp:github.com:443',", "'tcp:github.com:443','tls':'http',"},
	{"'tcp:github.com:443',", "'tcp:github.com:443','tls':'require',"},
	{"'tcp:github.com:443',", "'tcp:github.com:443','ech':'refuse',"},
	{"'tcp:github.com:443',", "'tcp:github.com:443','inspect':true,"},
	{"'tcp:github.com:443',", "'tcp:github.com:443','addressClasses':['private'],"},
	{"'tcp:github.com:443',", "'tcp:github.com:443','addressClasses':['loopback'],"},
	{"'tcp:*.npmjs.org:443'", "'tcp:npmjs.org:443'"},
	{"'command':'allow'", "'command':'gated'"},
	{"'command':'allow'", "'command':'deny'"},
	{"'home':'isolated'", "'home':'real'"},
	{"agent.sock", "agent2.sock"},
	{"['/run/build/agent.sock']", "[]"},
	{"'deadline':'10m',", ""},
	{"'deadline':'10m'", "'deadline':'11m'"},
	{"'terminateGrace':'5s'", "'terminateGrace':'6s'"},
	{"'outputBytes':1048576", "'outputBytes':1048577"},
	{"'pids':256", "'pids':257"},
	{"'memory':'2GiB'", "'memory':'3GiB'"},
	{"'cpus':1.5", "'cpus':1.501"},
	{"'scratch':'1GiB'", "'scratch':'2GiB'"},
	{",'scratch':'1GiB'", ""},
	{"'onDetach':'remount'", "'onDetach':'kill'"},
	{"'onDetach':'remount',", ""},
	{"'readBoundary',", ""},
	{"'readBoundary',", "'readBoundary','unixSockets',"},
	{"'minLevel':'full'", "'minLevel':'degraded'"},
};

static void test_fingerprint_sees_every_member(void **state)
{
	static char all[ARRAY_SIZE(changes) + 2][PROFILE_FINGERPRINT_LEN + 1];
	size_t n = 0;

	(void)state;
	fingerprint_of(full, all[n++]);
	fingerprint_of("{'version':1,'workspace':{'root':'/w'," RW "},'host':{" RW "},'network':{"
		       "'access':'allow'},'isolation':'unconfined','ackUnconfined':true}",
		       all[n++]);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		cleanup_buf struct buf text = BUF_INIT;
		const char *at = strstr(full, changes[i].from);

		if (!at)
			fail_msg("%s is no part of the document", changes[i].from);
		buf_append(&text, full, (size_t)(at - full));
		buf_puts(&text, changes[i].to);
		buf_puts(&text, at + strlen(changes[i].from));
		fingerprint_of(text.data, all[n]);
		for (size_t k = 0; k < n; k++)
			if (strcmp(all[k], all[n]) == 0)
				fail_msg("%s -> %s gives the fingerprint of another profile (%zu)",
					 changes[i].from, changes[i].to, k);
		n++;
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_true(profile_name_is_valid("agent"));
	assert_true(profile_name_is_valid("0a.b_c-d"));
	assert_false(profile_name_is_valid(""));
	assert_false(profile_name_is_valid(".."));
	assert_false(profile_name_is_valid(".hidden"));
	assert_false(profile_name_is_valid("-x"));
	assert_false(profile_name_is_valid("A"));
	assert_false(profile_name_is_valid("a/b"));
	assert_false(profile_name_is_valid(
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaa"));
	for (unsigned g = 0; g < GUARANTEE_COUNT; g++)
		for (unsigned k = 0; k < g; k++)
			assert_string_not_equal(guarantee_name(g), guarantee_name(k));
	/* The order of the bits is the wire contract. */
	assert_string_equal(guarantee_name(0), "processBoundary");
	assert_string_equal(guarantee_name(1), "writeBoundary");
	assert_string_equal(guarantee_name(2), "readBoundary");
	assert_string_equal(guarantee_name(3), "envScrub");
	assert_string_equal(guarantee_name(4), "networkBoundary");
	assert_string_equal(guarantee_name(5), "addressNetwork");
	assert_string_equal(guarantee_name(6), "resourceLimits");
	assert_string_equal(guarantee_name(7), "targetNetwork");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_document),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_least_level),
		cmocka_unit_test(test_written_document_is_read_again),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_json),
		cmocka_unit_test(test_lists_are_bounded),
		cmocka_unit_test(test_workspace_of_the_annotation),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_malformed_questions),
		cmocka_unit_test(test_empty_rules_deny),
		cmocka_unit_test(test_fingerprint_ignores_order),
		cmocka_unit_test(test_fingerprint_sees_every_member),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
