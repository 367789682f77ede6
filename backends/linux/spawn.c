/*
 * One clone3(2) makes the child in all its new namespaces. Three cases need a process in between,
 * because what must be entered first cannot be left again by the runtime: a user namespace by path,
 * a pid namespace by path (it takes only children in), and namespaces by path next to a new user
 * namespace (they belong to the host, so they are entered before rights over the host are given
 * up). That joiner enters and then clones with CLONE_PARENT, so that the child is the runtime's
 * own.
 *
 * Whose pid that is, the kernel writes into a page which the runtime shares with the joiner alone
 * (CLONE_PARENT_SETTID, MADV_DONTFORK). It never comes over the sync pair: the child is visible in
 * the pid namespace that was joined before its pid could be sent, and a process in there that may
 * trace it could send another one, which the runtime would then wait for, write down and kill.
 *
 * Order of joining: all but the user namespace first, keeping those that are refused; then the user
 * namespace; then the refused ones again, which belong to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <linux/nsfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/protocol.h"
#include "backends/linux/spawn.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/prefault.h"
#include "runtime/base/proc.h"
#include "runtime/base/procfs.h"

/* Made by unshare(2) in the child: see rooms/namespaces.c. */
#define FLAGS_NOT_FOR_CLONE (CLONE_NEWCGROUP | CLONE_NEWTIME)

/* pidfd or told is where the kernel puts the child's descriptor, or its pid as we see it. */
static pid_t clone_process(uint64_t flags, int cgroup_fd, int *pidfd, pid_t *told)
{
	struct clone_args args = {.flags = flags};
	pid_t pid;

	/* A child of our parent tells that one as we would (clone3(2) refuses a signal beside
	 * CLONE_PARENT). */
	args.exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD;
	if (pidfd) {
		args.flags |= CLONE_PIDFD;
		args.pidfd = (uintptr_t)pidfd;
	}
	if (told) {
		args.flags |= CLONE_PARENT_SETTID;
		args.parent_tid = (uintptr_t)told;
	}
	if (cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_fd;
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0 && errno == ENOSYS && cgroup_fd < 0) {
		/* An old filter around us: clone(2) does the same but for the cgroup. */
		pid = (pid_t)syscall(SYS_clone, (unsigned long)(args.flags | args.exit_signal), 0,
				     pidfd ? pidfd : told, 0, 0);
	}
	return pid < 0 ? -errno : pid;
}

static bool needs_joiner(const struct plan_namespaces *ns)
{
	if (ns->path[NS_USER] || ns->path[NS_PID])
		return true;
	if (!(ns->new_flags & CLONE_NEWUSER))
		return false;
	for (enum oci_ns i = 0; i < NS_COUNT; i++)
		if (ns->path[i])
			return true;
	return false;
}

int spawn_open_namespace(enum oci_ns kind, const char *path, struct sbx_error *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int type;

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open the %s namespace \"%s\"",
				oci_ns_name(kind), path);
	type = ioctl(fd, NS_GET_NSTYPE);
	if (type != oci_ns_flag(kind))
		return sbx_fail(err, SBX_E_INVALID_CONFIG, 0, "\"%s\" is no %s namespace", path,
				oci_ns_name(kind));
	return take_fd(&fd);
}

static int join_one(enum oci_ns kind, int *fd, struct sbx_error *err)
{
	if (setns(*fd, oci_ns_flag(kind)) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "join the %s namespace",
				oci_ns_name(kind));
	close(take_fd(fd));
	return 0;
}

/* All that can be joined without the user namespace; what is refused stays open for later. */
static int join_others(int fds[NS_COUNT], bool last_try, struct sbx_error *err)
{
	for (enum oci_ns i = 0; i < NS_COUNT; i++) {
		int rc;

		if (fds[i] < 0 || i == NS_USER)
			continue;
		rc = join_one(i, &fds[i], err);
		if (rc < 0 && (last_try || rc != -EPERM))
			return rc;
	}
	return 0;
}

static int join_paths(const struct plan_namespaces *ns, struct sbx_error *err)
{
	int fds[NS_COUNT], rc = 0;

	for (enum oci_ns i = 0; i < NS_COUNT; i++) {
		fds[i] = -EBADF;
		if (!ns->path[i] || rc < 0)
			continue;
		fds[i] = spawn_open_namespace(i, ns->path[i], err);
		if (fds[i] < 0)
			rc = fds[i];
	}
	if (rc == 0)
		rc = join_others(fds, fds[NS_USER] < 0, err);
	if (rc == 0 && fds[NS_USER] >= 0)
		rc = join_one(NS_USER, &fds[NS_USER], err);
	if (rc == 0)
		rc = join_others(fds, true, err);
	for (enum oci_ns i = 0; i < NS_COUNT; i++)
		cleanup_close_fd(&fds[i]);
	return rc;
}

/* The page that the joiner tells its child's pid by; the runtime and the joiner have it. */
static int share_page(struct run *run, struct sbx_error *err)
{
	void *page = mmap(NULL, sizeof(*run->child_told), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make a page to share");
	run->child_told = page;
	return 0;
}

/* In the joiner, before it forks: what it forks does not get the page. */
static int keep_page(const struct run *run, struct sbx_error *err)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	if (madvise(run->child_told, size, MADV_DONTFORK) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "keep the shared page");
	return 0;
}

/* The sync pair: the runtime keeps ends[0], the child takes ends[1]. */
static void take_end(struct run *run, int ends[2], int mine)
{
	close(ends[1 - mine]);
	run->sync_fd = ends[mine];
}

static pid_t become_child(struct run *run, int ends[2])
{
	prefault_child();
	take_end(run, ends, 1);
	run->pid = 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	proc_reset_signals();
	return 0;
}

static int fail_spawn(int rc, struct sbx_error *err)
{
	const char *why = "make the container's process";

	if (rc == -ENOSPC || rc == -EUSERS)
		why = "make namespaces: a limit in /proc/sys/user is reached";
	else if (rc == -EAGAIN)
		why = "make the container's process: a limit is reached (RLIMIT_NPROC of its user, "
		      "linux.resources.pids.limit)";
	else if (rc ==
		 -ENOMEM) /* what a fork into a pid namespace without its first process says */
		why = "make the container's process: the container is ending, or memory is short";
	return sbx_fail(err, SBX_E_SYSTEM, -rc, "%s", why);
}

static pid_t spawn_directly(struct run *run, int ends[2], int cgroup_fd, struct sbx_error *err)
{
	const struct plan_namespaces *ns = &run->plan->namespaces;
	uint64_t flags = (uint64_t)(unsigned)(ns->new_flags & ~FLAGS_NOT_FOR_CLONE);
	pid_t pid = clone_process(flags, cgroup_fd, &run->pidfd, NULL);
	int rc;

	if (pid < 0)
		return fail_spawn(pid, err);
	if (pid > 0) {
		prefault_parent();
		take_end(run, ends, 0);
		run->pid = pid;
		return pid;
	}
	become_child(run, ends);
	rc = join_paths(ns, err);
	if (rc == 0)
		return 0;
	/* Not back to the caller: it would take the child for the runtime, and undo. */
	protocol_send_error(run->sync_fd, err);
	_exit(1);
}

/*
 * In the joiner: enter, clone. Only the grandchild returns.
 *
 * Where the pid namespace is joined, its processes see the grandchild from its first moment on. It
 * is not dumpable by then, so that only CAP_SYS_PTRACE over the runtime's own user namespace
 * reaches it; with new id maps it stays dumpable until they are written (rooms/userns.c), because a
 * caller without privilege could not write those of a process that is not.
 */
static pid_t join_and_clone(struct run *run, int ends[2], int cgroup_fd, struct sbx_error *err)
{
	const struct plan_namespaces *ns = &run->plan->namespaces;
	uint64_t flags = (uint64_t)(unsigned)(ns->new_flags & ~FLAGS_NOT_FOR_CLONE);
	int rc = join_paths(ns, err);
	pid_t pid;

	if (rc == 0)
		rc = keep_page(run, err);
	if (rc == 0 && !(ns->new_flags & CLONE_NEWUSER) && prctl(PR_SET_DUMPABLE, 0) < 0)
		rc = sbx_fail(err, SBX_E_SYSTEM, errno, "stop being dumpable");
	if (rc == 0) {
		pid = clone_process(flags | CLONE_PARENT, cgroup_fd, NULL, run->child_told);
		if (pid == 0)
			return become_child(run, ends);
		rc = pid < 0 ? fail_spawn(pid, err) : 0;
	}
	if (rc < 0)
		protocol_send_error(ends[1], err);
	_exit(rc < 0);
}

int spawn_await_child(struct run *run, struct sbx_error *err)
{
	struct msg msg;
	int status, rc;

	proc_wait(run->pid, &status);
	cleanup_close_fd(&run->pidfd);
	run->pid = *run->child_told;
	if (run->pid == 0) {
		rc = protocol_expect(run->sync_fd, MSG_ERROR, &msg, err);
		return rc < 0 ? rc : protocol_take_error(&msg, err);
	}
	run->pidfd = sys_pidfd_open(run->pid, 0); /* our own child: its pid is not reused */
	return run->pidfd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -run->pidfd, "open the process") : 0;
}

static pid_t spawn_by_joiner(struct run *run, int ends[2], int cgroup_fd, struct sbx_error *err)
{
	pid_t joiner;
	int rc = share_page(run, err);

	if (rc < 0)
		return rc;
	joiner = clone_process(0, -1, NULL, NULL);
	if (joiner < 0)
		return fail_spawn(joiner, err);
	if (joiner == 0)
		return join_and_clone(run, ends, cgroup_fd, err);
	take_end(run, ends, 0);
	run->pid = joiner;
	rc = spawn_await_child(run, err);
	return rc < 0 ? rc : run->pid;
}

pid_t spawn_container(struct run *run, int cgroup_fd, struct sbx_error *err)
{
	char own_name[16] = "";
	int ends[2];
	int rc = msg_socketpair(ends);
	pid_t pid;

	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "make the sync pair");
	/* Inherited: named by itself the child would for a moment look like a payload. */
	prctl(PR_GET_NAME, own_name);
	prctl(PR_SET_NAME, SPAWN_NAME);
	pid = needs_joiner(&run->plan->namespaces) ? spawn_by_joiner(run, ends, cgroup_fd, err)
						   : spawn_directly(run, ends, cgroup_fd, err);
	if (pid != 0)
		prctl(PR_SET_NAME, own_name);
	return pid;
}

pid_t spawn_joiner(struct run *run, struct sbx_error *err)
{
	int ends[2];
	int rc = msg_socketpair(ends);
	pid_t pid;

	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "make the sync pair");
	rc = share_page(run, err);
	if (rc < 0)
		return rc;
	pid = clone_process(0, -1, &run->pidfd, NULL);
	if (pid < 0)
		return fail_spawn(pid, err);
	if (pid == 0)
		return become_child(run, ends);
	prefault_parent();
	take_end(run, ends, 0);
	run->pid = pid;
	return pid;
}

pid_t spawn_payload(struct run *run, struct sbx_error *err)
{
	int rc = keep_page(run, err);
	pid_t pid;

	if (rc < 0)
		return rc;
	pid = clone_process(CLONE_PARENT, -1, NULL, run->child_told);
	return pid < 0 ? fail_spawn(pid, err) : pid;
}

static int join_container(int pidfd, int all, struct sbx_error *err)
{
	int others = all & ~CLONE_NEWUSER;

	if (all == 0 || setns(pidfd, all) == 0)
		return 0;
	/* Namespaces that the host owns beside a user namespace: they come first. */
	if (errno == EPERM && others != all && setns(pidfd, others) == 0 &&
	    setns(pidfd, CLONE_NEWUSER) == 0)
		return 0;
	return sbx_fail(err, SBX_E_SYSTEM, errno, "join the container's namespaces");
}

/*
 * Without a mount namespace to join the container's root is a matter of its processes alone, and
 * what joined it would be left with the host's. By number, so the process is looked at again after
 * the open: as long as it lives the number is its own.
 */
static int open_root(const struct run *run, int pidfd, struct sbx_error *err)
{
	cleanup_fd int fd = -EBADF;
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "%d/root", (int)run->container_pid);
	fd = procfs_open_magic(run->proc_fd, name, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "open the container's root");
	rc = proc_send_signal(pidfd, run->container_pid, 0);
	if (rc < 0)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, -rc,
				"enter the container: its first process ended");
	return take_fd(&fd);
}

int spawn_enter_container(struct run *run, int container_pidfd, struct sbx_error *err)
{
	const struct oci_namespace *asked = run->plan->spec->linux_.ns;
	int all = run->plan->namespaces.new_flags, rc;
	cleanup_fd int root_fd = -EBADF;

	for (enum oci_ns i = 0; i < NS_COUNT; i++)
		if (asked[i].set)
			all |= oci_ns_flag(i);
	if (!(all & CLONE_NEWNS)) {
		root_fd = open_root(run, container_pidfd, err);
		if (root_fd < 0)
			return root_fd;
	}
	rc = join_container(container_pidfd, all, err);
	if (rc == 0 && root_fd >= 0 && (fchdir(root_fd) < 0 || chroot(".") < 0))
		rc = sbx_fail(err, SBX_E_SYSTEM, errno, "enter the container's root");
	return rc;
}
