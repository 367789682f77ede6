/*
 * A room: one mechanism of the kernel, one file, one exported `const struct room`.
 *
 * Rooms never include each other. plan() is pure; prepare() runs in the runtime and opens or
 * compiles; apply() is the mechanism itself, called by the row of the stage table that lists the
 * room, in the process that the row names; undo() is idempotent and runs in the runtime. Unused
 * members are NULL.
 */
#ifndef SBX_LINUX_ROOM_H
#define SBX_LINUX_ROOM_H

#include <sched.h>

#include "backends/linux/mount_source.h"
#include "backends/linux/plan.h"
#include "spec/json_write.h"

/* Where a room may act; a row of the stage table passes its own, so that one room can serve two. */
enum stage {
	STAGE_PREFLIGHT,       /* runtime */
	STAGE_PREPARE,	       /* runtime */
	STAGE_SPAWN,	       /* runtime */
	STAGE_ID_MAPS,	       /* runtime */
	STAGE_CGROUP,	       /* runtime: joined, limits, device filter */
	STAGE_NAMESPACES,      /* child */
	STAGE_NETWORK,	       /* child: lo */
	STAGE_MOUNTS,	       /* child */
	STAGE_HOOKS_RUNTIME,   /* runtime: prestart, createRuntime */
	STAGE_HOOKS_CONTAINER, /* child: createContainer */
	STAGE_OWN_NETWORK,     /* child */
	STAGE_PIVOT,	       /* child: view, pivot, mask, read-only */
	STAGE_TTY,	       /* child: terminal, hostname, sysctl */
	STAGE_LIMITS,	       /* child: rlimits, oom, scheduler, keyring */
	STAGE_PRIVILEGES,      /* child: bounding set, uid, gid, capabilities */
	STAGE_EXECUTABLE,      /* child: working directory, HOME, what will be executed */
	STAGE_DESCRIPTORS,     /* child: close_range */
	STAGE_CREATED,	       /* child: waits for start */
	STAGE_FORKED,	       /* exec's child: what a fork does not pass on, or counts */
	STAGE_BOUNDARY,	       /* child: checked again at start */
	STAGE_HOOKS_START,     /* child: startContainer */
	STAGE_OUTER_LANDLOCK,  /* child, rung 2: of the first process, around that of the program */
	STAGE_FIRST_PROCESS,   /* child, rung 2: the program is forked from it here */
	STAGE_LANDLOCK,	       /* child */
	STAGE_SECCOMP,	       /* child */
	STAGE_EXEC,	       /* child */
	STAGE_COUNT
};

struct cgroup;
struct placeholder_owner;

#define PROTECTED_BYTES ((size_t)2 << 20)

/* What a set-up in progress holds. Runtime and child each have their own copy after the clone. */
struct run {
	const struct plan *plan;
	int proc_fd;   /* private procfs of the current process's pid namespace (procfs.h) */
	int bundle_fd; /* O_PATH directory */
	int rootfs_fd; /* O_PATH: in the runtime the rootfs directory, in the child the container's
			  root mount */
	int sync_fd;   /* to the other side */
	int start_fd;  /* child: listening socket that start connects to */
	int watch_fds[4];  /* carve_watch.h: child, sent to the runtime; -EBADF: nothing to watch */
	int output_fds[2]; /* pipes to be standard output and error; -EBADF: the caller's own */
	int tty_master_fd; /* child, after STAGE_TTY: sent to the runtime */
	int console_fd;	   /* child: the terminal's slave */
	int executable_fd; /* -1: resolved by path at exec */
	int landlock_fd;   /* ruleset */
	/* under a profile: the source of each plan mount, as it was judged (mount_source.h) */
	struct mount_source *mount_sources;
	int *mount_fds;	     /* prepared sources, one per plan mount, -EBADF where none */
	uint64_t *mount_ids; /* child, under a profile: of each plan mount, 0: none */
	/* shared with the child, which tells in it what it made of protect (view_protect.c) */
	char *protected_paths;
	/* who makes placeholders (placeholder.h); NULL: nobody needs any */
	const struct placeholder_owner *placeholders;
	struct cgroup *cgroup;	/* the container's group (cgroup/cgroup.h), resolved before the
				   first stage, made at STAGE_PREPARE, and saved to the state store
				   before and after that; NULL: none */
	struct cgroup *payload; /* where the processes are: the same, or groups of it below
				   (cgroup_payload()); NULL: none */
	/* runtime: the name of the hooks' group (hook_group.h) */
	const char *hook_group;
	const char *scratch_path; /* on disk, on the host (plan_view.scratch_root) */
	pid_t pid;		  /* runtime: the child's pid */
	int pidfd;
	int container_pidfd;  /* exec: the container's first process */
	bool born_in_cgroup;  /* runtime: clone3(2) put the child into its cgroup2 group */
	pid_t container_pid;  /* exec: the first process of the container to enter */
	pid_t *child_told;    /* a page shared with the joiner alone: the pid of what it forked */
	char *executable;     /* child, after STAGE_EXECUTABLE */
	char **env;	      /* child: final, with HOME */
	uint32_t boundary[3]; /* links, addresses, routes when the network was made */
	bool cwd_entered;     /* child: the working directory is entered already */
	bool is_exec;	      /* rows of exec, not of create */
	bool landlock_seen;   /* child: the domain refused what had worked just before */
	struct probe *probe;  /* exec: tries what the payload can do, and executes nothing; NULL */
	void *room_data[28];  /* prepared data per room, index = position in the room table */
};

struct room {
	const char *name;
	int (*plan)(struct plan *plan, struct report *report, struct sbx_error *err);
	int (*prepare)(struct run *run, struct sbx_error *err);
	int (*apply)(struct run *run, enum stage stage, struct sbx_error *err);
	void (*undo)(struct run *run);
	void (*settle)(struct run *run); /* the payload runs: let go of what undo() needs */
	void (*dump)(const struct plan *plan, struct json_writer *w);
	bool without_namespaces; /* serves a container on rung 2 as well */
};

static inline bool room_serves(const struct room *room, const struct plan *plan)
{
	return plan->rung != RUNG_SHARED || room->without_namespaces;
}

/* Every room, in the order in which plan() runs (rooms.c). */
extern const struct room *const linux_rooms[];
extern const size_t linux_rooms_n;

/* Hooks that run while the container is made, with its mounts and its network in their hands. */
static inline bool room_has_create_hooks(const struct plan *plan)
{
	const struct oci_hooks *hooks = &plan->spec->hooks;

	return hooks->n[HOOK_PRESTART] || hooks->n[HOOK_CREATE_RUNTIME] ||
	       hooks->n[HOOK_CREATE_CONTAINER];
}

/* Without no_new_privs a filter needs CAP_SYS_ADMIN: it comes before that is dropped. */
static inline bool room_filters_early(const struct plan *plan)
{
	return !plan->process.no_new_privs;
}

/* What exec's joiner forks is behind the bundle's filter from its first instruction: that need not
 * let anything be set. */
static inline bool room_forks_filtered(const struct plan *plan)
{
	return plan->seccomp.bundle && room_filters_early(plan);
}

/* The mount of config.json that path lies in, the last of several; mounts->n: none. (mounts.c) */
size_t room_mount_of(const struct plan_mounts *mounts, const char *path);

/* The mounts that stayed writable until all mount points in them were made. (mounts.c) */
int room_mounts_make_read_only(struct run *run, struct sbx_error *err);

/* Whose user namespace is not the runtime's, be it made or joined. */
static inline bool room_has_userns(const struct plan *plan)
{
	return (plan->namespaces.new_flags & CLONE_NEWUSER) || plan->namespaces.path[NS_USER];
}

/* The capabilities that a profile leaves, a bit each. (caps.c) */
uint64_t room_caps_allowed(const struct plan *plan);

/* Whether the maps name the container's id. (userns.c) */
bool room_maps_id(const struct oci_id_maps *maps, uint32_t id);

/* Say where a new user namespace is why the kernel answered EOVERFLOW: what is made in the set-up
 * belongs to id 0, which no map names. Returns rc. (userns.c) */
int room_explain_overflow(const struct plan *plan, int rc, struct sbx_error *err);

/* The process that is set up: that of the bundle, or the one of an exec. NULL: none was given. */
static inline const struct oci_process *room_process(const struct plan *plan)
{
	return plan->process.process ? plan->process.process : plan->spec->process;
}

/* The room's own place in run->room_data: what its prepare() leaves for apply() and undo(). */
static inline void **room_slot(struct run *run, const struct room *room)
{
	size_t i;

	for (i = 0; i < linux_rooms_n && linux_rooms[i] != room; i++)
		;
	return &run->room_data[i];
}

extern const struct room
	room_namespaces; /* new and by path; lo; the late network namespace; boundary check */
extern const struct room room_network; /* lo, the late network namespace, the check at start */
extern const struct room room_intel_rdt;
extern const struct room room_net_devices; /* moved in by the runtime */
extern const struct room room_payload;	   /* working directory, HOME, execve */
extern const struct room room_userns;	   /* id maps */
extern const struct room room_rootfs;	   /* root mount, propagation, pivot_root, read-only root */
extern const struct room room_mounts;	   /* config.json mounts */
extern const struct room room_devices;	   /* device nodes and links of /dev */
extern const struct room room_mask;	   /* maskedPaths, readonlyPaths */
extern const struct room room_view;	   /* what a profile lets be seen and written */
extern const struct room room_tty;	   /* terminal */
extern const struct room room_uts;	   /* hostname, domainname */
extern const struct room room_sysctl;
extern const struct room room_rlimits;
extern const struct room room_oom;
extern const struct room room_sched;	 /* scheduler, ioPriority, affinity, personality */
extern const struct room room_mempolicy; /* memoryPolicy */
extern const struct room room_keyring;
extern const struct room room_lsm;  /* AppArmor, SELinux */
extern const struct room room_caps; /* no_new_privs, bounding set, uid, gid, capabilities */
extern const struct room room_landlock;
extern const struct room room_seccomp;
extern const struct room room_shared; /* rung 2: user, scratch folder, what cannot be had */
extern const struct room room_cgroup; /* thin: calls cgroup/ */

#endif
