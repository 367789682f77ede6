/* Profiles from short texts, for the tests of the profile and of what is built on it. */
#ifndef SBX_TESTS_PROFILE_FIXTURE_H
#define SBX_TESTS_PROFILE_FIXTURE_H

#include "spec/profile.h"
#include "tests/unit/unit.h"

#define FIXTURE_ARENA_BYTES ((size_t)256 << 20)

/* Single quotes stand for double ones, so that documents stay readable. The text lives until the
 * eighth call from here. */
static inline const char *quoted(const char *text)
{
	static char out[8][16384];
	static unsigned turn;
	char *to = out[turn++ % 8];
	size_t i = 0;

	for (; text[i] && i < sizeof(out[0]) - 1; i++)
		to[i] = text[i] == '\'' ? '"' : text[i];
	to[i] = '\0';
	return to;
}

static inline struct profile *parse_as(struct arena *arena, const char *text,
				       enum profile_role role)
{
	struct sbx_error err = {0};
	struct profile *profile = NULL;
	const char *document = quoted(text);

	if (profile_parse(arena, document, strlen(document), role, NULL, &profile, &err) < 0)
		fail_msg("%s: at \"%s\": %s", document, err.pointer, err.message);
	return profile;
}

static inline struct profile *parse(struct arena *arena, const char *text)
{
	return parse_as(arena, text, PROFILE_ROLE_PROFILE);
}

static inline void print(const struct profile *profile, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, 0);
	profile_write(&w, NULL, profile);
	assert_false(buf_failed(out));
}

static inline enum access ask(const struct profile *profile, const char *kind, const char *scope)
{
	struct sbx_error err = {0};
	enum access access = ACCESS_DENY;

	if (profile_access(profile, kind, scope, &access, &err) < 0)
		fail_msg("%s %s: %s", kind, scope, err.message);
	return access;
}

#endif
