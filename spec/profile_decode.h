/*
 * Decoding the objects of a profile document by tables; used by profile_parse*.c only.
 *
 * Stricter than decode.h, which serves the OCI documents: no member is ignored, null is a wrong
 * type, and every refusal is SBX_E_INVALID_PROFILE with the pointer of the member.
 */
#ifndef SBX_SPEC_PROFILE_DECODE_H
#define SBX_SPEC_PROFILE_DECODE_H

#include "spec/profile.h"
#include "spec/profile_internal.h"

#define PROFILE_POINTER_MAX 128

struct profile_decoder {
	struct arena *arena;
	struct sbx_error *err;
	bool workspace_root_needed;
	const char *workspace; /* dev.sbx.workspace, NULL */
};

typedef int (*profile_member_fn)(const struct profile_decoder *p, const struct json_node *node,
				 void *ret);

struct profile_member_row {
	const char *key;
	bool required;
	profile_member_fn parse;
	size_t offset; /* in the structure that the object fills */
};

/* Refuse a node; returns the error. */
int profile_refuse(const struct profile_decoder *p, const struct json_node *node, const char *fmt,
		   ...) __attribute__((format(printf, 3, 4)));
int profile_no_memory(const struct profile_decoder *p);

/* Refuse a node of another type; what names the expected one ("an object"). */
int profile_expect(const struct profile_decoder *p, const struct json_node *node,
		   enum json_type type, const char *what);

/* Every member through its row; unknown and missing ones are refused. */
int profile_decode_object(const struct profile_decoder *p, const struct json_node *node,
			  const struct profile_member_row *rows, size_t rows_n, void *ret);

/* Values. ret: int, enum access, bool, uint16_t, char * (a copy in the arena). */
int profile_decode_word(const struct profile_decoder *p, const struct json_node *node,
			const struct profile_word *words, int *ret);
int profile_decode_access(const struct profile_decoder *p, const struct json_node *node, void *ret);
int profile_decode_flag(const struct profile_decoder *p, const struct json_node *node, void *ret);
int profile_decode_port(const struct profile_decoder *p, const struct json_node *node, void *ret);
int profile_decode_text(const struct profile_decoder *p, const struct json_node *node, char **ret);

/* A zeroed array for the elements of a list of at most max, with room for one more. */
int profile_new_array(const struct profile_decoder *p, const struct json_node *node, size_t max,
		      size_t size, void **ret);

/* In a list of objects the last one whose member is this text: the second of two equal ones. The
 * list itself where none is. */
const struct json_node *profile_last_element(const struct json_node *list, const char *key,
					     const char *text);

/* A function of type profile_member_fn for an enumeration. */
#define PROFILE_WORD_DECODER(name, type, words)                                                    \
	static int name(const struct profile_decoder *p, const struct json_node *node, void *ret)  \
	{                                                                                          \
		int value = 0, r = profile_decode_word(p, node, words, &value);                    \
                                                                                                   \
		if (r == 0)                                                                        \
			*(type *)ret = (type)value;                                                \
		return r;                                                                          \
	}

/* profile_parse_network.c: the member "network"; ret: struct profile. */
int profile_parse_network(const struct profile_decoder *p, const struct json_node *node, void *ret);

#endif
