/*
 * Attacks by a process with root's id inside and a compiler: `adversary VERB ARGS`, static.
 *
 *   ring                a ring of io_uring with a registered file
 *   memfd CMD...        runs CMD from a nameless copy of its program
 *   faults              a descriptor of userfaultfd, by the call and by its device
 *   watch PATH          inotify on PATH; fanotify on PATH, and on the whole file system of it
 *   own-memory FILE     writes through /proc/self/mem into a private read-only mapping of FILE
 *   neighbour           a child's memory, descriptors and kernel objects: one line each
 *   kernel-programs     a program of bpf, and an event of perf
 *   ipc KEY NAME        the shared memory of this key and the message queue of this name
 *   ipc-keep KEY NAME   makes both, prints "ready", stays until SIGTERM, and removes them
 *   hand SOCKET DIR     gives a descriptor of DIR to whoever connects, once
 *   taken SOCKET NAME   takes it; reads and writes NAME below it; climbs out of it
 *   whiteout OLD NEW    renameat2(2) that leaves a device node at OLD
 *   nameless DIR NEW    a nameless file of DIR gets the name NEW, by its link in /proc and itself
 *   filter DIR          mounts on DIR under own filters: one that allows, one that asks a friend
 *   chroot              the classic way out of a root; prints the names it finds there
 *   everybody           SIGKILL to every process that can be reached
 *   flags FILE          makes FILE immutable, and takes that back
 *   privileged          calls of the machine's administrator, in a form that never succeeds
 *   fill DIR            how many MiB (up to 256), then how many files (up to 200000) DIR takes
 *   deep DIR N          a chain of N folders in DIR
 *   deep-remove DIR     takes it away again
 *
 * RESULT is "ok" or the errno's name. Exit status 0 where the verb ran at all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void say(const char *name, long r)
{
	printf("%s %s\n", name, r >= 0 ? "ok" : strerrorname_np(errno));
	fflush(stdout);
}

/* ---- the kernel's own machinery ---- */

static int verb_ring(char **argv)
{
	struct io_uring_params params = {0};
	int file = 0;
	long ring = syscall(__NR_io_uring_setup, 4, &params);

	(void)argv;
	say("setup", ring);
	if (ring >= 0)
		say("register",
		    syscall(__NR_io_uring_register, ring, IORING_REGISTER_FILES, &file, 1));
	return 0;
}

static int verb_faults(char **argv)
{
	(void)argv;
	say("call", syscall(__NR_userfaultfd, O_CLOEXEC));
	say("device", open("/dev/userfaultfd", O_RDWR));
	return 0;
}

static int verb_kernel_programs(char **argv)
{
	struct bpf_insn code[] = {{.code = 0xb7}, {.code = 0x95}}; /* r0 = 0; exit */
	union bpf_attr bpf = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
			      .insn_cnt = COUNT(code),
			      .insns = (uintptr_t)code,
			      .license = (uintptr_t) ""};
	struct perf_event_attr perf = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(perf),
				       .config = PERF_COUNT_SW_CPU_CLOCK};

	(void)argv;
	say("bpf", syscall(__NR_bpf, BPF_PROG_LOAD, &bpf, sizeof(bpf)));
	say("perf", syscall(__NR_perf_event_open, &perf, 0, -1, -1, 0));
	return 0;
}

static int verb_watch(char **argv)
{
	int fan;

	say("inotify", inotify_add_watch(inotify_init1(0), argv[0], IN_ALL_EVENTS));
	fan = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, 0);
	say("fanotify",
	    fan < 0 ? fan : fanotify_mark(fan, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, argv[0]));
	fan = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY);
	say("filesystem", fan < 0 ? fan
				  : fanotify_mark(fan, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN,
						  AT_FDCWD, argv[0]));
	return 0;
}

static int verb_privileged(char **argv)
{
	struct timex never = {.modes = ADJ_TICK};

	(void)argv;
	say("adjtimex", adjtimex(&never));
	say("acct", acct("/no/such/file"));
	say("swapon", swapon("/no/such/file", 0));
	say("reboot", syscall(__NR_reboot, 0, 0, 0, NULL));
	say("syslog", syscall(__NR_syslog, 10, NULL, 0)); /* SYSLOG_ACTION_SIZE_BUFFER */
	say("quotactl", syscall(__NR_quotactl, 0xffffffff, NULL, 0, NULL));
	say("kexec", syscall(__NR_kexec_file_load, -1, -1, 0, NULL, 0xffff));
	say("mount", mount("none", "/no/such/folder", "tmpfs", 0, NULL));
	return 0;
}

/* ---- programs and memory ---- */

static int verb_memfd(char **argv)
{
	char block[65536];
	int from = open(argv[0], O_RDONLY), to = memfd_create("x", 0);
	ssize_t n;

	while ((n = read(from, block, sizeof(block))) > 0) {
		if (write(to, block, (size_t)n) != n)
			return 2;
	}
	say("set-id", fchmod(to, 04755));
	syscall(__NR_execveat, to, "", argv, environ, AT_EMPTY_PATH);
	say("execveat", -1);
	return 0;
}

static int verb_own_memory(char **argv)
{
	int fd = open(argv[0], O_RDONLY), memory = open("/proc/self/mem", O_RDWR);
	char *map = mmap(NULL, 4, PROT_READ, MAP_PRIVATE, fd, 0);
	char again[5] = "";

	if (map == MAP_FAILED || memory < 0)
		return 2;
	say("write", pwrite(memory, "evil", 4, (off_t)(uintptr_t)map));
	printf("mapping %.4s\n", map);
	if (pread(fd, again, 4, 0) == 4)
		printf("file %s\n", again);
	return 0;
}

static int verb_neighbour(char **argv)
{
	static char secret[] = "secret", found[sizeof(secret)];
	struct iovec here = {found, sizeof(found)}, there = {secret, sizeof(secret)};
	pid_t child = fork();
	long pidfd;

	(void)argv;
	if (child == 0) {
		pause();
		_exit(0);
	}
	pidfd = syscall(__NR_pidfd_open, child, 0);
	say("pidfd", pidfd);
	say("read", process_vm_readv(child, &here, 1, &there, 1, 0));
	say("write", process_vm_writev(child, &there, 1, &there, 1, 0));
	say("descriptor", syscall(__NR_pidfd_getfd, pidfd, 0, 0));
	say("seize", ptrace(PTRACE_SEIZE, child, NULL, NULL));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}

static int verb_filter(char **argv)
{
	struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_filter ask[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mount, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog allowing = {COUNT(allow), allow}, asking = {COUNT(ask), ask};
	struct seccomp_notif request = {0};
	struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	int listener;
	pid_t child;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	say("allow", syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &allowing));
	listener = (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
				SECCOMP_FILTER_FLAG_NEW_LISTENER, &asking);
	say("listener", listener);
	child = fork();
	if (child == 0) {
		say("mount", mount("none", argv[0], "tmpfs", 0, NULL));
		_exit(0);
	}
	if (fork() == 0) { /* the supervisor: goes with its parent */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0) {
			answer.id = request.id;
			ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
		}
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return 0;
}

static int verb_everybody(char **argv)
{
	(void)argv;
	signal(SIGTERM, SIG_IGN);
	say("kill", kill(-1, SIGKILL));
	return 0;
}

/* ---- other processes' objects ---- */

static int verb_ipc(char **argv)
{
	say("memory", shmget(atoi(argv[0]), 0, 0));
	say("queue", mq_open(argv[1], O_RDONLY));
	return 0;
}

static int verb_ipc_keep(char **argv)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 1};
	int segment = shmget(atoi(argv[0]), 4096, IPC_CREAT | IPC_EXCL | 0666);
	sigset_t term;
	int signal;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	if (segment < 0 || mq_open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0666, &attr) < 0) {
		perror("adversary");
		return 2;
	}
	puts("ready");
	fflush(stdout);
	sigwait(&term, &signal);
	shmctl(segment, IPC_RMID, NULL);
	mq_unlink(argv[1]);
	return 0;
}

union control {
	struct cmsghdr head;
	char space[CMSG_SPACE(sizeof(int))];
};

static int unix_socket(const char *path, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	strncpy(addr->sun_path, path, sizeof(addr->sun_path) - 1);
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int verb_hand(char **argv)
{
	union control control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {"x", 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof(control.space)};
	struct sockaddr_un addr;
	int server = unix_socket(argv[0], &addr), dir = open(argv[1], O_RDONLY | O_DIRECTORY);

	if (bind(server, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(server, 1) < 0)
		return 2;
	puts("ready");
	fflush(stdout);
	memcpy(CMSG_DATA(&control.head), &dir, sizeof(dir));
	return sendmsg(accept(server, NULL, NULL), &msg, 0) == 1 ? 0 : 2;
}

static int verb_taken(char **argv)
{
	union control control;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof(control.space)};
	struct sockaddr_un addr;
	int fd, dir, client = unix_socket(argv[0], &addr);

	if (connect(client, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    recvmsg(client, &msg, 0) != 1 || msg.msg_controllen == 0)
		return 2;
	memcpy(&dir, CMSG_DATA(&control.head), sizeof(dir));
	say("read", openat(dir, argv[1], O_RDONLY));
	say("write", openat(dir, argv[1], O_WRONLY));
	say("make", openat(dir, "made", O_CREAT | O_WRONLY, 0600));
	say("list", getdents64(dir, (char[4096]){0}, 4096));
	fd = openat(dir, "..", O_RDONLY | O_DIRECTORY);
	say("above", fd);
	say("enter", fchdir(dir));
	say("list there", open(".", O_RDONLY | O_DIRECTORY));
	return 0;
}

/* ---- files ---- */

static int verb_whiteout(char **argv)
{
	say("whiteout", renameat2(AT_FDCWD, argv[0], AT_FDCWD, argv[1], RENAME_WHITEOUT));
	return 0;
}

static int verb_nameless(char **argv)
{
	int fd = open(argv[0], O_TMPFILE | O_RDWR, 0600);
	char path[64];

	say("nameless", fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	say("link", linkat(AT_FDCWD, path, AT_FDCWD, argv[1], AT_SYMLINK_FOLLOW));
	say("empty path", linkat(fd, "", AT_FDCWD, argv[1], AT_EMPTY_PATH));
	return 0;
}

static int verb_chroot(char **argv)
{
	struct dirent *entry;
	DIR *dir;
	int here = open("/", O_RDONLY | O_DIRECTORY), i;

	(void)argv;
	mkdir("/tmp/jail", 0700);
	if (chroot("/tmp/jail") < 0 || fchdir(here) < 0) {
		say("chroot", -1);
		return 0;
	}
	for (i = 0; i < 64; i++) {
		if (chdir("..") < 0)
			break;
	}
	dir = chroot(".") < 0 ? NULL : opendir("/");
	while (dir && (entry = readdir(dir)))
		puts(entry->d_name);
	return 0;
}

static int verb_flags(char **argv)
{
	int fd = open(argv[0], O_RDONLY), flags = 0;

	say("get", ioctl(fd, FS_IOC_GETFLAGS, &flags));
	flags |= FS_IMMUTABLE_FL;
	say("set", ioctl(fd, FS_IOC_SETFLAGS, &flags));
	flags &= ~FS_IMMUTABLE_FL;
	ioctl(fd, FS_IOC_SETFLAGS, &flags);
	return 0;
}

static int verb_fill(char **argv)
{
	static char block[1 << 20];
	int fd, mebibytes = 0, files = 0;

	if (chdir(argv[0]) < 0)
		return 2;
	fd = open("big", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	while (fd >= 0 && mebibytes < 256 && write(fd, block, sizeof(block)) == sizeof(block))
		mebibytes++;
	close(fd);
	unlink("big");
	for (; files < 200000; files++) {
		char name[32];

		snprintf(name, sizeof(name), "f%d", files);
		fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
		if (fd < 0)
			break;
		close(fd);
	}
	printf("%d %d\n", mebibytes, files);
	return 0;
}

static int verb_deep(char **argv)
{
	int n = atoi(argv[1]);

	if (chdir(argv[0]) < 0)
		return 2;
	while (n-- > 0) {
		if (mkdir("d", 0755) < 0 || chdir("d") < 0)
			return 2;
	}
	return 0;
}

static int verb_deep_remove(char **argv)
{
	if (chdir(argv[0]) < 0)
		return 2;
	while (chdir("d") == 0)
		;
	while (chdir("..") == 0 && rmdir("d") == 0)
		;
	return 0;
}

static const struct {
	const char *name;
	int args;
	int (*verb)(char **argv);
} verbs[] = {
	{"ring", 0, verb_ring},
	{"memfd", 1, verb_memfd},
	{"faults", 0, verb_faults},
	{"watch", 1, verb_watch},
	{"own-memory", 1, verb_own_memory},
	{"neighbour", 0, verb_neighbour},
	{"kernel-programs", 0, verb_kernel_programs},
	{"ipc", 2, verb_ipc},
	{"ipc-keep", 2, verb_ipc_keep},
	{"hand", 2, verb_hand},
	{"taken", 2, verb_taken},
	{"whiteout", 2, verb_whiteout},
	{"nameless", 2, verb_nameless},
	{"filter", 1, verb_filter},
	{"chroot", 0, verb_chroot},
	{"everybody", 0, verb_everybody},
	{"flags", 1, verb_flags},
	{"privileged", 0, verb_privileged},
	{"fill", 1, verb_fill},
	{"deep", 2, verb_deep},
	{"deep-remove", 1, verb_deep_remove},
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < COUNT(verbs); i++) {
		if (strcmp(verbs[i].name, argv[1]) == 0 && argc - 2 >= verbs[i].args)
			return verbs[i].verb(argv + 2);
	}
	fputs("adversary: wrong use, see adversary.c\n", stderr);
	return 2;
}
