#include "runtime/rdt.h"

#include <errno.h>

#include "backends/linux/resctrl.h"
#include "runtime/base/cleanup.h"

int rdt_remove(struct container *c, struct sbx_error *err)
{
	const struct oci_intel_rdt *rdt;
	struct resctrl_group group;
	cleanup_fd int root_fd = -EBADF;
	int rc;

	if (!c->state.has_intel_rdt)
		return 0;
	rc = container_load_spec(c, err);
	rdt = rc < 0 ? NULL : c->spec->linux_.intel_rdt;
	if (!rdt)
		return rc;
	root_fd = resctrl_open();
	if (root_fd < 0) /* it is mounted no more: its classes are gone as well */
		return 0;
	group = resctrl_group_of(root_fd, rdt, c->state.id);
	return resctrl_remove(&group, rdt, err);
}

int rdt_update(struct container *c, const char *l3_cache_schema, const char *mem_bw_schema,
	       struct sbx_error *err)
{
	struct oci_intel_rdt wanted = {.l3_cache_schema = l3_cache_schema,
				       .mem_bw_schema = mem_bw_schema};
	struct resctrl_group group;
	cleanup_fd int root_fd = -EBADF;
	int rc = 0;

	if (!l3_cache_schema && !mem_bw_schema)
		return 0;
	if (c->state.has_intel_rdt)
		rc = container_load_spec(c, err);
	if (rc < 0)
		return rc;
	if (!c->state.has_intel_rdt || !c->spec->linux_.intel_rdt)
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
				"update by \"--%s\": the container was made without "
				"\"linux.intelRdt\"",
				l3_cache_schema ? "l3-cache-schema" : "mem-bw-schema");
	root_fd = resctrl_open();
	if (root_fd < 0)
		return sbx_fail(err, SBX_E_UNSUPPORTED, -root_fd, "open resctrl");
	group = resctrl_group_of(root_fd, c->spec->linux_.intel_rdt, c->state.id);
	return resctrl_write(&group, &wanted, err);
}
