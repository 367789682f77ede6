/* Processes: identity beyond the pid, waiting, signal names. */
#include "tests/unit/helper.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "runtime/base/kernel.h"
#include "runtime/base/proc.h"

/* A child that only waits; killed by end_child(). */
static pid_t start_child(const char *name)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (name)
			prctl(PR_SET_NAME, name);
		if (write(fds[1], "x", 1) == 1) {
			for (;;)
				pause();
		}
		_exit(1);
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void test_identity(void **state)
{
	pid_t pid = start_child(NULL);
	uint64_t start = 0, own = 0;
	char letter = 0;

	(void)state;
	assert_int_equal(proc_start_time(pid, &start), 0);
	assert_int_equal(proc_start_time(getpid(), &own), 0);
	assert_true(start >= own && own > 0);
	assert_int_equal(proc_state(getpid(), &letter), 0);
	assert_int_equal(letter, 'R');
	assert_true(proc_is_alive(pid, start));
	assert_false(proc_is_alive(pid, start + 1)); /* the pid, but another process */
	kill(pid, SIGKILL);
	{
		siginfo_t info;

		assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	}
	assert_int_equal(proc_state(pid, &letter), 0);
	assert_int_equal(letter, 'Z');
	assert_false(proc_is_alive(pid, start)); /* a zombie is not alive */
	end_child(pid);
	assert_false(proc_is_alive(pid, start));
	assert_int_equal(proc_state(pid, &letter), -ESRCH);
	start = 42;
	assert_int_equal(proc_start_time(pid, &start), -ESRCH);
	assert_int_equal(proc_start_time(0, &start), -ESRCH);
	assert_int_equal(proc_start_time(-1, &start), -ESRCH);
	assert_int_equal(start, 42);
}

/* The command name is the process's own choice and stands in the middle of the line. */
static void test_hostile_name(void **state)
{
	pid_t plain = start_child(NULL), pid = start_child(") Z 1 1 1 1 1");
	char name[PROC_NAME_BYTES];
	uint64_t a = 0, b = 0;
	char letter = 0;

	(void)state;
	assert_int_equal(proc_state(pid, &letter), 0);
	assert_true(letter == 'S' || letter == 'R');
	assert_int_equal(proc_start_time(plain, &a), 0);
	assert_int_equal(proc_start_time(pid, &b), 0);
	assert_true(b >= a && b < a + 1000);
	assert_true(proc_is_alive(pid, b));
	assert_true(proc_find(pid, b, name));
	assert_string_equal(name, ") Z 1 1 1 1 1");
	assert_false(proc_find(pid, b + 1, name));
	end_child(plain);
	end_child(pid);
	assert_false(proc_find(pid, b, name));
	assert_string_equal(name, "");
}

static void test_names(void **state)
{
	static const char *const names[] = {"sbx/init", "", "(", ")", ") (", "123456789012345"};
	char name[PROC_NAME_BYTES];
	uint64_t ticks;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		pid_t pid = start_child(names[i]);

		assert_int_equal(proc_start_time(pid, &ticks), 0);
		assert_true(proc_find(pid, ticks, name));
		assert_string_equal(name, names[i]);
		end_child(pid);
	}
}

/* Without /proc nothing can be said: busy rather than gone. */
static int check_no_proc(void *data)
{
	pid_t parent = getppid();
	char name[PROC_NAME_BYTES];
	uint64_t ticks;

	(void)data;
	CHECK(own_mounts() == 0);
	CHECK(mount("tmpfs", "/proc", "tmpfs", 0, NULL) == 0);
	CHECK(proc_start_time(parent, &ticks) == -ENOENT);
	CHECK(proc_is_alive(parent, 1));
	CHECK(proc_find(parent, 1, name) && name[0] == '\0');
	CHECK(!proc_is_alive(0x3fffff, 1));
	return 0;
}

static void test_no_proc(void **state)
{
	(void)state;
	if (!can_mount())
		skip();
	assert_true(in_child(check_no_proc, NULL));
}

static void test_pidfd(void **state)
{
	pid_t pid = start_child(NULL);
	struct pollfd poll_fd = {.events = POLLIN};
	uint64_t start;
	int pidfd;

	(void)state;
	assert_int_equal(proc_start_time(pid, &start), 0);
	assert_int_equal(proc_open_pidfd(pid, start + 1), -ESRCH);
	assert_int_equal(proc_open_pidfd(0, 0), -ESRCH);
	pidfd = proc_open_pidfd(pid, start);
	assert_true(pidfd >= 0);
	assert_int_equal(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(proc_send_signal(pidfd, 0, 0), 0);
	assert_int_equal(proc_send_signal(pidfd, 0, SIGKILL), 0);
	poll_fd.fd = pidfd;
	assert_int_equal(poll(&poll_fd, 1, 5000), 1);
	assert_int_equal(proc_wait_gone(pidfd), 0);
	end_child(pid);
	/* The descriptor goes on meaning the dead process, whatever its number is now. */
	assert_int_equal(proc_send_signal(pidfd, getpid(), SIGKILL), -ESRCH);
	close(pidfd);
}

static int check_without_pidfd(void *data)
{
	pid_t pid = start_child(NULL);
	int status;

	(void)data;
	CHECK(refuse_syscall(__NR_pidfd_send_signal, ENOSYS) == 0);
	CHECK(proc_send_signal(0, 0, SIGKILL) == -ESRCH);  /* never the own group */
	CHECK(proc_send_signal(0, -1, SIGKILL) == -ESRCH); /* never everybody */
	CHECK(proc_send_signal(-1, pid, SIGTERM) == 0);
	CHECK(proc_wait(pid, &status) == 0 && status == 128 + SIGTERM);
	return 0;
}

static void test_signal_by_pid(void **state)
{
	(void)state;
	assert_true(in_child(check_without_pidfd, NULL));
}

static void test_wait(void **state)
{
	int status = 42;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0)
		_exit(7);
	assert_int_equal(proc_wait(pid, &status), 0);
	assert_int_equal(status, 7);
	assert_int_equal(proc_wait(pid, &status), -ECHILD);
	pid = start_child(NULL);
	kill(pid, SIGKILL);
	assert_int_equal(proc_wait(pid, &status), 0);
	assert_int_equal(status, 137);
}

static void test_parse_signal(void **state)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{"9", 9},	   {"KILL", 9},	       {"SIGKILL", 9},
		{"sigkill", 9},	   {"Kill", 9},	       {"TERM", 15},
		{"1", 1},	   {"64", 64},	       {"SIGCONT", 18},
		{"sigcont", 18},   {"USR1", 10},       {"SIGWINCH", 28},
		{"CHLD", SIGCHLD}, {"CLD", SIGCHLD},   {"IOT", SIGABRT},
		{"POLL", SIGIO},   {"IO", SIGIO},      {"SYS", SIGSYS},
		{"STKFLT", 16},	   {"RTMIN", 34},      {"RTMIN+3", 37},
		{"SIGRTMAX", 64},  {"rtmax-30", 34},   {"RTMIN+30", 64},
		{"RTMIN+31", -1},  {"RTMAX+1", -1},    {"RTMIN-1", -1},
		{"RTMIN+", -1},	   {"RTMAX-31", -1},   {"0", 0},
		{"65", -1},	   {"-9", -1},	       {"+9", -1},
		{" 9", -1},	   {"9 ", -1},	       {"0x9", -1},
		{"", -1},	   {"SIG", -1},	       {"SIGSIGKILL", -1},
		{"KILLL", -1},	   {"4294967305", -1}, {"RTMIN+4294967296", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int want = rows[i].want < 0 ? -EINVAL : rows[i].want;

		if (proc_parse_signal(rows[i].text) != want)
			fail_msg("\"%s\": %d", rows[i].text, proc_parse_signal(rows[i].text));
	}
}

/* The mask named "SigXxx:" of this process, as the kernel has it. */
static uint64_t own_signals(const char *name)
{
	cleanup_buf struct buf buf = BUF_INIT;
	const char *line;

	if (fd_read_file_at(AT_FDCWD, "/proc/self/status", 65536, &buf) < 0)
		return UINT64_MAX;
	line = strstr(buf.data, name);
	return line ? strtoull(line + strlen(name) + 1, NULL, 16) : UINT64_MAX;
}

#define WRITE_SIGNALS ((1ULL << (SIGPIPE - 1)) | (1ULL << (SIGXFSZ - 1)))

static int check_reset(void *data)
{
	unsigned long ignore[16] = {(unsigned long)SIG_IGN}, all = ~0UL;

	(void)data;
	for (int sig = 1; sig < _NSIG; sig++)
		syscall(__NR_rt_sigaction, sig, ignore, NULL, 8);
	syscall(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	CHECK(own_signals("SigIgn") == ~((1ULL << (SIGKILL - 1)) | (1ULL << (SIGSTOP - 1))));
	CHECK(own_signals("SigBlk") == ~((1ULL << (SIGKILL - 1)) | (1ULL << (SIGSTOP - 1))));
	proc_reset_signals();
	CHECK(own_signals("SigIgn") == 0);
	CHECK(own_signals("SigBlk") == 0);
	CHECK(own_signals("SigCgt") == WRITE_SIGNALS);
	return 0;
}

/* Neither a full disk quota nor a reader that left ends the process; what it executes has the
 * defaults again. */
static int check_write_signals(void *data)
{
	struct rlimit none = {0, RLIM_INFINITY};
	int fd = memfd_create("limited", MFD_CLOEXEC), fds[2];

	(void)data;
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	proc_catch_write_signals();
	CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
	CHECK(fd_write_all(fd, "x", 1) == -EFBIG);
	CHECK(pipe(fds) == 0 && close(fds[0]) == 0);
	CHECK(fd_write_all(fds[1], "x", 1) == -EPIPE);
	proc_reset_signals();
	CHECK(fd_write_all(fd, "x", 1) == -EFBIG);
	CHECK(fd_write_all(fds[1], "x", 1) == -EPIPE);
	execlp("sh", "sh", "-c",
	       "while read -r key mask; do case $key in SigIgn:|SigCgt:) test $((0x$mask & "
	       "0x1001000)) "
	       "= 0 || exit 1;; esac; done </proc/self/status",
	       NULL);
	return __LINE__;
}

static void test_write_signals(void **state)
{
	(void)state;
	assert_true(in_child(check_write_signals, NULL));
}

static void test_reset(void **state)
{
	(void)state;
	assert_true(in_child(check_reset, NULL));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),      cmocka_unit_test(test_hostile_name),
		cmocka_unit_test(test_no_proc),	      cmocka_unit_test(test_pidfd),
		cmocka_unit_test(test_signal_by_pid), cmocka_unit_test(test_wait),
		cmocka_unit_test(test_parse_signal),  cmocka_unit_test(test_reset),
		cmocka_unit_test(test_names),	      cmocka_unit_test(test_write_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
