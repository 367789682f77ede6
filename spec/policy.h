/*
 * The policy: bundle and profile combined into backend-neutral rules.
 *
 * A plain bundle has profile NULL and confined false: its rooms do what config.json says and
 * nothing more. With a profile, everything an OS backend must know stands here: path rules in the
 * order of decision, the effective environment, limits, the guarantees that are asked for.
 */
#ifndef SBX_SPEC_POLICY_H
#define SBX_SPEC_POLICY_H

#include "spec/bundle_bounds.h"
#include "spec/oci.h"
#include "spec/profile.h"
#include "spec/report.h"

#define POLICY_SCRATCH_PATH	  "/tmp"
#define POLICY_SCRATCH_PATH_OTHER "/run/sbx" /* where /tmp is the bundle's or the profile's own */
#define POLICY_HOME_NAME	  ".home"    /* below scratch, isolated home */

struct path_rule {
	const char *path;	  /* canonical, inside the container */
	bool read, write;	  /* effective: only "allow" opens */
	const char *feature;	  /* report name: "workspace", "roots[0]" */
	const char *pointer;	  /* in the profile: "/workspace", "/roots/0" */
	const char *path_pointer; /* of its path: "/workspace/root", "/roots/0/path" */
	bool is_protected;	  /* of an entry of protect (@git apart: plan.h), not a root */
	bool is_socket;		  /* an entry of unixSockets, not a root */
};

/* What a pod's sandbox container is let off; set by who knows that it is one, before the report. */
struct policy_exemption {
	const char *source; /* whose profile holds in part; NULL: there is none */
	uint32_t bits;	    /* the boundaries that it asked for and that are not drawn */
};

struct policy {
	const struct oci_spec *spec;
	const struct profile *profile; /* effective; NULL: plain OCI */
	bool confined;		       /* profile present and sandboxed */
	struct path_rule *paths;       /* workspace and roots, sorted by path */
	size_t paths_n;
	bool host_read, host_write;
	bool keeps_names;  /* of protect, whether or not they are there */
	bool protects_git; /* "@git", in a workspace that may be written */
	size_t git_index;  /* of it in protect */
	bool network_allowed;
	bool isolated_home;
	uint64_t scratch_bytes;
	bool scratch_is_asked;	  /* the size is the profile's, not the default */
	const char *scratch_path; /* where scratch is mounted: /tmp or /run/sbx */
	struct strings env;	  /* final environment of the first process */
	struct strings env_dropped;
	uint32_t asked; /* GUARANTEE_BIT()s */
	struct strings sources;
	struct policy_exemption exemption;
	const struct bundle_bounds *bounds; /* of the settings; NULL: none */
	char fingerprint[PROFILE_FINGERPRINT_LEN + 1];
};

/*
 * Build the policy for a bundle. profile may be NULL. Refuses by name (SBX_E_UNSUPPORTED) what a
 * profile asks and no room enforces yet, and with SBX_E_COMMAND_DENIED / SBX_E_GRANT_REQUIRED where
 * the profile does not allow the command; the latter with what a grant has to
 * cover: one command.start.v1 whose scope and target are argv as a JSON array.
 */
int policy_build(struct arena *arena, const struct oci_spec *spec, const struct profile *profile,
		 const struct strings *sources, struct policy **ret, struct sbx_error *err);

/* The rule that holds for path, the longest that has it; NULL: the host's values. */
const struct path_rule *policy_rule_of(const struct policy *policy, const char *path);

/* The rule that holds around rule number n; NULL: the host's values. */
const struct path_rule *policy_enclosing(const struct policy *policy, size_t n);

/* The rule closes something of what is around it. */
bool policy_is_carve_out(const struct policy *policy, size_t n);

/*
 * Protect path (canonical): no root in it may be written, and where the place could be, it gets a
 * rule of its own, for which policy->paths has room. index: of the entry in protect. -ENOMEM.
 */
int policy_protect(struct arena *arena, struct policy *policy, const char *path, size_t index);

/* The boundaries that full draws and part does not, require apart. */
uint32_t policy_left_out(const struct profile *full, const struct profile *part);

/*
 * The environment of a further process (exec) under the same profile. Under a profile: what env
 * names, of equal names the last, without the variables that make a loader, a shell or an
 * interpreter run code of the caller's choice (named in ret_dropped), plus TMPDIR and the isolated
 * HOME. Without one: env with the last of equal names.
 */
int policy_environment(struct arena *arena, const struct policy *policy, const struct strings *env,
		       struct strings *ret_env, struct strings *ret_dropped, struct sbx_error *err);

/*
 * What the report knows before any mechanism speaks: asked bits, sources, what may be written, the
 * gated capabilities (closed), the environment with the dropped variables. Called once, before the
 * rooms plan.
 */
void policy_report(const struct policy *policy, struct report *report);

/* The object of `sbx-runtime plan`: what the backend will be asked. */
void policy_write(struct json_writer *w, const char *key, const struct policy *policy);

#endif
