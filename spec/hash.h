/*
 * SHA-256 and base64url: the only file that knows libsodium's hash and codec.
 *
 * SHA-256 is FIPS 180-4. base64url is RFC 4648 section 5 without padding and strict: one text per
 * byte string, no blank, no other alphabet, unused bits zero.
 */
#ifndef SBX_SPEC_HASH_H
#define SBX_SPEC_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buf.h"

#define HASH_SHA256_BYTES 32

/* A running hash; opaque, may live on the stack. */
struct hash {
	uint64_t state[13];
};

void hash_init(struct hash *hash);
void hash_update(struct hash *hash, const void *data, size_t len);
void hash_final(struct hash *hash, uint8_t ret[HASH_SHA256_BYTES]);

/* Lower-case hex of len bytes and a NUL into out (2 * len + 1 bytes). */
void hash_hex(const uint8_t *data, size_t len, char *out);

/* Append the base64url text of len bytes. 0 or -ENOMEM. */
int base64url_encode(const void *data, size_t len, struct buf *out);

/* Append the bytes of a base64url text. 0, -EINVAL (not the strict form), -EFBIG (more than
 * max_bytes) or -ENOMEM; out is untouched on failure. */
int base64url_decode(const char *text, size_t len, size_t max_bytes, struct buf *out);

#endif
