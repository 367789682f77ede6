/*
 * Running one list of hooks (config.md#posix-platform-hooks).
 *
 * Each hook is a child that gets the container's state as compact JSON on stdin, its args with
 * args[0] kept, its own env (an unset env: the given default), stdout discarded, at most 16 KiB of
 * stderr kept for the message, its own process group, and is killed with it at its timeout. What it
 * leaves in the background lives on when it has ended; a guarded hook (guard.h) that has not ended
 * is killed with all that it started, at its timeout and when the caller dies.
 */
#ifndef SBX_HOOKS_H
#define SBX_HOOKS_H

#include "spec/oci.h"

struct hook_context {
	const char *state_json; /* what the hook reads */
	size_t state_len;
	int cwd_fd;		  /* O_PATH directory the hook starts in, -1: leave */
	char *const *default_env; /* for a hook without env; NULL: empty */
	bool force_empty_env;	  /* createContainer under a profile */
	bool guarded;		  /* a hook of the caller's own pid namespace, with its /proc */
	/* Called in the hook's child just before its execve, may be NULL: joins a cgroup, confines.
	 */
	int (*enter)(void *data, struct sbx_error *err);
	/* Called in the caller after the hook ended, may be NULL: kills what the hook left behind.
	 */
	void (*leave)(void *data);
	void *data;
};

/* Run all hooks of a list in order; the first failure stops it. SBX_E_HOOK_FAILED names kind, path
 * and how it ended. */
int hooks_run(const struct oci_hooks *hooks, enum oci_hook_kind kind,
	      const struct hook_context *context, struct sbx_error *err);

/* The same, every hook run whatever the others do; failures are logged as warnings (poststop). */
void hooks_run_all(const struct oci_hooks *hooks, enum oci_hook_kind kind,
		   const struct hook_context *context);

#endif
