/*
 * What several unit tests share: temporary directories, children, refused system calls.
 *
 * A check that must not run in the test program itself (it closes descriptors, mounts, installs a
 * filter) is a function that returns 0 or the line of its failed CHECK(), run by in_child().
 */
#ifndef SBX_TESTS_UNIT_HELPER_H
#define SBX_TESTS_UNIT_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "tests/unit/privileges.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: check failed: %s (errno %d)\n", __FILE__,          \
				__LINE__, #condition, errno);                                      \
			return __LINE__;                                                           \
		}                                                                                  \
	} while (0)

/* Run check(data) in a child; true when it returned 0. */
static inline bool in_child(int (*check)(void *data), void *data)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(check(data) == 0 ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* Answer errnum to a system call from here on, in this process and its children. */
static inline int refuse_syscall(int number, int errnum)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

/* A fresh directory below $TMPDIR or /tmp; its path in path, a descriptor of it as the result. */
static inline int make_temporary(char path[256])
{
	const char *base = getenv("TMPDIR");

	snprintf(path, 256, "%s/sbx-unit.XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(path))
		return -errno;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static inline void remove_temporary(const char *path)
{
	assert_int_equal(fd_remove_tree_at(AT_FDCWD, path), 0);
}

/* A file with this content; 0 or -errno. */
static inline int write_file_at(int dir_fd, const char *name, const char *text)
{
	cleanup_fd int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -EIO;
}

/* How many descriptors this process holds. */
static inline int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 3; /* ".", "..", the directory's own */
}

/* In a child only: a mount namespace of its own, private. */
static inline int own_mounts(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	return 0;
}

#endif
