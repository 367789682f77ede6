/*
 * One pass over the bytes with a reader that knows its line. A carriage return before a line feed
 * belongs to the line's end, as git has it. Sections and keys are compared without case; of the
 * values only those of the table below are kept.
 */
#include "spec/git_config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

#define END_OF_FILE (-1)

struct reader {
	const unsigned char *at, *end;
	unsigned line;
	char *section, *key, *value; /* each as long as the text at most */
	bool has_subsection;	     /* behind the name of section, which it does not hold */
};

/* ---- bytes ---- */

static int peek(const struct reader *in)
{
	if (in->at == in->end)
		return END_OF_FILE;
	if (*in->at == '\r' && in->end - in->at > 1 && in->at[1] == '\n')
		return '\n';
	return *in->at;
}

static int next(struct reader *in)
{
	int c = peek(in);

	if (c == END_OF_FILE)
		return c;
	in->at += *in->at == '\r' && c == '\n' ? 2 : 1;
	in->line += c == '\n';
	return c;
}

static bool is_end(int c)
{
	return c == '\n' || c == END_OF_FILE;
}

static void skip_line(struct reader *in)
{
	while (!is_end(peek(in)))
		next(in);
}

static void skip_blanks(struct reader *in)
{
	while (peek(in) == ' ' || peek(in) == '\t')
		next(in);
}

/* ---- the grammar ---- */

/* Behind the blank: a quoted text, in which a backslash takes the next byte as it is. */
static int read_subsection(struct reader *in)
{
	int c;

	skip_blanks(in);
	if (next(in) != '"')
		return -EINVAL;
	while ((c = next(in)) != '"') {
		if (c == '\\')
			c = next(in);
		if (is_end(c))
			return -EINVAL;
	}
	in->has_subsection = true;
	return next(in) == ']' ? 0 : -EINVAL;
}

/* Behind "[". The old form [section.subsection] has one as well. */
static int read_section(struct reader *in)
{
	size_t n = 0;
	int c;

	in->has_subsection = false;
	for (;;) {
		c = next(in);
		if (c == ']' || c == ' ' || c == '\t')
			break;
		if (c != '.' && c != '-' && (c < 0 || !isalnum(c)))
			return -EINVAL;
		if (c == '.')
			in->has_subsection = true;
		if (!in->has_subsection)
			in->section[n++] = (char)tolower(c);
	}
	in->section[n] = '\0';
	return c == ']' ? 0 : read_subsection(in);
}

static int read_escape(struct reader *in, size_t *n)
{
	static const char from[] = "tbn\\\"", to[] = "\t\b\n\\\"";
	int c = next(in);
	const char *found;

	if (c == '\n')
		return 0; /* the value goes on in the next line */
	found = c > 0 ? strchr(from, c) : NULL;
	if (!found)
		return -EINVAL;
	in->value[(*n)++] = to[found - from];
	return 0;
}

/* Behind "=". Blanks at both ends are no part of it, unless quoted. */
static int read_value(struct reader *in)
{
	size_t n = 0, kept = 0;
	bool quoted = false;
	int c, r = 0;

	skip_blanks(in);
	while (r == 0 && !is_end(c = peek(in))) {
		if (!quoted && (c == '#' || c == ';'))
			break;
		next(in);
		if (c == '\\')
			r = read_escape(in, &n);
		else if (c == '"')
			quoted = !quoted;
		else if (c != 0)
			in->value[n++] = (char)c;
		else
			return -EINVAL;
		if (quoted || !isspace(c) || c == '"')
			kept = n;
	}
	in->value[kept] = '\0';
	skip_line(in);
	return quoted ? -EINVAL : r;
}

/* A key without "=" has no value: a boolean, none of ours. */
static int read_variable(struct reader *in)
{
	size_t n = 0;

	if (!isalpha(peek(in)))
		return -EINVAL;
	while (peek(in) == '-' || (peek(in) > 0 && isalnum(peek(in))))
		in->key[n++] = (char)tolower(next(in));
	in->key[n] = in->value[0] = '\0';
	skip_blanks(in);
	if (is_end(peek(in)))
		return 0;
	if (next(in) != '=')
		return -EINVAL;
	return read_value(in);
}

/* ---- what is kept ---- */

struct kept_row {
	const char *section, *key;
	bool in_subsection;
	size_t offset; /* in struct git_config */
};

static const struct kept_row rows[] = {
	{"core", "hookspath", false, offsetof(struct git_config, hooks_paths)},
	{"core", "worktree", false, offsetof(struct git_config, worktrees)},
	{"include", "path", false, offsetof(struct git_config, includes)},
	{"includeif", "path", true, offsetof(struct git_config, includes)},
	{"submodule", "path", true, offsetof(struct git_config, submodule_paths)},
};

static int keep_value(struct arena *arena, const struct reader *in, struct git_config *config)
{
	for (size_t i = 0; *in->value && i < ARRAY_SIZE(rows); i++) {
		struct strings *list = (void *)((char *)config + rows[i].offset);

		if (strcmp(rows[i].section, in->section) != 0 ||
		    strcmp(rows[i].key, in->key) != 0 ||
		    rows[i].in_subsection != in->has_subsection)
			continue;
		if (!list->v)
			list->v = arena_alloc_array(arena, GIT_VALUES_MAX, sizeof(*list->v));
		if (!list->v || list->n == GIT_VALUES_MAX)
			return -ENOSPC;
		list->v[list->n] = arena_strdup(arena, in->value);
		if (!list->v[list->n++])
			return -ENOSPC;
	}
	return 0;
}

static int read_item(struct arena *arena, struct reader *in, struct git_config *config)
{
	int c = peek(in), r;

	if (c == '#' || c == ';') {
		skip_line(in);
		return 0;
	}
	if (c == '\n' || isspace(c) || c == '[') {
		next(in);
		return c == '[' ? read_section(in) : 0;
	}
	r = *in->section ? read_variable(in) : -EINVAL;
	return r < 0 ? r : keep_value(arena, in, config);
}

int git_config_parse(struct arena *arena, const char *text, size_t len, struct git_config *ret,
		     struct sbx_error *err)
{
	static const char mark[] = "\xef\xbb\xbf";
	struct reader in = {
		.at = (const unsigned char *)text,
		.end = (const unsigned char *)text + len,
		.line = 1,
		.section = arena_alloc(arena, len + 1),
		.key = arena_alloc(arena, len + 1),
		.value = arena_alloc(arena, len + 1),
	};
	int r = in.section && in.key && in.value ? 0 : -ENOSPC;

	memset(ret, 0, sizeof(*ret));
	if (len >= 3 && memcmp(text, mark, 3) == 0)
		in.at += 3;
	while (r == 0 && in.at < in.end)
		r = read_item(arena, &in, ret);
	if (r == -ENOSPC)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, 0,
				"read the configuration: more than %d values of one name, or no "
				"memory",
				GIT_VALUES_MAX);
	return r < 0 ? sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"read the configuration: git would refuse line %u", in.line)
		     : 0;
}

/* ---- links ---- */

const char *git_link_parse(struct arena *arena, const char *text, size_t len, const char *prefix)
{
	size_t skip = prefix ? strlen(prefix) : 0;

	if (len < skip || (skip && memcmp(text, prefix, skip) != 0))
		return NULL;
	text += skip;
	len -= skip;
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	if (len == 0 || len >= PATH_MAX || memchr(text, '\0', len))
		return NULL;
	return arena_strndup(arena, text, len);
}

const char *git_place(struct arena *arena, const char *base, const char *value,
		      const char *host_path, const char *inside)
{
	char joined[2 * PATH_MAX + 2], place[PATH_MAX];
	int n = snprintf(joined, sizeof(joined), "%s/%s", *value == '/' ? "" : base, value);

	if (*value == '~' || n < 0 || (size_t)n >= sizeof(joined) ||
	    path_normalize(joined, place, sizeof(place)) < 0)
		return NULL;
	if (*value != '/' || !host_path || !path_is_below(place, host_path))
		return arena_strdup(arena, place);
	return arena_printf(arena, "%s%s", inside,
			    place + (strcmp(host_path, "/") == 0 ? 0 : strlen(host_path)));
}
