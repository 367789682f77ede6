/*
 * What the caller of a unit test may do, and where. Root need not be able to make namespaces: `make
 * check` runs in containers as well, in those of `sbx-runtime run -- make check` among others.
 */
#ifndef SBX_TESTS_PRIVILEGES_H
#define SBX_TESTS_PRIVILEGES_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Asked in a child, which leaves this process where it is. */
static inline bool can_unshare(int flags)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(unshare(flags) == 0 ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Mount namespaces of its own, without a user namespace. */
static inline bool can_mount(void)
{
	return geteuid() == 0 && can_unshare(CLONE_NEWNS);
}

/* Root, but in a container that lets it make none: not even procfs is all there. */
static inline bool is_contained_root(void)
{
	return geteuid() == 0 && !can_mount();
}

/* "NAME-XXXXXX" for mkstemp(3) and its like, where temporary files belong. */
static inline char *temporary_template(char out[256], const char *name)
{
	const char *base = getenv("TMPDIR");

	snprintf(out, 256, "%s/%s-XXXXXX", base && *base ? base : "/tmp", name);
	return out;
}

#endif
