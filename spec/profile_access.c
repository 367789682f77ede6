/*
 * Access version 1 and its explanation: one decision, told as a value or as a sentence.
 *
 * A kind is a row of a table; a scope is parsed strictly, and what is not understood is an error,
 * never a value.
 */
#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"
#include "spec/profile.h"
#include "spec/profile_internal.h"

struct question {
	const struct profile *profile;
	const char *kind, *scope;
	struct buf *why; /* NULL: only the value is wanted */
	struct sbx_error *err;
};

static int malformed(const struct question *q, const char *what)
{
	return sbx_fail(q->err, SBX_E_USAGE, 0, "read the scope \"%s\" of %s: %s", q->scope,
			q->kind, what);
}

/* "KIND SCOPE is VALUE: " begins every explanation. */
static void begin(const struct question *q, enum access access)
{
	if (q->why)
		buf_printf(q->why, "%s %s is %s: ", q->kind, q->scope, access_name(access));
}

static int answer_command(const struct question *q, enum access *ret)
{
	if (!*q->scope)
		return malformed(q, "a command is not empty");
	*ret = q->profile->command;
	begin(q, *ret);
	if (q->why)
		buf_printf(q->why, "/command is \"%s\" and holds for every command",
			   access_name(*ret));
	return 0;
}

/* The member that holds a path's values. */
static void tell_member(const struct question *q, const char *path, const char *member)
{
	const struct profile *p = q->profile;

	if (!path) {
		buf_printf(q->why, "/host/%s, because no root holds the path", member);
	} else if (p->workspace.path && strcmp(p->workspace.path, path) == 0) {
		buf_printf(q->why, "/workspace/%s, the rule of \"%s\"", member, path);
	} else {
		for (size_t i = 0; i < p->roots_n; i++)
			if (strcmp(p->roots[i].path, path) == 0)
				buf_printf(q->why, "/roots/%zu/%s, the rule of \"%s\"", i, member,
					   path);
	}
}

static int answer_path(const struct question *q, bool write, enum access *ret)
{
	const char *member = write ? "write" : "read", *path = q->scope, *entry = NULL;
	struct profile_root rule = {NULL, q->profile->host_read, q->profile->host_write};

	if (strcmp(q->scope, "host") == 0) {
		path = NULL;
	} else if (strncmp(q->scope, "tree:", 5) == 0) {
		path += 5;
		if (!path_is_canonical(path))
			return malformed(q, "the path must be absolute and canonical");
		if (profile_rule_for_tree(q->profile, path, &rule) < 0)
			return malformed(q, "the tree is no root of the profile");
	} else if (!path_is_canonical(path)) {
		return malformed(q, "it must be an absolute canonical path, tree:PATH or host");
	} else {
		rule = profile_rule_for(q->profile, path);
		entry = write ? profile_protects(q->profile, path) : NULL;
	}
	*ret = entry ? ACCESS_DENY : write ? rule.write : rule.read;
	begin(q, *ret);
	if (!q->why)
		return 0;
	if (entry)
		buf_printf(q->why, "/protect names \"%s\"", entry);
	else if (!path)
		buf_printf(q->why, "/host/%s", member);
	else
		tell_member(q, rule.path, member);
	return 0;
}

static int answer_read(const struct question *q, enum access *ret)
{
	return answer_path(q, false, ret);
}

static int answer_write(const struct question *q, enum access *ret)
{
	return answer_path(q, true, ret);
}

static int answer_network(const struct question *q, enum access *ret)
{
	const struct profile_rule *rule = NULL;
	struct sbx_error why = {0};
	struct target target;

	if (strcmp(q->scope, "broad") == 0) {
		*ret = q->profile->network;
		begin(q, *ret);
		if (q->why)
			buf_puts(q->why, "/network/access");
		return 0;
	}
	if (target_parse(q->scope, &target, &why) < 0) {
		if (why.code != SBX_E_INVALID_PROFILE && q->err) {
			*q->err = why;
			return -EINVAL;
		}
		return sbx_fail(q->err, SBX_E_USAGE, 0,
				"read the scope of network: %s (or \"broad\")", why.message);
	}
	*ret = profile_network_access(q->profile, &target, &rule);
	begin(q, *ret);
	if (!q->why)
		return 0;
	if (rule) {
		char text[TARGET_TEXT_MAX];

		target_format(&rule->target, text, sizeof(text));
		buf_printf(q->why, "/network/rules/%zu, the rule of \"%s\"",
			   (size_t)(rule - q->profile->rules), text);
	} else if (*ret != q->profile->network) {
		buf_puts(q->why, "the address is not public and no rule names its class");
	} else {
		buf_puts(q->why, "/network/access, because no rule names the target");
	}
	return 0;
}

static const struct {
	const char *kind;
	int (*answer)(const struct question *q, enum access *ret);
} kinds[] = {
	{"command.execute", answer_command},
	{"filesystem.read", answer_read},
	{"filesystem.write", answer_write},
	{"network", answer_network},
};

static int decide(struct question *q, enum access *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].kind, q->kind) == 0) {
			enum access access = ACCESS_DENY;
			int r = kinds[i].answer(q, &access);

			if (r == 0)
				*ret = access;
			return r;
		}
	return sbx_fail(q->err, SBX_E_USAGE, 0,
			"find the kind \"%s\": it is none of command.execute, filesystem.read, "
			"filesystem.write, network",
			q->kind);
}

int profile_access(const struct profile *profile, const char *kind, const char *scope,
		   enum access *ret, struct sbx_error *err)
{
	struct question q = {profile, kind, scope, NULL, err};

	return decide(&q, ret);
}

int profile_explain(const struct profile *profile, const char *kind, const char *scope,
		    struct buf *out, struct sbx_error *err)
{
	struct question q = {profile, kind, scope, out, err};
	enum access access;
	int r = decide(&q, &access);

	if (r == 0 && buf_failed(out))
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "explain the profile");
	return r;
}
