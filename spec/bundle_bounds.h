/*
 * ceiling.bundle of the administrator's settings: what the author of a config.json may ask for.
 *
 * A profile bounds what runs; whoever writes config.json decides besides what is mounted, which
 * hooks run on the host, which namespaces are joined. A member that is absent bounds nothing.
 */
#ifndef SBX_SPEC_BUNDLE_BOUNDS_H
#define SBX_SPEC_BUNDLE_BOUNDS_H

#include <stdbool.h>

#include "runtime/base/error.h"
#include "spec/json.h"
#include "spec/oci.h"

struct bundle_bounds {
	bool bounds_sources;	     /* bindSources is given, empty or not */
	struct strings bind_sources; /* canonical paths of the host */
	struct oci_opt_bool hooks, devices, namespace_paths;
	const char *cgroup_parent; /* "/x" for cgroupfs, "x.slice" for systemd; NULL: any */
	const char *userns;	   /* "required", or NULL */
};

/* From the object in the settings. SBX_E_INVALID_SETTINGS with the pointer. */
int bundle_bounds_parse(struct arena *arena, const struct json_node *node,
			struct bundle_bounds **ret, struct sbx_error *err);

/* What config.json itself tells; bounds may be NULL, here and below. SBX_E_PERMISSION_DENIED with
 * the pointer into config.json. */
int bundle_bounds_check(const struct bundle_bounds *bounds, const struct oci_spec *spec,
			struct sbx_error *err);

/* The source of a bind, where it really is: a canonical path of the host. */
int bundle_bounds_check_source(const struct bundle_bounds *bounds, const char *path,
			       struct sbx_error *err);

/* The same of one that is a device node. */
int bundle_bounds_check_device(const struct bundle_bounds *bounds, const char *path,
			       struct sbx_error *err);

/* A new file system: one that takes folders or disks of the host by its options is no less a
 * source, and cannot be judged. */
int bundle_bounds_check_type(const struct bundle_bounds *bounds, const char *type,
			     struct sbx_error *err);

#endif
