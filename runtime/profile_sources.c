/*
 * Gather, then narrow.
 *
 * Annotations come from whoever wrote config.json, which may be an image: they are the untrusted
 * source. A profile that unconfines needs a ceiling behind it, and an inline document does not
 * count where a profile is required.
 *
 * A pod's sandbox container gets a part of the profile only, and an image could say that it is one.
 * Three things must come together for it. The annotations of the manager name the container's own
 * id as the pod's; an image is made before that id is. Nothing is mounted but below /dev, /etc,
 * /proc and /sys, where a manager puts what a pod shares. And the part is taken of what an
 * annotation gave, never of the flag, and of the administrator's sources only where the settings
 * trust annotations.
 */
#include "runtime/profile_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/log.h"
#include "runtime/base/path.h"
#include "runtime/settings.h"
#include "spec/hash.h"

#define SOURCE_BYTES_MAX ((size_t)256 << 10)
#define SOURCES_MAX	 4
#define JSON_SPACE	 " \t\r\n"

/* Annotations by which the two CRI managers say what a container is. */
static const char *const cri_type_keys[] = {"io.kubernetes.cri.container-type",
					    "io.kubernetes.cri-o.ContainerType"};
static const char *const cri_name_keys[] = {"io.kubernetes.cri.container-name",
					    "io.kubernetes.container.name"};
static const char *const cri_sandbox_keys[] = {"io.kubernetes.cri.sandbox-id",
					       "io.kubernetes.cri-o.SandboxID"};

/* Where a manager mounts something into it: devices, shm, resolv.conf, hostname, kernel's own. */
static const char *const sandbox_folders[] = {"/dev", "/etc", "/proc", "/sys"};

struct gathering {
	struct arena *arena;
	const struct oci_spec *spec;
	const struct profile_source_options *options;
	struct sbx_error *err;
	struct caller_identity caller; /* asked for when the first name is looked up */
	bool caller_known;
	struct settings settings;
	const char *workspace; /* of the annotation, where it is honoured */
	bool pod_sandbox;
	struct policy_exemption exemption;

	struct profile *flag, *annotation;
	bool annotation_installed;
	const char *flag_name, *annotation_name; /* as the report calls them */
};

/* ---- one document ---- */

static bool is_file(const char *source)
{
	return strchr(source, '/') || strcmp(source, "-") == 0;
}

static int read_regular(const char *path, struct buf *out, struct sbx_error *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_fail(err, SBX_E_INVALID_PROFILE, errno, "open the profile \"%s\"", path);
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_INVALID_PROFILE, 0,
				"open the profile \"%s\": it is no regular file", path);
	r = fd_read_all(fd, SOURCE_BYTES_MAX, out);
	return r < 0 ? sbx_fail(err, SBX_E_INVALID_PROFILE, -r, "read the profile \"%s\"", path)
		     : 0;
}

int profile_source_read(const char *source, struct buf *out, struct sbx_error *err)
{
	int r;

	if (strcmp(source, "-") != 0)
		return read_regular(source, out, err);
	r = fd_read_all(STDIN_FILENO, SOURCE_BYTES_MAX, out);
	return r < 0 ? sbx_fail(err, SBX_E_INVALID_PROFILE, -r,
				"read the profile from standard input")
		     : 0;
}

/* For the command line alone: elsewhere a name is a name. */
static int hint_at_file(int r, struct sbx_error *err)
{
	char text[SBX_MESSAGE_MAX];

	if (r != -ENOENT)
		return r;
	snprintf(text, sizeof(text), "%s", err->message);
	return sbx_fail(err, err->code, 0, "%s (a file is written with a \"/\")", text);
}

int profile_source_load(struct arena *arena, const char *source, enum profile_role role,
			const char *workspace, struct profile **ret, struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	struct caller_identity caller;
	int r;

	if (!is_file(source)) {
		caller_identify(&caller);
		return hint_at_file(installed_profile_load(arena, source, NULL, &caller, role,
							   workspace, ret, err),
				    err);
	}
	r = profile_source_read(source, &text, err);
	if (r == 0)
		r = profile_parse(arena, text.data ? text.data : "", text.len, role, workspace, ret,
				  err);
	return r < 0 ? sbx_prefix(err, "\"%s\"", source) : 0;
}

/* ---- annotations ---- */

bool annotation_is_secret(const char *key)
{
	return strcmp(key, ANNOTATION_GRANTS) == 0;
}

static const char *first_annotation(const struct oci_spec *spec, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *value = oci_annotation(spec, keys[i]);

		if (value)
			return value;
	}
	return NULL;
}

static bool is_known(const char *key)
{
	return strcmp(key, ANNOTATION_PROFILE) == 0 || strcmp(key, ANNOTATION_WORKSPACE) == 0 ||
	       strcmp(key, ANNOTATION_GRANTS) == 0 ||
	       strncmp(key, ANNOTATION_PROFILE ".", strlen(ANNOTATION_PROFILE ".")) == 0;
}

static int look_at_keys(const struct gathering *g)
{
	const struct oci_key_values *all = &g->spec->annotations;

	for (size_t i = 0; i < all->n; i++) {
		const char *key = all->v[i].key;

		if (strncmp(key, ANNOTATION_PREFIX, strlen(ANNOTATION_PREFIX)) != 0)
			continue;
		if (strcmp(key, ANNOTATION_GRANTS) == 0)
			return sbx_fail_at(
				g->err, SBX_E_UNSUPPORTED, "/annotations/dev.sbx.grants",
				"config.json has the annotation \"%s\": this release does "
				"not take grants yet",
				key);
		if (!is_known(key))
			log_warning("ignore the unknown annotation \"%s\"", key);
	}
	return 0;
}

static bool is_mount_destination(const struct oci_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->mounts_n; i++) {
		char destination[PATH_MAX];

		if (path_normalize(spec->mounts[i].destination, destination, sizeof(destination)) ==
			    0 &&
		    strcmp(destination, path) == 0)
			return true;
	}
	return false;
}

static void look_at_workspace(struct gathering *g)
{
	const char *value = oci_annotation(g->spec, ANNOTATION_WORKSPACE);

	if (!value)
		return;
	if (path_is_canonical(value) && strcmp(value, "/") != 0 &&
	    is_mount_destination(g->spec, value))
		g->workspace = value;
	else
		log_warning("ignore the annotation \"%s\": \"%s\" is no mount destination of the "
			    "bundle",
			    ANNOTATION_WORKSPACE, value);
}

static int load_installed(struct gathering *g, const char *name, struct profile **ret)
{
	if (!g->caller_known)
		caller_identify(&g->caller);
	g->caller_known = true;
	return installed_profile_load(g->arena, name, g->options->profiles_dir, &g->caller,
				      PROFILE_ROLE_PROFILE, g->workspace, ret, g->err);
}

static int parse_inline(struct gathering *g, const char *text, size_t len)
{
	g->annotation_name = "annotation:inline";
	return profile_parse(g->arena, text, len, PROFILE_ROLE_PROFILE, g->workspace,
			     &g->annotation, g->err);
}

static int parse_base64(struct gathering *g, const char *text)
{
	cleanup_buf struct buf document = BUF_INIT;
	int r = base64url_decode(text, strlen(text), SOURCE_BYTES_MAX, &document);

	if (r < 0)
		return sbx_fail(
			g->err, SBX_E_INVALID_PROFILE, r == -EINVAL ? 0 : -r,
			"read the base64url form: it must be strict and without padding, as "
			"`profile encode` prints it");
	return parse_inline(g, document.data ? document.data : "", document.len);
}

/* podman ends an annotation's value at a comma or a line's end. */
static int parse_json(struct gathering *g, const char *value)
{
	size_t len = strlen(value);

	while (len > 0 && strchr(JSON_SPACE, value[len - 1]))
		len--;
	if (len == 0 || value[len - 1] != '}')
		return sbx_fail(g->err, SBX_E_INVALID_PROFILE, 0,
				"the JSON object is cut off: give it as `profile encode` prints "
				"it, which every manager passes on whole");
	return parse_inline(g, value, len);
}

static int parse_annotation_value(struct gathering *g, const char *value)
{
	if (value[strspn(value, JSON_SPACE)] == '{')
		return parse_json(g, value);
	if (strncmp(value, ANNOTATION_BASE64_PREFIX, strlen(ANNOTATION_BASE64_PREFIX)) == 0)
		return parse_base64(g, value + strlen(ANNOTATION_BASE64_PREFIX));
	if (!profile_name_is_valid(value))
		return sbx_fail(
			g->err, SBX_E_INVALID_PROFILE, 0,
			"the value is neither a JSON object nor b64: and its base64url form "
			"nor the name of an installed profile");
	g->annotation_installed = true;
	g->annotation_name = arena_printf(g->arena, "annotation:%s", value);
	return load_installed(g, value, &g->annotation);
}

static int load_annotation(struct gathering *g)
{
	const char *name = first_annotation(g->spec, cri_name_keys, ARRAY_SIZE(cri_name_keys));
	const char *key = ANNOTATION_PROFILE, *value = NULL;
	int r;

	if (name) {
		key = arena_printf(g->arena, ANNOTATION_PROFILE ".%s", name);
		value = key ? oci_annotation(g->spec, key) : NULL;
	}
	if (!value) {
		key = ANNOTATION_PROFILE;
		value = oci_annotation(g->spec, key);
	}
	if (!value)
		return 0;
	r = parse_annotation_value(g, value);
	if (r < 0)
		return sbx_prefix(g->err, "annotation \"%s\"", key);
	if (!g->annotation_name)
		return sbx_fail(g->err, SBX_E_SYSTEM, ENOMEM, "gather the profile");
	return 0;
}

/* ---- the others ---- */

static int load_flag(struct gathering *g)
{
	const char *source = g->options->flag;
	int r;

	if (!source && !g->options->document)
		return 0;
	if (!source) {
		g->flag_name = "run";
		return profile_parse(g->arena, g->options->document, strlen(g->options->document),
				     PROFILE_ROLE_PROFILE, g->workspace, &g->flag, g->err);
	}
	if (is_file(source))
		r = profile_source_load(g->arena, source, PROFILE_ROLE_PROFILE, g->workspace,
					&g->flag, g->err);
	else
		r = hint_at_file(load_installed(g, source, &g->flag), g->err);
	if (r < 0)
		return sbx_prefix(g->err, "--profile");
	g->flag_name = arena_printf(g->arena, "flag:%s", source);
	return g->flag_name ? 0 : sbx_fail(g->err, SBX_E_SYSTEM, ENOMEM, "gather the profile");
}

/* True where an annotation alone does not satisfy the administrator. */
static bool needs_default(const struct gathering *g)
{
	const struct settings *s = &g->settings;

	if (g->flag)
		return false;
	if (!g->annotation || s->annotations == ANNOTATIONS_NARROW)
		return true;
	return s->require_profile && !g->annotation_installed && !s->ceiling;
}

static int check_required(const struct gathering *g, bool has_default)
{
	const struct settings *s = &g->settings;

	if (!s->require_profile || g->flag || s->ceiling || has_default ||
	    (g->annotation && g->annotation_installed))
		return 0;
	return sbx_fail(g->err, SBX_E_PROFILE_REQUIRED, 0,
			"the administrator requires a profile: name an installed one in the "
			"annotation \"%s\", or give --profile%s",
			ANNOTATION_PROFILE,
			g->annotation ? "; an inline document in an annotation does not count"
				      : "");
}

/* ---- together ---- */

struct source {
	struct profile *profile;
	const char *name;
};

/* Only these places, whatever is mounted there: what else a mount shows is for others to find out.
 */
static bool is_sandbox_mount(const struct oci_mount *mount)
{
	char destination[PATH_MAX];

	if (path_normalize(mount->destination, destination, sizeof(destination)) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(sandbox_folders); i++) {
		size_t len = strlen(sandbox_folders[i]);

		if (strncmp(destination, sandbox_folders[i], len) == 0 &&
		    (!destination[len] || destination[len] == '/'))
			return true;
	}
	return false;
}

static bool is_pod_sandbox(const struct gathering *g)
{
	const struct oci_spec *spec = g->spec;
	const char *type = first_annotation(spec, cri_type_keys, ARRAY_SIZE(cri_type_keys));
	const char *id = first_annotation(spec, cri_sandbox_keys, ARRAY_SIZE(cri_sandbox_keys));

	if (!type || strcmp(type, "sandbox") != 0)
		return false;
	if (!id || !g->options->id || strcmp(id, g->options->id) != 0)
		return false;
	for (size_t i = 0; i < spec->mounts_n; i++)
		if (!is_sandbox_mount(&spec->mounts[i]))
			return false;
	return true;
}

static void exempt_pod_sandbox(struct gathering *g, struct source *sources, size_t n)
{
	bool trusted = g->settings.annotations == ANNOTATIONS_TRUST;

	for (size_t i = 0; i < n; i++) {
		const struct profile *full = sources[i].profile;

		if (!full || full == g->flag || (full != g->annotation && !trusted))
			continue;
		sources[i].profile = profile_sandbox_part(g->arena, full);
		if (!sources[i].profile)
			continue; /* combine() says so */
		g->exemption.bits |= policy_left_out(full, sources[i].profile);
		g->exemption.source = sources[i].name;
	}
}

static int combine(const struct gathering *g, const struct source *sources, size_t n,
		   struct profile **ret, struct profile_origin *ret_origin)
{
	struct strings names = {.v = arena_alloc_array(g->arena, n + 1, sizeof(char *))};
	struct profile *effective = NULL;
	int r = 0;

	if (!names.v)
		return sbx_fail(g->err, SBX_E_SYSTEM, ENOMEM, "gather the profile");
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!sources[i].name)
			continue;
		if (!sources[i].profile)
			return sbx_fail(g->err, SBX_E_SYSTEM, ENOMEM, "gather the profile");
		names.v[names.n++] = (char *)(uintptr_t)sources[i].name;
		if (!effective)
			effective = sources[i].profile;
		else
			r = profile_restrict(g->arena, effective, sources[i].profile, &effective,
					     g->err);
	}
	if (r == 0) {
		*ret = effective;
		*ret_origin = (struct profile_origin){.sources = names,
						      .exemption = g->exemption,
						      .bounds = g->settings.bounds,
						      .max_executors = g->settings.max_executors,
						      .scratch_root = g->settings.scratch_root};
	}
	return r;
}

/* Only a ceiling or a default may have left it out; a pod's sandbox container has none. */
static int place_workspace(const struct gathering *g, struct profile *effective)
{
	struct profile_root root;

	if (effective->workspace.path || g->exemption.source)
		return 0;
	if (!g->workspace)
		return sbx_fail_at(g->err, SBX_E_INVALID_PROFILE, "/workspace/root",
				   "no source of the profile names the workspace: give the "
				   "annotation \"%s\" with a mount destination of the bundle",
				   ANNOTATION_WORKSPACE);
	if (profile_rule_for_tree(effective, g->workspace, &root) == 0)
		return sbx_fail_at(g->err, SBX_E_INVALID_PROFILE, "/roots",
				   "the root \"%s\" is the workspace of the annotation \"%s\"",
				   root.path, ANNOTATION_WORKSPACE);
	effective->workspace.path = g->workspace;
	return 0;
}

static int check_unconfined(const struct gathering *g, const struct profile *effective,
			    bool has_default)
{
	if (effective->isolation != ISOLATION_UNCONFINED || !g->annotation || g->settings.ceiling ||
	    g->flag || has_default)
		return 0;
	return sbx_fail_at(g->err, SBX_E_INVALID_PROFILE, "/isolation",
			   "%s asks for isolation \"unconfined\": that needs a ceiling in the "
			   "settings that allows it",
			   g->annotation_name);
}

static int resolve(struct gathering *g, struct profile **ret, struct profile_origin *ret_origin)
{
	struct profile *fallback = needs_default(g) ? g->settings.default_profile : NULL;
	struct source sources[SOURCES_MAX] = {
		{g->flag, g->flag_name},
		{g->annotation, g->annotation_name},
		{fallback, fallback ? "default" : NULL},
		{g->settings.ceiling, g->settings.ceiling ? "ceiling" : NULL},
	};
	struct profile *effective = NULL;
	int r = check_required(g, fallback != NULL);

	if (r < 0)
		return r;
	if (g->pod_sandbox)
		exempt_pod_sandbox(g, sources, SOURCES_MAX);
	r = combine(g, sources, SOURCES_MAX, &effective, ret_origin);
	if (r < 0 || !effective)
		return r;
	r = place_workspace(g, effective);
	if (r == 0)
		r = check_unconfined(g, effective, fallback != NULL);
	if (r == 0)
		*ret = effective;
	return r;
}

int profile_sources_resolve(struct arena *arena, const struct oci_spec *spec,
			    const struct profile_source_options *options, struct profile **ret,
			    struct profile_origin *ret_origin, struct sbx_error *err)
{
	struct gathering g = {.arena = arena, .spec = spec, .options = options, .err = err};
	int r = settings_load(arena, options->settings, options->profiles_dir, &g.settings, err);

	if (r == 0)
		r = bundle_bounds_check(g.settings.bounds, spec, err);
	if (r == 0)
		r = look_at_keys(&g);
	if (r < 0)
		return r;
	if (g.settings.annotations != ANNOTATIONS_IGNORE) {
		g.pod_sandbox = is_pod_sandbox(&g);
		look_at_workspace(&g);
		r = load_annotation(&g);
	}
	if (options->workspace)
		g.workspace = options->workspace;
	if (r == 0)
		r = load_flag(&g);
	return r < 0 ? r : resolve(&g, ret, ret_origin);
}
