/* Messages: the errno's text, escapes, prefixes, cuts. */
#include "tests/unit/helper.h"

#include "runtime/base/error.h"
#include "runtime/base/text.h"

static void test_errno_text(void **state)
{
	static const struct {
		int errnum;
		const char *text;
	} rows[] = {
		{EACCES, "open \"x\": permission denied"},
		{ENOENT, "open \"x\": no such file or directory"},
		{EPERM, "open \"x\": operation not permitted"},
		{ENOMEM, "open \"x\": cannot allocate memory"},
		{EISDIR, "open \"x\": is a directory"},
		{ESRCH, "open \"x\": no such process"},
		{9999, "open \"x\": error number 9999"},
		{0, "open \"x\""},
	};
	struct sbx_error err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int want = rows[i].errnum ? -rows[i].errnum : -EINVAL;

		assert_int_equal(sbx_fail(&err, SBX_E_SYSTEM, rows[i].errnum, "open \"%s\"", "x"),
				 want);
		assert_string_equal(err.message, rows[i].text);
		assert_int_equal(err.errnum, rows[i].errnum);
		assert_int_equal(err.code, SBX_E_SYSTEM);
	}
	assert_int_equal(sbx_fail(&err, SBX_E_SYSTEM, -ENOENT, "a"), -ENOENT);
	assert_int_equal(err.errnum, ENOENT);
}

static void test_escapes(void **state)
{
	struct sbx_error err = {0};

	(void)state;
	sbx_fail(&err, SBX_E_USAGE, 0, "take \"%s\"", "a\033[2Jb\nc\x7f\xc2\x9b\xff\xc3\xa4");
	assert_string_equal(err.message, "take \"a\\x1b[2Jb\\nc\\x7f\\xc2\\x9b\\xff\xc3\xa4\"");
	sbx_fail_at(&err, SBX_E_INVALID_PROFILE, "/a\033", "x");
	assert_string_equal(err.pointer, "/a\\x1b");
	sbx_fail(&err, SBX_E_USAGE, 0, "x");
	assert_string_equal(err.pointer, "");
	sbx_prefix(&err, "a\nb");
	assert_string_equal(err.message, "a\\nb: x");
}

static void test_null_record(void **state)
{
	(void)state;
	assert_int_equal(sbx_fail(NULL, SBX_E_SYSTEM, EIO, "x"), -EIO);
	assert_int_equal(sbx_fail_at(NULL, SBX_E_SYSTEM, "/x", "x"), -EINVAL);
	assert_int_equal(sbx_prefix(NULL, "x"), -EINVAL);
}

/* However long a foreign name is, the end of the message tells what the kernel said. */
static void test_long_messages_keep_errno(void **state)
{
	static const char end[] = ": no such file or directory";
	struct sbx_error err = {0};
	char name[5000];

	(void)state;
	for (int round = 0; round < 3; round++) {
		memset(name, "a\033\xc3"[round], sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		if (round == 2) {
			for (size_t i = 1; i < sizeof(name) - 1; i += 2)
				name[i] = '\xa4';
		}
		sbx_fail(&err, SBX_E_SYSTEM, ENOENT, "open \"%s\"", name);
		for (int i = 0; i < 4; i++) {
			size_t len = strlen(err.message);

			assert_true(len < SBX_MESSAGE_MAX);
			assert_string_equal(err.message + len - strlen(end), end);
			for (size_t k = 0; k < len;) {
				size_t n = text_utf8_length(err.message + k, len - k);

				assert_true(n > 0);
				k += n;
			}
			assert_int_equal(sbx_prefix(&err, "%s %d", name, i), -ENOENT);
		}
	}
}

static void test_prefix_fits_exactly(void **state)
{
	struct sbx_error err = {0};

	(void)state;
	for (size_t len = SBX_MESSAGE_MAX - 200; len < SBX_MESSAGE_MAX; len++) {
		memset(err.message, 'm', len);
		err.message[len] = '\0';
		err.errnum = EIO;
		assert_int_equal(sbx_prefix(&err, "0123456789"), -EIO);
		assert_true(strncmp(err.message, "0123456789: m", 13) == 0);
		assert_true(strlen(err.message) < SBX_MESSAGE_MAX);
		if (len + 12 < SBX_MESSAGE_MAX)
			assert_int_equal(strlen(err.message), len + 12);
		else
			assert_non_null(strstr(err.message, "..."));
	}
}

static void test_codes(void **state)
{
	(void)state;
	for (int code = 1; code < SBX_CODE_COUNT; code++) {
		const char *name = sbx_code_name((enum sbx_code)code);

		assert_int_equal(sbx_code_from_name(name), code);
		assert_true(sbx_code_meaning((enum sbx_code)code)[0] != '\0');
	}
	assert_string_equal(sbx_code_name(SBX_E_INVALID_PROFILE), "invalid-profile");
	assert_string_equal(sbx_code_name((enum sbx_code)9999), "internal");
	assert_string_equal(sbx_code_name((enum sbx_code) - 1), "internal");
	assert_int_equal(sbx_code_from_name("nonsense"), SBX_E_INTERNAL);
}

static void test_utf8(void **state)
{
	static const struct {
		const char *text;
		size_t len, want;
	} rows[] = {
		{"a", 1, 1},
		{"", 0, 0},
		{"\xc3\xa4", 2, 2},
		{"\xc3", 1, 0},
		{"\xc0\x80", 2, 0},	    /* overlong NUL */
		{"\xc1\xbf", 2, 0},	    /* overlong */
		{"\xe2\x82\xac", 3, 3},	    /* U+20AC */
		{"\xe2\x82", 2, 0},	    /* cut */
		{"\xe0\x9f\xbf", 3, 0},	    /* overlong */
		{"\xed\x9f\xbf", 3, 3},	    /* U+D7FF */
		{"\xed\xa0\x80", 3, 0},	    /* surrogate */
		{"\xf0\x90\x80\x80", 4, 4}, /* U+10000 */
		{"\xf0\x8f\xbf\xbf", 4, 0}, /* overlong */
		{"\xf4\x8f\xbf\xbf", 4, 4}, /* U+10FFFF */
		{"\xf4\x90\x80\x80", 4, 0}, /* above */
		{"\xf5\x80\x80\x80", 4, 0},
		{"\x80", 1, 0},
		{"\xff", 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(text_utf8_length(rows[i].text, rows[i].len), rows[i].want);
}

static void test_escape_cuts(void **state)
{
	char out[8];

	(void)state;
	/* An escape or a character is written whole or not at all. */
	assert_int_equal(text_escape(out, 5, "ab\033", 3), 2);
	assert_string_equal(out, "ab");
	assert_int_equal(text_escape(out, 7, "ab\033", 3), 6);
	assert_string_equal(out, "ab\\x1b");
	assert_int_equal(text_escape(out, 2, "\xc3\xa4", 2), 0);
	assert_int_equal(text_escape(out, 3, "\xc3\xa4", 2), 2);
	assert_int_equal(text_escape(out, 1, "a", 1), 0);
	assert_int_equal(text_escape(out, 8, "a\0b", 3), 6);
	assert_string_equal(out, "a\\x00b");
}

/* What turns the direction of text, or ends a line, reaches no terminal; its neighbours do. */
static void test_escape_direction(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"a\xe2\x80\xaetxt", "a\\xe2\\x80\\xaetxt"}, /* U+202E */
		{"\xe2\x80\xaa", "\\xe2\\x80\\xaa"},	     /* U+202A */
		{"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},	     /* U+2028 */
		{"\xe2\x80\xa9", "\\xe2\\x80\\xa9"},	     /* U+2029 */
		{"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},	     /* U+2066 */
		{"\xe2\x81\xa9", "\\xe2\\x81\\xa9"},	     /* U+2069 */
		{"\xe2\x80\x8e", "\\xe2\\x80\\x8e"},	     /* U+200E */
		{"\xe2\x80\x8f", "\\xe2\\x80\\x8f"},	     /* U+200F */
		{"\xd8\x9c", "\\xd8\\x9c"},		     /* U+061C */
		{"\xe2\x80\x8d", "\xe2\x80\x8d"},	     /* U+200D: joins letters */
		{"\xe2\x80\x90", "\xe2\x80\x90"},	     /* U+2010 */
		{"\xe2\x80\xa7", "\xe2\x80\xa7"},	     /* U+2027 */
		{"\xe2\x80\xaf", "\xe2\x80\xaf"},	     /* U+202F */
		{"\xe2\x81\xaa", "\xe2\x81\xaa"},	     /* U+206A */
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		text_escape(out, sizeof(out), rows[i].text, strlen(rows[i].text));
		assert_string_equal(out, rows[i].want);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errno_text),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_escape_direction),
		cmocka_unit_test(test_null_record),
		cmocka_unit_test(test_long_messages_keep_errno),
		cmocka_unit_test(test_prefix_fits_exactly),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_escape_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
