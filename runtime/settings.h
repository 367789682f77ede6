/*
 * The administrator's settings, /etc/sbx-runtime/config.json (other place: --config).
 *
 * Members: ceiling and defaultProfile (a profile document or the name of an installed profile),
 * requireProfile (boolean), annotations ("ignore", "narrow", "trust"), maxExecutors,
 * scratchRoot. routes and grantTTL are refused by name until they are enforced: a setting that does
 * nothing would be a false promise. An unknown member refuses the file. A ceiling that is a
 * document may have the member bundle beside those of a profile (bundle_bounds.h).
 */
#ifndef SBX_RUNTIME_SETTINGS_H
#define SBX_RUNTIME_SETTINGS_H

#include <stdbool.h>

#include "runtime/trusted_file.h"
#include "spec/bundle_bounds.h"
#include "spec/profile.h"

#define SETTINGS_PATH	      "/etc/sbx-runtime/config.json"
#define MAX_EXECUTORS_DEFAULT 256

#define PROFILES_PATH "/etc/sbx-runtime/profiles"

enum annotation_trust { ANNOTATIONS_IGNORE, ANNOTATIONS_NARROW, ANNOTATIONS_TRUST };

struct settings {
	struct profile *ceiling;	 /* NULL: none */
	struct profile *default_profile; /* NULL: none */
	struct bundle_bounds *bounds;	 /* ceiling.bundle; NULL: none */
	uint64_t max_executors;		 /* containers with a profile, of one runtime root */
	const char *scratch_root;	 /* in the arena; NULL: scratch is a tmpfs */
	bool require_profile;
	/* narrow where any of the three above is set and nothing is said, else trust */
	enum annotation_trust annotations;
};

/*
 * Read the settings. path NULL: SETTINGS_PATH, whose absence means no settings; a path that is
 * given must exist. profiles_dir NULL: PROFILES_PATH. SBX_E_INVALID_SETTINGS, SBX_E_INVALID_JSON,
 * SBX_E_INVALID_PROFILE, SBX_E_UNSAFE_PATH or SBX_E_UNSUPPORTED.
 */
int settings_load(struct arena *arena, const char *path, const char *profiles_dir,
		  struct settings *ret, struct sbx_error *err);

/* The document alone (for tests and fuzzing); caller only serves installed names. */
int settings_parse(struct arena *arena, const char *data, size_t len, const char *profiles_dir,
		   const struct caller_identity *caller, struct settings *ret,
		   struct sbx_error *err);

/*
 * An installed profile by name: NAME.json in profiles_dir (the administrator's), then, for anyone
 * but uid 0 of the initial user namespace, in $XDG_CONFIG_HOME/sbx-runtime/profiles, default
 * ~/.config of the passwd entry. workspace as in profile_parse(). -ENOENT, with err filled in,
 * where there is none of that name.
 */
int installed_profile_load(struct arena *arena, const char *name, const char *profiles_dir,
			   const struct caller_identity *caller, enum profile_role role,
			   const char *workspace, struct profile **ret, struct sbx_error *err);

#endif
