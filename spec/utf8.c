/*
 * RFC 3629 section 4 as a table: the first byte decides the length and the narrower range that the
 * second byte must lie in; every later byte is 80 to BF.
 */
#include "spec/utf8.h"

#include "runtime/base/cleanup.h"

struct lead {
	unsigned char first, last; /* range of the first byte */
	unsigned char low, high;   /* range of the second byte */
	unsigned char len;
};

static const struct lead leads[] = {
	{0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
	{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
	{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

size_t utf8_sequence_len(const char *text, size_t left)
{
	const unsigned char *p = (const unsigned char *)text;
	const struct lead *lead = NULL;

	if (left == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(leads) && !lead; i++)
		if (p[0] >= leads[i].first && p[0] <= leads[i].last)
			lead = &leads[i];
	if (!lead || lead->len > left)
		return 0;
	if (lead->len > 1 && (p[1] < lead->low || p[1] > lead->high))
		return 0;
	for (size_t i = 2; i < lead->len; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	return lead->len;
}
