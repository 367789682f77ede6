/*
 * The fingerprint: SHA-256 over a canonical encoding of every member.
 *
 * The encoding is the expansion of profile_members.def: each member is its name, then its value;
 * texts and lists carry their length in front, numbers are 64 bits, little end first. Lists are
 * sorted in a parsed profile, so the order in the document does not matter. A new member changes
 * the fingerprint of every profile; the first line of the encoding names the form.
 */
#include <string.h>

#include "spec/hash.h"
#include "spec/profile.h"
#include "spec/profile_internal.h"

#define FORM "sbx-runtime profile 1"

static void encode_number(struct hash *hash, uint64_t value)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	hash_update(hash, bytes, sizeof(bytes));
}

static void encode_chars(struct hash *hash, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	encode_number(hash, text ? len + 1 : 0);
	hash_update(hash, text ? text : "", len);
}

#define ENCODER(name, type)                                                                        \
	static void encode_##name(struct hash *hash,                                               \
				  __attribute__((unused)) const struct profile *profile,           \
				  type const *value)

#define ENCODER_NUMBER(name, type)                                                                 \
	ENCODER(name, type)                                                                        \
	{                                                                                          \
		encode_number(hash, (uint64_t)*value);                                             \
	}

ENCODER_NUMBER(access, enum access)
ENCODER_NUMBER(home, enum home_kind)
ENCODER_NUMBER(isolation, enum isolation)
ENCODER_NUMBER(on_detach, enum on_detach)
ENCODER_NUMBER(level, enum level)
ENCODER_NUMBER(tls, enum tls_mode)
ENCODER_NUMBER(flag, bool)
ENCODER_NUMBER(bits, uint32_t)
ENCODER_NUMBER(with_array, size_t)

ENCODER(text, const char *)
{
	encode_chars(hash, *value);
}

ENCODER(root, struct profile_root)
{
	encode_chars(hash, value->path);
	encode_number(hash, value->read);
	encode_number(hash, value->write);
}

ENCODER(roots, struct profile_root *)
{
	encode_number(hash, profile->roots_n);
	for (size_t i = 0; i < profile->roots_n; i++)
		encode_root(hash, profile, &(*value)[i]);
}

ENCODER(strings, struct strings)
{
	encode_number(hash, value->n);
	for (size_t i = 0; i < value->n; i++)
		encode_chars(hash, value->v[i]);
}

ENCODER(target, struct target)
{
	char text[TARGET_TEXT_MAX];

	target_format(value, text, sizeof(text));
	encode_chars(hash, text);
}

ENCODER(rules, struct profile_rule *)
{
	encode_number(hash, profile->rules_n);
	for (size_t i = 0; i < profile->rules_n; i++) {
		const struct profile_rule *rule = &(*value)[i];

#define PROFILE_RULE_MEMBER(type, name, narrow, encode)                                            \
	encode_chars(hash, #name);                                                                 \
	encode_##encode(hash, profile, &rule->name);
#include "spec/profile_members.def"
#undef PROFILE_RULE_MEMBER
	}
}

ENCODER(forwards, struct profile_forward *)
{
	encode_number(hash, profile->forwards_n);
	for (size_t i = 0; i < profile->forwards_n; i++) {
		encode_number(hash, (*value)[i].listen);
		encode_target(hash, profile, &(*value)[i].to);
	}
}

ENCODER(proxy_ports, struct profile_proxy_ports)
{
	encode_number(hash, value->http);
	encode_number(hash, value->socks);
}

ENCODER(limits, struct profile_limits)
{
	for (size_t i = 0; i < PROFILE_LIMITS_N; i++) {
		const struct oci_opt_u64 *limit = profile_limit(value, &profile_limit_rows[i]);

		encode_number(hash, limit->set);
		encode_number(hash, limit->set ? limit->v : 0);
	}
}

void profile_fingerprint(const struct profile *profile, char ret[PROFILE_FINGERPRINT_LEN + 1])
{
	uint8_t digest[HASH_SHA256_BYTES];
	struct hash hash;

	hash_init(&hash);
	encode_chars(&hash, FORM);
#define PROFILE_MEMBER(type, name, narrow, encode)                                                 \
	encode_chars(&hash, #name);                                                                \
	encode_##encode(&hash, profile, &profile->name);
#include "spec/profile_members.def"
#undef PROFILE_MEMBER
	hash_final(&hash, digest);
	hash_hex(digest, sizeof(digest), ret);
}
