/* Network targets: what is one, what is refused, what covers what, which class an address has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "spec/idna.h"
#include "spec/target.h"

static struct target target(const char *text)
{
	struct sbx_error err = {0};
	struct target t;

	memset(&t, 0xa5, sizeof(t));
	if (target_parse(text, &t, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return t;
}

static void test_canonical(void **state)
{
	static const char *const rows[][2] = {
		{"tcp:github.com:443", "tcp:github.com:443"},
		{"tcp:GitHub.COM.:443", "tcp:github.com:443"},
		{"tcp:*.npmjs.org:*", "tcp:*.npmjs.org:*"},
		{"tcp:localhost:80", "tcp:localhost:80"},
		{"tcp:xn--bcher-kva.example:443", "tcp:xn--bcher-kva.example:443"},
		{"tcp:1.2.3.4:22", "tcp:1.2.3.4:22"},
		{"tcp:10.0.0.0/8:*", "tcp:10.0.0.0/8:*"},
		{"tcp:[2001:DB8:0:0::1]:65535", "tcp:[2001:db8::1]:65535"},
		{"tcp:[fd00::/8]:443", "tcp:[fd00::/8]:443"},
		{"tcp:[::ffff:127.0.0.1]:1", "tcp:127.0.0.1:1"},
		{"tcp:[::ffff:7f00:1]:1", "tcp:127.0.0.1:1"},
		{"tcp:[::ffff:10.0.0.0/104]:1", "tcp:10.0.0.0/8:1"},
		{"tcp:3com.com:443", "tcp:3com.com:443"},
		{"tcp:1.2.3.example:443", "tcp:1.2.3.example:443"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target t = target(rows[i][0]), again;
		char text[TARGET_TEXT_MAX];

		target_format(&t, text, sizeof(text));
		assert_string_equal(text, rows[i][1]);
		again = target(text);
		assert_true(target_equal(&t, &again));
	}
}

static void test_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"tcp",
		"tcp:",
		"tcp::",
		"tcp:a",
		"tcp:a:",
		"tcp::443",
		"udp:a:443",
		"TCP:a:443",
		"a:443",
		"tcp:a:0",
		"tcp:a:65536",
		"tcp:a:-1",
		"tcp:a:+1",
		"tcp:a:0443",
		"tcp:a: 443",
		"tcp:a:443 ",
		"tcp:a:4a",
		"tcp:a:**",
		"tcp:*:443",
		"tcp:*:*",
		"tcp:*.:443",
		"tcp:*.*.a:443",
		"tcp:a.*:443",
		"tcp:a*.b:443",
		"tcp:**.a:443",
		"tcp:.a:443",
		"tcp:a..b:443",
		"tcp:a..:443",
		"tcp:.:443",
		"tcp:-a.b:443",
		"tcp:a-.b:443",
		"tcp:a_b:443",
		"tcp:a b:443",
		"tcp:a%41:443",
		"tcp:a%00:443",
		"tcp:u@a:443",
		"tcp:u:p@a:443",
		"tcp:a/b:443",
		"tcp:a\tb:443",
		"tcp:a\x7f:443",
		"tcp:a\r\n:443",
		/* IPv4 in other spellings */
		"tcp:0:1",
		"tcp:127.1:1",
		"tcp:0x7f.1:1",
		"tcp:0x7f000001:1",
		"tcp:2130706433:1",
		"tcp:017700000001:1",
		"tcp:127.0.0.01:1",
		"tcp:127.0.0.0x1:1",
		"tcp:127.0.0.1.:1",
		"tcp:1.2.3.256:1",
		"tcp:1.2.3:1",
		"tcp:1.2.3.4.5:1",
		"tcp:a.0x1:1",
		"tcp:a.0x:1",
		"tcp:a.7:1",
		"tcp:1.2.3.4/33:1",
		"tcp:1.2.3.4/8:1",
		"tcp:1.2.3.4/:1",
		"tcp:1.2.3.0/024:1",
		"tcp:/8:1",
		"tcp:10.0.0.0/8/8:1",
		/* IPv6 */
		"tcp:::1:443",
		"tcp:[::1:443",
		"tcp:[]:443",
		"tcp:[::1]443",
		"tcp:[::1]",
		"tcp:[a.example]:443",
		"tcp:[1.2.3.4]:443",
		"tcp:[fe80::1%25lo]:443",
		"tcp:[fe80::1%lo]:1",
		"tcp:[::1/129]:1",
		"tcp:[fd00::1/8]:1",
		"tcp:[::1]]:1",
		"tcp:[fd00::]/8:443",
		"tcp:x[::1]:443",
	};
	char name[600];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sbx_error err = {0};
		struct target t;

		if (target_parse(rows[i], &t, &err) == 0)
			fail_msg("\"%s\" was taken", rows[i]);
		assert_int_equal(err.code, SBX_E_INVALID_PROFILE);
	}
	/* Lengths: a label of 63 and a name of 253 are the largest. */
	for (size_t label = 63; label <= 64; label++) {
		struct target t;
		int r;

		memset(name, 0, sizeof(name));
		strcpy(name, "tcp:");
		memset(name + 4, 'a', label);
		strcat(name, ".example:443");
		r = target_parse(name, &t, NULL);
		assert_int_equal(r == 0, label == 63);
	}
	for (size_t len = 253; len <= 255; len++) {
		struct target t;
		int r;

		memset(name, 0, sizeof(name));
		strcpy(name, "tcp:");
		for (size_t i = 0; i < len; i++)
			name[4 + i] = i % 50 == 49 ? '.' : 'a';
		strcat(name, ":443");
		r = target_parse(name, &t, NULL);
		assert_int_equal(r == 0, len == 253);
	}
}

static void test_u_labels(void **state)
{
	struct sbx_error err = {0};
	char out[TARGET_NAME_MAX + 1], text[TARGET_TEXT_MAX];
	struct target t;

	(void)state;
	if (idna_to_ascii("b\xc3\xbc"
			  "cher.example",
			  out, sizeof(out), &err) < 0) {
		assert_int_equal(err.code, SBX_E_UNSUPPORTED);
		assert_non_null(strstr(err.message, "libidn2"));
		print_message("[  SKIPPED ] built without libidn2: the refusal was checked\n");
		skip();
	}
	t = target("tcp:*.B\xc3\x9c"
		   "CHER.example:443");
	target_format(&t, text, sizeof(text));
	assert_string_equal(text, "tcp:*.xn--bcher-kva.example:443");
	/* fullwidth digits and dots become an address, which no name may be */
	assert_true(target_parse("tcp:\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1:443", &t, &err) <
		    0);
	/* the ideographic full stop is a dot, a fullwidth percent sign is no letter */
	t = target("tcp:a\xe3\x80\x82"
		   "example:443");
	assert_string_equal(t.name, "a.example");
	assert_true(target_parse("tcp:a\xef\xbc\x85"
				 "b.example:443",
				 &t, &err) < 0);
	/* the non-transitional form keeps the sharp s */
	t = target("tcp:stra\xc3\x9f"
		   "e.example:443");
	assert_string_equal(t.name, "xn--strae-oqa.example");
	assert_true(target_parse("tcp:\xff.example:443", &t, &err) < 0);
}

static void test_covers(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool covers;
	} rows[] = {
		{"tcp:trusted.net:443", "tcp:trusted.net:443", true},
		{"tcp:trusted.net:443", "tcp:nottrusted.net:443", false},
		{"tcp:trusted.net:443", "tcp:www.trusted.net:443", false},
		{"tcp:trusted.net:443", "tcp:trusted.net:80", false},
		{"tcp:trusted.net:*", "tcp:trusted.net:80", true},
		{"tcp:trusted.net:443", "tcp:trusted.net:*", false},
		{"tcp:*.x:443", "tcp:x:443", false},
		{"tcp:*.x:443", "tcp:a.x:443", true},
		{"tcp:*.x:443", "tcp:a.b.x:443", true},
		{"tcp:*.x:443", "tcp:ax:443", false},
		{"tcp:*.x:443", "tcp:*.x:443", true},
		{"tcp:*.x:443", "tcp:*.a.x:443", true},
		{"tcp:*.a.x:443", "tcp:*.x:443", false},
		{"tcp:a.x:443", "tcp:*.x:443", false},
		{"tcp:10.0.0.0/8:*", "tcp:10.255.0.1:22", true},
		{"tcp:10.0.0.0/8:*", "tcp:11.0.0.1:22", false},
		{"tcp:10.0.0.0/9:*", "tcp:10.128.0.0:22", false},
		{"tcp:10.0.0.0/8:*", "tcp:10.1.0.0/16:22", true},
		{"tcp:0.0.0.0/0:*", "tcp:[::1]:22", false},
		{"tcp:[fd00::/8]:*", "tcp:[fd12::1]:22", true},
		{"tcp:0.0.0.0/0:*", "tcp:a.example:22", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target outer = target(rows[i].outer), inner = target(rows[i].inner);

		if (target_covers(&outer, &inner) != rows[i].covers)
			fail_msg("%s covers %s", rows[i].outer, rows[i].inner);
	}
}

static void test_intersect(void **state)
{
	static const char *const rows[][3] = {
		{"tcp:*.x:443", "tcp:a.x:*", "tcp:a.x:443"},
		{"tcp:*.x:443", "tcp:*.a.x:443", "tcp:*.a.x:443"},
		{"tcp:*.x:443", "tcp:*.x:80", NULL},
		{"tcp:10.0.0.0/8:*", "tcp:10.1.0.0/16:22", "tcp:10.1.0.0/16:22"},
		{"tcp:10.0.0.0/8:*", "tcp:a.example:22", NULL},
		{"tcp:*.a:1", "tcp:*.b:1", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target a = target(rows[i][0]), b = target(rows[i][1]), both;
		char text[TARGET_TEXT_MAX];

		for (int turn = 0; turn < 2; turn++) {
			bool met = turn ? target_intersect(&b, &a, &both)
					: target_intersect(&a, &b, &both);

			assert_int_equal(met, rows[i][2] != NULL);
			if (!met)
				continue;
			target_format(&both, text, sizeof(text));
			assert_string_equal(text, rows[i][2]);
		}
	}
}

static void test_classes(void **state)
{
	enum {
		P = ADDRESS_CLASS_PRIVATE,
		L = ADDRESS_CLASS_LINK_LOCAL,
		O = ADDRESS_CLASS_LOOPBACK,
		M = ADDRESS_CLASS_METADATA,
		N = ADDRESS_CLASS_NEVER
	};
	static const struct {
		const char *text;
		uint32_t any, common;
	} rows[] = {
		{"tcp:example.com:1", 0, 0},
		{"tcp:1.1.1.1:1", 0, 0},
		{"tcp:[2606:4700::1111]:1", 0, 0},
		{"tcp:127.0.0.1:1", O, O},
		{"tcp:0.0.0.0:1", O, O},
		{"tcp:10.1.2.3:1", P, P},
		{"tcp:172.31.255.255:1", P, P},
		{"tcp:172.32.0.0:1", 0, 0},
		{"tcp:192.168.0.1:1", P, P},
		{"tcp:100.64.0.1:1", P, P},
		{"tcp:169.254.1.1:1", L, L},
		{"tcp:169.254.169.254:1", L | M, L | M},
		{"tcp:169.254.170.2:1", L | M, L | M},
		{"tcp:100.100.100.200:1", P | M, P | M},
		{"tcp:168.63.129.16:1", M, M},
		{"tcp:192.0.0.192:1", M, M},
		{"tcp:192.0.0.1:1", N, N},
		{"tcp:224.0.0.1:1", N, N},
		{"tcp:255.255.255.255:1", N, N},
		{"tcp:198.18.0.1:1", N, N},
		{"tcp:203.0.113.1:1", N, N},
		{"tcp:[::]:1", O, O},
		{"tcp:[::1]:1", O, O},
		{"tcp:[::ffff:127.0.0.1]:1", O, O},
		{"tcp:[::ffff:169.254.169.254]:1", L | M, L | M},
		{"tcp:[64:ff9b::7f00:1]:1", O, O},
		{"tcp:[64:ff9b::8.8.8.8]:1", 0, 0},
		{"tcp:[64:ff9b:1::1]:1", N, N},
		{"tcp:[2002:7f00:1::]:1", O, O},
		{"tcp:[2002:a00:1::5]:1", P, P},
		{"tcp:[::127.0.0.1]:1", O, O},
		{"tcp:[::8.8.8.8]:1", 0, 0},
		{"tcp:[fd00::1]:1", P, P},
		{"tcp:[fec0::1]:1", P, P},
		{"tcp:[fe80::1]:1", L, L},
		{"tcp:[fd00:ec2::254]:1", P | M, P | M},
		{"tcp:[fd20:ce::254]:1", P | M, P | M},
		{"tcp:[ff02::1]:1", N, N},
		{"tcp:[2001:db8::1]:1", N, N},
		{"tcp:[2001::1]:1", N, N},
		{"tcp:[3fff::1]:1", N, N},
		{"tcp:[5f00::1]:1", N, N},
		{"tcp:[100::1]:1", N, N},
		{"tcp:10.0.0.0/8:1", P, P},
		{"tcp:169.254.0.0/16:1", L | M, L},
		{"tcp:0.0.0.0/0:1", P | L | O | M | N, 0},
		{"tcp:8.0.0.0/8:1", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target t = target(rows[i].text);

		if (target_address_classes(&t) != rows[i].any ||
		    target_address_classes_common(&t) != rows[i].common)
			fail_msg("%s: %x, common %x", rows[i].text, target_address_classes(&t),
				 target_address_classes_common(&t));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canonical), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_u_labels),  cmocka_unit_test(test_covers),
		cmocka_unit_test(test_intersect), cmocka_unit_test(test_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
