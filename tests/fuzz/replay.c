/*
 * A stand-in for libFuzzer's main(): feeds the files of a corpus to the target, once each, so that
 * every finding stays found in builds without a fuzzer.
 *
 * Without arguments the corpus of the program's own name is taken, $srcdir/tests/fuzz/corpus/NAME
 * for fuzz_NAME; else every argument, a file or a directory. Each input is an exact copy on the
 * heap, so that a sanitizer sees a read past its end; the empty input is always tried.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define INPUT_MAX ((off_t)64 << 20)

static int replay_fd(int fd, const char *name)
{
	struct stat st;
	uint8_t *data;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > INPUT_MAX) {
		fprintf(stderr, "%s: no regular file of a sensible size\n", name);
		return -1;
	}
	data = malloc(st.st_size ? (size_t)st.st_size : 1);
	n = data ? read(fd, data, (size_t)st.st_size) : -1;
	if (n != st.st_size) {
		fprintf(stderr, "%s: cannot be read\n", name);
		free(data);
		return -1;
	}
	LLVMFuzzerTestOneInput(data, (size_t)n);
	free(data);
	return 1;
}

/* How many inputs were replayed, or -1. */
static int replay(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int fd, r, count = 0;

	if (!dir && errno == ENOTDIR) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		r = replay_fd(fd, path);
		close(fd);
		return r;
	}
	if (!dir) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		r = replay_fd(fd, entry->d_name);
		close(fd);
		if (r < 0) {
			closedir(dir);
			return -1;
		}
		count += r;
	}
	closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	const char *srcdir = getenv("srcdir");
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];
	char corpus[4096];
	int count = 0, r;

	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	if (argc == 1) {
		if (strncmp(name, "fuzz_", 5) == 0)
			name += 5;
		snprintf(corpus, sizeof(corpus), "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".",
			 name);
		count = replay(corpus);
	}
	for (int i = 1; i < argc && count >= 0; i++) {
		r = replay(argv[i]);
		count = r < 0 ? -1 : count + r;
	}
	if (count < 0)
		return 1;
	printf("%s: %d inputs\n", name, count);
	/* An empty corpus tests nothing. */
	return count == 0;
}
