/*
 * The own image (CVE-2019-5736): continue from a copy of this program that nobody can write.
 *
 * A container that shares a pid namespace, a ptrace right or an exec with the runtime can reach
 * /proc/PID/exe and open the host's binary for writing. Verbs that enter or make a container
 * therefore first continue from a read-only mount of themselves: open_tree(2) CLONE of
 * /proc/self/exe, mount_setattr(2) RDONLY, execveat(2); where that is refused (no CAP_SYS_ADMIN), a
 * sealed memfd_create(2). Nothing is done where the program already runs from a read-only mount or
 * a sealed file.
 */
#ifndef SBX_RUNTIME_SELF_IMAGE_H
#define SBX_RUNTIME_SELF_IMAGE_H

#include "runtime/base/error.h"

/* Returns 0 when this process runs from a safe image; does not return when it had to start anew. */
int self_image_ensure(char **argv, struct sbx_error *err);

#endif
