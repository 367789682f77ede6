/* The profile document: what is taken, what is refused and where, what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "spec/profile.h"

#define ARENA_BYTES ((size_t)64 << 20)

/* Single quotes stand for double ones, so that documents stay readable. */
static const char *quoted(const char *text)
{
	static char out[4][8192];
	static unsigned turn;
	char *to = out[turn++ % 4];
	size_t i = 0;

	for (; text[i]; i++)
		to[i] = text[i] == '\'' ? '"' : text[i];
	to[i] = '\0';
	return to;
}

static struct profile *parse(struct arena *arena, const char *text)
{
	struct sbx_error err = {0};
	struct profile *profile = NULL;
	const char *doc = quoted(text);

	if (profile_parse(arena, doc, strlen(doc), PROFILE_ROLE_PROFILE, NULL, &profile, &err) < 0)
		fail_msg("%s: at \"%s\": %s", text, err.pointer, err.message);
	return profile;
}

static void print(const struct profile *profile, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, 0);
	profile_write(&w, NULL, profile);
	assert_false(buf_failed(out));
}

static const char *const full =
	"{'version':1,'workspace':{'root':'/workspace','read':'allow','write':'allow'},"
	"'host':{'read':'deny','write':'deny'},"
	"'roots':[{'path':'/opt/sdk','read':'allow','write':'deny'}],"
	"'protect':['@git','.envrc'],"
	"'network':{'access':'deny','route':'direct','rules':[{'target':'tcp:github.com:443','"
	"access':"
	"'allow'},{'target':'tcp:*.npmjs.org:443','access':'gated'}]},"
	"'command':'allow','home':'isolated','isolation':'sandboxed','ackUnconfined':false,"
	"'unixSockets':['/run/build/agent.sock'],"
	"'limits':{'deadline':'10m','terminateGrace':'5s','outputBytes':1048576,'pids':256,"
	"'memory':'2GiB','cpus':1.5,'scratch':'1GiB'},"
	"'onDetach':'remount','require':['readBoundary','targetNetwork'],'minLevel':'full'}";

static void test_full_document(void **state)
{
	cleanup_arena struct arena arena;
	struct profile *p;

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	p = parse(&arena, full);
	assert_string_equal(p->workspace.path, "/workspace");
	assert_int_equal(p->workspace.read, ACCESS_ALLOW);
	assert_int_equal(p->roots_n, 1);
	assert_int_equal(p->roots[0].write, ACCESS_DENY);
	assert_int_equal(p->protect.n, 2);
	assert_string_equal(p->protect.v[0], ".envrc");
	assert_int_equal(p->rules_n, 2);
	assert_int_equal(p->limits.deadline_ms.v, 600000);
	assert_int_equal(p->limits.terminate_grace_ms.v, 5000);
	assert_int_equal(p->limits.memory_bytes.v, UINT64_C(2) << 30);
	assert_int_equal(p->limits.cpus_milli.v, 1500);
	assert_int_equal(p->on_detach, DETACH_REMOUNT);
	assert_int_equal(p->require, GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY) |
					     GUARANTEE_BIT(GUARANTEE_TARGET_NETWORK));
	assert_int_equal(p->min_level, LEVEL_FULL);
}

static void test_defaults(void **state)
{
	cleanup_arena struct arena arena;
	cleanup_buf struct buf out = BUF_INIT;

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	print(parse(&arena, "{'version':1,'workspace':{'root':'/w'}}"), &out);
	assert_string_equal(
		out.data,
		quoted("{'version':1,'workspace':{'root':'/w','read':'deny','write':'deny'},"
		       "'host':{'read':'deny','write':'deny'},'roots':[],'protect':[],"
		       "'network':{'access':'deny','route':'direct','rules':[]},'command':'deny',"
		       "'home':'isolated','isolation':'sandboxed','unixSockets':[],'require':[],"
		       "'minLevel':'none'}"));
}

static void test_written_document_is_read_again(void **state)
{
	cleanup_arena struct arena arena;
	cleanup_buf struct buf first = BUF_INIT, second = BUF_INIT;
	struct profile *again = NULL;
	char a[PROFILE_FINGERPRINT_LEN + 1], b[PROFILE_FINGERPRINT_LEN + 1];

	(void)state;
	arena_init(&arena, ARENA_BYTES);
	print(parse(&arena, full), &first);
	assert_int_equal(profile_parse(&arena, first.data, first.len, PROFILE_ROLE_PROFILE, NULL,
				       &again, NULL),
			 0);
	print(again, &second);
	assert_string_equal(first.data, second.data);
	profile_fingerprint(parse(&arena, full), a);
	profile_fingerprint(again, b);
	assert_string_equal(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_document),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_written_document_is_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
