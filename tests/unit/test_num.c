/* Numbers: what is no number is refused, what does not fit is never wrapped. */
#include "tests/unit/helper.h"

#include "runtime/base/num.h"

static void test_u64(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t value;
	} rows[] = {
		{"0", 0, 0},
		{"7", 0, 7},
		{"007", 0, 7},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"36893488147419103232", -ERANGE, 0}, /* 2^65: wraps to 0 where unchecked */
		{"99999999999999999999999999999999", -ERANGE, 0},
		{"99999999999999999999999999999999x", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"-0", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"1\n", -EINVAL, 0},
		{"0x1", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"1.0", -EINVAL, 0},
		{"a", -EINVAL, 0},
		{"\xd9\xa1", -EINVAL, 0}, /* a digit, but not ours */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = 42;

		assert_int_equal(num_parse_u64(rows[i].text, 0, UINT64_MAX, &value), rows[i].rc);
		assert_true(value == (rows[i].rc ? 42 : rows[i].value));
	}
}

static void test_u64_range(void **state)
{
	uint64_t value = 42;

	(void)state;
	assert_int_equal(num_parse_u64("9", 10, 20, &value), -ERANGE);
	assert_int_equal(num_parse_u64("21", 10, 20, &value), -ERANGE);
	assert_int_equal(value, 42);
	assert_int_equal(num_parse_u64("10", 10, 20, &value), 0);
	assert_int_equal(num_parse_u64("20", 10, 20, &value), 0);
	assert_int_equal(value, 20);
}

static void test_i64(void **state)
{
	static const struct {
		const char *text;
		int rc;
		int64_t value;
	} rows[] = {
		{"0", 0, 0},
		{"-0", 0, 0},
		{"-1", 0, -1},
		{"9223372036854775807", 0, INT64_MAX},
		{"9223372036854775808", -ERANGE, 0},
		{"-9223372036854775808", 0, INT64_MIN},
		{"-9223372036854775809", -ERANGE, 0},
		{"-18446744073709551617", -ERANGE, 0},
		{"--1", -EINVAL, 0},
		{"-", -EINVAL, 0},
		{"- 1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t value = 42;

		assert_int_equal(num_parse_i64(rows[i].text, INT64_MIN, INT64_MAX, &value),
				 rows[i].rc);
		assert_true(value == (rows[i].rc ? 42 : rows[i].value));
	}
}

static void test_i64_range(void **state)
{
	int64_t value = 42;

	(void)state;
	assert_int_equal(num_parse_i64("-1001", -1000, 1000, &value), -ERANGE);
	assert_int_equal(num_parse_i64("1001", -1000, 1000, &value), -ERANGE);
	assert_int_equal(value, 42);
	assert_int_equal(num_parse_i64("-1000", -1000, 1000, &value), 0);
	assert_int_equal(value, -1000);
}

static void test_id(void **state)
{
	uint32_t id = 42;

	(void)state;
	assert_int_equal(num_parse_id("4294967295", &id), -ERANGE); /* "no id" */
	assert_int_equal(num_parse_id("4294967296", &id), -ERANGE); /* root, where it wraps */
	assert_int_equal(num_parse_id("-1", &id), -EINVAL);
	assert_int_equal(id, 42);
	assert_int_equal(num_parse_id("4294967294", &id), 0);
	assert_true(id == 4294967294u);
}

static void test_user(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint32_t uid, gid;
		int given;
	} rows[] = {
		{"0", 0, 0, 42, 0},
		{"1:2", 0, 1, 2, 1},
		{"1000:0", 0, 1000, 0, 1},
		{"4294967296", -ERANGE, 0, 0, 0},
		{"0:4294967296", -ERANGE, 0, 0, 0},
		{"4294967296:0", -ERANGE, 0, 0, 0},
		{"99999999999999999999999999:0", -ERANGE, 0, 0, 0},
		{"0x1", -EINVAL, 0, 0, 0},
		{"1:", -EINVAL, 0, 0, 0},
		{":1", -EINVAL, 0, 0, 0},
		{":", -EINVAL, 0, 0, 0},
		{"", -EINVAL, 0, 0, 0},
		{"-1", -EINVAL, 0, 0, 0},
		{" 1", -EINVAL, 0, 0, 0},
		{"+1", -EINVAL, 0, 0, 0},
		{"1:2:3", -EINVAL, 0, 0, 0},
		{"1: 2", -EINVAL, 0, 0, 0},
		{"root", -EINVAL, 0, 0, 0},
		{"rooooooooooooooooooooooooot:0", -EINVAL, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t uid = 42, gid = 42;
		int given = 42;

		assert_int_equal(num_parse_user(rows[i].text, &uid, &gid, &given), rows[i].rc);
		assert_true(uid == (rows[i].rc ? 42 : rows[i].uid));
		assert_true(gid == (rows[i].rc ? 42 : rows[i].gid));
		assert_int_equal(given, rows[i].rc ? 42 : rows[i].given);
	}
}

struct unit_row {
	const char *text;
	int rc;
	uint64_t value;
};

static void check_units(const struct unit_row *rows, size_t n,
			int (*parse)(const char *text, uint64_t *ret))
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = 42;

		assert_int_equal(parse(rows[i].text, &value), rows[i].rc);
		assert_true(value == (rows[i].rc ? 42 : rows[i].value));
	}
}

static void test_size(void **state)
{
	static const struct unit_row rows[] = {
		{"0", 0, 0},
		{"1", 0, 1},
		{"1KiB", 0, 1024},
		{"2MiB", 0, 2 << 20},
		{"1GiB", 0, 1 << 30},
		{"8589934591GiB", 0, UINT64_C(8589934591) << 30},
		{"9223372036854775807", 0, INT64_MAX},
		{"9223372036854775808", -ERANGE, 0},
		{"8589934592GiB", -ERANGE, 0},	/* 2^63 */
		{"17179869184GiB", -ERANGE, 0}, /* 2^64, 0 where it wraps */
		{"1kib", -EINVAL, 0},
		{"1K", -EINVAL, 0},
		{"1 KiB", -EINVAL, 0},
		{"KiB", -EINVAL, 0},
		{"1.5GiB", -EINVAL, 0},
		{"-1KiB", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	(void)state;
	check_units(rows, ARRAY_SIZE(rows), num_parse_size);
}

static void test_duration(void **state)
{
	static const struct unit_row rows[] = {
		{"1ms", 0, 1},
		{"2s", 0, 2000},
		{"10m", 0, 600000},
		{"1h", 0, 3600000},
		{"9223372036854775807ms", 0, INT64_MAX},
		{"9223372036854775808ms", -ERANGE, 0},
		{"9223372036854776s", -ERANGE, 0},
		{"5124095576030431h", -ERANGE, 0},
		{"1", -EINVAL, 0},
		{"1d", -EINVAL, 0},
		{"1h30m", -EINVAL, 0},
		{"1S", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	(void)state;
	check_units(rows, ARRAY_SIZE(rows), num_parse_duration_ms);
}

static void test_list(void **state)
{
	static const struct {
		const char *text;
		int rc;
		unsigned long low; /* bits 0 to 63 */
	} rows[] = {
		{"0", 0, 1},
		{"0-3,7", 0, 0x8f},
		{"63", 0, 1ul << 63},
		{"2-2", 0, 4},
		{"3,1,3", 0, 0xa},
		{"127", 0, 0},
		{"128", -ERANGE, 0},
		{"0-128", -ERANGE, 0},
		{"18446744073709551616", -ERANGE, 0}, /* 2^64 */
		{"3-1", -EINVAL, 0},
		{"", -EINVAL, 0},
		{",", -EINVAL, 0},
		{"1,", -EINVAL, 0},
		{"1-", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"1--2", -EINVAL, 0},
		{"1;2", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"0-7:1/2", -EINVAL, 0},
	};
	unsigned long mask[2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(num_parse_list(rows[i].text, mask, 128), rows[i].rc);
		if (rows[i].rc == 0)
			assert_int_equal(mask[0], rows[i].low);
	}
	assert_int_equal(num_parse_list("64-127", mask, 128), 0);
	assert_true(mask[0] == 0 && mask[1] == ~0ul);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),  cmocka_unit_test(test_u64_range),
		cmocka_unit_test(test_i64),  cmocka_unit_test(test_i64_range),
		cmocka_unit_test(test_id),   cmocka_unit_test(test_user),
		cmocka_unit_test(test_size), cmocka_unit_test(test_duration),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
