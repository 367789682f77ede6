/*
 * execwatch LOG FILE...: writes one line "FILE PID COMMAND LINE" to LOG for each time that one of
 * these files (their inodes, by whatever name) is executed, until it is killed. It proves which
 * runtime a container manager really started. Prints "ready" once it watches.
 *
 * fanotify(7), FAN_OPEN_EXEC: needs CAP_SYS_ADMIN and Linux 5.0. A process outside of our pid
 * namespace is reported as pid 0: that one is another's business.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *watched_name(int fd, char **files, int files_n)
{
	struct stat opened, st;

	if (fstat(fd, &opened) < 0)
		return "?";
	for (int i = 0; i < files_n; i++)
		if (stat(files[i], &st) == 0 && st.st_dev == opened.st_dev &&
		    st.st_ino == opened.st_ino)
			return files[i];
	return "?";
}

static size_t read_cmdline(int pid, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, size - 1);
	close(fd);
	if (n <= 0)
		return 0;
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0' || text[i] == '\n')
			text[i] = ' ';
	text[n] = '\0';
	return (size_t)n;
}

/* The event comes while execve is still at work: wait a moment for the new command line. */
static void log_event(FILE *log, const char *name, int pid)
{
	char before[4096] = "", text[4096];
	struct timespec pause = {.tv_nsec = 200000};
	size_t n = read_cmdline(pid, before, sizeof(before));

	for (int i = 0; i < 10 && n > 0; i++) {
		size_t now;

		nanosleep(&pause, NULL);
		now = read_cmdline(pid, text, sizeof(text));
		if (now > 0 && strcmp(text, before) != 0) {
			memcpy(before, text, sizeof(before));
			break;
		}
		n = now;
	}
	fprintf(log, "%s %d %s\n", name, pid, before);
	fflush(log);
}

int main(int argc, char **argv)
{
	FILE *log;
	int fd;

	if (argc < 3)
		return 2;
	log = fopen(argv[1], "ae");
	fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);
	if (!log || fd < 0) {
		perror("execwatch");
		return 1;
	}
	for (int i = 2; i < argc; i++)
		if (fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN_EXEC, AT_FDCWD, argv[i]) < 0) {
			perror(argv[i]);
			return 1;
		}
	puts("ready");
	fflush(stdout);
	for (;;) {
		char bytes[8192] __attribute__((aligned(8)));
		struct fanotify_event_metadata *event = (void *)bytes;
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n < 0 && errno != EINTR)
			return 1;
		for (; FAN_EVENT_OK(event, n); event = FAN_EVENT_NEXT(event, n)) {
			if (event->fd < 0)
				continue;
			if (event->pid > 0)
				log_event(log, watched_name(event->fd, argv + 2, argc - 2),
					  event->pid);
			close(event->fd);
		}
	}
}
