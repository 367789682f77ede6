/*
 * floor ROOTFS PROGRAM [ARGS]: the least that any container runtime has to do for one container,
 * with nothing read, checked or made safe: new namespaces, the standard mounts and device nodes,
 * the root exchanged, no_new_privs, a one-line seccomp filter, execve, wait. The benchmark's lower
 * bound; not a sandbox.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

struct mount_row {
	const char *type, *target;
	unsigned long flags;
	const char *options;
};

static const struct mount_row mount_rows[] = {
	{"proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
	{"tmpfs", "dev", MS_NOSUID, "mode=755,size=65536k"},
	{"devpts", "dev/pts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"},
	{"tmpfs", "dev/shm", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777,size=65536k"},
	{"mqueue", "dev/mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
	{"sysfs", "sys", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL},
};

static const struct {
	const char *path;
	unsigned int major, minor;
} node_rows[] = {
	{"dev/null", 1, 3},   {"dev/zero", 1, 5},    {"dev/full", 1, 7},
	{"dev/random", 1, 8}, {"dev/urandom", 1, 9}, {"dev/tty", 5, 0},
};

static void must(int result, const char *what)
{
	if (result < 0) {
		perror(what);
		_exit(99);
	}
}

static void set_up_root(const char *root)
{
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
	must(mount(root, root, NULL, MS_BIND | MS_REC, NULL), "root");
	must(chdir(root), "chdir");
	for (size_t i = 0; i < sizeof(mount_rows) / sizeof(mount_rows[0]); i++) {
		const struct mount_row *row = &mount_rows[i];

		mkdir(row->target, 0755);
		must(mount(row->type, row->target, row->type, row->flags, row->options),
		     row->target);
	}
	for (size_t i = 0; i < sizeof(node_rows) / sizeof(node_rows[0]); i++)
		must(mknod(node_rows[i].path, S_IFCHR | 0666,
			   makedev(node_rows[i].major, node_rows[i].minor)),
		     node_rows[i].path);
	must((int)syscall(SYS_pivot_root, ".", "."), "pivot_root");
	must(umount2(".", MNT_DETACH), "umount");
	must(sethostname("floor", 5), "sethostname");
}

static void set_filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
}

int main(int argc, char **argv)
{
	struct clone_args args = {.flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS |
					   CLONE_NEWIPC | CLONE_NEWCGROUP | CLONE_NEWNET,
				  .exit_signal = SIGCHLD};
	int status;
	pid_t pid;

	if (argc < 3)
		return 2;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	must(pid, "clone3");
	if (pid == 0) {
		set_up_root(argv[1]);
		set_filter();
		execv(argv[2], argv + 2);
		must(-1, argv[2]);
	}
	must(waitpid(pid, &status, 0), "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
