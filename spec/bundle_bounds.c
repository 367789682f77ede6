#include "spec/bundle_bounds.h"

#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"
#include "spec/decode.h"

#define REFUSED "the administrator's ceiling.bundle does not allow it"

/* ---- parsing ---- */

static int check_canonical(struct decoder *d, const struct json_node *value)
{
	return path_is_canonical(value->text)
		       ? 0
		       : decode_fail(d, value,
				     "is \"%s\", want an absolute path without \".\", \"..\", "
				     "\"//\" and trailing slash",
				     value->text);
}

static int check_parent(struct decoder *d, const struct json_node *value)
{
	size_t len = strlen(value->text);
	static const char slice[] = ".slice";

	if (path_is_canonical(value->text) ||
	    (!strchr(value->text, '/') && len > sizeof(slice) - 1 &&
	     strcmp(value->text + len - (sizeof(slice) - 1), slice) == 0))
		return 0;
	return decode_fail(d, value, "is \"%s\", want an absolute path or the name of a slice",
			   value->text);
}

static const char *const userns_words[] = {"required", NULL};

#define MEMBER(field) .offset = offsetof(struct bundle_bounds, field)

static const struct decode_row rows[] = {
	{.name = "bindSources",
	 .kind = DECODE_STRINGS,
	 MEMBER(bind_sources),
	 .check = check_canonical},
	{.name = "hooks", .kind = DECODE_OPT_BOOL, MEMBER(hooks)},
	{.name = "devices", .kind = DECODE_OPT_BOOL, MEMBER(devices)},
	{.name = "namespacePaths", .kind = DECODE_OPT_BOOL, MEMBER(namespace_paths)},
	{.name = "cgroupParent",
	 .kind = DECODE_STRING,
	 MEMBER(cgroup_parent),
	 .check = check_parent},
	{.name = "userns", .kind = DECODE_STRING, MEMBER(userns), .words = userns_words},
};

static const struct decode_table table = {DECODE_TABLE(rows, struct bundle_bounds), .closed = true};

int bundle_bounds_parse(struct arena *arena, const struct json_node *node,
			struct bundle_bounds **ret, struct sbx_error *err)
{
	struct decoder d = {
		.arena = arena, .what = "settings", .code = SBX_E_INVALID_SETTINGS, .err = err};
	const struct json_node *sources = json_get(node, "bindSources");
	struct bundle_bounds *bounds = arena_alloc(arena, sizeof(*bounds));
	int rc;

	if (!bounds)
		return decode_no_memory(&d);
	rc = decode_want(&d, node, JSON_OBJECT);
	if (rc == 0)
		rc = decode_object(&d, node, &table, bounds);
	if (rc < 0)
		return rc;
	bounds->bounds_sources = sources && sources->type == JSON_ARRAY;
	*ret = bounds;
	return 0;
}

/* ---- what config.json tells ---- */

static bool forbids(const struct oci_opt_bool *allowed)
{
	return allowed->set && !allowed->v;
}

static int refuse(struct sbx_error *err, const char *pointer, const char *what)
{
	return sbx_fail_at(err, SBX_E_PERMISSION_DENIED, pointer, "%s: %s", what, REFUSED);
}

static int check_hooks(const struct oci_spec *spec, struct sbx_error *err)
{
	for (size_t kind = 0; kind < HOOK_KIND_COUNT; kind++)
		if (spec->hooks.n[kind])
			return refuse(err, "/hooks", "run hooks");
	return 0;
}

static int check_namespaces(const struct oci_spec *spec, struct sbx_error *err)
{
	for (size_t ns = 0; ns < NS_COUNT; ns++)
		if (spec->linux_.ns[ns].path)
			return sbx_fail_at(err, SBX_E_PERMISSION_DENIED, "/linux/namespaces",
					   "join the %s namespace \"%s\": %s",
					   oci_ns_name((enum oci_ns)ns), spec->linux_.ns[ns].path,
					   REFUSED);
	return 0;
}

/* systemd's form is SLICE:PREFIX:NAME. */
static int check_cgroup(const char *parent, const char *path, struct sbx_error *err)
{
	size_t len = strlen(parent);
	bool inside;

	if (parent[0] == '/')
		inside = path && path_is_canonical(path) && path_is_below(path, parent) &&
			 strcmp(path, parent) != 0;
	else
		inside = path && strncmp(path, parent, len) == 0 && path[len] == ':';
	return inside ? 0
		      : sbx_fail_at(err, SBX_E_PERMISSION_DENIED, "/linux/cgroupsPath",
				    "use cgroup path \"%s\" outside of \"%s\": %s",
				    path ? path : "", parent, REFUSED);
}

/* Ids of their own: none is the host's root. */
static int check_userns(const struct oci_spec *spec, struct sbx_error *err)
{
	const struct oci_id_maps *maps[] = {&spec->linux_.uid_maps, &spec->linux_.gid_maps};
	const struct oci_namespace *ns = &spec->linux_.ns[NS_USER];

	if (!ns->set || ns->path)
		return refuse(err, "/linux/namespaces",
			      "run without a new user namespace, which is required");
	for (size_t k = 0; k < ARRAY_SIZE(maps); k++)
		for (size_t i = 0; i < maps[k]->n; i++)
			if (maps[k]->v[i].host_id == 0 && maps[k]->v[i].size > 0)
				return refuse(err, k ? "/linux/gidMappings" : "/linux/uidMappings",
					      "map the host's id 0 into the user namespace");
	return 0;
}

int bundle_bounds_check(const struct bundle_bounds *bounds, const struct oci_spec *spec,
			struct sbx_error *err)
{
	int rc = 0;

	if (!bounds)
		return 0;
	if (forbids(&bounds->hooks))
		rc = check_hooks(spec, err);
	if (rc == 0 && forbids(&bounds->devices) && spec->linux_.devices_n)
		rc = refuse(err, "/linux/devices", "make device nodes");
	if (rc == 0 && forbids(&bounds->namespace_paths))
		rc = check_namespaces(spec, err);
	if (rc == 0 && bounds->cgroup_parent)
		rc = check_cgroup(bounds->cgroup_parent, spec->linux_.cgroups_path, err);
	if (rc == 0 && bounds->userns)
		rc = check_userns(spec, err);
	return rc;
}

int bundle_bounds_check_source(const struct bundle_bounds *bounds, const char *path,
			       struct sbx_error *err)
{
	if (!bounds || !bounds->bounds_sources)
		return 0;
	for (size_t i = 0; i < bounds->bind_sources.n; i++)
		if (path_is_below(path, bounds->bind_sources.v[i]))
			return 0;
	return sbx_fail_at(err, SBX_E_PERMISSION_DENIED, "/mounts", "bind \"%s\": %s", path,
			   REFUSED);
}

int bundle_bounds_check_device(const struct bundle_bounds *bounds, const char *path,
			       struct sbx_error *err)
{
	if (!bounds || !forbids(&bounds->devices))
		return 0;
	return sbx_fail_at(err, SBX_E_PERMISSION_DENIED, "/mounts", "bind the device \"%s\": %s",
			   path, REFUSED);
}

int bundle_bounds_check_type(const struct bundle_bounds *bounds, const char *type,
			     struct sbx_error *err)
{
	static const char *const of_kernel[] = {"proc",	  "sysfs",  "tmpfs",  "devpts",
						"mqueue", "cgroup", "cgroup2"};

	if (!bounds || !bounds->bounds_sources)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(of_kernel); i++)
		if (strcmp(type, of_kernel[i]) == 0)
			return 0;
	return sbx_fail_at(err, SBX_E_PERMISSION_DENIED, "/mounts",
			   "mount a file system of type \"%s\": %s", type, REFUSED);
}
