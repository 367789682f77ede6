/* The arena and the buffer: limits, alignment, sticky failure. */
#include "tests/unit/helper.h"

#include "runtime/base/arena.h"
#include "runtime/base/buf.h"

static void test_zeroed_and_aligned(void **state)
{
	cleanup_arena struct arena arena;
	unsigned char *last = NULL;

	(void)state;
	arena_init(&arena, 16 << 20);
	for (size_t size = 0; size < 3000; size += 7) {
		unsigned char *p = arena_alloc(&arena, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		assert_ptr_not_equal(p, last);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xee, size);
		last = p;
	}
}

static void test_large_between_small(void **state)
{
	cleanup_arena struct arena arena;
	char *a, *big, *b;

	(void)state;
	arena_init(&arena, 16 << 20);
	a = arena_strdup(&arena, "first");
	big = arena_alloc(&arena, 1 << 20);
	b = arena_strdup(&arena, "second");
	assert_non_null(a);
	assert_non_null(big);
	assert_non_null(b);
	memset(big, 1, 1 << 20);
	assert_string_equal(a, "first");
	assert_string_equal(b, "second");
}

static void test_limit(void **state)
{
	cleanup_arena struct arena arena;

	(void)state;
	arena_init(&arena, 1024);
	assert_null(arena_alloc(&arena, 1025));
	assert_non_null(arena_alloc(&arena, 512));
	assert_null(arena_alloc(&arena, 513));
	assert_non_null(arena_alloc(&arena, 512)); /* usable after a refusal */
	assert_null(arena_alloc(&arena, 1));
	assert_null(arena_strdup(&arena, "x"));
	assert_null(arena_printf(&arena, "x"));
	arena_release(&arena);
	arena_release(&arena);
	assert_non_null(arena_alloc(&arena, 1024)); /* the limit is whole again */
}

static void test_overflow(void **state)
{
	cleanup_arena struct arena arena;

	(void)state;
	arena_init(&arena, SIZE_MAX);
	assert_null(arena_alloc(&arena, SIZE_MAX));
	assert_null(arena_alloc(&arena, SIZE_MAX - 8));
	assert_null(arena_alloc_array(&arena, SIZE_MAX / 2, 3));
	assert_null(arena_strndup(&arena, "x", SIZE_MAX));
	assert_non_null(arena_alloc_array(&arena, 0, 8));
}

static void test_text(void **state)
{
	cleanup_arena struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	assert_string_equal(arena_strndup(&arena, "abc", 2), "ab");
	assert_string_equal(arena_strndup(&arena, NULL, 0), "");
	assert_string_equal(arena_printf(&arena, "%s-%d", "x", 7), "x-7");
}

static void test_buf_appends(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT;

	(void)state;
	buf_append(&buf, NULL, 0);
	assert_non_null(buf.data);
	assert_string_equal(buf.data, "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&buf, "%03d,", i);
	assert_int_equal(buf.len, 4000);
	assert_true(strncmp(buf.data, "000,001,", 8) == 0);
	assert_string_equal(buf.data + 3996, "999,");
	buf_reset(&buf);
	buf_puts(&buf, "a");
	buf_putc(&buf, '\0');
	buf_putc(&buf, 'b');
	assert_int_equal(buf.len, 3);
	assert_memory_equal(buf.data, "a\0b", 4);
	assert_false(buf_failed(&buf));
}

static void test_buf_failure_is_sticky(void **state)
{
	cleanup_buf struct buf buf = BUF_INIT;

	(void)state;
	buf_puts(&buf, "kept");
	buf_append(&buf, "", SIZE_MAX);
	assert_true(buf_failed(&buf));
	buf_puts(&buf, "dropped");
	buf_printf(&buf, "%d", 1);
	assert_int_equal(buf.len, 4);
	assert_string_equal(buf.data, "kept");
	buf_reset(&buf);
	assert_false(buf_failed(&buf));
	buf_append(&buf, "", BUF_LIMIT_BYTES);
	assert_true(buf_failed(&buf));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zeroed_and_aligned),
		cmocka_unit_test(test_large_between_small),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_buf_appends),
		cmocka_unit_test(test_buf_failure_is_sticky),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
