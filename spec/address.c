/*
 * Address classes: which addresses are not plainly public.
 *
 * One table of ranges, taken from the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890)
 * and from the clouds' metadata addresses. An address has the classes of every range that holds
 * it; a metadata address that lies in a special range can be opened by its class, everything else
 * special or multicast never. IPv6 forms that carry an IPv4 address have that address's classes.
 */
#include <string.h>

#include "runtime/base/cleanup.h"
#include "spec/target.h"

struct address_range {
	enum target_kind kind;
	uint8_t address[16];
	uint8_t prefix;
	uint32_t classes;
};

#define V4(a, b, c, d, prefix, classes)                                                            \
	{                                                                                          \
		TARGET_IPV4, {a, b, c, d}, prefix, classes                                         \
	}
#define V6(prefix, classes, ...)                                                                   \
	{                                                                                          \
		TARGET_IPV6, {__VA_ARGS__}, prefix, classes                                        \
	}

static const struct address_range ranges[] = {
	V4(0, 0, 0, 0, 8, ADDRESS_CLASS_LOOPBACK), /* reaches this host */
	V4(127, 0, 0, 0, 8, ADDRESS_CLASS_LOOPBACK),
	V4(10, 0, 0, 0, 8, ADDRESS_CLASS_PRIVATE),
	V4(172, 16, 0, 0, 12, ADDRESS_CLASS_PRIVATE),
	V4(192, 168, 0, 0, 16, ADDRESS_CLASS_PRIVATE),
	V4(100, 64, 0, 0, 10, ADDRESS_CLASS_PRIVATE), /* RFC 6598 */
	V4(169, 254, 0, 0, 16, ADDRESS_CLASS_LINK_LOCAL),
	V4(169, 254, 169, 254, 32, ADDRESS_CLASS_METADATA), /* most clouds */
	V4(169, 254, 170, 2, 32, ADDRESS_CLASS_METADATA),   /* container credentials */
	V4(100, 100, 100, 200, 32, ADDRESS_CLASS_METADATA),
	V4(168, 63, 129, 16, 32, ADDRESS_CLASS_METADATA),
	V4(192, 0, 0, 192, 32, ADDRESS_CLASS_METADATA),
	V4(192, 0, 0, 0, 24, ADDRESS_CLASS_NEVER),
	V4(192, 0, 2, 0, 24, ADDRESS_CLASS_NEVER),    /* documentation */
	V4(192, 88, 99, 0, 24, ADDRESS_CLASS_NEVER),  /* 6to4 relays, RFC 7526 */
	V4(198, 18, 0, 0, 15, ADDRESS_CLASS_NEVER),   /* benchmarking; our synthetic answers */
	V4(198, 51, 100, 0, 24, ADDRESS_CLASS_NEVER), /* documentation */
	V4(203, 0, 113, 0, 24, ADDRESS_CLASS_NEVER),  /* documentation */
	V4(224, 0, 0, 0, 4, ADDRESS_CLASS_NEVER),     /* multicast */
	V4(240, 0, 0, 0, 4, ADDRESS_CLASS_NEVER),     /* reserved, broadcast */
	V6(128, ADDRESS_CLASS_LOOPBACK, 0),	      /* unspecified reaches this host */
	V6(128, ADDRESS_CLASS_LOOPBACK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
	V6(7, ADDRESS_CLASS_PRIVATE, 0xfc),	   /* unique local */
	V6(10, ADDRESS_CLASS_PRIVATE, 0xfe, 0xc0), /* site-local, RFC 3879 */
	V6(10, ADDRESS_CLASS_LINK_LOCAL, 0xfe, 0x80),
	V6(128, ADDRESS_CLASS_METADATA, 0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02,
	   0x54),
	V6(128, ADDRESS_CLASS_METADATA, 0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02,
	   0x54),
	V6(8, ADDRESS_CLASS_NEVER, 0xff),			   /* multicast */
	V6(48, ADDRESS_CLASS_NEVER, 0x00, 0x64, 0xff, 0x9b, 0, 1), /* local NAT64, RFC 8215 */
	V6(64, ADDRESS_CLASS_NEVER, 0x01, 0x00),		   /* discard-only */
	V6(64, ADDRESS_CLASS_NEVER, 0x01, 0x00, 0, 0, 0, 0, 0, 1), /* dummy prefix */
	V6(23, ADDRESS_CLASS_NEVER, 0x20, 0x01),	     /* protocol assignments, Teredo */
	V6(32, ADDRESS_CLASS_NEVER, 0x20, 0x01, 0x0d, 0xb8), /* documentation */
	V6(20, ADDRESS_CLASS_NEVER, 0x3f, 0xff),	     /* documentation */
	V6(16, ADDRESS_CLASS_NEVER, 0x5f, 0x00),	     /* segment routing */
};

/* Where IPv6 carries an IPv4 address: the prefix before it, and its first byte. */
struct embedding {
	uint8_t address[16];
	uint8_t prefix;
	uint8_t at;
};

static const struct embedding embeddings[] = {
	{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 12}, /* mapped, RFC 4291 */
	{{0x00, 0x64, 0xff, 0x9b}, 96, 12},		      /* NAT64, RFC 6052 */
	{{0x20, 0x02}, 16, 2},				      /* 6to4, RFC 3056 */
	{{0}, 96, 12}, /* compatible, RFC 4291; :: and ::1 are none */
};

static const struct {
	uint32_t bit;
	const char *name;
} class_names[] = {
	{ADDRESS_CLASS_PRIVATE, "private"},
	{ADDRESS_CLASS_LINK_LOCAL, "link-local"},
	{ADDRESS_CLASS_LOOPBACK, "loopback"},
	{ADDRESS_CLASS_METADATA, "metadata"},
};

static struct target range_target(const struct address_range *range)
{
	struct target target = {.kind = range->kind, .prefix = range->prefix};

	memcpy(target.address, range->address, sizeof(target.address));
	return target;
}

static bool is_low_literal(const struct target *target)
{
	static const uint8_t zero[15];

	return memcmp(target->address, zero, 15) == 0 && target->address[15] <= 1;
}

bool target_decode_ipv4(const struct target *target, struct target *ret)
{
	if (target->kind != TARGET_IPV6)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(embeddings); i++) {
		const struct embedding *e = &embeddings[i];
		struct target outer = {.kind = TARGET_IPV6, .prefix = e->prefix};
		struct target inner = {.kind = TARGET_IPV4, .port = target->port};
		unsigned bits;

		memcpy(outer.address, e->address, sizeof(outer.address));
		if (!target_host_covers(&outer, target))
			continue;
		if (e->prefix == 96 && e->address[10] == 0 && e->address[1] == 0 &&
		    target->prefix == 128 && is_low_literal(target))
			return false;
		memcpy(inner.address, target->address + e->at, 4);
		bits = target->prefix - e->at * 8u;
		inner.prefix = (uint8_t)(bits > 32 ? 32 : bits);
		*ret = inner;
		return true;
	}
	return false;
}

/* A metadata address is opened by its class even inside a special range. */
static uint32_t without_never(uint32_t classes)
{
	return classes & ADDRESS_CLASS_METADATA ? classes & ~ADDRESS_CLASS_NEVER : classes;
}

static uint32_t classes_of(const struct target *target, bool common)
{
	uint32_t classes = 0;
	struct target decoded;

	if (target->kind != TARGET_IPV4 && target->kind != TARGET_IPV6)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct target range = range_target(&ranges[i]);

		if (target_host_covers(&range, target) ||
		    (!common && target_host_covers(target, &range)))
			classes |= ranges[i].classes;
	}
	if (target_decode_ipv4(target, &decoded))
		classes |= classes_of(&decoded, common);
	return common || target_is_single_host(target) ? without_never(classes) : classes;
}

uint32_t target_address_classes(const struct target *target)
{
	return classes_of(target, false);
}

uint32_t target_address_classes_common(const struct target *target)
{
	return classes_of(target, true);
}

uint32_t address_class_from_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(class_names); i++)
		if (strcmp(class_names[i].name, name) == 0)
			return class_names[i].bit;
	return 0;
}

const char *address_class_name(uint32_t bit)
{
	for (size_t i = 0; i < ARRAY_SIZE(class_names); i++)
		if (class_names[i].bit == bit)
			return class_names[i].name;
	return NULL;
}
