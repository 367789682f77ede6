/*
 * racer A B: exchanges the two paths as fast as it can until it is killed, for tests of what a
 * hostile writer may do to a path between a check and its use.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 3) {
		fputs("usage: racer A B\n", stderr);
		return 2;
	}
	if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE) < 0) {
		perror("racer: exchange");
		return 1;
	}
	/* a moment of rest: a rename holds up every look-up in the system */
	for (unsigned i = 0;; i++) {
		(void)!renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE);
		usleep(i % 64);
	}
}
