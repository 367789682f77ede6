/*
 * From JSON nodes to C structs by tables: one row per member says its name, type, place in the
 * struct and what values are taken. The OCI model is such tables and the few rules no row can say.
 *
 * A null member counts as absent, since Go programs write null for empty lists. A wrong type, a
 * number out of range, a word that is not in the list and a missing required member are refused
 * with the decoder's code and the JSON pointer; members without a row are ignored unless the table
 * is closed. Structs come zeroed (arena or caller), so what is absent stays zero.
 */
#ifndef SBX_SPEC_DECODE_H
#define SBX_SPEC_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spec/json.h"
#include "spec/oci.h"

struct decoder {
	struct arena *arena;
	const char *what; /* names the document in messages, "config.json" */
	enum sbx_code code;
	struct sbx_error *err;
};

enum decode_kind {
	DECODE_STRING,	/* const char * */
	DECODE_STRINGS, /* struct strings, from an array */
	DECODE_BOOL,	/* bool */
	DECODE_U32,	/* uint32_t */
	DECODE_U64,	/* uint64_t */
	DECODE_I64,	/* int64_t */
	DECODE_OPT_BOOL,
	DECODE_OPT_U64,
	DECODE_OPT_I64,
	DECODE_U32S,   /* uint32_t *, number at count_offset, from an array */
	DECODE_STRUCT, /* a struct by table, in place; offset 0: its members are the outer struct's
			*/
	DECODE_OBJECT, /* a pointer to a struct by table, made in the arena */
	DECODE_ARRAY,  /* a pointer to structs by table, number at count_offset */
	DECODE_MAP,    /* struct oci_key_values, from an object of strings */
	DECODE_CUSTOM, /* custom() does it all */
};

struct decode_row;

struct decode_table {
	const struct decode_row *rows; /* at most 64 */
	size_t n;
	size_t size; /* of the struct, bytes; 0 where it is never allocated */
	bool closed; /* a member without a row is refused */
	/* After the rows, may be NULL: rules between the members of this one object. */
	int (*check)(struct decoder *d, const struct json_node *object, void *decoded);
};

struct decode_row {
	const char *name;
	enum decode_kind kind;
	size_t offset, count_offset;
	bool required;	   /* present and not null; a string also not empty */
	bool empty_absent; /* a string "" counts as absent */
	/* Range of a number; both 0: whatever the kind holds. */
	int64_t min;
	uint64_t max;
	uint32_t max_count;	  /* elements of an array, 0: any */
	const char *const *words; /* the values a string may have, NULL-terminated; NULL: any */
	const struct decode_table *table;
	/* One value (each element, each value of a map) after its type was found right; may be
	 * NULL. Returns 0 or what decode_fail() returned. */
	int (*check)(struct decoder *d, const struct json_node *value);
	int (*custom)(struct decoder *d, const struct json_node *value, void *member);
};

/* A table over a static array of rows for a struct. */
#define DECODE_TABLE(rows_, type_) .rows = (rows_), .n = ARRAY_SIZE(rows_), .size = sizeof(type_)

/* Fill out (zeroed) from an object. 0 or -errno with the error recorded. */
int decode_object(struct decoder *d, const struct json_node *node, const struct decode_table *table,
		  void *out);

/* Record that the value at node is wrong. The text is the end of a sentence that begins with the
 * pointer: "is \"x\", want an absolute path". Returns -EINVAL. */
int decode_fail(struct decoder *d, const struct json_node *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Record that memory is exhausted. Returns -ENOMEM. */
int decode_no_memory(struct decoder *d);

/* The type of a node as a noun with its article ("an array"). */
const char *decode_type_name(enum json_type type);

/* 0 when the node has the type, else refused. */
int decode_want(struct decoder *d, const struct json_node *node, enum json_type type);

/* An exact unsigned integer in min..max, else refused. */
int decode_u64(struct decoder *d, const struct json_node *node, uint64_t min, uint64_t max,
	       uint64_t *ret);

/* Common checks for rows. */
int decode_check_absolute(struct decoder *d, const struct json_node *value);
int decode_check_not_empty(struct decoder *d, const struct json_node *value);

#endif
