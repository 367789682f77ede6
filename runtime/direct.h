/*
 * `run -- COMMAND`: a container for one command on the host's own root, or on that of --rootfs,
 * without a bundle.
 *
 * The default profile opens the workspace (the current folder) for reading and writing, what
 * programs need to start for reading, and nothing else: no other file of the host, no network. The
 * command gets PATH, TERM, LANG, LC_*, TZ, USER and LOGNAME of the caller's environment, a home of
 * its own, and the caller's terminal through one of its own.
 */
#ifndef SBX_RUNTIME_DIRECT_H
#define SBX_RUNTIME_DIRECT_H

#include <limits.h>

#include "runtime/base/buf.h"
#include "runtime/cmd.h"

struct direct_request {
	char *const *command;		   /* ends with NULL */
	const char *workspace;		   /* NULL: the current folder */
	const char *rootfs;		   /* NULL: the host's root */
	const struct option_values *roots; /* PATH, for reading, or PATH:rw */
	const struct option_values *env;   /* NAME, of the caller's environment, or NAME=VALUE */
	bool has_profile;		   /* another one than the default is given */
};

/* What is made of it. */
struct direct_bundle {
	struct buf config, profile; /* texts; the profile is the default one */
	char workspace[PATH_MAX];
};

/*
 * config.json and the default profile. The profile is no annotation of config.json, which the
 * administrator may have ignored. SBX_E_USAGE for what cannot be meant: a folder that does not
 * exist, "/" or, unless it is named, one that holds a home folder as workspace; text that is no
 * UTF-8.
 */
int direct_write(const struct direct_request *request, struct direct_bundle *ret,
		 struct sbx_error *err);

#endif
