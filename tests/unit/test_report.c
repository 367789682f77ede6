/* The report: bits, level, what it refuses, what it prints, what is kept of a stored one. */
#include "runtime/base/cleanup.h"
#include "spec/report.h"
#include "tests/unit/profile_fixture.h"

#define READ  GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY)
#define WRITE GUARANTEE_BIT(GUARANTEE_WRITE_BOUNDARY)
#define NET   GUARANTEE_BIT(GUARANTEE_NETWORK_BOUNDARY)

struct fixture {
	struct arena arena;
	struct report report;
};

static int setup(void **state)
{
	static struct fixture fixture;

	arena_init(&fixture.arena, FIXTURE_ARENA_BYTES);
	report_init(&fixture.report, &fixture.arena);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_release(&f->arena);
	return 0;
}

static void test_bits(void **state)
{
	static const struct {
		enum outcome outcome;
		bool reached;
	} rows[] = {{OUTCOME_ENFORCED, true},
		    {OUTCOME_NARROWED, true},
		    {OUTCOME_UNENFORCED, false},
		    {OUTCOME_UNKNOWN, false}};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		report_init(&f->report, &f->arena);
		f->report.asked = READ | WRITE;
		report_add(&f->report, "view", "mount", OUTCOME_ENFORCED, READ | WRITE, "%s", "");
		report_add(&f->report, "workspace.write", "landlock", rows[i].outcome, WRITE,
			   "abi %d", 4);
		report_finish(&f->report, true);
		assert_int_equal(f->report.reached, rows[i].reached ? READ | WRITE : READ);
		assert_int_equal(f->report.level, rows[i].reached ? LEVEL_FULL : LEVEL_NONE);
	}
}

static void test_levels(void **state)
{
	struct fixture *f = *state;

	report_finish(&f->report, true);
	assert_int_equal(f->report.level, LEVEL_NONE); /* nothing asked */
	f->report.asked = READ;
	report_finish(&f->report, true);
	assert_int_equal(f->report.level, LEVEL_NONE); /* nothing carries it */
	assert_int_equal(f->report.reached, 0);
	report_add(&f->report, "view", "mount", OUTCOME_ENFORCED, READ | NET, "%s", "");
	report_finish(&f->report, true);
	assert_int_equal(f->report.level, LEVEL_FULL);
	assert_int_equal(f->report.reached, READ); /* not asked, not claimed */
	report_finish(&f->report, false);
	assert_int_equal(f->report.level, LEVEL_DEGRADED);
	f->report.capped_degraded = true;
	report_finish(&f->report, true);
	assert_int_equal(f->report.level, LEVEL_DEGRADED);
}

static void test_lost_entry_is_no_success(void **state)
{
	struct arena tiny;
	struct report report;

	(void)state;
	arena_init(&tiny, 4096 + 1024);
	report_init(&report, &tiny);
	report.asked = READ;
	for (unsigned i = 0; i < 1000; i++)
		report_add(&report, "view", "mount", OUTCOME_ENFORCED, READ, "%0100d", 1);
	report_finish(&report, true);
	assert_int_equal(report.reached, 0);
	arena_release(&tiny);
}

static void test_many_entries(void **state)
{
	struct fixture *f = *state;
	char name[32];

	f->report.asked = READ;
	for (unsigned i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "feature%u", i);
		report_add(&f->report, name, "mount", OUTCOME_ENFORCED, READ, "%u", i);
	}
	assert_int_equal(f->report.n, 500);
	assert_string_equal(f->report.entries[0].feature, "feature0");
	assert_string_equal(f->report.entries[499].detail, "499");
}

static void test_check(void **state)
{
	struct fixture *f = *state;
	struct sbx_error err = {0};
	struct profile *p = parse(&f->arena, "{'version':1,'workspace':{'root':'/w'},"
					     "'require':['readBoundary','targetNetwork']}");

	f->report.asked = READ | GUARANTEE_BIT(GUARANTEE_TARGET_NETWORK);
	report_add(&f->report, "host.read", "mount", OUTCOME_UNENFORCED, READ, "no mount API");
	report_finish(&f->report, true);
	assert_true(report_check(&f->report, p, &err) < 0);
	assert_int_equal(err.code, SBX_E_GUARANTEE_UNAVAILABLE);
	assert_string_equal(err.pointer, "/require");
	assert_non_null(strstr(err.message, "readBoundary, targetNetwork"));
	assert_non_null(strstr(err.message, "host.read (mount): unenforced, no mount API"));
	assert_int_equal(report_check(&f->report, NULL, &err), 0);
	p = parse(&f->arena, "{'version':1,'workspace':{'root':'/w'}}");
	assert_int_equal(report_check(&f->report, p, &err), 0);
}

static void test_check_level(void **state)
{
	struct fixture *f = *state;
	struct sbx_error err = {0};
	struct profile *full = parse(&f->arena, "{'version':1,'workspace':{'root':'/w'},"
						"'minLevel':'full'}");
	struct profile *degraded = parse(&f->arena, "{'version':1,'workspace':{'root':'/w'},"
						    "'minLevel':'degraded'}");

	f->report.asked = READ;
	report_add(&f->report, "view", "mount", OUTCOME_ENFORCED, READ, "%s", "");
	report_finish(&f->report, true);
	assert_int_equal(report_check(&f->report, full, &err), 0);
	f->report.capped_degraded = true;
	report_add(&f->report, "unixSockets", "none", OUTCOME_UNENFORCED, 0, "connect() is open");
	report_finish(&f->report, true);
	assert_true(report_check(&f->report, full, &err) < 0);
	assert_string_equal(err.pointer, "/minLevel");
	assert_non_null(strstr(err.message, "unixSockets (none): unenforced, connect() is open"));
	assert_int_equal(report_check(&f->report, degraded, &err), 0);
	f->report.asked = READ | WRITE;
	report_finish(&f->report, true);
	assert_true(report_check(&f->report, degraded, &err) < 0);
	assert_non_null(strstr(err.message, "without writeBoundary"));
}

/* Where a host gives less, what the values ask for must hold unless the profile says otherwise. */
static void test_check_restricted(void **state)
{
	struct fixture *f = *state;
	struct sbx_error err = {0};
	struct profile *silent = parse(&f->arena, "{'version':1,'workspace':{'root':'/w'}}");
	struct profile *none = parse(&f->arena, "{'version':1,'workspace':{'root':'/w'},"
						"'minLevel':'none'}");

	f->report.asked = READ | WRITE;
	report_add(&f->report, "view", "landlock", OUTCOME_ENFORCED, READ, "%s", "");
	report_add(&f->report, "metadata", "seccomp", OUTCOME_UNENFORCED, WRITE, "modes change");
	report_finish(&f->report, false);
	assert_int_equal(report_check(&f->report, silent, &err), 0); /* control */
	f->report.restriction = "no namespaces, try root";
	assert_true(report_check(&f->report, silent, &err) < 0);
	assert_int_equal(err.code, SBX_E_GUARANTEE_UNAVAILABLE);
	assert_string_equal(err.pointer, "/minLevel");
	assert_non_null(strstr(err.message, "writeBoundary cannot be had here (no namespaces, try "
					    "root)"));
	assert_int_equal(report_check(&f->report, none, &err), 0);
	f->report.asked = READ;
	report_finish(&f->report, false);
	assert_int_equal(f->report.level, LEVEL_DEGRADED);
	assert_int_equal(report_check(&f->report, silent, &err), 0);
}

static void test_check_unix_sockets(void **state)
{
	static const enum outcome outcomes[] = {OUTCOME_ENFORCED, OUTCOME_NARROWED,
						OUTCOME_UNENFORCED, OUTCOME_UNKNOWN};
	struct fixture *f = *state;
	struct sbx_error err = {0};
	struct profile *p = parse(&f->arena, "{'version':1,'workspace':{'root':'/w'},"
					     "'require':['unixSockets']}");

	report_finish(&f->report, true);
	assert_true(report_check(&f->report, p, &err) < 0); /* no entry: nobody said so */
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
		report_init(&f->report, &f->arena);
		report_add(&f->report, "unixSockets", "view", outcomes[i], 0, "%s", "");
		report_finish(&f->report, true);
		assert_int_equal(report_check(&f->report, p, &err) == 0,
				 outcomes[i] == OUTCOME_ENFORCED);
	}
	/* the worst of several counts */
	report_init(&f->report, &f->arena);
	report_add(&f->report, "unixSockets", "view", OUTCOME_NARROWED, 0, "%s", "");
	report_add(&f->report, "unixSockets", "view", OUTCOME_ENFORCED, 0, "%s", "");
	assert_true(report_check(&f->report, p, &err) < 0);
}

static const char *const expected =
	"{'version':1,'level':'full','sources':['flag:agent'],"
	"'guarantees':{'processBoundary':false,'writeBoundary':false,'readBoundary':true,"
	"'envScrub':false,'networkBoundary':false,'addressNetwork':false,'resourceLimits':false,"
	"'targetNetwork':false},"
	"'asked':{'processBoundary':false,'writeBoundary':false,'readBoundary':true,'envScrub':"
	"false,"
	"'networkBoundary':false,'addressNetwork':false,'resourceLimits':false,'targetNetwork':"
	"false},"
	"'guaranteeBits':4,'lifetimeContainment':'enforced',"
	"'access':{'kind':'scopedWrite','writePaths':[],'writeTrees':['/w']},"
	"'entries':[{'feature':'view','mechanism':'mount','outcome':'enforced','detail':'closure'}]"
	","
	"'now':{'guaranteeBits':4}}";

static void test_written(void **state)
{
	struct fixture *f = *state;
	cleanup_buf struct buf out = BUF_INIT;
	static char agent[] = "flag:agent", tree[] = "/w";
	static char *sources[] = {agent, NULL}, *trees[] = {tree, NULL};
	struct json_writer w;

	f->report.asked = READ;
	f->report.sources = (struct strings){sources, 1};
	f->report.write_trees = (struct strings){trees, 1};
	f->report.access_kind = "scopedWrite";
	f->report.lifetime = "enforced";
	report_add(&f->report, "view", "mount", OUTCOME_ENFORCED, READ, "closure");
	report_finish(&f->report, true);
	json_writer_init(&w, &out, 0);
	report_write(&w, NULL, &f->report, f->report.reached);
	assert_string_equal(out.data, quoted(expected));
}

static void test_stored_report_does_not_change(void **state)
{
	struct fixture *f = *state;
	cleanup_buf struct buf alive = BUF_INIT, dead = BUF_INIT, again = BUF_INIT;
	const char *stored = quoted(expected);
	const char *future = quoted("{'new':[1.50,{'x':null}],'guaranteeBits':255,'now':{'y':1}}");
	struct sbx_error err = {0};
	struct json_writer w;

	(void)f;
	json_writer_init(&w, &alive, 0);
	assert_int_equal(report_rewrite(&w, stored, strlen(stored), UINT32_MAX, NULL, &err), 0);
	assert_string_equal(alive.data, stored);
	json_writer_init(&w, &dead, 0);
	assert_int_equal(report_rewrite(&w, stored, strlen(stored), 0, NULL, &err), 0);
	assert_non_null(strstr(dead.data, quoted("'now':{'guaranteeBits':0}")));
	assert_non_null(strstr(dead.data, quoted("'guaranteeBits':4,")));
	/* members of a later release are kept, numbers as written */
	json_writer_init(&w, &again, 0);
	assert_int_equal(report_rewrite(&w, future, strlen(future), UINT32_MAX, NULL, &err), 0);
	assert_string_equal(again.data, quoted("{'new':[1.50,{'x':null}],'guaranteeBits':255,"
					       "'now':{'guaranteeBits':255}}"));
}

static void test_stored_report_is_judged(void **state)
{
	static const char *const rows[] = {"",
					   "{}",
					   "[]",
					   "1",
					   "{'guaranteeBits':256}",
					   "{'guaranteeBits':-1}",
					   "{'guaranteeBits':'4'}",
					   "{'guaranteeBits':4,'guaranteeBits':5}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf out = BUF_INIT;
		struct sbx_error err = {0};
		struct json_writer w;

		json_writer_init(&w, &out, 0);
		if (report_rewrite(&w, quoted(rows[i]), strlen(rows[i]), UINT32_MAX, NULL, &err) ==
		    0)
			fail_msg("%s was taken", rows[i]);
		assert_int_equal(out.len, 0);
	}
}

/* A further process reaches what the container did, or more. */
static void test_check_stored(void **state)
{
	static const struct {
		const char *stored;
		bool good;
	} rows[] = {
		{"{'guaranteeBits':0}", true},	  {"{'guaranteeBits':1}", true},
		{"{'guaranteeBits':3}", false},	  {"{'guaranteeBits':2}", false},
		{"{'guaranteeBits':256}", false}, {"", false},
	};
	struct arena arena;
	struct report report;

	(void)state;
	arena_init(&arena, (size_t)1 << 20);
	report_init(&report, &arena);
	report.asked = 3;
	report_add(&report, "processes", "namespace", OUTCOME_ENFORCED, 1, "there");
	report_add(&report, "files", "landlock", OUTCOME_UNENFORCED, 2, "not there");
	report_finish(&report, true);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sbx_error err = {0};
		int r = report_check_stored(&report, quoted(rows[i].stored), strlen(rows[i].stored),
					    &err);

		if ((r == 0) != rows[i].good)
			fail_msg("%s: %d", rows[i].stored, r);
		if (i == 2) {
			assert_int_equal(err.code, SBX_E_GUARANTEE_UNAVAILABLE);
			assert_non_null(strstr(err.message, "writeBoundary is not enforced"));
			assert_non_null(strstr(err.message, "not there"));
		}
	}
	arena_release(&arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bits),
		TEST(test_levels),
		TEST(test_lost_entry_is_no_success),
		TEST(test_many_entries),
		TEST(test_check),
		TEST(test_check_level),
		TEST(test_check_restricted),
		TEST(test_check_unix_sockets),
		TEST(test_written),
		TEST(test_stored_report_does_not_change),
		TEST(test_stored_report_is_judged),
		TEST(test_check_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
