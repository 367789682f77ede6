/*
 * The narrower of two profiles.
 *
 * One function narrow_RULE() per rule of profile_members.def; profile_restrict() is the expansion
 * of that table, so a member without a rule of its type does not compile.
 *
 * Paths: a profile is a function from paths to values, by longest prefix. The result lists every
 * path that either profile lists, each with the smaller value of the two functions there. For any
 * path q the longest listed prefix of the result is the longer one of the two profiles' prefixes
 * (both are prefixes of q, so one holds the other), hence the result at q is exactly the minimum at
 * q. Write without read cannot arise: where a value of read is denied, that profile denies write.
 *
 * protect is relative to the workspace and cannot be moved to another one: where the workspaces
 * differ, what the ceiling protects is covered by making its whole workspace read-only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/path.h"
#include "spec/profile.h"
#include "spec/profile_internal.h"

struct narrowing {
	struct arena *arena;
	struct sbx_error *err;
	const struct profile *base, *ceiling; /* with the workspace of the other where left out */
	struct profile *out;
	bool routes_differ;
};

static int no_memory(const struct narrowing *n)
{
	return sbx_fail(n->err, SBX_E_INVALID_PROFILE, ENOMEM, "restrict the profile");
}

static enum access min_access(enum access a, enum access b)
{
	return a < b ? a : b;
}

/* ---- plain members ---- */

#define NARROW_MINIMUM(rule, type)                                                                 \
	static int narrow_##rule(__attribute__((unused)) struct narrowing *n, const type *base,    \
				 const type *ceiling, type *ret)                                   \
	{                                                                                          \
		*ret = *base < *ceiling ? *base : *ceiling;                                        \
		return 0;                                                                          \
	}

NARROW_MINIMUM(minimum, enum access)
NARROW_MINIMUM(home, enum home_kind)
NARROW_MINIMUM(isolation, enum isolation)
NARROW_MINIMUM(both, bool)

static int narrow_level(__attribute__((unused)) struct narrowing *n, const enum level *base,
			const enum level *ceiling, enum level *ret)
{
	*ret = *base > *ceiling ? *base : *ceiling;
	return 0;
}

static int narrow_either(__attribute__((unused)) struct narrowing *n, const bool *base,
			 const bool *ceiling, bool *ret)
{
	*ret = *base || *ceiling;
	return 0;
}

static int narrow_bits_joined(__attribute__((unused)) struct narrowing *n, const uint32_t *base,
			      const uint32_t *ceiling, uint32_t *ret)
{
	*ret = *base | *ceiling;
	return 0;
}

/* Killing is the narrower answer; left out means killing where reading was denied. */
static int narrow_on_detach(__attribute__((unused)) struct narrowing *n, const enum on_detach *base,
			    const enum on_detach *ceiling, enum on_detach *ret)
{
	if (*base == DETACH_KILL || *ceiling == DETACH_KILL)
		*ret = DETACH_KILL;
	else if (*base == DETACH_DEFAULT || *ceiling == DETACH_DEFAULT)
		*ret = DETACH_DEFAULT;
	else
		*ret = DETACH_REMOUNT;
	return 0;
}

static int narrow_limits(__attribute__((unused)) struct narrowing *n,
			 const struct profile_limits *base, const struct profile_limits *ceiling,
			 struct profile_limits *ret)
{
	for (size_t i = 0; i < PROFILE_LIMITS_N; i++) {
		const struct profile_limit_row *row = &profile_limit_rows[i];
		const struct oci_opt_u64 *a = profile_limit(base, row);
		const struct oci_opt_u64 *b = profile_limit(ceiling, row);
		struct oci_opt_u64 *out = (void *)((char *)ret + row->offset);

		*out = *a;
		if (b->set && b->v < (a->set ? a->v : row->absent))
			*out = *b;
	}
	return 0;
}

/* ---- lists of texts ---- */

static int new_strings(struct narrowing *n, size_t count, struct strings *ret)
{
	ret->n = 0;
	ret->v = arena_alloc_array(n->arena, count + 1, sizeof(*ret->v));
	return ret->v ? 0 : no_memory(n);
}

static int narrow_joined(struct narrowing *n, const struct strings *base,
			 const struct strings *ceiling, struct strings *ret)
{
	int r = new_strings(n, base->n + ceiling->n, ret);

	if (r < 0)
		return r;
	for (size_t i = 0; i < base->n; i++)
		ret->v[ret->n++] = base->v[i];
	for (size_t i = 0; i < ceiling->n; i++)
		ret->v[ret->n++] = ceiling->v[i];
	strings_sort_unique(ret);
	if (ret->n > PROFILE_STRINGS_MAX)
		return sbx_fail(
			n->err, SBX_E_INVALID_PROFILE, 0,
			"restrict the profile: the lists have more than %d elements together",
			PROFILE_STRINGS_MAX);
	return 0;
}

/* An unconfined profile reaches every socket: the other's list is what both have. */
static int narrow_sockets(struct narrowing *n, const struct strings *base,
			  const struct strings *ceiling, struct strings *ret)
{
	int r;

	if (n->base->isolation == ISOLATION_UNCONFINED ||
	    n->ceiling->isolation == ISOLATION_UNCONFINED) {
		*ret = n->base->isolation == ISOLATION_UNCONFINED ? *ceiling : *base;
		return 0;
	}
	r = new_strings(n, base->n, ret);
	for (size_t i = 0; r == 0 && i < base->n; i++)
		if (strings_contain(ceiling, base->v[i]))
			ret->v[ret->n++] = base->v[i];
	return r;
}

/* ---- paths ---- */

/* Both functions at a path; what a moved protect list covers is read-only. */
static struct profile_root narrower_at(const struct narrowing *n, const char *path)
{
	struct profile_root a = profile_rule_for(n->base, path);
	struct profile_root b = profile_rule_for(n->ceiling, path);
	struct profile_root both = {path, min_access(a.read, b.read), min_access(a.write, b.write)};
	const char *moved = n->ceiling->workspace.path;

	if (n->ceiling->protect.n && moved && strcmp(moved, n->out->workspace.path) != 0 &&
	    path_is_below(path, moved))
		both.write = ACCESS_DENY;
	return both;
}

static int narrow_workspace(struct narrowing *n, const struct profile_root *base,
			    const struct profile_root *ceiling, struct profile_root *ret)
{
	if (base->path) {
		ret->path = base->path;
		*ret = narrower_at(n, base->path);
		return 0;
	}
	*ret = (struct profile_root){NULL, min_access(base->read, ceiling->read),
				     min_access(base->write, ceiling->write)};
	return 0;
}

/* A path that only the ceiling names is kept where it changes something. */
static bool changes_something(const struct profile *out, const struct profile_root *root)
{
	struct profile_root around = profile_rule_for(out, root->path);

	return around.read != root->read || around.write != root->write;
}

/* Every path of both but the result's workspace, sorted, each once. */
static size_t collect_paths(const struct narrowing *n, struct profile_root *ret)
{
	const struct profile *sides[] = {n->base, n->ceiling};
	size_t count = 0, kept = 0;

	for (size_t s = 0; s < 2; s++) {
		if (sides[s]->workspace.path)
			ret[count++].path = sides[s]->workspace.path;
		for (size_t i = 0; i < sides[s]->roots_n; i++)
			ret[count++].path = sides[s]->roots[i].path;
	}
	if (count)
		qsort(ret, count, sizeof(*ret), profile_root_compare);
	for (size_t i = 0; i < count; i++) {
		if (kept && strcmp(ret[kept - 1].path, ret[i].path) == 0)
			continue;
		if (n->out->workspace.path && strcmp(n->out->workspace.path, ret[i].path) == 0)
			continue;
		ret[kept++] = ret[i];
	}
	return kept;
}

/* out already has host and workspace. Sorted order puts a parent before what lies below it. */
static int narrow_roots(struct narrowing *n, struct profile_root *const *base,
			struct profile_root *const *ceiling, struct profile_root **ret)
{
	size_t room = n->base->roots_n + n->ceiling->roots_n + 3, count, kept = 0;
	struct profile_root *roots = arena_alloc_array(n->arena, room, sizeof(*roots));
	struct profile_root ignored;

	(void)base;
	(void)ceiling;
	if (!roots)
		return no_memory(n);
	count = collect_paths(n, roots);
	n->out->roots = roots;
	for (size_t i = 0; i < count; i++) {
		struct profile_root root = narrower_at(n, roots[i].path);

		n->out->roots_n = kept;
		if (profile_rule_for_tree(n->base, root.path, &ignored) < 0 &&
		    !changes_something(n->out, &root))
			continue;
		roots[kept++] = root;
	}
	n->out->roots_n = kept;
	*ret = roots;
	if (kept > PROFILE_ROOTS_MAX)
		return sbx_fail(n->err, SBX_E_INVALID_PROFILE, 0,
				"restrict the profile: more than %d roots together",
				PROFILE_ROOTS_MAX);
	return 0;
}

/* ---- network ---- */

/* Traffic that one profile sends by a route, the other does not have: the network is closed. */
static int narrow_route(struct narrowing *n, const char *const *base, const char *const *ceiling,
			const char **ret)
{
	n->routes_differ = strcmp(*base, *ceiling) != 0;
	*ret = n->routes_differ ? PROFILE_ROUTE_DIRECT : *base;
	return 0;
}

static int narrow_network(struct narrowing *n, const enum access *base, const enum access *ceiling,
			  enum access *ret)
{
	*ret = n->routes_differ ? ACCESS_DENY : min_access(*base, *ceiling);
	return 0;
}

static int narrow_rules(struct narrowing *n, struct profile_rule *const *base,
			struct profile_rule *const *ceiling, struct profile_rule **ret)
{
	size_t kept = 0;
	int r = profile_restrict_rules(n->arena, n->base, n->ceiling, n->out, n->err);

	(void)base;
	(void)ceiling;
	if (r < 0)
		return r;
	*ret = n->out->rules;
	if (!n->routes_differ)
		return 0;
	for (size_t i = 0; i < n->out->rules_n; i++)
		if ((*ret)[i].access == ACCESS_DENY)
			(*ret)[kept++] = (*ret)[i];
	n->out->rules_n = kept;
	return 0;
}

static int narrow_forwards(struct narrowing *n, struct profile_forward *const *base,
			   struct profile_forward *const *ceiling, struct profile_forward **ret)
{
	size_t kept = 0;
	struct profile_forward *forwards =
		arena_alloc_array(n->arena, n->base->forwards_n + 1, sizeof(*forwards));

	if (!forwards)
		return no_memory(n);
	for (size_t i = 0; i < n->base->forwards_n; i++)
		for (size_t k = 0; k < n->ceiling->forwards_n; k++)
			if ((*base)[i].listen == (*ceiling)[k].listen &&
			    target_equal(&(*base)[i].to, &(*ceiling)[k].to))
				forwards[kept++] = (*base)[i];
	*ret = forwards;
	n->out->forwards_n = kept;
	return 0;
}

/* Where the doors listen gives no authority: the base's choice. */
static int narrow_proxy_ports(__attribute__((unused)) struct narrowing *n,
			      const struct profile_proxy_ports *base,
			      __attribute__((unused)) const struct profile_proxy_ports *ceiling,
			      struct profile_proxy_ports *ret)
{
	*ret = *base;
	return 0;
}

/* Counts are set with their arrays. */
#define NARROW_COUNT(rule)                                                                         \
	static int narrow_##rule(__attribute__((unused)) struct narrowing *n,                      \
				 __attribute__((unused)) const size_t *base,                       \
				 __attribute__((unused)) const size_t *ceiling,                    \
				 __attribute__((unused)) size_t *ret)                              \
	{                                                                                          \
		return 0;                                                                          \
	}

NARROW_COUNT(with_roots)
NARROW_COUNT(with_rules)
NARROW_COUNT(with_forwards)

/* ---- the whole ---- */

/* A workspace that is left out stands where the other's does; a root there bounds it too. */
static void place_workspace(struct profile *profile, const char *path)
{
	struct profile_root *workspace = &profile->workspace, root;

	if (workspace->path || !path)
		return;
	if (profile_rule_for_tree(profile, path, &root) == 0) {
		workspace->read = min_access(workspace->read, root.read);
		workspace->write = min_access(workspace->write, root.write);
	}
	workspace->path = path;
}

int profile_restrict(struct arena *arena, const struct profile *base, const struct profile *ceiling,
		     struct profile **ret, struct sbx_error *err)
{
	struct profile a = *base, b = *ceiling;
	struct profile *out = arena_alloc(arena, sizeof(*out));
	struct narrowing n = {arena, err, &a, &b, out, false};
	int r;

	if (!out)
		return no_memory(&n);
	place_workspace(&a, b.workspace.path);
	place_workspace(&b, a.workspace.path);

#define PROFILE_MEMBER(type, name, narrow, encode)                                                 \
	r = narrow_##narrow(&n, &a.name, &b.name, &out->name);                                     \
	if (r < 0)                                                                                 \
		return r;
#include "spec/profile_members.def"
#undef PROFILE_MEMBER

	*ret = out;
	return 0;
}
