/* spec/json_write: exact output, and that whatever is written parses again to the same. */
#include "tests/unit/unit.h"

#include "runtime/base/cleanup.h"
#include "spec/json_write.h"

static void write_sample(struct json_writer *w)
{
	static char *const values[] = {"x", "y"};

	json_begin_object(w, NULL);
	json_write_string(w, "path", "/a\"b\\c\n\x01\x7f");
	json_write_string(w, "none", NULL);
	json_write_bool(w, "yes", true);
	json_write_int(w, "min", INT64_MIN);
	json_write_uint(w, "max", UINT64_MAX);
	json_write_strings(w, "list", values, 2);
	json_write_strings(w, "empty", NULL, 0);
	json_begin_object(w, "deep");
	json_begin_array(w, "a");
	json_begin_object(w, NULL);
	json_end_object(w);
	json_write_null(w, NULL);
	json_write_number_text(w, NULL, "1.50");
	json_end_array(w);
	json_end_object(w);
	json_end_object(w);
}

static const char compact[] =
	"{\"path\":\"/a\\\"b\\\\c\\n\\u0001\\u007f\",\"none\":null,\"yes\":true,"
	"\"min\":-9223372036854775808,\"max\":18446744073709551615,\"list\":[\"x\",\"y\"],"
	"\"empty\":[],\"deep\":{\"a\":[{},null,1.50]}}";

static const char indented[] = "{\n"
			       "  \"path\": \"/a\\\"b\\\\c\\n\\u0001\\u007f\",\n"
			       "  \"none\": null,\n"
			       "  \"yes\": true,\n"
			       "  \"min\": -9223372036854775808,\n"
			       "  \"max\": 18446744073709551615,\n"
			       "  \"list\": [\n"
			       "    \"x\",\n"
			       "    \"y\"\n"
			       "  ],\n"
			       "  \"empty\": [],\n"
			       "  \"deep\": {\n"
			       "    \"a\": [\n"
			       "      {},\n"
			       "      null,\n"
			       "      1.50\n"
			       "    ]\n"
			       "  }\n"
			       "}";

static void test_forms(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT;
	struct json_writer w;

	(void)state;
	json_writer_init(&w, &buf, 0);
	write_sample(&w);
	assert_false(buf_failed(&buf));
	assert_string_equal(buf.data, compact);
	buf_reset(&buf);
	json_writer_init(&w, &buf, 2);
	write_sample(&w);
	assert_string_equal(buf.data, indented);
}

static void test_invalid_bytes(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT;
	struct json_writer w;

	(void)state;
	json_writer_init(&w, &buf, 0);
	json_write_string(&w, NULL, "a\xff\xc3\xa9\xed\xa0\x80z\xe2\x82");
	assert_string_equal(buf.data, "\"a\\ufffd\xc3\xa9\\ufffd\\ufffd\\ufffdz\\ufffd\\ufffd\"");
}

static void test_node(void **state)
{
	static const char *const omit[] = {"path", "list", NULL};
	cleanup_buf struct buf buf = BUF_INIT;
	cleanup_arena struct arena arena;
	struct json_node *root = NULL;
	struct json_writer w;

	(void)state;
	arena_init(&arena, 1 << 20);
	assert_int_equal(json_parse(&arena, "t", compact, sizeof(compact) - 1, &json_limits_config,
				    &root, NULL),
			 0);
	json_writer_init(&w, &buf, 0);
	json_write_node(&w, NULL, root);
	assert_string_equal(buf.data, compact);

	buf_reset(&buf);
	json_writer_init(&w, &buf, 0);
	json_begin_object(&w, NULL);
	json_write_node_without(&w, "k", root, omit);
	json_write_node(&w, "d", json_get(json_get(root, "deep"), "a"));
	json_end_object(&w);
	assert_string_equal(buf.data, "{\"k\":{\"none\":null,\"yes\":true,"
				      "\"min\":-9223372036854775808,\"max\":18446744073709551615,"
				      "\"empty\":[],\"deep\":{\"a\":[{},null,1.50]}},"
				      "\"d\":[{},null,1.50]}");
}

static void test_too_deep(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT;
	struct json_writer w;

	(void)state;
	json_writer_init(&w, &buf, 0);
	for (int i = 0; i < JSON_WRITER_DEPTH_MAX; i++)
		json_begin_array(&w, NULL);
	assert_false(buf_failed(&buf));
	json_begin_array(&w, NULL);
	assert_true(buf_failed(&buf));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_invalid_bytes),
		cmocka_unit_test(test_node),
		cmocka_unit_test(test_too_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
