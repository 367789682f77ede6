/*
 * One container as a verb works on it: the documents, the plan, the set-up, the place in the store.
 *
 * container_create() does everything that must happen before `created` can be said, and leaves
 * nothing behind where it fails. Later verbs open what create stored and never read the bundle
 * again.
 */
#ifndef SBX_RUNTIME_CONTAINER_H
#define SBX_RUNTIME_CONTAINER_H

#include "backends/linux/hook_group.h"
#include "backends/linux/placeholder.h"
#include "backends/linux/sequence.h"
#include "runtime/cmd.h"
#include "runtime/direct.h"
#include "runtime/foreground.h"
#include "runtime/store.h"

#define CONTAINER_ARENA_BYTES	   ((size_t)64 << 20)
#define CONTAINER_CONFIG_BYTES_MAX ((size_t)16 << 20)

struct container {
	struct arena arena;
	struct store store;
	int dir_fd; /* the container's locked directory in the store */
	struct container_state state;
	struct buf config; /* create, run: the text of config.json, for the store's copy */
	/* run -- COMMAND: the default profile, in the arena, where no other is given; the workspace
	 */
	const char *direct_profile, *direct_workspace;
	struct oci_spec *spec;
	struct policy *policy;
	/* create, run: of the settings */
	uint64_t max_executors;
	const char *scratch_root;
	struct host_facts host;
	struct plan *plan;
	struct report report;
	char hook_group[HOOK_GROUP_NAME_BYTES];
	struct placeholder_owner placeholders;
	struct run run;
};

/* What create and run take from the command line. */
struct create_request {
	const char *id;
	const char *bundle;
	const char *config_file;    /* name below the bundle, or a path; NULL: config.json */
	const char *console_socket; /* NULL: none */
	const char *pid_file, *pidfd_socket;
	const char *profile; /* --profile behind the verb; wins over the one before it */
	int preserve_fds;
	bool no_pivot, no_new_keyring, detached;
	bool start_by_socket;	       /* create: wait for `start`; run: this process starts it */
	struct foreground *foreground; /* run: who will wait for it; NULL */
	const struct direct_request *direct; /* run -- COMMAND: instead of a bundle; NULL */
};

/* The rows of create's options, shared with run; request_read() reads them. */
#define RUN_OPTION_ROWS 16
extern const struct option_row create_option_rows[RUN_OPTION_ROWS];
int request_read(const struct invocation *in, struct create_request *ret, struct sbx_error *err);

void container_init(struct container *c);
void container_release(struct container *c);

/*
 * Read the bundle, resolve the profile, plan: everything but the container itself. Used by create,
 * run, plan and report --bundle; changes nothing on the host.
 */
int container_plan(struct container *c, const struct global_options *global,
		   const struct create_request *request, struct sbx_error *err);

/* Make it: the store's directory, the cgroup, the processes up to created; pid file, console,
 * sockets. */
int container_create(struct container *c, const struct global_options *global,
		     const struct create_request *request, struct sbx_error *err);

/* Start what create left waiting, run poststart hooks; a failing one kills and deletes the
 * container. */
int container_start(struct container *c, int sync_fd, struct sbx_error *err);

/*
 * Open an existing container: lock, state. SBX_E_INVALID_STATE_FILE where the state is missing or
 * damaged or another container's; SBX_E_CONTAINER_STATUS where it is not there yet, or any more.
 */
int container_open(struct container *c, const struct global_options *global, const char *id,
		   enum store_lock lock, struct sbx_error *err);

/* The group of hooks that its creator, or who starts it, runs. */
void container_name_hook_group(struct container *c);

/* The stored report. -ENOENT where there is none and no profile; under a profile that is an error:
 * SBX_E_CONTAINER_STATUS while the container is being made, else SBX_E_INVALID_STATE_FILE. */
int container_read_report(const struct container *c, struct buf *out, struct sbx_error *err);

/* The profile's limit of what the process writes, which holds where we pass it on: so fg must be
 * there (SBX_E_UNSUPPORTED where it is NULL). */
int container_limit_output(struct container *c, struct foreground *fg, struct sbx_error *err);

/* Kill the first process, where there is one, and wait for its end. */
void container_kill_first(const struct container_state *state);

/* The stored copy of config.json into c->spec, where that has none yet. */
int container_load_spec(struct container *c, struct sbx_error *err);

/* For exec: the policy of the stored profile (none: plain) over c->spec. */
int container_load_policy(struct container *c, struct sbx_error *err);

/* Kill what is left, remove the cgroup, run poststop hooks, remove the directory. */
int container_destroy(struct container *c, struct sbx_error *err);

/* The last step of every end: the container's folder, and then what it kept names free with.
 * (journal.c) */
int container_forget(struct container *c, const char *id, struct sbx_error *err);

/* The OCI state object for a hook (sequence_events.hook_state). */
int container_hook_state(void *container, const char *status, pid_t pid, struct buf *out);

#endif
