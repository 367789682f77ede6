/*
 * Settings are parsed as strictly as profiles: a table of members, each with its function.
 */
#include "runtime/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"
#include "runtime/base/user.h"

#define DOCUMENT_BYTES_MAX ((size_t)256 << 10) /* settings and profiles: json_limits_profile */

/* ---- installed profiles ---- */

static int read_profile(const char *path, enum file_trust trust,
			const struct caller_identity *caller, struct buf *out,
			struct sbx_error *err)
{
	return trusted_file_read(path, trust, caller, DOCUMENT_BYTES_MAX, out, err);
}

/* The passwd entry of who the caller is outside: inside a rootless user namespace euid 0 is not
 * root. */
static int user_profiles_dir(const struct caller_identity *caller, char *out, size_t size)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	struct user_entry user;
	int n;

	if (config && config[0] == '/') {
		n = snprintf(out, size, "%s/sbx-runtime/profiles", config);
	} else {
		if (!user_find(caller->outer_uid, &user) || user.home[0] != '/')
			return -ENOENT;
		n = snprintf(out, size, "%s/.config/sbx-runtime/profiles", user.home);
	}
	return n < 0 || (size_t)n >= size ? -ENOENT : 0;
}

/* -ENOENT names every place that was looked at. */
static int find_profile(const char *name, const char *profiles_dir,
			const struct caller_identity *caller, struct buf *out,
			struct sbx_error *err)
{
	char dir[PATH_MAX], path[PATH_MAX + 80], own[PATH_MAX + 80] = "";
	int r;

	snprintf(path, sizeof(path), "%s/%s.json", profiles_dir, name);
	r = read_profile(path, TRUST_ADMIN, caller, out, err);
	if (r == -ENOENT && !(caller->euid == 0 && caller->initial_userns) &&
	    user_profiles_dir(caller, dir, sizeof(dir)) == 0) {
		snprintf(own, sizeof(own), "%s/%s.json", dir, name);
		r = read_profile(own, TRUST_CALLER, caller, out, err);
	}
	if (r == -ENOENT)
		sbx_fail(err, SBX_E_INVALID_PROFILE, 0, "it is not installed as %s%s%s", path,
			 own[0] ? " or " : "", own);
	return r;
}

int installed_profile_load(struct arena *arena, const char *name, const char *profiles_dir,
			   const struct caller_identity *caller, enum profile_role role,
			   const char *workspace, struct profile **ret, struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	int r;

	if (!profiles_dir)
		profiles_dir = PROFILES_PATH;
	if (!profile_name_is_valid(name) || strlen(profiles_dir) > PATH_MAX - 1)
		return sbx_fail(err, SBX_E_INVALID_PROFILE, 0,
				"\"%s\" is no name of a profile ([a-z0-9][a-z0-9._-]*)", name);
	r = find_profile(name, profiles_dir, caller, &text, err);
	if (r == 0)
		r = profile_parse(arena, text.data ? text.data : "", text.len, role, workspace, ret,
				  err);
	if (r < 0)
		sbx_prefix(err, "profile \"%s\"", name);
	return r;
}

/* ---- the document ---- */

struct settings_parser {
	struct arena *arena;
	const char *profiles_dir;
	const struct caller_identity *caller;
	struct settings *settings;
	bool annotations_given;
	struct sbx_error *err;
};

static int wrong(struct settings_parser *p, const struct json_node *node, const char *what)
{
	char pointer[128];

	json_pointer(node, pointer, sizeof(pointer));
	return sbx_fail_at(p->err, SBX_E_INVALID_SETTINGS, pointer, "\"%s\" must be %s",
			   node->key ? node->key : "", what);
}

static int parse_profile_member(struct settings_parser *p, const struct json_node *node,
				struct profile **ret)
{
	int r;

	if (node->type == JSON_STRING) {
		r = installed_profile_load(p->arena, node->text, p->profiles_dir, p->caller,
					   PROFILE_ROLE_CEILING, NULL, ret, p->err);
		return r < 0 ? sbx_prefix(p->err, "\"%s\"", node->key) : 0;
	}
	if (node->type != JSON_OBJECT)
		return wrong(p, node, "a profile or the name of an installed one");
	return profile_from_json(p->arena, node, PROFILE_ROLE_CEILING, NULL, ret, p->err);
}

static int parse_ceiling(struct settings_parser *p, const struct json_node *node)
{
	return parse_profile_member(p, node, &p->settings->ceiling);
}

static int parse_default(struct settings_parser *p, const struct json_node *node)
{
	return parse_profile_member(p, node, &p->settings->default_profile);
}

static int parse_required(struct settings_parser *p, const struct json_node *node)
{
	if (node->type != JSON_TRUE && node->type != JSON_FALSE)
		return wrong(p, node, "a boolean");
	p->settings->require_profile = node->type == JSON_TRUE;
	return 0;
}

static int parse_annotations(struct settings_parser *p, const struct json_node *node)
{
	static const char *const words[] = {[ANNOTATIONS_IGNORE] = "ignore",
					    [ANNOTATIONS_NARROW] = "narrow",
					    [ANNOTATIONS_TRUST] = "trust"};

	for (size_t i = 0; node->type == JSON_STRING && i < ARRAY_SIZE(words); i++)
		if (strcmp(node->text, words[i]) == 0) {
			p->settings->annotations = (enum annotation_trust)i;
			p->annotations_given = true;
			return 0;
		}
	return wrong(p, node, "one of \"ignore\", \"narrow\", \"trust\"");
}

static int parse_executors(struct settings_parser *p, const struct json_node *node)
{
	if (node->type == JSON_NUMBER && json_uint64(node, &p->settings->max_executors) == 0 &&
	    p->settings->max_executors > 0)
		return 0;
	return wrong(p, node, "a number of containers, 1 or more");
}

static int parse_scratch(struct settings_parser *p, const struct json_node *node)
{
	if (node->type != JSON_STRING || !path_is_canonical(node->text) ||
	    strcmp(node->text, "/") == 0)
		return wrong(p, node, "an absolute, canonical path other than \"/\"");
	p->settings->scratch_root = node->text;
	return 0;
}

static int parse_unbuilt(struct settings_parser *p, const struct json_node *node)
{
	char pointer[128];

	json_pointer(node, pointer, sizeof(pointer));
	return sbx_fail_at(p->err, SBX_E_UNSUPPORTED, pointer,
			   "the settings have \"%s\": this release does not enforce it yet",
			   node->key);
}

static const struct {
	const char *key;
	int (*parse)(struct settings_parser *p, const struct json_node *node);
} members[] = {
	{"ceiling", parse_ceiling},	    {"defaultProfile", parse_default},
	{"requireProfile", parse_required}, {"annotations", parse_annotations},
	{"routes", parse_unbuilt},	    {"scratchRoot", parse_scratch},
	{"grantTTL", parse_unbuilt},	    {"maxExecutors", parse_executors},
};

static int parse_members(struct settings_parser *p, const struct json_node *root)
{
	if (root->type != JSON_OBJECT)
		return sbx_fail(p->err, SBX_E_INVALID_SETTINGS, 0, "the settings are no object");
	for (const struct json_node *node = root->child; node; node = node->next) {
		size_t i = 0;
		int r;

		while (i < ARRAY_SIZE(members) && strcmp(members[i].key, node->key) != 0)
			i++;
		if (i == ARRAY_SIZE(members)) {
			char pointer[128];

			json_pointer(node, pointer, sizeof(pointer));
			return sbx_fail_at(p->err, SBX_E_INVALID_SETTINGS, pointer,
					   "the member \"%s\" is not known", node->key);
		}
		r = members[i].parse(p, node);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ceiling.bundle out of the ceiling, which then is a profile; NULL: there is none. */
static struct json_node *take_bundle(struct json_node *root)
{
	for (struct json_node *node = root->child; node; node = node->next) {
		if (strcmp(node->key, "ceiling") != 0 || node->type != JSON_OBJECT)
			continue;
		for (struct json_node **at = &node->child; *at; at = &(*at)->next) {
			struct json_node *member = *at;

			if (strcmp(member->key, "bundle") != 0)
				continue;
			*at = member->next;
			node->count--;
			return member;
		}
	}
	return NULL;
}

int settings_parse(struct arena *arena, const char *data, size_t len, const char *profiles_dir,
		   const struct caller_identity *caller, struct settings *ret,
		   struct sbx_error *err)
{
	struct settings settings = {.annotations = ANNOTATIONS_TRUST,
				    .max_executors = MAX_EXECUTORS_DEFAULT};
	struct settings_parser p = {arena, profiles_dir, caller, &settings, false, err};
	struct json_node *root = NULL, *bundle = NULL;
	int r = json_parse(arena, "settings", data, len, &json_limits_profile, &root, err);

	if (r == 0 && root->type == JSON_OBJECT)
		bundle = take_bundle(root);
	if (bundle)
		r = bundle_bounds_parse(arena, bundle, &settings.bounds, err);
	if (r == 0)
		r = parse_members(&p, root);
	if (r < 0)
		return r;
	if (!p.annotations_given &&
	    (settings.ceiling || settings.default_profile || settings.require_profile))
		settings.annotations = ANNOTATIONS_NARROW;
	*ret = settings;
	return 0;
}

int settings_load(struct arena *arena, const char *path, const char *profiles_dir,
		  struct settings *ret, struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	struct caller_identity caller;
	int r;

	*ret = (struct settings){.annotations = ANNOTATIONS_TRUST,
				 .max_executors = MAX_EXECUTORS_DEFAULT};
	/* The common case is one system call. */
	if (!path && access(SETTINGS_PATH, F_OK) < 0 && errno == ENOENT)
		return 0;
	caller_identify(&caller);
	r = trusted_file_read(path ? path : SETTINGS_PATH, TRUST_ADMIN, &caller, DOCUMENT_BYTES_MAX,
			      &text, err);
	if (r == -ENOENT)
		return path ? sbx_fail(err, SBX_E_INVALID_SETTINGS, ENOENT,
				       "read the settings \"%s\"", path)
			    : 0;
	if (r < 0)
		return r;
	r = settings_parse(arena, text.data ? text.data : "", text.len, profiles_dir, &caller, ret,
			   err);
	return r < 0 ? sbx_prefix(err, "settings \"%s\"", path ? path : SETTINGS_PATH) : 0;
}
