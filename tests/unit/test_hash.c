/* SHA-256 against FIPS 180-4's examples, base64url in its one strict form. */
#include <errno.h>

#include "runtime/base/cleanup.h"
#include "spec/hash.h"
#include "tests/unit/unit.h"

static void test_sha256(void **state)
{
	static const char *const rows[][2] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t digest[HASH_SHA256_BYTES];
		char hex[2 * HASH_SHA256_BYTES + 1];
		struct hash hash;

		hash_init(&hash);
		/* in two pieces: the running state is what is tested */
		hash_update(&hash, rows[i][0], strlen(rows[i][0]) / 2);
		hash_update(&hash, rows[i][0] + strlen(rows[i][0]) / 2,
			    strlen(rows[i][0]) - strlen(rows[i][0]) / 2);
		hash_final(&hash, digest);
		hash_hex(digest, sizeof(digest), hex);
		assert_string_equal(hex, rows[i][1]);
	}
}

static void test_base64url(void **state)
{
	static const char *const rows[][2] = {
		{"", ""},	 {"f", "Zg"},	     {"fo", "Zm8"},
		{"foo", "Zm9v"}, {"foob", "Zm9vYg"}, {"\xfb\xff\xfe", "-__-"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf text = BUF_INIT, back = BUF_INIT;

		assert_int_equal(base64url_encode(rows[i][0], strlen(rows[i][0]), &text), 0);
		assert_string_equal(text.data ? text.data : "", rows[i][1]);
		assert_int_equal(base64url_decode(rows[i][1], strlen(rows[i][1]), 100, &back), 0);
		assert_string_equal(back.data ? back.data : "", rows[i][0]);
	}
}

static void test_base64url_is_strict(void **state)
{
	static const char *const rows[] = {
		"Z",	  "Zg==",  "Zg=",	"Zh",	     "Zm9",
		"Zm9vYh", "+//+",  "Zg\n",	" Zg",	     "Z g",
		"Zm9v=",  "Zm9v.", "Z\xc3\xa9", "Zm8vY\xff", "\x80\x80\x80\x80"};
	cleanup_buf struct buf out = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (base64url_decode(rows[i], strlen(rows[i]), 100, &out) != -EINVAL)
			fail_msg("\"%s\" was taken", rows[i]);
	assert_int_equal(base64url_decode("Zm9vYg", 6, 4, &out), 0);
	buf_reset(&out);
	assert_int_equal(base64url_decode("Zm9vYg", 6, 3, &out), -EFBIG);
	assert_int_equal(out.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256),
		cmocka_unit_test(test_base64url),
		cmocka_unit_test(test_base64url_is_strict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
