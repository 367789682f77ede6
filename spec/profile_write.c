/*
 * The normalised document: every value that has a default is written out, every list sorted, so
 * that two documents of one meaning print the same bytes and reading them gives the same profile.
 */
#include <stdio.h>

#include "spec/profile.h"
#include "spec/profile_internal.h"

static void write_access(struct json_writer *w, const char *key, enum access access)
{
	json_write_string(w, key, access_name(access));
}

static void write_root(struct json_writer *w, const char *key, const char *path_key,
		       const struct profile_root *root)
{
	json_begin_object(w, key);
	if (root->path)
		json_write_string(w, path_key, root->path);
	write_access(w, "read", root->read);
	write_access(w, "write", root->write);
	json_end_object(w);
}

static void write_rule(struct json_writer *w, const struct profile_rule *rule)
{
	char target[TARGET_TEXT_MAX];

	target_format(&rule->target, target, sizeof(target));
	json_begin_object(w, NULL);
	json_write_string(w, "target", target);
	write_access(w, "access", rule->access);
	if (rule->access != ACCESS_DENY) {
		json_begin_array(w, "addressClasses");
		for (uint32_t bit = 1; bit < ADDRESS_CLASS_NEVER; bit <<= 1)
			if (rule->address_classes & bit)
				json_write_string(w, NULL, address_class_name(bit));
		json_end_array(w);
		if (rule->tls != TLS_AUTO)
			json_write_string(w, "tls",
					  profile_word_of(profile_tls_words, (int)rule->tls));
		json_write_string(w, "ech", profile_word_of(profile_ech_words, rule->ech_allow));
		json_write_bool(w, "inspect", rule->inspect);
	}
	json_end_object(w);
}

static void write_network(struct json_writer *w, const struct profile *profile)
{
	const struct profile_proxy_ports *ports = &profile->proxy_ports;

	json_begin_object(w, "network");
	write_access(w, "access", profile->network);
	json_write_string(w, "route", profile->route);
	json_begin_array(w, "rules");
	for (size_t i = 0; i < profile->rules_n; i++)
		write_rule(w, &profile->rules[i]);
	json_end_array(w);
	if (profile->forwards_n) {
		json_begin_array(w, "forwards");
		for (size_t i = 0; i < profile->forwards_n; i++) {
			char to[TARGET_TEXT_MAX];

			target_format(&profile->forwards[i].to, to, sizeof(to));
			json_begin_object(w, NULL);
			json_write_uint(w, "listen", profile->forwards[i].listen);
			json_write_string(w, "to", to);
			json_end_object(w);
		}
		json_end_array(w);
	}
	if (profile->learn)
		json_write_bool(w, "learn", true);
	if (profile->proxy_env)
		json_write_bool(w, "proxyEnv", true);
	if (ports->http || ports->socks) {
		json_begin_object(w, "proxyPorts");
		if (ports->http)
			json_write_uint(w, "http", ports->http);
		if (ports->socks)
			json_write_uint(w, "socks", ports->socks);
		json_end_object(w);
	}
	json_end_object(w);
}

static void write_duration(struct json_writer *w, const char *key, uint64_t ms)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
	char text[32];
	size_t i = 0;

	while (ms == 0 ? units[i].ms != 1 : ms % units[i].ms != 0)
		i++;
	snprintf(text, sizeof(text), "%llu%s", (unsigned long long)(ms / units[i].ms),
		 units[i].unit);
	json_write_string(w, key, text);
}

static void write_milli(struct json_writer *w, const char *key, uint64_t milli)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu.%03u", (unsigned long long)(milli / 1000),
		 (unsigned)(milli % 1000));
	for (size_t n = 3, len = 0; n > 0; n--) {
		while (text[len])
			len++;
		if (text[len - 1] != '0')
			break;
		text[len - 1] = '\0';
		if (n == 1)
			text[len - 2] = '\0'; /* the point */
		len = 0;
	}
	json_write_number_text(w, key, text);
}

static void write_limits(struct json_writer *w, const struct profile_limits *limits)
{
	bool begun = false;

	for (size_t i = 0; i < PROFILE_LIMITS_N; i++) {
		const struct profile_limit_row *row = &profile_limit_rows[i];
		const struct oci_opt_u64 *limit = profile_limit(limits, row);

		if (!limit->set)
			continue;
		if (!begun)
			json_begin_object(w, "limits");
		begun = true;
		if (row->kind == LIMIT_DURATION)
			write_duration(w, row->key, limit->v);
		else if (row->kind == LIMIT_MILLI)
			write_milli(w, row->key, limit->v);
		else
			json_write_uint(w, row->key, limit->v);
	}
	if (begun)
		json_end_object(w);
}

static void write_require(struct json_writer *w, const struct profile *profile)
{
	json_begin_array(w, "require");
	for (unsigned g = 0; g < GUARANTEE_COUNT; g++)
		if (profile->require & GUARANTEE_BIT(g))
			json_write_string(w, NULL, guarantee_name(g));
	if (profile->require_unix_sockets)
		json_write_string(w, NULL, "unixSockets");
	json_end_array(w);
}

void profile_write(struct json_writer *w, const char *key, const struct profile *profile)
{
	const struct profile_root host = {NULL, profile->host_read, profile->host_write};

	json_begin_object(w, key);
	json_write_uint(w, "version", 1);
	write_root(w, "workspace", "root", &profile->workspace);
	write_root(w, "host", "", &host);
	json_begin_array(w, "roots");
	for (size_t i = 0; i < profile->roots_n; i++)
		write_root(w, NULL, "path", &profile->roots[i]);
	json_end_array(w);
	json_write_strings(w, "protect", profile->protect.v, profile->protect.n);
	write_network(w, profile);
	write_access(w, "command", profile->command);
	json_write_string(w, "home", profile_word_of(profile_home_words, (int)profile->home));
	json_write_string(w, "isolation",
			  profile_word_of(profile_isolation_words, (int)profile->isolation));
	if (profile->ack_unconfined)
		json_write_bool(w, "ackUnconfined", true);
	json_write_strings(w, "unixSockets", profile->unix_sockets.v, profile->unix_sockets.n);
	write_limits(w, &profile->limits);
	if (profile->on_detach != DETACH_DEFAULT)
		json_write_string(
			w, "onDetach",
			profile_word_of(profile_on_detach_words, (int)profile->on_detach));
	write_require(w, profile);
	/* left out it is another word than "none" */
	if (profile->min_level != LEVEL_NONE || profile->min_level_none)
		json_write_string(w, "minLevel", level_name(profile->min_level));
	json_end_object(w);
}
