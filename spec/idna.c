/*
 * One call into libidn2, by dlopen(3). The prototypes and flag values are those of its stable
 * interface (idn2.h, soname libidn2.so.0); the library's answer is checked again by the caller as
 * any other name. That check is also why IDN2_USE_STD3_ASCII_RULES is not set: with it libidn2 2.3
 * silently drops what the rules forbid ("a_b" becomes "ab") instead of refusing it.
 */
#include "spec/idna.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#define IDN2_LIBRARY	     "libidn2.so.0"
#define IDN2_NFC_INPUT	     1
#define IDN2_NONTRANSITIONAL 8

typedef int (*idn2_lookup_u8_fn)(const uint8_t *src, uint8_t **ret_name, int flags);
typedef const char *(*idn2_strerror_fn)(int code);
typedef void (*idn2_free_fn)(void *ptr);

struct idn2 {
	void *handle;
	idn2_lookup_u8_fn lookup;
	idn2_strerror_fn strerror;
	idn2_free_fn free;
};

static void idn2_close(struct idn2 *lib)
{
	if (lib->handle)
		dlclose(lib->handle);
}

/* dlsym(3) returns an object pointer; POSIX lets it be stored into a function pointer this way. */
static void *idn2_symbol(const struct idn2 *lib, const char *name)
{
	return dlsym(lib->handle, name);
}

static int idn2_open(struct idn2 *lib)
{
	lib->handle = dlopen(IDN2_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!lib->handle)
		return -ENOENT;
	*(void **)&lib->lookup = idn2_symbol(lib, "idn2_lookup_u8");
	*(void **)&lib->strerror = idn2_symbol(lib, "idn2_strerror");
	*(void **)&lib->free = idn2_symbol(lib, "idn2_free");
	return lib->lookup && lib->strerror && lib->free ? 0 : -ENOENT;
}

int idna_to_ascii(const char *name, char *ret, size_t size, struct sbx_error *err)
{
	__attribute__((cleanup(idn2_close))) struct idn2 lib = {0};
	uint8_t *ascii = NULL;
	int code, r = 0;

	if (idn2_open(&lib) < 0)
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
				"convert the name \"%s\": %s is not installed; write the name with "
				"its A-labels (xn--...)",
				name, IDN2_LIBRARY);
	code = lib.lookup((const uint8_t *)name, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	if (code != 0)
		return sbx_fail(err, SBX_E_INVALID_PROFILE, 0, "convert the name \"%s\": %s", name,
				lib.strerror(code));
	if (strlen((const char *)ascii) >= size)
		r = sbx_fail(err, SBX_E_INVALID_PROFILE, 0,
			     "convert the name \"%s\": the result is too long", name);
	else
		memcpy(ret, ascii, strlen((const char *)ascii) + 1);
	lib.free(ascii);
	return r;
}
