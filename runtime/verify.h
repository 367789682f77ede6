/*
 * `report --verify`: the stored plan against what the container's processes are, and against what a
 * further process of it can do.
 */
#ifndef SBX_RUNTIME_VERIFY_H
#define SBX_RUNTIME_VERIFY_H

#include "runtime/container.h"
#include "spec/proof.h"

/* SBX_E_CONTAINER_STATUS, SBX_E_UNSUPPORTED: not running, no profile. */
int verify_check(const struct container *c, struct sbx_error *err);

/* Gather the evidence for the claimed bits. -errno where it could not even be looked for. */
int verify_container(struct container *c, uint32_t claimed, struct proof *proof,
		     struct sbx_error *err);

/* The bits that can still hold, as far as one look tells: those of a report's "now". */
uint32_t verify_holding(const struct container *c);

#endif
