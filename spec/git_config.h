/*
 * What git's own files say about other files: the few values of a configuration that name what git
 * runs or reads next, and the one-line files that lead from a working tree to its repository.
 *
 * Pure and strict: the bytes come from a workspace that hostile programs wrote. Grammar:
 * git-config(1) "Syntax", gitrepository-layout(5). What git takes for an error is one here as well;
 * conditions of includes are not judged, each counts as met.
 */
#ifndef SBX_SPEC_GIT_CONFIG_H
#define SBX_SPEC_GIT_CONFIG_H

#include <stddef.h>

#include "runtime/base/arena.h"
#include "runtime/base/error.h"
#include "spec/oci.h"

#define GIT_FILE_BYTES_MAX ((size_t)64 << 10)
#define GIT_VALUES_MAX	   512 /* of one kind in one file */

struct git_config {
	struct strings hooks_paths;	/* core.hooksPath, each that is given */
	struct strings worktrees;	/* core.worktree */
	struct strings includes;	/* include.path, includeIf.CONDITION.path */
	struct strings submodule_paths; /* of .gitmodules: submodule.NAME.path */
};

/* Parse a configuration. SBX_E_UNSAFE_PATH with the line; SBX_E_RESOURCE_LIMIT. */
int git_config_parse(struct arena *arena, const char *text, size_t len, struct git_config *ret,
		     struct sbx_error *err);

/*
 * The path in a file of one line (commondir, worktrees/NAME/gitdir), or with prefix "gitdir: " in a
 * .git file; what is behind it but line ends is part of it. NULL: none, or no memory.
 */
const char *git_link_parse(struct arena *arena, const char *text, size_t len, const char *prefix);

/*
 * Where value leads that stands in a file of folder base: canonical, "." and ".." resolved by name.
 * Where it is absolute and below host_path (NULL: unknown), the same below inside. NULL: nowhere
 * (too long, or begins with "~").
 */
const char *git_place(struct arena *arena, const char *base, const char *value,
		      const char *host_path, const char *inside);

#endif
