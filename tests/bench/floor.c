/*
 * floor ROOTFS GROUP PROGRAM [ARGS]: the least that any container runtime has to do for one
 * container, with nothing read, checked or made safe: a control group GROUP in each hierarchy, new
 * namespaces, the standard mounts and device nodes, the usual masked and read-only paths, the root
 * exchanged, no_new_privs, a one-line seccomp filter, execve, wait, the groups removed. The
 * benchmark's lower bound; not a sandbox.
 */
#include <dirent.h>
#include <errno.h>
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

static const char *const masked[] = {
	"proc/acpi",	      "proc/asound",	 "proc/kcore",	     "proc/keys",
	"proc/latency_stats", "proc/timer_list", "proc/timer_stats", "proc/sched_debug",
	"sys/firmware",	      "proc/scsi",
};
static const char *const read_only[] = {
	"proc/bus", "proc/fs", "proc/irq", "proc/sys", "proc/sysrq-trigger",
};

#define GROUPS_MAX 16
static char groups[GROUPS_MAX][128]; /* directories */
static int groups_n;

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
	must(mount("workspace", "workspace", NULL, MS_BIND, NULL), "workspace");
	for (size_t i = 0; i < sizeof(read_only) / sizeof(read_only[0]); i++) {
		if (mount(read_only[i], read_only[i], NULL, MS_BIND | MS_REC, NULL) == 0)
			must(mount(NULL, read_only[i], NULL, MS_BIND | MS_REMOUNT | MS_RDONLY,
				   NULL),
			     read_only[i]);
	}
	for (size_t i = 0; i < sizeof(masked) / sizeof(masked[0]); i++)
		if (mount("dev/null", masked[i], NULL, MS_BIND, NULL) < 0 && errno == ENOTDIR)
			must(mount("tmpfs", masked[i], "tmpfs", MS_RDONLY, "size=0"), masked[i]);
	must((int)syscall(SYS_pivot_root, ".", "."), "pivot_root");
	must(umount2(".", MNT_DETACH), "umount");
	must(sethostname("floor", 5), "sethostname");
}

/* Copies a value of the parent group, without which a cpuset takes no process. */
static void inherit(const char *group, const char *file)
{
	char path[192], value[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/../%s", group, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, value, sizeof(value));
	if (n < 0)
		return;
	close(fd);
	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	must(write(fd, value, (size_t)n) == n ? 0 : -1, path);
	close(fd);
}

static void add_group(const char *hierarchy, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cgroup.procs", hierarchy);
	if (groups_n == GROUPS_MAX || access(path, W_OK) < 0)
		return;
	snprintf(groups[groups_n], sizeof(groups[0]), "%s/%s", hierarchy, name);
	must(mkdir(groups[groups_n], 0755), groups[groups_n]);
	if (strstr(hierarchy, "cpuset")) {
		inherit(groups[groups_n], "cpuset.cpus");
		inherit(groups[groups_n], "cpuset.mems");
	}
	groups_n++;
}

static void make_groups(const char *name)
{
	struct dirent *entry;
	char path[128];
	DIR *dir;

	add_group("/sys/fs/cgroup", name);
	dir = groups_n ? NULL : opendir("/sys/fs/cgroup");
	while (dir && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%.64s", entry->d_name);
		add_group(path, name);
	}
	if (dir)
		closedir(dir);
}

static void join_groups(void)
{
	char path[192];
	int fd;

	for (int i = 0; i < groups_n; i++) {
		snprintf(path, sizeof(path), "%.127s/cgroup.procs", groups[i]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		must(write(fd, "0", 1) == 1 ? 0 : -1, path);
		close(fd);
	}
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

	if (argc < 4)
		return 2;
	make_groups(argv[2]);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	must(pid, "clone3");
	if (pid == 0) {
		join_groups();
		set_up_root(argv[1]);
		set_filter();
		execv(argv[3], argv + 3);
		must(-1, argv[3]);
	}
	must(waitpid(pid, &status, 0), "waitpid");
	for (int i = 0; i < groups_n; i++)
		must(rmdir(groups[i]), groups[i]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
