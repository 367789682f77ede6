/*
 * U-labels to A-labels (IDNA2008 with the non-transitional mapping of UTS 46).
 *
 * Built without libidn2, a name with U-labels is refused by name: write its A-labels instead.
 */
#ifndef SBX_SPEC_IDNA_H
#define SBX_SPEC_IDNA_H

#include <stddef.h>

#include "runtime/base/error.h"

/*
 * The A-label form of a UTF-8 name into ret (size bytes with the NUL). SBX_E_UNSUPPORTED where
 * libidn2 is missing, SBX_E_INVALID_PROFILE where the name is not valid or does not fit.
 */
int idna_to_ascii(const char *name, char *ret, size_t size, struct sbx_error *err);

#endif
