/* deep FOLDER LEVELS: that many folders, each in the one before it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long levels = argc == 3 ? atol(argv[2]) : 0;
	int fd = levels > 0 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;

	for (; fd >= 0 && levels > 0; levels--) {
		int next = mkdirat(fd, "d", 0700) < 0
				   ? -1
				   : openat(fd, "d", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

		close(fd);
		fd = next;
	}
	if (fd < 0)
		perror("deep");
	return fd < 0;
}
