/*
 * JSON output into a buffer: compact or indented, "/" unescaped, control bytes (and DEL, for
 * terminals) as \n, \r, \t or \u00XX, bytes that are no UTF-8 as \ufffd, so that what we print is
 * always valid (RFC 8259). Failure is the buffer's (buf_failed()); more than JSON_WRITER_DEPTH_MAX
 * open levels fail it too. A NULL string is written as null.
 */
#ifndef SBX_SPEC_JSON_WRITE_H
#define SBX_SPEC_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/buf.h"
#include "spec/json.h"

#define JSON_WRITER_DEPTH_MAX 64

struct json_writer {
	struct buf *out;
	int indent; /* blanks per level, 0: compact */
	int depth;
	bool first[JSON_WRITER_DEPTH_MAX + 1];
};

void json_writer_init(struct json_writer *w, struct buf *out, int indent);

/* key is NULL inside an array and for the root value. */
void json_begin_object(struct json_writer *w, const char *key);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w, const char *key);
void json_end_array(struct json_writer *w);
void json_write_string(struct json_writer *w, const char *key, const char *value);
void json_write_bool(struct json_writer *w, const char *key, bool value);
void json_write_int(struct json_writer *w, const char *key, int64_t value);
void json_write_uint(struct json_writer *w, const char *key, uint64_t value);
void json_write_null(struct json_writer *w, const char *key);
void json_write_number_text(struct json_writer *w, const char *key, const char *digits);
void json_write_strings(struct json_writer *w, const char *key, char *const *values, size_t count);

/* A parsed tree again, numbers as written. */
void json_write_node(struct json_writer *w, const char *key, const struct json_node *node);

/* The same without those members of the object itself (not of deeper ones) whose key is in omit, a
 * NULL-terminated list. */
void json_write_node_without(struct json_writer *w, const char *key, const struct json_node *node,
			     const char *const *omit);

#endif
