/*
 * The report: collected entry by entry, judged once.
 *
 * A guarantee is reached where the profile asks for it, at least one entry carries it, and no entry
 * that carries it is unenforced or unknown. "narrowed" holds: the boundary is there and what was
 * asked beyond it is not; a mechanism whose gap breaks the boundary says unenforced. An entry that
 * could not be recorded takes its bits away, so that running out of memory never looks like
 * success.
 */
#include "spec/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"

#define REPORT_VERSION	   1
#define DETAIL_MAX	   1024
#define STORED_ARENA_BYTES ((size_t)32 << 20)

static const char *const outcome_names[] = {
	[OUTCOME_ENFORCED] = "enforced",
	[OUTCOME_NARROWED] = "narrowed",
	[OUTCOME_UNENFORCED] = "unenforced",
	[OUTCOME_UNKNOWN] = "unknown",
};

const char *outcome_name(enum outcome outcome)
{
	return (size_t)outcome < ARRAY_SIZE(outcome_names) ? outcome_names[outcome] : "unknown";
}

void report_init(struct report *report, struct arena *arena)
{
	memset(report, 0, sizeof(*report));
	report->arena = arena;
	report->lifetime = "unspecified";
	report->access_kind = "broadWrite";
}

static struct report_entry *new_entry(struct report *report)
{
	if (report->n == report->cap) {
		size_t cap = report->cap ? report->cap * 2 : 32;
		struct report_entry *entries =
			arena_alloc_array(report->arena, cap, sizeof(*entries));

		if (!entries)
			return NULL;
		if (report->n)
			memcpy(entries, report->entries, report->n * sizeof(*entries));
		report->entries = entries;
		report->cap = cap;
	}
	return &report->entries[report->n];
}

void report_add(struct report *report, const char *feature, const char *mechanism,
		enum outcome outcome, uint32_t carries, const char *fmt, ...)
{
	struct report_entry *entry = new_entry(report);
	char detail[DETAIL_MAX] = "";
	va_list args;

	va_start(args, fmt);
	vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	if (entry) {
		entry->feature = arena_strdup(report->arena, feature);
		entry->mechanism = arena_strdup(report->arena, mechanism);
		entry->detail = arena_strdup(report->arena, detail);
		entry->outcome = outcome;
		entry->carries = carries;
	}
	if (!entry || !entry->feature || !entry->mechanism || !entry->detail) {
		report->lost |= carries;
		return;
	}
	report->n++;
}

static bool holds(enum outcome outcome)
{
	return outcome == OUTCOME_ENFORCED || outcome == OUTCOME_NARROWED;
}

void report_finish(struct report *report, bool rung_one)
{
	uint32_t carried = 0, broken = report->lost;

	for (size_t i = 0; i < report->n; i++) {
		const struct report_entry *entry = &report->entries[i];

		carried |= entry->carries;
		if (!holds(entry->outcome))
			broken |= entry->carries;
	}
	report->reached = report->asked & carried & ~broken;
	if (report->asked == 0 || report->reached != report->asked)
		report->level = LEVEL_NONE;
	else
		report->level = rung_one && !report->capped_degraded ? LEVEL_FULL : LEVEL_DEGRADED;
}

/* Append "feature (mechanism): outcome, detail" of the entries that stand against the bits. */
static void name_entries(const struct report *report, uint32_t bits, char *out, size_t size)
{
	size_t len = strlen(out);
	const char *before = ": ";

	for (size_t i = 0; i < report->n && len < size; i++) {
		const struct report_entry *entry = &report->entries[i];

		if (entry->outcome == OUTCOME_ENFORCED || (bits && !(entry->carries & bits)))
			continue;
		if (bits && holds(entry->outcome))
			continue;
		snprintf(out + len, size - len, "%s%s (%s): %s%s%s", before, entry->feature,
			 entry->mechanism, outcome_name(entry->outcome), *entry->detail ? ", " : "",
			 entry->detail);
		len += strlen(out + len);
		before = "; ";
	}
}

static void name_bits(uint32_t bits, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (unsigned g = 0; g < GUARANTEE_COUNT; g++)
		if (bits & GUARANTEE_BIT(g)) {
			snprintf(out + len, size - len, "%s%s", len ? ", " : "", guarantee_name(g));
			len += strlen(out + len);
		}
}

/* The worst entry of a feature. */
static const struct report_entry *worst_of(const struct report *report, const char *feature)
{
	static const struct report_entry none = {.outcome = OUTCOME_UNKNOWN,
						 .detail = "nothing in this release carries it"};
	const struct report_entry *worst = NULL;

	for (size_t i = 0; i < report->n; i++) {
		const struct report_entry *entry = &report->entries[i];

		if (strcmp(entry->feature, feature) == 0 &&
		    (!worst || entry->outcome > worst->outcome))
			worst = entry;
	}
	return worst ? worst : &none;
}

enum level report_level_wanted(const struct report *report, const struct profile *profile)
{
	if (report->restriction && !profile->min_level_none && profile->min_level < LEVEL_DEGRADED)
		return LEVEL_DEGRADED;
	return profile->min_level;
}

/* The least that is wanted is more than the container reaches. */
static int fail_level(const struct report *report, const struct profile *profile,
		      struct sbx_error *err)
{
	enum level wanted = report_level_wanted(report, profile);
	uint32_t missing = report->asked & ~report->reached;
	char names[256], why[SBX_MESSAGE_MAX / 3] = "";

	name_bits(missing, names, sizeof(names));
	name_entries(report, missing, why, sizeof(why));
	if (wanted == profile->min_level)
		return sbx_fail_at(err, SBX_E_GUARANTEE_UNAVAILABLE, "/minLevel",
				   "reach level %s: this container reaches %s%s%s%s%s%s%s",
				   level_name(wanted), level_name(report->level),
				   missing ? ", without " : "", missing ? names : "", why,
				   report->restriction ? " (" : "",
				   report->restriction ? report->restriction : "",
				   report->restriction ? ")" : "");
	return sbx_fail_at(err, SBX_E_GUARANTEE_UNAVAILABLE, "/minLevel",
			   "reach what the profile's values ask for: %s cannot be had here (%s). "
			   "\"minLevel\": \"none\" in the profile takes what there is; `report "
			   "--bundle` tells what that is%s",
			   missing ? names : level_name(wanted), report->restriction, why);
}

int report_check(const struct report *report, const struct profile *profile, struct sbx_error *err)
{
	char names[256], why[SBX_MESSAGE_MAX - 320] = "";
	const struct report_entry *sockets;
	uint32_t missing;

	if (!profile)
		return 0;
	missing = profile->require & ~report->reached;
	if (missing) {
		name_bits(missing, names, sizeof(names));
		name_entries(report, missing, why, sizeof(why));
		return sbx_fail_at(err, SBX_E_GUARANTEE_UNAVAILABLE, "/require",
				   "reach what the profile requires: %s is not enforced%s%s%s",
				   names, *why ? why : ": nothing in this release carries it",
				   report->restriction ? "; " : "",
				   report->restriction ? report->restriction : "");
	}
	sockets = worst_of(report, "unixSockets");
	if (profile->require_unix_sockets && sockets->outcome != OUTCOME_ENFORCED)
		return sbx_fail_at(err, SBX_E_GUARANTEE_UNAVAILABLE, "/require",
				   "reach what the profile requires: unixSockets is %s: %s",
				   outcome_name(sockets->outcome), sockets->detail);
	if (report->level < report_level_wanted(report, profile))
		return fail_level(report, profile, err);
	return 0;
}

/* ---- output ---- */

static void write_bits(struct json_writer *w, const char *key, uint32_t bits)
{
	json_begin_object(w, key);
	for (unsigned g = 0; g < GUARANTEE_COUNT; g++)
		json_write_bool(w, guarantee_name(g), bits & GUARANTEE_BIT(g));
	json_end_object(w);
}

static void write_now(struct json_writer *w, uint32_t bits)
{
	json_begin_object(w, "now");
	json_write_uint(w, "guaranteeBits", bits);
	json_end_object(w);
}

static void write_entry(struct json_writer *w, const struct report_entry *entry)
{
	json_begin_object(w, NULL);
	json_write_string(w, "feature", entry->feature);
	json_write_string(w, "mechanism", entry->mechanism);
	json_write_string(w, "outcome", outcome_name(entry->outcome));
	json_write_string(w, "detail", entry->detail);
	json_end_object(w);
}

void report_write(struct json_writer *w, const char *key, const struct report *report,
		  uint32_t now_bits)
{
	json_begin_object(w, key);
	json_write_uint(w, "version", REPORT_VERSION);
	json_write_string(w, "level", level_name(report->level));
	json_write_strings(w, "sources", report->sources.v, report->sources.n);
	write_bits(w, "guarantees", report->reached);
	write_bits(w, "asked", report->asked);
	json_write_uint(w, "guaranteeBits", report->reached);
	json_write_string(w, "lifetimeContainment", report->lifetime);
	json_begin_object(w, "access");
	json_write_string(w, "kind", report->access_kind);
	json_write_strings(w, "writePaths", report->write_paths.v, report->write_paths.n);
	json_write_strings(w, "writeTrees", report->write_trees.v, report->write_trees.n);
	json_end_object(w);
	json_begin_array(w, "entries");
	for (size_t i = 0; i < report->n; i++)
		write_entry(w, &report->entries[i]);
	json_end_array(w);
	write_now(w, now_bits);
	json_end_object(w);
}

static int stored_bits(const struct json_node *stored, uint32_t *ret)
{
	const struct json_node *node = json_get(stored, "guaranteeBits");
	uint64_t bits;

	if (!node || node->type != JSON_NUMBER || json_uint64(node, &bits) < 0 ||
	    bits >= GUARANTEE_BIT(GUARANTEE_COUNT))
		return -EINVAL;
	*ret = (uint32_t)bits;
	return 0;
}

static int parse_stored(struct arena *arena, const char *data, size_t len, struct json_node **ret,
			uint32_t *ret_bits, struct sbx_error *err)
{
	int r = json_parse(arena, "stored report", data, len, &json_limits_config, ret, err);

	if (r == 0 && stored_bits(*ret, ret_bits) < 0)
		r = sbx_fail(err, SBX_E_INVALID_STATE_FILE, 0,
			     "read the stored report: guaranteeBits is missing or out of range");
	return r;
}

int report_check_stored(const struct report *report, const char *data, size_t len,
			struct sbx_error *err)
{
	char names[256], why[SBX_MESSAGE_MAX - 320] = "";
	cleanup_arena struct arena arena;
	struct json_node *stored = NULL;
	uint32_t bits = 0;
	int r;

	arena_init(&arena, STORED_ARENA_BYTES);
	r = parse_stored(&arena, data, len, &stored, &bits, err);
	if (r < 0 || (bits & ~report->reached) == 0)
		return r;
	bits &= ~report->reached;
	name_bits(bits, names, sizeof(names));
	name_entries(report, bits, why, sizeof(why));
	return sbx_fail(err, SBX_E_GUARANTEE_UNAVAILABLE, 0,
			"confine a further process as the container was: %s is not enforced here%s",
			names, why);
}

int report_read_bits(const char *data, size_t len, uint32_t *ret_bits, struct sbx_error *err)
{
	cleanup_arena struct arena arena;
	struct json_node *stored = NULL;

	arena_init(&arena, STORED_ARENA_BYTES);
	return parse_stored(&arena, data, len, &stored, ret_bits, err);
}

int report_rewrite(struct json_writer *w, const char *data, size_t len, uint32_t holding,
		   const struct proof *proof, struct sbx_error *err)
{
	cleanup_arena struct arena arena;
	struct json_node *stored = NULL;
	uint32_t bits = 0;
	int r;

	arena_init(&arena, STORED_ARENA_BYTES);
	r = parse_stored(&arena, data, len, &stored, &bits, err);
	if (r < 0)
		return r;
	json_begin_object(w, NULL);
	for (const struct json_node *child = stored->child; child; child = child->next)
		if (strcmp(child->key, "now") != 0 && strcmp(child->key, "verify") != 0)
			json_write_node(w, child->key, child);
	write_now(w, bits & holding);
	if (proof)
		proof_write(w, "verify", proof, bits);
	json_end_object(w);
	return buf_failed(w->out) ? sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "print the report") : 0;
}
