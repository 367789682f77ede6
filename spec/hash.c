/*
 * A thin skin over libsodium. sodium_init() is not needed for either: SHA-256 and the codec keep no
 * global state and draw no random numbers.
 */
#include "spec/hash.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>

#include "runtime/base/cleanup.h"

_Static_assert(sizeof(struct hash) >= sizeof(crypto_hash_sha256_state), "the opaque state fits");

static crypto_hash_sha256_state *sodium_state(struct hash *hash)
{
	return (crypto_hash_sha256_state *)(void *)hash->state;
}

void hash_init(struct hash *hash)
{
	crypto_hash_sha256_init(sodium_state(hash));
}

void hash_update(struct hash *hash, const void *data, size_t len)
{
	crypto_hash_sha256_update(sodium_state(hash), data, len);
}

void hash_final(struct hash *hash, uint8_t ret[HASH_SHA256_BYTES])
{
	_Static_assert(HASH_SHA256_BYTES == crypto_hash_sha256_BYTES, "SHA-256 has 32 bytes");
	crypto_hash_sha256_final(sodium_state(hash), ret);
}

void hash_hex(const uint8_t *data, size_t len, char *out)
{
	sodium_bin2hex(out, len * 2 + 1, data, len);
}

int base64url_encode(const void *data, size_t len, struct buf *out)
{
	const int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
	cleanup_free char *text = NULL;
	size_t size;

	if (len > BUF_LIMIT_BYTES / 2)
		return -ENOMEM;
	size = sodium_base64_encoded_len(len, variant);
	text = malloc(size);
	if (!text)
		return -ENOMEM;
	sodium_bin2base64(text, size, data, len, variant);
	buf_puts(out, text);
	return buf_failed(out) ? -ENOMEM : 0;
}

static bool is_alphabet(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '-' && c != '_')
			return false;
	}
	return true;
}

/* The alphabet is checked here: libsodium 1.0.18 takes some bytes above 0x7f for digits. */
int base64url_decode(const char *text, size_t len, size_t max_bytes, struct buf *out)
{
	cleanup_free unsigned char *data = NULL;
	const char *end = NULL;
	size_t n = 0;

	if (len / 4 > max_bytes / 3 + 1)
		return -EFBIG;
	if (!is_alphabet(text, len))
		return -EINVAL;
	data = malloc(len / 4 * 3 + 3);
	if (!data)
		return -ENOMEM;
	if (sodium_base642bin(data, len / 4 * 3 + 3, text, len, NULL, &n, &end,
			      sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
	    end != text + len)
		return -EINVAL;
	if (n > max_bytes)
		return -EFBIG;
	buf_append(out, data, n);
	return buf_failed(out) ? -ENOMEM : 0;
}
