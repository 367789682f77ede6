/*
 * kill-at-stage: runs the runtime and kills it with SIGKILL at one row of the stage table.
 *
 *	kill-at-stage --list             -- PROGRAM --debug --log FILE create ...
 *	kill-at-stage --at NAME [--child] -- PROGRAM --debug --log FILE create ...
 *	kill-at-stage --syscall NAME [--child] -- PROGRAM run ...
 *	kill-at-stage --own NAME N       -- PROGRAM start ...
 *
 * At the beginning of each row the runtime and its child write a log line "stage NAME" with one
 * write(2). This tool follows both by ptrace(2), reads what they are about to write, and kills the
 * runtime (the first process) before the line is written. Everything else goes on untraced, as it
 * would without us. With --child the process that is about to write is killed instead, and the
 * runtime is awaited; its exit status is printed.
 *
 * The child logs nothing once its descriptors are closed; for the rows behind that (close_range
 * begins them), --syscall kills when a process other than the runtime enters this system call
 * (accept4, socket, seccomp, landlock_restrict_self, execve, execveat), each row of that part being
 * known by one.
 *
 * --own kills the runtime when it enters the Nth of its own system calls, counted from its first
 *NAME (connect, sendmsg, clone3): for a verb whose rows are another process's.
 *
 * --list runs to the end and prints "runtime NAME" and "child NAME" in the order of their begin.
 *
 * Exit status: 0 killed there (--list: the program ended with 0), 3 the row was never seen, 4 the
 * program failed under --list, 1 a mistake of use or of this tool.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#define NAME_MAX_ 64

struct tracer {
	const char *at; /* NULL: --list, or --syscall */
	long syscall;	/* -1: none */
	bool behind;	/* a child began to close its descriptors */
	long own;	/* -1: none */
	long own_left;	/* calls until --own is reached, that one included */
	bool own_begun; /* it was called */
	bool kill_writer;
	pid_t runtime;
	bool seen; /* --at was reached */
	bool done; /* and nothing else is waited for */
	int status;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static pid_t start(char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		raise(SIGSTOP);
		execvp(argv[0], argv);
		die(argv[0]);
	}
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		die("start");
	if (ptrace(PTRACE_SEIZE, pid, NULL,
		   (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			    PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)) < 0)
		die("ptrace");
	kill(pid, SIGCONT);
	return pid;
}

/* The row's name from a log line, which is text or JSON; false where the line is another. */
static bool parse_stage(const char *line, char name[NAME_MAX_])
{
	const char *at = strstr(line, "stage "), *end;

	if (!at)
		return false;
	at += strlen("stage ");
	end = at + strcspn(at, "\"\n");
	if (end == at || end - at >= NAME_MAX_)
		return false;
	memcpy(name, at, (size_t)(end - at));
	name[end - at] = '\0';
	return true;
}

/* The number of the system call that the stopped process enters, -1 at its return. */
static long entered_syscall(pid_t pid, struct ptrace_syscall_info *info)
{
	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(*info), info) <= 0 ||
	    info->op != PTRACE_SYSCALL_INFO_ENTRY)
		return -1;
	return (long)info->entry.nr;
}

/* Is the stopped process about to write a stage's line? */
static bool at_stage(pid_t pid, const struct ptrace_syscall_info *info, char name[NAME_MAX_])
{
	char line[512];
	struct iovec local = {line, sizeof(line) - 1}, remote;
	ssize_t n;

	if (info->entry.args[2] < local.iov_len)
		local.iov_len = info->entry.args[2];
	remote.iov_base = (void *)(uintptr_t)info->entry.args[1];
	remote.iov_len = local.iov_len;
	n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	if (n <= 0)
		return false;
	line[n] = '\0';
	return parse_stage(line, name);
}

/* Kill and see it dead: what happens afterwards happens without it. */
static void kill_now(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) == pid)
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return;
}

static void reached(struct tracer *t, pid_t pid)
{
	if (t->seen)
		return;
	kill_now(t->kill_writer ? pid : t->runtime);
	t->seen = true;
	t->done = !t->kill_writer || pid == t->runtime;
}

static void handle_syscall(struct tracer *t, pid_t pid)
{
	struct ptrace_syscall_info info;
	long number = entered_syscall(pid, &info);
	char name[NAME_MAX_];

	if (number < 0)
		return;
	if (t->own >= 0) {
		t->own_begun = t->own_begun || (pid == t->runtime && number == t->own);
		if (pid == t->runtime && t->own_begun && --t->own_left == 0)
			reached(t, pid);
		return;
	}
	if (t->syscall >= 0) {
		t->behind = t->behind || (pid != t->runtime && number == SYS_close_range &&
					  info.entry.args[2] == 0);
		if (t->behind && number == t->syscall && pid != t->runtime)
			reached(t, pid);
		return;
	}
	if (number != SYS_write || !at_stage(pid, &info, name))
		return;
	if (!t->at)
		printf("%s %s\n", pid == t->runtime ? "runtime" : "child", name);
	else if (strcmp(name, t->at) == 0)
		reached(t, pid);
}

static long syscall_number(const char *name)
{
	static const struct {
		const char *name;
		long number;
	} known[] = {
		{"accept4", SYS_accept4},	 {"seccomp", SYS_seccomp},
		{"landlock_restrict_self", 446}, {"execve", SYS_execve},
		{"execveat", SYS_execveat},	 {"connect", SYS_connect},
		{"socket", SYS_socket},		 {"sendmsg", SYS_sendmsg},
		{"clone3", SYS_clone3},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].number;
	fprintf(stderr, "kill-at-stage: unknown system call %s\n", name);
	exit(1);
}

/* Go on after any kind of stop. */
static void resume(pid_t pid, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_STOP && (sig == SIGSTOP || sig == SIGTSTP)) {
		ptrace(PTRACE_LISTEN, pid, NULL, NULL);
		return;
	}
	if (event != 0 || sig == (SIGTRAP | 0x80))
		sig = 0;
	ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(intptr_t)sig);
}

/* Until the row is reached or the runtime has ended; who is left is let go by our own end. */
static void trace(struct tracer *t)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return;
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (pid == t->runtime) {
				t->status = status;
				return;
			}
			continue;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			handle_syscall(t, pid);
		if (t->done)
			return;
		resume(pid, status); /* of one that was killed: fails, and is no matter */
	}
}

int main(int argc, char **argv)
{
	struct tracer t = {.syscall = -1, .own = -1};
	bool list = false;
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--list") == 0)
			list = true;
		else if (strcmp(argv[i], "--child") == 0)
			t.kill_writer = true;
		else if (strcmp(argv[i], "--at") == 0 && i + 1 < argc)
			t.at = argv[++i];
		else if (strcmp(argv[i], "--syscall") == 0 && i + 1 < argc)
			t.syscall = syscall_number(argv[++i]);
		else if (strcmp(argv[i], "--own") == 0 && i + 2 < argc) {
			t.own = syscall_number(argv[++i]);
			t.own_left = strtol(argv[++i], NULL, 10);
		} else
			break;
	}
	if (i + 1 >= argc || strcmp(argv[i], "--") != 0 ||
	    list + (t.at != NULL) + (t.syscall >= 0) + (t.own >= 0) != 1) {
		fputs("usage: kill-at-stage --list|--at NAME|--syscall NAME [--child]|--own NAME N "
		      "-- PROGRAM ...\n",
		      stderr);
		return 1;
	}
	t.runtime = start(argv + i + 1);
	trace(&t);
	if (t.kill_writer && t.seen && !t.done)
		printf("%d\n",
		       WIFEXITED(t.status) ? WEXITSTATUS(t.status) : 128 + WTERMSIG(t.status));
	if (!list)
		return t.seen ? 0 : 3;
	return WIFEXITED(t.status) && WEXITSTATUS(t.status) == 0 ? 0 : 4;
}
