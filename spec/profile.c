/*
 * The profile's small questions: words, which rule holds for a path, what is protected.
 *
 * Paths are compared as text. That is right here because every path of a profile is canonical and
 * the backend opens each of them without following a link before it enforces anything.
 */
#include "spec/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"
#include "spec/profile_internal.h"

const struct profile_word profile_access_words[] = {
	{"deny", ACCESS_DENY}, {"gated", ACCESS_GATED}, {"allow", ACCESS_ALLOW}, {NULL, 0}};
const struct profile_word profile_home_words[] = {
	{"isolated", HOME_ISOLATED}, {"real", HOME_REAL}, {NULL, 0}};
const struct profile_word profile_isolation_words[] = {
	{"sandboxed", ISOLATION_SANDBOXED}, {"unconfined", ISOLATION_UNCONFINED}, {NULL, 0}};
const struct profile_word profile_on_detach_words[] = {
	{"kill", DETACH_KILL}, {"remount", DETACH_REMOUNT}, {NULL, 0}};
const struct profile_word profile_level_words[] = {
	{"none", LEVEL_NONE}, {"degraded", LEVEL_DEGRADED}, {"full", LEVEL_FULL}, {NULL, 0}};
const struct profile_word profile_tls_words[] = {
	{"require", TLS_REQUIRE}, {"http", TLS_HTTP}, {"any", TLS_ANY}, {NULL, 0}};
const struct profile_word profile_ech_words[] = {{"refuse", false}, {"allow", true}, {NULL, 0}};

#define LIMIT(member) offsetof(struct profile_limits, member)

const struct profile_limit_row profile_limit_rows[PROFILE_LIMITS_N] = {
	{"deadline", LIMIT(deadline_ms), LIMIT_DURATION, 1, INT64_MAX, UINT64_MAX},
	{"terminateGrace", LIMIT(terminate_grace_ms), LIMIT_DURATION, 0, INT64_MAX,
	 PROFILE_TERMINATE_GRACE_DEFAULT_MS},
	{"outputBytes", LIMIT(output_bytes), LIMIT_SIZE, 1, INT64_MAX, UINT64_MAX},
	{"pids", LIMIT(pids), LIMIT_COUNT, 1, 4194304, UINT64_MAX}, /* PID_MAX_LIMIT */
	{"memory", LIMIT(memory_bytes), LIMIT_SIZE, 1, INT64_MAX, UINT64_MAX},
	{"cpus", LIMIT(cpus_milli), LIMIT_MILLI, 1, 1000000000, UINT64_MAX},
	{"scratch", LIMIT(scratch_bytes), LIMIT_SIZE, 1, INT64_MAX, PROFILE_SCRATCH_DEFAULT_BYTES},
};
_Static_assert(sizeof(struct profile_limits) == PROFILE_LIMITS_N * sizeof(struct oci_opt_u64),
	       "every limit has a row");

static const char *const guarantee_names[GUARANTEE_COUNT] = {
	[GUARANTEE_PROCESS_BOUNDARY] = "processBoundary",
	[GUARANTEE_WRITE_BOUNDARY] = "writeBoundary",
	[GUARANTEE_READ_BOUNDARY] = "readBoundary",
	[GUARANTEE_ENV_SCRUB] = "envScrub",
	[GUARANTEE_NETWORK_BOUNDARY] = "networkBoundary",
	[GUARANTEE_ADDRESS_NETWORK] = "addressNetwork",
	[GUARANTEE_RESOURCE_LIMITS] = "resourceLimits",
	[GUARANTEE_TARGET_NETWORK] = "targetNetwork",
};

const char *profile_word_of(const struct profile_word *words, int value)
{
	for (; words->word; words++)
		if (words->value == value)
			return words->word;
	return "?";
}

const char *access_name(enum access access)
{
	return profile_word_of(profile_access_words, (int)access);
}

const char *level_name(enum level level)
{
	return profile_word_of(profile_level_words, (int)level);
}

const char *guarantee_name(enum guarantee guarantee)
{
	return (unsigned)guarantee < GUARANTEE_COUNT ? guarantee_names[guarantee] : "?";
}

bool profile_has_group_limits(const struct profile_limits *limits)
{
	return limits->pids.set || limits->memory_bytes.set || limits->cpus_milli.set;
}

const struct oci_opt_u64 *profile_limit(const struct profile_limits *limits,
					const struct profile_limit_row *row)
{
	return (const struct oci_opt_u64 *)(const void *)((const char *)limits + row->offset);
}

bool profile_name_is_valid(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > 64 || name[0] == '.' || name[0] == '_' || name[0] == '-')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == len;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strings_sort_unique(struct strings *strings)
{
	size_t kept = 0;

	if (strings->n == 0)
		return;
	qsort(strings->v, strings->n, sizeof(*strings->v), compare_texts);
	for (size_t i = 0; i < strings->n; i++)
		if (i == 0 || strcmp(strings->v[i], strings->v[kept - 1]) != 0)
			strings->v[kept++] = strings->v[i];
	strings->n = kept;
	strings->v[kept] = NULL;
}

bool strings_contain(const struct strings *strings, const char *text)
{
	for (size_t i = 0; i < strings->n; i++)
		if (strcmp(strings->v[i], text) == 0)
			return true;
	return false;
}

int profile_root_compare(const void *a, const void *b)
{
	const struct profile_root *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int profile_rule_compare(const void *a, const void *b)
{
	const struct profile_rule *x = a, *y = b;

	return target_compare(&x->target, &y->target);
}

struct profile_root profile_rule_for(const struct profile *profile, const char *path)
{
	struct profile_root best = {NULL, profile->host_read, profile->host_write};
	size_t best_len = 0;

	if (profile->workspace.path && path_is_below(path, profile->workspace.path)) {
		best = profile->workspace;
		best_len = strlen(best.path);
	}
	for (size_t i = 0; i < profile->roots_n; i++) {
		const struct profile_root *root = &profile->roots[i];
		size_t len = strlen(root->path);

		if (len > best_len && path_is_below(path, root->path)) {
			best = *root;
			best_len = len;
		}
	}
	return best;
}

int profile_rule_for_tree(const struct profile *profile, const char *path, struct profile_root *ret)
{
	if (profile->workspace.path && strcmp(profile->workspace.path, path) == 0) {
		*ret = profile->workspace;
		return 0;
	}
	for (size_t i = 0; i < profile->roots_n; i++)
		if (strcmp(profile->roots[i].path, path) == 0) {
			*ret = profile->roots[i];
			return 0;
		}
	return -ENOENT;
}

/* text is name, or lies below it. */
static bool is_or_below(const char *text, const char *name)
{
	size_t len = strlen(name);

	return strncmp(text, name, len) == 0 && (text[len] == '\0' || text[len] == '/');
}

static bool last_is(const char *path, const char *const *names, size_t n)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < n; i++)
		if (strcmp(slash ? slash + 1 : path, names[i]) == 0)
			return true;
	return false;
}

/* The workspace's own repository, as far as names tell; what git's metadata adds is the backend's.
 */
static bool git_protects(const char *relative)
{
	static const char *const files[] = {".git/hooks", ".git/config", ".git/config.worktree",
					    ".git/commondir"};
	static const char *const worktree[] = {"commondir", "gitdir", "config.worktree"};
	static const char *const module[] = {"config", "hooks", "commondir"};

	if (strcmp(relative, ".git") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (is_or_below(relative, files[i]))
			return true;
	if (is_or_below(relative, ".git/worktrees"))
		return last_is(relative, worktree, ARRAY_SIZE(worktree));
	if (is_or_below(relative, ".git/modules"))
		return last_is(relative, module, ARRAY_SIZE(module)) || strstr(relative, "/hooks/");
	return false;
}

const char *profile_protects(const struct profile *profile, const char *path)
{
	const char *relative;

	if (!profile->workspace.path || !path_is_below(path, profile->workspace.path))
		return NULL;
	relative = path + strlen(profile->workspace.path);
	if (*relative == '/')
		relative++;
	for (size_t i = 0; i < profile->protect.n; i++) {
		const char *entry = profile->protect.v[i];

		if (strcmp(entry, PROFILE_PROTECT_GIT) == 0 ? git_protects(relative)
							    : is_or_below(relative, entry))
			return entry;
	}
	return NULL;
}

struct profile *profile_sandbox_part(struct arena *arena, const struct profile *profile)
{
	struct profile *part = arena_alloc(arena, sizeof(*part));

	if (!part)
		return NULL;
	*part = *profile;
	part->workspace = (struct profile_root){0};
	part->host_read = ACCESS_ALLOW;
	part->command = ACCESS_ALLOW;
	part->roots = NULL;
	part->roots_n = 0;
	part->protect = (struct strings){0};
	part->unix_sockets = (struct strings){0};
	part->limits = (struct profile_limits){0};
	return part;
}
