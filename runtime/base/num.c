/*
 * Theory of operation: one scanner of digits that refuses overflow instead of wrapping; everything
 * else is that scanner, a suffix table and a range. Malformed wins over out of range.
 */
#include "runtime/base/num.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"

/* The run of digits at *text, which is moved behind it. 0, -EINVAL (no digit) or -ERANGE. */
static int scan_digits(const char **text, uint64_t *ret)
{
	const char *p = *text;
	uint64_t value = 0;
	int rc = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			rc = -ERANGE;
	}
	*text = p;
	*ret = value;
	return rc;
}

int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;
	int rc = scan_digits(&text, &value);

	if (rc == -EINVAL || *text != '\0')
		return -EINVAL;
	if (rc < 0 || value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

int num_parse_i64(const char *text, int64_t min, int64_t max, int64_t *ret)
{
	uint64_t magnitude = 0, limit = INT64_MAX;
	int64_t value;
	int negative = *text == '-';
	int rc;

	if (negative) {
		text++;
		limit = (uint64_t)INT64_MAX + 1;
	}
	rc = scan_digits(&text, &magnitude);
	if (rc == -EINVAL || *text != '\0')
		return -EINVAL;
	if (rc < 0 || magnitude > limit)
		return -ERANGE;
	if (!negative)
		value = (int64_t)magnitude;
	else
		value = magnitude ? -(int64_t)(magnitude - 1) - 1 : 0;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

int num_parse_id(const char *text, uint32_t *ret)
{
	uint64_t value;
	int rc = num_parse_u64(text, 0, UINT32_MAX - 1, &value);

	if (rc == 0)
		*ret = (uint32_t)value;
	return rc;
}

int num_parse_user(const char *text, uint32_t *uid, uint32_t *gid, int *gid_given)
{
	const char *colon = strchr(text, ':');
	char head[24];
	uint32_t user, group = 0;
	size_t len;
	int rc;

	len = colon ? (size_t)(colon - text) : strlen(text);
	if (len >= sizeof(head))
		return strspn(text, "0123456789") == len ? -ERANGE : -EINVAL;
	memcpy(head, text, len);
	head[len] = '\0';
	rc = num_parse_id(head, &user);
	if (rc == 0 && colon)
		rc = num_parse_id(colon + 1, &group);
	if (rc < 0)
		return rc;
	*uid = user;
	if (colon)
		*gid = group;
	*gid_given = colon != NULL;
	return 0;
}

struct unit {
	const char *suffix;
	uint64_t factor;
};

static int parse_with_unit(const char *text, const struct unit *units, size_t count, uint64_t *ret)
{
	uint64_t value = 0;
	int rc = scan_digits(&text, &value);

	if (rc == -EINVAL)
		return rc;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(text, units[i].suffix) != 0)
			continue;
		if (rc < 0 || __builtin_mul_overflow(value, units[i].factor, &value) ||
		    value > INT64_MAX)
			return -ERANGE;
		*ret = value;
		return 0;
	}
	return -EINVAL;
}

int num_parse_size(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {
		{"", 1},
		{"KiB", UINT64_C(1) << 10},
		{"MiB", UINT64_C(1) << 20},
		{"GiB", UINT64_C(1) << 30},
	};

	return parse_with_unit(text, units, ARRAY_SIZE(units), bytes);
}

int num_parse_duration_ms(const char *text, uint64_t *ms)
{
	static const struct unit units[] = {
		{"ms", 1},
		{"s", 1000},
		{"m", 60 * 1000},
		{"h", 60 * 60 * 1000},
	};

	return parse_with_unit(text, units, ARRAY_SIZE(units), ms);
}

/* One number of a list; *text moves to what follows it. */
static int parse_member(const char **text, size_t bits, size_t *ret)
{
	const char *p = *text;
	size_t value = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		value = value * 10 + (size_t)(*p - '0');
		if (value >= bits)
			return -ERANGE;
	}
	*text = p;
	*ret = value;
	return 0;
}

int num_parse_list(const char *text, unsigned long *mask, size_t bits)
{
	const size_t word = 8 * sizeof(*mask);
	size_t first, last;
	int rc;

	memset(mask, 0, bits / 8);
	for (;;) {
		rc = parse_member(&text, bits, &first);
		last = first;
		if (rc == 0 && *text == '-') {
			text++;
			rc = parse_member(&text, bits, &last);
		}
		if (rc < 0)
			return rc;
		if (first > last)
			return -EINVAL;
		for (; first <= last; first++)
			mask[first / word] |= 1ul << (first % word);
		if (*text == '\0')
			return 0;
		if (*text++ != ',')
			return -EINVAL;
	}
}
