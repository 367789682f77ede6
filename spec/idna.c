/*
 * One call into libidn2. Its answer is checked again by the caller as any other name. That check is
 * also why IDN2_USE_STD3_ASCII_RULES is not set: with it libidn2 2.3 silently drops what the rules
 * forbid ("a_b" becomes "ab") instead of refusing it.
 */
#include "spec/idna.h"

#include <stdint.h>
#include <string.h>

#include "config.h"

#ifdef HAVE_LIBIDN2
#include <idn2.h>

int idna_to_ascii(const char *name, char *ret, size_t size, struct sbx_error *err)
{
	uint8_t *ascii = NULL;
	int r = 0;
	int code = idn2_lookup_u8((const uint8_t *)name, &ascii,
				  IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);

	if (code != IDN2_OK)
		return sbx_fail(err, SBX_E_INVALID_PROFILE, 0, "convert the name \"%s\": %s", name,
				idn2_strerror(code));
	if (strlen((const char *)ascii) >= size)
		r = sbx_fail(err, SBX_E_INVALID_PROFILE, 0,
			     "convert the name \"%s\": the result is too long", name);
	else
		memcpy(ret, ascii, strlen((const char *)ascii) + 1);
	idn2_free(ascii);
	return r;
}
#else
int idna_to_ascii(const char *name, char *ret, size_t size, struct sbx_error *err)
{
	(void)ret;
	(void)size;
	return sbx_fail(
		err, SBX_E_UNSUPPORTED, 0,
		"convert the name \"%s\": this program was built without libidn2; write the "
		"name with its A-labels (xn--...)",
		name);
}
#endif
