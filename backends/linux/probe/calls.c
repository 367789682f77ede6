/*
 * System calls that the profile's filter refuses, one row each.
 *
 * The arguments are such that the kernel itself answers otherwise and does nothing (a descriptor
 * that is not there, a null pointer, flags that do not go together), so that the same call before
 * the filter is the control. It may say EPERM as well where the process lacks the capability: then
 * the row says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/linux/probe/probe.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"

#define NO_FD	 ((uint64_t)-1)
#define ODD_FLAG 1 /* unshare(2) knows no such flag: EINVAL */
#define FILES	 (PROBE_WRITE | PROBE_READ)

#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd 443
#endif

static const struct call {
	const char *name;
	uint32_t carries;
	int nr, refusal;
	uint64_t args[4];
} calls[] = {
	{"ptrace", PROBE_PROCESS, __NR_ptrace, EPERM, {0xffff, 0x7ffffff}},
	{"process_vm_readv", PROBE_PROCESS, __NR_process_vm_readv, EPERM, {0x7ffffff, 0, 0, 0}},
	{"process_vm_writev", PROBE_PROCESS, __NR_process_vm_writev, EPERM, {0x7ffffff, 0, 0, 0}},
	{"pidfd_getfd", PROBE_PROCESS, __NR_pidfd_getfd, EPERM, {NO_FD, 0, 0}},
	{"add_key", PROBE_PROCESS, __NR_add_key, EPERM, {0}},
	{"request_key", PROBE_PROCESS, __NR_request_key, EPERM, {0}},
	{"keyctl", PROBE_PROCESS, __NR_keyctl, EPERM, {0xffff}},
	{"bpf", PROBE_PROCESS, __NR_bpf, EPERM, {0xffff, 0, 0}},
	{"perf_event_open", PROBE_PROCESS, __NR_perf_event_open, EPERM, {0, 0, NO_FD, NO_FD}},
	{"userfaultfd", PROBE_PROCESS, __NR_userfaultfd, EPERM, {0xff}},
	{"kexec_load", PROBE_PROCESS, __NR_kexec_load, EPERM, {0, 0xffff, 0, 0xffff}},
	{"kexec_file_load", PROBE_PROCESS, __NR_kexec_file_load, EPERM, {NO_FD, NO_FD, 0, 0}},
	{"quotactl", FILES, __NR_quotactl, EPERM, {0xffffffff, 0, 0, 0}},
	{"quotactl_fd", FILES, __NR_quotactl_fd, EPERM, {NO_FD, 0xffff, 0, 0}},
	{"io_uring_setup", PROBE_PROCESS | FILES | PROBE_NETWORK, 425, EPERM, {0, 0}},
	{"io_uring_enter", PROBE_PROCESS | FILES | PROBE_NETWORK, 426, EPERM, {NO_FD, 0, 0, 0}},
	{"io_uring_register", PROBE_PROCESS | FILES | PROBE_NETWORK, 427, EPERM, {NO_FD, 0, 0, 0}},
	{"mount", FILES, __NR_mount, EPERM, {0}},
	{"umount2", FILES, __NR_umount2, EPERM, {0}},
	{"pivot_root", FILES, __NR_pivot_root, EPERM, {0}},
	{"open_tree", FILES, __NR_open_tree, EPERM, {NO_FD, 0, 0}},
	{"move_mount", FILES, __NR_move_mount, EPERM, {NO_FD, 0, NO_FD, 0}},
	{"fsopen", FILES, __NR_fsopen, EPERM, {0, 0}},
	{"fsconfig", FILES, __NR_fsconfig, EPERM, {NO_FD, 0, 0, 0}},
	{"fsmount", FILES, __NR_fsmount, EPERM, {NO_FD, 0, 0}},
	{"fspick", FILES, __NR_fspick, EPERM, {NO_FD, 0, 0}},
	{"mount_setattr", FILES, __NR_mount_setattr, EPERM, {NO_FD, 0, 0, 0}},
	{"open_tree_attr", FILES, __NR_open_tree_attr, EPERM, {NO_FD, 0, 0, 0}},
	{"open_by_handle_at", FILES, __NR_open_by_handle_at, EPERM, {NO_FD, 0, 0}},
	{"setns", PROBE_PROCESS, __NR_setns, EPERM, {NO_FD, 0}},
	{"unshare of a user namespace",
	 PROBE_PROCESS,
	 __NR_unshare,
	 EPERM,
	 {CLONE_NEWUSER | ODD_FLAG}},
	{"unshare of a mount namespace",
	 PROBE_PROCESS | FILES,
	 __NR_unshare,
	 EPERM,
	 {CLONE_NEWNS | ODD_FLAG}},
	{"unshare of a network namespace",
	 PROBE_PROCESS,
	 __NR_unshare,
	 EPERM,
	 {CLONE_NEWNET | ODD_FLAG}},
	{"unshare of a time namespace",
	 PROBE_PROCESS,
	 __NR_unshare,
	 EPERM,
	 {CLONE_NEWTIME | ODD_FLAG}},
	/* with CLONE_FS the kernel refuses a new user or mount namespace by EINVAL */
	{"clone into a user namespace",
	 PROBE_PROCESS,
	 __NR_clone,
	 EPERM,
	 {CLONE_NEWUSER | CLONE_FS}},
	{"clone into a mount namespace",
	 PROBE_PROCESS | FILES,
	 __NR_clone,
	 EPERM,
	 {CLONE_NEWNS | CLONE_FS}},
	{"clone3", PROBE_PROCESS, __NR_clone3, ENOSYS, {0, 1}},
	{"openat2", PROBE_WRITE, __NR_openat2, ENOSYS, {NO_FD, 0, 0, 0}},
#ifdef __NR_chmod
	{"chmod to set-uid", PROBE_WRITE, __NR_chmod, EPERM, {0, 04755}},
	{"creat of a set-uid file", PROBE_WRITE, __NR_creat, EPERM, {0, 04755}},
	{"open of a set-gid file", PROBE_WRITE, __NR_open, EPERM, {0, O_CREAT | O_WRONLY, 02755}},
	{"mkdir of a set-gid folder", PROBE_WRITE, __NR_mkdir, EPERM, {0, 02755}},
	{"mknod of a set-uid file", PROBE_WRITE, __NR_mknod, EPERM, {0, S_IFREG | 04755, 0}},
#endif
	{"fchmod to set-gid", PROBE_WRITE, __NR_fchmod, EPERM, {NO_FD, 02755}},
	{"fchmodat to set-uid", PROBE_WRITE, __NR_fchmodat, EPERM, {NO_FD, 0, 04755}},
	{"fchmodat2 to set-uid", PROBE_WRITE, __NR_fchmodat2, EPERM, {NO_FD, 0, 04755, 0}},
	{"openat of a set-uid file",
	 PROBE_WRITE,
	 __NR_openat,
	 EPERM,
	 {NO_FD, 0, O_CREAT | O_WRONLY, 04755}},
	{"mkdirat of a set-gid folder", PROBE_WRITE, __NR_mkdirat, EPERM, {NO_FD, 0, 02755}},
	{"mknodat of a block device",
	 PROBE_WRITE,
	 __NR_mknodat,
	 EPERM,
	 {NO_FD, 0, S_IFBLK | 0600, 0}},
	{"ioctl TIOCSTI", PROBE_PROCESS, __NR_ioctl, EPERM, {NO_FD, 0x5412, 0}},
	{"ioctl TIOCSTI with a high word",
	 PROBE_PROCESS,
	 __NR_ioctl,
	 EPERM,
	 {NO_FD, UINT64_C(1) << 32 | 0x5412, 0}},
	{"ioctl TIOCLINUX", PROBE_PROCESS, __NR_ioctl, EPERM, {NO_FD, 0x541c, 0}},
	{"socket of raw IP", PROBE_NETWORK, __NR_socket, EAFNOSUPPORT, {AF_INET, SOCK_RAW, 1}},
	{"socket of packets", PROBE_NETWORK, __NR_socket, EAFNOSUPPORT, {AF_PACKET, SOCK_DGRAM, 0}},
	{"socket of virtual machines",
	 PROBE_NETWORK,
	 __NR_socket,
	 EAFNOSUPPORT,
	 {AF_VSOCK, SOCK_STREAM, 0}},
	{"socket of the kernel's ciphers",
	 PROBE_NETWORK,
	 __NR_socket,
	 EAFNOSUPPORT,
	 {AF_ALG, SOCK_SEQPACKET, 0}},
	{"socket of MPTCP", PROBE_NETWORK, __NR_socket, EAFNOSUPPORT, {AF_INET, SOCK_STREAM, 262}},
	{"socket of the audit netlink",
	 PROBE_NETWORK,
	 __NR_socket,
	 EAFNOSUPPORT,
	 {AF_NETLINK, SOCK_RAW, 9}},
	{"sendto with MSG_FASTOPEN",
	 PROBE_NETWORK,
	 __NR_sendto,
	 EPERM,
	 {NO_FD, 0, 0, MSG_FASTOPEN}},
	{"sendmsg with MSG_FASTOPEN", PROBE_NETWORK, __NR_sendmsg, EPERM, {NO_FD, 0, MSG_FASTOPEN}},
	{"setsockopt TCP_FASTOPEN_CONNECT",
	 PROBE_NETWORK,
	 __NR_setsockopt,
	 EPERM,
	 {NO_FD, 6, 30, 0}},
};

static int call(struct probe *probe, const struct probe_row *row)
{
	long r = syscall(row->nr, row->args[0], row->args[1], row->args[2], row->args[3], 0, 0xff);

	(void)probe;
	if (r < 0)
		return -errno;
	if (row->nr == __NR_socket)
		close((int)r);
	return 0;
}

void probe_add_calls(struct probe *probe)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		probe_add_row(probe, &(struct probe_row){
					     .name = calls[i].name,
					     .mechanism = "seccomp",
					     .carries = calls[i].carries,
					     .layer = PROBE_FILTER,
					     .attempt = call,
					     .refusals = {calls[i].refusal},
					     .nr = calls[i].nr,
					     .args = {calls[i].args[0], calls[i].args[1],
						      calls[i].args[2], calls[i].args[3]},
				     });
}
