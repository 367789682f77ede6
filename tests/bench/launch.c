/*
 * launch ROUNDS FILE: measures commands against each other. FILE holds one contestant per line,
 * "NAME<TAB>WORD<TAB>WORD...", and is read before anything is measured; the word ";" stands between
 * commands that run one after the other. Each round runs every contestant once, in an order that
 * rotates, so that a busy moment of the machine hits all alike.
 *
 * Prints one line per run: NAME, wall time in microseconds, CPU time (user and system, of the
 * children and of all that they waited for) in microseconds, peak resident memory in KiB. A
 * contestant that fails ends the program.
 *
 * ru_maxrss counts the pages that a child shares with its parent at fork(): this program is static,
 * small, and uses vfork(2), so that they do not count.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONTESTANTS_MAX 32
#define WORDS_MAX	64

struct contestant {
	char *name;
	char *argv[WORDS_MAX];
};

static char text[65536];
static struct contestant contestants[CONTESTANTS_MAX];
static int contestants_n;
static int quiet_fd; /* what contestants print is not looked at */

static void read_contestants(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0) {
		perror(path);
		exit(2);
	}
	close(fd);
	text[n] = '\0';
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		struct contestant *c = &contestants[contestants_n];
		int words = 0;

		if (contestants_n++ == CONTESTANTS_MAX)
			exit(2);
		c->name = line;
		for (char *tab = strchr(line, '\t'); tab && words < WORDS_MAX - 1;
		     tab = strchr(tab, '\t')) {
			*tab++ = '\0';
			c->argv[words++] = tab;
		}
	}
}

static long microseconds(struct timeval t)
{
	return t.tv_sec * 1000000L + t.tv_usec;
}

/* Runs one command; what it used is added up. */
static void run(const char *name, char *const *argv, long *cpu, long *peak)
{
	struct rusage usage;
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		dup2(quiet_fd, STDOUT_FILENO);
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		exit(2);
	if (status != 0) {
		fprintf(stderr, "%s failed: wait status %#x\n", name, (unsigned int)status);
		exit(1);
	}
	*cpu += microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
	if (*peak < usage.ru_maxrss)
		*peak = usage.ru_maxrss;
}

static void measure(const struct contestant *c)
{
	struct timespec before, after;
	long cpu = 0, peak = 0;

	clock_gettime(CLOCK_MONOTONIC, &before);
	for (char *const *argv = c->argv; argv[0];) {
		char *words[WORDS_MAX];
		int n = 0;

		for (; *argv && strcmp(*argv, ";") != 0; argv++)
			words[n++] = *argv;
		words[n] = NULL;
		argv += *argv ? 1 : 0;
		run(c->name, words, &cpu, &peak);
	}
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("%s %ld %ld %ld\n", c->name,
	       (after.tv_sec - before.tv_sec) * 1000000L + (after.tv_nsec - before.tv_nsec) / 1000,
	       cpu, peak);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int rounds;

	if (argc != 3)
		return 2;
	rounds = atoi(argv[1]);
	read_contestants(argv[2]);
	quiet_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < contestants_n; i++)
			measure(&contestants[(round + i) % contestants_n]);
	return 0;
}
