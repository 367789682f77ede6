/*
 * What a process inside with CAP_SYS_PTRACE reaches through the others that it sees:
 *
 *   reach STOP FILE MARK MARK2   until the file STOP is there, for every other process:
 *
 *     "sees"                     there is one at all
 *     "holds WHAT"               a descriptor: socket, pipe, a path, what readlink(2) says
 *     "read TEXT"                the host's FILE, by ".." from a descriptor, its root or its cwd
 *     "made LINK"                a new file beside FILE, the same way
 *     "writes PATH"              a regular file opened for writing through a descriptor
 *     "remembers"                MARK and MARK2 joined, in its environment, stack or heap
 *     "forged"                   an error of ours put into the runtime's channel, which then stays
 *                                open
 *
 * Each finding is printed once. MARK comes in two parts, or our own command line would hold it.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "backends/linux/protocol.h"

#define FOUND_MAX    128
#define FOUND_LENGTH 200
#define HELD_MAX     64
#define CHUNK_BYTES  (64 * 1024)
#define REGION_BYTES (4l * 1024 * 1024)

static const char up[] = "../../../../../../../../../../../../../../../..";

static char findings[FOUND_MAX][FOUND_LENGTH];
static size_t findings_n;
static const char *file;
static char mark[256];

static void found(const char *what, const char *text)
{
	char line[FOUND_LENGTH];

	snprintf(line, sizeof(line), "%.20s %.170s", what, text);
	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < findings_n; i++)
		if (strcmp(findings[i], line) == 0)
			return;
	if (findings_n < FOUND_MAX)
		strcpy(findings[findings_n++], line);
	puts(line);
	fflush(stdout);
}

/* Up from base to the root of whatever it lies in, and down to the host's file. */
static void climb(const char *base)
{
	char path[PATH_MAX], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s%s", base, up, file);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0)
		found("read", text);
	close(fd);
	snprintf(path, sizeof(path), "%s/%s%s.made", base, up, file);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd >= 0) {
		found("made", "a file");
		close(fd);
	}
}

static const char *kind_of(const char *link)
{
	static const char *const kinds[] = {"socket:", "pipe:"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(link, kinds[i], strlen(kinds[i])) == 0)
			return kinds[i];
	return link;
}

/* The header of a message as runtime/base/msg.c frames it, and the record of an error. */
static void forge(int pid, int number)
{
	static int held_n;
	struct {
		uint32_t magic;
		uint16_t type, reserved;
		uint32_t length;
	} header = {0x53627831, MSG_ERROR, 0, sizeof(struct sbx_error)};
	struct sbx_error error = {.code = (enum sbx_code) - 1, .errnum = 1 << 30};
	struct iovec iov[] = {{&header, sizeof(header)}, {&error, sizeof(error)}};
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = 2};
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);

	if (pidfd >= 0)
		close(pidfd);
	if (fd < 0)
		return;
	memset(error.message, '\033', sizeof(error.message));
	memcpy(error.message, "forged", strlen("forged"));
	if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		found("forged", "");
	if (held_n++ >= HELD_MAX)
		close(fd);
}

static void try_descriptor(int pid, const char *name)
{
	char path[64], link[PATH_MAX];
	struct stat st;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%.10s", pid, name);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return;
	link[n] = '\0';
	found("holds", kind_of(link));
	if (strncmp(link, "socket:", 7) == 0 && atoi(name) > 2)
		forge(pid, atoi(name));
	if (link[0] != '/')
		return;
	climb(path);
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	fd = open(path, O_WRONLY | O_NONBLOCK);
	if (fd >= 0) {
		found("writes", link);
		close(fd);
	}
}

static void try_descriptors(int pid)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			try_descriptor(pid, entry->d_name);
	if (dir)
		closedir(dir);
}

static void search(int fd, off_t from, off_t to)
{
	static char chunk[CHUNK_BYTES];

	while (from < to) {
		size_t want = to - from > CHUNK_BYTES ? CHUNK_BYTES : (size_t)(to - from);
		ssize_t n = pread(fd, chunk, want, from);

		if (n <= 0)
			return;
		if (memmem(chunk, (size_t)n, mark, strlen(mark)))
			found("remembers", "");
		from += n;
	}
}

static void try_memory(int pid)
{
	char path[64], line[512];
	long from, to;
	FILE *maps;
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	mem = open(path, O_RDONLY);
	if (mem >= 0) {
		search(mem, 0, CHUNK_BYTES);
		close(mem);
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = mem < 0 ? NULL : fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		if ((strstr(line, "[stack]") || strstr(line, "[heap]")) &&
		    sscanf(line, "%lx-%lx", &from, &to) == 2)
			search(mem, from, to - from > REGION_BYTES ? from + REGION_BYTES : to);
	if (maps)
		fclose(maps);
	if (mem >= 0)
		close(mem);
}

static void try_process(int pid)
{
	char path[64];

	found("sees", "");
	try_descriptors(pid);
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	climb(path);
	snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
	climb(path);
	try_memory(pid);
}

int main(int argc, char **argv)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (argc != 5 || !proc) {
		fputs("reach: wrong use, see reach.c\n", stderr);
		return 2;
	}
	file = argv[2];
	snprintf(mark, sizeof(mark), "%s%s", argv[3], argv[4]);
	puts("reaching");
	fflush(stdout);
	while (access(argv[1], F_OK) < 0) {
		rewinddir(proc);
		while ((entry = readdir(proc)))
			if (isdigit((unsigned char)entry->d_name[0]) &&
			    atoi(entry->d_name) != getpid())
				try_process(atoi(entry->d_name));
	}
	return 0;
}
