/*
 * Bytes to a JSON tree, by yajl's streaming interface, with limits.
 *
 * Before yajl sees the bytes they are checked as a whole: size, UTF-8 by RFC 3629 (no overlong
 * form, no encoded surrogate), no byte order mark, no NUL, escapes \u of surrogates in pairs. While
 * yajl streams: depth, number of values, length of a string, duplicate keys in one object, no
 * comments, one value and nothing behind it. Numbers keep their text; integers are read exactly,
 * signed or unsigned 64 bits, and a fraction or exponent is no integer.
 * A tree lives in the caller's arena; nodes point back to their byte offset for messages.
 */
#ifndef SBX_SPEC_JSON_H
#define SBX_SPEC_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/error.h"

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER, /* text holds the digits as written */
	JSON_STRING, /* text holds the decoded bytes, NUL-terminated, no NUL inside */
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_node {
	enum json_type type;
	uint32_t count;		 /* members or elements */
	size_t offset;		 /* of the value in the document, bytes */
	size_t len;		 /* of text */
	const char *key;	 /* inside an object, else NULL */
	const char *text;	 /* number or string */
	struct json_node *child; /* first member or element, in document order */
	struct json_node *next;	 /* sibling */
	struct json_node *parent;
};

#define JSON_DEPTH_MAX 256 /* hard bound, above every max_depth */

struct json_limits {
	size_t max_bytes;
	uint32_t max_depth; /* open arrays and objects at once */
	uint32_t max_values;
	size_t max_string_bytes;
};

extern const struct json_limits
	json_limits_config; /* config.json: 16 MiB, depth 64, 1 Mi values, texts of 1 MiB */
extern const struct json_limits
	json_limits_profile; /* 256 KiB, depth 16, 16 Ki values, texts of 64 KiB */

/*
 * Parse a document. what names it in messages ("config.json"). SBX_E_INVALID_JSON with the line,
 * the byte offset and where known the pointer; -EINVAL, -EFBIG (a limit) or -ENOMEM.
 */
int json_parse(struct arena *arena, const char *what, const char *data, size_t len,
	       const struct json_limits *limits, struct json_node **ret_root,
	       struct sbx_error *err);

/* The member of an object, or NULL (also where node is NULL or no object). */
const struct json_node *json_get(const struct json_node *node, const char *key);

/* Exact integers: 0, -EINVAL (not an integer) or -ERANGE. */
int json_int64(const struct json_node *node, int64_t *ret);
int json_uint64(const struct json_node *node, uint64_t *ret);
int json_double(const struct json_node *node, double *ret);

/* RFC 6901 pointer of a node from the root, "" for the root; cut at size. */
void json_pointer(const struct json_node *node, char *out, size_t size);

#endif
