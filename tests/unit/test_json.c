/*
 * spec/json: what is accepted, what is refused and where the message points, as one table; then
 * numbers, pointers, the cost of huge objects.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/base/cleanup.h"
#include "spec/json.h"

#define ARENA_BYTES ((size_t)256 << 20)

struct row {
	const char *document;
	size_t len;	     /* 0: strlen */
	int result;	     /* of json_parse() */
	const char *message; /* part of it */
	const char *pointer;
};

static const struct row rows[] = {
	{"{}", 0, 0, NULL, NULL},
	{" [1, -2.5e+3, true, false, null, \"x\"]\n", 0, 0, NULL, NULL},
	{"\"\\ud83d\\ude00 \\u00e9 \\\\u0000 \\\\ud800\"", 0, 0, NULL, NULL},
	{"\"\xf0\x9f\x98\x80\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\"", 0, 0, NULL, NULL},
	{"7", 0, 0, NULL, NULL},
	{"{\"a\":{\"k\":1},\"b\":{\"k\":1}}", 0, 0, NULL, NULL},

	/* encoding */
	{"\xef\xbb\xbf{}", 0, -EINVAL, "byte 0: a byte order mark", ""},
	{"\"\xc0\xaf\"", 0, -EINVAL, "byte 1: the bytes are not UTF-8", ""},
	{"\"\xe0\x80\xaf\"", 0, -EINVAL, "not UTF-8", ""},
	{"\"\xf0\x80\x80\xaf\"", 0, -EINVAL, "not UTF-8", ""},
	{"\"12345678\xed\xa0\x80\"", 0, -EINVAL, "byte 9: the bytes are not UTF-8", ""},
	{"\"\xf4\x90\x80\x80\"", 0, -EINVAL, "not UTF-8", ""},
	{"\"\xf5\x80\x80\x80\"", 0, -EINVAL, "not UTF-8", ""},
	{"\"\x80\"", 0, -EINVAL, "not UTF-8", ""},
	{"\"\xe2\x82", 0, -EINVAL, "not UTF-8", ""},
	{"{\"a\":\"x\0y\"}", 11, -EINVAL, "byte 7: a NUL byte", ""},
	{"{}\0", 3, -EINVAL, "byte 2: a NUL byte", ""},
	{"\n\"\\u0000\"", 0, -EINVAL, "line 2, byte 2: the escape \\u0000", ""},
	{"\"\\ud800\"", 0, -EINVAL, "high surrogate \\ud800 has no low", ""},
	{"\"\\ud800\\ud800\"", 0, -EINVAL, "high surrogate", ""},
	{"\"\\ud800\\n\"", 0, -EINVAL, "high surrogate", ""},
	{"\"\\uDC00\\uD800\"", 0, -EINVAL, "low surrogate \\udc00 has no high", ""},
	{"\"\\ud83", 0, -EINVAL, "byte 6", ""},
	{"\"\\u12g4\"", 0, -EINVAL, "", ""},
	{"\"\\x41\"", 0, -EINVAL, "", ""},
	{"\"tab\there\"", 0, -EINVAL, "", ""},

	/* grammar */
	{"", 0, -EINVAL, "line 1, byte 0", ""},
	{"  \n", 0, -EINVAL, "line 2, byte 3", ""},
	{"{} x", 0, -EINVAL, "trailing garbage", ""},
	{"{}{}", 0, -EINVAL, "", ""},
	{"1 2", 0, -EINVAL, "", ""},
	{"/* c */{}", 0, -EINVAL, "", ""},
	{"{} // c", 0, -EINVAL, "", ""},
	{"{\"a\":1,}", 0, -EINVAL, "", ""},
	{"[1,]", 0, -EINVAL, "", ""},
	{"{a:1}", 0, -EINVAL, "", ""},
	{"{'a':1}", 0, -EINVAL, "", ""},
	{"[01]", 0, -EINVAL, "", ""},
	{"[+1]", 0, -EINVAL, "", ""},
	{"[1.]", 0, -EINVAL, "", ""},
	{"[.5]", 0, -EINVAL, "", ""},
	{"[NaN]", 0, -EINVAL, "", ""},
	{"[-]", 0, -EINVAL, "", ""},
	{"[0x10]", 0, -EINVAL, "", ""},
	{"{\"a\":[1,2", 0, -EINVAL, "byte 9, at \"/a\"", "/a"},
	{"{\"a\":{\"b\":[1,?]}}", 0, -EINVAL, "at \"/a/b\"", "/a/b"},

	/* duplicate keys */
	{"{\"a\":1,\"a\":2}", 0, -EINVAL, "byte 11, at \"/a\": the key \"a\" is there twice", "/a"},
	{"{\"p\":[0,{\"a\":1,\"b\":0,\"\\u0061\":2}]}", 0, -EINVAL, "twice", "/p/1/a"},
	{"{\"x/y~\":{\"\":1,\"\":1}}", 0, -EINVAL, "twice", "/x~1y~0/"},
};

static int parse(struct arena *arena, const char *data, size_t len, struct json_node **root,
		 struct sbx_error *err)
{
	return json_parse(arena, "test.json", data, len, &json_limits_config, root, err);
}

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		size_t len = row->len ? row->len : strlen(row->document);
		cleanup_arena struct arena arena;
		struct sbx_error err = {0};
		struct json_node *root = NULL;
		cleanup_free char *copy = malloc(len + 1);
		int r;

		/* An exact copy, so that a sanitizer sees a read past the end. */
		memcpy(copy, row->document, len);
		arena_init(&arena, ARENA_BYTES);
		r = parse(&arena, copy, len, &root, &err);
		if (r != row->result)
			fail_msg("row %zu (%s): %d, %s", i, row->document, r, err.message);
		if (r == 0) {
			assert_non_null(root);
			continue;
		}
		assert_null(root);
		assert_int_equal(err.code, SBX_E_INVALID_JSON);
		assert_non_null(strstr(err.message, "test.json"));
		if (!strstr(err.message, row->message) || strcmp(err.pointer, row->pointer) != 0)
			fail_msg("row %zu (%s): %s [%s]", i, row->document, err.message,
				 err.pointer);
	}
}

static void test_tree(void **state)
{
	static const char document[] =
		" {\"a\" : [ 10 ,\"\\u00e9\\ud83d\\ude00\\n\"], \"b\":{\"c\":null}, \"\":true } ";
	cleanup_arena struct arena arena;
	struct json_node *root = NULL;
	const struct json_node *a, *text;
	char pointer[64];

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	assert_int_equal(parse(&arena, document, sizeof(document) - 1, &root, NULL), 0);
	assert_int_equal(root->type, JSON_OBJECT);
	assert_int_equal(root->count, 3);
	assert_int_equal(root->offset, 1);
	a = json_get(root, "a");
	assert_int_equal(a->type, JSON_ARRAY);
	assert_int_equal(a->count, 2);
	assert_int_equal(document[a->offset], '[');
	assert_string_equal(a->child->text, "10");
	assert_int_equal(document[a->child->offset], '1');
	text = a->child->next;
	assert_string_equal(text->text, "\xc3\xa9\xf0\x9f\x98\x80\n");
	assert_int_equal(text->len, 7);
	assert_int_equal(document[text->offset], '"');
	json_pointer(text, pointer, sizeof(pointer));
	assert_string_equal(pointer, "/a/1");
	assert_int_equal(json_get(root, "")->type, JSON_TRUE);
	assert_int_equal(json_get(json_get(root, "b"), "c")->type, JSON_NULL);
	assert_null(json_get(root, "z"));
	assert_null(json_get(NULL, "a"));
	assert_null(json_get(a, "a"));
	json_pointer(root, pointer, sizeof(pointer));
	assert_string_equal(pointer, "");
	json_pointer(text, pointer, 4);
	assert_string_equal(pointer, "/a/");
}

static void test_long_texts(void **state)
{
	enum { LEN = 5000 };
	cleanup_arena struct arena arena;
	struct json_node *root = NULL, *at;
	cleanup_free char *document = malloc(LEN * 8 + 64);
	size_t n = 0, i = 0;

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	document[n++] = '[';
	for (size_t len = 1; len < 600; len += 37) {
		n += (size_t)sprintf(document + n, "%s\"", len > 1 ? "," : "");
		memset(document + n, 'a' + (int)(len % 26), len);
		n += len;
		document[n++] = '"';
	}
	document[n++] = ']';
	assert_int_equal(parse(&arena, document, n, &root, NULL), 0);
	for (at = root->child; at; at = at->next, i++) {
		size_t len = 1 + 37 * i;

		assert_int_equal(at->len, len);
		assert_int_equal(strlen(at->text), len);
		assert_int_equal(at->text[0], 'a' + (int)(len % 26));
		assert_int_equal(at->text[len - 1], 'a' + (int)(len % 26));
	}
}

struct number {
	const char *text;
	int signed_result;
	int64_t signed_value;
	int unsigned_result;
	uint64_t unsigned_value;
};

static const struct number numbers[] = {
	{"0", 0, 0, 0, 0},
	{"-0", 0, 0, 0, 0},
	{"-1", 0, -1, -ERANGE, 0},
	{"9223372036854775807", 0, INT64_MAX, 0, INT64_MAX},
	{"-9223372036854775808", 0, INT64_MIN, -ERANGE, 0},
	{"9223372036854775808", -ERANGE, 0, 0, UINT64_C(9223372036854775808)},
	{"-9223372036854775809", -ERANGE, 0, -ERANGE, 0},
	{"18446744073709551615", -ERANGE, 0, 0, UINT64_MAX},
	{"18446744073709551616", -ERANGE, 0, -ERANGE, 0},
	{"1e3", -EINVAL, 0, -EINVAL, 0},
	{"1.0", -EINVAL, 0, -EINVAL, 0},
	{"-1.5", -EINVAL, 0, -EINVAL, 0},
	{"\"1\"", -EINVAL, 0, -EINVAL, 0},
	{"null", -EINVAL, 0, -EINVAL, 0},
	{"true", -EINVAL, 0, -EINVAL, 0},
};

static void test_numbers(void **state)
{
	double real;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const struct number *row = &numbers[i];
		cleanup_arena struct arena arena;
		struct json_node *root = NULL;
		int64_t s = 0;
		uint64_t u = 0;

		arena_init(&arena, ARENA_BYTES);
		assert_int_equal(parse(&arena, row->text, strlen(row->text), &root, NULL), 0);
		assert_int_equal(json_int64(root, &s), row->signed_result);
		assert_true(s == row->signed_value);
		assert_int_equal(json_uint64(root, &u), row->unsigned_result);
		assert_true(u == row->unsigned_value);
	}
	{
		cleanup_arena struct arena arena;
		struct json_node *root = NULL;

		arena_init(&arena, ARENA_BYTES);
		assert_int_equal(parse(&arena, "[-2.5e1,1e999,\"1\"]", 18, &root, NULL), 0);
		assert_int_equal(json_double(root->child, &real), 0);
		assert_true(real == -25.0);
		assert_int_equal(json_double(root->child->next, &real), -ERANGE);
		assert_int_equal(json_double(root->child->next->next, &real), -EINVAL);
	}
	assert_int_equal(json_int64(NULL, &(int64_t){0}), -EINVAL);
	assert_int_equal(json_uint64(NULL, &(uint64_t){0}), -EINVAL);
}

static void test_depth(void **state)
{
	enum { DEEP = 100000 };
	cleanup_arena struct arena arena;
	struct sbx_error err = {0};
	struct json_node *root = NULL;
	cleanup_free char *document = malloc(DEEP * 2 + 16);
	size_t n = (size_t)sprintf(document, "{\"x\":");

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	memset(document + n, '[', DEEP);
	memset(document + n + DEEP, ']', DEEP);
	strcpy(document + n + 2 * DEEP, "}");
	assert_int_equal(parse(&arena, document, n + 2 * DEEP + 1, &root, &err), -EFBIG);
	assert_int_equal(err.code, SBX_E_INVALID_JSON);
	assert_non_null(strstr(err.message, "deeper than 64 levels"));
	/* 64 levels with the object: the deepest that is taken, and one more. */
	memset(document + n, '[', 64);
	memset(document + n + 63, ']', 63);
	strcpy(document + n + 126, "}");
	assert_int_equal(parse(&arena, document, n + 127, &root, &err), 0);
	memset(document + n + 63, '[', 1);
	memset(document + n + 64, ']', 64);
	strcpy(document + n + 128, "}");
	assert_int_equal(parse(&arena, document, n + 129, &root, &err), -EFBIG);
}

static void test_limits(void **state)
{
	static const struct json_limits small = {
		.max_bytes = 64, .max_depth = 1000, .max_values = 4, .max_string_bytes = 5};
	static const struct {
		const char *document;
		int result;
		const char *message;
	} cases[] = {
		{"[1,2,3]", 0, ""},
		{"[1,2,3,4]", -EFBIG, "more than 4 values"},
		{"\"12345\"", 0, ""},
		{"\"123456\"", -EFBIG, "longer than 5 bytes"},
		{"123456", -EFBIG, "longer than 5 bytes"},
		{"{\"12345\":1}", 0, ""},
		{"{\"123456\":1}", -EFBIG, "key is longer than 5 bytes"},
		{"[                                                              ]", 0, ""},
		{"[                                                               ]", -EFBIG,
		 "has 65 bytes, at most 64"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_arena struct arena arena;
		struct sbx_error err = {0};
		struct json_node *root = NULL;
		int r;

		arena_init(&arena, ARENA_BYTES);
		r = json_parse(&arena, "x", cases[i].document, strlen(cases[i].document), &small,
			       &root, &err);
		assert_int_equal(r, cases[i].result);
		assert_non_null(strstr(err.message, cases[i].message));
	}
}

static void test_arena_exhausted(void **state)
{
	static const char document[] = "{\"a\":[1,2,{\"b\":\"text\"}],\"c\":\"d\"}";

	(void)state;
	for (size_t limit = 0; limit < 3000; limit += 100) {
		cleanup_arena struct arena arena;
		struct sbx_error err = {0};
		struct json_node *root = NULL;
		int r;

		arena_init(&arena, limit);
		r = parse(&arena, document, sizeof(document) - 1, &root, &err);
		if (r < 0) {
			assert_int_equal(r, -ENOMEM);
			assert_int_equal(err.code, SBX_E_RESOURCE_LIMIT);
			assert_null(root);
		}
	}
}

/* 20,000 annotations of 100 bytes: parsed, each key checked against all, in milliseconds; the
 * bound here is loose because of sanitizers and busy machines. */
static void test_huge_object(void **state)
{
	enum { MEMBERS = 20000 };
	cleanup_arena struct arena arena;
	struct sbx_error err = {0};
	struct json_node *root = NULL;
	cleanup_free char *document = malloc(MEMBERS * 150);
	struct timespec start, end;
	size_t n = 0;
	double ms;

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	document[n++] = '{';
	for (int i = 0; i < MEMBERS; i++)
		n += (size_t)sprintf(document + n, "\"org.example.key.%d\":\"%0100d\",", i, i);
	document[n - 1] = '}';
	clock_gettime(CLOCK_MONOTONIC, &start);
	assert_int_equal(parse(&arena, document, n, &root, &err), 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ms = (double)(end.tv_sec - start.tv_sec) * 1e3 +
	     (double)(end.tv_nsec - start.tv_nsec) / 1e6;
	print_message("%d members in %.1f ms, %zu arena bytes\n", MEMBERS, ms, arena.used_bytes);
	assert_int_equal(root->count, MEMBERS);
	assert_true(ms < 1000);

	n--;
	n += (size_t)sprintf(document + n, ",\"org.example.key.77\":1}");
	assert_int_equal(parse(&arena, document, n, &root, &err), -EINVAL);
	assert_string_equal(err.pointer, "/org.example.key.77");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	    cmocka_unit_test(test_tree),
		cmocka_unit_test(test_long_texts),  cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_depth),	    cmocka_unit_test(test_limits),
		cmocka_unit_test(test_huge_object), cmocka_unit_test(test_arena_exhausted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
