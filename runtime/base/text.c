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

/* RFC 3629 section 4, behind ASCII: the first byte decides the length and the range of the second;
 * every later byte is 80 to BF. */
static const struct {
	unsigned char first, last; /* of the first byte */
	unsigned char low, high;   /* of the second byte */
	unsigned char len;
} leads[] = {
	{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
	{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
	{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

size_t text_utf8_length(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t row = 0;

	if (len == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	while (row < ARRAY_SIZE(leads) && (s[0] < leads[row].first || s[0] > leads[row].last))
		row++;
	if (row == ARRAY_SIZE(leads) || leads[row].len > len || s[1] < leads[row].low ||
	    s[1] > leads[row].high)
		return 0;
	for (size_t i = 2; i < leads[row].len; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return leads[row].len;
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
