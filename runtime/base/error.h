/*
 * Errors: a negative errno for the caller's logic, a struct sbx_error for the person.
 *
 * A function that can fail returns 0 (or a count) on success and a negative errno on failure, and
 * fills the caller's struct sbx_error once, where the failure is seen. Each module boundary on the
 * way up may add one prefix. Nothing here allocates, so an error can be reported from a child
 * between clone and exec. A NULL struct sbx_error pointer is allowed and drops the detail.
 *
 * Messages: lower case, verb first, foreign values quoted with double quotes, no final dot.
 */
#ifndef SBX_BASE_ERROR_H
#define SBX_BASE_ERROR_H

#include <stddef.h>

enum sbx_code {
	SBX_OK = 0,
#define ERROR_CODE(id, text, meaning) SBX_E_##id,
#include "runtime/base/error_codes.def"
#undef ERROR_CODE
	SBX_CODE_COUNT
};

#define SBX_MESSAGE_MAX	     1024 /* bytes with the terminating NUL; a longer message is cut */
#define SBX_REQUIREMENTS_MAX 2048 /* bytes with the terminating NUL */

struct sbx_error {
	enum sbx_code code;
	int errnum;	   /* positive errno, 0 where no system call failed */
	char stage[32];	   /* row of the stage table, empty outside of it */
	char pointer[128]; /* JSON pointer (RFC 6901) of the offending member, or empty */
	char message[SBX_MESSAGE_MAX]; /* control bytes of foreign values are escaped */
	/* What a grant would have to cover, a JSON array; empty: nothing, or longer than fits. */
	char requirements[SBX_REQUIREMENTS_MAX];
};

/*
 * Record a failure. Returns -errnum where errnum is not 0, else -EINVAL, so that callers write
 * `return sbx_fail(err, SBX_E_SYSTEM, errno, "open \"%s\"", path);`. With errnum the text
 * ": strerror" is appended in lower case as the field's clients match it ("permission denied") and
 * survives the cut of a long message. A former record is replaced, stage included: the stage is
 * set on the way up. A negative errnum is taken as its absolute value.
 */
int sbx_fail(struct sbx_error *err, enum sbx_code code, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* As sbx_fail(), with the JSON pointer of the member that is wrong. */
int sbx_fail_at(struct sbx_error *err, enum sbx_code code, const char *pointer, const char *fmt,
		...) __attribute__((format(printf, 4, 5)));

/* Put "PREFIX: " before the recorded message. Returns -errnum of the record, else -EINVAL. */
int sbx_prefix(struct sbx_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The message, with the place in the document where there is one: "MESSAGE (at POINTER)". */
#define SBX_TEXT_MAX (SBX_MESSAGE_MAX + 160)
const char *sbx_text(const struct sbx_error *err, char out[SBX_TEXT_MAX]);

/* The stable text of a code ("invalid-profile"); "internal" for a number out of range. */
const char *sbx_code_name(enum sbx_code code);

/* What the code means, for the manual; never NULL. */
const char *sbx_code_meaning(enum sbx_code code);

/* The inverse of sbx_code_name(); SBX_E_INTERNAL where the text is unknown. */
enum sbx_code sbx_code_from_name(const char *name);

#endif
