/*
 * What the files of the profile module share and nobody else includes: the tables of words and
 * limits, and the bounds on a document's lists.
 */
#ifndef SBX_SPEC_PROFILE_INTERNAL_H
#define SBX_SPEC_PROFILE_INTERNAL_H

#include "spec/profile.h"

#define PROFILE_ROOTS_MAX    1024
#define PROFILE_RULES_MAX    1024
#define PROFILE_STRINGS_MAX  1024 /* protect, unixSockets */
#define PROFILE_FORWARDS_MAX 64

struct profile_word {
	const char *word;
	int value;
};

/* Word lists end with a NULL word. */
extern const struct profile_word profile_access_words[];
extern const struct profile_word profile_home_words[];
extern const struct profile_word profile_isolation_words[];
extern const struct profile_word profile_on_detach_words[];
extern const struct profile_word profile_level_words[];
extern const struct profile_word profile_tls_words[];
extern const struct profile_word profile_ech_words[];

/* The word of a value; "?" for a value that has none. */
const char *profile_word_of(const struct profile_word *words, int value);

enum limit_kind { LIMIT_DURATION, LIMIT_SIZE, LIMIT_COUNT, LIMIT_MILLI };

struct profile_limit_row {
	const char *key;
	size_t offset; /* of the struct oci_opt_u64 in struct profile_limits */
	enum limit_kind kind;
	uint64_t min, max;
	uint64_t absent; /* what a missing value means; UINT64_MAX: no limit */
};

#define PROFILE_LIMITS_N 7
extern const struct profile_limit_row profile_limit_rows[PROFILE_LIMITS_N];

const struct oci_opt_u64 *profile_limit(const struct profile_limits *limits,
					const struct profile_limit_row *row);

/* Sort texts and drop equal ones. */
void strings_sort_unique(struct strings *strings);
bool strings_contain(const struct strings *strings, const char *text);

int profile_root_compare(const void *a, const void *b); /* qsort(3): by path */
int profile_rule_compare(const void *a, const void *b); /* qsort(3): by target */

/* profile_network.c: the narrower of two sets of rules into out's network members. */
int profile_restrict_rules(struct arena *arena, const struct profile *base,
			   const struct profile *ceiling, struct profile *out,
			   struct sbx_error *err);

#endif
