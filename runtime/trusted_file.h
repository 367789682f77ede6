/*
 * Files that decide authority: the administrator's settings, installed profiles.
 *
 * Such a file counts only where nobody but its rightful owner could have written it. Every
 * component of its path is opened on its parent's descriptor and checked there: a directory, no
 * symbolic link, the right owner, not writable by group or others; the file itself regular with one
 * link. What was checked is what is read.
 */
#ifndef SBX_RUNTIME_TRUSTED_FILE_H
#define SBX_RUNTIME_TRUSTED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/buf.h"
#include "runtime/base/error.h"

enum file_trust {
	TRUST_ADMIN,  /* uid 0 of the machine only; nothing that the caller (other than root) writes
		       */
	TRUST_CALLER, /* uid 0 of the machine, or the caller */
};

/* Who the caller is, seen from this user namespace (user_namespaces(7), /proc/self/uid_map). */
struct caller_identity {
	bool initial_userns;
	uid_t machine_root; /* what uid 0 of the machine is here: 0, or the overflow uid */
	uid_t euid;	    /* here */
	uid_t outer_uid;    /* what euid is in the parent user namespace */
};

/* Asks the kernel; where it cannot tell, the strict answer (initial, root is 0). */
void caller_identify(struct caller_identity *ret);

/*
 * Read path (absolute or below the working directory) into out, at most max bytes. -ENOENT with
 * err untouched where the file or a directory above it is absent. SBX_E_UNSAFE_PATH names the
 * component and what is wrong with it.
 */
int trusted_file_read(const char *path, enum file_trust trust, const struct caller_identity *caller,
		      size_t max, struct buf *out, struct sbx_error *err);

/* The folder path, absolute and canonical, by the same rules: O_PATH, or an error as above. */
int trusted_folder_open(const char *path, enum file_trust trust,
			const struct caller_identity *caller, struct sbx_error *err);

#endif
