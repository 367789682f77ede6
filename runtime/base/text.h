/*
 * Bytes that people will read: UTF-8 checks and escaping of foreign values.
 */
#ifndef SBX_BASE_TEXT_H
#define SBX_BASE_TEXT_H

#include <stddef.h>

/*
 * The length (1 to 4) of the UTF-8 sequence at the front of len bytes, 0 where there is none by
 * RFC 3629: overlong form, surrogate, above U+10FFFF, cut short, stray continuation byte.
 */
size_t text_utf8_length(const char *text, size_t len);

/*
 * Copy len bytes as printable UTF-8 into out (size bytes with the NUL, size >= 1): control bytes,
 * DEL, the C1 controls (U+0080 to U+009F), the separators of lines and the marks that turn the
 * direction of text (U+2028, U+202A and their like) and bytes that are no UTF-8 become \n, \t, \r
 * or \xNN for each byte, so that no terminal acts on them and no reader sees another order. What
 * does not fit is cut between characters. Returns the length written.
 */
size_t text_escape(char *out, size_t size, const char *text, size_t len);

#endif
