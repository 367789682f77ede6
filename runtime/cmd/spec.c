/*
 * spec: writes a config.json to start from.
 *
 * It asks for little: every namespace but user and time, three harmless capabilities, no new
 * privileges, a read-only root, nothing of the host's devices. With --rootless the caller's own id
 * becomes root of a new user namespace; then /sys is the host's, bound read-only, because sysfs
 * belongs to a network namespace, which an unprivileged container leaves to its manager.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/cmd/cmds.h"
#include "runtime/version.h"
#include "spec/json_write.h"

#define CONFIG_NAME	   "config.json"
#define OPTIONS_MAX	   8
#define DEFAULT_OPEN_FILES 1024
#define INDENT		   4

static const struct option_row rows[] = {
	{"bundle", 'b', OPTION_VALUE, "DIR", "the bundle to write to, the current directory"},
	{"file", 'f', OPTION_VALUE, "NAME", "the file to write there, config.json"},
	{"rootless", 0, OPTION_FLAG, NULL, "a container for an unprivileged caller"},
};

enum when { ALWAYS, ROOTFUL, ROOTLESS };

struct mount_row {
	enum when when;
	const char *destination, *type, *source;
	const char *options[OPTIONS_MAX];
};

static const struct mount_row mounts[] = {
	{ALWAYS, "/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}},
	{ALWAYS, "/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}},
	{ROOTFUL,
	 "/dev/pts",
	 "devpts",
	 "devpts",
	 {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
	{ROOTLESS,
	 "/dev/pts",
	 "devpts",
	 "devpts",
	 {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
	{ALWAYS,
	 "/dev/shm",
	 "tmpfs",
	 "shm",
	 {"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}},
	{ALWAYS, "/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}},
	{ROOTFUL, "/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", "ro"}},
	{ROOTLESS, "/sys", "none", "/sys", {"rbind", "nosuid", "noexec", "nodev", "rro"}},
	{ROOTFUL,
	 "/sys/fs/cgroup",
	 "cgroup",
	 "cgroup",
	 {"nosuid", "noexec", "nodev", "relatime", "ro"}},
};

static const struct {
	enum when when;
	enum oci_ns ns;
} namespaces[] = {
	{ALWAYS, NS_PID}, {ROOTFUL, NS_NET},   {ALWAYS, NS_IPC},    {ALWAYS, NS_UTS},
	{ALWAYS, NS_MNT}, {ALWAYS, NS_CGROUP}, {ROOTLESS, NS_USER},
};

static const char *const args[] = {"sh"};
static const char *const env[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm"};
static const char *const capabilities[] = {"CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE"};

/* What says much about the host, or changes it. */
static const char *const masked_paths[] = {
	"/proc/acpi",	       "/proc/asound",
	"/proc/kcore",	       "/proc/keys",
	"/proc/latency_stats", "/proc/sched_debug",
	"/proc/scsi",	       "/proc/timer_list",
	"/proc/timer_stats",   "/sys/devices/virtual/powercap",
	"/sys/firmware",
};
static const char *const readonly_paths[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
					     "/proc/sysrq-trigger"};

static bool applies(enum when when, bool rootless)
{
	return when == ALWAYS || (when == ROOTLESS) == rootless;
}

#define WRITE_LIST(w, key, list) json_write_strings(w, key, (char *const *)(list), ARRAY_SIZE(list))

static void write_process(struct json_writer *w)
{
	json_begin_object(w, "process");
	json_write_bool(w, "terminal", true);
	json_begin_object(w, "user");
	json_write_int(w, "uid", 0);
	json_write_int(w, "gid", 0);
	json_end_object(w);
	WRITE_LIST(w, "args", args);
	WRITE_LIST(w, "env", env);
	json_write_string(w, "cwd", "/");
	json_begin_object(w, "capabilities");
	WRITE_LIST(w, "bounding", capabilities);
	WRITE_LIST(w, "effective", capabilities);
	WRITE_LIST(w, "permitted", capabilities);
	json_end_object(w);
	json_begin_array(w, "rlimits");
	json_begin_object(w, NULL);
	json_write_string(w, "type", "RLIMIT_NOFILE");
	json_write_int(w, "hard", DEFAULT_OPEN_FILES);
	json_write_int(w, "soft", DEFAULT_OPEN_FILES);
	json_end_object(w);
	json_end_array(w);
	json_write_bool(w, "noNewPrivileges", true);
	json_end_object(w);
}

static void write_mounts(struct json_writer *w, bool rootless)
{
	json_begin_array(w, "mounts");
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		if (!applies(mounts[i].when, rootless))
			continue;
		json_begin_object(w, NULL);
		json_write_string(w, "destination", mounts[i].destination);
		json_write_string(w, "type", mounts[i].type);
		json_write_string(w, "source", mounts[i].source);
		json_begin_array(w, "options");
		for (size_t k = 0; k < OPTIONS_MAX && mounts[i].options[k]; k++)
			json_write_string(w, NULL, mounts[i].options[k]);
		json_end_array(w);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_mapping(struct json_writer *w, const char *key, uint32_t host_id)
{
	json_begin_array(w, key);
	json_begin_object(w, NULL);
	json_write_int(w, "containerID", 0);
	json_write_uint(w, "hostID", host_id);
	json_write_int(w, "size", 1);
	json_end_object(w);
	json_end_array(w);
}

static void write_linux(struct json_writer *w, bool rootless)
{
	json_begin_object(w, "linux");
	if (rootless) {
		write_mapping(w, "uidMappings", geteuid());
		write_mapping(w, "gidMappings", getegid());
	} else {
		json_begin_object(w, "resources");
		json_begin_array(w, "devices");
		json_begin_object(w, NULL);
		json_write_bool(w, "allow", false);
		json_write_string(w, "access", "rwm");
		json_end_object(w);
		json_end_array(w);
		json_end_object(w);
	}
	json_begin_array(w, "namespaces");
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
		if (!applies(namespaces[i].when, rootless))
			continue;
		json_begin_object(w, NULL);
		json_write_string(w, "type", oci_ns_name(namespaces[i].ns));
		json_end_object(w);
	}
	json_end_array(w);
	WRITE_LIST(w, "maskedPaths", masked_paths);
	WRITE_LIST(w, "readonlyPaths", readonly_paths);
	json_end_object(w);
}

static void write_config(struct buf *out, bool rootless)
{
	struct json_writer w;

	json_writer_init(&w, out, INDENT);
	json_begin_object(&w, NULL);
	json_write_string(&w, "ociVersion", SBX_SPEC_VERSION);
	write_process(&w);
	json_begin_object(&w, "root");
	json_write_string(&w, "path", "rootfs");
	json_write_bool(&w, "readonly", true);
	json_end_object(&w);
	json_write_string(&w, "hostname", "sbx");
	write_mounts(&w, rootless);
	write_linux(&w, rootless);
	json_end_object(&w);
	buf_putc(out, '\n');
}

static int run_spec(const struct invocation *in, struct sbx_error *err)
{
	const char *given = invocation_value(in, "bundle"), *bundle = given ? given : ".";
	const char *file = invocation_value(in, "file"), *name = file ? file : CONFIG_NAME;
	cleanup_buf struct buf out = BUF_INIT;
	cleanup_fd int dir = -EBADF;
	cleanup_fd int fd = -EBADF;
	int rc;

	if (strchr(name, '/') || !name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"--file takes the name of a file in the bundle, not \"%s\"", name);
	write_config(&out, invocation_flag(in, "rootless"));
	if (buf_failed(&out))
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "write %s", name);
	dir = open(bundle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open bundle \"%s\"", bundle);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EEXIST)
		return sbx_fail(err, SBX_E_USAGE, EEXIST, "write %s: it exists, remove it first",
				name);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "create %s", name);
	rc = fd_write_all(fd, out.data, out.len);
	if (rc < 0) {
		unlinkat(dir, name, 0);
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "write %s", name);
	}
	return 0;
}

const struct cmd cmd_spec = {
	.name = "spec",
	.operands = "",
	.help = "write a config.json to start from",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.max_operands = 0,
	.failure_status = 1,
	.run = run_spec,
};
