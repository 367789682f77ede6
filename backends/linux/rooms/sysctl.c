/*
 * Kernel parameters of the container's own namespaces (config-linux.md#sysctl).
 *
 * Which parameters a container may have is decided where the bundle is read (spec/oci_check.c):
 * only those that a namespace holds, for any other would change the host. Here a namespace joined
 * by path counts only if it is not the runtime's own, and the value is written through the private
 * procfs without following a link or crossing a mount.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/procfs.h"

/* RFC 6901: "~" and "/" of a member's name. */
static const char *key_pointer(const char *key, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "/linux/sysctl/");

	for (; *key && n + 3 < size; key++) {
		if (*key == '~' || *key == '/')
			n += (size_t)snprintf(out + n, size - n, "~%c", *key == '~' ? '0' : '1');
		else
			out[n++] = *key;
	}
	out[n] = '\0';
	return out;
}

/* True where the file names the namespace that the runtime itself is in. */
static bool is_own_namespace(enum oci_ns ns, const char *path)
{
	static const char *const files[NS_COUNT] = {
		[NS_NET] = "self/ns/net",
		[NS_IPC] = "self/ns/ipc",
		[NS_UTS] = "self/ns/uts",
		[NS_USER] = "self/ns/user",
	};
	cleanup_fd int proc_fd = -EBADF;
	cleanup_fd int own_fd = -EBADF;
	struct stat own, other;

	proc_fd = procfs_open_root();
	if (proc_fd < 0 || stat(path, &other) < 0)
		return true;
	own_fd = procfs_open_magic(proc_fd, files[ns], O_RDONLY);
	if (own_fd < 0 || fstat(own_fd, &own) < 0)
		return true;
	return own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

static int sysctl_prepare(struct run *run, struct sbx_error *err)
{
	const struct oci_spec *spec = run->plan->spec;
	const struct oci_key_values *list = &spec->linux_.sysctl;
	char path[OCI_SYSCTL_PATH_MAX], pointer[128];
	enum oci_ns ns;
	size_t i;

	for (i = 0; i < list->n && !run->is_exec; i++) {
		if (oci_sysctl_path(list->v[i].key, path, sizeof(path)) == 0 &&
		    oci_sysctl_namespace(path, &ns) &&
		    (!spec->linux_.ns[ns].path || !is_own_namespace(ns, spec->linux_.ns[ns].path)))
			continue;
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG,
				   key_pointer(list->v[i].key, pointer, sizeof(pointer)),
				   "set sysctl \"%s\": the %s namespace at \"%s\" is the host's",
				   list->v[i].key, oci_ns_name(ns), spec->linux_.ns[ns].path);
	}
	return 0;
}

static int sysctl_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct oci_key_values *list = &run->plan->spec->linux_.sysctl;
	char path[sizeof("sys/") + OCI_SYSCTL_PATH_MAX] = "sys/";
	size_t i;
	int r;

	(void)stage;
	for (i = 0; i < list->n && !run->is_exec; i++) {
		if (oci_sysctl_path(list->v[i].key, path + 4, OCI_SYSCTL_PATH_MAX) < 0)
			return sbx_fail(err, SBX_E_INTERNAL, 0, "set sysctl \"%s\"",
					list->v[i].key);
		r = procfs_write(run->proc_fd, path, list->v[i].value);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "set sysctl \"%s\" to \"%s\"",
					list->v[i].key, list->v[i].value);
	}
	return 0;
}

const struct room room_sysctl = {
	.name = "sysctl",
	.prepare = sysctl_prepare,
	.apply = sysctl_apply,
};
