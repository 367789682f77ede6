/*
 * The systemd manager's pure parts: names of units, values of annotations, properties of limits.
 */
#include "tests/unit/unit.h"

#include <errno.h>

#include "backends/linux/cgroup/limits.h"
#include "backends/linux/cgroup/systemd.h"
#include "runtime/base/cleanup.h"

#define ARENA_BYTES (1 << 20)

/* ---- names ---- */

static void names_follow_the_path(void **state)
{
	static const struct {
		const char *given;
		bool user;
		const char *slice, *unit;
	} cases[] = {
		{NULL, false, "system.slice", "sbx-id.scope"},
		{"", true, "user.slice", "sbx-id.scope"},
		{":p:n", false, "system.slice", "p-n.scope"},
		{":p:n", true, "user.slice", "p-n.scope"},
		{"a-b.slice:libpod:0123", false, "a-b.slice", "libpod-0123.scope"},
		{"a-b.slice::n", false, "a-b.slice", "n.scope"},
		{"-:p:n", false, "-.slice", "p-n.scope"},
		{"-.slice:p:n", false, "-.slice", "p-n.scope"},
		{"x\\x2dy.slice:p_1:n.2", true, "x\\x2dy.slice", "p_1-n.2.scope"},
	};
	cleanup_arena struct arena arena;

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *slice, *unit;

		assert_int_equal(systemd_names(&arena, cases[i].given, "id", cases[i].user, &slice,
					       &unit, NULL),
				 0);
		assert_string_equal(slice, cases[i].slice);
		assert_string_equal(unit, cases[i].unit);
		assert_true(systemd_is_scope(unit));
	}
}

static void other_names_are_refused(void **state)
{
	static const char *const bad[] = {
		"/sbx/id",	     "a:b",
		"a.slice:b",	     "a.slice:p:",
		"a.slice:p:n:m",     "a:p:n",
		".slice:p:n",	     "-a.slice:p:n",
		"a-.slice:p:n",	     "a--b.slice:p:n",
		"../a.slice:p:n",    "a/b.slice:p:n",
		"a b.slice:p:n",     "a@b.slice:p:n",
		".a.slice:p:n",	     "a.slice:p/q:n",
		"a.slice:p:n/m",     "a.slice:..:/n",
		"a.slice:p:n\n",     "a.slice:.:n",
		"a.slice:p:n@1",     "a.slice:sbx~x:n",
		"a.slice:p:n.slice", "a.slice:p:\xc3\xa9",
	};
	cleanup_arena struct arena arena;
	char longest[CGROUP_UNIT_MAX + 16] = ":p:";

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct sbx_error err = {0};
		const char *slice, *unit;

		assert_true(systemd_names(&arena, bad[i], "id", false, &slice, &unit, &err) < 0);
		assert_int_equal(err.code, SBX_E_INVALID_CONFIG);
		assert_string_equal(err.pointer, "/linux/cgroupsPath");
	}
	for (size_t len = 246; len <= 248; len++) { /* 2 of the prefix, 6 of .scope, 255 in all */
		const char *slice, *unit;
		int rc;

		memset(longest + 3, 'n', len);
		longest[3 + len] = '\0';
		rc = systemd_names(&arena, longest, "id", false, &slice, &unit, NULL);
		assert_int_equal(rc == 0, len <= 247);
	}
}

static void slices_nest(void **state)
{
	static const char *const cases[][2] = {
		{"-.slice", ""},
		{"a.slice", "/a.slice"},
		{"a-b-c.slice", "/a.slice/a-b.slice/a-b-c.slice"},
		{"user-1000.slice", "/user.slice/user-1000.slice"},
	};
	char path[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(systemd_slice_path(cases[i][0], path, sizeof(path)), 0);
		assert_string_equal(path, cases[i][1]);
	}
	assert_int_equal(systemd_slice_path("a-b-c.slice", path, 30), -ENAMETOOLONG);
}

static void the_group_below_is_one_name(void **state)
{
	static const char *const bad[] = {"..", ".", "a/b", "/", "a b", ".x"};
	const char *name;

	(void)state;
	assert_int_equal(systemd_subgroup(NULL, &name, NULL), 0);
	assert_string_equal(name, "container");
	assert_int_equal(systemd_subgroup("", &name, NULL), 0);
	assert_string_equal(name, "");
	assert_int_equal(systemd_subgroup("mine", &name, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(systemd_subgroup(bad[i], &name, NULL) < 0);
}

/* ---- values ---- */

static int write_value(struct buf *out, const char *name, const char *text, struct sbx_error *err)
{
	struct json_writer w;

	json_writer_init(&w, out, 0);
	return systemd_value_write(&w, name, text, err);
}

static void values_have_their_types(void **state)
{
	static const struct {
		const char *name, *text, *type, *value;
	} cases[] = {
		{"A", "true", "b", "true"},
		{"A", " false ", "b", "false"},
		{"A", "boolean true", "b", "true"},
		{"KillSignal", "37", "i", "37"},
		{"A", "-1", "i", "-1"},
		{"A", "2147483647", "i", "2147483647"},
		{"A", "-2147483648", "i", "-2147483648"},
		{"A", "byte 255", "y", "255"},
		{"A", "int16 -32768", "n", "-32768"},
		{"A", "uint16 65535", "q", "65535"},
		{"A", "uint32 4294967295", "u", "4294967295"},
		{"A", "int64 -9223372036854775808", "x", "-9223372036854775808"},
		{"TimeoutStopUSec", "uint64 10000000", "t", "10000000"},
		{"A", "uint64 18446744073709551615", "t", "18446744073709551615"},
		{"A", "2.5", "d", "2.5"},
		{"A", "double 3", "d", "3"},
		{"CollectMode", "'inactive-or-failed'", "s", "\"inactive-or-failed\""},
		{"A", "\"it's\"", "s", "\"it's\""},
		{"A", "'a\\'b\\\\c\\n'", "s", "\"a'b\\\\c\\n\""},
		{"A", "''", "s", "\"\""},
		{"A", "string 'x'", "s", "\"x\""},
		{"After", "['a.service', \"b.service\"]", "as", "[\"a.service\",\"b.service\"]"},
		{"A", "[uint64 1, 2]", "at", "[1,2]"},
		{"A", "[ 1,2 ]", "ai", "[1,2]"},
		{"A", "[true]", "ab", "[true]"},
		/* seconds */
		{"TimeoutStopSec", "90", "t", "90000000"},
		{"TimeoutStopSec", "uint64 5", "t", "5000000"},
		{"TimeoutStopSec", "1.5", "t", "1500000"},
		{"TimeoutStopSec", "0.0000019", "t", "1"},
		{"TimeoutStopSec", "double 2", "t", "2000000"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_buf struct buf out = BUF_INIT, want = BUF_INIT;
		const char *name = strcmp(cases[i].name, "TimeoutStopSec") == 0 ? "TimeoutStopUSec"
										: cases[i].name;

		buf_printf(&want, "{\"name\":\"%s\",\"type\":\"%s\",\"value\":%s}", name,
			   cases[i].type, cases[i].value);
		assert_int_equal(write_value(&out, cases[i].name, cases[i].text, NULL), 0);
		buf_putc(&out, '\0');
		assert_string_equal(out.data, want.data);
	}
}

static void other_values_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"x",
		"truex",
		"'a",
		"'a\"",
		"a'",
		"'a' 'b'",
		"'\\x'",
		"'a\\",
		"1 2",
		"01",
		"+1",
		"1.",
		".5",
		"1e5",
		"0x10",
		"--1",
		"-",
		"byte 256",
		"byte -1",
		"int16 32768",
		"uint16 65536",
		"2147483648",
		"-2147483649",
		"uint32 4294967296",
		"int64 9223372036854775808",
		"uint64 18446744073709551616",
		"uint64 -1",
		"uint64 1.5",
		"uint64 'x'",
		"uint64",
		"string 5",
		"boolean 1",
		"[",
		"[1",
		"[1,,2]",
		"[1 2]",
		"[1,'a']",
		"[]",
		"[[1]]",
		"(1,2)",
		"<1>",
		"@as []",
		"[true, 1]",
		"['a', 1]",
		"handle 1",
		"99999999999999999999999999999999999999999999999999",
	};
	char text[5000];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_buf struct buf out = BUF_INIT;
		struct sbx_error err = {0};

		assert_true(write_value(&out, "A", bad[i], &err) < 0);
		assert_int_equal(err.code, SBX_E_INVALID_CONFIG);
	}
	for (size_t len = 4000; len <= 4200; len += 100) {
		cleanup_buf struct buf out = BUF_INIT;

		memset(text, 'a', len);
		text[0] = text[len - 1] = '\'';
		text[len] = '\0';
		assert_int_equal(write_value(&out, "A", text, NULL) == 0, len < 4096);
	}
	for (size_t n = 64; n <= 65; n++) {
		cleanup_buf struct buf out = BUF_INIT, list = BUF_INIT;

		buf_puts(&list, "[0");
		for (size_t i = 1; i < n; i++)
			buf_puts(&list, ",0");
		buf_puts(&list, "]");
		assert_int_equal(write_value(&out, "A", list.data, NULL) == 0, n == 64);
	}
}

static void seconds_are_numbers(void **state)
{
	static const char *const bad[] = {"'90'", "true", "-1", "[1]", "uint64 18446744073710"};
	cleanup_buf struct buf out = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(write_value(&out, "TimeoutStopSec", bad[i], NULL) < 0);
	assert_int_equal(write_value(&out, "TimeoutStopSec", "uint64 18446744073709", NULL), 0);
}

static void what_is_not_a_bundles_to_set(void **state)
{
	static const char *const bad[] = {
		"PIDs",		 "Slice",	  "Delegate",	"DelegateControllers",
		"Description",	 "Wants",	  "Conflicts",	"RequiresMountsFor",
		"OnFailure",	 "FailureAction", "Controller", "BindsTo",
		"SuccessAction", "Upholds",	  "",		"a",
		"Kill Mode",	 "Kill-Mode",	  "Kill\nMode", "1A",
		"A/B",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_buf struct buf out = BUF_INIT;
		struct sbx_error err = {0};

		assert_true(write_value(&out, bad[i], "'x'", &err) < 0);
		assert_string_equal(err.pointer, "/annotations");
		assert_int_equal(out.len, 0);
	}
}

static void annotations_are_picked(void **state)
{
	struct oci_key_value v[] = {
		{"org.systemd.property.KillSignal", "37"},
		{"org.systemd.propertyX", "broken"},
		{"other", "broken"},
		{"org.systemd.property.CollectMode", "'inactive'"},
	};
	struct oci_key_values annotations = {.v = v, .n = ARRAY_SIZE(v)};
	cleanup_buf struct buf out = BUF_INIT;
	struct json_writer w;

	(void)state;
	json_writer_init(&w, &out, 0);
	json_begin_array(&w, NULL);
	assert_int_equal(systemd_annotations_write(&w, &annotations, NULL), 0);
	json_end_array(&w);
	buf_putc(&out, '\0');
	assert_string_equal(out.data,
			    "[{\"name\":\"KillSignal\",\"type\":\"i\",\"value\":37},"
			    "{\"name\":\"CollectMode\",\"type\":\"s\",\"value\":\"inactive\"}]");
	assert_int_equal(systemd_check_annotations(&annotations, NULL), 0);
	v[2] = (struct oci_key_value){"org.systemd.property.PIDs", "[uint32 1]"};
	assert_true(systemd_check_annotations(&annotations, NULL) < 0);
}

/* ---- limits ---- */

static void limits_become_properties(void **state)
{
	/* "Name=value" of each property in order; the group has a quota of 20000 in 100000 */
	static const struct {
		const char *resources, *v2, *v1;
	} cases[] = {
		{"{}", "", ""},
		{"{\"pids\":{\"limit\":0}}", "TasksMax=1", "TasksMax=1"},
		{"{\"pids\":{\"limit\":-1}}", "TasksMax=18446744073709551615",
		 "TasksMax=18446744073709551615"},
		{"{\"pids\":{\"limit\":7}}", "TasksMax=7", "TasksMax=7"},
		{"{\"memory\":{\"limit\":1048576}}", "MemoryMax=1048576", "MemoryLimit=1048576"},
		{"{\"memory\":{\"limit\":0}}", "", ""},
		{"{\"memory\":{\"limit\":-1}}",
		 "MemoryMax=18446744073709551615 MemorySwapMax=18446744073709551615",
		 "MemoryLimit=18446744073709551615"},
		{"{\"memory\":{\"limit\":4096,\"swap\":4096,\"reservation\":1024}}",
		 "MemoryMax=4096 MemoryLow=1024 MemorySwapMax=0", "MemoryLimit=4096"},
		{"{\"memory\":{\"limit\":4096,\"swap\":8192}}", "MemoryMax=4096 MemorySwapMax=4096",
		 "MemoryLimit=4096"},
		{"{\"cpu\":{\"shares\":1024}}", "CPUWeight=100", "CPUShares=1024"},
		{"{\"cpu\":{\"shares\":0}}", "", ""},
		{"{\"cpu\":{\"idle\":1}}", "CPUWeight=0@252", ""},
		{"{\"cpu\":{\"idle\":0}}", "", ""},
		{"{\"cpu\":{\"quota\":50000,\"period\":100000}}",
		 "CPUQuotaPeriodUSec=100000@242 CPUQuotaPerSecUSec=500000",
		 "CPUQuotaPeriodUSec=100000@242 CPUQuotaPerSecUSec=500000"},
		{"{\"cpu\":{\"quota\":50001}}", "CPUQuotaPerSecUSec=510000",
		 "CPUQuotaPerSecUSec=510000"},
		{"{\"cpu\":{\"quota\":1000,\"period\":333333}}",
		 "CPUQuotaPeriodUSec=333333@242 CPUQuotaPerSecUSec=10000",
		 "CPUQuotaPeriodUSec=333333@242 CPUQuotaPerSecUSec=10000"},
		{"{\"cpu\":{\"period\":50000}}",
		 "CPUQuotaPeriodUSec=50000@242 CPUQuotaPerSecUSec=400000",
		 "CPUQuotaPeriodUSec=50000@242 CPUQuotaPerSecUSec=400000"},
		{"{\"cpu\":{\"quota\":-1}}", "CPUQuotaPerSecUSec=18446744073709551615",
		 "CPUQuotaPerSecUSec=18446744073709551615"},
		{"{\"cpu\":{\"cpus\":\"0-1,9\",\"mems\":\"0\"}}",
		 "AllowedCPUs=[3,2]@244 AllowedMemoryNodes=[1]@244", ""},
		{"{\"blockIO\":{\"weight\":750}}", "IOWeight=7475", "BlockIOWeight=750"},
		/* what unified says of a file counts */
		{"{\"pids\":{\"limit\":7},\"unified\":{\"pids.max\":\"9\"}}", "", NULL},
		{"{\"unified\":{\"cpu.weight\":\"77\",\"memory.min\":\"4096\",\"io.weight\":"
		 "\"default 5\",\"memory.low\":\"max\",\"memory.high\":\"1\"}}",
		 "CPUWeight=77 IOWeight=5 MemoryMin=4096 MemoryLow=18446744073709551615", NULL},
		{"{\"cpu\":{\"cpus\":\"0\"},\"unified\":{\"cpuset.cpus\":\"1\"}}", "", NULL},
	};

	const struct systemd_cpu now = {.quota_us = 20000, .period_us = 100000};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		const char *want = i % 2 ? cases[i / 2].v1 : cases[i / 2].v2;
		const char *text = cases[i / 2].resources;
		cleanup_arena struct arena arena;
		cleanup_buf struct buf out = BUF_INIT, got = BUF_INIT;
		struct oci_resources *r;
		struct json_writer w;
		struct json_node *root;

		if (!want)
			continue;
		arena_init(&arena, ARENA_BYTES);
		assert_int_equal(oci_parse_resources(&arena, text, strlen(text), &r, NULL), 0);
		json_writer_init(&w, &out, 0);
		json_begin_array(&w, NULL);
		systemd_properties_write(&w, r, i % 2 == 0, &now);
		json_end_array(&w);
		assert_int_equal(json_parse(&arena, "properties", out.data, out.len,
					    &json_limits_profile, &root, NULL),
				 0);
		for (const struct json_node *p = root->child; p; p = p->next) {
			const struct json_node *since = json_get(p, "since");
			struct json_writer value;

			buf_printf(&got, "%s%s=", got.len ? " " : "", json_get(p, "name")->text);
			json_writer_init(&value, &got, 0);
			json_write_node(&value, NULL, json_get(p, "value"));
			if (since)
				buf_printf(&got, "@%s", since->text);
		}
		buf_putc(&got, '\0');
		assert_string_equal(got.data, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_follow_the_path),
		cmocka_unit_test(other_names_are_refused),
		cmocka_unit_test(slices_nest),
		cmocka_unit_test(the_group_below_is_one_name),
		cmocka_unit_test(values_have_their_types),
		cmocka_unit_test(other_values_are_refused),
		cmocka_unit_test(seconds_are_numbers),
		cmocka_unit_test(what_is_not_a_bundles_to_set),
		cmocka_unit_test(annotations_are_picked),
		cmocka_unit_test(limits_become_properties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
