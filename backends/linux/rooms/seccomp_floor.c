/*
 * The floor: what no process under a profile may ask of the kernel, whatever the bundle's own
 * filter says.
 *
 * One table: a row is a system call, its number per machine and how it is answered. What belongs to
 * one namespace boundary (mounts, namespaces, tracing, keys) is refused with EPERM; what only
 * passes its arguments in memory, out of a filter's sight, answers ENOSYS so that C libraries fall
 * back to the call that can be looked at (clone3 to clone, openat2 to openat, i386's socketcall to
 * socket). A number that this release does not know answers ENOSYS as well.
 *
 * Arguments that the kernel takes as 32 bits are compared by their low word alone: the high word is
 * whatever the caller likes, and a filter that looks at it lets `TIOCSTI | 1 << 32` through.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "backends/linux/seccomp_filters.h"
#include "backends/linux/seccomp_table.h"
#include "runtime/base/cleanup.h"

#define X32_BIT UINT32_C(0x40000000)
#define NONE	FLOOR_NONE

/* Kernel numbers, equal on the machines below; headers may be older than the kernel. */
#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)
#define NEW_TIME_NAMESPACE	 0x80u /* unshare only: in clone it lies in the signal's byte */
#define SET_ID_BITS		 06000u
#define CREATE_BITS		 (0100u | 020000000u) /* O_CREAT, __O_TMPFILE */
#define WHITEOUT		 4u		      /* RENAME_WHITEOUT leaves a device node */
#define FAST_OPEN		 0x20000000u	      /* MSG_FASTOPEN */
#define TERMINAL_INSERT		 0x5412u	      /* TIOCSTI */
#define TERMINAL_CONSOLE	 0x541cu	      /* TIOCLINUX */
#define TCP_OPT_FASTOPEN_CONNECT 30u
#define SOCKET_TYPE_MASK	 0xfu
#define IOCTL_KIND_MASK		 0xff00u
#define IOCTL_TERMINAL		 0x5400u /* asm-generic/ioctls.h */
#define IOCTL_SOCKET		 0x8900u /* linux/sockios.h */
#define SHARED_ROWS_MAX		 96

/* The newest system call that this release knows: file_setattr, Linux 6.17. */
#define SET_LEASE     1024 /* F_SETLEASE */
#define NEWEST_COMMON 469
#define NEWEST_X32    547

static const struct floor_row rows[] = {
	/* other processes' memory and descriptors */
	{"ptrace", 101, 26, 117, 521, ANSWER_REFUSE, 0, 0, 0},
	{"process_vm_readv", 310, 347, 270, 539, ANSWER_REFUSE, 0, 0, 0},
	{"process_vm_writev", 311, 348, 271, 540, ANSWER_REFUSE, 0, 0, 0},
	{"pidfd_getfd", 438, 438, 438, NONE, ANSWER_REFUSE, 0, 0, 0},
	/* keys, programs in the kernel, tracing, page faults, the log, other kernels, quotas */
	{"add_key", 248, 286, 217, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"request_key", 249, 287, 218, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"keyctl", 250, 288, 219, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"bpf", 321, 357, 280, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"perf_event_open", 298, 336, 241, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"userfaultfd", 323, 374, 282, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"syslog", 103, 103, 116, NONE, ANSWER_REFUSE, 0, 0, 0}, /* the host's */
	{"kexec_load", 246, 283, 104, 528, ANSWER_REFUSE, 0, 0, 0},
	{"kexec_file_load", 320, NONE, 294, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"quotactl", 179, 131, 60, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"quotactl_fd", 443, 443, 443, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"io_uring_setup", 425, 425, 425, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"io_uring_enter", 426, 426, 426, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"io_uring_register", 427, 427, 427, NONE, ANSWER_REFUSE, 0, 0, 0},
	/* mounts and files by handle */
	{"mount", 165, 21, 40, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"umount", NONE, 22, NONE, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"umount2", 166, 52, 39, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"pivot_root", 155, 217, 41, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"open_tree", 428, 428, 428, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"move_mount", 429, 429, 429, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"fsopen", 430, 430, 430, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"fsconfig", 431, 431, 431, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"fsmount", 432, 432, 432, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"fspick", 433, 433, 433, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"mount_setattr", 442, 442, 442, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"open_tree_attr", 467, 467, 467, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"open_by_handle_at", 304, 342, 265, NONE, ANSWER_REFUSE, 0, 0, 0},
	/* namespaces */
	{"setns", 308, 346, 268, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"unshare", 272, 310, 97, NONE, ANSWER_BITS, 0, NEW_NAMESPACES | NEW_TIME_NAMESPACE, 0},
	{"clone", 56, 120, 220, NONE, ANSWER_BITS, 0, NEW_NAMESPACES, 0},
	{"clone3", 435, 435, 435, NONE, ANSWER_MISSING, 0, 0, 0},
	/* set-id bits and device nodes */
	{"chmod", 90, 15, NONE, NONE, ANSWER_BITS, 1, SET_ID_BITS, 0},
	{"fchmod", 91, 94, 52, NONE, ANSWER_BITS, 1, SET_ID_BITS, 0},
	{"fchmodat", 268, 306, 53, NONE, ANSWER_BITS, 2, SET_ID_BITS, 0},
	{"fchmodat2", 452, 452, 452, NONE, ANSWER_BITS, 2, SET_ID_BITS, 0},
	{"mkdir", 83, 39, NONE, NONE, ANSWER_BITS, 1, SET_ID_BITS, 0},
	{"mkdirat", 258, 296, 34, NONE, ANSWER_BITS, 2, SET_ID_BITS, 0},
	{"creat", 85, 8, NONE, NONE, ANSWER_BITS, 1, SET_ID_BITS, 0},
	{"open", 2, 5, NONE, NONE, ANSWER_CREATE, 1, 0, 0},
	{"openat", 257, 295, 56, NONE, ANSWER_CREATE, 2, 0, 0},
	{"openat2", 437, 437, 437, NONE, ANSWER_MISSING, 0, 0, 0},
	{"mknod", 133, 14, NONE, NONE, ANSWER_NODE, 1, 0, 0},
	{"mknodat", 259, 297, 33, NONE, ANSWER_NODE, 2, 0, 0},
	{"renameat2", 316, 353, 276, NONE, ANSWER_BITS, 4, WHITEOUT, 0},
	/* a lease keeps programs of the host from opening the file (fcntl(2), F_SETLEASE) */
	{"fcntl", 72, 55, 25, NONE, ANSWER_VALUE, 1, SET_LEASE, 0},
	{"fcntl64", NONE, 221, NONE, NONE, ANSWER_VALUE, 1, SET_LEASE, 0},
	/* terminals and sockets */
	{"ioctl", 16, 54, 29, 514, ANSWER_IOCTL, 1, 0, 0},
	{"socket", 41, 359, 198, NONE, ANSWER_SOCKET, 0, 0, 0},
	{"socketpair", 53, 360, 199, NONE, ANSWER_SOCKET_PAIR, 0, 0, 0},
	{"sendto", 44, 369, 206, NONE, ANSWER_BITS, 3, FAST_OPEN, 0},
	{"sendmsg", 46, 370, 211, 518, ANSWER_BITS, 2, FAST_OPEN, 0},
	{"sendmmsg", 307, 345, 269, 538, ANSWER_BITS, 3, FAST_OPEN, 0},
	{"setsockopt", 54, 366, 208, 541, ANSWER_SOCKET_OPTION, 1, 0, 0},
	{"socketcall", NONE, 102, NONE, NONE, ANSWER_MISSING, 0, 0, 0},
	{"ipc", NONE, 117, NONE, NONE, ANSWER_MISSING, 0, 0, 0},
};

#define ROWS_N ARRAY_SIZE(rows)

/* Numbers that are no system call of the machine: from .first to .last, ENOSYS. */
struct gap {
	uint32_t first, last;
};

struct machine {
	uint32_t base;		 /* added to every number */
	struct gap gap;		 /* between the machine's own numbers and the common ones */
	uint32_t newest;	 /* without base */
	size_t offset, offset_2; /* of the number in a row; the second, or 0 */
};

static const struct machine machine_x86_64 = {
	.gap = {337, 423},
	.newest = NEWEST_COMMON,
	.offset = offsetof(struct floor_row, x86_64),
};
static const struct machine machine_x32 = {
	.base = X32_BIT,
	.gap = {NEWEST_COMMON + 1, 511},
	.newest = NEWEST_X32,
	.offset = offsetof(struct floor_row, x86_64),
	.offset_2 = offsetof(struct floor_row, x32),
};
static const struct machine machine_i386 = {
	.gap = {1, 0}, /* none: its numbers run up to the common ones */
	.newest = NEWEST_COMMON,
	.offset = offsetof(struct floor_row, i386),
};
static const struct machine machine_aarch64 = {
	.gap = {295, 423},
	.newest = NEWEST_COMMON,
	.offset = offsetof(struct floor_row, aarch64),
};

/* The answers that the rules share. */
struct floor {
	struct bpf_asm code;
	bpf_label allow, refuse, missing, no_family, no_terminal;
	unsigned conditions; /* FLOOR_* */
};

/* The low word of an argument: struct seccomp_data has 16 bytes of head and 8 per argument. */
static uint32_t arg_offset(uint32_t arg)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return 16 + 8 * arg;
#else
	return 16 + 8 * arg + 4;
#endif
}

/* Continue at yes where the argument has one of bits. */
static bpf_label arg_has(struct floor *f, uint32_t arg, uint32_t bits, bpf_label yes, bpf_label no)
{
	return bpf_load(&f->code, arg_offset(arg), bpf_branch(&f->code, BPF_JSET, bits, yes, no));
}

static bpf_label arg_is(struct floor *f, uint32_t arg, uint32_t value, bpf_label yes, bpf_label no)
{
	return bpf_load(&f->code, arg_offset(arg), bpf_branch(&f->code, BPF_JEQ, value, yes, no));
}

/* The accumulator is one of two values. */
static bpf_label either(struct floor *f, uint32_t first, uint32_t second, bpf_label yes,
			bpf_label no)
{
	return bpf_branch(&f->code, BPF_JEQ, first, yes,
			  bpf_branch(&f->code, BPF_JEQ, second, yes, no));
}

/* socket(family, type, protocol): TCP and UDP over IPv4 and IPv6, route netlink; Unix as told. */
static bpf_label socket_rule(struct floor *f, bpf_label local)
{
	struct bpf_asm *a = &f->code;
	bpf_label tcp =
		bpf_load(a, arg_offset(2), either(f, 0, IPPROTO_TCP, f->allow, f->no_family));
	bpf_label udp =
		bpf_load(a, arg_offset(2), either(f, 0, IPPROTO_UDP, f->allow, f->no_family));
	bpf_label inet, route;

	inet = bpf_branch(a, BPF_JEQ, SOCK_DGRAM, udp, f->no_family);
	inet = bpf_branch(a, BPF_JEQ, SOCK_STREAM, tcp, inet);
	inet = bpf_load(a, arg_offset(1), bpf_and(a, SOCKET_TYPE_MASK, inet));
	route = arg_is(f, 2, 0 /* NETLINK_ROUTE */, f->allow, f->no_family);
	route = bpf_branch(a, BPF_JEQ, AF_NETLINK, route, f->no_family);
	inet = either(f, AF_INET, AF_INET6, inet, route);
	return bpf_load(a, arg_offset(0), bpf_branch(a, BPF_JEQ, AF_UNIX, local, inet));
}

static bpf_label node_rule(struct floor *f, uint32_t arg)
{
	struct bpf_asm *a = &f->code;
	bpf_label type = either(f, S_IFCHR, S_IFBLK, f->refuse, f->allow);

	type = bpf_and(a, S_IFMT, type);
	return bpf_load(a, arg_offset(arg), bpf_branch(a, BPF_JSET, SET_ID_BITS, f->refuse, type));
}

/* By the byte of the kind: terminals (but not typing into them) and sockets. */
static bpf_label shared_ioctl_rule(struct floor *f, uint32_t arg)
{
	struct bpf_asm *a = &f->code;
	bpf_label kind = either(f, IOCTL_TERMINAL, IOCTL_SOCKET, f->allow, f->no_terminal);

	kind = bpf_and(a, IOCTL_KIND_MASK, kind);
	return bpf_load(a, arg_offset(arg),
			either(f, TERMINAL_INSERT, TERMINAL_CONSOLE, f->refuse, kind));
}

static bpf_label stream_pair_rule(struct floor *f)
{
	struct bpf_asm *a = &f->code;
	bpf_label type = either(f, SOCK_STREAM, SOCK_SEQPACKET, f->allow, f->no_family);

	type = bpf_load(a, arg_offset(1), bpf_and(a, SOCKET_TYPE_MASK, type));
	return arg_is(f, 0, AF_UNIX, type, f->no_family);
}

static bpf_label row_rule(struct floor *f, const struct floor_row *row)
{
	switch (row->answer) {
	case ANSWER_REFUSE:
		return f->refuse;
	case ANSWER_MISSING:
		return f->missing;
	case ANSWER_BITS:
		return arg_has(f, row->arg, row->bits, f->refuse, f->allow);
	case ANSWER_CREATE:
		return arg_has(f, row->arg, CREATE_BITS,
			       arg_has(f, row->arg + 1u, SET_ID_BITS, f->refuse, f->allow),
			       f->allow);
	case ANSWER_NODE:
		return node_rule(f, row->arg);
	case ANSWER_VALUE:
		return arg_is(f, row->arg, row->bits, f->refuse, f->allow);
	case ANSWER_IOCTL:
		return bpf_load(&f->code, arg_offset(row->arg),
				either(f, TERMINAL_INSERT, TERMINAL_CONSOLE, f->refuse, f->allow));
	case ANSWER_SOCKET:
		return socket_rule(f, f->allow);
	case ANSWER_SOCKET_PAIR:
		return arg_is(f, 0, AF_UNIX, f->allow, f->no_family);
	case ANSWER_SOCKET_OPTION:
		return arg_is(f, 1, IPPROTO_TCP,
			      arg_is(f, 2, TCP_OPT_FASTOPEN_CONNECT, f->refuse, f->allow),
			      f->allow);
	case ANSWER_OTHERS:
		return arg_is(f, row->arg, 0, f->allow, f->refuse);
	case ANSWER_OTHERS_OF:
		return arg_is(f, 0, row->bits, arg_is(f, row->arg, 0, f->allow, f->refuse),
			      f->refuse);
	case ANSWER_SHARED_IOCTL:
		return shared_ioctl_rule(f, row->arg);
	case ANSWER_INET_SOCKET:
		return socket_rule(f, f->no_family);
	case ANSWER_NO_FAMILY:
		return f->no_family;
	case ANSWER_STREAM_PAIR:
		return stream_pair_rule(f);
	}
	return f->refuse;
}

static int16_t row_number(const struct floor_row *row, size_t offset)
{
	int16_t number;

	if (offset == 0)
		return NONE;
	memcpy(&number, (const char *)row + offset, sizeof(number));
	return number;
}

static void set_row(struct floor *f, const struct machine *m, const struct floor_row *row,
		    bpf_label *table)
{
	const size_t offsets[] = {m->offset, m->offset_2};

	if (row->when & ~f->conditions)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		int16_t number = row_number(row, offsets[i]);

		if (number != NONE)
			table[number] = row_rule(f, row);
	}
}

/* Every number of a machine, as ranges behind the n that are there. */
static size_t machine_ranges(struct floor *f, const struct machine *m, struct bpf_range *ranges,
			     size_t n)
{
	bpf_label table[NEWEST_X32 + 1];
	uint32_t i;

	for (i = 0; i <= m->newest; i++)
		table[i] = i >= m->gap.first && i <= m->gap.last ? f->missing : f->allow;
	for (i = 0; i < ROWS_N; i++)
		set_row(f, m, &rows[i], table);
	for (i = 0; (f->conditions & FLOOR_SHARED) && i < floor_shared_rows_n; i++)
		set_row(f, m, &floor_shared_rows[i], table);
	for (i = 0; i <= m->newest; i++) {
		if (i == 0 || table[i] != table[i - 1])
			ranges[n++] = (struct bpf_range){m->base + i, table[i]};
	}
	ranges[n++] = (struct bpf_range){m->base + m->newest + 1, f->missing};
	return n;
}

/* Each number opens a range and the one behind it another; two machines, x32 with two numbers. */
#define RANGES_MAX (2 * 3 * (ROWS_N + SHARED_ROWS_MAX) + 16)

static bpf_label machine_tree(struct floor *f, const struct machine *first,
			      const struct machine *second)
{
	struct bpf_range ranges[RANGES_MAX];
	size_t n;
	bpf_label tree;

	n = machine_ranges(f, first, ranges, 0);
	if (second)
		n = machine_ranges(f, second, ranges, n);
	tree = bpf_switch(&f->code, ranges, n);
	return bpf_load(&f->code, offsetof(struct seccomp_data, nr), tree);
}

bool seccomp_floor_native(enum floor_machine *ret)
{
#if defined(__x86_64__)
	*ret = FLOOR_X86_64;
	return true;
#elif defined(__aarch64__)
	*ret = FLOOR_AARCH64;
	return true;
#else
	(void)ret;
	return false;
#endif
}

int seccomp_floor_compile(enum floor_machine machine, unsigned conditions, struct bpf_program *ret,
			  struct sbx_error *err)
{
	struct floor f;
	bpf_label entry;
	int r;

	if (floor_shared_rows_n > SHARED_ROWS_MAX)
		return sbx_fail(err, SBX_E_INTERNAL, 0, "compile %zu rows", floor_shared_rows_n);
	bpf_init(&f.code);
	f.conditions = conditions;
	f.allow = bpf_return(&f.code, SECCOMP_RET_ALLOW);
	f.refuse = bpf_return(&f.code, SECCOMP_RET_ERRNO | EPERM);
	f.missing = bpf_return(&f.code, SECCOMP_RET_ERRNO | ENOSYS);
	f.no_family = bpf_return(&f.code, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	f.no_terminal = bpf_return(&f.code, SECCOMP_RET_ERRNO | ENOTTY);
	/* A program of a machine without a table cannot be judged. */
	entry = bpf_return(&f.code, SECCOMP_RET_KILL_PROCESS);
	if (machine == FLOOR_X86_64) {
		entry = bpf_branch(&f.code, BPF_JEQ, AUDIT_ARCH_I386,
				   machine_tree(&f, &machine_i386, NULL), entry);
		entry = bpf_branch(&f.code, BPF_JEQ, AUDIT_ARCH_X86_64,
				   machine_tree(&f, &machine_x86_64, &machine_x32), entry);
	} else {
		entry = bpf_branch(&f.code, BPF_JEQ, AUDIT_ARCH_AARCH64,
				   machine_tree(&f, &machine_aarch64, NULL), entry);
	}
	entry = bpf_load(&f.code, offsetof(struct seccomp_data, arch), entry);
	r = bpf_finish(&f.code, entry, ret);
	bpf_release(&f.code);
	if (r < 0)
		return sbx_fail(err, SBX_E_INTERNAL, -r,
				"compile the profile's system call filter");
	return 0;
}
