/*
 * Theory of operation: one pass, character by character. A sequence that is valid UTF-8 and no
 * control is copied as it is; every other byte is written as an escape of two or four characters.
 */
#include "runtime/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"

static bool is_continuation(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t text_utf8_length(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;

	if (len == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		return len >= 2 && is_continuation(s[1]) ? 2 : 0;
	if ((s[0] & 0xf0) == 0xe0) {
		if (len < 3 || !is_continuation(s[1]) || !is_continuation(s[2]))
			return 0;
		if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
			return 0; /* overlong, surrogate */
		return 3;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		if (len < 4 || !is_continuation(s[1]) || !is_continuation(s[2]) ||
		    !is_continuation(s[3]))
			return 0;
		if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
			return 0; /* overlong, above U+10FFFF */
		return 4;
	}
	return 0;
}

/* U+2028 and U+2029 end a line; the others mark, embed, override or isolate a direction of text. */
static bool is_format(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x061c, 0x061c},
		{0x200e, 0x200f},
		{0x2028, 0x202e},
		{0x2066, 0x2069},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

/* s: a character of n bytes, which text_utf8_length() found. */
static bool is_control(const unsigned char *s, size_t n)
{
	switch (n) {
	case 1:
		return s[0] < 0x20 || s[0] == 0x7f;
	case 2:
		return (s[0] == 0xc2 && s[1] < 0xa0) ||
		       is_format((s[0] & 0x1fu) << 6 | (s[1] & 0x3fu));
	case 3:
		return is_format((s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu));
	default:
		return false;
	}
}

static size_t escape_byte(char out[5], unsigned char c)
{
	switch (c) {
	case '\n':
		memcpy(out, "\\n", 3);
		return 2;
	case '\t':
		memcpy(out, "\\t", 3);
		return 2;
	case '\r':
		memcpy(out, "\\r", 3);
		return 2;
	default:
		snprintf(out, 5, "\\x%02x", c);
		return 4;
	}
}

size_t text_escape(char *out, size_t size, const char *text, size_t len)
{
	size_t used = 0;

	for (size_t i = 0; i < len;) {
		const unsigned char *s = (const unsigned char *)text + i;
		size_t n = text_utf8_length(text + i, len - i);
		char escaped[5];
		const char *piece = text + i;
		size_t piece_len = n;

		if (n == 0 || is_control(s, n)) {
			piece = escaped;
			piece_len = escape_byte(escaped, s[0]);
			n = 1;
		}
		if (used + piece_len >= size)
			break;
		memcpy(out + used, piece, piece_len);
		used += piece_len;
		i += n;
	}
	out[used] = '\0';
	return used;
}
