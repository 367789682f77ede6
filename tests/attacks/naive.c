/*
 * A container runtime without defences of its own: the positive control of the attacks on
 * sbx-runtime's own processes and program. Dynamic, as runtimes are.
 *
 *   naive enter ROOT CMD   runs CMD in new pid and mount namespaces, below ROOT
 *   naive join PID CMD     runs CMD in the namespaces of PID, its rights kept until the end
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETUP_US (20 * 1000) /* what a runtime's set-up inside takes */

static int broken(const char *what)
{
	perror(what);
	return 1;
}

static int run_child(char **command)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		usleep(SETUP_US);
		execv(command[0], command);
		_exit(broken(command[0]));
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return broken("fork");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int enter(const char *root, char **command)
{
	pid_t pid;

	if (unshare(CLONE_NEWNS | CLONE_NEWPID) < 0 ||
	    mount("", "/", "", MS_PRIVATE | MS_REC, "") < 0)
		return broken("unshare");
	pid = fork();
	if (pid == 0) {
		if (chroot(root) < 0 || chdir("/") < 0 || mount("proc", "/proc", "proc", 0, "") < 0)
			_exit(broken("enter"));
		/* what the payload starts goes on while the runtime ends */
		execv(command[0], command);
		_exit(broken(command[0]));
	}
	return pid < 0 ? broken("fork") : 0;
}

static int join(const char *target, char **command)
{
	static const char *const kinds[] = {"ipc", "uts", "net", "pid", "cgroup", "mnt"};
	int fds[sizeof(kinds) / sizeof(kinds[0])];
	char path[64];
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(path, sizeof(path), "/proc/%s/ns/%s", target, kinds[i]);
		fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (fds[i] < 0)
			return broken(path);
	}
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (setns(fds[i], 0) < 0)
			return broken(kinds[i]);
	return run_child(command);
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "enter") == 0)
		return enter(argv[2], argv + 3);
	if (argc > 3 && strcmp(argv[1], "join") == 0)
		return join(argv[2], argv + 3);
	fputs("naive: wrong use, see naive.c\n", stderr);
	return 2;
}
