/*
 * The access profile: what a container may read, write, reach and start.
 *
 * A profile document is strict (unknown members, wrong types, duplicate keys, an unknown version
 * refuse it with the JSON pointer). A parsed profile is normalised: defaults filled in, roots
 * sorted by path, sizes in bytes, durations in milliseconds, targets canonical. Profiles are
 * immutable and live in the arena they were parsed or restricted into.
 */
#ifndef SBX_SPEC_PROFILE_H
#define SBX_SPEC_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/error.h"
#include "spec/json.h"
#include "spec/json_write.h"
#include "spec/oci.h"
#include "spec/target.h"

enum access { ACCESS_DENY, ACCESS_GATED, ACCESS_ALLOW };
enum home_kind { HOME_ISOLATED, HOME_REAL };
enum isolation { ISOLATION_SANDBOXED, ISOLATION_UNCONFINED };
enum on_detach { DETACH_DEFAULT, DETACH_KILL, DETACH_REMOUNT };
enum level { LEVEL_NONE, LEVEL_DEGRADED, LEVEL_FULL };

/* Guarantees, lowest bit first: the order is the wire contract of guaranteeBits. */
enum guarantee {
	GUARANTEE_PROCESS_BOUNDARY,
	GUARANTEE_WRITE_BOUNDARY,
	GUARANTEE_READ_BOUNDARY,
	GUARANTEE_ENV_SCRUB,
	GUARANTEE_NETWORK_BOUNDARY,
	GUARANTEE_ADDRESS_NETWORK,
	GUARANTEE_RESOURCE_LIMITS,
	GUARANTEE_TARGET_NETWORK,
	GUARANTEE_COUNT
};
#define GUARANTEE_BIT(g) (1u << (g))

struct profile_root {
	const char *path;
	enum access read, write;
};

/* What the proxy expects of the bytes on a connection (network.rules[].tls). */
enum tls_mode {
	TLS_AUTO,    /* left out: TLS on 443 and wherever a hello is seen, HTTP on 80 */
	TLS_REQUIRE, /* a ClientHello whose name is the target */
	TLS_HTTP,    /* plain HTTP whose Host is the target */
	TLS_ANY,     /* any bytes */
};

struct profile_rule {
#define PROFILE_RULE_MEMBER(type, name, narrow, encode) type name;
#include "spec/profile_members.def"
#undef PROFILE_RULE_MEMBER
};

struct profile_forward {
	uint16_t listen; /* port on the container's loopback */
	struct target to;
};

struct profile_proxy_ports {
	uint16_t http, socks; /* 0: the default */
};

/* Absent is infinite, but for the two that have a default. */
struct profile_limits {
	struct oci_opt_u64 deadline_ms, terminate_grace_ms, output_bytes, pids, memory_bytes,
		cpus_milli, scratch_bytes;
};
/* Some that a control group has to enforce. */
bool profile_has_group_limits(const struct profile_limits *limits);

#define PROFILE_TERMINATE_GRACE_DEFAULT_MS UINT64_C(10000)
#define PROFILE_SCRATCH_DEFAULT_BYTES	   (UINT64_C(1) << 30)

/* The members stand in profile_members.def, each with its rule for profile_restrict(). */
struct profile {
#define PROFILE_MEMBER(type, name, narrow, encode) type name;
#include "spec/profile_members.def"
#undef PROFILE_MEMBER
};

#define PROFILE_ROUTE_DIRECT "direct"
#define PROFILE_PROTECT_GIT  "@git"

/* Whether a document may leave out workspace.root. */
enum profile_role { PROFILE_ROLE_PROFILE, PROFILE_ROLE_CEILING };

/*
 * Parse, validate, normalise. workspace (may be NULL) is the dev.sbx.workspace annotation, used
 * where the document leaves workspace.root out. SBX_E_INVALID_PROFILE with the pointer.
 */
int profile_parse(struct arena *arena, const char *data, size_t len, enum profile_role role,
		  const char *workspace, struct profile **ret, struct sbx_error *err);

/* The same from a member of a larger document (config.json's annotation, the settings' ceiling). */
int profile_from_json(struct arena *arena, const struct json_node *node, enum profile_role role,
		      const char *workspace, struct profile **ret, struct sbx_error *err);

/* The narrower of both on every question; never wider than either. A ceiling's missing workspace
 * root bounds the base's workspace in place. */
int profile_restrict(struct arena *arena, const struct profile *base, const struct profile *ceiling,
		     struct profile **ret, struct sbx_error *err);

/* Access version 1. kind: command.execute, filesystem.read, filesystem.write, network.
 * scope: a path, "tree:PATH", "host", a target, "broad", a command. -EINVAL on anything else. */
#define PROFILE_ACCESS_VERSION 1
int profile_access(const struct profile *profile, const char *kind, const char *scope,
		   enum access *ret, struct sbx_error *err);

/* Lower-case hex SHA-256 of the canonical encoding of every authority input. */
#define PROFILE_FINGERPRINT_LEN 64
void profile_fingerprint(const struct profile *profile, char ret[PROFILE_FINGERPRINT_LEN + 1]);

/* One sentence: which member decided KIND SCOPE, into out. */
int profile_explain(const struct profile *profile, const char *kind, const char *scope,
		    struct buf *out, struct sbx_error *err);

/* The normalised document. */
void profile_write(struct json_writer *w, const char *key, const struct profile *profile);

/* The rule for a path: the longest root that holds it (workspace, roots), else the host's values.
 */
struct profile_root profile_rule_for(const struct profile *profile, const char *path);

/* The value for every path of a tree, "tree:PATH" of the document: PATH must be the workspace or a
 * root. Roots and protected paths below it keep their own values. -ENOENT where it is neither. */
int profile_rule_for_tree(const struct profile *profile, const char *path,
			  struct profile_root *ret);

/* The protect entry that covers a path, NULL where none does; writing there is denied. */
const char *profile_protects(const struct profile *profile, const char *path);

/* The value for a target (a set of hosts and ports: the narrowest in it); ret_rule (may be NULL) is
 * the rule that decided, NULL for network.access. */
enum access profile_network_access(const struct profile *profile, const struct target *target,
				   const struct profile_rule **ret_rule);

/*
 * What of a profile can hold for a pod's sandbox container, which has neither the workspace nor the
 * command that it was written for: the network part and all that asks for nothing of those. Reading
 * is open, there are no folders and no limits; require and minLevel stay, so that a profile which
 * insists on more is refused there and not weakened.
 */
struct profile *profile_sandbox_part(struct arena *arena, const struct profile *profile);

/* True for a name that an installed profile may have: [a-z0-9][a-z0-9._-]*, at most 64 bytes. */
bool profile_name_is_valid(const char *name);

const char *access_name(enum access access);
const char *guarantee_name(enum guarantee guarantee);
const char *level_name(enum level level);

#endif
