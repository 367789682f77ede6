/*
 * A network target, "tcp:HOST:PORT": the one canonical type, parsed in one place and used by the
 * profile, by grants and by every door of the proxy.
 *
 * HOST is a name (A-labels; U-labels are normalised by UTS 46 where libidn2 is there), "*.name",
 * an IPv4 literal in four decimal parts, an IPv6 literal in brackets, or a CIDR of either (the IPv6
 * one in brackets: "[fd00::]/8" is written "[fd00::/8]"). PORT is 1-65535 or "*". Names are
 * case-folded, one trailing dot is dropped. No user info, zone id, NUL or control byte, no "%", no
 * other spelling of IPv4.
 */
#ifndef SBX_SPEC_TARGET_H
#define SBX_SPEC_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

#define TARGET_NAME_MAX 253
#define TARGET_TEXT_MAX 320

enum target_kind { TARGET_NAME, TARGET_WILDCARD, TARGET_IPV4, TARGET_IPV6 };

struct target {
	enum target_kind kind;
	char name[TARGET_NAME_MAX + 1]; /* without "*." */
	uint8_t address[16];		/* network order; IPv4 in the first four */
	uint8_t prefix;			/* bits; 32 or 128 for a literal */
	uint16_t port;			/* 0: any */
};

#define ADDRESS_CLASS_PRIVATE	 1u
#define ADDRESS_CLASS_LINK_LOCAL 2u
#define ADDRESS_CLASS_LOOPBACK	 4u
#define ADDRESS_CLASS_METADATA	 8u
#define ADDRESS_CLASS_NEVER	 16u /* multicast, unspecified, special: no rule opens it */

/* Parse; SBX_E_INVALID_PROFILE says what is wrong with the text. */
int target_parse(const char *text, struct target *ret, struct sbx_error *err);

/* Canonical text, at most TARGET_TEXT_MAX bytes with the NUL. */
void target_format(const struct target *target, char *out, size_t size);

/* Every host and port of inner is one of outer. */
bool target_covers(const struct target *outer, const struct target *inner);

bool target_equal(const struct target *a, const struct target *b);

/* A total order for sorted lists: kind, host, prefix, port. */
int target_compare(const struct target *a, const struct target *b);

/* Every host of inner, whatever the ports, is one of outer. */
bool target_host_covers(const struct target *outer, const struct target *inner);

/* The hosts and ports of both; false where there are none. A name never meets an address. */
bool target_intersect(const struct target *a, const struct target *b, struct target *ret);

/* How narrow the host is: of two hosts that cover a third, the greater number is the inner one. */
unsigned target_specificity(const struct target *target);

/* One host (a name, a literal), as against a wildcard or a CIDR. */
bool target_is_single_host(const struct target *target);

/* The IPv4 target inside a mapped, compatible, NAT64 (64:ff9b::/96) or 6to4 address or range; false
 * where target is none of these. */
bool target_decode_ipv4(const struct target *target, struct target *ret);

/*
 * Address classes: any of them in the range (union), and those that all of the range has in common.
 * For a literal both are the same. 0 for public addresses and for names. Embedded IPv4 is decoded
 * first.
 */
uint32_t target_address_classes(const struct target *target);
uint32_t target_address_classes_common(const struct target *target);

/* "private", "link-local", "loopback", "metadata"; 0 for another text. */
uint32_t address_class_from_name(const char *name);
/* The name of one ADDRESS_CLASS_ bit, NULL for a bit without a name. */
const char *address_class_name(uint32_t bit);

#endif
