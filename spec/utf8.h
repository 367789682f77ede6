/*
 * UTF-8 by RFC 3629, the one decision about foreign bytes that both JSON directions share: no
 * overlong form, no encoded surrogate (U+D800 to U+DFFF), nothing above U+10FFFF.
 */
#ifndef SBX_SPEC_UTF8_H
#define SBX_SPEC_UTF8_H

#include <stddef.h>

/* Length in bytes (1 to 4) of the well-formed sequence at text, of which left bytes may be read;
 * 0 where the bytes are no UTF-8. A NUL byte counts as a sequence of one. */
size_t utf8_sequence_len(const char *text, size_t left);

#endif
