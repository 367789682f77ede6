/*
 * Kernel parameters of the container's own namespaces (config-linux.md#sysctl).
 *
 * Only parameters that a namespace of the container holds are taken; any other would change the
 * host (kernel.core_pattern runs a program of the writer's choice there). The key is turned into a
 * path once, at planning, component by component, so that no "..", empty component or odd
 * separator reaches the kernel, and is written through the private procfs without following a
 * link or crossing a mount. A namespace joined by path counts only if it is not the runtime's own.
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

#define KEY_MAX 255

/* Which namespace holds a parameter. A prefix ends with '/'. */
struct sysctl_row {
	const char *path;
	enum oci_ns ns;
};

static const struct sysctl_row sysctl_rows[] = {
	{"kernel/msgmax", NS_IPC}, {"kernel/msgmnb", NS_IPC},
	{"kernel/msgmni", NS_IPC}, {"kernel/sem", NS_IPC},
	{"kernel/shmall", NS_IPC}, {"kernel/shmmax", NS_IPC},
	{"kernel/shmmni", NS_IPC}, {"kernel/shm_rmid_forced", NS_IPC},
	{"fs/mqueue/", NS_IPC},	   {"net/", NS_NET},
	{"user/", NS_USER},	   {"kernel/domainname", NS_UTS},
};

/*
 * sysctl.d(5): the first separator tells which one is meant. With '.' first, '/' stands for a dot
 * inside a component ("net.ipv4.conf.eno2/100.forwarding"); with '/' first, dots are literal.
 */
static bool key_to_path(const char *key, char *out, size_t size)
{
	size_t len = strlen(key), i, start = 0;
	const char *sep = strpbrk(key, "./");
	bool dotted = sep && *sep == '.';

	if (len == 0 || len >= size || len > KEY_MAX || !sep)
		return false;
	for (i = 0; i <= len; i++) {
		char c = key[i];

		if (dotted && (c == '.' || c == '/'))
			c = c == '.' ? '/' : '.';
		if ((unsigned char)c < 0x21 && c != '\0')
			return false;
		out[i] = c;
		if (c != '/' && c != '\0')
			continue;
		if (i == start || (i == start + 1 && out[start] == '.') ||
		    (i == start + 2 && out[start] == '.' && out[start + 1] == '.'))
			return false;
		start = i + 1;
	}
	return true;
}

static const struct sysctl_row *row_for(const char *path)
{
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(sysctl_rows); i++) {
		const char *name = sysctl_rows[i].path;

		len = strlen(name);
		if (name[len - 1] == '/' ? strncmp(path, name, len) == 0 : strcmp(path, name) == 0)
			return &sysctl_rows[i];
	}
	return NULL;
}

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

static int domainname_check(const struct oci_spec *spec, const struct oci_key_value *kv,
			    const char *pointer, struct sbx_error *err)
{
	if (spec->domainname && strcmp(spec->domainname, kv->value) != 0)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "set sysctl \"%s\": it contradicts domainname \"%s\"", kv->key,
				   spec->domainname);
	return 0;
}

static int sysctl_check(const struct oci_spec *spec, const struct oci_key_value *kv,
			struct sbx_error *err)
{
	const struct sysctl_row *row;
	char path[KEY_MAX + 1], pointer[128];

	key_pointer(kv->key, pointer, sizeof(pointer));
	if (!key_to_path(kv->key, path, sizeof(path)))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "set sysctl \"%s\": the name is malformed", kv->key);
	if (strcmp(path, "kernel/hostname") == 0)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "set sysctl \"%s\": use the member hostname", kv->key);
	row = row_for(path);
	if (!row)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "set sysctl \"%s\": it is not held by a namespace and would "
				   "change the host",
				   kv->key);
	if (!spec->linux_.ns[row->ns].set)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "set sysctl \"%s\": the container has no %s namespace of its "
				   "own; list one in linux.namespaces",
				   kv->key, oci_ns_name(row->ns));
	if (row->ns == NS_UTS)
		return domainname_check(spec, kv, pointer, err);
	return 0;
}

static int sysctl_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_key_values *list = &plan->spec->linux_.sysctl;
	size_t i;
	int r;

	(void)report;
	for (i = 0; i < list->n; i++) {
		r = sysctl_check(plan->spec, &list->v[i], err);
		if (r < 0)
			return r;
	}
	return 0;
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
	char path[KEY_MAX + 1], pointer[128];
	const struct sysctl_row *row;
	size_t i;

	for (i = 0; i < list->n && !run->is_exec; i++) {
		key_to_path(list->v[i].key, path, sizeof(path));
		row = row_for(path);
		if (!row || !spec->linux_.ns[row->ns].path ||
		    !is_own_namespace(row->ns, spec->linux_.ns[row->ns].path))
			continue;
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG,
				   key_pointer(list->v[i].key, pointer, sizeof(pointer)),
				   "set sysctl \"%s\": the %s namespace at \"%s\" is the host's",
				   list->v[i].key, oci_ns_name(row->ns),
				   spec->linux_.ns[row->ns].path);
	}
	return 0;
}

static int sysctl_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct oci_key_values *list = &run->plan->spec->linux_.sysctl;
	char path[KEY_MAX + sizeof("sys/")] = "sys/";
	size_t i;
	int r;

	(void)stage;
	for (i = 0; i < list->n && !run->is_exec; i++) {
		if (!key_to_path(list->v[i].key, path + 4, sizeof(path) - 4))
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
	.plan = sysctl_plan,
	.prepare = sysctl_prepare,
	.apply = sysctl_apply,
};
