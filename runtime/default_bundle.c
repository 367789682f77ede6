/*
 * It asks for little: every namespace but user and time, nothing of the host's devices. Rootless,
 * /sys is the host's, bound read-only, because sysfs belongs to a network namespace, which an
 * unprivileged container leaves to its manager.
 */
#include "runtime/default_bundle.h"

#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"
#include "spec/oci.h"

#define OPTIONS_MAX 8

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

/* What shows the host on its own root: its control groups, and to who cannot mount a sysfs of the
 * own network namespace, all of the host's. */
static bool shows_host(const char *destination, bool rootless)
{
	return path_is_below(destination, "/sys") && (rootless || strcmp(destination, "/sys") != 0);
}

static bool applies(enum when when, bool rootless)
{
	return when == ALWAYS || (when == ROOTLESS) == rootless;
}

void default_mounts_write(struct json_writer *w, bool rootless, bool host_root)
{
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		if (!applies(mounts[i].when, rootless) ||
		    (host_root && shows_host(mounts[i].destination, rootless)))
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

void default_linux_write(struct json_writer *w, bool rootless)
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
	JSON_WRITE_WORDS(w, "maskedPaths", masked_paths);
	JSON_WRITE_WORDS(w, "readonlyPaths", readonly_paths);
	json_end_object(w);
}
