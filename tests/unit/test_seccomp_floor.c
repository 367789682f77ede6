/*
 * The floor: every rule on every machine with and without rubbish in the high words, by the
 * interpreter; the table's numbers against libseccomp's; and live in a child, where threads must
 * still start.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/seccomp_filters.h"
#include "runtime/base/cleanup.h"
#include "tests/unit/bpf_sim.h"
#include "tests/unit/privileges.h"

#define ALLOW	  SECCOMP_RET_ALLOW
#define REFUSE	  (SECCOMP_RET_ERRNO | EPERM)
#define MISSING	  (SECCOMP_RET_ERRNO | ENOSYS)
#define NO_FAMILY (SECCOMP_RET_ERRNO | EAFNOSUPPORT)
#define HIGH	  (UINT64_C(1) << 32)
#define ALL_HIGH  (UINT64_C(0xffffffff) << 32)

struct machine {
	const char *name;
	uint32_t token, kernel;
	enum floor_machine floor;
};

static const struct machine machines[] = {
	{"x86_64", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64, FLOOR_X86_64},
	{"x32", SCMP_ARCH_X32, AUDIT_ARCH_X86_64, FLOOR_X86_64},
	{"i386", SCMP_ARCH_X86, AUDIT_ARCH_I386, FLOOR_X86_64},
	{"aarch64", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64, FLOOR_AARCH64},
};

/* One call and its answer; a name that a machine does not have is passed over. */
struct probe {
	const char *name;
	uint64_t args[6];
	uint32_t answer;
	bool i386_too; /* false: multiplexed or absent there under this name */
};

static const struct probe probes[] = {
	{"ptrace", {0}, REFUSE, true},
	{"ptrace", {16, 1}, REFUSE, true},
	{"process_vm_readv", {1}, REFUSE, true},
	{"process_vm_writev", {1}, REFUSE, true},
	{"pidfd_getfd", {1}, REFUSE, true},
	{"add_key", {1}, REFUSE, true},
	{"request_key", {1}, REFUSE, true},
	{"keyctl", {1}, REFUSE, true},
	{"bpf", {1}, REFUSE, true},
	{"perf_event_open", {1}, REFUSE, true},
	{"userfaultfd", {1}, REFUSE, true},
	{"syslog", {3}, REFUSE, true},
	{"kexec_load", {1}, REFUSE, true},
	{"kexec_file_load", {1}, REFUSE, true},
	{"quotactl", {1}, REFUSE, true},
	{"quotactl_fd", {1}, REFUSE, true},
	{"io_uring_setup", {1}, REFUSE, true},
	{"io_uring_enter", {1}, REFUSE, true},
	{"io_uring_register", {1}, REFUSE, true},
	{"mount", {1}, REFUSE, true},
	{"umount", {1}, REFUSE, true},
	{"umount2", {1}, REFUSE, true},
	{"pivot_root", {1}, REFUSE, true},
	{"open_tree", {1}, REFUSE, true},
	{"move_mount", {1}, REFUSE, true},
	{"fsopen", {1}, REFUSE, true},
	{"fsconfig", {1}, REFUSE, true},
	{"fsmount", {1}, REFUSE, true},
	{"fspick", {1}, REFUSE, true},
	{"mount_setattr", {1}, REFUSE, true},
	{"open_by_handle_at", {1}, REFUSE, true},
	{"name_to_handle_at", {1}, ALLOW, true},
	{"chroot", {1}, ALLOW, true},
	{"setns", {1}, REFUSE, true},
	{"setns", {1, CLONE_NEWNET}, REFUSE, true},
	{"unshare", {CLONE_NEWUSER}, REFUSE, true},
	{"unshare", {CLONE_NEWNS | CLONE_FS}, REFUSE, true},
	{"unshare", {0x80}, REFUSE, true},
	{"unshare", {CLONE_NEWCGROUP}, REFUSE, true},
	{"unshare", {CLONE_FS | CLONE_FILES}, ALLOW, true},
	{"clone", {CLONE_NEWUSER | SIGCHLD}, REFUSE, true},
	{"clone", {CLONE_NEWNS | SIGCHLD}, REFUSE, true},
	{"clone", {CLONE_NEWPID}, REFUSE, true},
	{"clone", {CLONE_NEWNET}, REFUSE, true},
	{"clone", {CLONE_NEWIPC}, REFUSE, true},
	{"clone", {CLONE_NEWUTS}, REFUSE, true},
	{"clone", {CLONE_NEWCGROUP}, REFUSE, true},
	{"clone", {CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_SETTLS}, ALLOW, true},
	{"clone", {CLONE_VM | CLONE_VFORK | SIGCHLD}, ALLOW, true},
	{"clone3", {1, 88}, MISSING, true},
	{"openat2", {1}, MISSING, true},
	{"chmod", {1, 04755}, REFUSE, true},
	{"chmod", {1, 02755}, REFUSE, true},
	{"chmod", {1, 01777}, ALLOW, true},
	{"fchmod", {1, 04755}, REFUSE, true},
	{"fchmod", {1, 0755}, ALLOW, true},
	{"fchmodat", {1, 1, 02755}, REFUSE, true},
	{"fchmodat", {1, 04000, 0644}, ALLOW, true},
	{"mkdir", {1, 02755}, REFUSE, true},
	{"mkdir", {1, 0755}, ALLOW, true},
	{"mkdirat", {1, 1, 04755}, REFUSE, true},
	{"mkdirat", {1, 1, 0755}, ALLOW, true},
	{"creat", {1, 04755}, REFUSE, true},
	{"creat", {1, 0644}, ALLOW, true},
	{"open", {1, O_CREAT | O_WRONLY, 04755}, REFUSE, true},
	{"open", {1, O_CREAT | O_WRONLY, 0755}, ALLOW, true},
	{"open", {1, O_RDONLY, 04755}, ALLOW, true},
	{"openat", {1, 1, O_CREAT | O_WRONLY, 02755}, REFUSE, true},
	{"openat", {1, 1, O_CREAT, 0644}, ALLOW, true},
	{"openat", {1, 1, O_RDONLY, 06000}, ALLOW, true},
	{"openat", {1, 1, 020000000 | O_RDWR, 04755}, REFUSE, true},
	{"mknod", {1, S_IFREG | 04755}, REFUSE, true},
	{"mknod", {1, S_IFBLK | 0600}, REFUSE, true},
	{"mknod", {1, S_IFCHR | 0600}, REFUSE, true},
	{"mknod", {1, S_IFIFO | 0600}, ALLOW, true},
	{"mknod", {1, S_IFSOCK | 0600}, ALLOW, true},
	{"mknodat", {1, 1, S_IFREG | 02755}, REFUSE, true},
	{"mknodat", {1, 1, S_IFBLK | 0600}, REFUSE, true},
	{"mknodat", {1, 1, S_IFCHR | 0600}, REFUSE, true},
	{"mknodat", {1, 1, S_IFREG | 0600}, ALLOW, true},
	{"renameat2", {1, 1, 1, 1, 4}, REFUSE, true},
	{"renameat2", {1, 1, 1, 1, 2}, ALLOW, true},
	{"fcntl", {3, 1024}, REFUSE, true}, /* F_SETLEASE */
	{"fcntl", {3, 1024 | UINT64_C(1) << 32}, REFUSE, true},
	{"fcntl", {3, 1025}, ALLOW, true},
	{"fcntl", {3, 1030}, ALLOW, true},
	{"ioctl", {0, 0x5412}, REFUSE, true},
	{"ioctl", {0, 0x541c}, REFUSE, true},
	{"ioctl", {0, 0x5413}, ALLOW, true},
	{"socket", {1, 1, 0}, ALLOW, false},
	{"socket", {1, 5 | 02000000, 0}, ALLOW, false},
	{"socket", {2, 1, 0}, ALLOW, false},
	{"socket", {2, 1 | 02004000, 6}, ALLOW, false},
	{"socket", {2, 1, 262}, NO_FAMILY, false},
	{"socket", {2, 1, 132}, NO_FAMILY, false},
	{"socket", {2, 1, 256}, NO_FAMILY, false},
	{"socket", {10, 2, 17}, ALLOW, false},
	{"socket", {10, 2, 0}, ALLOW, false},
	{"socket", {10, 2, 58}, NO_FAMILY, false},
	{"socket", {2, 2, 136}, NO_FAMILY, false},
	{"socket", {2, 3, 1}, NO_FAMILY, false},
	{"socket", {2, 3, 255}, NO_FAMILY, false},
	{"socket", {2, 5, 132}, NO_FAMILY, false},
	{"socket", {16, 3, 0}, ALLOW, false},
	{"socket", {16, 3, 9}, NO_FAMILY, false},
	{"socket", {16, 3, 12}, NO_FAMILY, false},
	{"socket", {17, 3, 0x300}, NO_FAMILY, false},
	{"socket", {17, 2, 0}, NO_FAMILY, false},
	{"socket", {38, 5, 0}, NO_FAMILY, false},
	{"socket", {40, 1, 0}, NO_FAMILY, false},
	{"socket", {43, 1, 0}, NO_FAMILY, false},
	{"socketpair", {1, 1, 0}, ALLOW, false},
	{"socketpair", {30, 1, 0}, NO_FAMILY, false},
	{"sendto", {3, 1, 1, 0x20000000}, REFUSE, false},
	{"sendto", {3, 1, 1, 0x4000}, ALLOW, false},
	{"sendmsg", {3, 1, 0x20004000}, REFUSE, false},
	{"sendmsg", {3, 1, 0x4000}, ALLOW, false},
	{"sendmmsg", {3, 1, 1, 0x20000000}, REFUSE, false},
	{"sendmmsg", {3, 1, 1, 0}, ALLOW, false},
	{"setsockopt", {3, 6, 30}, REFUSE, false},
	{"setsockopt", {3, 6, 1}, ALLOW, false},
	{"setsockopt", {3, 1, 30}, ALLOW, false},
	{"socketcall", {1}, MISSING, true},
	{"ipc", {1}, MISSING, true},
	{"read", {0}, ALLOW, true},
	{"execve", {0}, ALLOW, true},
	{"seccomp", {0}, ALLOW, true},
	{"prctl", {0}, ALLOW, true},
	{"exit_group", {0}, ALLOW, true},
};

/* i386's direct numbers: libseccomp answers with those of the multiplexer. */
static int i386_direct(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} direct[] = {{"socket", 359},	{"socketpair", 360}, {"sendto", 369},
		      {"sendmsg", 370}, {"sendmmsg", 345},   {"setsockopt", 366}};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(direct); i++) {
		if (strcmp(direct[i].name, name) == 0)
			return direct[i].number;
	}
	return -1;
}

static void check(const struct bpf_program *p, const struct machine *m, const struct probe *probe,
		  int number, uint64_t high)
{
	struct seccomp_data data = {.nr = number, .arch = m->kernel};
	uint32_t answer;
	size_t i;

	for (i = 0; i < 6; i++)
		data.args[i] = probe->args[i] | high;
	answer = bpf_sim_run(p->v, p->n, &data, NULL);
	if (answer != probe->answer)
		fail_msg("%s %s(%#llx, %#llx, %#llx, %#llx) high %#llx: %#x, wanted %#x", m->name,
			 probe->name, (unsigned long long)probe->args[0],
			 (unsigned long long)probe->args[1], (unsigned long long)probe->args[2],
			 (unsigned long long)probe->args[3], (unsigned long long)high, answer,
			 probe->answer);
}

static void test_matrix(void **state)
{
	static const uint64_t highs[] = {0, HIGH, ALL_HIGH};
	size_t m, i, h, asked = 0;

	(void)state;
	for (m = 0; m < ARRAY_SIZE(machines); m++) {
		cleanup_bpf_program struct bpf_program p = {0};

		assert_int_equal(seccomp_floor_compile(machines[m].floor, 0, &p, NULL), 0);
		assert_true(bpf_sim_check(p.v, p.n));
		for (i = 0; i < ARRAY_SIZE(probes); i++) {
			int number = seccomp_syscall_resolve_name_arch(machines[m].token,
								       probes[i].name);

			if (machines[m].token == SCMP_ARCH_X86 && !probes[i].i386_too)
				number = i386_direct(probes[i].name);
			if (number < 0)
				continue;
			for (h = 0; h < ARRAY_SIZE(highs); h++, asked++)
				check(&p, &machines[m], &probes[i], number, highs[h]);
		}
	}
	assert_true(asked > 4 * 3 * 90);
}

/* What rung 2 refuses on top, each with what stays allowed beside it. */
static const struct {
	struct probe probe;
	unsigned when; /* answers so with this condition, and allows without */
} shared_probes[] = {
	{{"shmget", {0}, REFUSE, false}, FLOOR_SHARED},
	{{"semtimedop", {0}, REFUSE, false}, FLOOR_SHARED},
	{{"mq_open", {0}, REFUSE, true}, FLOOR_SHARED},
	{{"prlimit64", {1}, REFUSE, true}, FLOOR_SHARED},
	{{"prlimit64", {0}, ALLOW, true}, FLOOR_SHARED},
	{{"setpriority", {0, 0, 5}, ALLOW, true}, FLOOR_SHARED},
	{{"setpriority", {0, 7, 5}, REFUSE, true}, FLOOR_SHARED},
	{{"setpriority", {2, 0, 5}, REFUSE, true}, FLOOR_SHARED},
	{{"ioprio_set", {1, 0}, ALLOW, true}, FLOOR_SHARED},
	{{"ioprio_set", {3, 0}, REFUSE, true}, FLOOR_SHARED},
	{{"sched_setaffinity", {9}, REFUSE, true}, FLOOR_SHARED},
	{{"sched_setattr", {0}, ALLOW, true}, FLOOR_SHARED},
	{{"ioctl", {0, TIOCGWINSZ}, ALLOW, true}, FLOOR_SHARED},
	{{"ioctl", {0, FIONREAD}, ALLOW, true}, FLOOR_SHARED},
	{{"ioctl", {0, 0x80045430}, ALLOW, true}, FLOOR_SHARED},		      /* TIOCGPTN */
	{{"ioctl", {0, 0x40086602}, SECCOMP_RET_ERRNO | ENOTTY, true}, FLOOR_SHARED}, /* SETFLAGS */
	{{"ioctl", {0, 0x5000940e}, SECCOMP_RET_ERRNO | ENOTTY, true}, FLOOR_SHARED}, /* SUBVOL */
	{{"socket", {AF_UNIX, SOCK_STREAM}, NO_FAMILY, false}, FLOOR_SHARED},
	{{"socket", {AF_INET, SOCK_STREAM}, ALLOW, false}, FLOOR_SHARED},
	{{"socket", {AF_INET, SOCK_STREAM}, NO_FAMILY, false}, FLOOR_NO_NETWORK},
	{{"socket", {AF_NETLINK, SOCK_RAW}, NO_FAMILY, false}, FLOOR_NO_NETWORK},
	{{"socketpair", {AF_UNIX, SOCK_STREAM}, ALLOW, false}, FLOOR_SHARED},
	{{"socketpair", {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC}, ALLOW, false}, FLOOR_SHARED},
	{{"socketpair", {AF_UNIX, SOCK_DGRAM}, NO_FAMILY, false}, FLOOR_SHARED},
	{{"chmod", {0, 0644}, REFUSE, true}, FLOOR_NO_METADATA},
	{{"fchmodat2", {0, 0, 0644}, REFUSE, true}, FLOOR_NO_METADATA},
	{{"lchown", {0}, REFUSE, true}, FLOOR_NO_METADATA},
	{{"utimensat", {0}, REFUSE, true}, FLOOR_NO_METADATA},
	{{"fsetxattr", {0}, REFUSE, true}, FLOOR_NO_METADATA},
	{{"removexattr", {0}, REFUSE, true}, FLOOR_NO_METADATA},
	{{"inotify_add_watch", {0}, REFUSE, true}, FLOOR_NO_WATCHING},
	{{"fanotify_mark", {0}, REFUSE, true}, FLOOR_NO_WATCHING},
};

static void check_shared(const struct machine *m, size_t i)
{
	const unsigned with = FLOOR_SHARED | shared_probes[i].when;
	struct probe probe = shared_probes[i].probe;
	cleanup_bpf_program struct bpf_program on = {0}, off = {0};
	int number = seccomp_syscall_resolve_name_arch(m->token, probe.name);

	if (m->token == SCMP_ARCH_X86 && !probe.i386_too)
		number = i386_direct(probe.name);
	if (number < 0)
		return;
	assert_int_equal(seccomp_floor_compile(m->floor, with, &on, NULL), 0);
	assert_int_equal(seccomp_floor_compile(m->floor, with & ~shared_probes[i].when, &off, NULL),
			 0);
	assert_true(bpf_sim_check(on.v, on.n));
	check(&on, m, &probe, number, 0);
	check(&on, m, &probe, number, HIGH);
	probe.answer = ALLOW;
	check(&off, m, &probe, number, 0);
}

static void test_shared(void **state)
{
	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(machines); m++)
		for (size_t i = 0; i < ARRAY_SIZE(shared_probes); i++)
			check_shared(&machines[m], i);
}

static uint32_t answer_of(enum floor_machine floor, uint32_t arch, uint32_t nr)
{
	cleanup_bpf_program struct bpf_program p = {0};
	struct seccomp_data data = {.nr = (int)nr, .arch = arch};

	assert_int_equal(seccomp_floor_compile(floor, 0, &p, NULL), 0);
	return bpf_sim_run(p.v, p.n, &data, NULL);
}

static void test_unknown_numbers(void **state)
{
	static const uint32_t beyond[] = {470, 500, 1000, 0x3fffffff, 0x80000000, 0xffffffff};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(beyond); i++) {
		assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, beyond[i]), MISSING);
		assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_I386, beyond[i]), MISSING);
		assert_int_equal(answer_of(FLOOR_AARCH64, AUDIT_ARCH_AARCH64, beyond[i]), MISSING);
	}
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 469), ALLOW);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_I386, 469), ALLOW);
	assert_int_equal(answer_of(FLOOR_AARCH64, AUDIT_ARCH_AARCH64, 469), ALLOW);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 400), MISSING);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 0x40000000 + 500), MISSING);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 0x40000000 + 520), ALLOW);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 0x40000000 + 547), ALLOW);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 0x40000000 + 548), MISSING);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 452), ALLOW);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 467), REFUSE);
}

/* x32 has numbers of its own beside x86_64's: both roads are closed. */
static void test_x32_both_numbers(void **state)
{
	(void)state;
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 0x40000000 + 521), REFUSE);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 0x40000000 + 101), REFUSE);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 0x40000000 + 539), REFUSE);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 0x40000000 + 540), REFUSE);
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_X86_64, 0x40000000 + 528), REFUSE);
}

static void test_other_machines_are_killed(void **state)
{
	(void)state;
	assert_int_equal(answer_of(FLOOR_X86_64, AUDIT_ARCH_AARCH64, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(answer_of(FLOOR_AARCH64, AUDIT_ARCH_ARM, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(answer_of(FLOOR_AARCH64, AUDIT_ARCH_X86_64, 0), SECCOMP_RET_KILL_PROCESS);
}

/* ---- live ---- */

static void *thread_main(void *arg)
{
	return arg;
}

static void install(void)
{
	cleanup_bpf_program struct bpf_program p = {0};
	enum floor_machine machine;
	struct sock_fprog prog;

	if (!seccomp_floor_native(&machine) || seccomp_floor_compile(machine, 0, &p, NULL) < 0)
		_exit(90);
	prog = (struct sock_fprog){.len = (unsigned short)p.n, .filter = p.v};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		_exit(91);
}

#define EXPECT(condition, status)                                                                  \
	do {                                                                                       \
		errno = 0;                                                                         \
		if (!(condition))                                                                  \
			_exit(status);                                                             \
	} while (0)

static void live_child(const char *dir, bool confined)
{
	char path[300];
	pthread_t thread;
	void *result = NULL;
	int fd, one = 1, pair[2];

	if (confined)
		install();
	EXPECT(pthread_create(&thread, NULL, thread_main, &one) == 0, 1);
	EXPECT(pthread_join(thread, &result) == 0 && result == &one, 2);
	snprintf(path, sizeof(path), "%s/file", dir);
	EXPECT((fd = open(path, O_CREAT | O_WRONLY, 0644)) >= 0, 3);
	EXPECT(fchmod(fd, 0755) == 0, 4);
	EXPECT((fchmod(fd, 04755) == 0) == !confined && (!confined || errno == EPERM), 5);
	EXPECT((chmod(path, 02755) == 0) == !confined, 6);
	EXPECT((socket(AF_INET, SOCK_STREAM, 262) >= 0 || errno != EAFNOSUPPORT) == !confined, 7);
	EXPECT(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0, 8);
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, 9);
	EXPECT(syscall(SYS_ioctl, pair[0], 0x5412 | UINT64_C(1) << 32, path) < 0 &&
		       (errno == EPERM) == confined,
	       10);
	EXPECT(syscall(SYS_unshare, CLONE_FS) == 0, 11);
	EXPECT((syscall(SYS_unshare, CLONE_NEWUSER) == 0) == !confined, 12);
	EXPECT(syscall(500) < 0 && errno == ENOSYS, 13);
	_exit(0);
}

static void live(bool confined)
{
	char dir[256];
	char path[300];
	int status = 0;
	pid_t pid;

	assert_non_null(mkdtemp(temporary_template(dir, "sbx-floor")));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		live_child(dir, confined);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	snprintf(path, sizeof(path), "%s/file", dir);
	unlink(path);
	rmdir(dir);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_live_control(void **state)
{
	(void)state;
	if (is_contained_root()) /* what it compares with is refused already */
		skip();
	live(false);
}

static void test_live_confined(void **state)
{
	(void)state;
	if (is_contained_root())
		skip();
	live(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matrix),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_unknown_numbers),
		cmocka_unit_test(test_x32_both_numbers),
		cmocka_unit_test(test_other_machines_are_killed),
		cmocka_unit_test(test_live_control),
		cmocka_unit_test(test_live_confined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
