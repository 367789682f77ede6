/*
 * The report: what a container's boundary really is, entry by entry.
 *
 * The planner adds one entry per mechanism; the guarantees are computed from the entries and are
 * true only where the profile asks for that boundary and every entry that carries it is enforced.
 * What create reported is stored and never changes.
 */
#ifndef SBX_SPEC_REPORT_H
#define SBX_SPEC_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/json_write.h"
#include "spec/profile.h"
#include "spec/proof.h"

enum outcome { OUTCOME_ENFORCED, OUTCOME_NARROWED, OUTCOME_UNENFORCED, OUTCOME_UNKNOWN };

struct report_entry {
	const char *feature;   /* "workspace.write" */
	const char *mechanism; /* "mount", "landlock", "seccomp", "namespace", ... */
	enum outcome outcome;
	uint32_t carries; /* GUARANTEE_BIT()s that need this entry enforced or narrowed */
	const char *detail;
};

struct report {
	struct arena *arena;
	struct report_entry *entries;
	size_t n, cap;
	uint32_t asked;	  /* bits the profile asks for */
	uint32_t lost;	  /* bits of entries that could not be recorded */
	uint32_t reached; /* set by report_finish() */
	enum level level;
	bool capped_degraded; /* level is at most degraded */
	const char
		*restriction; /* why this host gives less than rung 1 asks for; NULL: it does not */
	const char *lifetime; /* "enforced", "best-effort", "unspecified" */
	struct strings sources;
	struct strings write_paths, write_trees; /* for access.kind */
	const char *access_kind;
};

void report_init(struct report *report, struct arena *arena);

/* Add an entry; a failed allocation marks the entry's bits unreached. */
void report_add(struct report *report, const char *feature, const char *mechanism,
		enum outcome outcome, uint32_t carries, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

/* Compute reached and level. An asked bit without any entry that carries it is not reached. */
void report_finish(struct report *report, bool rung_one);

/*
 * SBX_E_GUARANTEE_UNAVAILABLE naming the entries that stand against require and minLevel. On a host
 * with a restriction every boundary that the values draw must hold, as under minLevel "degraded",
 * unless the profile says minLevel "none".
 */
int report_check(const struct report *report, const struct profile *profile, struct sbx_error *err);

/* The least level that report_check() takes. */
enum level report_level_wanted(const struct report *report, const struct profile *profile);

/* The object of `sbx-runtime report`; now_bits are what still holds. */
void report_write(struct json_writer *w, const char *key, const struct report *report,
		  uint32_t now_bits);

/*
 * A stored report again, as create wrote it but for "now": those of the stored guaranteeBits that
 * are in holding; and, where proof is not NULL, "verify". Members that this release does not know
 * are kept. SBX_E_INVALID_STATE_FILE where data is no report.
 */
int report_rewrite(struct json_writer *w, const char *data, size_t len, uint32_t holding,
		   const struct proof *proof, struct sbx_error *err);

/* The guaranteeBits of a stored report. SBX_E_INVALID_STATE_FILE as above. */
int report_read_bits(const char *data, size_t len, uint32_t *ret_bits, struct sbx_error *err);

/*
 * SBX_E_GUARANTEE_UNAVAILABLE where a bit of a stored report is not reached by this one: a further
 * process must not make less of what the container's report says. SBX_E_INVALID_STATE_FILE as
 * above.
 */
int report_check_stored(const struct report *report, const char *data, size_t len,
			struct sbx_error *err);

const char *outcome_name(enum outcome outcome);

#endif
