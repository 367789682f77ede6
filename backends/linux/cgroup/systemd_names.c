/*
 * Names of units, from a text that a bundle gives (systemd.unit(5), systemd.slice(5)).
 *
 * They become parts of paths and arguments of calls, so every part is checked by systemd's own
 * rules; nothing is escaped or guessed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/linux/cgroup/systemd.h"
#include "runtime/base/arena.h"

#define SLICE ".slice"
#define SCOPE ".scope"

static bool ends_with(const char *text, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len >= n && memcmp(text + len - n, suffix, n) == 0;
}

static bool has_unit_letters(const char *text, size_t len)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789:-_.\\@";

	for (size_t i = 0; i < len; i++)
		if (!text[i] || !strchr(letters, text[i]))
			return false;
	return true;
}

/* "a-b.slice": no empty part, for each "-" is a step down; "-.slice" is the root. */
static bool is_slice(const char *text)
{
	size_t len = strlen(text);

	if (len <= strlen(SLICE) || len >= CGROUP_UNIT_MAX || !ends_with(text, len, SLICE) ||
	    !has_unit_letters(text, len) || strchr(text, ':') || strchr(text, '@'))
		return false;
	if (strcmp(text, "-" SLICE) == 0)
		return true;
	return text[0] != '-' && text[0] != '.' && text[len - strlen(SLICE) - 1] != '-' &&
	       !strstr(text, "--");
}

bool systemd_is_scope(const char *text)
{
	size_t len = strlen(text);

	return len > strlen(SCOPE) && len < CGROUP_UNIT_MAX && ends_with(text, len, SCOPE) &&
	       has_unit_letters(text, len) && text[0] != '.' && !strchr(text, '@') &&
	       strncmp(text, CGROUP_RESERVED_PREFIX, strlen(CGROUP_RESERVED_PREFIX)) != 0;
}

static int refuse(struct sbx_error *err, const char *given, const char *why)
{
	return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/cgroupsPath",
			   "use cgroup path \"%s\" with the systemd cgroup manager: %s", given,
			   why);
}

static const char *name_slice(struct arena *arena, const char *text, size_t len, bool user_manager)
{
	if (len == 0)
		return user_manager ? "user" SLICE : "system" SLICE;
	if (len == 1 && text[0] == '-')
		return "-" SLICE;
	return arena_strndup(arena, text, len);
}

static int name_unit(struct arena *arena, const char *given, const char *prefix, const char *name,
		     const char **ret, struct sbx_error *err)
{
	size_t prefix_len = (size_t)(name - 1 - prefix);

	if (!*name || strchr(name, ':'))
		return refuse(err, given, "want the form \"SLICE:PREFIX:NAME\"");
	if (ends_with(name, strlen(name), SLICE))
		return refuse(err, given,
			      "a slice holds no process: give a NAME that does not end with "
			      "\".slice\"");
	*ret = arena_printf(arena, "%.*s%s%s" SCOPE, (int)prefix_len, prefix, prefix_len ? "-" : "",
			    name);
	if (!*ret)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "name the scope");
	return systemd_is_scope(*ret)
		       ? 0
		       : refuse(err, given,
				"PREFIX-NAME.scope is no name of a unit (letters, digits and "
				"\"-_.\\\", at most 255 bytes)");
}

int systemd_names(struct arena *arena, const char *given, const char *id, bool user_manager,
		  const char **ret_slice, const char **ret_unit, struct sbx_error *err)
{
	const char *first, *second;

	if (!given || !*given)
		given = arena_printf(arena, ":sbx:%s", id);
	if (!given)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "name the scope");
	first = strchr(given, ':');
	second = first ? strchr(first + 1, ':') : NULL;
	if (!second)
		return refuse(err, given, "want the form \"SLICE:PREFIX:NAME\"");
	*ret_slice = name_slice(arena, given, (size_t)(first - given), user_manager);
	if (!*ret_slice)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "name the slice");
	if (!is_slice(*ret_slice))
		return refuse(err, given,
			      "SLICE is no name of a slice (such as \"a-b.slice\", or \"-\" for "
			      "the root)");
	return name_unit(arena, given, first + 1, second + 1, ret_unit, err);
}

int systemd_subgroup(const char *annotation, const char **ret, struct sbx_error *err)
{
	const char *name = annotation ? annotation : "container";

	if (strlen(name) >= CGROUP_UNIT_MAX || strchr(name, '/') || name[0] == '.' ||
	    !has_unit_letters(name, strlen(name)))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/annotations",
				   "use \"%s\" as the group below the scope: want one name of "
				   "letters, digits and \"-_.\"",
				   name);
	*ret = name;
	return 0;
}

int systemd_slice_path(const char *slice, char *out, size_t size)
{
	size_t used = 0, stem = strlen(slice) - strlen(SLICE);

	if (size == 0)
		return -ENAMETOOLONG;
	out[0] = '\0';
	if (strcmp(slice, "-" SLICE) == 0)
		return 0;
	for (size_t i = 1; i <= stem; i++) {
		int n;

		if (i < stem && slice[i] != '-')
			continue;
		n = snprintf(out + used, size - used, "/%.*s" SLICE, (int)i, slice);
		if (n < 0 || (size_t)n >= size - used)
			return -ENAMETOOLONG;
		used += (size_t)n;
	}
	return 0;
}

void systemd_describe(const char *id, uint64_t mark, char out[CGROUP_DESCRIPTION_MAX])
{
	snprintf(out, CGROUP_DESCRIPTION_MAX, "sbx-runtime container %.64s %016llx", id,
		 (unsigned long long)mark);
}
