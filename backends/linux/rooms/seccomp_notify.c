/*
 * A filter whose answer is a program outside (seccomp_unotify(2)).
 *
 * The listener's descriptor exists only once the filter does, and from then on each system call of
 * this process may be one that nobody answers yet. So a helper, which the filter does not reach and
 * which shares memory and descriptors, passes the listener on; this process asks the kernel for
 * nothing until that has ended. It is a thread of ours, which execve(2) would end. Only exec's
 * joiner cannot have one (a thread must be in the pid namespace that its children will be in), and
 * must not make a process that is visible inside: it starts the helper before it joins anything.
 *
 * The helper needs one more task in the control group, and shares this thread's errno: it sets one
 * only where it fails, and then the process ends.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/linux/protocol.h"
#include "backends/linux/seccomp_filters.h"
#include "runtime/base/kernel.h"

#define LISTENER_AWAITED (-1)
#define LISTENER_FAILED	 (-2)
#define WAIT_STEP_US	 50
#define STACK_BYTES	 ((size_t)64 << 10)

#define AS_THREAD  (CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)
#define AS_PROCESS (CLONE_VM | CLONE_FILES | SIGCHLD)

static struct {
	atomic_int listener;
	atomic_int alive; /* cleared by the kernel when the helper is gone */
	atomic_bool failed;
	bool is_process;
	int sync_fd;
} helper;

static int pass_on(void *data)
{
	int fd;

	(void)data;
	while ((fd = atomic_load(&helper.listener)) == LISTENER_AWAITED)
		usleep(WAIT_STEP_US);
	if (fd >= 0 &&
	    (msg_send(helper.sync_fd, &linux_protocol, MSG_LISTENER, NULL, 0, &fd, 1) < 0 ||
	     protocol_expect(helper.sync_fd, MSG_LISTENING, NULL, NULL) < 0))
		atomic_store(&helper.failed, true);
	/* held here as well, the end of who listens would leave every call waiting */
	if (fd >= 0)
		close(fd);
	return 0;
}

static int start_helper(int sync_fd, int flags, struct sbx_error *err)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make a stack");
	helper.listener = LISTENER_AWAITED;
	helper.failed = false;
	helper.alive = 1;
	helper.sync_fd = sync_fd;
	if (clone(pass_on, stack + STACK_BYTES, flags | CLONE_CHILD_CLEARTID, NULL, NULL, NULL,
		  &helper.alive) < 0) {
		helper.alive = 0;
		return sbx_fail(err, SBX_E_SYSTEM, errno,
				"start what passes the seccomp listener on (limits of processes "
				"must leave room for one more)");
	}
	return 0;
}

int seccomp_start_passing(int sync_fd, struct sbx_error *err)
{
	helper.is_process = true;
	signal(SIGCHLD, SIG_IGN); /* nobody waits for it */
	return start_helper(sync_fd, AS_PROCESS, err);
}

int seccomp_install_notifying(const struct bpf_program *program, unsigned flags, int sync_fd,
			      struct sbx_error *err)
{
	struct sock_fprog prog = {.len = (unsigned short)program->n, .filter = program->v};
	int rc = helper.is_process ? 0 : start_helper(sync_fd, AS_THREAD, err);
	int fd;

	if (rc < 0)
		return rc;
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	rc = fd < 0 ? -errno : 0;
	atomic_store(&helper.listener, fd < 0 ? LISTENER_FAILED : fd);
	while (atomic_load(&helper.alive))
		;
	/* Without somebody who listens nothing may go on. */
	if (atomic_load(&helper.failed))
		_exit(1);
	if (helper.is_process)
		signal(SIGCHLD, SIG_DFL);
	helper.is_process = false;
	if (rc == 0)
		return 0;
	return sbx_fail(err, SBX_E_SYSTEM, -rc, "install the bundle's seccomp filter%s",
			rc == -EBUSY ? ": an outer filter has a listener already" : "");
}
