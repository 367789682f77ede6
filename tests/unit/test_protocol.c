/*
 * What the runtime takes from the other side of the set-up: messages of the exact length, and an
 * error record whose every byte may have been made up inside a container.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backends/linux/protocol.h"
#include "tests/unit/helper.h"

static int make_pair(void **state)
{
	static int pair[2];

	*state = pair;
	return msg_socketpair(pair);
}

static int close_pair(void **state)
{
	int *pair = *state;

	close(pair[0]);
	close(pair[1]);
	return 0;
}

static void test_lengths(void **state)
{
	int *pair = *state;
	struct message_pid pid = {.pid = 7}, seen;
	struct sbx_error err = {0};
	struct msg msg;

	assert_int_equal(protocol_send(pair[0], MSG_PROCEED, &pid, sizeof(pid)), 0);
	assert_int_equal(protocol_expect(pair[1], MSG_PROCEED, &msg, &err), 0);
	memcpy(&seen, msg.payload, sizeof(seen));
	assert_int_equal(seen.pid, 7);
	for (size_t len = 0; len < sizeof(pid); len++) {
		assert_int_equal(protocol_send(pair[0], MSG_PROCEED, &pid, len), 0);
		assert_int_equal(protocol_expect(pair[1], MSG_PROCEED, &msg, &err), -EPROTO);
	}
	assert_int_equal(protocol_send(pair[0], MSG_PROCEED, &pid, sizeof(pid) + 1), -EPROTO);
}

static void test_error_passes(void **state)
{
	int *pair = *state;
	struct sbx_error sent = {0}, err = {0};

	sbx_fail(&sent, SBX_E_UNSAFE_PATH, ENOENT, "open \"%s\"", "/x");
	strcpy(sent.stage, "mounts");
	protocol_send_error(pair[0], &sent);
	assert_int_equal(protocol_expect(pair[1], MSG_CREATED, NULL, &err), -ENOENT);
	assert_memory_equal(&err, &sent, sizeof(err));
}

static void expect_forged(int *pair, struct sbx_error *forged, struct sbx_error *err, int rc)
{
	protocol_send_error(pair[0], forged);
	assert_int_equal(protocol_expect(pair[1], MSG_CREATED, NULL, err), rc);
	assert_true((unsigned)err->code > SBX_OK && (unsigned)err->code < SBX_CODE_COUNT);
	assert_true(strnlen(err->message, sizeof(err->message)) < sizeof(err->message));
	assert_true(strnlen(err->pointer, sizeof(err->pointer)) < sizeof(err->pointer));
	assert_true(strnlen(err->stage, sizeof(err->stage)) < sizeof(err->stage));
}

static void test_error_is_foreign(void **state)
{
	static const int codes[] = {-1, SBX_OK, SBX_CODE_COUNT, 1 << 30};
	static const int errnums[] = {-1, -(1 << 30), 4096, 0x7fffffff};
	int *pair = *state;
	struct sbx_error forged, err;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		memset(&forged, '\033', sizeof(forged));
		forged.code = (enum sbx_code)codes[i];
		forged.errnum = errnums[i];
		expect_forged(pair, &forged, &err, -EINVAL);
		assert_int_equal(err.code, SBX_E_INTERNAL);
		assert_int_equal(err.errnum, 0);
		assert_null(memchr(&err, '\033', sizeof(err)));
	}
	forged.errnum = 4095;
	expect_forged(pair, &forged, &err, -4095);
}

static void test_error_length(void **state)
{
	int *pair = *state;
	struct sbx_error err = {0};

	assert_int_equal(protocol_send(pair[0], MSG_ERROR, "x", 1), 0);
	assert_int_equal(protocol_expect(pair[1], MSG_CREATED, NULL, &err), -EPROTO);
	assert_int_equal(err.code, SBX_E_INTERNAL);
}

static void test_death(void **state)
{
	int *pair = *state, rc;
	struct sbx_error err = {0};

	rc = dup(pair[1]);
	assert_true(rc >= 0);
	close(pair[0]);
	pair[0] = rc;
	assert_true(protocol_expect(pair[1], MSG_CREATED, NULL, &err) < 0);
	assert_non_null(strstr(err.message, "died"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lengths, make_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_error_passes, make_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_error_is_foreign, make_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_error_length, make_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_death, make_pair, close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
