/*
 * Whether a container's namespaces can be made here, by making them.
 *
 * One clone3(2) asks for what every container under a profile has. The child makes its mounts
 * private and mounts a procfs, and its exit status says how far it came: the first step that fails
 * is the restriction. Only then settings are read, to name what refused it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/host.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "runtime/base/proc.h"

#define PROC_FAILED 0x80 /* in the exit status, above every errno that these calls have */

/* Where a new procfs may be had, the kernel gives a detached one; a filter may refuse that call
 * alone. */
static int mount_proc(void)
{
	int fs_fd = sys_fsopen("proc", FSOPEN_CLOEXEC), r = fs_fd;

	if (r >= 0)
		r = sys_fsconfig(fs_fd, SYS_FSCONFIG_CREATE, NULL, NULL, 0);
	if (r >= 0)
		r = sys_fsmount(fs_fd, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID);
	if (r < 0)
		r = mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0
			    ? -errno
			    : 0;
	return r < 0 ? -r : 0;
}

static int try_mounts(void)
{
	int r = mount(NULL, "/", NULL, MS_PRIVATE, NULL) < 0 ? errno : 0;

	if (r)
		return r;
	r = mount_proc();
	return r ? PROC_FAILED | r : 0;
}

static pid_t clone_into(uint64_t flags)
{
	struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0 && errno == ENOSYS)
		pid = syscall(SYS_clone, (unsigned long)(flags | SIGCHLD), 0, NULL, NULL, 0);
	return (pid_t)pid;
}

static long setting(const char *path)
{
	cleanup_buf struct buf text = BUF_INIT;

	return fd_read_file_at(AT_FDCWD, path, 64, &text) == 0 && text.len
		       ? strtol(text.data, NULL, 10)
		       : -1;
}

/* Settings that forbid user namespaces, each by the value that does. */
static const struct {
	const char *path, *name;
	long forbids;
	const char *remedy;
} settings[] = {
	{"/proc/sys/user/max_user_namespaces", "user.max_user_namespaces", 0,
	 "set it above 0 with sysctl(8)"},
	{"/proc/sys/user/max_mnt_namespaces", "user.max_mnt_namespaces", 0,
	 "set it above 0 with sysctl(8)"},
	{"/proc/sys/user/max_pid_namespaces", "user.max_pid_namespaces", 0,
	 "set it above 0 with sysctl(8)"},
	{"/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 0,
	 "set it to 1 with sysctl(8), or run as root"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
	 "kernel.apparmor_restrict_unprivileged_userns", 1,
	 "set it to 0 with sysctl(8), or give the program an AppArmor profile with \"userns,\""},
};

/* Index of the setting that forbids, or their number. */
static size_t forbidding_setting(void)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(settings) && setting(settings[i].path) != settings[i].forbids)
		i++;
	return i;
}

static void explain_namespaces(struct host_facts *host)
{
	int error = host->namespaces_error;
	char *out = host->restriction;
	size_t i = forbidding_setting();

	if (i < ARRAY_SIZE(settings)) {
		snprintf(out, sizeof(host->restriction),
			 "namespaces cannot be made: %s: %s is %ld; %s", strerrordesc_np(error),
			 settings[i].name, settings[i].forbids, settings[i].remedy);
		return;
	}
	snprintf(out, sizeof(host->restriction), "namespaces cannot be made: %s; %s",
		 strerrordesc_np(error),
		 error == ENOSPC || error == EUSERS
			 ? "a limit in /proc/sys/user is reached: raise it with sysctl(8)"
		 : prctl(PR_GET_SECCOMP) == 2
			 ? "a system call filter is around us: in docker or podman start the outer "
			   "container with --security-opt seccomp=FILE that allows clone, unshare, "
			   "mount and pivot_root, or with --privileged"
			 : "a security module, a chroot or missing CAP_SYS_ADMIN forbids it: allow "
			   "user namespaces to this user, or run as root");
}

static void explain_proc(struct host_facts *host)
{
	snprintf(
		host->restriction, sizeof(host->restriction),
		"a container's own /proc cannot be mounted: %s; %s",
		strerrordesc_np(host->own_proc_error),
		host->own_proc_error == EPERM
			? "mounts cover parts of this /proc, so the kernel gives no other (\"mount "
			  "too revealing\"): start the outer container with --security-opt "
			  "unmask=ALL (podman) or systempaths=unconfined (docker)"
			: "a security module or filter around us forbids it");
}

/* namespaces(7): the machine's own, which has a number of its own (include/linux/proc_ns.h). */
static bool is_initial_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == 0xEFFFFFFCU;
}

/* On the machine itself, and not in a container, nothing but a setting or a security module could
 * refuse, and the attempt costs as much as a container: there it is create's own that fails. */
static bool is_plain(const struct host_facts *host)
{
	if (!host->initial_userns || prctl(PR_GET_SECCOMP) != 0)
		return false;
	return host->privileged ||
	       (is_initial_pid_namespace() && forbidding_setting() == ARRAY_SIZE(settings));
}

void host_probe_namespaces(struct host_facts *host, bool thorough)
{
	uint64_t flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWCGROUP;
	pid_t pid;
	int status = 0;

	if (!thorough && is_plain(host))
		return;
	pid = clone_into(flags | (host->privileged ? 0 : CLONE_NEWUSER));
	if (pid == 0)
		_exit(try_mounts());
	if (pid < 0)
		host->namespaces_error = errno;
	else if (proc_wait(pid, &status) < 0)
		host->namespaces_error = EIO;
	else if (status & PROC_FAILED)
		host->own_proc_error = status & ~PROC_FAILED;
	else
		host->namespaces_error = status;
	if (host->namespaces_error)
		explain_namespaces(host);
	else if (host->own_proc_error)
		explain_proc(host);
}
