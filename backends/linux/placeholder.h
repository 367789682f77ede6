/*
 * Placeholders: what stands on the host where a protected name is absent, for as long as a
 * container needs it, so that a mount can keep the name.
 *
 * Each is noted in a journal before it exists, and the journal outlives a reboot. A container has
 * at most one file there, named by its key: which container it is (the runtime root and the id; the
 * file PLACEHOLDER_KEY_FILE in the container's folder of the store holds the key for as long as it
 * lives), and of each placeholder the path on the host and the identity of the object. Made first
 * under a name that nobody else has, it is renamed to its own only when its identity is noted.
 *
 * The container that finds another one's placeholder notes it as well, and the last of them removes
 * it. Removal goes by identity: the object is renamed back to the private name, and only if it is
 * the noted one, untouched, and opened by nobody, it goes; else it gets its name back. Whatever the
 * host's user put there stays.
 */
#ifndef SBX_LINUX_PLACEHOLDER_H
#define SBX_LINUX_PLACEHOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/buf.h"
#include "runtime/base/error.h"

#define PLACEHOLDER_KEY_CHARS 32 /* hexadecimal digits */
#define PLACEHOLDER_KEY_FILE  "placeholders"
#define PLACEHOLDERS_MAX      1024 /* of one container */

/* What stands there. A commondir that says "." is the one that changes nothing for git; an empty
 * one would be a fatal error. */
enum placeholder_kind {
	PLACEHOLDER_NONE,
	PLACEHOLDER_FILE,
	PLACEHOLDER_FOLDER,
	PLACEHOLDER_COMMONDIR
};

struct object_identity {
	uint64_t device, inode;
	int64_t birth_s, birth_ns; /* 0: the file system notes none */
};

struct placeholder {
	enum placeholder_kind kind;
	const char *folder; /* absolute, on the host, no link in it */
	const char *name;
	struct object_identity is; /* inode 0: not made yet */
	/* while it is made, not in the journal */
	int folder_fd; /* -EBADF: it is there already, another container's */
	bool skip;     /* nothing can be made there, by nobody */
};

/* One container's file of the journal. */
struct placeholder_note {
	char key[PLACEHOLDER_KEY_CHARS + 1];
	const char *node;  /* the machine, as uname(2) names it */
	const char *store; /* the runtime root */
	const char *id;
	struct placeholder *v;
	size_t n;
};

/* Who makes placeholders: the journal's folder, and what is noted of the container. */
struct placeholder_owner {
	int journal_fd; /* opened for reading; -EBADF: there is none */
	char key[PLACEHOLDER_KEY_CHARS + 1];
	const char *store, *id;
};

/* A new key. 0 or -errno. */
int placeholder_key(char key[PLACEHOLDER_KEY_CHARS + 1]);

/* Wait for the journal's lock, ten seconds at most. The descriptor holds it; a descriptor of its
 * own, or -errno. */
int placeholder_lock(int journal_fd);

/* Every note of the journal, in the arena. A file that is none is passed over, with a warning. */
int placeholder_load(struct arena *arena, int journal_fd, struct placeholder_note **ret,
		     size_t *ret_n);

/* Identity of what fd, or NAME below it, is. 0 or -errno. */
int placeholder_identify(int fd, const char *name, struct object_identity *ret);
bool placeholder_is_same(const struct object_identity *a, const struct object_identity *b);

/*
 * With the lock: note all of them, make those that have a folder_fd, note what they are, give them
 * their names. SBX_E_UNSAFE_PATH where something else got a name meanwhile. What was made before a
 * failure goes with the next sweep.
 */
int placeholder_make(const struct placeholder_owner *owner, struct placeholder *v, size_t n,
		     struct sbx_error *err);

/* The container's name of placeholder number i while it is made or removed. */
void placeholder_private_name(const char *key, size_t i, char out[64]);

/*
 * Remove what containers left that are no more. 0, or -errno where the journal cannot be read; what
 * cannot be removed stays noted, with a warning. ret_removed and ret_left: how many, may be NULL.
 */
int placeholder_sweep(int journal_fd, size_t *ret_removed, size_t *ret_left);

/* One file of the journal; the parser alone, for the fuzz target. -EINVAL. */
int placeholder_note_parse(struct arena *arena, const char *text, size_t len,
			   struct placeholder_note *ret);
void placeholder_note_write(const struct placeholder_note *note, struct buf *out);

#endif
