/*
 * What the attack tests need beside a shell, in one static program: `attack VERB ARGS`.
 *
 *   matrix           every system call that a profile's filter refuses, on each machine of this
 *                    kernel, one line each: NAME MACHINE RESULT
 *   threads          starts a thread; "ok"
 *   setid DIR        makes set-id files in DIR by every system call that can; NAME RESULT
 *   handle PATH      opens the root folder of PATH's file system by a made-up handle; lists it
 *   connect IP PORT  a TCP connection; RESULT
 *   shared FILE SOCKET PID     what rung 2 closes of the host: NAME RESULT
 *   listen SOCKET    waits behind a socket on that path
 *   open PATH FLAGS  FLAGS of r, w, c (create), t (truncate); RESULT
 *   rename OLD NEW   rename(2) alone, no copy where that fails; RESULT
 *   names FILE DIR   every road to change FILE or to put another object at its name, with objects
 *                    made in DIR; puts back what it could move. One line each: NAME RESULT
 *   without WHAT CMD runs CMD under a filter that answers ENOSYS to landlock, seccomp, mountapi or
 * one of the single calls in `lacks`; "eperm:WHAT" answers EPERM
 *
 * RESULT is "ok" or the errno's name. Exit status 0 where the verb ran at all.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sys/xattr.h>
#include <sys/un.h>
#include <sys/shm.h>
#include <sys/resource.h>
#include <sys/ipc.h>
#include <sys/ioctl.h>
#include <linux/fs.h>

#include "tests/attacks/calls.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *result(long r)
{
	static char text[32];

	if (r >= 0)
		return "ok";
	snprintf(text, sizeof(text), "%s",
		 strerrorname_np((int)-r) ? strerrorname_np((int)-r) : "?");
	return text;
}

static int verb_matrix(void)
{
	bool i386 = call_has_i386();
	size_t i;

	for (i = 0; i < calls_n; i++) {
		const struct call *call = &calls[i];

		if (call->native >= 0) {
			printf("%s native %s\n", call->name,
			       result(call_native(call->native, call->args)));
			printf("%s high %s\n", call->name, result(call_high(call)));
		}
		if (i386 && call->i386 >= 0)
			printf("%s i386 %s\n", call->name,
			       result(call_i386(call->i386, call->args)));
	}
	printf("unknown native %s\n", result(call_native(900, (uint64_t[6]){0})));
	return 0;
}

static void *thread_main(void *arg)
{
	return arg;
}

static int verb_threads(void)
{
	pthread_t thread;
	int r = pthread_create(&thread, NULL, thread_main, NULL);

	if (r == 0)
		pthread_join(thread, NULL);
	puts(result(-r));
	return 0;
}

/* ---- set-id files ---- */

static long outcome(long r)
{
	return r < 0 ? -errno : r;
}

static long setid_tmpfile(const char *dir, const char *name)
{
	char link[64];
	int fd = open(dir, O_TMPFILE | O_RDWR, 04755);

	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return outcome(linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW));
}

static int plain(const char *name)
{
	int fd = open(name, O_CREAT | O_RDWR, 0600);

	if (fd < 0) {
		perror(name);
		exit(2);
	}
	return fd;
}

#define SETID(name, call) printf("%s %s\n", name, result(outcome(call)))

static int verb_setid(int argc, char **argv)
{
	if (argc != 1 || chdir(argv[0]) < 0)
		return 2;
	umask(0);
	close(plain("chmod"));
	close(plain("fchmodat"));
	close(plain("fchmodat2"));
	close(plain("setgid"));
#ifdef __NR_chmod
	SETID("chmod", syscall(__NR_chmod, "chmod", 04755));
	SETID("open", syscall(__NR_open, "open", O_CREAT | O_WRONLY, 04755));
	SETID("creat", syscall(__NR_creat, "creat", 04755));
	SETID("mknod", syscall(__NR_mknod, "mknod", S_IFREG | 04755, 0));
#endif
	SETID("fchmod", fchmod(plain("fchmod"), 04755));
	SETID("fchmodat", syscall(__NR_fchmodat, AT_FDCWD, "fchmodat", 04755));
	SETID("fchmodat2", syscall(452, AT_FDCWD, "fchmodat2", 04755, 0));
	SETID("setgid", syscall(__NR_fchmodat, AT_FDCWD, "setgid", 02755));
	SETID("high", syscall(__NR_fchmodat, AT_FDCWD, "setgid", 02755 | CALL_HIGH));
	SETID("openat", syscall(__NR_openat, AT_FDCWD, "openat", O_CREAT | O_WRONLY, 04755));
	SETID("mknodat", syscall(__NR_mknodat, AT_FDCWD, "mknodat", S_IFREG | 04755, 0));
	{
		uint64_t how[3] = {O_CREAT | O_WRONLY, 04755, 0};

		SETID("openat2", syscall(437, AT_FDCWD, "openat2", how, sizeof(how)));
	}
	printf("tmpfile %s\n", result(setid_tmpfile(".", "tmpfile")));
	return 0;
}

/* ---- files by handle ---- */

/* The root folder of most file systems has a small fixed inode; its handle needs no look-up. */
static int verb_handle(int argc, char **argv)
{
	static const struct {
		int type, words;
		uint32_t word[3];
	} roots[] = {{1, 2, {2, 0}}, {1, 2, {128, 0}}, {1, 2, {1, 0}}};
	struct {
		struct file_handle head;
		uint32_t words[8];
	} handle;
	long r = -EINVAL;
	int dir;
	size_t i;

	if (argc != 1)
		return 2;
	dir = open(argv[0], O_RDONLY | O_DIRECTORY);
	for (i = 0; i < COUNT(roots); i++) {
		handle.head.handle_type = roots[i].type;
		handle.head.handle_bytes = (unsigned)roots[i].words * 4;
		memcpy(handle.head.f_handle, roots[i].word, sizeof(roots[i].word));
		r = outcome(open_by_handle_at(dir, &handle.head, O_RDONLY | O_DIRECTORY));
		if (r >= 0)
			break;
	}
	puts(result(r));
	if (r >= 0) {
		DIR *list = fdopendir((int)r);
		struct dirent *entry;

		while (list && (entry = readdir(list)))
			puts(entry->d_name);
	}
	return 0;
}

static int verb_connect(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (argc != 2 || inet_pton(AF_INET, argv[0], &to.sin_addr) != 1)
		return 2;
	to.sin_port = htons((uint16_t)atoi(argv[1]));
	puts(result(outcome(fd < 0 ? fd : connect(fd, (struct sockaddr *)&to, sizeof(to)))));
	return 0;
}

static int verb_open(int argc, char **argv)
{
	int flags = O_NONBLOCK;

	if (argc != 2)
		return 2;
	flags |= strchr(argv[1], 'w') ? (strchr(argv[1], 'r') ? O_RDWR : O_WRONLY) : O_RDONLY;
	flags |= strchr(argv[1], 'c') ? O_CREAT : 0;
	flags |= strchr(argv[1], 't') ? O_TRUNC : 0;
	puts(result(outcome(open(argv[0], flags, 0600))));
	return 0;
}

/* ---- a kernel that lacks something ---- */

#define DENY(nr)                                                                                   \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),                                             \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)
#define START BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define END   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter no_landlock[] = {START, DENY(444), DENY(445), DENY(446), END};
static struct sock_filter no_mount_api[] = {START,     DENY(428), DENY(429), DENY(430), DENY(431),
					    DENY(432), DENY(433), DENY(442), END};
static struct sock_filter no_seccomp[] = {
	START,
	DENY(__NR_seccomp),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 3),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
	DENY(PR_SET_SECCOMP),
	END};

/* One call each: what kernels or older outer filters do not have. */
#define LACK(name, nr) static struct sock_filter no_##name[] = {START, DENY(nr), END}
LACK(open_tree, 428);
LACK(fsopen, 430);
LACK(pidfd_open, 434);
LACK(clone3, 435);
LACK(close_range, 436);
LACK(openat2, 437);
LACK(mount_setattr, 442);

/* A host that gives no namespaces, as the usual filter of a container without privileges. */
#define NEW_ANY                                                                                    \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)
#define DENY_BITS(nr, bits)                                                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 4),                                             \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),        \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1),                                  \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),                              \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define DENY_EPERM(nr)                                                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),                                             \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static struct sock_filter no_mounts[] = {START,
					 DENY_EPERM(__NR_mount),
					 DENY_EPERM(__NR_pivot_root),
					 DENY_EPERM(428),
					 DENY_EPERM(429),
					 DENY_EPERM(430),
					 DENY_EPERM(442),
					 END};
static struct sock_filter no_namespaces[] = {START,
					     DENY_BITS(__NR_unshare, NEW_ANY),
					     DENY_BITS(__NR_clone, NEW_ANY),
					     DENY(435), /* its flags are out of sight */
					     DENY_EPERM(__NR_setns),
					     DENY_EPERM(__NR_mount),
					     DENY_EPERM(__NR_pivot_root),
					     DENY_EPERM(428),
					     DENY_EPERM(429),
					     DENY_EPERM(430),
					     DENY_EPERM(442),
					     END};

static void answer_eperm(const struct sock_fprog *prog)
{
	for (size_t i = 0; i < prog->len; i++)
		if (prog->filter[i].k == (SECCOMP_RET_ERRNO | ENOSYS))
			prog->filter[i].k = SECCOMP_RET_ERRNO | EPERM;
}

static int verb_without(int argc, char **argv)
{
	static const char eperm[] = "eperm:";
	const struct {
		const char *name;
		struct sock_fprog prog;
	} lacks[] = {
#define ROW(name)                                                                                  \
	{                                                                                          \
#name,                                                                             \
		{                                                                                  \
			COUNT(no_##name), no_##name                                                \
		}                                                                                  \
	}
		ROW(landlock),
		ROW(seccomp),
		{"mountapi", {COUNT(no_mount_api), no_mount_api}},
		ROW(open_tree),
		ROW(fsopen),
		ROW(pidfd_open),
		ROW(clone3),
		ROW(close_range),
		ROW(openat2),
		ROW(mount_setattr),
		ROW(mounts),
		ROW(namespaces),
#undef ROW
	};
	const char *what = argv[0];
	bool is_eperm;
	size_t i;

	if (argc < 2)
		return 2;
	is_eperm = strncmp(what, eperm, sizeof(eperm) - 1) == 0;
	if (is_eperm)
		what += sizeof(eperm) - 1;
	for (i = 0; i < COUNT(lacks); i++) {
		if (strcmp(lacks[i].name, what) != 0)
			continue;
		if (is_eperm)
			answer_eperm(&lacks[i].prog);
		/* Without no_new_privs, which the program under test may not have either. */
		if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &lacks[i].prog) < 0 &&
		    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		     syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &lacks[i].prog) < 0)) {
			perror("seccomp");
			return 2;
		}
		execvp(argv[1], argv + 1);
		perror(argv[1]);
	}
	return 2;
}

static long or_errno(long r)
{
	return r < 0 ? -errno : r;
}

static int verb_rename(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	puts(result(or_errno(rename(argv[0], argv[1]))));
	return 0;
}

/* FILE exchanged with another; and back. */
static long swap(const char *file, const char *other)
{
	long r = or_errno(renameat2(AT_FDCWD, file, AT_FDCWD, other, RENAME_EXCHANGE));

	if (r == 0)
		renameat2(AT_FDCWD, file, AT_FDCWD, other, RENAME_EXCHANGE);
	return r;
}

static long there_and_back(const char *old, const char *new)
{
	long r = or_errno(rename(old, new));

	if (r == 0)
		rename(new, old);
	return r;
}

/* A nameless file gets FILE's name: where that is taken, as an unlink before would leave it. */
static long link_nameless(const char *file, const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR, 0600);
	char path[64];
	long r;

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = unlink(file) < 0 ? -errno
			     : or_errno(linkat(AT_FDCWD, path, AT_FDCWD, file, AT_SYMLINK_FOLLOW));
	close(fd);
	return r;
}

static long open_again(const char *file)
{
	int fd = open(file, O_PATH), again;
	char path[64];

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_WRONLY);
	close(fd);
	return or_errno(again);
}

static int verb_names(int argc, char **argv)
{
	const char *file = argv[0];
	char gone[512], other[512], hard[512], link[512];
	int fd;

	if (argc != 2)
		return 2;
	snprintf(gone, sizeof(gone), "%s/gone", argv[1]);
	snprintf(other, sizeof(other), "%s/other", argv[1]);
	snprintf(hard, sizeof(hard), "%s/hard", argv[1]);
	snprintf(link, sizeof(link), "%s/link", argv[1]);
	fd = open(other, O_CREAT | O_WRONLY, 0600);
	if (fd < 0)
		return 2;
	close(fd);
	printf("open %s\n", result(or_errno(open(file, O_WRONLY))));
	printf("fd %s\n", result(open_again(file)));
	printf("symlink %s\n", result(or_errno(symlink(file, link))));
	printf("through %s\n", result(or_errno(open(link, O_WRONLY))));
	printf("truncate %s\n", result(or_errno(truncate(file, 3))));
	printf("chmod %s\n", result(or_errno(chmod(file, 0600))));
	printf("link %s\n", result(or_errno(linkat(AT_FDCWD, file, AT_FDCWD, hard, 0))));
	printf("rename %s\n", result(there_and_back(file, gone)));
	printf("exchange %s\n", result(swap(file, other)));
	printf("nameless %s\n", result(link_nameless(file, argv[1])));
	printf("replace %s\n", result(or_errno(rename(other, file))));
	printf("unlink %s\n", result(or_errno(unlink(file))));
	unlink(other);
	unlink(hard);
	unlink(link);
	return 0;
}

/* ---- what is left of the host where nothing is mounted ---- */

static long datagram_pair(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int ends[2];

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) < 0)
		return -errno;
	return or_errno(sendto(ends[0], "x", 1, 0, (struct sockaddr *)&to, sizeof(to)));
}

static long plain_ioctl(const char *file)
{
	int flags = 0, fd = open(file, O_RDONLY);

	return fd < 0 ? -errno : or_errno(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

static long own_prlimit(pid_t pid)
{
	struct rlimit now;

	return or_errno(syscall(__NR_prlimit64, pid, RLIMIT_NOFILE, NULL, &now));
}

static long private_segment(void)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);

	return id < 0 ? -errno : or_errno(shmctl(id, IPC_RMID, NULL));
}

/* FILE, of the caller and outside; a SOCKET's path; the PID of a process of the caller's outside.
 */
static int verb_shared(int argc, char **argv)
{
	const struct timespec times[2] = {{1, 0}, {1, 0}};
	const char *file = argv[0];
	pid_t pid = argc == 3 ? (pid_t)atoi(argv[2]) : 0;
	cpu_set_t cpus;

	if (pid <= 0)
		return 2;
	sched_getaffinity(0, sizeof(cpus), &cpus);
	printf("open %s\n", result(or_errno(open(file, O_RDONLY))));
	printf("write %s\n", result(or_errno(open(file, O_WRONLY))));
	printf("chmod %s\n", result(or_errno(chmod(file, 0600))));
	printf("chown %s\n", result(or_errno(chown(file, geteuid(), (gid_t)-1))));
	printf("utimens %s\n", result(or_errno(utimensat(AT_FDCWD, file, times, 0))));
	printf("setxattr %s\n", result(or_errno(setxattr(file, "user.x", "x", 1, 0))));
	printf("flags %s\n", result(plain_ioctl(file)));
	printf("pair %s\n", result(datagram_pair(argv[1])));
	printf("unix %s\n", result(or_errno(socket(AF_UNIX, SOCK_STREAM, 0))));
	printf("inet %s\n", result(or_errno(socket(AF_INET, SOCK_STREAM, 0))));
	printf("netlink %s\n", result(or_errno(socket(AF_NETLINK, SOCK_RAW, 0))));
	printf("kill %s\n", result(or_errno(kill(pid, 0))));
	printf("prlimit %s\n", result(own_prlimit(pid)));
	printf("affinity %s\n", result(or_errno(sched_setaffinity(pid, sizeof(cpus), &cpus))));
	printf("shm %s\n", result(private_segment()));
	return 0;
}

/* A process of the host with a socket on a path. */
static int verb_listen(int argc, char **argv)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (argc != 1)
		return 2;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", argv[0]);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return 2;
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "matrix") == 0)
		return verb_matrix();
	if (strcmp(verb, "threads") == 0)
		return verb_threads();
	if (strcmp(verb, "setid") == 0)
		return verb_setid(argc - 2, argv + 2);
	if (strcmp(verb, "handle") == 0)
		return verb_handle(argc - 2, argv + 2);
	if (strcmp(verb, "connect") == 0)
		return verb_connect(argc - 2, argv + 2);
	if (strcmp(verb, "open") == 0)
		return verb_open(argc - 2, argv + 2);
	if (strcmp(verb, "rename") == 0)
		return verb_rename(argc - 2, argv + 2);
	if (strcmp(verb, "names") == 0)
		return verb_names(argc - 2, argv + 2);
	if (strcmp(verb, "listen") == 0)
		return verb_listen(argc - 2, argv + 2);
	if (strcmp(verb, "shared") == 0)
		return verb_shared(argc - 2, argv + 2);
	if (strcmp(verb, "without") == 0)
		return verb_without(argc - 2, argv + 2);
	fputs("attack: wrong use, see attack.c\n", stderr);
	return 2;
}
