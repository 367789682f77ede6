/*
 * The hostile process of the attack tests, in one static program: `intruder VERB ARGS`.
 *
 *   unix TYPE PATH          connects to (or, a dgram, sends to) a socket of TYPE stream, dgram or
 *                           seqpacket; "@NAME" is an abstract one; prints RESULT
 *   serve TYPE PATH         makes that socket, prints "ready", stays until it is killed
 *   open-as KIND PATH N CMD opens PATH (KIND: path for O_PATH, dir, file) as descriptor N and runs
 * CMD through N NAME          reads NAME through the folder descriptor N; prints the text or the
 * errno overwrite N             writes to the program behind descriptor N, waiting up to five
 * seconds for it to end; RESULT watch STOP KNOWN...     until the file STOP is there: seizes every
 * new process ("seized CAPEFF"), and writes to the program of every process but those of the files
 * KNOWN
 *                           ("exe RESULT"); each finding is printed once
 *   mode                    prints "raw" or "cooked": the state of the terminal on stdin
 *
 * RESULT is "ok" or the errno's name. Exit status 0 where the verb ran at all.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *result(long r)
{
	return r >= 0 ? "ok" : strerrorname_np(errno);
}

static int usage(void)
{
	fputs("intruder: wrong use, see intruder.c\n", stderr);
	return 2;
}

/* ---- path sockets ---- */

static int unix_type(const char *name)
{
	static const struct {
		const char *name;
		int type;
	} types[] = {
		{"stream", SOCK_STREAM},
		{"dgram", SOCK_DGRAM},
		{"seqpacket", SOCK_SEQPACKET},
	};

	for (size_t i = 0; i < COUNT(types); i++)
		if (strcmp(name, types[i].name) == 0)
			return types[i].type;
	exit(usage());
}

static socklen_t unix_address(const char *path, struct sockaddr_un *at)
{
	size_t len = strlen(path);

	if (len >= sizeof(at->sun_path))
		exit(usage());
	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	memcpy(at->sun_path, path, len);
	if (path[0] == '@')
		at->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] != '@'));
}

static int verb_unix(int argc, char **argv)
{
	struct sockaddr_un at;
	socklen_t len;
	int fd, type;

	if (argc != 2)
		return usage();
	type = unix_type(argv[0]);
	len = unix_address(argv[1], &at);
	fd = socket(AF_UNIX, type, 0);
	if (fd < 0)
		puts(result(fd));
	else if (type == SOCK_DGRAM)
		puts(result(sendto(fd, "x", 1, 0, (struct sockaddr *)&at, len)));
	else
		puts(result(connect(fd, (struct sockaddr *)&at, len)));
	return 0;
}

static int verb_serve(int argc, char **argv)
{
	struct sockaddr_un at;
	socklen_t len;
	int fd, type;

	if (argc != 2)
		return usage();
	type = unix_type(argv[0]);
	len = unix_address(argv[1], &at);
	fd = socket(AF_UNIX, type, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 ||
	    (type != SOCK_DGRAM && listen(fd, 16) < 0)) {
		perror(argv[1]);
		return 2;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

/* ---- descriptors ---- */

static int verb_open_as(int argc, char **argv)
{
	int fd, wanted, flags;

	if (argc < 4)
		return usage();
	flags = strcmp(argv[0], "path") == 0  ? O_PATH
		: strcmp(argv[0], "dir") == 0 ? O_RDONLY | O_DIRECTORY
					      : O_RDONLY;
	wanted = atoi(argv[2]);
	fd = open(argv[1], flags);
	if (fd < 0 || (fd != wanted && (dup2(fd, wanted) < 0 || close(fd) < 0))) {
		perror(argv[1]);
		return 2;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 2;
}

static int verb_through(int argc, char **argv)
{
	char text[256];
	ssize_t n;
	int fd;

	if (argc != 2)
		return usage();
	fd = openat(atoi(argv[0]), argv[1], O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0) {
		puts(result(-1));
		return 0;
	}
	text[n] = '\0';
	fputs(text, stdout);
	return 0;
}

/* ---- other programs ---- */

static const char mark[] = "overwritten by the intruder";

static int try_overwrite(int fd)
{
	char link[64];
	int writer;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	writer = open(link, O_WRONLY);
	if (writer < 0)
		return -1;
	if (write(writer, mark, sizeof(mark)) != sizeof(mark)) {
		close(writer);
		return -1;
	}
	return close(writer);
}

static int verb_overwrite(int argc, char **argv)
{
	int r = -1;

	if (argc != 1)
		return usage();
	for (int i = 0; i < 500 && r < 0; i++) {
		r = try_overwrite(atoi(argv[0]));
		if (r < 0 && errno != ETXTBSY)
			break;
		usleep(10 * 1000);
	}
	puts(result(r));
	return 0;
}

#define KNOWN_MAX   16
#define PENDING_MAX 64
#define FOUND_MAX   32

struct watch {
	struct stat known[KNOWN_MAX];
	size_t known_n;
	int pending[PENDING_MAX]; /* programs that were running when they were last tried */
	size_t pending_n;
	char found[FOUND_MAX][64];
	size_t found_n;
};

static void found(struct watch *w, const char *what, const char *text)
{
	char line[sizeof(w->found[0])];

	snprintf(line, sizeof(line), "%.15s %.40s", what, text);
	for (size_t i = 0; i < w->found_n; i++)
		if (strcmp(w->found[i], line) == 0)
			return;
	if (w->found_n < FOUND_MAX)
		strcpy(w->found[w->found_n++], line);
	puts(line);
	fflush(stdout);
}

static bool is_known(const struct watch *w, const struct stat *st)
{
	for (size_t i = 0; i < w->known_n; i++)
		if (w->known[i].st_dev == st->st_dev && w->known[i].st_ino == st->st_ino)
			return true;
	return false;
}

/* Keep a foreign program's file, to write to it as soon as it does not run any more. */
static void take_program(struct watch *w, const char *pid)
{
	char path[300]; /* a name of readdir(3) fits */
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	fd = open(path, O_PATH);
	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || is_known(w, &st) || w->pending_n == PENDING_MAX) {
		close(fd);
		return;
	}
	w->pending[w->pending_n++] = fd;
}

static void write_pending(struct watch *w)
{
	size_t left = 0;

	for (size_t i = 0; i < w->pending_n; i++) {
		int r = try_overwrite(w->pending[i]);

		if (r < 0 && errno == ETXTBSY) {
			w->pending[left++] = w->pending[i];
			continue;
		}
		found(w, "exe", result(r));
		close(w->pending[i]);
	}
	w->pending_n = left;
}

static void seize(struct watch *w, const char *pid)
{
	char path[64], line[256];
	FILE *status;

	if (ptrace(PTRACE_SEIZE, atoi(pid), NULL, NULL) < 0) {
		if (errno != ESRCH)
			found(w, "refused", result(-1));
		return;
	}
	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	status = fopen(path, "r");
	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, "CapEff:\t", 8) == 0) {
			line[strcspn(line, "\n")] = '\0';
			found(w, "seized", line + 8);
		}
	if (status)
		fclose(status);
}

/* What is seized runs on: its signals are passed, its end is collected. */
static void let_run(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		if (WIFSTOPPED(status))
			ptrace(PTRACE_CONT, pid, NULL, status >> 16 ? 0L : (long)WSTOPSIG(status));
}

static int verb_watch(int argc, char **argv)
{
	static struct watch w;
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	if (argc < 1 || !proc || argc > KNOWN_MAX)
		return usage();
	for (int i = 1; i < argc; i++)
		if (stat(argv[i], &w.known[w.known_n]) == 0)
			w.known_n++;
	puts("watching");
	fflush(stdout);
	while (access(argv[0], F_OK) < 0) {
		rewinddir(proc);
		while ((entry = readdir(proc))) {
			if (!isdigit((unsigned char)entry->d_name[0]) ||
			    atoi(entry->d_name) == getpid())
				continue;
			take_program(&w, entry->d_name);
			seize(&w, entry->d_name);
		}
		write_pending(&w);
		let_run();
	}
	return 0;
}

static int verb_mode(int argc, char **argv)
{
	struct termios mode;

	(void)argc, (void)argv;
	if (tcgetattr(STDIN_FILENO, &mode) < 0)
		puts(result(-1));
	else
		puts(mode.c_lflag & (ICANON | ECHO) ? "cooked" : "raw");
	return 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{"unix", verb_unix},	   {"serve", verb_serve},	  {"open-as", verb_open_as},
	{"through", verb_through}, {"overwrite", verb_overwrite}, {"watch", verb_watch},
	{"mode", verb_mode},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < COUNT(verbs); i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 2, argv + 2);
	return usage();
}
