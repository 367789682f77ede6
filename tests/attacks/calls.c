/* The table of calls.h, and the gates to the kernel. */
#include "tests/attacks/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

long call_native(long nr, const uint64_t a[6])
{
	long r = syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);

	return r < 0 ? -errno : r;
}

#ifdef __x86_64__
/* The old gate enters the kernel as an i386 program would, from 64-bit code as well. */
long call_i386(long nr, const uint64_t a[6])
{
	long r;

	__asm__ volatile("pushq %%rbp\n\t"
			 "movq %[sixth], %%rbp\n\t"
			 "int $0x80\n\t"
			 "popq %%rbp"
			 : "=a"(r)
			 : "a"(nr), "b"(a[0]), "c"(a[1]), "d"(a[2]), "S"(a[3]),
			   "D"(a[4]), [sixth] "r"(a[5])
			 : "memory", "r8", "r9", "r10", "r11");
	return (int32_t)r;
}

/* A kernel without the gate kills whoever tries it. */
bool call_has_i386(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		call_i386(20, (uint64_t[6]){0}); /* getpid */
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
#else
long call_i386(long nr, const uint64_t a[6])
{
	(void)nr;
	(void)a;
	return -ENOSYS;
}

bool call_has_i386(void)
{
	return false;
}
#endif

#define NOFD	((uint64_t)-1)
#define NEW(f)	((f) | CLONE_THREAD) /* without CLONE_SIGHAND, EINVAL */
#define NO_TYPE 15 /* no type of socket: EINVAL, whatever the kernel has of the family */

#ifdef __x86_64__
#define NR(name, i386)	__NR_##name, i386
#define OLD(name, i386) __NR_##name, i386
#else
#define NR(name, i386)	__NR_##name, -1
#define OLD(name, i386) -1, -1
#endif

const struct call calls[] = {
	{"ptrace", NR(ptrace, 26), {0xffff, 1}},
	{"process_vm_readv", NR(process_vm_readv, 347), {1, 0, 0, 0, 0, 0xff}},
	{"process_vm_writev", NR(process_vm_writev, 348), {1, 0, 0, 0, 0, 0xff}},
	{"pidfd_getfd", 438, 438, {NOFD, 0, 0}},
	{"add_key", NR(add_key, 286), {0, 0, 0, 0, 0}},
	{"request_key", NR(request_key, 287), {0, 0, 0, 0}},
	{"keyctl", NR(keyctl, 288), {0xffff}},
	{"bpf", NR(bpf, 357), {0xffff, 0, 0}},
	{"perf_event_open", NR(perf_event_open, 336), {0, 0, NOFD, NOFD, 0}},
	{"userfaultfd", NR(userfaultfd, 374), {0xff}},
	{"syslog", NR(syslog, 103), {0xffff, 0, 0}},
	{"kexec_load", NR(kexec_load, 283), {0, 0xffff, 0, 0xffff}},
	{"kexec_file_load", NR(kexec_file_load, -1), {NOFD, NOFD, 0, 0, 0xffff}},
	{"quotactl", NR(quotactl, 131), {0xffffffff, 0, 0, 0}},
	{"quotactl_fd", 443, 443, {NOFD, 0xffff, 0, 0}},
	{"io_uring_setup", 425, 425, {0, 0}},
	{"io_uring_enter", 426, 426, {NOFD, 0, 0, 0}},
	{"io_uring_register", 427, 427, {NOFD, 0, 0, 0}},
	{"mount", NR(mount, 21), {0, 0, 0, 0, 0}},
	{"umount2", NR(umount2, 52), {0, 0}},
	{"pivot_root", NR(pivot_root, 217), {0, 0}},
	{"open_tree", 428, 428, {NOFD, 0, 0}},
	{"move_mount", 429, 429, {NOFD, 0, NOFD, 0, 0}},
	{"fsopen", 430, 430, {0, 0}},
	{"fsconfig", 431, 431, {NOFD, 0, 0, 0, 0}},
	{"fsmount", 432, 432, {NOFD, 0, 0}},
	{"fspick", 433, 433, {NOFD, 0, 0}},
	{"mount_setattr", 442, 442, {NOFD, 0, 0, 0, 0}},
	{"open_tree_attr", 467, 467, {NOFD, 0, 0, 0, 1}},
	{"open_by_handle_at", NR(open_by_handle_at, 342), {NOFD, 0, 0}},
	{"setns", NR(setns, 346), {NOFD, 0}},
	{"unshare.user", NR(unshare, 310), {CLONE_NEWUSER | 1}},
	{"unshare.mount", NR(unshare, 310), {CLONE_NEWNS | 1}},
	{"unshare.pid", NR(unshare, 310), {CLONE_NEWPID | 1}},
	{"unshare.ipc", NR(unshare, 310), {CLONE_NEWIPC | 1}},
	{"unshare.uts", NR(unshare, 310), {CLONE_NEWUTS | 1}},
	{"unshare.net", NR(unshare, 310), {CLONE_NEWNET | 1}},
	{"unshare.cgroup", NR(unshare, 310), {CLONE_NEWCGROUP | 1}},
	{"unshare.time", NR(unshare, 310), {0x80 | 1}},
	{"clone.user", NR(clone, 120), {NEW(CLONE_NEWUSER)}},
	{"clone.mount", NR(clone, 120), {NEW(CLONE_NEWNS)}},
	{"clone.pid", NR(clone, 120), {NEW(CLONE_NEWPID)}},
	{"clone.ipc", NR(clone, 120), {NEW(CLONE_NEWIPC)}},
	{"clone.uts", NR(clone, 120), {NEW(CLONE_NEWUTS)}},
	{"clone.net", NR(clone, 120), {NEW(CLONE_NEWNET)}},
	{"clone.cgroup", NR(clone, 120), {NEW(CLONE_NEWCGROUP)}},
	{"clone3", 435, 435, {0, 1}},
	{"openat2", 437, 437, {NOFD, 0, 0, 0}},
	{"chmod", OLD(chmod, 15), {0, 04755}},
	{"fchmod", NR(fchmod, 94), {NOFD, 02755}},
	{"fchmodat", NR(fchmodat, 306), {NOFD, 0, 04755}},
	{"fchmodat2", 452, 452, {NOFD, 0, 04755, 0}},
	{"open", OLD(open, 5), {0, O_CREAT | O_WRONLY, 04755}},
	{"openat.tmpfile", NR(openat, 295), {NOFD, 0, O_TMPFILE | O_RDWR, 04755}},
	{"openat", NR(openat, 295), {NOFD, 0, O_CREAT | O_WRONLY, 02755}},
	{"creat", OLD(creat, 8), {0, 04755}},
	{"mkdir", OLD(mkdir, 39), {0, 02755}},
	{"mkdirat", NR(mkdirat, 296), {NOFD, 0, 02755}},
	{"mknod", OLD(mknod, 14), {0, S_IFREG | 04755, 0}},
	{"mknodat", NR(mknodat, 297), {NOFD, 0, S_IFREG | 02755, 0}},
	{"mknodat.block", NR(mknodat, 297), {NOFD, 0, S_IFBLK | 0600, 0}},
	{"mknodat.character", NR(mknodat, 297), {NOFD, 0, S_IFCHR | 0600, 0}},
	{"renameat2.whiteout", NR(renameat2, 353), {NOFD, 0, NOFD, 0, 4}},
	{"ioctl.tiocsti", NR(ioctl, 54), {NOFD, 0x5412, 0}},
	{"ioctl.tioclinux", NR(ioctl, 54), {NOFD, 0x541c, 0}},
	{"sendto.fastopen", NR(sendto, 369), {NOFD, 0, 0, 0x20000000, 0, 0}},
	{"sendmsg.fastopen", NR(sendmsg, 370), {NOFD, 0, 0x20000000}},
	{"sendmmsg.fastopen", NR(sendmmsg, 345), {NOFD, 0, 0, 0x20000000}},
	{"setsockopt.fastopen", NR(setsockopt, 366), {NOFD, 6, 30, 0, 0}},
	{"socket.mptcp", NR(socket, 359), {AF_INET, SOCK_STREAM, 262}},
	{"socket.raw", NR(socket, 359), {AF_INET, SOCK_RAW, 1}},
	{"socket.packet", NR(socket, 359), {AF_PACKET, SOCK_DGRAM, 0}},
	{"socket.audit", NR(socket, 359), {AF_NETLINK, SOCK_RAW, 9}},
	{"socket.netfilter", NR(socket, 359), {AF_NETLINK, NO_TYPE, 12}},
	{"socket.sctp", NR(socket, 359), {AF_INET, SOCK_SEQPACKET, 132}},
	{"socket.udplite", NR(socket, 359), {AF_INET6, SOCK_DGRAM, 136 | 0x100}},
	{"socket.vsock", NR(socket, 359), {AF_VSOCK, NO_TYPE, 0}},
	{"socket.alg", NR(socket, 359), {AF_ALG, NO_TYPE, 0}},
	{"socket.smc", NR(socket, 359), {43, NO_TYPE, 0}},
	{"socket.xdp", NR(socket, 359), {44, NO_TYPE, 0}},
	{"socket.bluetooth", NR(socket, 359), {AF_BLUETOOTH, NO_TYPE, 0}},
	{"socket.pair", NR(socketpair, 360), {AF_INET, NO_TYPE, 0, 0}},
	{"socketcall", -1, 102, {0xff, 0}},
	{"ipc", -1, 117, {22, 0, 0, 0, 0}}, /* shmdt(0): of a call that it does not know, ENOSYS */
};

const size_t calls_n = sizeof(calls) / sizeof(calls[0]);

/* Descriptors, flags and modes are int to the kernel; a null pointer with rubbish above is still no
 * pointer. */
long call_high(const struct call *call)
{
	uint64_t args[6];
	size_t i;

	for (i = 0; i < 6; i++)
		args[i] = call->args[i] | CALL_HIGH;
	return call_native(call->native, args);
}

int call_refusal(const char *name)
{
	static const char *const missing[] = {"clone3", "openat2", "socketcall", "ipc", "unknown"};
	size_t i;

	for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		if (strcmp(name, missing[i]) == 0)
			return ENOSYS;
	}
	return strncmp(name, "socket.", 7) == 0 ? EAFNOSUPPORT : EPERM;
}
