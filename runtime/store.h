/*
 * The state store: one directory per container below the runtime root.
 *
 * The root is --root, else /run/sbx-runtime for euid 0, else $XDG_RUNTIME_DIR/sbx-runtime (unset or
 * empty: /run/user/UID). The root of a user namespace in which /run belongs to somebody else (a
 * rootless manager's) is such a user too; real root never reads XDG_RUNTIME_DIR.
 *
 * Whoever can write there decides what later verbs kill and remove, so every component of the root
 * must be a directory owned by root or the caller and not writable by group or others. Two
 * exceptions: a world-writable sticky directory of root's (/tmp) above a component of the caller's
 * own, and a symbolic link above the root that root made in such a directory (/var/run). Inside a
 * user namespace an owner that is not mapped passes for root, but not for the runtime root itself.
 *
 * A container's directory holds `state` (JSON, replaced atomically), `config.json` (the copy that
 * later verbs read), `profile`, `report`, and `start` (the socket that a created container listens
 * on), `end` (ending.h); its files are regular, with one link, of the same owners. The directory is
 * the lock: flock(2) on its descriptor, shared to use the container, exclusive to change it. The
 * lock belongs to the open file description, so a child that inherits the descriptor keeps it.
 * Reading `state` alone needs no lock, and must not wait for one: create holds its own while hooks
 * run that may well ask for the state.
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
#define STATE_BYTES_MAX                                                                            \
	((size_t)4 << 20) /* 20,000 annotations of 100 bytes fit with room to spare */
#define STORE_START_SOCKET "start"

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
	pid_t pid; /* 0: no process yet */
	uint64_t pid_start_ticks;
	/* The create in progress, while status is creating; then the start, which runs hooks. */
	pid_t creator_pid;
	uint64_t creator_start_ticks;
	const char *bundle, *rootfs;
	const char *created; /* RFC 3339 with nanoseconds, UTC */
	const char *owner;
	bool started; /* stored behind the fact: state_is_started() */
	bool confined;
	bool landlock_seen; /* the first process saw its Landlock domain refuse, before execve */
	bool has_terminal;
	uint64_t rung;			  /* enum rung: what later verbs may count on */
	bool has_poststart, has_poststop; /* hooks: else config.json need not be read for them */
	bool has_intel_rdt;		  /* config.json says which class */
	uint64_t grace_ms;		  /* from the terminate signal to the kill */
	uint64_t deadline_ms;		  /* from its start; 0: none */
	bool has_carve_outs;		  /* which somebody outside may detach */
	pid_t monitor_pid;		  /* 0: it has none (runtime/monitor/) */
	uint64_t monitor_start_ticks;
	struct cgroup cgroup;
	struct oci_key_values annotations;
};

struct store {
	int root_fd;	     /* O_PATH directory of the runtime root; -EBADF: there is none, so no
				container */
	char root[PATH_MAX]; /* absolute, canonical */
};

/*
 * Open the runtime root; root is --root or NULL for the default. With create its missing components
 * are made 0700; else a missing root is an empty store. SBX_E_UNSAFE_PATH, SBX_E_USAGE ("/", no
 * default), SBX_E_SYSTEM.
 */
int store_open(struct store *store, const char *root, bool create, struct sbx_error *err);
void store_close(struct store *store);

/* [A-Za-z0-9_+.-]{1,255}, not "." or "..". SBX_E_INVALID_ID. */
int store_check_id(const char *id, struct sbx_error *err);

/* Make the container's directory; SBX_E_CONTAINER_EXISTS where it exists. Returns its descriptor,
 * locked exclusively. */
int store_create_container(const struct store *store, const char *id, struct sbx_error *err);

/*
 * Open an existing container and lock it, waiting ten seconds at most for whoever holds the lock.
 * Returns the directory's descriptor. SBX_E_CONTAINER_UNKNOWN, also where the container was removed
 * while we waited; SBX_E_CONTAINER_STATUS where it is still held; SBX_E_UNSAFE_PATH where the
 * directory is somebody else's.
 */
enum store_lock { STORE_LOCK_NONE, STORE_LOCK_SHARED, STORE_LOCK_EXCLUSIVE };
int store_open_container(const struct store *store, const char *id, enum store_lock lock,
			 struct sbx_error *err);

/* Somebody else holds the container exclusively: it is being made, changed or removed. Not to be
 * asked by who has a lock. */
bool store_is_busy(int container_fd);

/* Nothing was ever stored in the container's directory: its create did not get so far. */
bool store_is_unused(int container_fd);

/*
 * Change the lock of an open container (STORE_LOCK_NONE: give it up), as run does while it waits
 * for the payload. Taking it again fails with SBX_E_CONTAINER_UNKNOWN where the container was
 * removed meanwhile.
 */
int store_relock_container(const struct store *store, const char *id, int container_fd,
			   enum store_lock lock, struct sbx_error *err);

/* Remove the container's scratch folder, where it has one (scratch.h), and its directory, by
 * descriptor and iteratively. Absent is success. */
int store_remove_container(const struct store *store, const char *id, struct sbx_error *err);

/* How many containers have a profile. Count or -errno. */
int store_count_confined(const struct store *store, struct sbx_error *err);

/* All ids, sorted; malloc'ed NULL-terminated list. Count or -errno. */
int store_list(const struct store *store, char ***ret_ids, struct sbx_error *err);

/* Append a file of the container to out: regular, one link, of root or the caller, not writable by
 * others, at most max bytes. SBX_E_INVALID_STATE_FILE (-ENOENT where absent), SBX_E_UNSAFE_PATH;
 * SBX_E_SYSTEM where it is not the file's fault. */
int store_read_file(int container_fd, const char *name, size_t max, struct buf *out,
		    struct sbx_error *err);

/* Replace the file `state`; SBX_E_RESOURCE_LIMIT beyond STATE_BYTES_MAX (annotations). */
int state_save(int container_fd, const struct container_state *state, struct sbx_error *err);

/* Read the file `state` and nothing else. SBX_E_INVALID_STATE_FILE. */
int state_load(struct arena *arena, int container_fd, struct container_state *ret,
	       struct sbx_error *err);
/* The parser alone, for the fuzz target. */
int state_parse(struct arena *arena, const char *data, size_t len, struct container_state *ret,
		struct sbx_error *err);
/* The writer alone. */
void state_write(struct json_writer *w, const struct container_state *state);

/*
 * What the container is now: looks at the processes, the start socket and the freezer. A process
 * that is gone or a zombie means stopped; so does one that was never started and whose creator died
 * before it could listen for start. A created container can be paused, too.
 */
enum container_status state_status(int container_fd, const struct container_state *state);

/* The payload was let go and lives: stored so, or seen by its name (SPAWN_NAME). */
bool state_is_started(const struct container_state *state);
const char *status_name(enum container_status status);

/* The OCI state object (runtime.md#state), with the extra members of the field's runtimes (rootfs,
 * created, owner) when extended. The pid of a stopped container is 0. */
void state_write_oci(struct json_writer *w, const char *key, const struct container_state *state,
		     enum container_status status, bool extended);

#endif
