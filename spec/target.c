/*
 * Parsing and comparing network targets.
 *
 * A host is first sorted by its bytes: "[" means IPv6, only digits, dots and a slash mean IPv4,
 * everything else must be a name. A name whose last label looks like a number ("127.1", "0x7f.1",
 * "2130706433") is refused: a resolver would read it as an address in one of its old spellings.
 * A v4-mapped IPv6 address is the IPv4 address, here as in the kernel, so that one rule decides.
 */
#include "spec/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/num.h"
#include "spec/idna.h"

#define LABEL_MAX	 63
#define MAPPED_PREFIX	 96
#define SPECIFICITY_NAME 1000u

#define bad(err, text, fmt, ...)                                                                   \
	sbx_fail(err, SBX_E_INVALID_PROFILE, 0, "target \"%s\": " fmt, text, ##__VA_ARGS__)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-';
}

/* WHATWG URL, "ends in a number": what an address parser might take for IPv4. */
static bool label_is_number(const char *label, size_t len)
{
	size_t i = 0;

	if (len >= 2 && label[0] == '0' && label[1] == 'x') {
		for (i = 2; i < len; i++)
			if (!is_digit(label[i]) && !(label[i] >= 'a' && label[i] <= 'f'))
				return false;
		return true;
	}
	while (i < len && is_digit(label[i]))
		i++;
	return i == len;
}

/* Lower-case LDH labels of 1 to 63 bytes, none with a hyphen at an end (RFC 1123 section 2.1). */
static const char *name_defect(const char *name)
{
	const char *label = name;

	if (!*name)
		return "the name is empty";
	for (;;) {
		size_t len = strcspn(label, ".");

		if (len == 0 || len > LABEL_MAX)
			return "a label has 1 to 63 bytes";
		if (label[0] == '-' || label[len - 1] == '-')
			return "a label does not begin or end with a hyphen";
		for (size_t i = 0; i < len; i++)
			if (!is_label_char(label[i]))
				return "a name has letters, digits, hyphens and dots only";
		if (!label[len])
			return label_is_number(label, len) ? "the last label is a number: write "
							     "IPv4 as four decimal parts"
							   : NULL;
		label += len + 1;
	}
}

static int parse_name(const char *text, const char *host, struct target *ret, struct sbx_error *err)
{
	bool ascii = true;
	const char *defect;
	size_t len;

	ret->kind = TARGET_NAME;
	if (host[0] == '*' && host[1] == '.') {
		ret->kind = TARGET_WILDCARD;
		host += 2;
	}
	len = strlen(host);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)host[i];

		if (c <= ' ' || c == 0x7f || c == '%' || c == '@')
			return bad(err, text, "the host holds a byte that no host has");
		if (c >= 0x80)
			ascii = false;
	}
	if (ascii) {
		if (len > sizeof(ret->name)) /* with the trailing dot */
			return bad(err, text, "the name is too long");
		for (size_t i = 0; i < len && i < TARGET_NAME_MAX; i++)
			ret->name[i] =
				host[i] >= 'A' && host[i] <= 'Z' ? (char)(host[i] + 32) : host[i];
		if (len > TARGET_NAME_MAX && host[len - 1] != '.')
			return bad(err, text, "the name is too long");
	} else {
		int r = idna_to_ascii(host, ret->name, sizeof(ret->name), err);

		if (r < 0)
			return r;
	}
	len = strlen(ret->name);
	if (len > 1 && ret->name[len - 1] == '.')
		ret->name[len - 1] = '\0';
	defect = name_defect(ret->name);
	if (defect)
		return bad(err, text, "%s", defect);
	return 0;
}

static bool bits_are_zero_from(const uint8_t *address, unsigned from, unsigned bits)
{
	for (unsigned i = from; i < bits; i++)
		if (address[i / 8] & (0x80u >> (i % 8)))
			return false;
	return true;
}

static bool bits_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	if (memcmp(a, b, bits / 8) != 0)
		return false;
	return bits % 8 == 0 || ((a[bits / 8] ^ b[bits / 8]) >> (8 - bits % 8)) == 0;
}

static bool is_mapped(const struct target *target)
{
	static const uint8_t mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return target->kind == TARGET_IPV6 && target->prefix >= MAPPED_PREFIX &&
	       bits_equal(target->address, mapped, MAPPED_PREFIX);
}

static int parse_address(const char *text, char *host, struct target *ret, struct sbx_error *err)
{
	unsigned bits = ret->kind == TARGET_IPV4 ? 32 : 128;
	char *slash = strchr(host, '/');
	uint64_t prefix = bits;

	if (slash) {
		*slash = '\0';
		if (num_parse_u64(slash + 1, 0, bits, &prefix) < 0 ||
		    (slash[1] == '0' && slash[2] != '\0'))
			return bad(err, text, "the prefix length is 0 to %u", bits);
	}
	if (inet_pton(ret->kind == TARGET_IPV4 ? AF_INET : AF_INET6, host, ret->address) != 1)
		return bad(err, text, "the address is not %s",
			   ret->kind == TARGET_IPV4 ? "four decimal parts of 0 to 255"
						    : "an IPv6 address");
	if (!bits_are_zero_from(ret->address, (unsigned)prefix, bits))
		return bad(err, text, "the address has bits behind its prefix");
	ret->prefix = (uint8_t)prefix;
	if (is_mapped(ret)) {
		ret->kind = TARGET_IPV4;
		ret->prefix = (uint8_t)(ret->prefix - MAPPED_PREFIX);
		memmove(ret->address, ret->address + 12, 4);
		memset(ret->address + 4, 0, sizeof(ret->address) - 4);
	}
	return 0;
}

static int parse_port(const char *text, const char *port, struct target *ret, struct sbx_error *err)
{
	uint64_t value = 0;

	if (strcmp(port, "*") != 0 &&
	    (num_parse_u64(port, 1, UINT16_MAX, &value) < 0 || port[0] == '0'))
		return bad(err, text, "the port is 1 to 65535 or \"*\"");
	ret->port = (uint16_t)value;
	return 0;
}

int target_parse(const char *text, struct target *ret, struct sbx_error *err)
{
	struct target target = {0};
	char host[2 * TARGET_NAME_MAX + 8];
	const char *colon;
	size_t len;
	int r;

	if (strncmp(text, "tcp:", 4) != 0)
		return bad(err, text, "it must read \"tcp:HOST:PORT\"");
	colon = strrchr(text + 4, ':');
	if (!colon)
		return bad(err, text, "the port is missing");
	len = (size_t)(colon - text) - 4;
	if (len == 0 || len >= sizeof(host))
		return bad(err, text, "the host is %s", len ? "too long" : "missing");
	memcpy(host, text + 4, len);
	host[len] = '\0';

	if (host[0] == '[') {
		if (len < 3 || host[len - 1] != ']')
			return bad(err, text, "the bracket of the IPv6 address is not closed");
		host[len - 1] = '\0';
		target.kind = TARGET_IPV6;
		r = parse_address(text, host + 1, &target, err);
	} else if (strchr(host, ':')) {
		return bad(err, text, "an IPv6 address stands in brackets");
	} else if (host[strspn(host, "0123456789./")] == '\0') {
		target.kind = TARGET_IPV4;
		r = parse_address(text, host, &target, err);
	} else if (strcmp(host, "*") == 0) {
		return bad(err, text, "\"*\" alone is no host: use network.access for all");
	} else {
		r = parse_name(text, host, &target, err);
	}
	if (r < 0)
		return r;
	r = parse_port(text, colon + 1, &target, err);
	if (r < 0)
		return r;
	*ret = target;
	return 0;
}

void target_format(const struct target *target, char *out, size_t size)
{
	char host[TARGET_NAME_MAX + 8], address[INET6_ADDRSTRLEN] = "", port[8] = "*";
	bool v4 = target->kind == TARGET_IPV4;
	bool whole = target->prefix == (v4 ? 32 : 128);

	if (target->port)
		snprintf(port, sizeof(port), "%u", target->port);
	switch (target->kind) {
	case TARGET_NAME:
		snprintf(host, sizeof(host), "%s", target->name);
		break;
	case TARGET_WILDCARD:
		snprintf(host, sizeof(host), "*.%s", target->name);
		break;
	case TARGET_IPV4:
	case TARGET_IPV6:
		inet_ntop(v4 ? AF_INET : AF_INET6, target->address, address, sizeof(address));
		if (whole)
			snprintf(host, sizeof(host), v4 ? "%s" : "[%s]", address);
		else
			snprintf(host, sizeof(host), v4 ? "%s/%u" : "[%s/%u]", address,
				 target->prefix);
		break;
	}
	snprintf(out, size, "tcp:%s:%s", host, port);
}

static bool name_is_below(const char *name, const char *zone)
{
	size_t n = strlen(name), z = strlen(zone);

	return n > z + 1 && name[n - z - 1] == '.' && strcmp(name + n - z, zone) == 0;
}

bool target_host_covers(const struct target *outer, const struct target *inner)
{
	switch (outer->kind) {
	case TARGET_NAME:
		return inner->kind == TARGET_NAME && strcmp(outer->name, inner->name) == 0;
	case TARGET_WILDCARD:
		if (inner->kind == TARGET_WILDCARD && strcmp(outer->name, inner->name) == 0)
			return true;
		return (inner->kind == TARGET_NAME || inner->kind == TARGET_WILDCARD) &&
		       name_is_below(inner->name, outer->name);
	case TARGET_IPV4:
	case TARGET_IPV6:
		return inner->kind == outer->kind && inner->prefix >= outer->prefix &&
		       bits_equal(outer->address, inner->address, outer->prefix);
	}
	return false;
}

bool target_covers(const struct target *outer, const struct target *inner)
{
	return (outer->port == 0 || outer->port == inner->port) && target_host_covers(outer, inner);
}

bool target_intersect(const struct target *a, const struct target *b, struct target *ret)
{
	struct target both;

	if (a->port && b->port && a->port != b->port)
		return false;
	if (target_host_covers(a, b))
		both = *b;
	else if (target_host_covers(b, a))
		both = *a;
	else
		return false;
	both.port = a->port ? a->port : b->port;
	*ret = both;
	return true;
}

int target_compare(const struct target *a, const struct target *b)
{
	int r;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	r = strcmp(a->name, b->name);
	if (r == 0)
		r = memcmp(a->address, b->address, sizeof(a->address));
	if (r == 0)
		r = (int)a->prefix - (int)b->prefix;
	if (r == 0)
		r = (int)a->port - (int)b->port;
	return r;
}

bool target_equal(const struct target *a, const struct target *b)
{
	return target_compare(a, b) == 0;
}

unsigned target_specificity(const struct target *target)
{
	switch (target->kind) {
	case TARGET_NAME:
		return SPECIFICITY_NAME;
	case TARGET_WILDCARD:
		return (unsigned)strlen(target->name);
	case TARGET_IPV4:
	case TARGET_IPV6:
		return target->prefix;
	}
	return 0;
}

bool target_is_single_host(const struct target *target)
{
	return target->kind == TARGET_NAME ||
	       (target->kind == TARGET_IPV4 && target->prefix == 32) ||
	       (target->kind == TARGET_IPV6 && target->prefix == 128);
}
