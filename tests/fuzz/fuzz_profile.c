/*
 * Profiles and targets: no input may do harm; what is taken is written and read back to the same
 * profile; restricting by it or under it stays valid and is never wider.
 *
 * An input that begins with "tcp:" is a target, with "b64:" a base64url text. Else it is a profile,
 * or two of them with a line "---" between: base and ceiling.
 */
#include <string.h>

#include "runtime/base/cleanup.h"
#include "spec/hash.h"
#include "spec/profile.h"
#include "tests/fuzz/fuzz.h"

#define ARENA_BYTES ((size_t)256 << 20)

static const char second[] =
	"{\"version\":1,\"workspace\":{\"read\":\"allow\",\"write\":\"gated\"},\"host\":{\"read\":"
	"\"gated\"},\"roots\":[{\"path\":\"/w/a\",\"read\":\"allow\"},{\"path\":\"/"
	"opt\"}],\"command\":"
	"\"gated\",\"protect\":[\"@git\"],\"network\":{\"access\":\"gated\",\"rules\":[{\"target\":"
	"\"tcp:*.x:443\",\"access\":\"allow\"},{\"target\":\"tcp:10.0.0.0/"
	"8:*\",\"access\":\"allow\","
	"\"addressClasses\":[\"private\"]},{\"target\":\"tcp:a.x:443\",\"access\":\"deny\"}]}}";

static void check_target(const char *text)
{
	struct target target, again;
	char out[TARGET_TEXT_MAX];
	struct sbx_error err = {0};

	if (target_parse(text, &target, &err) < 0) {
		fuzz_check(err.code == SBX_E_INVALID_PROFILE || err.code == SBX_E_UNSUPPORTED);
		return;
	}
	target_format(&target, out, sizeof(out));
	fuzz_check(target_parse(out, &again, NULL) == 0);
	fuzz_check(target_equal(&target, &again));
	fuzz_check(target_covers(&target, &again));
	fuzz_check((target_address_classes_common(&target) & ~target_address_classes(&target) &
		    ~ADDRESS_CLASS_NEVER) == 0);
}

static void check_base64(const char *text, size_t len)
{
	cleanup_buf struct buf bytes = BUF_INIT, again = BUF_INIT;

	if (base64url_decode(text, len, 1 << 20, &bytes) < 0)
		return;
	fuzz_check(base64url_encode(bytes.data ? bytes.data : "", bytes.len, &again) == 0);
	fuzz_check(again.len == len && memcmp(again.data ? again.data : "", text, len) == 0);
}

/* Written and read again it is the same profile. */
static void check_written(struct arena *arena, const struct profile *profile)
{
	cleanup_buf struct buf first = BUF_INIT, next = BUF_INIT;
	char a[PROFILE_FINGERPRINT_LEN + 1], b[PROFILE_FINGERPRINT_LEN + 1];
	struct profile *again = NULL;
	struct json_writer w;

	json_writer_init(&w, &first, 0);
	profile_write(&w, NULL, profile);
	if (buf_failed(&first) || first.len > json_limits_profile.max_bytes)
		return;
	fuzz_check(profile_parse(arena, first.data, first.len, PROFILE_ROLE_CEILING, NULL, &again,
				 NULL) == 0);
	json_writer_init(&w, &next, 0);
	profile_write(&w, NULL, again);
	fuzz_check(first.len == next.len && memcmp(first.data, next.data, first.len) == 0);
	profile_fingerprint(profile, a);
	profile_fingerprint(again, b);
	fuzz_check(strcmp(a, b) == 0);
}

static void check_question(const struct profile *result, const struct profile *side,
			   const char *kind, const char *scope)
{
	enum access narrow = ACCESS_DENY, wide = ACCESS_DENY;

	fuzz_check(profile_access(result, kind, scope, &narrow, NULL) == 0);
	fuzz_check(profile_access(side, kind, scope, &wide, NULL) == 0);
	fuzz_check(narrow <= wide);
}

static void check_narrower(const struct profile *result, const struct profile *side)
{
	static const char *const scopes[] = {"/", "/w", "/w/a", "/w/a/b", "/opt", "/etc/x", "host"};
	static const char *const targets[] = {"broad",		"tcp:a.x:443",	   "tcp:b.x:443",
					      "tcp:10.0.0.1:1", "tcp:1.1.1.1:443", "tcp:x:80"};

	for (size_t i = 0; side->workspace.path && i < ARRAY_SIZE(scopes); i++) {
		check_question(result, side, "filesystem.read", scopes[i]);
		check_question(result, side, "filesystem.write", scopes[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		check_question(result, side, "network", targets[i]);
	check_question(result, side, "command.execute", "x");
	fuzz_check(result->isolation <= side->isolation && result->home <= side->home);
	fuzz_check((side->require & ~result->require) == 0);
}

static void check_restricted(struct arena *arena, const struct profile *base,
			     const struct profile *ceiling)
{
	struct profile *result = NULL;

	if (profile_restrict(arena, base, ceiling, &result, NULL) < 0)
		return; /* too many rules or roots together */
	check_narrower(result, base);
	check_narrower(result, ceiling);
	check_written(arena, result);
}

static struct profile *parse(struct arena *arena, const char *text, size_t len)
{
	struct sbx_error err = {0};
	struct profile *profile = NULL;

	if (profile_parse(arena, text, len, PROFILE_ROLE_CEILING, NULL, &profile, &err) < 0) {
		fuzz_check(!profile && err.code != SBX_OK && err.message[0]);
		return NULL;
	}
	check_written(arena, profile);
	return profile;
}

static void check_profiles(struct arena *arena, const char *text, size_t len)
{
	static const char separator[] = "\n---\n";
	const char *cut = memmem(text, len, separator, strlen(separator));
	struct profile *base = parse(arena, text, cut ? (size_t)(cut - text) : len), *ceiling;
	const char *rest = cut ? cut + strlen(separator) : second;

	if (!base)
		return;
	ceiling = parse(arena, rest, cut ? (size_t)(text + len - rest) : strlen(second));
	if (!ceiling)
		return;
	check_restricted(arena, base, ceiling);
	check_restricted(arena, ceiling, base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena;
	char *text;

	arena_init(&arena, ARENA_BYTES);
	text = arena_strndup(&arena, (const char *)data, size);
	if (!text)
		return 0;
	if (size >= 4 && memcmp(text, "tcp:", 4) == 0)
		check_target(text);
	else if (size >= 4 && memcmp(text, "b64:", 4) == 0)
		check_base64(text + 4, size - 4);
	else
		check_profiles(&arena, text, size);
	return 0;
}
