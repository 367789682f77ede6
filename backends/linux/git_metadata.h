/*
 * What git would run or believe in the workspace's own repository, as git's metadata lists it.
 *
 * Hooks, configuration and what leads to them, of the repository itself, its linked working trees
 * and its submodules (gitrepository-layout(5)); where core.hooksPath and includes of the
 * configuration lead; no scan of the tree. The metadata is hostile: it is read by descriptor, no
 * link in any component, regular files of at most 64 KiB, and with a bound on how many. Only what
 * lies in a writable root is read and listed: the rest nobody in the container can change.
 */
#ifndef SBX_LINUX_GIT_METADATA_H
#define SBX_LINUX_GIT_METADATA_H

#include "backends/linux/placeholder.h"
#include "spec/policy.h"

#define GIT_NAMES_MAX 1000

struct git_tree {
	struct arena *arena;
	int tree_fd;		     /* the container's tree */
	const struct policy *policy; /* of the roots; an absolute path inside decides by it */
	const char *workspace;	     /* canonical, inside */
	const char *host_path;	     /* where that lies on the host; NULL: unknown */
};

struct git_name {
	const char *path;	      /* canonical, inside */
	enum placeholder_kind absent; /* what keeps the name; NONE: it is there */
};

/*
 * The names, in the tree's arena. No repository: none. SBX_E_UNSAFE_PATH where a link, or what is
 * no file of git's, stands in the place of one; SBX_E_RESOURCE_LIMIT; SBX_E_UNSUPPORTED for a
 * repository whose core.worktree is another folder.
 */
int git_list_names(const struct git_tree *tree, struct git_name **ret, size_t *ret_n,
		   struct sbx_error *err);

#endif
