/*
 * Why a command that the caller can start is not found by `run -- COMMAND`: it, what it leads to or
 * the interpreter of its first line lies in a folder that the profile does not show.
 */
#ifndef SBX_RUNTIME_OUT_OF_VIEW_H
#define SBX_RUNTIME_OUT_OF_VIEW_H

#include "runtime/base/error.h"
#include "spec/policy.h"

/*
 * Where err says that the command was not found or is no program, and the caller's own look at the
 * same name tells more, err says what is out of view and how to open it; else it stays. The host's
 * root is the container's. has_profile: folders are opened by the caller's profile, not by --root.
 */
void out_of_view_explain(const struct policy *policy, const char *command, bool has_profile,
			 struct sbx_error *err);

#endif
