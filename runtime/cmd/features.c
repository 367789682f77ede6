/*
 * features: the features document of the specification (features.md, features-linux.md).
 *
 * It says what this build takes, whatever the host can do. Where a part may be built later, the
 * planner's own rules are asked instead of a second list here: a seccomp word is listed when the
 * seccomp room takes it.
 */
#include "config.h"

#include "backends/linux/cgroup/cgroup.h"
#include "backends/linux/mount_options.h"
#include "backends/linux/room.h"
#include "backends/linux/seccomp_filters.h"
#include "runtime/base/cleanup.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/version.h"
#include "spec/json_write.h"

#define OCI_VERSION_MIN "1.0.0"

/* Linux' numbering, as the examples of features-linux.md list them. */
static const char *const capabilities[] = {
	"CAP_CHOWN",
	"CAP_DAC_OVERRIDE",
	"CAP_DAC_READ_SEARCH",
	"CAP_FOWNER",
	"CAP_FSETID",
	"CAP_KILL",
	"CAP_SETGID",
	"CAP_SETUID",
	"CAP_SETPCAP",
	"CAP_LINUX_IMMUTABLE",
	"CAP_NET_BIND_SERVICE",
	"CAP_NET_BROADCAST",
	"CAP_NET_ADMIN",
	"CAP_NET_RAW",
	"CAP_IPC_LOCK",
	"CAP_IPC_OWNER",
	"CAP_SYS_MODULE",
	"CAP_SYS_RAWIO",
	"CAP_SYS_CHROOT",
	"CAP_SYS_PTRACE",
	"CAP_SYS_PACCT",
	"CAP_SYS_ADMIN",
	"CAP_SYS_BOOT",
	"CAP_SYS_NICE",
	"CAP_SYS_RESOURCE",
	"CAP_SYS_TIME",
	"CAP_SYS_TTY_CONFIG",
	"CAP_MKNOD",
	"CAP_LEASE",
	"CAP_AUDIT_WRITE",
	"CAP_AUDIT_CONTROL",
	"CAP_SETFCAP",
	"CAP_MAC_OVERRIDE",
	"CAP_MAC_ADMIN",
	"CAP_SYSLOG",
	"CAP_WAKE_ALARM",
	"CAP_BLOCK_SUSPEND",
	"CAP_AUDIT_READ",
	"CAP_PERFMON",
	"CAP_BPF",
	"CAP_CHECKPOINT_RESTORE",
};

/* Annotations of config.json that change what a container may do; a trailing dot is a prefix. */
static const char *const unsafe_annotations[] = {"dev.sbx.", "org.systemd.property.",
						 "run.oci.keep_original_groups",
						 "run.oci.systemd.subgroup"};

static void write_namespaces(struct json_writer *w)
{
	static const enum oci_ns sorted[] = {NS_CGROUP, NS_IPC,	 NS_MNT,  NS_NET,
					     NS_PID,	NS_TIME, NS_USER, NS_UTS};

	_Static_assert(ARRAY_SIZE(sorted) == NS_COUNT, "every namespace is listed");
	json_begin_array(w, "namespaces");
	for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
		json_write_string(w, NULL, oci_ns_name(sorted[i]));
	json_end_array(w);
}

/* ---- seccomp ---- */

static bool takes_action(const char *action)
{
	char *names[] = {(char *)"getpid", NULL};
	struct oci_seccomp_rule rule = {.names = {names, 1}, .action = action};
	struct oci_seccomp seccomp = {.default_action = "SCMP_ACT_ALLOW",
				      .listener_path = "/",
				      .rules = &rule,
				      .rules_n = 1};

	return seccomp_bundle_check(&seccomp, NULL) == 0;
}

static bool takes_flag(const char *flag)
{
	char *flags[] = {(char *)flag, NULL};
	struct oci_seccomp seccomp = {.default_action = "SCMP_ACT_ALLOW", .flags = {flags, 1}};

	return seccomp_bundle_check(&seccomp, NULL) == 0;
}

static void write_words(struct json_writer *w, const char *key, const char *const *words,
			bool (*takes)(const char *word))
{
	json_begin_array(w, key);
	for (; *words; words++)
		if (!takes || takes(*words))
			json_write_string(w, NULL, *words);
	json_end_array(w);
}

static void write_seccomp(struct json_writer *w)
{
	json_begin_object(w, "seccomp");
	json_write_bool(w, "enabled", true);
	write_words(w, "actions", oci_seccomp_actions, takes_action);
	write_words(w, "operators", oci_seccomp_operators, NULL);
	write_words(w, "archs", oci_seccomp_architectures, NULL);
	write_words(w, "knownFlags", oci_seccomp_flags, NULL);
	write_words(w, "supportedFlags", oci_seccomp_flags, takes_flag);
	json_end_object(w);
}

/* ---- the rest of linux ---- */

static void write_enabled(struct json_writer *w, const char *key, bool enabled)
{
	json_begin_object(w, key);
	json_write_bool(w, "enabled", enabled);
	json_end_object(w);
}

static void write_sections(struct json_writer *w)
{
	write_enabled(w, "apparmor", true);
	write_enabled(w, "selinux", true);
	json_begin_object(w, "intelRdt");
	json_write_bool(w, "enabled", true);
	json_write_bool(w, "schemata", true);
	json_write_bool(w, "monitoring", true);
	json_end_object(w);
	json_begin_object(w, "memoryPolicy");
	write_words(w, "modes", oci_memory_modes, NULL);
	write_words(w, "flags", oci_memory_flags, NULL);
	json_end_object(w);
	json_begin_object(w, "mountExtensions");
	write_enabled(w, "idmap", true);
	json_end_object(w);
	write_enabled(w, "netDevices", true);
}

static void write_linux(struct json_writer *w)
{
	json_begin_object(w, "linux");
	write_namespaces(w);
	json_write_strings(w, "capabilities", (char *const *)capabilities,
			   ARRAY_SIZE(capabilities));
	json_begin_object(w, "cgroup");
	json_write_bool(w, "v1", true);
	json_write_bool(w, "v2", true);
	json_write_bool(w, "systemd", cgroup_has_systemd());
	json_write_bool(w, "systemdUser", cgroup_has_systemd());
	json_write_bool(w, "rdma", true);
	json_end_object(w);
	write_seccomp(w);
	write_sections(w);
	json_end_object(w);
}

static int run_features(const struct invocation *in, struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;
	struct json_writer w;
	char build[80];
	size_t n;
	const char *const *options = mount_option_names(&n);

	(void)in;
	version_build_id(build, sizeof(build));
	json_writer_init(&w, &out, 2);
	json_begin_object(&w, NULL);
	json_write_string(&w, "ociVersionMin", OCI_VERSION_MIN);
	json_write_string(&w, "ociVersionMax", SBX_SPEC_VERSION);
	json_begin_array(&w, "hooks");
	for (int kind = 0; kind < HOOK_KIND_COUNT; kind++)
		json_write_string(&w, NULL, oci_hook_kind_name(kind));
	json_end_array(&w);
	json_write_strings(&w, "mountOptions", (char *const *)options, n);
	write_linux(&w);
	json_begin_object(&w, "annotations");
	json_write_string(&w, "dev.sbx.version", PACKAGE_VERSION);
	json_write_string(&w, "dev.sbx.build", build);
	json_end_object(&w);
	json_write_strings(&w, "potentiallyUnsafeConfigAnnotations",
			   (char *const *)unsafe_annotations, ARRAY_SIZE(unsafe_annotations));
	json_end_object(&w);
	return output_print(&out, err);
}

const struct cmd cmd_features = {
	.name = "features",
	.operands = "",
	.help = "print what this build supports, as JSON",
	.max_operands = 0,
	.failure_status = 1,
	.run = run_features,
};
