/*
 * The network member of a profile document: rules with their targets and address classes, forwards,
 * the proxy's doors.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "spec/profile_decode.h"

PROFILE_WORD_DECODER(parse_tls, enum tls_mode, profile_tls_words)
PROFILE_WORD_DECODER(parse_ech, bool, profile_ech_words)

static int parse_route(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	char *route = NULL;
	int r = profile_decode_text(p, node, &route);

	if (r < 0)
		return r;
	if (!profile_name_is_valid(route))
		return profile_refuse(p, node, "the route \"%s\" is no name ([a-z0-9][a-z0-9._-]*)",
				      route);
	*(const char **)ret = route;
	return 0;
}

#define RULE(member) offsetof(struct profile_rule, member)

static int parse_target(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	struct sbx_error why = {0};
	int r = profile_expect(p, node, JSON_STRING, "a string");

	if (r < 0)
		return r;
	r = target_parse(node->text, ret, &why);
	if (r < 0 && why.code == SBX_E_INVALID_PROFILE)
		return profile_refuse(p, node, "%s", why.message);
	if (r < 0 && p->err)
		*p->err = why;
	return r;
}

static int parse_classes(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	uint32_t classes = 0;
	int r = profile_expect(p, node, JSON_ARRAY, "an array");

	for (const struct json_node *child = node->child; r == 0 && child; child = child->next) {
		uint32_t bit =
			child->type == JSON_STRING ? address_class_from_name(child->text) : 0;

		if (!bit)
			return profile_refuse(p, child,
					      "the address class is none of private, link-local, "
					      "loopback, metadata");
		classes |= bit;
	}
	if (r == 0)
		*(uint32_t *)ret = classes;
	return r;
}

static int check_rule(const struct profile_decoder *p, const struct json_node *node,
		      const struct profile_rule *rule)
{
	const struct json_node *target = json_get(node, "target");
	uint32_t needed, missing;

	if (rule->access == ACCESS_DENY) {
		for (const struct json_node *child = node->child; child; child = child->next)
			if (strcmp(child->key, "target") != 0 && strcmp(child->key, "access") != 0)
				return profile_refuse(p, child,
						      "a rule that denies has a target only");
		return 0;
	}
	needed = target_address_classes_common(&rule->target);
	if (needed & ADDRESS_CLASS_NEVER)
		return profile_refuse(p, target,
				      "no rule opens \"%s\": a multicast or special address",
				      target->text);
	missing = needed & ~rule->address_classes;
	for (uint32_t bit = 1; bit < ADDRESS_CLASS_NEVER; bit <<= 1)
		if (missing & bit)
			return profile_refuse(
				p, target,
				"\"%s\" is no public address: the rule needs \"%s\" in "
				"addressClasses",
				target->text, address_class_name(bit));
	return 0;
}

static int parse_rules(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	static const struct profile_member_row rows[] = {
		{"target", true, parse_target, RULE(target)},
		{"access", false, profile_decode_access, RULE(access)},
		{"addressClasses", false, parse_classes, RULE(address_classes)},
		{"tls", false, parse_tls, RULE(tls)},
		{"ech", false, parse_ech, RULE(ech_allow)},
		{"inspect", false, profile_decode_flag, RULE(inspect)},
	};
	struct profile *profile = ret;
	struct profile_rule *rules;
	void *array = NULL;
	size_t n = 0;
	int r = profile_new_array(p, node, PROFILE_RULES_MAX, sizeof(*rules), &array);

	if (r < 0)
		return r;
	rules = array;
	for (const struct json_node *child = node->child; child; child = child->next, n++) {
		rules[n].ech_allow = true;
		r = profile_decode_object(p, child, rows, ARRAY_SIZE(rows), &rules[n]);
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
		return profile_refuse(p, profile_last_element(node, "target", text),
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

static int parse_forwards(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	static const struct profile_member_row rows[] = {
		{"listen", true, profile_decode_port, offsetof(struct profile_forward, listen)},
		{"to", true, parse_target, offsetof(struct profile_forward, to)},
	};
	struct profile *profile = ret;
	struct profile_forward *forwards;
	void *array = NULL;
	size_t n = 0;
	int r = profile_new_array(p, node, PROFILE_FORWARDS_MAX, sizeof(*forwards), &array);

	if (r < 0)
		return r;
	forwards = array;
	for (const struct json_node *child = node->child; child; child = child->next, n++) {
		r = profile_decode_object(p, child, rows, ARRAY_SIZE(rows), &forwards[n]);
		if (r < 0)
			return r;
		if (!target_is_single_host(&forwards[n].to) || forwards[n].to.port == 0)
			return profile_refuse(p, json_get(child, "to"),
					      "a forward goes to one host and one port");
	}
	qsort(forwards, n, sizeof(*forwards), compare_forwards);
	for (size_t i = 1; i < n; i++)
		if (forwards[i - 1].listen == forwards[i].listen)
			return profile_refuse(p, node, "two forwards listen on port %u",
					      forwards[i].listen);
	profile->forwards = forwards;
	profile->forwards_n = n;
	return 0;
}

static int parse_proxy_ports(const struct profile_decoder *p, const struct json_node *node,
			     void *ret)
{
	static const struct profile_member_row rows[] = {
		{"http", false, profile_decode_port, offsetof(struct profile_proxy_ports, http)},
		{"socks", false, profile_decode_port, offsetof(struct profile_proxy_ports, socks)},
	};
	struct profile_proxy_ports *ports = ret;
	int r = profile_decode_object(p, node, rows, ARRAY_SIZE(rows), ports);

	if (r == 0 && ports->http && ports->http == ports->socks)
		return profile_refuse(p, node, "both doors listen on port %u", ports->http);
	return r;
}

int profile_parse_network(const struct profile_decoder *p, const struct json_node *node, void *ret)
{
	static const struct profile_member_row rows[] = {
		{"access", false, profile_decode_access, offsetof(struct profile, network)},
		{"route", false, parse_route, offsetof(struct profile, route)},
		{"rules", false, parse_rules, 0},
		{"forwards", false, parse_forwards, 0},
		{"learn", false, profile_decode_flag, offsetof(struct profile, learn)},
		{"proxyEnv", false, profile_decode_flag, offsetof(struct profile, proxy_env)},
		{"proxyPorts", false, parse_proxy_ports, offsetof(struct profile, proxy_ports)},
	};
	struct profile *profile = ret;
	int r = profile_decode_object(p, node, rows, ARRAY_SIZE(rows), profile);

	if (r == 0 && profile->network == ACCESS_ALLOW && profile->rules_n)
		return profile_refuse(p, json_get(node, "rules"),
				      "rules mean nothing where network.access is \"allow\"");
	return r;
}
