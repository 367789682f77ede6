/*
 * Restricting: examples with their meaning, and over random profiles the property that counts: the
 * result is never wider than either side, on any question and in any member.
 */
#include <stdlib.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"
#include "tests/unit/profile_fixture.h"

#define ROUNDS 2000

/* ---- random documents ---- */

static uint64_t random_state;

static unsigned draw(unsigned n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)((random_state >> 11) % n);
}

static const char *const accesses[] = {"deny", "gated", "allow"};
static const char *const paths[] = {"/w",     "/w/a",  "/w/a/b", "/wa", "/opt",
				    "/opt/x", "/home", "/w/c",	 "/a",	"/a/w"};
static const char *const probes[] = {"/",
				     "/w",
				     "/w/a",
				     "/w/a/b",
				     "/w/a/b/c",
				     "/w/b",
				     "/wa",
				     "/wa/x",
				     "/opt",
				     "/opt/x",
				     "/opt/x/y",
				     "/opt/z",
				     "/home",
				     "/home/u",
				     "/w/c",
				     "/a",
				     "/a/w/z",
				     "/etc/passwd",
				     "/w/.envrc",
				     "/a/.envrc",
				     "/w/a/.envrc",
				     "/w/.git/config",
				     "/a/.git/hooks/x",
				     "/opt/.envrc"};
static const char *const protects[] = {"@git", ".envrc", "a/b"};
static const char *const sockets[] = {"/run/a.sock", "/run/b.sock", "/run/c.sock"};
static const char *const requires[] = {"processBoundary", "writeBoundary",   "readBoundary",
				       "envScrub",	  "networkBoundary", "addressNetwork",
				       "resourceLimits",  "targetNetwork",   "unixSockets"};
static const char *const hosts[] = {
	"x",	      "a.x",	  "*.x",	"*.a.x",	   "b.a.x",	     "1.1.1.1",
	"1.1.1.0/24", "10.0.0.1", "10.0.0.0/8", "169.254.169.254", "169.254.0.0/16", "[2606::1]",
	"[fd00::/8]", "0.0.0.0/0"};
static const char *const ports[] = {"443", "80", "*"};
static const char *const targets[] = {"tcp:x:443",
				      "tcp:a.x:443",
				      "tcp:a.x:80",
				      "tcp:b.a.x:443",
				      "tcp:c.a.x:80",
				      "tcp:c.x:443",
				      "tcp:y:443",
				      "tcp:1.1.1.1:443",
				      "tcp:1.1.1.2:80",
				      "tcp:10.0.0.1:443",
				      "tcp:10.0.0.2:80",
				      "tcp:169.254.169.254:80",
				      "tcp:169.254.1.1:443",
				      "tcp:[2606::1]:443",
				      "tcp:[fd00::5]:443",
				      "tcp:8.8.8.8:443",
				      "tcp:127.0.0.1:80",
				      "tcp:*.x:443",
				      "tcp:*.a.x:*",
				      "tcp:a.x:*",
				      "tcp:1.1.1.0/24:80",
				      "tcp:0.0.0.0/0:443",
				      "tcp:[64:ff9b::10.0.0.1]:443",
				      "tcp:[64:ff9b::1.1.1.1]:443"};

#define PICK(list) list[draw(ARRAY_SIZE(list))]

/* read and write that do not contradict each other */
static void put_values(struct buf *out)
{
	unsigned read = draw(3), write = read ? draw(3) : 0;

	buf_printf(out, "\"read\":\"%s\",\"write\":\"%s\"", accesses[read], accesses[write]);
}

static void put_list(struct buf *out, const char *key, const char *const *from, unsigned n)
{
	const char *comma = "";

	buf_printf(out, ",\"%s\":[", key);
	for (unsigned i = 0; i < n; i++)
		if (draw(3) == 0) {
			buf_printf(out, "%s\"%s\"", comma, from[i]);
			comma = ",";
		}
	buf_puts(out, "]");
}

static void put_rule(struct buf *out)
{
	static const char *const tls[] = {"", ",\"tls\":\"any\"", ",\"tls\":\"require\"",
					  ",\"tls\":\"http\""};
	unsigned access = draw(3);

	buf_printf(out, "{\"target\":\"tcp:%s:%s\",\"access\":\"%s\"", PICK(hosts), PICK(ports),
		   accesses[access]);
	if (access) {
		static const char *const classes[] = {"private", "link-local", "metadata"};

		put_list(out, "addressClasses", classes, 3);
		buf_printf(out, "%s,\"ech\":\"%s\",\"inspect\":%s", tls[draw(4)],
			   draw(2) ? "allow" : "refuse", draw(2) ? "true" : "false");
	}
	buf_puts(out, "}");
}

static void put_network(struct buf *out)
{
	unsigned access = draw(3), rules = access == 2 ? 0 : draw(6);

	buf_printf(out, ",\"network\":{\"access\":\"%s\",\"route\":\"%s\",\"rules\":[",
		   accesses[access], draw(8) ? "direct" : "corp");
	for (unsigned i = 0; i < rules; i++) {
		buf_puts(out, i ? "," : "");
		put_rule(out);
	}
	buf_printf(out, "],\"learn\":%s,\"proxyEnv\":%s", draw(2) ? "true" : "false",
		   draw(2) ? "true" : "false");
	if (draw(2))
		buf_printf(out, ",\"forwards\":[{\"listen\":%u,\"to\":\"tcp:a:%u\"}]", 1 + draw(2),
			   1 + draw(2));
	buf_puts(out, "}");
}

static void put_limits(struct buf *out)
{
	static const char *const names[] = {"outputBytes", "pids", "memory", "cpus", "scratch"};
	const char *comma = "";

	buf_puts(out, ",\"limits\":{");
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (draw(2)) {
			/* scratch around its default */
			buf_printf(out, "%s\"%s\":%u", comma, names[i],
				   i == 4 ? (1u << 30) - 1 + draw(3) : 1 + draw(4));
			comma = ",";
		}
	if (draw(2)) {
		buf_printf(out, "%s\"terminateGrace\":\"%us\"", comma, 9 + draw(3));
		comma = ",";
	}
	if (draw(2))
		buf_printf(out, "%s\"deadline\":\"%um\"", comma, 1 + draw(3));
	buf_puts(out, "}");
}

static void put_document(struct buf *out, bool with_root)
{
	static const char *const levels[] = {"none", "degraded", "full"};
	static const char *const detach[] = {"", ",\"onDetach\":\"kill\"",
					     ",\"onDetach\":\"remount\""};
	const char *comma = "";

	buf_puts(out, "{\"version\":1,\"workspace\":{");
	if (with_root)
		buf_printf(out, "\"root\":\"%s\",", PICK(paths));
	put_values(out);
	buf_puts(out, "},\"host\":{");
	put_values(out);
	buf_puts(out, "},\"roots\":[");
	for (unsigned i = 0; i < ARRAY_SIZE(paths); i++)
		if (draw(4) == 0) {
			buf_printf(out, "%s{\"path\":\"%s\",", comma, paths[i]);
			put_values(out);
			buf_puts(out, "}");
			comma = ",";
		}
	buf_puts(out, "]");
	if (draw(2))
		put_list(out, "protect", protects, ARRAY_SIZE(protects));
	put_network(out);
	buf_printf(out, ",\"command\":\"%s\",\"home\":\"%s\"", PICK(accesses),
		   draw(2) ? "real" : "isolated");
	put_list(out, "unixSockets", sockets, ARRAY_SIZE(sockets));
	put_limits(out);
	buf_puts(out, detach[draw(3)]);
	put_list(out, "require", requires, ARRAY_SIZE(requires));
	if (draw(4))
		buf_printf(out, ",\"minLevel\":\"%s\"", PICK(levels));
	buf_putc(out, '}');
}

static const char *const unconfined = "{'version':1,'workspace':{'root':'/"
				      "w','read':'allow','write':'allow'},'host':{'read':'allow',"
				      "'write':'allow'},'network':{'access':'allow'},'isolation':'"
				      "unconfined','ackUnconfined':true,"
				      "'command':'allow','home':'real'}";

/* Draws until a document is consistent (a root may hit the workspace, a target another one). */
static struct profile *random_profile(struct arena *arena, bool ceiling, struct buf *text)
{
	struct profile *profile = NULL;

	if (draw(20) == 0) {
		buf_reset(text);
		buf_puts(text, quoted(unconfined));
		return parse(arena, unconfined);
	}
	for (;;) {
		bool with_root = !ceiling || draw(2);

		buf_reset(text);
		put_document(text, with_root);
		if (profile_parse(arena, text->data, text->len,
				  with_root ? PROFILE_ROLE_PROFILE : PROFILE_ROLE_CEILING, NULL,
				  &profile, NULL) == 0)
			return profile;
	}
}

/* ---- the property ---- */

struct pair {
	const char *result, *side; /* texts for the message */
};

#define CHECK(pair, condition, ...)                                                                \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			print_error(__VA_ARGS__);                                                  \
			fail_msg(": %s\nresult %s\nside   %s", #condition, (pair)->result,         \
				 (pair)->side);                                                    \
		}                                                                                  \
	} while (0)

/* A side without a workspace root bounds the result's workspace in place. */
static struct profile placed(const struct profile *side, const char *workspace)
{
	struct profile copy = *side;
	struct profile_root root;

	if (copy.workspace.path)
		return copy;
	if (workspace && profile_rule_for_tree(side, workspace, &root) == 0) {
		copy.workspace.read =
			root.read < copy.workspace.read ? root.read : copy.workspace.read;
		copy.workspace.write =
			root.write < copy.workspace.write ? root.write : copy.workspace.write;
	}
	copy.workspace.path = workspace;
	return copy;
}

static void check_questions(const struct pair *pair, const struct profile *result,
			    const struct profile *side)
{
	struct profile there = placed(side, result->workspace.path);

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		CHECK(pair,
		      ask(result, "filesystem.read", probes[i]) <=
			      ask(&there, "filesystem.read", probes[i]),
		      "read %s", probes[i]);
		CHECK(pair,
		      ask(result, "filesystem.write", probes[i]) <=
			      ask(&there, "filesystem.write", probes[i]),
		      "write %s", probes[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		CHECK(pair, ask(result, "network", targets[i]) <= ask(side, "network", targets[i]),
		      "network %s", targets[i]);
	CHECK(pair, ask(result, "filesystem.read", "host") <= ask(side, "filesystem.read", "host"),
	      "host");
	CHECK(pair,
	      ask(result, "filesystem.write", "host") <= ask(side, "filesystem.write", "host"),
	      "host");
	CHECK(pair, ask(result, "network", "broad") <= ask(side, "network", "broad"), "broad");
	CHECK(pair, ask(result, "command.execute", "x") <= ask(side, "command.execute", "x"), "x");
}

static bool subset(const struct strings *inner, const struct strings *outer)
{
	for (size_t i = 0; i < inner->n; i++) {
		size_t k = 0;

		while (k < outer->n && strcmp(outer->v[k], inner->v[i]) != 0)
			k++;
		if (k == outer->n)
			return false;
	}
	return true;
}

static bool limit_holds(const struct oci_opt_u64 *result, const struct oci_opt_u64 *side,
			uint64_t absent)
{
	uint64_t r = result->set ? result->v : absent, s = side->set ? side->v : absent;

	return r <= s;
}

static void check_limits(const struct pair *pair, const struct profile_limits *r,
			 const struct profile_limits *s, bool is_base)
{
	/* A ceiling that says nothing does not bound; a base that says nothing has the default. */
	uint64_t grace = is_base ? PROFILE_TERMINATE_GRACE_DEFAULT_MS : UINT64_MAX;
	uint64_t scratch = is_base ? PROFILE_SCRATCH_DEFAULT_BYTES : UINT64_MAX;

	CHECK(pair, limit_holds(&r->deadline_ms, &s->deadline_ms, UINT64_MAX), "deadline");
	CHECK(pair, limit_holds(&r->output_bytes, &s->output_bytes, UINT64_MAX), "output");
	CHECK(pair, limit_holds(&r->pids, &s->pids, UINT64_MAX), "pids");
	CHECK(pair, limit_holds(&r->memory_bytes, &s->memory_bytes, UINT64_MAX), "memory");
	CHECK(pair, limit_holds(&r->cpus_milli, &s->cpus_milli, UINT64_MAX), "cpus");
	CHECK(pair,
	      !r->terminate_grace_ms.set ||
		      limit_holds(&r->terminate_grace_ms, &s->terminate_grace_ms, grace),
	      "grace");
	CHECK(pair,
	      !r->scratch_bytes.set || limit_holds(&r->scratch_bytes, &s->scratch_bytes, scratch),
	      "scratch");
	CHECK(pair,
	      r->scratch_bytes.set || !s->scratch_bytes.set ||
		      s->scratch_bytes.v >= PROFILE_SCRATCH_DEFAULT_BYTES,
	      "scratch default");
	CHECK(pair,
	      r->terminate_grace_ms.set || !s->terminate_grace_ms.set ||
		      s->terminate_grace_ms.v >= PROFILE_TERMINATE_GRACE_DEFAULT_MS,
	      "grace default");
}

/* What a profile demands of a connection: of the rules that decide the target, the least of each
 * member; all open where no rule decides. */
struct terms {
	bool tls, http, require; /* some rule demands something, HTTP, a hello */
	bool ech_allow, inspect;
};

static struct terms terms_of(const struct profile *p, const struct target *target)
{
	struct terms terms = {.ech_allow = true, .inspect = true};
	unsigned narrow = 0;
	bool found = false;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < p->rules_n; i++) {
			const struct profile_rule *rule = &p->rules[i];
			unsigned own = target_specificity(&rule->target);

			if (rule->access == ACCESS_DENY || !target_covers(&rule->target, target) ||
			    (target_address_classes(target) & ~rule->address_classes))
				continue;
			if (pass == 0) {
				narrow = own > narrow ? own : narrow;
				continue;
			}
			if (own != narrow)
				continue;
			found = true;
			terms.tls |= rule->tls != TLS_ANY;
			terms.http |= rule->tls == TLS_HTTP;
			terms.require |= rule->tls == TLS_REQUIRE;
			terms.ech_allow = terms.ech_allow && rule->ech_allow;
			terms.inspect = terms.inspect && rule->inspect;
		}
	if (!found && p->network != ACCESS_ALLOW)
		terms = (struct terms){.tls = true, .ech_allow = true};
	return terms;
}

static void check_terms(const struct pair *pair, const struct profile *result,
			const struct profile *side, const char *text)
{
	struct terms r, s;
	struct target target;

	assert_int_equal(target_parse(text, &target, NULL), 0);
	if (!target_is_single_host(&target) || target.port == 0 ||
	    profile_network_access(result, &target, NULL) == ACCESS_DENY)
		return;
	r = terms_of(result, &target);
	s = terms_of(side, &target);
	CHECK(pair, r.ech_allow <= s.ech_allow, "ech %s", text);
	CHECK(pair, r.inspect <= s.inspect, "inspect %s", text);
	CHECK(pair, r.tls >= s.tls, "tls %s", text);
	CHECK(pair, r.require >= s.require, "tls require %s", text);
	CHECK(pair, r.http >= s.http, "tls http %s", text);
}

static void check_rules(const struct pair *pair, const struct profile *result,
			const struct profile *side)
{
	bool opens = result->network != ACCESS_DENY;

	for (size_t i = 0; i < result->rules_n; i++) {
		const struct profile_rule *rule = &result->rules[i];
		uint32_t needed = target_address_classes_common(&rule->target);

		opens = opens || rule->access != ACCESS_DENY;
		CHECK(pair, rule->access == ACCESS_DENY || (needed & ~rule->address_classes) == 0,
		      "rule %zu", i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		check_terms(pair, result, side, targets[i]);
	for (size_t i = 0; i < side->rules_n; i++)
		CHECK(pair,
		      side->rules[i].access != ACCESS_DENY ||
			      profile_network_access(result, &side->rules[i].target, NULL) ==
				      ACCESS_DENY,
		      "deny rule %zu", i);
	CHECK(pair, !opens || strcmp(result->route, side->route) == 0, "route");
}

static int detach_rank(enum on_detach value)
{
	return value == DETACH_KILL ? 0 : value == DETACH_DEFAULT ? 1 : 2;
}

static void check_members(const struct pair *pair, const struct profile *r, const struct profile *s)
{
	bool forwards = true;

	CHECK(pair, r->home <= s->home, "home");
	CHECK(pair, r->isolation <= s->isolation, "isolation");
	CHECK(pair, r->ack_unconfined <= s->ack_unconfined, "ack");
	CHECK(pair, r->learn <= s->learn, "learn");
	CHECK(pair, r->proxy_env <= s->proxy_env, "proxyEnv");
	CHECK(pair, subset(&s->protect, &r->protect), "protect");
	CHECK(pair,
	      s->isolation == ISOLATION_UNCONFINED || subset(&r->unix_sockets, &s->unix_sockets),
	      "unixSockets");
	CHECK(pair, detach_rank(r->on_detach) <= detach_rank(s->on_detach), "onDetach");
	CHECK(pair, (s->require & ~r->require) == 0, "require");
	CHECK(pair, r->require_unix_sockets >= s->require_unix_sockets, "require");
	CHECK(pair, r->min_level >= s->min_level, "minLevel");
	CHECK(pair, r->min_level_none <= s->min_level_none, "minLevel");
	for (size_t i = 0; i < r->forwards_n; i++) {
		size_t k = 0;

		while (k < s->forwards_n && (s->forwards[k].listen != r->forwards[i].listen ||
					     !target_equal(&s->forwards[k].to, &r->forwards[i].to)))
			k++;
		forwards = forwards && k < s->forwards_n;
	}
	CHECK(pair, forwards, "forwards");
}

/* What restrict makes is a valid document again, and means the same. */
static void check_valid(const struct profile *result, const char *sides)
{
	cleanup_arena struct arena arena;
	cleanup_buf struct buf text = BUF_INIT;
	struct sbx_error err = {0};
	struct profile *again = NULL;
	char a[PROFILE_FINGERPRINT_LEN + 1], b[PROFILE_FINGERPRINT_LEN + 1];

	arena_init(&arena, FIXTURE_ARENA_BYTES);
	print(result, &text);
	if (profile_parse(&arena, text.data, text.len, PROFILE_ROLE_CEILING, NULL, &again, &err) <
	    0)
		fail_msg("%s at %s\nresult %s\nsides %s", err.message, err.pointer, text.data,
			 sides);
	profile_fingerprint(result, a);
	profile_fingerprint(again, b);
	assert_string_equal(a, b);
}

static struct profile *restricted(struct arena *arena, const struct profile *base,
				  const struct profile *ceiling)
{
	struct sbx_error err = {0};
	struct profile *result = NULL;

	if (profile_restrict(arena, base, ceiling, &result, &err) < 0)
		fail_msg("%s", err.message);
	return result;
}

/* Paths lose nothing that both sides have, but for a protect list that cannot move. */
static void check_paths_exact(const struct pair *pair, const struct profile *result,
			      const struct profile *base, const struct profile *ceiling)
{
	struct profile a = placed(base, result->workspace.path);
	struct profile b = placed(ceiling, result->workspace.path);

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		struct profile_root r = profile_rule_for(result, probes[i]);
		struct profile_root x = profile_rule_for(&a, probes[i]);
		struct profile_root y = profile_rule_for(&b, probes[i]);

		CHECK(pair, r.read == (x.read < y.read ? x.read : y.read), "read %s", probes[i]);
		if (!ceiling->protect.n)
			CHECK(pair, r.write == (x.write < y.write ? x.write : y.write), "write %s",
			      probes[i]);
	}
}

static void test_never_wider(void **state)
{
	const char *seed = getenv("SBX_TEST_SEED");

	(void)state;
	random_state = seed ? strtoull(seed, NULL, 10) | 1 : UINT64_C(0x9e3779b97f4a7c15);
	for (unsigned round = 0; round < ROUNDS; round++) {
		cleanup_arena struct arena arena;
		cleanup_buf struct buf x = BUF_INIT, y = BUF_INIT, out = BUF_INIT;
		struct profile *base, *ceiling, *result;
		struct pair to_base = {.side = NULL}, to_ceiling = {.side = NULL};

		arena_init(&arena, FIXTURE_ARENA_BYTES);
		base = random_profile(&arena, draw(4) == 0, &x);
		ceiling = random_profile(&arena, true, &y);
		result = restricted(&arena, base, ceiling);
		print(result, &out);
		to_base = (struct pair){out.data, x.data};
		to_ceiling = (struct pair){out.data, y.data};

		check_questions(&to_base, result, base);
		check_questions(&to_ceiling, result, ceiling);
		check_members(&to_base, result, base);
		check_members(&to_ceiling, result, ceiling);
		check_limits(&to_base, &result->limits, &base->limits, true);
		check_limits(&to_ceiling, &result->limits, &ceiling->limits, false);
		check_rules(&to_base, result, base);
		check_rules(&to_ceiling, result, ceiling);
		check_paths_exact(&to_ceiling, result, base, ceiling);
		check_valid(result, x.data);
	}
}

static bool lists_classes(const struct profile *profile)
{
	for (size_t i = 0; i < profile->rules_n; i++)
		if (profile->rules[i].address_classes)
			return true;
	return false;
}

/* A profile under itself answers every question as before (rules with address classes of several
 * kinds may come out narrower). */
static void test_itself(void **state)
{
	(void)state;
	random_state = UINT64_C(0x2545f4914f6cdd1d);
	for (unsigned round = 0; round < ROUNDS / 4; round++) {
		cleanup_arena struct arena arena;
		cleanup_buf struct buf text = BUF_INIT, out = BUF_INIT;
		struct profile *profile, *result;
		struct pair pair;

		arena_init(&arena, FIXTURE_ARENA_BYTES);
		do {
			profile = random_profile(&arena, false, &text);
		} while (lists_classes(profile));
		result = restricted(&arena, profile, profile);
		print(result, &out);
		pair = (struct pair){out.data, text.data};
		check_questions(&pair, profile, result); /* not narrower either */
		if (profile->rules_n == 0) {
			char a[PROFILE_FINGERPRINT_LEN + 1], b[PROFILE_FINGERPRINT_LEN + 1];

			profile_fingerprint(profile, a);
			profile_fingerprint(result, b);
			CHECK(&pair, strcmp(a, b) == 0, "fingerprint");
		}
	}
}

/* ---- examples ---- */

#define OPEN "'read':'allow','write':'allow'"

static void restrict_texts(struct arena *arena, const char *base, const char *ceiling,
			   struct profile **ret)
{
	*ret = restricted(arena, parse_as(arena, base, PROFILE_ROLE_CEILING),
			  parse_as(arena, ceiling, PROFILE_ROLE_CEILING));
}

static void test_workspace_in_place(void **state)
{
	cleanup_arena struct arena arena;
	struct profile *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	restrict_texts(&arena, "{'version':1,'workspace':{'root':'/home/u/w'," OPEN "}}",
		       "{'version':1,'workspace':{'read':'allow','write':'gated'},"
		       "'roots':[{'path':'/home/u/w/secret'},{'path':'/home/u','read':'allow'}]}",
		       &p);
	assert_string_equal(p->workspace.path, "/home/u/w");
	assert_int_equal(ask(p, "filesystem.write", "/home/u/w/x"), ACCESS_GATED);
	assert_int_equal(ask(p, "filesystem.read", "/home/u/w/secret/x"), ACCESS_DENY);
	assert_int_equal(ask(p, "filesystem.read", "/home/u/other"), ACCESS_DENY);
	/* a root of the ceiling at the very place bounds it too */
	restrict_texts(
		&arena, "{'version':1,'workspace':{'root':'/w'," OPEN "}}",
		"{'version':1,'workspace':{" OPEN "},'roots':[{'path':'/w','read':'allow'}]}", &p);
	assert_int_equal(ask(p, "filesystem.read", "/w/x"), ACCESS_ALLOW);
	assert_int_equal(ask(p, "filesystem.write", "/w/x"), ACCESS_DENY);
	assert_int_equal(p->roots_n, 0);
}

static void test_root_that_is_the_other_workspace(void **state)
{
	cleanup_arena struct arena arena;
	struct profile *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	restrict_texts(&arena,
		       "{'version':1,'workspace':{'root':'/w'," OPEN "},'roots':[{'path':'/v'," OPEN
		       "}]}",
		       "{'version':1,'workspace':{'root':'/v'," OPEN "},'protect':['keys'],"
		       "'roots':[{'path':'/w'," OPEN "}]}",
		       &p);
	assert_string_equal(p->workspace.path, "/w");
	assert_int_equal(ask(p, "filesystem.write", "/w/x"), ACCESS_ALLOW);
	assert_int_equal(ask(p, "filesystem.write", "/w/keys"), ACCESS_DENY);
	/* the ceiling's protect list stays behind: its workspace becomes read-only */
	assert_int_equal(ask(p, "filesystem.write", "/v/x"), ACCESS_DENY);
	assert_int_equal(ask(p, "filesystem.read", "/v/x"), ACCESS_ALLOW);
}

/* A read-only root nested in the base's writable one wins. */
static void test_nested_read_only_wins(void **state)
{
	cleanup_arena struct arena arena;
	struct profile *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	restrict_texts(&arena, "{'version':1,'workspace':{'root':'/w'," OPEN "}}",
		       "{'version':1,'workspace':{" OPEN
		       "},'roots':[{'path':'/w/ro','read':'allow'}]}",
		       &p);
	assert_int_equal(ask(p, "filesystem.write", "/w/rw"), ACCESS_ALLOW);
	assert_int_equal(ask(p, "filesystem.write", "/w/ro/x"), ACCESS_DENY);
	assert_int_equal(ask(p, "filesystem.read", "/w/ro/x"), ACCESS_ALLOW);
}

#define NET(members) "{'version':1,'workspace':{'root':'/w'},'network':{" members "}}"

static void test_network_rules(void **state)
{
	static const struct {
		const char *base, *ceiling, *target;
		enum access access;
	} rows[] = {
		/* an allow rule with its like */
		{NET("'rules':[{'target':'tcp:*.x:443','access':'allow'}]"),
		 NET("'rules':[{'target':'tcp:a.x:*','access':'allow'}]"), "tcp:a.x:443",
		 ACCESS_ALLOW},
		{NET("'rules':[{'target':'tcp:*.x:443','access':'allow'}]"),
		 NET("'rules':[{'target':'tcp:a.x:*','access':'allow'}]"), "tcp:b.x:443",
		 ACCESS_DENY},
		/* a name with a CIDR: deny */
		{NET("'rules':[{'target':'tcp:a.x:443','access':'allow'}]"),
		 NET("'rules':[{'target':'tcp:0.0.0.0/0:443','access':'allow'}]"), "tcp:a.x:443",
		 ACCESS_DENY},
		/* a deny rule of either */
		{NET("'rules':[{'target':'tcp:*.x:443','access':'allow'}]"),
		 NET("'access':'gated','rules':[{'target':'tcp:a.x:443'}]"), "tcp:a.x:443",
		 ACCESS_DENY},
		{NET("'rules':[{'target':'tcp:*.x:443','access':'allow'}]"),
		 NET("'access':'gated','rules':[{'target':'tcp:a.x:443'}]"), "tcp:b.x:443",
		 ACCESS_GATED},
		/* an open ceiling leaves the rules, an open base takes the ceiling's */
		{NET("'rules':[{'target':'tcp:10.0.0.1:1','access':'allow','addressClasses':["
		     "'private']}]"),
		 NET("'access':'allow'"), "tcp:10.0.0.1:1", ACCESS_ALLOW},
		{NET("'access':'allow'"), NET("'rules':[{'target':'tcp:a:1','access':'gated'}]"),
		 "tcp:a:1", ACCESS_GATED},
		{NET("'access':'allow'"), NET("'rules':[{'target':'tcp:a:1','access':'gated'}]"),
		 "tcp:b:1", ACCESS_DENY},
		{NET("'access':'allow'"), NET("'access':'allow'"), "tcp:b:1", ACCESS_ALLOW},
		/* a class that only one has */
		{NET("'rules':[{'target':'tcp:169.254.0.0/16:80','access':'allow',"
		     "'addressClasses':['link-local']}]"),
		 NET("'rules':[{'target':'tcp:169.254.169.254:80','access':'allow',"
		     "'addressClasses':['link-local','metadata']}]"),
		 "tcp:169.254.169.254:80", ACCESS_DENY},
		/* tls that have nothing in common */
		{NET("'rules':[{'target':'tcp:a:80','access':'allow','tls':'http'}]"),
		 NET("'rules':[{'target':'tcp:a:80','access':'allow','tls':'require'}]"),
		 "tcp:a:80", ACCESS_DENY},
		/* left out, tls is "require" on 443 and anything elsewhere */
		{NET("'rules':[{'target':'tcp:a:443','access':'allow'}]"),
		 NET("'rules':[{'target':'tcp:a:443','access':'allow','tls':'http'}]"), "tcp:a:443",
		 ACCESS_DENY},
		{NET("'rules':[{'target':'tcp:a:8080','access':'allow'}]"),
		 NET("'rules':[{'target':'tcp:a:8080','access':'allow','tls':'http'}]"),
		 "tcp:a:8080", ACCESS_ALLOW},
		/* a narrower rule decides only where it opens the class */
		{NET("'rules':[{'target':'tcp:0.0.0.0/0:80','access':'gated','addressClasses':["
		     "'link-local','metadata']},{'target':'tcp:169.254.0.0/16:80','access':'allow',"
		     "'addressClasses':['link-local']}]"),
		 NET("'rules':[{'target':'tcp:169.254.169.254:80','access':'allow',"
		     "'addressClasses':['link-local','metadata']}]"),
		 "tcp:169.254.169.254:80", ACCESS_GATED},
		/* another route */
		{NET("'route':'corp','rules':[{'target':'tcp:a:1','access':'allow'}]"),
		 NET("'rules':[{'target':'tcp:a:1','access':'allow'}]"), "tcp:a:1", ACCESS_DENY},
		{NET("'rules':[{'target':'tcp:a:1','access':'allow'}]"),
		 NET("'route':'corp','rules':[{'target':'tcp:a:1','access':'allow'}]"), "tcp:a:1",
		 ACCESS_DENY},
		{NET("'route':'corp','rules':[{'target':'tcp:a:1','access':'allow'}]"),
		 NET("'route':'corp','rules':[{'target':'tcp:a:1','access':'allow'}]"), "tcp:a:1",
		 ACCESS_ALLOW},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_arena struct arena arena;
		struct profile *p;

		arena_init(&arena, FIXTURE_ARENA_BYTES);
		restrict_texts(&arena, rows[i].base, rows[i].ceiling, &p);
		if (ask(p, "network", rows[i].target) != rows[i].access)
			fail_msg("row %zu: %s is %s", i, rows[i].target,
				 access_name(ask(p, "network", rows[i].target)));
	}
}

static void test_limits_and_the_rest(void **state)
{
	cleanup_arena struct arena arena;
	struct profile *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	restrict_texts(&arena,
		       "{'version':1,'workspace':{'root':'/w'},'limits':{'pids':10,'memory':5},"
		       "'unixSockets':['/a','/b'],'require':['envScrub'],'minLevel':'degraded',"
		       "'protect':['x'],'home':'real','command':'allow','onDetach':'remount'}",
		       "{'version':1,'limits':{'pids':20,'memory':4,'scratch':'2GiB','cpus':1},"
		       "'unixSockets':['/b','/c'],'require':['unixSockets'],'minLevel':'full',"
		       "'protect':['@git'],'command':'gated'}",
		       &p);
	assert_int_equal(p->limits.pids.v, 10);
	assert_int_equal(p->limits.memory_bytes.v, 4);
	assert_int_equal(p->limits.cpus_milli.v, 1000);
	assert_false(p->limits.scratch_bytes.set); /* the default is smaller */
	assert_int_equal(p->unix_sockets.n, 1);
	assert_string_equal(p->unix_sockets.v[0], "/b");
	assert_int_equal(p->require, GUARANTEE_BIT(GUARANTEE_ENV_SCRUB));
	assert_true(p->require_unix_sockets);
	assert_int_equal(p->min_level, LEVEL_FULL);
	assert_int_equal(p->protect.n, 2);
	assert_int_equal(p->home, HOME_ISOLATED);
	assert_int_equal(p->command, ACCESS_GATED);
	assert_int_equal(p->on_detach, DETACH_DEFAULT);
}

static void test_unconfined(void **state)
{
	cleanup_arena struct arena arena;
	struct profile *p;

	(void)state;
	arena_init(&arena, FIXTURE_ARENA_BYTES);
	restrict_texts(&arena, unconfined, unconfined, &p);
	assert_int_equal(p->isolation, ISOLATION_UNCONFINED);
	assert_true(p->ack_unconfined);
	restrict_texts(&arena, unconfined,
		       "{'version':1,'workspace':{'read':'allow','write':'allow'},"
		       "'unixSockets':['/a']}",
		       &p);
	assert_int_equal(p->isolation, ISOLATION_SANDBOXED);
	assert_false(p->ack_unconfined);
	assert_int_equal(p->unix_sockets.n, 1);
	assert_int_equal(ask(p, "filesystem.read", "/etc"), ACCESS_DENY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_wider),
		cmocka_unit_test(test_itself),
		cmocka_unit_test(test_workspace_in_place),
		cmocka_unit_test(test_root_that_is_the_other_workspace),
		cmocka_unit_test(test_nested_read_only_wins),
		cmocka_unit_test(test_network_rules),
		cmocka_unit_test(test_limits_and_the_rest),
		cmocka_unit_test(test_unconfined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
