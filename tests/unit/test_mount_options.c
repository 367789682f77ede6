/*
 * The words of a mount's options list: table order, decoding, what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>

#include <cmocka.h>

#include "backends/linux/mount_options.h"
#include "runtime/base/cleanup.h"

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 1 << 20);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static int decode(const char *type, const char *source, char **options, struct plan_mount *ret,
		  struct sbx_error *err)
{
	struct oci_mount mount = {.destination = "/d", .type = type, .source = source};

	while (options && options[mount.options.n])
		mount.options.n++;
	mount.options.v = options;
	return mount_options_decode(&arena, &mount, "/mounts/0", ret, err);
}

#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})

static void names_are_sorted_and_complete(void **state)
{
	static const char *const wanted[] = {"async",  "bind",	    "idmap",	 "nosymfollow",
					     "rbind",  "ridmap",    "rro",	 "rstrictatime",
					     "silent", "tmpcopyup", "unbindable"};
	size_t n = 0, i, j;
	const char *const *names = mount_option_names(&n);

	(void)state;
	for (i = 1; i < n; i++)
		assert_true(strcmp(names[i - 1], names[i]) < 0);
	assert_null(names[n]);
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		for (j = 0; j < n && strcmp(names[j], wanted[i]) != 0; j++)
			;
		assert_true(j < n);
	}
}

static void filesystem_words_and_data(void **state)
{
	struct plan_mount m = {0};

	(void)state;
	assert_int_equal(decode("tmpfs", "tmpfs",
				WORDS("nosuid", "strictatime", "mode=755", "size=65536k", "sync"),
				&m, NULL),
			 0);
	assert_int_equal(m.kind, MOUNT_FILESYSTEM);
	assert_int_equal(m.attr_set, MOUNT_ATTR_NOSUID | MOUNT_ATTR_STRICTATIME);
	assert_int_equal(m.attr_clear, MOUNT_ATTR__ATIME);
	assert_int_equal(m.super_flags, MS_SYNCHRONOUS);
	assert_string_equal(m.data, "mode=755,size=65536k");
}

static void later_word_wins(void **state)
{
	struct plan_mount m = {0};

	(void)state;
	assert_int_equal(decode("tmpfs", "t",
				WORDS("ro", "rw", "noatime", "relatime", "sync", "async"), &m,
				NULL),
			 0);
	assert_int_equal(m.attr_set, 0);
	assert_true(m.attr_clear & MOUNT_ATTR_RDONLY);
	assert_int_equal(m.super_flags, 0);
	memset(&m, 0, sizeof(m));
	assert_int_equal(decode("tmpfs", "t", WORDS("rw", "ro"), &m, NULL), 0);
	assert_int_equal(m.attr_set, MOUNT_ATTR_RDONLY);
	assert_int_equal(m.attr_clear, 0);
	assert_true(m.super_flags & MS_RDONLY);
}

static void accepted_without_effect(void **state)
{
	struct plan_mount m = {0};

	(void)state;
	assert_int_equal(decode("tmpfs", "t",
				WORDS("silent", "loud", "noiversion", "iversion", "defaults",
				      "lazytime", "nosymfollow"),
				&m, NULL),
			 0);
	assert_null(m.data);
	assert_int_equal(m.super_flags, MS_LAZYTIME);
	assert_int_equal(m.attr_set, MOUNT_ATTR_NOSYMFOLLOW);
}

static void bind_words(void **state)
{
	struct plan_mount m = {0};

	(void)state;
	assert_int_equal(decode("none", "/x", WORDS("rbind", "rro", "rslave", "nodev"), &m, NULL),
			 0);
	assert_int_equal(m.kind, MOUNT_BIND);
	assert_true(m.recursive);
	assert_int_equal(m.attr_set_recursive, MOUNT_ATTR_RDONLY);
	assert_int_equal(m.attr_set, MOUNT_ATTR_NODEV);
	assert_int_equal(m.propagation, MS_SLAVE | MS_REC);
	memset(&m, 0, sizeof(m));
	assert_int_equal(decode("bind", "/x", NULL, &m, NULL), 0);
	assert_int_equal(m.kind, MOUNT_BIND);
	assert_false(m.recursive);
	memset(&m, 0, sizeof(m));
	assert_int_equal(decode("cgroup", "cgroup", WORDS("ro"), &m, NULL), 0);
	assert_int_equal(m.kind, MOUNT_CGROUP);
}

static void refused(void **state)
{
	struct {
		const char *type, *source;
		char **words;
		enum sbx_code code;
	} rows[] = {
		{"bind", "/x", WORDS("bind", "size=1k"), SBX_E_INVALID_CONFIG},
		{"bind", NULL, WORDS("bind"), SBX_E_INVALID_CONFIG},
		{NULL, "/x", WORDS("ro"), SBX_E_INVALID_CONFIG},
		{"tmpfs", "t", WORDS("idmap"), SBX_E_INVALID_CONFIG},
		{"tmpfs", "t", WORDS("copy-symlink"), SBX_E_INVALID_CONFIG},
		{"proc", "proc", WORDS("tmpcopyup"), SBX_E_INVALID_CONFIG},
		{"tmpfs", "t", WORDS("remount", "ro"), SBX_E_UNSUPPORTED},
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plan_mount m = {.destination = "kept"};
		struct sbx_error err = {0};

		assert_true(decode(rows[i].type, rows[i].source, rows[i].words, &m, &err) < 0);
		assert_int_equal(err.code, rows[i].code);
		assert_string_equal(err.pointer, "/mounts/0");
		assert_string_equal(m.destination, "kept");
		assert_null(m.data);
	}
}

static void data_values(void **state)
{
	size_t len = 0;
	const char *v;

	(void)state;
	v = mount_data_value("size=1k,mode=0755", "mode", &len);
	assert_non_null(v);
	assert_int_equal(len, 4);
	assert_memory_equal(v, "0755", 4);
	assert_null(mount_data_value("xmode=1,mode", "mode", &len));
	assert_null(mount_data_value(NULL, "mode", &len));
	assert_string_equal(mount_data_without(&arena, "newinstance,gid=5,mode=0620", "gid"),
			    "newinstance,mode=0620");
	assert_string_equal(mount_data_without(&arena, "gid=5", "gid"), "");
	assert_string_equal(mount_data_without(&arena, "gidx=5", "gid"), "gidx=5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_sorted_and_complete),
		cmocka_unit_test(filesystem_words_and_data),
		cmocka_unit_test(later_word_wins),
		cmocka_unit_test(accepted_without_effect),
		cmocka_unit_test(bind_words),
		cmocka_unit_test(refused),
		cmocka_unit_test(data_values),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
