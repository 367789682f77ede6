/*
 * Theory of operation: a pid alone says nothing once its process has died, so a process is named
 * by pid and start time; both stand in one read of /proc/PID/stat. The command name in that line
 * may hold anything, so fields are counted from the last ')'.
 */
#include "runtime/base/proc.h"

#define WAIT_GONE_MS 10000

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/num.h"

#define STAT_STATE_FIELD  3
#define STAT_PARENT_FIELD 4
#define STAT_START_FIELD  22

static bool pid_exists(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

/* Field n (as proc(5) counts) behind the command name; NULL where the line is too short. */
static char *stat_field(char *line, int n)
{
	char *p = strrchr(line, ')');

	for (int field = 2; p && field < n; field++)
		p = strchr(p + 1, ' ');
	return p ? p + 1 : NULL;
}

struct proc_stat {
	char name[PROC_NAME_BYTES];
	char state;
	pid_t parent;
	uint64_t start_ticks;
};

/* What stands between the first '(' and the last ')'. */
static void copy_name(const char *line, char name[PROC_NAME_BYTES])
{
	const char *from = strchr(line, '('), *to = strrchr(line, ')');
	size_t len = from && to && from < to ? (size_t)(to - from - 1) : 0;

	if (len >= PROC_NAME_BYTES)
		len = PROC_NAME_BYTES - 1;
	if (len)
		memcpy(name, from + 1, len);
	name[len] = '\0';
}

/* The digits at text, which is ended behind them. */
static int take_number(char *text, uint64_t max, uint64_t *ret)
{
	text[strspn(text, "0123456789")] = '\0';
	return num_parse_u64(text, 0, max, ret) < 0 ? -EPROTO : 0;
}

static int read_stat(pid_t pid, struct proc_stat *ret)
{
	cleanup_fd int fd = -EBADF;
	char path[32], line[1024], *state, *parent, *start;
	uint64_t number;
	ssize_t n;
	int rc;

	if (pid <= 0)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		/* Hidden or no /proc at all: only a missing process is -ESRCH. */
		if (errno != ENOENT)
			return -errno;
		return pid_exists(pid) ? -ENOENT : -ESRCH;
	}
	n = read(fd, line, sizeof(line) - 1);
	if (n < 0)
		return -errno;
	line[n] = '\0';
	start = stat_field(line, STAT_START_FIELD);
	state = stat_field(line, STAT_STATE_FIELD);
	parent = stat_field(line, STAT_PARENT_FIELD);
	if (!state || !parent || !start)
		return -EPROTO;
	copy_name(line, ret->name);
	ret->state = *state;
	rc = take_number(parent, INT32_MAX, &number);
	if (rc < 0)
		return rc;
	ret->parent = (pid_t)number;
	return take_number(start, UINT64_MAX, &ret->start_ticks);
}

int proc_start_time(pid_t pid, uint64_t *ret_ticks)
{
	struct proc_stat stat;
	int rc = read_stat(pid, &stat);

	if (rc == 0)
		*ret_ticks = stat.start_ticks;
	return rc;
}

int proc_state(pid_t pid, char *ret_state)
{
	struct proc_stat stat;
	int rc = read_stat(pid, &stat);

	if (rc == 0)
		*ret_state = stat.state;
	return rc;
}

int proc_parent(pid_t pid, pid_t *ret_parent)
{
	struct proc_stat stat;
	int rc = read_stat(pid, &stat);

	if (rc == 0)
		*ret_parent = stat.parent;
	return rc;
}

bool proc_find(pid_t pid, uint64_t start_ticks, char name[PROC_NAME_BYTES])
{
	struct proc_stat stat;
	int rc = read_stat(pid, &stat);

	name[0] = '\0';
	if (rc == -ESRCH)
		return false;
	if (rc < 0)
		return pid_exists(pid); /* cannot be told apart: rather busy than deleted */
	if (stat.start_ticks != start_ticks)
		return false;
	memcpy(name, stat.name, sizeof(stat.name));
	return stat.state != 'Z' && stat.state != 'X' && stat.state != 'x';
}

bool proc_is_alive(pid_t pid, uint64_t start_ticks)
{
	char name[PROC_NAME_BYTES];

	return proc_find(pid, start_ticks, name);
}

int proc_open_pidfd(pid_t pid, uint64_t start_ticks)
{
	cleanup_fd int pidfd = -EBADF;
	uint64_t ticks = 0;
	int rc;

	if (pid <= 0)
		return -ESRCH;
	pidfd = sys_pidfd_open(pid, 0);
	if (pidfd < 0)
		return pidfd;
	/* The descriptor pins the process, so what is read now is about it or about nobody. */
	rc = proc_start_time(pid, &ticks);
	if (rc < 0)
		return rc;
	if (ticks != start_ticks)
		return -ESRCH;
	return take_fd(&pidfd);
}

int proc_send_signal(int pidfd, pid_t pid, int sig)
{
	if (pidfd >= 0) {
		int rc = sys_pidfd_send_signal(pidfd, sig);

		if (rc != -ENOSYS)
			return rc;
	}
	if (pid <= 0)
		return -ESRCH; /* kill(2) would take 0 and negatives for groups */
	return kill(pid, sig) < 0 ? -errno : 0;
}

int proc_wait(pid_t pid, int *ret_status)
{
	int status;
	pid_t got;

	do {
		got = waitpid(pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	*ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return 0;
}

/* "RTMIN", "RTMIN+n", "RTMAX", "RTMAX-n". */
static int parse_realtime(const char *name)
{
	bool from_min = strncasecmp(name, "RTMIN", 5) == 0;
	uint64_t n = 0, span = (uint64_t)(SIGRTMAX - SIGRTMIN);

	if (!from_min && strncasecmp(name, "RTMAX", 5) != 0)
		return -EINVAL;
	name += 5;
	if (*name != '\0') {
		if (*name != (from_min ? '+' : '-') || num_parse_u64(name + 1, 0, span, &n) < 0)
			return -EINVAL;
	}
	return from_min ? SIGRTMIN + (int)n : SIGRTMAX - (int)n;
}

int proc_parse_signal(const char *text)
{
	static const struct {
		const char *name;
		int sig;
	} aliases[] = {
		{"IOT", SIGABRT},  {"CLD", SIGCHLD},   {"IO", SIGIO},
		{"POLL", SIGPOLL}, {"UNUSED", SIGSYS},
	};
	uint64_t number;

	if (*text >= '0' && *text <= '9')
		return num_parse_u64(text, 0, _NSIG - 1, &number) < 0 ? -EINVAL : (int)number;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int sig = 1; sig < 32; sig++) {
		const char *name = sigabbrev_np(sig);

		if (name && strcasecmp(name, text) == 0)
			return sig;
	}
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (strcasecmp(aliases[i].name, text) == 0)
			return aliases[i].sig;
	}
	return parse_realtime(text);
}

static void do_nothing(int sig)
{
	(void)sig;
}

void proc_catch_write_signals(void)
{
	struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};

	sigaction(SIGPIPE, &action, NULL);
	sigaction(SIGXFSZ, &action, NULL);
}

/* By the kernel's own calls: the C library's leave out signals 32 and 33, which a parent of another
 * language may well ignore or block. All zeroes is the default action and an empty mask. */
void proc_reset_signals(void)
{
	static const unsigned long action[16], empty[_NSIG / 8 / sizeof(unsigned long)];

	for (int sig = 1; sig < _NSIG; sig++)
		syscall(__NR_rt_sigaction, sig, action, NULL, _NSIG / 8);
	proc_catch_write_signals();
	syscall(__NR_rt_sigprocmask, SIG_SETMASK, empty, NULL, _NSIG / 8);
}

int proc_wait_gone(int pidfd)
{
	struct pollfd gone = {pidfd, POLLIN, 0};
	int n;

	do
		n = poll(&gone, 1, WAIT_GONE_MS);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n == 0 ? -ETIMEDOUT : 0;
}
