/*
 * The program of the conformance suite, on both sides: `conform VERB ARGS`.
 *
 *   run SETTING WHO BARE      inside the container: every row of SETTING (closed, open, limits)
 *   bare                      what this kernel answers to the calls of calls.h without a filter
 *   outside SOCKET DIR CMD... runs CMD beside a program of the host; who connects to SOCKET gets a
 *                             descriptor of DIR and the names of what this program holds
 *   quit                      ends with 0
 *   euid                      EPERM where the process has the rights of its own user, else 0
 *
 * A row is one line of fields parted by tabs: RESULT GUARANTEE MECHANISM NAME DETAIL. RESULT is
 * "ok", "not enforced" or "broken control". WHO is root or user, BARE a file of what `bare`
 * printed.
 *
 * Sources of the rows: conform.h.
 */
#include "tests/conformance/conform.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/attacks/calls.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct outside outside;

long or_errno(long r)
{
	return r < 0 ? -errno : r;
}

long in_child(long (*act)(const char *what), const char *what)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit((int)-act(what));
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static const char *errno_name(long r)
{
	const char *name = strerrorname_np((int)-r);

	return r >= 0 ? "done" : name ? name : "?";
}

/* ---- rows ---- */

static void print_row(const char *result, const char *guarantee, const char *mechanism,
		      const char *name, const char *detail)
{
	printf("%s\t%s\t%s\t%s\t%s\n", result, guarantee, mechanism, name, detail);
	fflush(stdout);
}

static void run_row(const struct row *row)
{
	char detail[128] = "";
	const char *result = "ok";
	long control = row->act(row->control), probe = row->act(row->probe);

	if (control < 0) {
		result = "broken control";
		snprintf(detail, sizeof(detail), "%s: %s", row->control, errno_name(control));
	} else if (probe != -row->refusal) {
		result = "not enforced";
		snprintf(detail, sizeof(detail), "%s%s",
			 probe < 0 ? "refused by something else: " : "", errno_name(probe));
	} else if (row->flags & ROW_PLAIN) {
		snprintf(detail, sizeof(detail), "of any container");
	}
	print_row(result, row->guarantee, row->mechanism, row->name, detail);
}

/* ---- system calls ---- */

enum gate { GATE_NATIVE, GATE_HIGH, GATE_I386, GATES_N };
static const char *const gate_names[GATES_N] = {"native", "high", "i386"};

static bool call_exists(const struct call *call, enum gate gate)
{
	static int i386 = -1;

	if (gate != GATE_I386)
		return call->native >= 0;
	if (i386 < 0)
		i386 = call_has_i386();
	return i386 && call->i386 >= 0;
}

static long call_by(const struct call *call, enum gate gate)
{
	switch (gate) {
	case GATE_NATIVE:
		return call_native(call->native, call->args);
	case GATE_HIGH:
		return call_high(call);
	default:
		return call_i386(call->i386, call->args);
	}
}

static int verb_bare(void)
{
	size_t i;
	int gate;

	for (gate = 0; gate < GATES_N; gate++) {
		for (i = 0; i < calls_n; i++) {
			if (call_exists(&calls[i], gate))
				printf("%s %s %ld\n", gate_names[gate], calls[i].name,
				       call_by(&calls[i], gate));
		}
	}
	return 0;
}

/* What the unfiltered kernel answered; a call that it was not asked is a broken control. */
static bool bare_answer(const char *path, enum gate gate, const char *name, long *ret)
{
	char line[128], wanted[96];
	FILE *file = fopen(path, "re");
	bool found = false;

	snprintf(wanted, sizeof(wanted), "%s %s ", gate_names[gate], name);
	while (file && !found && fgets(line, sizeof(line), file)) {
		if (strncmp(line, wanted, strlen(wanted)) == 0) {
			*ret = atol(line + strlen(wanted));
			found = true;
		}
	}
	if (file)
		fclose(file);
	return found;
}

static const char *call_guarantee(const char *name)
{
	static const struct {
		const char *begins, *guarantee;
	} kinds[] = {
		{"socketcall", "networkBoundary"}, {"socket.", "networkBoundary"},
		{"send", "networkBoundary"},	   {"setsockopt", "networkBoundary"},
		{"open_by_", "readBoundary"},	   {"open_tree", "processBoundary"},
		{"chmod", "writeBoundary"},	   {"fchmod", "writeBoundary"},
		{"open", "writeBoundary"},	   {"creat", "writeBoundary"},
		{"mkdir", "writeBoundary"},	   {"mknod", "writeBoundary"},
		{"renameat2", "writeBoundary"},
	};
	size_t i;

	for (i = 0; i < COUNT(kinds); i++) {
		if (strncmp(name, kinds[i].begins, strlen(kinds[i].begins)) == 0)
			return kinds[i].guarantee;
	}
	return "processBoundary";
}

/* One call by one gate: what the row's result is, and why. The kernel itself refuses some to an
 * ordinary user, with the errno of the filter. */
static const char *judge_call(const struct call *call, enum gate gate, bool root, const char *bare,
			      char detail[128])
{
	long refusal = -call_refusal(call->name), answer = call_by(call, gate), without = 0;

	detail[0] = '\0';
	if (!bare_answer(bare, gate, call->name, &without) || (without == refusal && root)) {
		snprintf(detail, 128, "without a filter: %s", errno_name(without));
		return "broken control";
	}
	if (answer != refusal) {
		snprintf(detail, 128, "%s", errno_name(answer));
		return "not enforced";
	}
	if (without == refusal)
		snprintf(detail, 128, "of the kernel, for an ordinary user");
	return "ok";
}

/* All calls by a gate that is no row for each: the first that is not as it should be counts. */
static void run_gate(enum gate gate, const char *name, bool root, const char *bare)
{
	const char *result = "ok";
	char detail[128] = "", first[192] = "";
	size_t i, n = 0;

	for (i = 0; i < calls_n && strcmp(result, "ok") == 0; i++) {
		if (!call_exists(&calls[i], gate))
			continue;
		n++;
		result = judge_call(&calls[i], gate, root, bare, detail);
		snprintf(first, sizeof(first), "%s: %s", calls[i].name, detail);
	}
	if (n > 0)
		print_row(result, "processBoundary", "seccomp", name,
			  strcmp(result, "ok") == 0 ? "" : first);
}

static void run_calls(bool root, const char *bare)
{
	char detail[128];
	const char *result;
	size_t i;

	for (i = 0; i < calls_n; i++) {
		if (!call_exists(&calls[i], GATE_NATIVE))
			continue;
		result = judge_call(&calls[i], GATE_NATIVE, root, bare, detail);
		print_row(result, call_guarantee(calls[i].name), "seccomp", calls[i].name, detail);
	}
	run_gate(GATE_HIGH, "rubbish in the high words of arguments", root, bare);
	run_gate(GATE_I386, "the same calls as i386 makes them", root, bare);
}

/* ---- from outside to inside ---- */

union control {
	struct cmsghdr head;
	char space[CMSG_SPACE(sizeof(int))];
};

static int give(int socket, int fd)
{
	union control control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {&outside, sizeof(outside)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof(control.space)};

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(socket, &msg, 0) == sizeof(outside) ? 0 : -1;
}

static int take(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	union control control;
	struct iovec iov = {&outside, sizeof(outside)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof(control.space)};
	int fd, from = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	if (from < 0 || connect(from, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    recvmsg(from, &msg, 0) != sizeof(outside) || msg.msg_controllen == 0)
		return -1;
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	close(from);
	return dup2(fd, OUTSIDE_FD);
}

static int listen_inet(int type, int *ret_port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(addr);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, size) < 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &size) < 0)
		return -1;
	*ret_port = ntohs(addr.sin_port);
	return type == SOCK_STREAM ? listen(fd, 16) : 0;
}

static int listen_abstract(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size;

	snprintf(outside.abstract, sizeof(outside.abstract), "conform-%d", (int)getpid());
	strcpy(addr.sun_path + 1, outside.abstract);
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(outside.abstract));
	return fd < 0 || bind(fd, (struct sockaddr *)&addr, size) < 0 ? -1 : listen(fd, 16);
}

/* Gives the folder to whoever connects first; killed where nobody does. */
static pid_t serve(const char *path, int dir)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), client;
	pid_t pid;

	if (fd < 0 || strlen(path) >= sizeof(addr.sun_path))
		return -1;
	strcpy(addr.sun_path, path);
	unlink(path);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, 1) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		client = accept(fd, NULL, NULL);
		_exit(client < 0 || give(client, dir) < 0);
	}
	close(fd);
	return pid;
}

static int run_beside(char **command, const char *path, int dir)
{
	pid_t server = serve(path, dir), pid;
	int status = 0;

	if (server < 0)
		return 2;
	pid = fork();
	if (pid == 0) {
		execv(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		status = 2 << 8;
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static int verb_outside(int argc, char **argv)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 1};
	int dir, segment, r = 2;
	mqd_t queue;

	if (argc < 3)
		return 2;
	outside.pid = getpid();
	outside.shm_key = 0x5b000000 + (int)getpid();
	snprintf(outside.queue, sizeof(outside.queue), "/conform-%d", (int)getpid());
	dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	segment = shmget(outside.shm_key, 4096, IPC_CREAT | IPC_EXCL | 0600);
	queue = mq_open(outside.queue, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (dir < 0 || segment < 0 || queue < 0 ||
	    listen_inet(SOCK_STREAM, &outside.tcp_port) < 0 ||
	    listen_inet(SOCK_DGRAM, &outside.udp_port) < 0 || listen_abstract() < 0)
		perror("conform: set up what is outside");
	else
		r = run_beside(argv + 2, argv[0], dir);
	if (segment >= 0)
		shmctl(segment, IPC_RMID, NULL);
	if (queue >= 0)
		mq_unlink(outside.queue);
	return r;
}

/* ---- the run ---- */

static void run_table(const struct row_table *table, int setting, bool root)
{
	size_t i;

	for (i = 0; i < table->n; i++) {
		const struct row *row = &table->rows[i];

		if ((int)row->setting == setting && (root || !(row->flags & ROW_ROOT)))
			run_row(row);
	}
}

static int verb_run(int argc, char **argv)
{
	static const char *const settings[] = {"closed", "open", "limits"};
	int setting = -1;
	bool root;
	size_t i;

	for (i = 0; argc == 3 && i < COUNT(settings); i++) {
		if (strcmp(argv[0], settings[i]) == 0)
			setting = (int)i;
	}
	if (setting < 0 || take("/workspace/.outside") < 0) {
		fputs("conform: wrong use, or nothing came from outside\n", stderr);
		return 2;
	}
	root = strcmp(argv[1], "root") == 0;
	run_table(&rows_files, setting, root);
	run_table(&rows_process, setting, root);
	run_table(&rows_network, setting, root);
	if (setting == SETTING_CLOSED)
		run_calls(root, argv[2]);
	puts("end");
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "run") == 0)
		return verb_run(argc - 2, argv + 2);
	if (strcmp(verb, "bare") == 0)
		return verb_bare();
	if (strcmp(verb, "outside") == 0)
		return verb_outside(argc - 2, argv + 2);
	if (strcmp(verb, "quit") == 0)
		return 0;
	if (strcmp(verb, "euid") == 0)
		return geteuid() == getuid() ? EPERM : 0;
	fputs("conform: wrong use, see conform.c\n", stderr);
	return 2;
}
