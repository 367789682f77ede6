/*
 * Strict number parsing for everything that comes from a person or a file.
 *
 * A number is an optional '-' (signed only) and decimal digits, nothing else: no sign '+', no
 * blanks, no base prefix, no suffix, no empty text; a value out of range is an error and is never
 * wrapped (CVE-2026-30892 and the uid 4294967296 class).
 */
#ifndef SBX_BASE_NUM_H
#define SBX_BASE_NUM_H

#include <stddef.h>
#include <stdint.h>

/* 0, -EINVAL (malformed) or -ERANGE (outside min..max); *ret is untouched on failure. */
int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret);
int num_parse_i64(const char *text, int64_t min, int64_t max, int64_t *ret);

/* A uid or gid: 0 to 4294967294 (4294967295 means "no id" to the kernel: chown(2)). */
int num_parse_id(const char *text, uint32_t *ret);

/* "UID" or "UID:GID"; *gid_given tells whether the second was there. "1:" and ":1" are errors. */
int num_parse_user(const char *text, uint32_t *uid, uint32_t *gid, int *gid_given);

/* A size: digits with nothing, KiB, MiB or GiB behind; bytes. -ERANGE beyond INT64_MAX. */
int num_parse_size(const char *text, uint64_t *bytes);

/* A duration: digits with ms, s, m or h behind; milliseconds. -ERANGE beyond INT64_MAX. */
int num_parse_duration_ms(const char *text, uint64_t *ms);

/* A list "0-3,7" (cpuset(7), list format) into a mask of this many bits, a multiple of those of a
 * long. -ERANGE: a number is not below bits. */
int num_parse_list(const char *text, unsigned long *mask, size_t bits);

#endif
