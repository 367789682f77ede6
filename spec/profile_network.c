/*
 * What a profile says about a target, and the narrower of two profiles' rules.
 *
 * One target is decided so: a deny rule that meets it denies; else the rule with the narrowest host
 * that covers it decides (of several with that host the least value of each member, ports do not
 * rank); else network.access. A rule opens only addresses whose classes it lists. A question about
 * many targets (a wildcard, a CIDR, any port) has the least value of all of them.
 *
 * The result of restricting has every deny rule of both, and for each pair of opening rules what
 * they have in common. For a target t let ra and rb be rules that decide in each profile: no pair
 * that covers t has a narrower host than ra with rb, and that pair's value is the smaller one, so
 * the result is never wider. network.access takes part as a rule for every public target; pairs
 * with it are left out where a rule of the other profile covers the whole host anyway, and so are
 * pairs of which one rule decides nowhere, because a narrower one of its own profile covers all
 * that the two have in common. Leaving these out only makes the result less narrow than need be.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spec/profile.h"
#include "spec/profile_internal.h"

#define DOMINANCE_RULES_MAX 512

#define CLASSES_ALL                                                                                \
	(ADDRESS_CLASS_PRIVATE | ADDRESS_CLASS_LINK_LOCAL | ADDRESS_CLASS_LOOPBACK |               \
	 ADDRESS_CLASS_METADATA)

/* ---- decision ---- */

static bool meets(const struct profile_rule *rule, const struct target *target)
{
	struct target both, decoded;

	if (target_intersect(&rule->target, target, &both))
		return true;
	return target_decode_ipv4(target, &decoded) &&
	       target_intersect(&rule->target, &decoded, &both);
}

static bool opens_all(const struct profile_rule *rule, const struct target *target)
{
	return rule->access != ACCESS_DENY && target_covers(&rule->target, target) &&
	       (target_address_classes(target) & ~rule->address_classes) == 0;
}

static const struct profile_rule *deciding_rule(const struct profile *profile,
						const struct target *target)
{
	const struct profile_rule *best = NULL;

	for (size_t i = 0; i < profile->rules_n; i++) {
		const struct profile_rule *rule = &profile->rules[i];

		if (rule->access == ACCESS_DENY && meets(rule, target))
			return rule;
	}
	for (size_t i = 0; i < profile->rules_n; i++) {
		const struct profile_rule *rule = &profile->rules[i];
		unsigned narrow = target_specificity(&rule->target);
		unsigned so_far = best ? target_specificity(&best->target) : 0;

		if (!opens_all(rule, target))
			continue;
		if (!best || narrow > so_far || (narrow == so_far && rule->access < best->access))
			best = rule;
	}
	return best;
}

enum access profile_network_access(const struct profile *profile, const struct target *target,
				   const struct profile_rule **ret_rule)
{
	const struct profile_rule *rule = NULL;
	enum access access = profile->network;

	if (profile->network != ACCESS_ALLOW) {
		rule = deciding_rule(profile, target);
		if (rule)
			access = rule->access;
		else if (target_address_classes(target)) /* only a rule can name the class */
			access = ACCESS_DENY;
	}
	/* Rules that hold for a part of the question only. */
	for (size_t i = 0; i < profile->rules_n; i++) {
		const struct profile_rule *part = &profile->rules[i];

		if (part->access < access && meets(part, target) &&
		    !target_covers(&part->target, target)) {
			rule = part;
			access = part->access;
		}
	}
	if (ret_rule)
		*ret_rule = rule;
	return access;
}

/* ---- what two rules have in common ---- */

struct rule_pair {
	bool any_target; /* the second stands for network.access */
	uint16_t port;	 /* of the common target */
};

/* Each returns false where the two have nothing in common. */
static bool common_target(struct rule_pair *pair, const struct target *a, const struct target *b,
			  struct target *ret)
{
	if (pair->any_target)
		*ret = *a;
	else if (!target_intersect(a, b, ret))
		return false;
	pair->port = ret->port;
	return true;
}

static bool common_minimum(__attribute__((unused)) struct rule_pair *pair, const enum access *a,
			   const enum access *b, enum access *ret)
{
	*ret = *a < *b ? *a : *b;
	return true;
}

static bool common_bits_shared(__attribute__((unused)) struct rule_pair *pair, const uint32_t *a,
			       const uint32_t *b, uint32_t *ret)
{
	*ret = *a & *b;
	return true;
}

static bool common_both(__attribute__((unused)) struct rule_pair *pair, const bool *a,
			const bool *b, bool *ret)
{
	*ret = *a && *b;
	return true;
}

/* "auto" is TLS on 443 and HTTP or any bytes elsewhere, so with "http" it shares the rest only. */
static bool common_tls(struct rule_pair *pair, const enum tls_mode *a, const enum tls_mode *b,
		       enum tls_mode *ret)
{
	enum tls_mode low = *a < *b ? *a : *b, high = *a < *b ? *b : *a;

	if (low == high || high == TLS_ANY) {
		*ret = low;
		return true;
	}
	if (low == TLS_AUTO && high == TLS_REQUIRE) {
		*ret = TLS_REQUIRE;
		return true;
	}
	*ret = TLS_HTTP;
	return low == TLS_AUTO && pair->port != 443 && pair->port != 0;
}

static struct profile_rule deny_rule(const struct target *target)
{
	return (struct profile_rule){.target = *target, .access = ACCESS_DENY};
}

/* False: no target in common. A pair that shares targets but nothing on them denies them. */
static bool combine(const struct profile_rule *a, const struct profile_rule *b, bool any_target,
		    struct profile_rule *ret)
{
	struct rule_pair pair = {any_target, 0};
	bool met = true;

	memset(ret, 0, sizeof(*ret));
	if (!common_target(&pair, &a->target, &b->target, &ret->target))
		return false;
#define PROFILE_RULE_MEMBER(type, name, narrow, encode)                                            \
	met = common_##narrow(&pair, &a->name, &b->name, &ret->name) && met;
#include "spec/profile_members.def"
#undef PROFILE_RULE_MEMBER
	if (!met)
		*ret = deny_rule(&ret->target);
	return true;
}

/* ---- restricting ---- */

struct rule_list {
	struct profile_rule *v;
	size_t n, cap;
};

static int list_add(struct arena *arena, struct rule_list *list, const struct profile_rule *rule)
{
	uint32_t needed = target_address_classes_common(&rule->target);

	/* Such a rule would open nothing. */
	if (rule->access != ACCESS_DENY && (needed & ~rule->address_classes))
		return 0;
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 16;
		struct profile_rule *grown = arena_alloc_array(arena, cap, sizeof(*grown));

		if (!grown || cap > PROFILE_RULES_MAX * 64)
			return -ENOMEM;
		if (list->n)
			memcpy(grown, list->v, list->n * sizeof(*grown));
		list->v = grown;
		list->cap = cap;
	}
	list->v[list->n++] = *rule;
	return 0;
}

/* network.access as a rule for everything public (everything at all where it is allow). */
static struct profile_rule default_rule(const struct profile *profile)
{
	bool all = profile->network == ACCESS_ALLOW;

	return (struct profile_rule){
		.access = profile->network,
		.address_classes = all ? CLASSES_ALL : 0,
		.tls = all ? TLS_ANY : TLS_AUTO,
		.ech_allow = true,
		.inspect = all,
	};
}

static bool host_is_covered(const struct profile *profile, const struct target *target)
{
	for (size_t i = 0; i < profile->rules_n; i++)
		if (profile->rules[i].access != ACCESS_DENY &&
		    target_covers(&profile->rules[i].target, target))
			return true;
	return false;
}

/* The rules of a against network.access of b, and a's deny rules. */
static int add_one_sided(struct arena *arena, const struct profile *a, const struct profile *b,
			 struct rule_list *list)
{
	const struct profile_rule rest = default_rule(b);
	struct profile_rule both;
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->rules_n; i++) {
		const struct profile_rule *rule = &a->rules[i];

		if (rule->access == ACCESS_DENY)
			r = list_add(arena, list, rule);
		else if (b->network != ACCESS_DENY && !host_is_covered(b, &rule->target) &&
			 combine(rule, &rest, true, &both))
			r = list_add(arena, list, &both);
	}
	return r;
}

/* True where a narrower rule of its own profile decides everything that rule has in the pair. */
static bool is_dominated(const struct profile *profile, const struct profile_rule *rule,
			 const struct profile_rule *pair)
{
	unsigned narrow = target_specificity(&rule->target);

	for (size_t i = 0; i < profile->rules_n; i++) {
		const struct profile_rule *other = &profile->rules[i];

		if (other->access != ACCESS_DENY && target_covers(&other->target, &pair->target) &&
		    target_specificity(&other->target) > narrow &&
		    (pair->address_classes & ~other->address_classes) == 0)
			return true;
	}
	return false;
}

static int add_pair(struct arena *arena, const struct profile *a, const struct profile *b,
		    const size_t at[2], struct rule_list *list)
{
	const struct profile_rule *x = &a->rules[at[0]], *y = &b->rules[at[1]];
	struct profile_rule both;

	if (x->access == ACCESS_DENY || y->access == ACCESS_DENY || !combine(x, y, false, &both))
		return 0;
	/* Long lists do without: the cost is cubic and the result only narrower. */
	if (a->rules_n + b->rules_n <= DOMINANCE_RULES_MAX &&
	    (is_dominated(a, x, &both) || is_dominated(b, y, &both)))
		return 0;
	return list_add(arena, list, &both);
}

static int add_pairs(struct arena *arena, const struct profile *a, const struct profile *b,
		     struct rule_list *list)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->rules_n; i++)
		for (size_t k = 0; r == 0 && k < b->rules_n; k++) {
			const size_t at[2] = {i, k};

			r = add_pair(arena, a, b, at, list);
		}
	return r;
}

/* One rule per target: of several the narrower in every member, a deny rule wins. Each lists the
 * classes that its target needs, so what they share does too. */
static void merge_equal(struct rule_list *list)
{
	size_t kept = 0;

	if (list->n == 0)
		return;
	qsort(list->v, list->n, sizeof(*list->v), profile_rule_compare);
	for (size_t i = 0; i < list->n; i++) {
		struct profile_rule *last = kept ? &list->v[kept - 1] : NULL;
		struct profile_rule both;

		if (!last || profile_rule_compare(last, &list->v[i]) != 0) {
			list->v[kept++] = list->v[i];
			continue;
		}
		if (last->access == ACCESS_DENY || list->v[i].access == ACCESS_DENY) {
			*last = deny_rule(&last->target);
			continue;
		}
		combine(last, &list->v[i], false, &both);
		*last = both;
	}
	list->n = kept;
}

int profile_restrict_rules(struct arena *arena, const struct profile *base,
			   const struct profile *ceiling, struct profile *out,
			   struct sbx_error *err)
{
	struct rule_list list = {0};
	int r = add_one_sided(arena, base, ceiling, &list);

	if (r == 0)
		r = add_one_sided(arena, ceiling, base, &list);
	if (r == 0)
		r = add_pairs(arena, base, ceiling, &list);
	if (r == 0)
		merge_equal(&list);
	if (r < 0 || list.n > PROFILE_RULES_MAX)
		return sbx_fail(err, SBX_E_INVALID_PROFILE, r < 0 ? ENOMEM : 0,
				"restrict the profile: more than %d network rules together",
				PROFILE_RULES_MAX);
	out->rules = list.v;
	out->rules_n = list.n;
	return 0;
}
