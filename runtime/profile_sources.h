/*
 * Where a container's profile comes from, and what they make together.
 *
 * Sources: --profile, the annotations dev.sbx.profile and dev.sbx.profile.NAME (for the CRI
 * container of that name), the administrator's default and ceiling. They never replace each other:
 * the effective profile is profile_restrict() over all that are present. The default takes part
 * where no other profile is given, and also where only an annotation is given and annotations may
 * only narrow. A ceiling alone is the profile.
 */
#ifndef SBX_RUNTIME_PROFILE_SOURCES_H
#define SBX_RUNTIME_PROFILE_SOURCES_H

#include "spec/oci.h"
#include "spec/policy.h"
#include "spec/profile.h"

#define ANNOTATION_PREFIX    "dev.sbx."
#define ANNOTATION_PROFILE   "dev.sbx.profile"
#define ANNOTATION_WORKSPACE "dev.sbx.workspace"
#define ANNOTATION_GRANTS    "dev.sbx.grants"

#define ANNOTATION_BASE64_PREFIX "b64:" /* before the base64url form of a document */

struct profile_source_options {
	const char *id;	      /* of the container that is made; NULL: none is */
	const char *flag;     /* --profile: a file where it holds a "/", else a name; NULL */
	const char *document; /* in the flag's place: the profile's text, of our own making; NULL */
	const char *workspace; /* of a profile that leaves it out, whatever annotations say; NULL */
	const char *settings;  /* --config, NULL: the default place */
	const char *profiles_dir; /* of the administrator, NULL: the default place */
};

/* Where the effective profile comes from. */
struct profile_origin {
	struct strings sources; /* in order: "flag:NAME", "annotation:inline", "annotation:NAME",
				   "default", "ceiling" */
	struct policy_exemption exemption;
	/* of the settings; the bounds are checked as far as config.json tells */
	uint64_t max_executors;
	const char *scratch_root; /* NULL: none */
	const struct bundle_bounds *bounds;
};

/*
 * The effective profile, NULL where there is no source, and its origin. Errors: those of the
 * documents, prefixed by their source; SBX_E_PROFILE_REQUIRED; SBX_E_UNSUPPORTED for
 * dev.sbx.grants.
 */
int profile_sources_resolve(struct arena *arena, const struct oci_spec *spec,
			    const struct profile_source_options *options, struct profile **ret,
			    struct profile_origin *ret_origin, struct sbx_error *err);

/*
 * One profile as a person names it: "-" (standard input), a file where the text holds a "/", else
 * an installed name. A file is the caller's own: regular and bounded, nothing more is asked of it.
 */
int profile_source_load(struct arena *arena, const char *source, enum profile_role role,
			const char *workspace, struct profile **ret, struct sbx_error *err);

/* Its bytes, unparsed. */
int profile_source_read(const char *source, struct buf *out, struct sbx_error *err);

/* An annotation that no stored, printed or handed-on copy may hold (grant tokens). */
bool annotation_is_secret(const char *key);

#endif
