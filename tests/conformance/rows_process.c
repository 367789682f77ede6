/*
 * What a profile promises of processes: namespaces, capabilities, descriptors, the filter of system
 * calls, the environment, limits. The system calls themselves are the table of the attack tests.
 */
#include "tests/conformance/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- processes of others; "own" is the control ---- */

static bool is_own(const char *what)
{
	return strcmp(what, "own") == 0;
}

static long act_signal(const char *what)
{
	return or_errno(kill(is_own(what) ? getpid() : outside.pid, 0));
}

static long act_pidfd(const char *what)
{
	return or_errno(syscall(434, is_own(what) ? getpid() : outside.pid, 0)); /* pidfd_open */
}

static long act_shared_memory(const char *what)
{
	return or_errno(is_own(what) ? shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)
				     : shmget(outside.shm_key, 0, 0));
}

static long act_queue(const char *what)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 1};

	if (!is_own(what))
		return or_errno(mq_open(outside.queue, O_RDONLY));
	mq_unlink("/conform-own");
	return or_errno(mq_open("/conform-own", O_RDONLY | O_CREAT, 0600, &attr));
}

/* A process whose group is not the root of what it sees shows others' groups. */
static long act_cgroups(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[PATH_MAX];
	long r = -ENODATA;

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (!strchr(line, ':') || strcmp(strrchr(line, ':'), ":/\n") != 0)
			r = 0;
	}
	fclose(file);
	return r;
}

/* ---- privileges ---- */

#define CAP(cap) (UINT64_C(1) << (cap))
#define ALLOWED                                                                                    \
	(CAP(CAP_CHOWN) | CAP(CAP_DAC_OVERRIDE) | CAP(CAP_FOWNER) | CAP(CAP_FSETID) |              \
	 CAP(CAP_KILL) | CAP(CAP_SETGID) | CAP(CAP_SETUID) | CAP(CAP_SETPCAP) | CAP(CAP_SETFCAP) | \
	 CAP(CAP_NET_BIND_SERVICE) | CAP(CAP_SYS_CHROOT) | CAP(CAP_AUDIT_WRITE))

/* "allowed SET": a capability of the list is in it; "others SET": one that is not in the list is.
 */
static long act_capabilities(const char *what)
{
	const char *set = strchr(what, ' ') + 1;
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long bits = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, set, strlen(set)) == 0)
			bits = strtoull(line + strlen(set) + 1, NULL, 16);
	}
	if (file)
		fclose(file);
	return bits & (what[0] == 'a' ? ALLOWED : ~ALLOWED) ? 0 : -ENODATA;
}

/* "Name: VALUE" of /proc/self/status is other than 0, or than "Name: WANTED". */
static long act_status_is(const char *what)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long r = -ENODATA;

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		for (char *c = line; *c; c++)
			*c = *c == '\t' ? ' ' : *c;
		if (strcmp(line, what) == 0)
			r = 0;
	}
	if (file)
		fclose(file);
	return r;
}

/* "quit PROGRAM": any other user may run it; "euid PROGRAM": that changes who the user is. */
static long child_setuid(const char *what)
{
	const char *path = strchr(what, '/');
	char *args[] = {(char *)path, what[0] == 'q' ? "quit" : "euid", NULL};

	if (setgid(1000) < 0 || setuid(1000) < 0)
		return -errno;
	execv(path, args);
	return -errno;
}

static long act_setuid_program(const char *what)
{
	return in_child(child_setuid, what);
}

static long act_descriptor(const char *number)
{
	return or_errno(fcntl(atoi(number), F_GETFD));
}

/* How large the file of the next crash, or the number of the next descriptor, may be at most. */
static long act_limit(const char *what)
{
	struct rlimit limit;
	int resource = strcmp(what, "core") == 0 ? RLIMIT_CORE : RLIMIT_NOFILE;

	if (getrlimit(resource, &limit) < 0)
		return -errno;
	return limit.rlim_max <= 1 ? -ENODATA : 0; /* one byte is less than any core */
}

/* ---- environment ---- */

static long act_variable(const char *name)
{
	return getenv(name) ? 0 : -ENOENT;
}

/* The variable names a folder below TMPDIR that is this user's alone: the bundle's value is lost.
 */
static long act_home(const char *name)
{
	const char *home = getenv(name), *scratch = getenv("TMPDIR");
	struct stat st;

	if (!home || !scratch || strncmp(home, scratch, strlen(scratch)) != 0)
		return 0;
	if (lstat(home, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) && (st.st_mode & 077) == 0 ? -ENOTUNIQ : 0;
}

/* ---- limits ---- */

#define MIB (UINT64_C(1) << 20)

/* As many mebibytes as the word says into a new file of TMPDIR. */
static long act_scratch(const char *mebibytes)
{
	static char block[MIB];
	const char *dir = getenv("TMPDIR");
	char path[PATH_MAX];
	long r = 0, left = atol(mebibytes);
	int fd;

	snprintf(path, sizeof(path), "%s/big", dir ? dir : "/tmp");
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	if (fd < 0)
		return -errno;
	while (r >= 0 && left-- > 0)
		r = or_errno(write(fd, block, sizeof(block)));
	close(fd);
	unlink(path);
	return r;
}

static long child_memory(const char *mebibytes)
{
	size_t size = (size_t)atol(mebibytes) * MIB;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	memset(memory, 1, size);
	return 0;
}

static long act_memory(const char *mebibytes)
{
	return in_child(child_memory, mebibytes);
}

static long act_children(const char *number)
{
	pid_t children[256];
	int n = 0, wanted = atoi(number);
	long r = 0;

	while (n < wanted && r == 0) {
		children[n] = fork();
		if (children[n] == 0) {
			pause();
			_exit(0);
		}
		if (children[n] < 0)
			r = -errno;
		else
			n++;
	}
	while (n-- > 0) {
		kill(children[n], SIGKILL);
		waitpid(children[n], NULL, 0);
	}
	return r;
}

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long spin(void)
{
	double end = seconds(CLOCK_MONOTONIC) + 1;

	while (seconds(CLOCK_MONOTONIC) < end)
		;
	return 0;
}

/* "sleep": a second without work is let pass. "spin": four processes ask for a second of a
 * processor each, which a quota of a tenth lets have no more than that together. */
static long act_processor(const char *what)
{
	struct rusage usage;
	pid_t children[4];
	int i;

	if (strcmp(what, "sleep") == 0)
		return or_errno(usleep(1000));
	for (i = 0; i < 4; i++) {
		children[i] = fork();
		if (children[i] == 0)
			_exit((int)spin());
	}
	for (i = 0; i < 4; i++)
		waitpid(children[i], NULL, 0);
	getrusage(RUSAGE_CHILDREN, &usage);
	return usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000 +
				       usage.ru_stime.tv_sec * 1000 +
				       usage.ru_stime.tv_usec / 1000 <
			       400
		       ? -EAGAIN
		       : 0;
}

/* ---- the tables ---- */

#define PROCESS(mechanism, name, act, control, probe, refusal, flags)                              \
	{                                                                                          \
		SETTING_CLOSED, "processBoundary", mechanism, name, act, control, probe, refusal,  \
			flags                                                                      \
	}
#define VARIABLE(mechanism, name)                                                                  \
	{                                                                                          \
		SETTING_CLOSED, "envScrub", mechanism, name, act_variable, "KEPT", name, ENOENT, 0 \
	}
#define LIMIT(mechanism, name, act, control, probe, refusal)                                       \
	{                                                                                          \
		SETTING_LIMITS, "resourceLimits", mechanism, name, act, control, probe, refusal,   \
			ROW_ROOT                                                                   \
	}

static const struct row rows[] = {
	PROCESS("pid namespace", "a signal to a process outside", act_signal, "own", "outside",
		ESRCH, ROW_PLAIN),
	PROCESS("pid namespace", "a pidfd of it", act_pidfd, "own", "outside", ESRCH, ROW_PLAIN),
	PROCESS("ipc namespace", "shared memory of System V", act_shared_memory, "own", "outside",
		ENOENT, ROW_PLAIN),
	PROCESS("ipc namespace", "a message queue", act_queue, "own", "outside", ENOENT, ROW_PLAIN),
	PROCESS("cgroup namespace", "the names of the groups above", act_cgroups, "/proc/self/maps",
		"/proc/self/cgroup", ENODATA, ROW_PLAIN),
	PROCESS("capabilities", "bounding", act_capabilities, "allowed CapBnd", "others CapBnd",
		ENODATA, 0),
	PROCESS("capabilities", "permitted", act_capabilities, "allowed CapPrm", "others CapPrm",
		ENODATA, 0),
	PROCESS("capabilities", "effective", act_capabilities, "allowed CapEff", "others CapEff",
		ENODATA, 0),
	PROCESS("capabilities", "inheritable", act_capabilities, "allowed CapPrm", "others CapInh",
		ENODATA, 0),
	PROCESS("capabilities", "ambient", act_capabilities, "allowed CapPrm", "others CapAmb",
		ENODATA, 0),
	PROCESS("no_new_privs", "it is set", act_status_is, "Name: conform", "NoNewPrivs: 0",
		ENODATA, 0),
	PROCESS("no_new_privs", "a set-user-id program", act_setuid_program,
		"quit /workspace/program-setuid", "euid /workspace/program-setuid", EPERM,
		ROW_ROOT),
	PROCESS("seccomp", "a filter is there", act_status_is, "Name: conform", "Seccomp: 0",
		ENODATA, 0),
	PROCESS("descriptors", "one that the caller had open", act_descriptor, "1", "99", EBADF,
		ROW_PLAIN),
	PROCESS("rlimits", "core dumps", act_limit, "files", "core", ENODATA, 0),
	{SETTING_OPEN, "processBoundary", "landlock", "scope: signals", act_signal, "own",
	 "outside", EPERM, ROW_ROOT},

	VARIABLE("loader", "LD_PRELOAD"),
	VARIABLE("loader", "LD_LIBRARY_PATH"),
	VARIABLE("loader", "GCONV_PATH"),
	VARIABLE("loader", "GLIBC_TUNABLES"),
	VARIABLE("shell", "BASH_ENV"),
	VARIABLE("shell", "ENV"),
	VARIABLE("shell", "PROMPT_COMMAND"),
	VARIABLE("shell", "BASH_FUNC_ls%%"),
	VARIABLE("interpreters", "PYTHONSTARTUP"),
	VARIABLE("interpreters", "PERL5OPT"),
	VARIABLE("interpreters", "RUBYOPT"),
	VARIABLE("interpreters", "NODE_OPTIONS"),
	VARIABLE("interpreters", "JAVA_TOOL_OPTIONS"),
	{SETTING_CLOSED, "envScrub", "home", "HOME is the container's own", act_home, "PATH",
	 "HOME", ENOTUNIQ, 0},

	LIMIT("cgroup pids", "processes", act_children, "8", "64", EAGAIN),
	LIMIT("cgroup memory", "memory", act_memory, "8", "192", EINTR),
	LIMIT("cgroup cpu", "processor time", act_processor, "sleep", "spin", EAGAIN),
	{SETTING_CLOSED, "resourceLimits", "scratch", "files in TMPDIR", act_scratch, "1", "24",
	 ENOSPC, 0},
};

const struct row_table rows_process = {rows, sizeof(rows) / sizeof(rows[0])};
