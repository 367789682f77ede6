/*
 * The model of runtime-spec 1.3's config.json for Linux: what a bundle asks for, nothing more.
 *
 * All pointers live in the arena given to oci_parse(). An absent optional object is NULL; an absent
 * optional number has its has_ flag false; an absent string is NULL; an absent array has count 0.
 * Unknown members are ignored as the specification demands; a known member with a wrong type, an
 * unknown enumerator, a number out of range or a duplicate key refuses the document with the
 * pointer of the member. oci_check() adds the rules between members.
 */
#ifndef SBX_SPEC_OCI_H
#define SBX_SPEC_OCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/error.h"
#include "spec/json.h"

struct strings {
	char **v; /* NULL-terminated */
	size_t n;
};

struct oci_opt_i64 {
	bool set;
	int64_t v;
};
struct oci_opt_u64 {
	bool set;
	uint64_t v;
};
struct oci_opt_bool {
	bool set;
	bool v;
};

/* ---- process (config.md#process) ---- */

struct oci_user {
	uint32_t uid, gid;
	struct oci_opt_u64 umask; /* 0 to 0777 */
	uint32_t *additional_gids;
	size_t additional_gids_n;
};

enum oci_cap_set {
	CAPSET_BOUNDING,
	CAPSET_EFFECTIVE,
	CAPSET_INHERITABLE,
	CAPSET_PERMITTED,
	CAPSET_AMBIENT,
	CAPSET_COUNT
};

struct oci_capabilities {
	struct strings sets[CAPSET_COUNT]; /* names as written, "CAP_CHOWN" */
};

struct oci_rlimit {
	const char *type;
	int resource; /* RLIMIT_* */
	uint64_t soft, hard;
};

/* sched(7): a process under it cannot fork */
#define OCI_SCHED_DEADLINE "SCHED_DEADLINE"

struct oci_scheduler {
	const char *policy;
	struct oci_opt_i64 nice, priority;
	struct strings flags;
	struct oci_opt_u64 runtime, deadline, period;
};

struct oci_io_priority {
	const char *class_name;
	int64_t priority;
};

#define OCI_CPUS_MAX 8192 /* the largest CONFIG_NR_CPUS that kernels offer */

struct oci_exec_cpu_affinity {
	const char *initial, *final;
};

struct oci_process {
	bool terminal;
	bool console_size_set;
	uint32_t console_height, console_width;
	struct oci_user user;
	struct strings args;
	struct strings env; /* as written, duplicates kept */
	const char *cwd;
	struct oci_capabilities *capabilities;
	struct oci_rlimit *rlimits;
	size_t rlimits_n;
	bool no_new_privileges;
	struct oci_opt_i64 oom_score_adj;
	const char *apparmor_profile, *selinux_label;
	struct oci_scheduler *scheduler;
	struct oci_io_priority *io_priority;
	struct oci_exec_cpu_affinity *exec_cpu_affinity;
};

/* ---- mounts (config.md#mounts) ---- */

struct oci_id_map {
	uint32_t container_id, host_id, size;
};

struct oci_id_maps {
	struct oci_id_map *v;
	size_t n;
};

struct oci_mount {
	const char *destination, *type, *source;
	struct strings options; /* as written; the mounts room decodes them */
	struct oci_id_maps uid_maps, gid_maps;
};

/* ---- hooks (config.md#posix-platform-hooks) ---- */

enum oci_hook_kind {
	HOOK_PRESTART,
	HOOK_CREATE_RUNTIME,
	HOOK_CREATE_CONTAINER,
	HOOK_START_CONTAINER,
	HOOK_POSTSTART,
	HOOK_POSTSTOP,
	HOOK_KIND_COUNT
};

struct oci_hook {
	const char *path;
	struct strings args;
	bool env_set;
	struct strings env;
	struct oci_opt_i64 timeout_s;
};

struct oci_hooks {
	struct oci_hook *v[HOOK_KIND_COUNT];
	size_t n[HOOK_KIND_COUNT];
};

/* ---- linux (config-linux.md) ---- */

enum oci_ns { NS_PID, NS_NET, NS_MNT, NS_IPC, NS_UTS, NS_USER, NS_CGROUP, NS_TIME, NS_COUNT };

struct oci_namespace {
	bool set;	  /* listed in linux.namespaces */
	const char *path; /* NULL: a new one */
};

struct oci_time_offset {
	bool set;
	int64_t secs;
	uint32_t nanosecs;
};

struct oci_device {
	const char *type, *path; /* "c", "b", "u", "p" */
	int64_t major, minor;
	struct oci_opt_u64 file_mode, uid, gid;
};

struct oci_device_rule {
	bool allow;
	char type;	      /* 'a', 'b', 'c'; 'a' where absent */
	int64_t major, minor; /* -1: any */
	bool r, w, m;
};

struct oci_cpu {
	struct oci_opt_u64 shares, period, burst, realtime_period;
	struct oci_opt_i64 quota, realtime_runtime, idle;
	const char *cpus, *mems;
};

struct oci_memory {
	struct oci_opt_i64 limit, reservation, swap, kernel, kernel_tcp;
	struct oci_opt_u64 swappiness;
	struct oci_opt_bool disable_oom_killer, use_hierarchy, check_before_update;
};

struct oci_block_device {
	int64_t major, minor;
	struct oci_opt_u64 weight, leaf_weight, rate;
};

struct oci_block_devices {
	struct oci_block_device *v;
	size_t n;
};

struct oci_block_io {
	struct oci_opt_u64 weight, leaf_weight;
	struct oci_block_devices weight_device, throttle_read_bps, throttle_write_bps,
		throttle_read_iops, throttle_write_iops;
};

struct oci_hugepage_limit {
	const char *page_size;
	uint64_t limit;
};

struct oci_interface_priority {
	const char *name;
	uint32_t priority;
};

struct oci_network_cgroup {
	struct oci_opt_u64 class_id;
	struct oci_interface_priority *priorities;
	size_t priorities_n;
};

struct oci_rdma {
	const char *name;
	struct oci_opt_u64 hca_handles, hca_objects;
};

struct oci_key_value {
	const char *key, *value;
};

struct oci_key_values {
	struct oci_key_value *v;
	size_t n;
};

struct oci_resources {
	struct oci_device_rule *devices;
	size_t devices_n;
	struct oci_cpu *cpu;
	struct oci_memory *memory;
	struct oci_opt_i64 pids_limit;
	struct oci_block_io *block_io;
	struct oci_hugepage_limit *hugepages;
	size_t hugepages_n;
	struct oci_network_cgroup *network;
	struct oci_rdma *rdma;
	size_t rdma_n;
	struct oci_key_values unified;
};

struct oci_seccomp_arg {
	uint32_t index; /* 0 to 5 */
	uint64_t value, value_two;
	const char *op; /* SCMP_CMP_* */
};

struct oci_seccomp_rule {
	struct strings names;
	const char *action;
	struct oci_opt_u64 errno_ret;
	struct oci_seccomp_arg *args;
	size_t args_n;
};

struct oci_seccomp {
	const char *default_action;
	struct oci_opt_u64 default_errno_ret;
	struct strings architectures, flags;
	const char *listener_path, *listener_metadata;
	struct oci_seccomp_rule *rules;
	size_t rules_n;
};

struct oci_intel_rdt {
	const char *clos_id, *l3_cache_schema, *mem_bw_schema;
	struct strings schemata;
	bool enable_monitoring;
};

struct oci_net_device {
	const char *host_name; /* the member's key */
	const char *name;      /* inside, NULL: the same */
};

struct oci_memory_policy {
	const char *mode, *nodes;
	struct strings flags;
};

struct oci_linux {
	struct oci_namespace ns[NS_COUNT];
	struct oci_id_maps uid_maps, gid_maps;
	struct oci_time_offset monotonic, boottime;
	struct oci_device *devices;
	size_t devices_n;
	const char *cgroups_path;
	struct oci_resources *resources;
	const char *rootfs_propagation;
	struct oci_seccomp *seccomp;
	struct oci_key_values sysctl;
	struct strings masked_paths, readonly_paths;
	const char *mount_label;
	struct oci_intel_rdt *intel_rdt;
	struct oci_net_device *net_devices;
	size_t net_devices_n;
	const char *personality_domain;
	struct strings personality_flags;
	struct oci_memory_policy *memory_policy;
};

/* ---- the whole ---- */

struct oci_spec {
	const char *oci_version;
	struct oci_process *process; /* NULL: start is impossible, create refuses */
	const char *root_path;	     /* as written; NULL where root is absent */
	bool root_readonly;
	const char *hostname, *domainname;
	struct oci_mount *mounts;
	size_t mounts_n;
	struct oci_hooks hooks;
	struct oci_key_values annotations;
	struct oci_linux linux_;      /* zeroed where the object is absent */
	const struct json_node *json; /* the document, for pointers into it */
};

/* Parse and check config.json bytes. SBX_E_INVALID_JSON or SBX_E_INVALID_CONFIG with the pointer.
 */
int oci_parse(struct arena *arena, const char *data, size_t len, struct oci_spec **ret,
	      struct sbx_error *err);

/* A process document (exec --process), with the rules of config.md#process. */
int oci_parse_process(struct arena *arena, const char *data, size_t len, struct oci_process **ret,
		      struct sbx_error *err);

/* A resources document (update --resources). */
int oci_parse_resources(struct arena *arena, const char *data, size_t len,
			struct oci_resources **ret, struct sbx_error *err);

/* The value of an annotation, or NULL. */
const char *oci_annotation(const struct oci_spec *spec, const char *key);

/* linux.namespaces word ("network") and setns(2) flag (CLONE_NEWNET) of each kind. */
const char *oci_ns_name(enum oci_ns ns);
int oci_ns_flag(enum oci_ns ns);

/*
 * The path below /proc/sys of a sysctl name, "net/ipv4/ip_forward": both "." and "/" separate, the
 * first of them in the name decides, the other one then stands for a "." inside a component
 * (sysctl(8)). -EINVAL where a component is empty, "." or "..", or holds a blank or control byte,
 * or where the path does not fit.
 */
#define OCI_SYSCTL_PATH_MAX 256
int oci_sysctl_path(const char *key, char *ret, size_t size);

/* The kind of namespace that holds the parameter at that path; false: it is the whole host's. */
bool oci_sysctl_namespace(const char *path, enum oci_ns *ret);

/* The closed lists of config-linux.md, of seccomp and of memoryPolicy, sorted and NULL-terminated.
 */
extern const char *const oci_seccomp_actions[];
extern const char *const oci_seccomp_operators[];
extern const char *const oci_seccomp_architectures[];
extern const char *const oci_seccomp_flags[];
extern const char *const oci_memory_modes[];
extern const char *const oci_memory_flags[];

/* hooks member name ("createRuntime"). */
const char *oci_hook_kind_name(enum oci_hook_kind kind);

#endif
