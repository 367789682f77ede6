/*
 * The profile document: JSON tree to struct profile.
 *
 * Each object of the document is a table of rows {member, required, parser, where it goes}; one
 * function walks a table, refuses members that have no row and names them by their pointer. Rules
 * that need more than one member follow when everything is read. Nothing of the
 * tree is kept: texts are copied into the arena of the profile.
 */
#include "spec/profile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/num.h"
#include "runtime/base/path.h"
#include "spec/profile_internal.h"

#define POINTER_MAX 128

struct parser {
	struct arena *arena;
	struct sbx_error *err;
	bool workspace_root_needed;
	const char *workspace; /* dev.sbx.workspace, NULL */
};

typedef int (*member_fn)(const struct parser *p, const struct json_node *node, void *ret);

struct member_row {
	const char *key;
	bool required;
	member_fn parse;
	size_t offset; /* in the structure that the object fills */
};

static int refuse(const struct parser *p, const struct json_node *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(const struct parser *p, const struct json_node *node, const char *fmt, ...)
{
	char pointer[POINTER_MAX], *text = NULL;
	va_list ap;
	int r;

	json_pointer(node, pointer, sizeof(pointer));
	va_start(ap, fmt);
	r = vasprintf(&text, fmt, ap);
	va_end(ap);
	r = sbx_fail_at(p->err, SBX_E_INVALID_PROFILE, pointer, "%s", r < 0 ? fmt : text);
	if (text)
		free(text);
	return r;
}

static int no_memory(const struct parser *p)
{
	return sbx_fail(p->err, SBX_E_INVALID_PROFILE, ENOMEM, "read the profile");
}

static const char *type_name(const struct json_node *node)
{
	static const char *const names[] = {"null",	"a boolean", "a boolean", "a number",
					    "a string", "an array",  "an object"};

	return (size_t)node->type < ARRAY_SIZE(names) ? names[node->type] : "?";
}

static int expect(const struct parser *p, const struct json_node *node, enum json_type type,
		  const char *what)
{
	if (node->type == type)
		return 0;
	return refuse(p, node, "the value must be %s, it is %s", what, type_name(node));
}

static int parse_object(const struct parser *p, const struct json_node *node,
			const struct member_row *rows, size_t rows_n, void *ret)
{
	int r = expect(p, node, JSON_OBJECT, "an object");

	if (r < 0)
		return r;
	for (const struct json_node *child = node->child; child; child = child->next) {
		size_t i = 0;

		while (i < rows_n && strcmp(rows[i].key, child->key) != 0)
			i++;
		if (i == rows_n)
			return refuse(p, child, "the member \"%s\" is not known", child->key);
		r = rows[i].parse(p, child, (char *)ret + rows[i].offset);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < rows_n; i++)
		if (rows[i].required && !json_get(node, rows[i].key))
			return refuse(p, node, "the member \"%s\" is missing", rows[i].key);
	return 0;
}

/* ---- scalars ---- */

static int parse_word(const struct parser *p, const struct json_node *node,
		      const struct profile_word *words, int *ret)
{
	char list[128] = "";
	int r = expect(p, node, JSON_STRING, "a string");

	if (r < 0)
		return r;
	for (const struct profile_word *w = words; w->word; w++) {
		if (strcmp(w->word, node->text) == 0) {
			*ret = w->value;
			return 0;
		}
		strncat(list, w == words ? "" : ", ", sizeof(list) - strlen(list) - 1);
		strncat(list, w->word, sizeof(list) - strlen(list) - 1);
	}
	return refuse(p, node, "the value \"%s\" is none of %s", node->text, list);
}

#define WORD_PARSER(name, type, words)                                                             \
	static int parse_##name(const struct parser *p, const struct json_node *node, void *ret)   \
	{                                                                                          \
		int value = 0, r = parse_word(p, node, words, &value);                             \
                                                                                                   \
		if (r == 0)                                                                        \
			*(type *)ret = (type)value;                                                \
		return r;                                                                          \
	}

WORD_PARSER(access, enum access, profile_access_words)
WORD_PARSER(home, enum home_kind, profile_home_words)
WORD_PARSER(isolation, enum isolation, profile_isolation_words)
WORD_PARSER(on_detach, enum on_detach, profile_on_detach_words)
WORD_PARSER(level, enum level, profile_level_words)
WORD_PARSER(tls, enum tls_mode, profile_tls_words)
WORD_PARSER(ech, bool, profile_ech_words)

static int parse_flag(const struct parser *p, const struct json_node *node, void *ret)
{
	if (node->type != JSON_TRUE && node->type != JSON_FALSE)
		return expect(p, node, JSON_TRUE, "a boolean");
	*(bool *)ret = node->type == JSON_TRUE;
	return 0;
}

static int parse_version(const struct parser *p, const struct json_node *node,
			 __attribute__((unused)) void *ret)
{
	int64_t version;

	if (node->type != JSON_NUMBER || json_int64(node, &version) < 0 || version != 1)
		return refuse(p, node, "the version must be the number 1");
	return 0;
}

static int parse_port(const struct parser *p, const struct json_node *node, void *ret)
{
	uint64_t port;

	if (node->type != JSON_NUMBER || json_uint64(node, &port) < 0 || port < 1 ||
	    port > UINT16_MAX)
		return refuse(p, node, "the port must be a number of 1 to 65535");
	*(uint16_t *)ret = (uint16_t)port;
	return 0;
}

static int parse_text(const struct parser *p, const struct json_node *node, char **ret)
{
	int r = expect(p, node, JSON_STRING, "a string");

	if (r < 0)
		return r;
	*ret = arena_strndup(p->arena, node->text, node->len);
	return *ret ? 0 : no_memory(p);
}

static int parse_path(const struct parser *p, const struct json_node *node, void *ret)
{
	char *path = NULL;
	int r = parse_text(p, node, &path);

	if (r < 0)
		return r;
	if (!path_is_canonical(path))
		return refuse(p, node,
			      "the path \"%s\" must be absolute and canonical (no \".\", \"..\", "
			      "\"//\", no trailing slash)",
			      path);
	if (strcmp(path, "/") == 0)
		return refuse(p, node, "the path must not be \"/\": use host for everything else");
	*(const char **)ret = path;
	return 0;
}

static int parse_route(const struct parser *p, const struct json_node *node, void *ret)
{
	char *route = NULL;
	int r = parse_text(p, node, &route);

	if (r < 0)
		return r;
	if (!profile_name_is_valid(route))
		return refuse(p, node, "the route \"%s\" is no name ([a-z0-9][a-z0-9._-]*)", route);
	*(const char **)ret = route;
	return 0;
}

/* ---- lists ---- */

/* A zeroed array for the elements of a list, with room for one more. */
static int new_array(const struct parser *p, const struct json_node *node, size_t max, size_t size,
		     void **ret)
{
	int r = expect(p, node, JSON_ARRAY, "an array");

	if (r < 0)
		return r;
	if (node->count > max)
		return refuse(p, node, "the list has %u elements, more than %zu", node->count, max);
	*ret = arena_alloc_array(p->arena, (size_t)node->count + 1, size);
	return *ret ? 0 : no_memory(p);
}

typedef int (*text_check)(const struct parser *p, const struct json_node *node, char **ret);

static int parse_texts(const struct parser *p, const struct json_node *node, text_check check,
		       struct strings *ret)
{
	struct strings list = {0};
	void *array = NULL;
	int r = new_array(p, node, PROFILE_STRINGS_MAX, sizeof(char *), &array);

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

static int check_protect(const struct parser *p, const struct json_node *node, char **ret)
{
	char joined[PATH_MAX + 2];
	int r = parse_text(p, node, ret);

	if (r < 0)
		return r;
	if (strcmp(*ret, PROFILE_PROTECT_GIT) == 0)
		return 0;
	if ((*ret)[0] == '@')
		return refuse(p, node, "the set \"%s\" is not known: \"@git\" is the only one",
			      *ret);
	joined[0] = '/';
	if (strlen(*ret) >= PATH_MAX - 1)
		return refuse(p, node, "the path is too long");
	strcpy(joined + 1, *ret);
	if (!(*ret)[0] || (*ret)[0] == '/' || !path_is_canonical(joined))
		return refuse(p, node,
			      "the path \"%s\" must be relative to the workspace and canonical (no "
			      "\".\", \"..\", \"//\", no trailing slash)",
			      *ret);
	return 0;
}

static int check_socket(const struct parser *p, const struct json_node *node, char **ret)
{
	return parse_path(p, node, ret);
}

static int parse_protect(const struct parser *p, const struct json_node *node, void *ret)
{
	return parse_texts(p, node, check_protect, ret);
}

static int parse_sockets(const struct parser *p, const struct json_node *node, void *ret)
{
	return parse_texts(p, node, check_socket, ret);
}

static int parse_require(const struct parser *p, const struct json_node *node, void *ret)
{
	struct profile *profile = ret;
	int r = expect(p, node, JSON_ARRAY, "an array");

	for (const struct json_node *child = node->child; r == 0 && child; child = child->next) {
		unsigned g = 0;

		r = expect(p, child, JSON_STRING, "a string");
		if (r < 0)
			break;
		if (strcmp(child->text, "unixSockets") == 0) {
			profile->require_unix_sockets = true;
			continue;
		}
		while (g < GUARANTEE_COUNT && strcmp(guarantee_name(g), child->text) != 0)
			g++;
		if (g == GUARANTEE_COUNT)
			return refuse(p, child, "the guarantee \"%s\" is not known", child->text);
		profile->require |= GUARANTEE_BIT(g);
	}
	return r;
}

/* The last element whose text is the given one: the second of two equal ones. */
static const struct json_node *last_element(const struct json_node *list, const char *key,
					    const char *text)
{
	const struct json_node *found = list;

	for (const struct json_node *child = list->child; child; child = child->next) {
		const struct json_node *member = json_get(child, key);

		if (member && member->type == JSON_STRING && strcmp(member->text, text) == 0)
			found = member;
	}
	return found;
}

/* ---- workspace, host, roots ---- */

#define ROOT(member) offsetof(struct profile_root, member)

/* Write without read would let a program change what it may not see, for every later reader. */
static int check_values(const struct parser *p, const struct json_node *node, enum access read,
			enum access write)
{
	const struct json_node *member = json_get(node, "write");

	if (read == ACCESS_DENY && write != ACCESS_DENY)
		return refuse(p, member ? member : node,
			      "write is \"%s\" where read is denied: a contradiction",
			      access_name(write));
	return 0;
}

static int parse_workspace(const struct parser *p, const struct json_node *node, void *ret)
{
	static const struct member_row rows[] = {
		{"root", false, parse_path, ROOT(path)},
		{"read", false, parse_access, ROOT(read)},
		{"write", false, parse_access, ROOT(write)},
	};
	struct profile_root *root = ret;
	int r = parse_object(p, node, rows, ARRAY_SIZE(rows), root);

	return r < 0 ? r : check_values(p, node, root->read, root->write);
}

static int parse_host(const struct parser *p, const struct json_node *node, void *ret)
{
	static const struct member_row rows[] = {
		{"read", false, parse_access, offsetof(struct profile, host_read)},
		{"write", false, parse_access, offsetof(struct profile, host_write)},
	};
	struct profile *profile = ret;
	int r = parse_object(p, node, rows, ARRAY_SIZE(rows), profile);

	return r < 0 ? r : check_values(p, node, profile->host_read, profile->host_write);
}

static int parse_roots(const struct parser *p, const struct json_node *node, void *ret)
{
	static const struct member_row rows[] = {
		{"path", true, parse_path, ROOT(path)},
		{"read", false, parse_access, ROOT(read)},
		{"write", false, parse_access, ROOT(write)},
	};
	struct profile *profile = ret;
	struct profile_root *roots;
	void *array = NULL;
	size_t n = 0;
	int r = new_array(p, node, PROFILE_ROOTS_MAX, sizeof(*roots), &array);

	if (r < 0)
		return r;
	roots = array;
	for (const struct json_node *child = node->child; child; child = child->next, n++) {
		r = parse_object(p, child, rows, ARRAY_SIZE(rows), &roots[n]);
		if (r == 0)
			r = check_values(p, child, roots[n].read, roots[n].write);
		if (r < 0)
			return r;
	}
	qsort(roots, n, sizeof(*roots), profile_root_compare);
	for (size_t i = 1; i < n; i++)
		if (strcmp(roots[i - 1].path, roots[i].path) == 0)
			return refuse(p, last_element(node, "path", roots[i].path),
				      "the root \"%s\" is listed twice", roots[i].path);
	profile->roots = roots;
	profile->roots_n = n;
	return 0;
}

/* ---- network ---- */

#define RULE(member) offsetof(struct profile_rule, member)

static int parse_target(const struct parser *p, const struct json_node *node, void *ret)
{
	struct sbx_error why = {0};
	int r = expect(p, node, JSON_STRING, "a string");

	if (r < 0)
		return r;
	r = target_parse(node->text, ret, &why);
	if (r < 0 && why.code == SBX_E_INVALID_PROFILE)
		return refuse(p, node, "%s", why.message);
	if (r < 0 && p->err)
		*p->err = why;
	return r;
}

static int parse_classes(const struct parser *p, const struct json_node *node, void *ret)
{
	uint32_t classes = 0;
	int r = expect(p, node, JSON_ARRAY, "an array");

	for (const struct json_node *child = node->child; r == 0 && child; child = child->next) {
		uint32_t bit =
			child->type == JSON_STRING ? address_class_from_name(child->text) : 0;

		if (!bit)
			return refuse(p, child,
				      "the address class is none of private, link-local, "
				      "loopback, metadata");
		classes |= bit;
	}
	if (r == 0)
		*(uint32_t *)ret = classes;
	return r;
}

static int check_rule(const struct parser *p, const struct json_node *node,
		      const struct profile_rule *rule)
{
	const struct json_node *target = json_get(node, "target");
	uint32_t needed, missing;

	if (rule->access == ACCESS_DENY) {
		for (const struct json_node *child = node->child; child; child = child->next)
			if (strcmp(child->key, "target") != 0 && strcmp(child->key, "access") != 0)
				return refuse(p, child, "a rule that denies has a target only");
		return 0;
	}
	needed = target_address_classes_common(&rule->target);
	if (needed & ADDRESS_CLASS_NEVER)
		return refuse(p, target, "no rule opens \"%s\": a multicast or special address",
			      target->text);
	missing = needed & ~rule->address_classes;
	for (uint32_t bit = 1; bit < ADDRESS_CLASS_NEVER; bit <<= 1)
		if (missing & bit)
			return refuse(p, target,
				      "\"%s\" is no public address: the rule needs \"%s\" in "
				      "addressClasses",
				      target->text, address_class_name(bit));
	return 0;
}

static int parse_rules(const struct parser *p, const struct json_node *node, void *ret)
{
	static const struct member_row rows[] = {
		{"target", true, parse_target, RULE(target)},
		{"access", false, parse_access, RULE(access)},
		{"addressClasses", false, parse_classes, RULE(address_classes)},
		{"tls", false, parse_tls, RULE(tls)},
		{"ech", false, parse_ech, RULE(ech_allow)},
		{"inspect", false, parse_flag, RULE(inspect)},
	};
	struct profile *profile = ret;
	struct profile_rule *rules;
	void *array = NULL;
	size_t n = 0;
	int r = new_array(p, node, PROFILE_RULES_MAX, sizeof(*rules), &array);

	if (r < 0)
		return r;
	rules = array;
	for (const struct json_node *child = node->child; child; child = child->next, n++) {
		rules[n].ech_allow = true;
		r = parse_object(p, child, rows, ARRAY_SIZE(rows), &rules[n]);
		if (r == 0)
			r = check_rule(p, child, &rules[n]);
		if (r < 0)
			return r;
		if (rules[n].access == ACCESS_DENY)
			rules[n].ech_allow = false;
	}
	qsort(rules, n, sizeof(*rules), profile_rule_compare);
	for (size_t i = 1; i < n; i++) {
		char text[TARGET_TEXT_MAX];

		if (profile_rule_compare(&rules[i - 1], &rules[i]) != 0)
			continue;
		target_format(&rules[i].target, text, sizeof(text));
		return refuse(p, last_element(node, "target", text),
			      "the target \"%s\" is listed twice", text);
	}
	profile->rules = rules;
	profile->rules_n = n;
	return 0;
}

static int compare_forwards(const void *a, const void *b)
{
	const struct profile_forward *x = a, *y = b;

	return (int)x->listen - (int)y->listen;
}

static int parse_forwards(const struct parser *p, const struct json_node *node, void *ret)
{
	static const struct member_row rows[] = {
		{"listen", true, parse_port, offsetof(struct profile_forward, listen)},
		{"to", true, parse_target, offsetof(struct profile_forward, to)},
	};
	struct profile *profile = ret;
	struct profile_forward *forwards;
	void *array = NULL;
	size_t n = 0;
	int r = new_array(p, node, PROFILE_FORWARDS_MAX, sizeof(*forwards), &array);

	if (r < 0)
		return r;
	forwards = array;
	for (const struct json_node *child = node->child; child; child = child->next, n++) {
		r = parse_object(p, child, rows, ARRAY_SIZE(rows), &forwards[n]);
		if (r < 0)
			return r;
		if (!target_is_single_host(&forwards[n].to) || forwards[n].to.port == 0)
			return refuse(p, json_get(child, "to"),
				      "a forward goes to one host and one port");
	}
	qsort(forwards, n, sizeof(*forwards), compare_forwards);
	for (size_t i = 1; i < n; i++)
		if (forwards[i - 1].listen == forwards[i].listen)
			return refuse(p, node, "two forwards listen on port %u",
				      forwards[i].listen);
	profile->forwards = forwards;
	profile->forwards_n = n;
	return 0;
}

static int parse_proxy_ports(const struct parser *p, const struct json_node *node, void *ret)
{
	static const struct member_row rows[] = {
		{"http", false, parse_port, offsetof(struct profile_proxy_ports, http)},
		{"socks", false, parse_port, offsetof(struct profile_proxy_ports, socks)},
	};
	struct profile_proxy_ports *ports = ret;
	int r = parse_object(p, node, rows, ARRAY_SIZE(rows), ports);

	if (r == 0 && ports->http && ports->http == ports->socks)
		return refuse(p, node, "both doors listen on port %u", ports->http);
	return r;
}

static int parse_network(const struct parser *p, const struct json_node *node, void *ret)
{
	static const struct member_row rows[] = {
		{"access", false, parse_access, offsetof(struct profile, network)},
		{"route", false, parse_route, offsetof(struct profile, route)},
		{"rules", false, parse_rules, 0},
		{"forwards", false, parse_forwards, 0},
		{"learn", false, parse_flag, offsetof(struct profile, learn)},
		{"proxyEnv", false, parse_flag, offsetof(struct profile, proxy_env)},
		{"proxyPorts", false, parse_proxy_ports, offsetof(struct profile, proxy_ports)},
	};
	struct profile *profile = ret;
	int r = parse_object(p, node, rows, ARRAY_SIZE(rows), profile);

	if (r == 0 && profile->network == ACCESS_ALLOW && profile->rules_n)
		return refuse(p, json_get(node, "rules"),
			      "rules mean nothing where network.access is \"allow\"");
	return r;
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

static int parse_limits(const struct parser *p, const struct json_node *node, void *ret)
{
	static const char *const forms[] = {
		[LIMIT_DURATION] = "digits with ms, s, m or h behind",
		[LIMIT_SIZE] = "a number of bytes, or digits with KiB, MiB or GiB behind",
		[LIMIT_COUNT] = "a whole number",
		[LIMIT_MILLI] = "a number with at most three digits behind the point",
	};
	int r = expect(p, node, JSON_OBJECT, "an object");

	for (const struct json_node *child = node->child; r == 0 && child; child = child->next) {
		const struct profile_limit_row *row = profile_limit_rows;
		const struct profile_limit_row *end = row + PROFILE_LIMITS_N;
		uint64_t value = 0;
		int v;

		while (row < end && strcmp(row->key, child->key) != 0)
			row++;
		if (row == end)
			return refuse(p, child, "the member \"%s\" is not known", child->key);
		v = limit_value(child, row->kind, &value);
		if (v == -ERANGE || (v == 0 && (value < row->min || value > row->max)))
			return refuse(p, child, "the limit is out of range");
		if (v < 0)
			return refuse(p, child, "the limit must be %s", forms[row->kind]);
		*(struct oci_opt_u64 *)(void *)((char *)ret + row->offset) =
			(struct oci_opt_u64){true, value};
	}
	return r;
}

/* ---- the whole ---- */

#define MEMBER(name) offsetof(struct profile, name)

static const struct member_row profile_rows[] = {
	{"version", true, parse_version, 0},
	{"workspace", false, parse_workspace, MEMBER(workspace)},
	{"host", false, parse_host, 0},
	{"roots", false, parse_roots, 0},
	{"protect", false, parse_protect, MEMBER(protect)},
	{"network", false, parse_network, 0},
	{"command", false, parse_access, MEMBER(command)},
	{"home", false, parse_home, MEMBER(home)},
	{"isolation", false, parse_isolation, MEMBER(isolation)},
	{"ackUnconfined", false, parse_flag, MEMBER(ack_unconfined)},
	{"unixSockets", false, parse_sockets, MEMBER(unix_sockets)},
	{"limits", false, parse_limits, MEMBER(limits)},
	{"onDetach", false, parse_on_detach, MEMBER(on_detach)},
	{"require", false, parse_require, 0},
	{"minLevel", false, parse_level, MEMBER(min_level)},
};

/* The workspace of the annotation where the document leaves it out. */
static int fill_workspace(const struct parser *p, const struct json_node *node,
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
		return profile->workspace.path ? 0 : no_memory(p);
	}
	if (p->workspace_root_needed) {
		char pointer[POINTER_MAX];

		json_pointer(node, pointer, sizeof(pointer) - sizeof("/workspace/root"));
		strcat(pointer, "/workspace/root");
		return sbx_fail_at(p->err, SBX_E_INVALID_PROFILE, pointer,
				   "the member \"root\" is missing: the profile needs a workspace");
	}
	return 0;
}

static int check_workspace_root(const struct parser *p, const struct json_node *node,
				const struct profile *profile)
{
	const char *path = profile->workspace.path;

	for (size_t i = 0; path && i < profile->roots_n; i++)
		if (strcmp(profile->roots[i].path, path) == 0)
			return refuse(p, last_element(json_get(node, "roots"), "path", path),
				      "the root \"%s\" is the workspace", path);
	return 0;
}

struct contradiction {
	bool found;
	const char *parent, *key; /* the member, "" where it is at the top */
	const char *why;
};

static int check_isolation(const struct parser *p, const struct json_node *node,
			   const struct profile *profile)
{
	const char *open = "isolation \"unconfined\" enforces nothing: it must be \"allow\"";
	const char *none = "isolation \"unconfined\" enforces nothing: it must be left out";
	const struct contradiction list[] = {
		{!profile->ack_unconfined, "", "isolation",
		 "isolation \"unconfined\" needs ackUnconfined: true"},
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
			       ? refuse(p, json_get(node, "ackUnconfined"),
					"ackUnconfined is true but isolation is \"sandboxed\"")
			       : 0;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		const struct json_node *parent =
			*list[i].parent ? json_get(node, list[i].parent) : node;
		const struct json_node *member = json_get(parent, list[i].key);

		if (list[i].found)
			return refuse(p, member ? member : (parent ? parent : node), "%s%s%s: %s",
				      list[i].parent, *list[i].parent ? "." : "", list[i].key,
				      list[i].why);
	}
	for (size_t i = 0; i < profile->roots_n; i++)
		if (profile->roots[i].read != ACCESS_ALLOW ||
		    profile->roots[i].write != ACCESS_ALLOW)
			return refuse(p,
				      last_element(json_get(node, "roots"), "path",
						   profile->roots[i].path),
				      "the root \"%s\": %s", profile->roots[i].path, open);
	return 0;
}

int profile_from_json(struct arena *arena, const struct json_node *node, enum profile_role role,
		      const char *workspace, struct profile **ret, struct sbx_error *err)
{
	const struct parser p = {arena, err, role == PROFILE_ROLE_PROFILE, workspace};
	struct profile *profile = arena_alloc(arena, sizeof(*profile));
	int r;

	if (!profile)
		return no_memory(&p);
	profile->route = PROFILE_ROUTE_DIRECT;
	r = parse_object(&p, node, profile_rows, ARRAY_SIZE(profile_rows), profile);
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
