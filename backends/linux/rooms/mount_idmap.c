/*
 * Mapping-only user namespaces. A namespace is made by a child that does nothing but wait for its
 * end; its maps are written from here, its descriptor keeps it alive afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/mount_idmap.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/procfs.h"

static pid_t start_holder(void)
{
	/* clone(2), which filters that do not know clone3(2) let through, does for it */
	pid_t parent = getpid(),
	      pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid != 0)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* a parent that died before the line above is seen as another one; in the caller's pid
	 * namespace still, so the numbers compare */
	while (getppid() == parent)
		pause();
	_exit(0);
}

static void end_holder(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int write_maps(int proc_fd, pid_t pid, const char *file, const struct oci_id_maps *maps,
		      struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	char name[64];
	size_t i;
	int r;

	for (i = 0; i < maps->n; i++)
		buf_printf(&text, "%u %u %u\n", maps->v[i].container_id, maps->v[i].host_id,
			   maps->v[i].size);
	if (buf_failed(&text))
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "write %s", file);
	if (text.len >= (size_t)sysconf(_SC_PAGESIZE))
		return sbx_fail(
			err, SBX_E_INVALID_CONFIG, E2BIG,
			"write %s of a mount's mapping: %zu bytes are more than the kernel takes",
			file, text.len);
	snprintf(name, sizeof(name), "%d/%s", pid, file);
	r = procfs_write(proc_fd, name, text.data);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "write %s of a mount's mapping", file) : 0;
}

int mount_idmap_open(int proc_fd, const struct oci_id_maps *uid_maps,
		     const struct oci_id_maps *gid_maps, struct sbx_error *err)
{
	char name[64];
	pid_t pid;
	int r;

	if (uid_maps->n == 0 || gid_maps->n == 0)
		return sbx_fail(err, SBX_E_INVALID_CONFIG, 0,
				"an idmapped mount needs uid and gid mappings");
	pid = start_holder();
	if (pid < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -pid, "make a user namespace for a mapping");
	r = write_maps(proc_fd, pid, "uid_map", uid_maps, err);
	if (r == 0)
		r = write_maps(proc_fd, pid, "gid_map", gid_maps, err);
	if (r == 0) {
		snprintf(name, sizeof(name), "%d/ns/user", pid);
		r = procfs_open_magic(proc_fd, name, O_RDONLY);
		if (r < 0)
			sbx_fail(err, SBX_E_SYSTEM, -r, "open a mapping's user namespace");
	}
	end_holder(pid);
	return r;
}
