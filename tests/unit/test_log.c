/* The log: one object a line, the members and the time form that the field's clients read. */
#include "tests/unit/helper.h"

#include <sys/mman.h>

#include "runtime/base/log.h"

static char text[65536];

/* The sink's content since the last call. */
static const char *taken(int fd)
{
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	assert_int_equal(ftruncate(fd, 0), 0);
	lseek(fd, 0, SEEK_SET);
	return text;
}

/* "2026-01-31T23:59:59.123456Z" at s, then the text after. */
static void assert_time(const char *s, const char *after)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.ddddddZ";

	for (size_t i = 0; i < sizeof(form) - 1; i++) {
		if (form[i] == 'd')
			assert_true(s[i] >= '0' && s[i] <= '9');
		else
			assert_int_equal(s[i], form[i]);
	}
	assert_string_equal(s + sizeof(form) - 1, after);
}

static void assert_starts(const char *got, const char *want)
{
	char head[1024];

	snprintf(head, sizeof(head), "%.*s", (int)strlen(want), got);
	assert_string_equal(head, want);
}

static void test_json(void **state)
{
	int fd = *(int *)*state;
	struct sbx_error err = {0};
	const char *got, *want;

	log_set_sink(fd, LOG_FORMAT_JSON, LOG_LEVEL_WARNING);
	sbx_fail_at(&err, SBX_E_INVALID_CONFIG, "/process/args", "take \"%s\"", "a\\b\nc\033");
	log_error(&err);
	got = taken(fd);
	want = "{\"level\":\"error\",\"msg\":\"take \\\"a\\\\b\\\\nc\\\\x1b\\\" (at "
	       "/process/args)\","
	       "\"code\":\"invalid-config\",\"pointer\":\"/process/args\",\"time\":\"";
	assert_starts(got, want);
	assert_time(got + strlen(want), "\"}\n");
	strcpy(err.stage, "mounts");
	err.pointer[0] = '\0';
	log_error(&err);
	assert_non_null(
		strstr(taken(fd), "\"code\":\"invalid-config\",\"stage\":\"mounts\",\"time\""));
	log_warning("plain %d", 7);
	got = taken(fd);
	want = "{\"level\":\"warning\",\"msg\":\"plain 7\",\"time\":\"";
	assert_starts(got, want);
	assert_time(got + strlen(want), "\"}\n");
}

static void test_text(void **state)
{
	int fd = *(int *)*state;
	struct sbx_error err = {0};
	const char *got;

	log_set_sink(fd, LOG_FORMAT_TEXT, LOG_LEVEL_ERROR);
	sbx_fail(&err, SBX_E_SYSTEM, EACCES, "open \"x\"");
	log_error(&err);
	got = taken(fd);
	assert_starts(got, "time=\"");
	assert_time(got + 6, "\" level=error msg=\"open \\\"x\\\": permission denied\" "
			     "code=\"system\"\n");
}

static void test_levels(void **state)
{
	int fd = *(int *)*state;
	struct sbx_error err = {0};

	sbx_fail(&err, SBX_E_SYSTEM, 0, "x");
	/* A failed create writes exactly one object by default. */
	log_set_sink(fd, LOG_FORMAT_JSON, LOG_LEVEL_ERROR);
	assert_false(log_wants(LOG_LEVEL_WARNING));
	log_warning("w");
	log_info("i");
	log_debug("d");
	assert_string_equal(taken(fd), "");
	log_set_sink(fd, LOG_FORMAT_JSON, LOG_LEVEL_DEBUG);
	log_debug("d");
	assert_starts(taken(fd), "{\"level\":\"debug\",\"msg\":\"d\",");
	log_info("i");
	assert_starts(taken(fd), "{\"level\":\"info\",\"msg\":\"i\",");
	log_set_sink(-1, LOG_FORMAT_JSON, LOG_LEVEL_DEBUG);
	assert_false(log_wants(LOG_LEVEL_ERROR));
	log_error(&err);
	log_debug("d");
	assert_string_equal(taken(fd), "");
}

/* Foreign bytes never break the line or its encoding. */
static void test_hostile(void **state)
{
	int fd = *(int *)*state;
	const char *got;

	log_set_sink(fd, LOG_FORMAT_JSON, LOG_LEVEL_DEBUG);
	log_debug("\x01\"}\n{\"level\":\"error\"\xff\xc2\x9b\xed\xa0\x80");
	got = taken(fd);
	assert_starts(got, "{\"level\":\"debug\",\"msg\":\"\\\\x01\\\"}\\\\n{\\\"level\\\":"
			   "\\\"error\\\"\\\\xff\\\\xc2\\\\x9b\\\\xed\\\\xa0\\\\x80\",");
	assert_ptr_equal(strchr(got, '\n'), got + strlen(got) - 1);
}

static int setup(void **state)
{
	static int fd;

	fd = memfd_create("log", MFD_CLOEXEC);
	*state = &fd;
	return fd < 0;
}

static int teardown(void **state)
{
	log_set_sink(-1, LOG_FORMAT_TEXT, LOG_LEVEL_ERROR);
	close(*(int *)*state);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
