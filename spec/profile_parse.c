/*
 * The profile document: JSON tree to struct profile.
 *
 * Each object of the document is a table of rows {member, required, parser, where it goes} for
 * profile_decode_object(). Rules that need more than one member follow when everything is read.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/num.h"
#include "runtime/base/path.h"
#include "spec/profile_decode.h"

/* ---- scalars ---- */

PROFILE_WORD_DECODER(parse_home, enum home_kind, profile_home_words)
PROFILE_WORD_DECODER(parse_isolation, enum isolation, profile_isolation_words)
PROFILE_WORD_DECODER(parse_on_detach, enum on_detach, profile_on_detach_words)
PROFILE_WORD_DECODER(decode_level, enum level, profile_level_words)

static int parse_version(const struct profile_decoder *p, const struct json_node *node,
			 __attribute__((unused)) void *ret)
{
	int64_t version;

	if (node->type != JSON_NUMBER || json_int64(node, &version) < 0 || version != 1)
		return profile_refuse(p, node, "the version must be the number 1");
	return 0;
}

static int parse_path(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	char *path = NULL;
	int r = profile_decode_text(p, node, &path);

	if (r < 0)
		return r;
	if (!path_is_canonical(path))
		return profile_refuse(
			p, node,
			"the path \"%s\" must be absolute and canonical (no \".\", \"..\", "
			"\"//\", no trailing slash)",
			path);
	if (strcmp(path, "/") == 0)
		return profile_refuse(p, node,
				      "the path must not be \"/\": use host for everything else");
	*(const char **)ret = path;
	return 0;
}

/* ---- lists ---- */

typedef int (*text_check)(const struct profile_decoder *p, const struct json_node *node,
			  char **ret);

static int parse_texts(const struct profile_decoder *p, const struct json_node *node,
		       text_check check, struct strings *ret)
{
	struct strings list = {0};
	void *array = NULL;
	int r = profile_new_array(p, node, PROFILE_STRINGS_MAX, sizeof(char *), &array);

	if (r < 0)
		return r;
	list.v = array;
	for (const struct json_node *child = node->child; child; child = child->next) {
		r = check(p, child, &list.v[list.n]);
		if (r < 0)
			return r;
		list.n++;
	}
	strings_sort_unique(&list);
	*ret = list;
	return 0;
}

static int check_protect(const struct profile_decoder *p, const struct json_node *node, char **ret)
{
	char joined[PATH_MAX + 2];
	int r = profile_decode_text(p, node, ret);

	if (r < 0)
		return r;
	if (strcmp(*ret, PROFILE_PROTECT_GIT) == 0)
		return 0;
	if ((*ret)[0] == '@')
		return profile_refuse(
			p, node, "the set \"%s\" is not known: \"@git\" is the only one", *ret);
	if (strlen(*ret) >= PATH_MAX - 1)
		return profile_refuse(p, node, "the path is too long");
	snprintf(joined, sizeof(joined), "/%s", *ret);
	if (!(*ret)[0] || (*ret)[0] == '/' || !path_is_canonical(joined))
		return profile_refuse(
			p, node,
			"the path \"%s\" must be relative to the workspace and canonical (no "
			"\".\", \"..\", \"//\", no trailing slash)",
			*ret);
	return 0;
}

static int check_socket(const struct profile_decoder *p, const struct json_node *node, char **ret)
{
	return parse_path(p, node, ret);
}

static int parse_protect(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	return parse_texts(p, node, check_protect, ret);
}

static int parse_sockets(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	return parse_texts(p, node, check_socket, ret);
}

static int parse_require(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	struct profile *profile = ret;
	int r = profile_expect(p, node, JSON_ARRAY, "an array");

	for (const struct json_node *child = node->child; r == 0 && child; child = child->next) {
		unsigned g = 0;

		r = profile_expect(p, child, JSON_STRING, "a string");
		if (r < 0)
			break;
		if (strcmp(child->text, "unixSockets") == 0) {
			profile->require_unix_sockets = true;
			continue;
		}
		while (g < GUARANTEE_COUNT && strcmp(guarantee_name(g), child->text) != 0)
			g++;
		if (g == GUARANTEE_COUNT)
			return profile_refuse(p, child, "the guarantee \"%s\" is not known",
					      child->text);
		profile->require |= GUARANTEE_BIT(g);
	}
	return r;
}

/* ---- workspace, host, roots ---- */

#define ROOT(member) offsetof(struct profile_root, member)

/* Write without read would let a program change what it may not see, for every later reader. */
static int check_values(const struct profile_decoder *p, const struct json_node *node,
			enum access read, enum access write)
{
	const struct json_node *member = json_get(node, "write");

	if (read == ACCESS_DENY && write != ACCESS_DENY)
		return profile_refuse(p, member ? member : node,
				      "write is \"%s\" where read is denied: a contradiction",
				      access_name(write));
	return 0;
}

static int parse_workspace(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	static const struct profile_member_row rows[] = {
		{"root", false, parse_path, ROOT(path)},
		{"read", false, profile_decode_access, ROOT(read)},
		{"write", false, profile_decode_access, ROOT(write)},
	};
	struct profile_root *root = ret;
	int r = profile_decode_object(p, node, rows, ARRAY_SIZE(rows), root);

	return r < 0 ? r : check_values(p, node, root->read, root->write);
}

static int parse_host(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	static const struct profile_member_row rows[] = {
		{"read", false, profile_decode_access, offsetof(struct profile, host_read)},
		{"write", false, profile_decode_access, offsetof(struct profile, host_write)},
	};
	struct profile *profile = ret;
	int r = profile_decode_object(p, node, rows, ARRAY_SIZE(rows), profile);

	return r < 0 ? r : check_values(p, node, profile->host_read, profile->host_write);
}

static int parse_roots(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	static const struct profile_member_row rows[] = {
		{"path", true, parse_path, ROOT(path)},
		{"read", false, profile_decode_access, ROOT(read)},
		{"write", false, profile_decode_access, ROOT(write)},
	};
	struct profile *profile = ret;
	struct profile_root *roots;
	void *array = NULL;
	size_t n = 0;
	int r = profile_new_array(p, node, PROFILE_ROOTS_MAX, sizeof(*roots), &array);

	if (r < 0)
		return r;
	roots = array;
	for (const struct json_node *child = node->child; child; child = child->next, n++) {
		r = profile_decode_object(p, child, rows, ARRAY_SIZE(rows), &roots[n]);
		if (r == 0)
			r = check_values(p, child, roots[n].read, roots[n].write);
		if (r < 0)
			return r;
	}
	qsort(roots, n, sizeof(*roots), profile_root_compare);
	for (size_t i = 1; i < n; i++)
		if (strcmp(roots[i - 1].path, roots[i].path) == 0)
			return profile_refuse(p, profile_last_element(node, "path", roots[i].path),
					      "the root \"%s\" is listed twice", roots[i].path);
	profile->roots = roots;
	profile->roots_n = n;
	return 0;
}

/* ---- limits ---- */

/* A decimal number with at most three digits behind the point, in thousandths. */
static int milli_from_text(const char *text, uint64_t *ret)
{
	char digits[32];
	const char *point = strchr(text, '.');
	size_t whole = point ? (size_t)(point - text) : strlen(text);
	size_t behind = point ? strlen(point + 1) : 0;

	if (whole == 0 || whole > 16 || behind > 3 || (point && behind == 0))
		return -EINVAL;
	memcpy(digits, text, whole);
	memcpy(digits + whole, point ? point + 1 : "", behind);
	memcpy(digits + whole + behind, "000", 3 - behind);
	digits[whole + 3] = '\0';
	return num_parse_u64(digits, 0, UINT64_MAX, ret);
}

static int limit_value(const struct json_node *node, enum limit_kind kind, uint64_t *ret)
{
	switch (kind) {
	case LIMIT_DURATION:
		return node->type == JSON_STRING ? num_parse_duration_ms(node->text, ret) : -EINVAL;
	case LIMIT_SIZE:
		if (node->type == JSON_STRING)
			return num_parse_size(node->text, ret);
		/* fallthrough */
	case LIMIT_COUNT:
		return node->type == JSON_NUMBER ? json_uint64(node, ret) : -EINVAL;
	case LIMIT_MILLI:
		return node->type == JSON_NUMBER ? milli_from_text(node->text, ret) : -EINVAL;
	}
	return -EINVAL;
}

static int parse_limits(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	static const char *const forms[] = {
		[LIMIT_DURATION] = "digits with ms, s, m or h behind",
		[LIMIT_SIZE] = "a number of bytes, or digits with KiB, MiB or GiB behind",
		[LIMIT_COUNT] = "a whole number",
		[LIMIT_MILLI] = "a number with at most three digits behind the point",
	};
	int r = profile_expect(p, node, JSON_OBJECT, "an object");

	for (const struct json_node *child = node->child; r == 0 && child; child = child->next) {
		const struct profile_limit_row *row = profile_limit_rows;
		const struct profile_limit_row *end = row + PROFILE_LIMITS_N;
		uint64_t value = 0;
		int v;

		while (row < end && strcmp(row->key, child->key) != 0)
			row++;
		if (row == end)
			return profile_refuse(p, child, "the member \"%s\" is not known",
					      child->key);
		v = limit_value(child, row->kind, &value);
		if (v == -ERANGE || (v == 0 && (value < row->min || value > row->max)))
			return profile_refuse(p, child, "the limit is out of range");
		if (v < 0)
			return profile_refuse(p, child, "the limit must be %s", forms[row->kind]);
		*(struct oci_opt_u64 *)(void *)((char *)ret + row->offset) =
			(struct oci_opt_u64){true, value};
	}
	return r;
}

static int parse_level(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	struct profile *profile = ret;
	int r = decode_level(p, node, &profile->min_level);

	profile->min_level_none = r == 0 && profile->min_level == LEVEL_NONE;
	return r;
}

/* ---- the whole ---- */

#define MEMBER(name) offsetof(struct profile, name)

static const struct profile_member_row profile_rows[] = {
	{"version", true, parse_version, 0},
	{"workspace", false, parse_workspace, MEMBER(workspace)},
	{"host", false, parse_host, 0},
	{"roots", false, parse_roots, 0},
	{"protect", false, parse_protect, MEMBER(protect)},
	{"network", false, profile_parse_network, 0},
	{"command", false, profile_decode_access, MEMBER(command)},
	{"home", false, parse_home, MEMBER(home)},
	{"isolation", false, parse_isolation, MEMBER(isolation)},
	{"ackUnconfined", false, profile_decode_flag, MEMBER(ack_unconfined)},
	{"unixSockets", false, parse_sockets, MEMBER(unix_sockets)},
	{"limits", false, parse_limits, MEMBER(limits)},
	{"onDetach", false, parse_on_detach, MEMBER(on_detach)},
	{"require", false, parse_require, 0},
	{"minLevel", false, parse_level, 0},
};

/* The workspace of the annotation where the document leaves it out. */
static int fill_workspace(const struct profile_decoder *p, const struct json_node *node,
			  struct profile *profile)
{
	if (profile->workspace.path)
		return 0;
	if (p->workspace) {
		if (!path_is_canonical(p->workspace) || strcmp(p->workspace, "/") == 0)
			return sbx_fail_at(p->err, SBX_E_INVALID_PROFILE, "/workspace/root",
					   "the workspace \"%s\" must be absolute and canonical, "
					   "and not \"/\"",
					   p->workspace);
		profile->workspace.path = arena_strdup(p->arena, p->workspace);
		return profile->workspace.path ? 0 : profile_no_memory(p);
	}
	if (p->workspace_root_needed) {
		char pointer[PROFILE_POINTER_MAX];

		const char member[] = "/workspace/root";
		size_t used;

		json_pointer(node, pointer, sizeof(pointer) - sizeof(member));
		used = strlen(pointer);
		memcpy(pointer + used, member, sizeof(member));
		return sbx_fail_at(p->err, SBX_E_INVALID_PROFILE, pointer,
				   "the member \"root\" is missing: the profile needs a workspace");
	}
	return 0;
}

static int check_workspace_root(const struct profile_decoder *p, const struct json_node *node,
				const struct profile *profile)
{
	const char *path = profile->workspace.path;

	for (size_t i = 0; path && i < profile->roots_n; i++)
		if (strcmp(profile->roots[i].path, path) == 0)
			return profile_refuse(
				p, profile_last_element(json_get(node, "roots"), "path", path),
				"the root \"%s\" is the workspace", path);
	return 0;
}

struct contradiction {
	bool found;
	const char *parent, *key; /* the member, "" where it is at the top */
	const char *why;
};

static int check_isolation(const struct profile_decoder *p, const struct json_node *node,
			   const struct profile *profile)
{
	const char *open = "isolation \"unconfined\" enforces nothing: it must be \"allow\"";
	const char *none = "isolation \"unconfined\" enforces nothing: it must be left out";
	const struct contradiction list[] = {
		{!profile->ack_unconfined, "", "isolation",
		 "\"unconfined\" needs ackUnconfined: true"},
		{profile->workspace.read != ACCESS_ALLOW, "workspace", "read", open},
		{profile->workspace.write != ACCESS_ALLOW, "workspace", "write", open},
		{profile->host_read != ACCESS_ALLOW, "host", "read", open},
		{profile->host_write != ACCESS_ALLOW, "host", "write", open},
		{profile->network != ACCESS_ALLOW, "network", "access", open},
		{strcmp(profile->route, PROFILE_ROUTE_DIRECT) != 0, "network", "route", none},
		{profile->rules_n != 0, "network", "rules", none},
		{profile->forwards_n != 0, "network", "forwards", none},
		{profile->protect.n != 0, "", "protect", none},
		{profile->unix_sockets.n != 0, "", "unixSockets", none},
		{profile->require || profile->require_unix_sockets, "", "require", none},
	};

	if (profile->isolation == ISOLATION_SANDBOXED)
		return profile->ack_unconfined
			       ? profile_refuse(
					 p, json_get(node, "ackUnconfined"),
					 "ackUnconfined is true but isolation is \"sandboxed\"")
			       : 0;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		const struct json_node *parent =
			*list[i].parent ? json_get(node, list[i].parent) : node;
		const struct json_node *member = json_get(parent, list[i].key);

		if (list[i].found)
			return profile_refuse(p, member ? member : (parent ? parent : node),
					      "%s%s%s: %s", list[i].parent,
					      *list[i].parent ? "." : "", list[i].key, list[i].why);
	}
	for (size_t i = 0; i < profile->roots_n; i++)
		if (profile->roots[i].read != ACCESS_ALLOW ||
		    profile->roots[i].write != ACCESS_ALLOW)
			return profile_refuse(p,
					      profile_last_element(json_get(node, "roots"), "path",
								   profile->roots[i].path),
					      "the root \"%s\": %s", profile->roots[i].path, open);
	return 0;
}

int profile_from_json(struct arena *arena, const struct json_node *node, enum profile_role role,
		      const char *workspace, struct profile **ret, struct sbx_error *err)
{
	const struct profile_decoder p = {arena, err, role == PROFILE_ROLE_PROFILE, workspace};
	struct profile *profile = arena_alloc(arena, sizeof(*profile));
	int r;

	if (!profile)
		return profile_no_memory(&p);
	profile->route = PROFILE_ROUTE_DIRECT;
	r = profile_decode_object(&p, node, profile_rows, ARRAY_SIZE(profile_rows), profile);
	if (r == 0)
		r = fill_workspace(&p, node, profile);
	if (r == 0)
		r = check_workspace_root(&p, node, profile);
	if (r == 0)
		r = check_isolation(&p, node, profile);
	if (r == 0)
		*ret = profile;
	return r;
}

int profile_parse(struct arena *arena, const char *data, size_t len, enum profile_role role,
		  const char *workspace, struct profile **ret, struct sbx_error *err)
{
	struct json_node *root = NULL;
	int r = json_parse(arena, "profile", data, len, &json_limits_profile, &root, err);

	return r < 0 ? r : profile_from_json(arena, root, role, workspace, ret, err);
}
