/*
 * Users of the host, from /etc/passwd alone (passwd(5)): the C library's way would load libraries
 * into a static program.
 */
#ifndef SBX_BASE_USER_H
#define SBX_BASE_USER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct user_entry {
	char name[64];
	char home[PATH_MAX];
};

/* False where the file has no entry of uid, or only one that is too long. */
bool user_find(uid_t uid, struct user_entry *out);

#endif
