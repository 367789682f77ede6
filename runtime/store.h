/*
 * The state store: one directory per container below the runtime root.
 *
 * The root is /run/sbx-runtime for euid 0, else $XDG_RUNTIME_DIR/sbx-runtime (0700); every
 * component owned by root or the caller, not writable by others, no symlink. A container's
 * directory holds `state` (JSON, replaced atomically), `config.json` (the copy that later verbs
 * read), `report`, `start` (the socket that a created container listens on). The directory is the
 * lock: flock(2) on its descriptor, shared to read, exclusive to change.
 */
#ifndef SBX_RUNTIME_STORE_H
#define SBX_RUNTIME_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/linux/cgroup/cgroup.h"
#include "runtime/base/error.h"

#define CONTAINER_ID_MAX 255

enum container_status {
	STATUS_CREATING,
	STATUS_CREATED,
	STATUS_RUNNING,
	STATUS_PAUSED,
	STATUS_STOPPED
};

struct container_state {
	char id[CONTAINER_ID_MAX + 1];
	const char *oci_version;
	pid_t pid;
	uint64_t pid_start_ticks;
	pid_t creator_pid; /* the create in progress, while status is creating */
	uint64_t creator_start_ticks;
	const char *bundle, *rootfs;
	const char *created; /* RFC 3339 with nanoseconds, UTC */
	const char *owner;
	bool started;
	bool confined;
	bool has_terminal;
	bool has_poststart, has_poststop;
	struct cgroup cgroup;
	struct oci_key_values annotations;
};

struct store {
	int root_fd; /* O_PATH directory of the runtime root */
	char root[PATH_MAX];
};

/* Open (and make with create) the runtime root; root is --root or NULL for the default. */
int store_open(struct store *store, const char *root, bool create, struct sbx_error *err);
void store_close(struct store *store);

/* [A-Za-z0-9_+.-]{1,255}, not "." or "..". SBX_E_INVALID_ID. */
int store_check_id(const char *id, struct sbx_error *err);

/* Make the container's directory; SBX_E_CONTAINER_EXISTS where it exists. Returns its locked
 * descriptor. */
int store_create_container(const struct store *store, const char *id, struct sbx_error *err);

/* Open and lock an existing container; SBX_E_CONTAINER_UNKNOWN. Returns the locked directory
 * descriptor. */
enum store_lock { STORE_LOCK_NONE, STORE_LOCK_SHARED, STORE_LOCK_EXCLUSIVE };
int store_open_container(const struct store *store, const char *id, enum store_lock lock,
			 struct sbx_error *err);

/* Remove the container's directory (by descriptor, iteratively). */
int store_remove_container(const struct store *store, const char *id, struct sbx_error *err);

/* All ids, sorted; malloc'ed NULL-terminated list. Count or -errno. */
int store_list(const struct store *store, char ***ret_ids, struct sbx_error *err);

int state_save(int container_fd, const struct container_state *state, struct sbx_error *err);
int state_load(struct arena *arena, int container_fd, struct container_state *ret,
	       struct sbx_error *err);
/* The parser alone, for the fuzz target. */
int state_parse(struct arena *arena, const char *data, size_t len, struct container_state *ret,
		struct sbx_error *err);

/* What the container is now: looks at the process, the start socket and the freezer. */
enum container_status state_status(int container_fd, const struct container_state *state);
const char *status_name(enum container_status status);

/* The OCI state object (runtime.md#state), with the extra members of the field's runtimes (rootfs,
 * created, owner) when extended. */
void state_write_oci(struct json_writer *w, const struct container_state *state,
		     enum container_status status, bool extended);

#endif
