/*
 * The devices and links that every container has below /dev, and those of linux.devices
 * (config-linux.md#devices, #default-devices, config.md's /dev links).
 *
 * /dev must be a real directory of the container: where the image made it a symbolic link, nodes
 * and links would land wherever that leads (CVE-2026-41579, CVE-2026-47766). Everything is made by
 * mknodat(2), symlinkat(2) on the directory's descriptor; what is there already is accepted only
 * where it is the same thing. In a user namespace mknod(2) is refused, so the host's node is bound
 * onto an empty file, after a look at what was opened. Where the bundle binds a directory on /dev,
 * or the root is the host's own, /dev is not the container's to fill and is left alone, listed
 * devices included (as runc does for a bind).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backends/linux/device_nodes.h"
#include "backends/linux/mount_api.h"
#include "backends/linux/room.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

static const struct {
	const char *name, *target;
} links[] = {
	/* clang-format off */
	{"fd", "/proc/self/fd"},
	{"stdin", "/proc/self/fd/0"},
	{"stdout", "/proc/self/fd/1"},
	{"stderr", "/proc/self/fd/2"},
	{"core", "/proc/kcore"},
	{"ptmx", "pts/ptmx"}, /* a node would open the host's instance */
	/* clang-format on */
};

/* ---- plan ---- */

/* /dev is the host's: bound by the bundle, or part of a root that is the host's own. */
static bool is_host_dev(const struct plan *plan)
{
	const struct plan_mounts *mounts = &plan->mounts;
	size_t i;

	for (i = mounts->n; i-- > 0;) {
		if (strcmp(mounts->v[i].destination, "/dev") == 0 && !mounts->v[i].remount)
			return mounts->v[i].kind == MOUNT_BIND;
	}
	return plan->options.host_root;
}

static int plan_device(const struct oci_device *device, size_t i, struct plan_device *ret,
		       struct arena *arena, struct sbx_error *err)
{
	char pointer[64], path[PATH_MAX];
	const char *type = device->type ? device->type : "";
	char kind = *type == 'u' ? 'c' : *type;

	snprintf(pointer, sizeof(pointer), "/linux/devices/%zu", i);
	if (strlen(type) != 1 || !strchr("cbp", kind))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer, "unknown device type \"%s\"",
				   type);
	if (!device->path || device->path[0] != '/' ||
	    path_normalize(device->path, path, sizeof(path)) < 0 || strcmp(path, "/") == 0)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "device path \"%s\" is malformed",
				   device->path ? device->path : "");
	if (kind != 'p' && (device->major < 0 || device->major > 0xfff || device->minor < 0 ||
			    device->minor > 0xfffff))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "device number of \"%s\" is out of range", path);
	*ret = (struct plan_device){
		.path = arena_strdup(arena, path),
		.type = kind,
		.major = kind == 'p' ? 0 : (unsigned)device->major,
		.minor = kind == 'p' ? 0 : (unsigned)device->minor,
		.mode = device->file_mode.set ? (mode_t)(device->file_mode.v & 07777) : 0666,
		.uid = device->uid.set ? (uid_t)device->uid.v : 0,
		.gid = device->gid.set ? (gid_t)device->gid.v : 0,
	};
	return ret->path ? 0 : sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "plan devices");
}

/* A listed device takes the place of the default (or earlier listed) one of the same path. */
static void add_device(struct plan_devices *devices, const struct plan_device *device)
{
	size_t i;

	for (i = 0; i < devices->n; i++) {
		if (strcmp(devices->v[i].path, device->path) == 0) {
			devices->v[i] = *device;
			return;
		}
	}
	devices->v[devices->n++] = *device;
}

static void add_defaults(struct plan_devices *devices)
{
	size_t i;

	for (i = 0; i < device_nodes_n; i++)
		devices->v[devices->n++] = (struct plan_device){
			.path = device_nodes[i].path,
			.type = 'c',
			.major = device_nodes[i].major,
			.minor = device_nodes[i].minor,
			.mode = 0666,
			.is_default = true,
		};
}

/* No value of a profile covers devices: only what every container has is made, and FIFOs. */
static bool is_given(const struct plan *plan, const struct plan_device *device)
{
	size_t i;

	if (!plan->policy->confined || device->type == 'p')
		return true;
	for (i = 0; i < device_nodes_n; i++) {
		if (device->type == 'c' && strcmp(device->path, device_nodes[i].path) == 0 &&
		    device->major == device_nodes[i].major &&
		    device->minor == device_nodes[i].minor)
			return true;
	}
	return false;
}

static void report_devices(const struct plan *plan, const struct buf *cut, struct report *report)
{
	uint32_t carries =
		GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY) | GUARANTEE_BIT(GUARANTEE_WRITE_BOUNDARY);

	if (!plan->policy->confined)
		return;
	if (room_has_create_hooks(plan))
		report_add(report, "devices", "mount", OUTCOME_UNENFORCED, carries,
			   "the hooks before start can make nodes in the container's \"/dev\"");
	else if (cut->len)
		report_add(report, "devices", "mount", OUTCOME_NARROWED, carries, "not given:%s",
			   buf_failed(cut) ? " ?" : cut->data);
	else
		report_add(report, "devices", "mount", OUTCOME_ENFORCED, carries,
			   "only null, zero, full, random, urandom, tty and terminals can be "
			   "opened");
}

static int devices_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	cleanup_buf struct buf cut = BUF_INIT;
	const struct oci_linux *config = &plan->spec->linux_;
	const struct plan_namespaces *ns = &plan->namespaces;
	struct plan_devices *devices = &plan->devices;
	size_t i;
	int r;

	devices->by_bind = (ns->new_flags & CLONE_NEWUSER) || ns->path[NS_USER] ||
			   !plan->host->privileged || !plan->host->initial_userns;
	if (ns->path[NS_MNT] || is_host_dev(plan)) {
		report_devices(plan, &cut, report);
		return 0;
	}
	if (devices->by_bind && !plan->mounts.new_root) {
		if (config->devices_n == 0)
			return 0;
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/linux/devices",
				   "devices in a user namespace need a mount namespace");
	}
	devices->v = arena_alloc_array(plan->arena, device_nodes_n + config->devices_n,
				       sizeof(*devices->v));
	if (!devices->v)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "plan devices");
	add_defaults(devices);
	for (i = 0; i < config->devices_n; i++) {
		struct plan_device device = {0};

		r = plan_device(&config->devices[i], i, &device, plan->arena, err);
		if (r < 0)
			return r;
		/* Always the link to pts/ptmx: a node would open the host's instance.
		 * A planned device has a path. NOLINTNEXTLINE(clang-analyzer-core.*) */
		if (strcmp(device.path, "/dev/ptmx") == 0)
			continue;
		if (is_given(plan, &device))
			add_device(devices, &device);
		else
			buf_printf(&cut, " %s", device.path);
	}
	report_devices(plan, &cut, report);
	return 0;
}

/* ---- apply ---- */

static mode_t node_type(const struct plan_device *d)
{
	return d->type == 'c' ? S_IFCHR : d->type == 'b' ? S_IFBLK : S_IFIFO;
}

static bool is_device(const struct stat *st, const struct plan_device *d)
{
	if ((st->st_mode & S_IFMT) != node_type(d))
		return false;
	return d->type == 'p' || st->st_rdev == makedev(d->major, d->minor);
}

static int make_node(int dir_fd, const char *name, const struct plan_device *d,
		     struct sbx_error *err)
{
	struct stat st;

	if (mknodat(dir_fd, name, node_type(d) | d->mode, makedev(d->major, d->minor)) < 0) {
		if (errno != EEXIST)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "make device \"%s\"", d->path);
		if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "stat device \"%s\"", d->path);
		if (!is_device(&st, d))
			return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
					"make device \"%s\": something else is there", d->path);
	}
	if ((d->uid || d->gid) && fchownat(dir_fd, name, d->uid, d->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "change the owner of device \"%s\"",
				d->path);
	return 0;
}

/* The host's node of the same path, and really that device. */
static int clone_host_node(const struct plan_device *d, struct sbx_error *err)
{
	cleanup_fd int fd = mount_tree_clone(AT_FDCWD, d->path, AT_SYMLINK_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "bind device \"%s\" of the host", d->path);
	if (fstat(fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "stat device \"%s\"", d->path);
	if (!is_device(&st, d))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"bind device \"%s\": on the host it is not %c %u:%u", d->path,
				d->type, d->major, d->minor);
	return take_fd(&fd);
}

static int bind_node(int dir_fd, const char *name, const struct plan_device *d,
		     struct sbx_error *err)
{
	cleanup_fd int source = clone_host_node(d, err), target = -EBADF;
	struct stat st;
	int r;

	if (source < 0)
		return source;
	target = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (target < 0 && errno == EEXIST)
		target = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (target < 0 || fstat(target, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make device \"%s\"", d->path);
	if (is_device(&st, d))
		return 0;
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"bind device \"%s\": something else is there", d->path);
	r = mount_tree_attach(source, target);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "bind device \"%s\"", d->path) : 0;
}

static int make_device(const struct run *run, int dev_fd, const struct plan_device *d,
		       struct sbx_error *err)
{
	cleanup_fd int parent = -EBADF;
	char name[NAME_MAX + 1];
	const char *base = d->path + strlen("/dev/");
	int dir = dev_fd;

	if (!path_is_below(d->path, "/dev") || strcmp(d->path, "/dev") == 0 || strchr(base, '/')) {
		parent = path_open_parent_in_root(run->rootfs_fd, d->path, name, sizeof(name));
		if (parent < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -parent,
					"open the directory of device \"%s\"", d->path);
		dir = parent;
		base = name;
	}
	/* a FIFO needs no privilege, and the host's would be the host's channel */
	if (run->plan->devices.by_bind && d->type != 'p')
		return bind_node(dir, base, d, err);
	return make_node(dir, base, d, err);
}

/* What is there already stays: whatever the image points these names at, it is opened inside the
 * container only. */
static int make_links(int dev_fd, struct sbx_error *err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(links); i++) {
		if (symlinkat(links[i].target, dev_fd, links[i].name) < 0 && errno != EEXIST)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "make link \"/dev/%s\"",
					links[i].name);
	}
	return 0;
}

static int open_dev(const struct run *run, struct sbx_error *err)
{
	int fd = path_open_no_symlinks(run->rootfs_fd, "dev", O_PATH | O_DIRECTORY);

	if (fd == -ENOENT) {
		if (mkdirat(run->rootfs_fd, "dev", 0755) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "make directory \"/dev\"");
		fd = path_open_no_symlinks(run->rootfs_fd, "dev", O_PATH | O_DIRECTORY);
	}
	if (fd == -ELOOP || fd == -ENOTDIR)
		return sbx_fail(err, SBX_E_UNSAFE_PATH, -fd,
				"make devices: \"/dev\" must be an ordinary directory");
	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "open \"/dev\"") : fd;
}

static int devices_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct plan_devices *devices = &run->plan->devices;
	cleanup_fd int dev = -EBADF;
	mode_t mask;
	size_t i;
	int r = 0;

	if (stage != STAGE_MOUNTS || devices->n == 0)
		return 0;
	mask = umask(0);
	dev = open_dev(run, err);
	if (dev < 0)
		r = dev;
	for (i = 0; r == 0 && i < devices->n; i++)
		r = make_device(run, dev, &devices->v[i], err);
	if (r == 0)
		r = make_links(dev, err);
	umask(mask);
	return r;
}

static void devices_dump(const struct plan *plan, struct json_writer *w)
{
	const struct plan_devices *devices = &plan->devices;
	char type[2] = "", mode[8];
	size_t i;

	json_begin_object(w, "devices");
	json_write_string(w, "made", devices->by_bind ? "bind" : "node");
	json_begin_array(w, "list");
	for (i = 0; i < devices->n; i++) {
		const struct plan_device *d = &devices->v[i];

		type[0] = d->type;
		snprintf(mode, sizeof(mode), "%04o", d->mode);
		json_begin_object(w, NULL);
		json_write_string(w, "path", d->path);
		json_write_string(w, "type", type);
		json_write_uint(w, "major", d->major);
		json_write_uint(w, "minor", d->minor);
		json_write_string(w, "mode", mode);
		json_write_uint(w, "uid", d->uid);
		json_write_uint(w, "gid", d->gid);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}

const struct room room_devices = {
	.name = "devices",
	.plan = devices_plan,
	.apply = devices_apply,
	.dump = devices_dump,
};
