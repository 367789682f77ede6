/*
 * The resctrl class of an existing container: its removal, and new schemas.
 */
#ifndef SBX_RUNTIME_RDT_H
#define SBX_RUNTIME_RDT_H

#include "runtime/container.h"

/* What create made of it; nothing where config.json has no intelRdt. */
int rdt_remove(struct container *c, struct sbx_error *err);

/* update: new schemas, NULL: as it is. SBX_E_UNSUPPORTED for a container without intelRdt. */
int rdt_update(struct container *c, const char *l3_cache_schema, const char *mem_bw_schema,
	       struct sbx_error *err);

#endif
