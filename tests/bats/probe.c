/*
 * What the end-to-end tests need inside a container or on the other side of a socket, in one static
 * program: `probe VERB ARGS`. A verb prints its finding on stdout and exits 0; a refused system
 * call prints the errno's name and exits 1; wrong use exits 2.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int failed(const char *what)
{
	printf("%s: %s\n", what, strerrorname_np(errno));
	return 1;
}

static int usage(void)
{
	fputs("probe: wrong use, see probe.c\n", stderr);
	return 2;
}

static int verb_true(int argc, char **argv)
{
	(void)argc, (void)argv;
	return 0;
}

/* Until a signal ends it. */
static int verb_wait(int argc, char **argv)
{
	(void)argc, (void)argv;
	pause();
	return 0;
}

/* exit N */
static int verb_exit(int argc, char **argv)
{
	return argc == 1 ? atoi(argv[0]) : usage();
}

/* The open descriptors, one a line, "N -> target"; the one that reads the folder is left out. */
static int verb_fds(int argc, char **argv)
{
	const char *folder = argc > 0 ? argv[0] : "/proc/self/fd";
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char target[4096];

	if (!dir)
		return failed("opendir");
	while ((entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (n < 0 || (argc == 0 && atoi(entry->d_name) == dirfd(dir)))
			continue;
		target[n] = '\0';
		printf("%s -> %s\n", entry->d_name, target);
	}
	closedir(dir);
	return 0;
}

/* connect IPV4 PORT */
static int verb_connect(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	int fd;

	if (argc != 2 || inet_pton(AF_INET, argv[0], &to.sin_addr) != 1)
		return usage();
	to.sin_port = htons((unsigned short)atoi(argv[1]));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return failed("socket");
	alarm(5);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return failed("connect");
	puts("connected");
	return 0;
}

static int unix_socket(const char *path, struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address->sun_path, path);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* connect-unix PATH */
static int verb_connect_unix(int argc, char **argv)
{
	struct sockaddr_un to;
	int fd;

	if (argc != 1)
		return usage();
	fd = unix_socket(argv[0], &to);
	if (fd < 0)
		return failed("socket");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return failed("connect");
	puts("connected");
	return 0;
}

/* listen ADDRESS PORT: prints "listening", takes connections until it is killed. */
static int verb_listen(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int fd, one = 1;

	if (argc != 2 || inet_pton(AF_INET, argv[0], &at.sin_addr) != 1)
		return usage();
	at.sin_port = htons((unsigned short)atoi(argv[1]));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return failed("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 16) < 0)
		return failed("bind");
	puts("listening");
	fflush(stdout);
	for (;;) {
		int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (peer >= 0)
			close(peer);
	}
}

/* Take one descriptor and its payload from a connection; the descriptor or -1. */
static int receive_fd(int connection, char *payload, size_t size)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = payload, .iov_len = size - 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = n >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
	int fd;

	if (n < 0)
		return -1;
	payload[n] = '\0';
	if (!header || header->cmsg_type != SCM_RIGHTS) {
		errno = ENOMSG;
		return -1;
	}
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static int copy(int from, int to)
{
	char bytes[4096];
	ssize_t n = read(from, bytes, sizeof(bytes));

	return n > 0 && write(to, bytes, (size_t)n) == n ? 0 : -1;
}

/*
 * receive-console SOCKET: stands in for a client's console socket. Makes the socket, prints
 * "ready", takes one terminal, prints "console PAYLOAD ROWS COLUMNS", then copies between it and
 * stdio.
 */
static int verb_receive_console(int argc, char **argv)
{
	struct sockaddr_un at;
	struct winsize size = {0};
	char payload[256];
	int fd, connection, console;

	if (argc != 1)
		return usage();
	fd = unix_socket(argv[0], &at);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1) < 0)
		return failed("bind");
	puts("ready");
	fflush(stdout);
	connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	console = connection < 0 ? -1 : receive_fd(connection, payload, sizeof(payload));
	if (console < 0)
		return failed("receive");
	if (!isatty(console) || ioctl(console, TIOCGWINSZ, &size) < 0)
		return failed("not a terminal");
	printf("console %s %d %d\n", payload, size.ws_row, size.ws_col);
	fflush(stdout);
	for (;;) {
		struct pollfd watch[2] = {{.fd = console, .events = POLLIN},
					  {.fd = STDIN_FILENO, .events = POLLIN}};

		if (poll(watch, 2, -1) < 0)
			return failed("poll");
		if (watch[0].revents && copy(console, STDOUT_FILENO) < 0)
			return 0;
		if (watch[1].revents && copy(STDIN_FILENO, console) < 0)
			close(STDIN_FILENO);
	}
}

/* receive-fd SOCKET: as receive-console for any descriptor; prints what it is. */
static int verb_receive_fd(int argc, char **argv)
{
	struct sockaddr_un at;
	char payload[256], link[64], target[256];
	int fd, connection, received;
	ssize_t n;

	if (argc != 1)
		return usage();
	fd = unix_socket(argv[0], &at);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1) < 0)
		return failed("bind");
	puts("ready");
	fflush(stdout);
	connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	received = connection < 0 ? -1 : receive_fd(connection, payload, sizeof(payload));
	if (received < 0)
		return failed("receive");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", received);
	n = readlink(link, target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = '\0';
	printf("received %s %s\n", payload, target);
	return 0;
}

/* push-input TEXT: TIOCSTI into the own terminal. */
static int verb_push_input(int argc, char **argv)
{
	if (argc != 1)
		return usage();
	for (const char *c = argv[0]; *c; c++)
		if (ioctl(STDIN_FILENO, TIOCSTI, c) < 0)
			return failed("TIOCSTI");
	puts("pushed");
	return 0;
}

/* full-socket PATH: listens there, with as many waiting as it takes, and accepts none. */
static int verb_full_socket(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), client;

	if (argc != 1 || strlen(argv[0]) >= sizeof(address.sun_path))
		return usage();
	strcpy(address.sun_path, argv[0]);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 0) < 0)
		return failed("listen");
	do
		client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	while (connect(client, (struct sockaddr *)&address, sizeof(address)) == 0);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}

/* nonblock PROGRAM [ARG...]: runs it with an stdout that does not wait. */
static int verb_nonblock(int argc, char **argv)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (argc < 1)
		return usage();
	if (flags < 0 || fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK) < 0)
		return failed("fcntl");
	execv(argv[0], argv);
	return failed("execv");
}

/* syscall NUMBER|personality [ARGUMENT...]: the call, missing arguments being zero; "personality"
 * is one that every process may make. */
static int verb_syscall(int argc, char **argv)
{
	long number, args[6] = {0};

	if (argc < 1 || argc > 7)
		return usage();
	for (int i = 1; i < argc; i++)
		args[i - 1] = strtol(argv[i], NULL, 0);
	number = strcmp(argv[0], "personality") == 0 ? SYS_personality : atol(argv[0]);
	if (syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]) < 0)
		return failed("syscall");
	puts("done");
	return 0;
}

/* send-datagram PATH TEXT: to a Unix socket. */
static int verb_send_datagram(int argc, char **argv)
{
	struct sockaddr_un to;
	int fd;

	if (argc != 2)
		return usage();
	close(unix_socket(argv[0], &to));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sendto(fd, argv[1], strlen(argv[1]), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return failed("sendto");
	return 0;
}

/*
 * receive-datagrams PATH: makes the socket, prints "ready" and then each datagram, a line for each
 * of its lines, "with a descriptor" behind one that brought some, which are closed.
 */
static int verb_receive_datagrams(int argc, char **argv)
{
	struct sockaddr_un at;
	char text[4096];
	int fd;

	if (argc != 1)
		return usage();
	close(unix_socket(argv[0], &at));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return failed("bind");
	puts("ready");
	for (;;) {
		int received;

		fflush(stdout);
		errno = 0;
		received = receive_fd(fd, text, sizeof(text));
		if (received < 0 && errno != ENOMSG)
			return failed("receive");
		printf("%s%s\n", text, received < 0 ? "" : " with a descriptor");
		if (received >= 0)
			close(received);
	}
}

/* fill-keys UID: as that user, adds keys until the quota is reached, prints "full", and stays. */
static int verb_fill_keys(int argc, char **argv)
{
	char name[32];

	if (argc != 1)
		return usage();
	if (setgid((gid_t)atoi(argv[0])) < 0 || setuid((uid_t)atoi(argv[0])) < 0)
		return failed("setuid");
	for (int i = 0;; i++) {
		snprintf(name, sizeof(name), "probe-%d", i);
		if (syscall(SYS_add_key, "user", name, "x", 1UL, -2 /* of the process */) < 0)
			break;
	}
	if (errno != EDQUOT)
		return failed("add_key");
	puts("full");
	fflush(stdout);
	pause();
	return 0;
}

/* without-call NUMBER PROGRAM [ARG...]: runs it with a filter that answers ENOSYS for the call. */
static int verb_without_call(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	if (argc < 2)
		return usage();
	code[1].k = strcmp(argv[0], "keyctl") == 0 ? SYS_keyctl : (unsigned)atoi(argv[0]);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return failed("seccomp");
	execv(argv[1], argv + 1);
	return failed("execv");
}

/* scheduling: the own policy with all that belongs to it, and the I/O priority, a line each. */
static int verb_scheduling(int argc, char **argv)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {0};
	long io = syscall(SYS_ioprio_get, 1 /* a process */, 0);

	(void)argv;
	if (argc != 0)
		return usage();
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0)
		return failed("sched_getattr");
	printf("policy %u flags %llx nice %d priority %u\n", attr.policy,
	       (unsigned long long)attr.flags, attr.nice, attr.priority);
	printf("runtime %llu deadline %llu period %llu\n", (unsigned long long)attr.runtime,
	       (unsigned long long)attr.deadline, (unsigned long long)attr.period);
	printf("io class %ld priority %ld\n", io >> 13, io & 7);
	return 0;
}

/* filter-flags PID: the flags of its newest seccomp filter that the kernel tells (LOG alone). */
static int verb_filter_flags(int argc, char **argv)
{
	struct seccomp_metadata data = {0};
	pid_t pid = argc == 1 ? atoi(argv[0]) : 0;

	if (pid <= 0)
		return usage();
	if (syscall(SYS_ptrace, PTRACE_SEIZE, pid, 0, 0) < 0 ||
	    syscall(SYS_ptrace, PTRACE_INTERRUPT, pid, 0, 0) < 0)
		return failed("ptrace");
	waitpid(pid, NULL, __WALL);
	if (syscall(SYS_ptrace, PTRACE_SECCOMP_GET_METADATA, pid, sizeof(data), &data) < 0)
		return failed("metadata");
	printf("flags %llx\n", (unsigned long long)data.flags);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{"true", verb_true},
	{"exit", verb_exit},
	{"wait", verb_wait},
	{"fds", verb_fds},
	{"connect", verb_connect},
	{"connect-unix", verb_connect_unix},
	{"listen", verb_listen},
	{"receive-console", verb_receive_console},
	{"receive-fd", verb_receive_fd},
	{"push-input", verb_push_input},
	{"nonblock", verb_nonblock},
	{"full-socket", verb_full_socket},
	{"syscall", verb_syscall},
	{"scheduling", verb_scheduling},
	{"filter-flags", verb_filter_flags},
	{"fill-keys", verb_fill_keys},
	{"without-call", verb_without_call},
	{"send-datagram", verb_send_datagram},
	{"receive-datagrams", verb_receive_datagrams},
};

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage();
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 2, argv + 2);
	return usage();
}
