/*
 * The plan: what will be done to make one container, as data.
 *
 * Each room owns one member and fills it in its plan() from the policy and the host's facts;
 * apply() reads it and decides nothing. The plan lives in one arena, is printed by `sbx-runtime
 * plan` and pinned by golden tests.
 */
#ifndef SBX_LINUX_PLAN_H
#define SBX_LINUX_PLAN_H

#include "backends/linux/host.h"
#include "spec/policy.h"

/* ---- namespaces (rooms/namespaces.c, rooms/userns.c) ---- */

struct plan_namespaces {
	int new_flags;		    /* CLONE_NEW* to make */
	const char *path[NS_COUNT]; /* to join, NULL else */
	bool own_network_late; /* confined: the payload's own empty network namespace after the last
				  create hook */
	bool maps_by_helper;   /* newuidmap(1), newgidmap(1) */
	bool deny_setgroups;
	bool implicit_userns; /* rootless without a user namespace in the bundle: refused by the
				 planner */
	struct oci_id_maps uid_maps, gid_maps; /* of a new user namespace */
};

/* ---- mounts (rooms/mounts.c): one decoded entry per config.json mount, in list order ---- */

enum mount_kind { MOUNT_FILESYSTEM, MOUNT_BIND, MOUNT_CGROUP };

struct plan_mount {
	enum mount_kind kind;
	size_t index;		 /* in config.json's mounts */
	const char *destination; /* normalised, inside the container */
	const char *type, *source;
	bool recursive;					   /* rbind */
	uint64_t attr_set, attr_clear;			   /* MOUNT_ATTR_*, this mount */
	uint64_t attr_set_recursive, attr_clear_recursive; /* MOUNT_ATTR_*, whole tree */
	unsigned long super_flags, super_flags_clear;	   /* MS_* of the superblock (SYNCHRONOUS,
							      DIRSYNC, LAZYTIME, I_VERSION, RDONLY) */
	unsigned long propagation;			   /* MS_SHARED|MS_REC..., 0: none asked */
	const char *data; /* comma separated options for the file system */
	bool copy_up, idmap, idmap_recursive, copy_symlink, source_nofollow, destination_nofollow;
	bool remount;		   /* change the flags of what is mounted there */
	bool inherit_mode;	   /* tmpfs without mode=: the mode of the directory it covers */
	bool read_only_late;	   /* is filled first, made read-only before the payload runs */
	bool source_by_parent;	   /* the runtime opens the source: the child could not reach it */
	const char *source_inside; /* a bind source below the root: its path there */
	const char *fallback;	   /* host path to bind where the kernel refuses a new one */
	const struct oci_id_maps *uid_maps, *gid_maps;
	const char *label; /* context= for this file system, NULL */
};

struct plan_mounts {
	struct plan_mount *v;
	size_t n;
	bool no_pivot;
	unsigned long rootfs_propagation; /* MS_PRIVATE|MS_REC by default */
	bool root_readonly;
	bool new_root; /* false: the bundle has no mount namespace */
	struct strings masked, readonly;
};

/* ---- devices (rooms/devices.c) ---- */

struct plan_device {
	const char *path;
	char type; /* 'c', 'b', 'p' */
	unsigned major, minor;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	bool is_default;
};

struct plan_devices {
	struct plan_device *v;
	size_t n;
	bool by_bind; /* no mknod in this user namespace */
};

/* ---- the confined view (rooms/view.c) ---- */

/* BUNDLE: host read allow, what the bundle mounts; CLOSURE: host read deny, a new root on tmpfs
 * that holds only the runtime closure (closure.h), the roots and the workspace. */
enum view_kind { VIEW_NONE, VIEW_BUNDLE, VIEW_CLOSURE };

struct plan_view {
	enum view_kind kind;
	bool host_is_root; /* root.path "/": private empty /run, /tmp, /var/tmp, /dev/shm, homes */
	bool host_write;   /* everything but the kernel's own file systems stays writable */
	const char *scratch_path;
	uint64_t scratch_bytes;
	const char *scratch_root; /* on disk, below this folder; NULL: a tmpfs of that size */
	const char *home;	  /* directory below scratch, NULL: real home */
	uid_t uid;		  /* of home */
	gid_t gid;
};

/* ---- rung 2 (rung.h, rooms/shared.c): in the namespaces of the runtime itself ---- */

enum rung { RUNG_NAMESPACES = 1, RUNG_SHARED = 2 };

struct plan_shared {
	bool no_network;     /* no socket but pairs */
	bool no_metadata;    /* chmod, chown, utimes and setxattr are refused everywhere */
	bool no_watching;    /* inotify and fanotify tell names of folders that cannot be read */
	bool hides_proc;     /* of /proc only what is the machine's, nothing of a process */
	const char *scratch; /* on the host */
	struct strings env;  /* with TMPDIR and HOME there */
};

/* ---- privileges ---- */

struct plan_caps {
	uint64_t sets[CAPSET_COUNT]; /* bit masks */
	uint64_t unknown;	     /* how many names were not known (warned) */
};

struct plan_landlock {
	bool used;
	unsigned abi;
	bool scope_abstract; /* the network namespace is shared: abstract sockets are cut here */
	bool scope_signal;   /* the pid namespace is shared: signals are */
	bool closes_network; /* TCP, rung 2 */
};

struct plan_seccomp {
	bool floor;			  /* the profile's own filter */
	const struct oci_seccomp *bundle; /* NULL: none */
	bool notifies;			  /* the bundle's filter has a listener */
};

struct plan_process {
	bool no_new_privs;
	const struct oci_process *process;
	struct strings env; /* final */
	bool new_keyring;
	bool terminal;
};

/* ---- cgroup (cgroup/) ---- */

enum cgroup_manager { CGROUP_MANAGER_CGROUPFS, CGROUP_MANAGER_SYSTEMD, CGROUP_MANAGER_DISABLED };

struct plan_cgroup {
	enum cgroup_manager manager;
	const char *path; /* below each hierarchy's root, "/sbx/ID" by default */
	bool path_given;  /* by linux.cgroupsPath */
	const struct oci_resources *resources;
	const struct oci_resources *ceiling; /* the profile's limits; NULL: none */
	bool best_effort; /* rootless with no limits and no path asked: failures are ignored */
	/* the systemd manager alone, which uses no path */
	const char *id, *slice, *unit, *subgroup;
	const struct oci_key_values *annotations;
	bool user_manager; /* the calling user's own, not PID 1 */
};

/* What the caller of create chose on the command line. */
struct plan_options {
	const char *id;
	const char *bundle;	  /* absolute, symlink-free */
	const char *bundle_name;  /* as given */
	const char *rootfs;	  /* absolute, symlink-free */
	bool host_root;		  /* rootfs is the folder "/" of the host, whatever its name */
	const char *state_root;	  /* --root as given, NULL: the default (store.h) */
	const char *settings;	  /* --config as given, NULL: the default */
	const char *scratch_root; /* of the settings, where scratch may lie there; NULL */
	const char *profile;	  /* --profile as given: a name, or a file (holds a "/"); NULL */
	const char *config;	  /* the file that is read as config.json, NULL: the bundle's */
	bool no_pivot, no_new_keyring;
	enum cgroup_manager cgroup_manager;
	int preserve_fds; /* 3 .. 3+n-1 */
	int listen_fds;
	const char *console_socket;
	bool detached;
	bool probed;		/* exec: a probe in place of a program (probe.h) */
	bool reaper;		/* the program is the child of a first process of ours (reaper.h) */
	const char *store_root; /* canonical; of the container's folder */
	enum rung rung;		/* exec: that of the container; 0: the best that this host has */
};

struct plan {
	struct arena *arena;
	const struct policy *policy;
	const struct oci_spec *spec;
	const struct host_facts *host;
	struct plan_options options;
	enum rung rung;
	struct plan_shared shared;
	struct plan_namespaces namespaces;
	struct plan_mounts mounts;
	struct plan_devices devices;
	struct plan_view view;
	struct plan_caps caps;
	struct plan_landlock landlock;
	struct plan_seccomp seccomp;
	struct plan_process process;
	struct plan_cgroup cgroup;
};

/* Run every room's plan() and finish the report. Refuses where require or minLevel is not reached.
 */
int plan_build(struct arena *arena, const struct policy *policy, const struct host_facts *host,
	       const struct plan_options *options, struct plan **ret, struct report *report,
	       struct sbx_error *err);

/* The object of `sbx-runtime plan`. */
void plan_write(struct json_writer *w, const char *key, const struct plan *plan);

#endif
