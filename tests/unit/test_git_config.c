/* Git's configuration and links: what counts, what git would refuse, where a value leads. */
#include "tests/unit/unit.h"

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "spec/git_config.h"

static struct arena arena;

static struct git_config parse(const char *text)
{
	struct sbx_error err = {0};
	struct git_config config;

	if (git_config_parse(&arena, text, strlen(text), &config, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return config;
}

static void test_values(void **state)
{
	static const char *const rows[][2] = {
		{"[core]\n\thooksPath = hooks", "hooks"},
		{"[CORE] HooksPath=a b \t# rest\n", "a b"},
		{"[core]\nhookspath = \" a # b \" ; rest", " a # b "},
		{"[core]\r\nhooksPath = x\r\n", "x"},
		{"\xef\xbb\xbf[core]\nhooksPath = x", "x"},
		{"# c\n; c\n[core \"sub\"]\nhooksPath = y\n[core]\nhooksPath = x\n", "x"},
		{"[core.sub]\nhooksPath = y\n[core]\n[core]\nhooksPath = x\n", "x"},
		{"[core]\nhooksPath = a\\\nb", "ab"},
		{"[core]\nhooksPath = a\\\\b\\\"c\\tq", "a\\b\"c\tq"},
		{"[a \"x]\\\"\\\\\"]\nb\n[core]\nbare\nhooksPath = x\n", "x"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct git_config config = parse(rows[i][0]);

		assert_int_equal(config.hooks_paths.n, 1);
		assert_string_equal(config.hooks_paths.v[0], rows[i][1]);
	}
	assert_int_equal(parse("[core]\nhooksPath\n").hooks_paths.n, 0);
	assert_int_equal(parse("").hooks_paths.n, 0);
}

static void test_lists(void **state)
{
	struct git_config config =
		parse("[include]\npath = a\npath = b\n"
		      "[includeIf \"gitdir:/x\"]\npath = c\n[includeIf]\npath = d\n"
		      "[core]\nhooksPath = h1\nworktree = ../w\nhooksPath = h2\n"
		      "[submodule \"s\"]\npath = lib/s\nurl = u\n");

	(void)state;
	assert_int_equal(config.includes.n, 3);
	assert_string_equal(config.includes.v[2], "c");
	assert_int_equal(config.hooks_paths.n, 2);
	assert_string_equal(config.worktrees.v[0], "../w");
	assert_string_equal(config.submodule_paths.v[0], "lib/s");
}

static void test_refused(void **state)
{
	static const char *const rows[] = {
		"hooksPath = x",   "[core",	      "[co_re]\n",   "[core]\n1a = b",
		"[core]\na = \"b", "[core]\na = \\q", "[core]\na b", "[core \"x\ny\"]\n",
		"[core \"x\"\n",   "[core]\n= x",
	};
	struct git_config config;
	struct sbx_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(&err, 0, sizeof(err));
		assert_true(git_config_parse(&arena, rows[i], strlen(rows[i]), &config, &err) < 0);
		assert_int_equal(err.code, SBX_E_UNSAFE_PATH);
	}
	assert_true(git_config_parse(&arena, "[core]\na = b\0c", 14, &config, NULL) < 0);
}

static void test_many_values(void **state)
{
	cleanup_buf struct buf text = BUF_INIT;
	struct git_config config;
	struct sbx_error err = {0};

	(void)state;
	buf_puts(&text, "[include]\n");
	for (size_t i = 0; i < GIT_VALUES_MAX; i++)
		buf_puts(&text, "path=x\n");
	assert_int_equal(git_config_parse(&arena, text.data, text.len, &config, &err), 0);
	assert_int_equal(config.includes.n, GIT_VALUES_MAX);
	buf_puts(&text, "path=x\n");
	assert_true(git_config_parse(&arena, text.data, text.len, &config, &err) < 0);
	assert_int_equal(err.code, SBX_E_RESOURCE_LIMIT);
}

static void test_links(void **state)
{
	(void)state;
	assert_string_equal(git_link_parse(&arena, "../..\n", 6, NULL), "../..");
	assert_string_equal(git_link_parse(&arena, "gitdir: a b\r\n\n", 14, "gitdir: "), "a b");
	assert_null(git_link_parse(&arena, "gitdir: \n", 9, "gitdir: "));
	assert_null(git_link_parse(&arena, "git", 3, "gitdir: "));
	assert_null(git_link_parse(&arena, "a\0b", 3, NULL));
	assert_null(git_link_parse(&arena, "", 0, NULL));
}

static void test_places(void **state)
{
	static const struct {
		const char *base, *value, *host, *place;
	} rows[] = {
		{"/w/.git/worktrees/a", "../..", NULL, "/w/.git"},
		{"/w/.git", ".", NULL, "/w/.git"},
		{"/w", "a//b/./c/", NULL, "/w/a/b/c"},
		{"/w", "../../../x", NULL, "/x"},
		{"/w", "/home/u/p/wt/.git", "/home/u/p", "/w/wt/.git"},
		{"/w", "/home/u/pp/wt", "/home/u/p", "/home/u/pp/wt"},
		{"/w", "/w/wt", "/home/u/p", "/w/wt"},
		{"/w", "/a/b", "/", "/w/a/b"},
		{"/w", "~/hooks", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *place =
			git_place(&arena, rows[i].base, rows[i].value, rows[i].host, "/w");

		if (!rows[i].place)
			assert_null(place);
		else
			assert_string_equal(place, rows[i].place);
	}
}

static int make_arena(void **state)
{
	(void)state;
	arena_init(&arena, (size_t)16 << 20);
	return 0;
}

static int release_arena(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	cmocka_unit_test(test_lists),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_many_values),
		cmocka_unit_test(test_links),	cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, make_arena, release_arena);
}
