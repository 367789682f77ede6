/*
 * config.json as a whole: the top level, mounts and hooks, then the sections of the other files by
 * their tables, then the rules between members (oci_check.c).
 *
 * bytes -> json_parse() -> decode_object() with a table per section -> oci_check()
 */
#include "spec/oci.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "spec/oci_internal.h"

#define MOUNT_OPTION_BYTES_MAX 4095 /* mount(2) takes one page for all */
#define HOOK_TIMEOUT_MAX       INT32_MAX

/* ---- ociVersion: semver.org 2.0.0 ---- */

static bool is_numeric(const char *text, size_t len)
{
	return strspn(text, "0123456789") >= len;
}

/* One number or identifier of at least one byte; numbers have no leading zero where strict. */
static const char *semver_part(const char *p, const char *alphabet, bool strict)
{
	size_t len = strspn(p, alphabet);

	if (len == 0 || (strict && len > 1 && p[0] == '0' && is_numeric(p, len)))
		return NULL;
	return p + len;
}

static const char *semver_identifiers(const char *p, bool strict)
{
	static const char alphabet[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";

	do {
		p = semver_part(p + 1, alphabet, strict);
	} while (p && *p == '.');
	return p;
}

static bool is_semver(const char *text)
{
	const char *p = text;

	for (int i = 0; i < 3 && p; i++) {
		p = semver_part(p, "0123456789", true);
		if (p && i < 2)
			p = *p == '.' ? p + 1 : NULL;
	}
	if (p && *p == '-')
		p = semver_identifiers(p, true);
	if (p && *p == '+')
		p = semver_identifiers(p, false);
	return p && *p == '\0';
}

static int check_version(struct decoder *d, const struct json_node *value)
{
	if (!is_semver(value->text))
		return decode_fail(d, value, "is \"%.64s\", want a version like \"1.3.0\"",
				   value->text);
	if (strncmp(value->text, "1.", 2) != 0)
		return decode_fail(d, value, "is \"%.64s\", only major version 1 is supported",
				   value->text);
	return 0;
}

/* ---- root, names ---- */

static const struct decode_row root_rows[] = {
	{ROW(struct oci_spec, DECODE_STRING, root_path, "path"), .required = true},
	{ROW(struct oci_spec, DECODE_BOOL, root_readonly, "readonly")},
};

static const struct decode_table root_table = {DECODE_TABLE(root_rows, struct oci_spec)};

static int check_uts_name(struct decoder *d, const struct json_node *value)
{
	if (value->len > OCI_UTS_NAME_MAX)
		return decode_fail(d, value, "has %zu bytes, at most %d are allowed", value->len,
				   OCI_UTS_NAME_MAX);
	return 0;
}

static int check_annotation(struct decoder *d, const struct json_node *value)
{
	return value->key[0] ? 0 : decode_fail(d, value, "has an empty key");
}

/* ---- mounts ---- */

static int check_mount_option(struct decoder *d, const struct json_node *value)
{
	if (value->len > MOUNT_OPTION_BYTES_MAX)
		return decode_fail(d, value, "has %zu bytes, at most %d are allowed", value->len,
				   MOUNT_OPTION_BYTES_MAX);
	return 0;
}

static const struct decode_row mount_rows[] = {
	{ROW(struct oci_mount, DECODE_STRING, destination, "destination"), .required = true},
	{ROW(struct oci_mount, DECODE_STRING, type, "type"), .empty_absent = true},
	{ROW(struct oci_mount, DECODE_STRING, source, "source"), .empty_absent = true},
	{ROW(struct oci_mount, DECODE_STRINGS, options, "options"),
	 .max_count = OCI_MOUNT_OPTIONS_MAX, .check = check_mount_option},
	{ROW(struct oci_mount, DECODE_CUSTOM, uid_maps, "uidMappings"),
	 .custom = oci_decode_id_maps},
	{ROW(struct oci_mount, DECODE_CUSTOM, gid_maps, "gidMappings"),
	 .custom = oci_decode_id_maps},
};

static bool has_option(const struct oci_mount *mount, const char *option)
{
	for (size_t i = 0; i < mount->options.n; i++)
		if (strcmp(mount->options.v[i], option) == 0)
			return true;
	return false;
}

/* A bind that is no remount binds something. */
static bool needs_source(const struct oci_mount *mount)
{
	if (has_option(mount, "remount"))
		return false;
	return has_option(mount, "bind") || has_option(mount, "rbind") ||
	       (mount->type && strcmp(mount->type, "bind") == 0);
}

static int check_mount(struct decoder *d, const struct json_node *object, void *decoded)
{
	struct oci_mount *mount = decoded;

	if (needs_source(mount) && !mount->source)
		return decode_fail(d, object, "is a bind mount without a \"source\"");
	if ((mount->uid_maps.n > 0) != (mount->gid_maps.n > 0))
		return decode_fail(d, object, "has only one of \"uidMappings\", \"gidMappings\"");
	/* config.md#mounts: deprecated, but relative means relative to "/". */
	if (mount->destination[0] != '/') {
		mount->destination = arena_printf(d->arena, "/%s", mount->destination);
		if (!mount->destination)
			return decode_no_memory(d);
	}
	return 0;
}

static const struct decode_table mount_table = {DECODE_TABLE(mount_rows, struct oci_mount),
						.check = check_mount};

/* ---- hooks ---- */

static const struct decode_row hook_rows[] = {
	{ROW(struct oci_hook, DECODE_STRING, path, "path"), .required = true,
	 .check = decode_check_absolute},
	{ROW(struct oci_hook, DECODE_STRINGS, args, "args")},
	{ROW(struct oci_hook, DECODE_STRINGS, env, "env"), .check = oci_check_env},
	{ROW(struct oci_hook, DECODE_OPT_I64, timeout_s, "timeout"), .min = 1,
	 .max = HOOK_TIMEOUT_MAX},
};

static int check_hook(struct decoder *d, const struct json_node *object, void *decoded)
{
	struct oci_hook *hook = decoded;

	(void)d;
	(void)object;
	hook->env_set = hook->env.v != NULL;
	return 0;
}

static const struct decode_table hook_table = {DECODE_TABLE(hook_rows, struct oci_hook),
					       .check = check_hook};

#define HOOKS(kind_, name_)                                                                        \
	.name = (name_), .kind = DECODE_ARRAY, .offset = offsetof(struct oci_hooks, v[kind_]),     \
	.count_offset = offsetof(struct oci_hooks, n[kind_]), .table = &hook_table

static const struct decode_row hooks_rows[] = {
	{HOOKS(HOOK_PRESTART, "prestart")},
	{HOOKS(HOOK_CREATE_RUNTIME, "createRuntime")},
	{HOOKS(HOOK_CREATE_CONTAINER, "createContainer")},
	{HOOKS(HOOK_START_CONTAINER, "startContainer")},
	{HOOKS(HOOK_POSTSTART, "poststart")},
	{HOOKS(HOOK_POSTSTOP, "poststop")},
};

static const struct decode_table hooks_table = {DECODE_TABLE(hooks_rows, struct oci_hooks)};

/* ---- the whole ---- */

static const struct decode_row spec_rows[] = {
	{ROW(struct oci_spec, DECODE_STRING, oci_version, "ociVersion"), .required = true,
	 .check = check_version},
	{ROW(struct oci_spec, DECODE_OBJECT, process, "process"), .table = &oci_process_table},
	{.name = "root", .kind = DECODE_STRUCT, .table = &root_table},
	{ROW(struct oci_spec, DECODE_STRING, hostname, "hostname"), .empty_absent = true,
	 .check = check_uts_name},
	{ROW(struct oci_spec, DECODE_STRING, domainname, "domainname"), .empty_absent = true,
	 .check = check_uts_name},
	{ROW(struct oci_spec, DECODE_ARRAY, mounts, "mounts"),
	 .count_offset = offsetof(struct oci_spec, mounts_n), .table = &mount_table},
	{ROW(struct oci_spec, DECODE_STRUCT, hooks, "hooks"), .table = &hooks_table},
	{ROW(struct oci_spec, DECODE_MAP, annotations, "annotations"), .check = check_annotation},
	{ROW(struct oci_spec, DECODE_STRUCT, linux_, "linux"), .table = &oci_linux_table},
};

static const struct decode_table spec_table = {DECODE_TABLE(spec_rows, struct oci_spec)};

/* A document of one table: parsed and decoded into a new struct in the arena. */
static int parse_document(struct decoder *d, const char *data, size_t len,
			  const struct decode_table *table, struct json_node **ret_root, void **ret)
{
	struct json_node *root;
	void *made = NULL;
	int r;

	r = json_parse(d->arena, d->what, data, len, &json_limits_config, &root, d->err);
	if (r < 0)
		return r;
	made = arena_alloc(d->arena, table->size);
	if (!made)
		return decode_no_memory(d);
	r = decode_object(d, root, table, made);
	if (r < 0)
		return r;
	*ret_root = root;
	*ret = made;
	return 0;
}

int oci_parse(struct arena *arena, const char *data, size_t len, struct oci_spec **ret,
	      struct sbx_error *err)
{
	struct decoder d = {
		.arena = arena, .what = "config.json", .code = SBX_E_INVALID_CONFIG, .err = err};
	struct json_node *root = NULL;
	struct oci_spec *spec;
	void *made = NULL;
	int r = parse_document(&d, data, len, &spec_table, &root, &made);

	if (r < 0)
		return r;
	spec = made;
	/* Where parsing succeeded it made one. NOLINTNEXTLINE(clang-analyzer-core.*) */
	spec->json = root;
	r = oci_check(spec, err);
	if (r == 0)
		*ret = spec;
	return r;
}

int oci_parse_process(struct arena *arena, const char *data, size_t len, struct oci_process **ret,
		      struct sbx_error *err)
{
	struct decoder d = {.arena = arena,
			    .what = "the process document",
			    .code = SBX_E_INVALID_CONFIG,
			    .err = err};
	struct json_node *root;
	void *made = NULL;
	int r = parse_document(&d, data, len, &oci_process_table, &root, &made);

	if (r == 0)
		*ret = made;
	return r;
}

int oci_parse_resources(struct arena *arena, const char *data, size_t len,
			struct oci_resources **ret, struct sbx_error *err)
{
	struct decoder d = {.arena = arena,
			    .what = "the resources document",
			    .code = SBX_E_INVALID_CONFIG,
			    .err = err};
	struct json_node *root;
	void *made = NULL;
	int r = parse_document(&d, data, len, &oci_resources_table, &root, &made);

	if (r == 0)
		*ret = made;
	return r;
}

const char *oci_annotation(const struct oci_spec *spec, const char *key)
{
	for (size_t i = 0; i < spec->annotations.n; i++)
		if (strcmp(spec->annotations.v[i].key, key) == 0)
			return spec->annotations.v[i].value;
	return NULL;
}
