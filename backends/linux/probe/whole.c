/*
 * What is tried with the whole boundary in place: each attempt beside a control that the same
 * process can do.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "backends/linux/plan.h"
#include "backends/linux/probe/probe.h"
#include "runtime/base/cleanup.h"

static int write_scratch(struct probe *probe, const struct probe_row *row)
{
	const char *path = proof_text(&(struct proof){.arena = probe->arena}, "%s/.sbx-verify-%d",
				      probe->plan->view.scratch_path, (int)getpid());
	cleanup_fd int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	(void)row;
	if (fd < 0 || write(fd, "x", 1) != 1)
		return -errno;
	return unlink(path) < 0 ? -errno : 0;
}

/* An attribute that is not there: a read-only mount refuses before anything else is looked at. */
static int change(struct probe *probe, const struct probe_row *row)
{
	struct stat st;

	(void)probe;
	if (lstat(row->path, &st) < 0 || S_ISLNK(st.st_mode))
		return PROBE_NOT_TRIED;
	return lremovexattr(row->path, "user.sbx-verify") < 0 ? -errno : 0;
}

static int read_root(struct probe *probe, const struct probe_row *row)
{
	cleanup_fd int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)probe;
	(void)row;
	return fd < 0 ? -errno : 0;
}

/* Of a closed folder nothing is listed. */
static int read_closed(struct probe *probe, const struct probe_row *row)
{
	int fd = open(row->path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	cleanup_dir DIR *dir = NULL;
	struct dirent *entry;

	(void)probe;
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return 0;
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			return 0;
	return -ENOENT;
}

/* A masked file has no byte, a masked folder no name. */
static int read_masked(struct probe *probe, const struct probe_row *row)
{
	struct stat st;
	cleanup_fd int fd = -EBADF;
	ssize_t n;
	char byte;

	if (lstat(row->path, &st) < 0)
		return PROBE_NOT_TRIED;
	if (S_ISDIR(st.st_mode))
		return read_closed(probe, row);
	fd = open(row->path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, &byte, 1);
	return n < 0 ? -errno : n == 0 ? -ENODATA : 0;
}

/* The root under "host read deny" is a file system of the runtime's own. */
static int see_old_root(struct probe *probe, const struct probe_row *row)
{
	struct statfs fs;

	(void)probe;
	(void)row;
	if (statfs("/", &fs) < 0)
		return -errno;
	return (unsigned long)fs.f_type == TMPFS_MAGIC ? -ENOENT : 0;
}

static int signal_self(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	return kill(getpid(), 0) < 0 ? -errno : 0;
}

/* A procfs of another pid namespace has another number for us, or none. */
static int see_outside(struct probe *probe, const struct probe_row *row)
{
	char name[32] = "", own[16];

	(void)probe;
	(void)row;
	snprintf(own, sizeof(own), "%d", (int)getpid());
	if (getppid() != 0 || readlink("/proc/self", name, sizeof(name) - 1) < 0)
		return 0;
	return strcmp(name, own) == 0 ? -ESRCH : 0;
}

static int enter_first(struct probe *probe, const struct probe_row *row)
{
	cleanup_fd int fd = open("/proc/1/root", O_PATH | O_CLOEXEC);

	(void)probe;
	(void)row;
	return fd < 0 ? -errno : 0;
}

static int gain_privileges(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? -EPERM : 0;
}

static bool env_holds(const struct probe *probe, const char *text)
{
	for (char *const *e = probe->env; e && *e; e++)
		if (strstr(*e, text))
			return true;
	return false;
}

static int keep_variable(struct probe *probe, const struct probe_row *row)
{
	(void)row;
	return env_holds(probe, PROBE_KEPT_NAME "=") ? 0 : -ENOENT;
}

static int pass_variable(struct probe *probe, const struct probe_row *row)
{
	if (row->path[0] == 'S' && environ && *environ)
		return 0;
	return env_holds(probe, row->path) ? 0 : -ENOENT;
}

static int connect_to(uint32_t address)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(address)};
	cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? -errno : 0;
}

static int reach_loopback(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	return connect_to(INADDR_LOOPBACK);
}

static int reach_outside(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	return connect_to(0xc0000201); /* 192.0.2.1: TEST-NET-1 */
}

/* What modules put into every new namespace, down and without an address. */
static bool is_of_every_namespace(const char *name)
{
	static const char *const names[] = {"lo",      "tunl0",	   "gre0", "gretap0", "erspan0",
					    "ip_vti0", "ip6_vti0", "sit0", "ip6tnl0", "ip6gre0"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int see_interface(struct probe *probe, const struct probe_row *row)
{
	struct if_nameindex *list = if_nameindex();
	int rc = -ENODEV;

	(void)probe;
	(void)row;
	if (!list)
		return -errno;
	for (struct if_nameindex *i = list; i->if_index; i++)
		if (!is_of_every_namespace(i->if_name))
			rc = 0;
	if_freenameindex(list);
	return rc;
}

static void add(struct probe *probe, const char *mechanism, const char *name, uint32_t carries,
		probe_fn control, probe_fn attempt, const char *path, int refusal, int other)
{
	probe_add_row(probe, &(struct probe_row){.name = name,
						 .mechanism = mechanism,
						 .carries = carries,
						 .layer = PROBE_WHOLE,
						 .attempt = attempt,
						 .control = control,
						 .refusals = {refusal, other},
						 .path = path});
}

void probe_add_files(struct probe *probe)
{
	static const char *const places[] = {"/", "/usr", "/etc", "/dev", "/sys", "/proc/sys"};
	const struct policy *policy = probe->plan->policy;
	size_t i;

	if (probe->plan->view.kind == VIEW_CLOSURE)
		add(probe, "view", "see the bundle's root", PROBE_READ, read_root, see_old_root,
		    NULL, ENOENT, 0);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		const struct path_rule *rule = policy_rule_of(policy, places[i]);

		if (!(rule ? rule->write : policy->host_write && i < 3))
			add(probe, "mount", "change", PROBE_WRITE, write_scratch, change, places[i],
			    EROFS, 0);
	}
	for (i = 0; i < policy->paths_n; i++) {
		const struct path_rule *rule = &policy->paths[i];

		if (!rule->write)
			add(probe, "mount", "change", PROBE_WRITE, write_scratch, change,
			    rule->path, EROFS, ENOENT);
		if (!rule->read)
			add(probe, "mount", "read", PROBE_READ, read_root, read_closed, rule->path,
			    ENOENT, EACCES);
	}
}

void probe_add_process(struct probe *probe)
{
	/* some of what every profile masks (rooms/mask.c), the folders first */
	static const char *const masked[] = {"/sys/firmware", "/proc/keys", "/proc/timer_list",
					     "/proc/kallsyms", "/proc/kpagecount"};

	if (probe->plan->namespaces.new_flags & CLONE_NEWPID)
		add(probe, "namespace", "see processes outside", PROBE_PROCESS, signal_self,
		    see_outside, NULL, ESRCH, 0);
	if (probe->plan->landlock.used)
		add(probe, "landlock", "reach into the first process", PROBE_PROCESS | PROBE_READ,
		    read_root, enter_first, NULL, EACCES, ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(masked); i++)
		add(probe, "mask", "read", PROBE_PROCESS, signal_self, read_masked, masked[i],
		    i == 0 ? ENOENT : ENODATA, EACCES);
	add(probe, "no_new_privs", "gain privileges by execve", PROBE_PROCESS, signal_self,
	    gain_privileges, NULL, EPERM, 0);
	add(probe, "environment", "pass a variable of a loader", PROBE_ENV, keep_variable,
	    pass_variable, "LD_PRELOAD=", ENOENT, 0);
	add(probe, "environment", "pass a variable of a shell", PROBE_ENV, keep_variable,
	    pass_variable, "BASH_ENV=", ENOENT, 0);
	add(probe, "environment", "pass the caller's own variable", PROBE_ENV, keep_variable,
	    pass_variable, PROBE_CALLER_NAME "=", ENOENT, 0);
}

void probe_add_network(struct probe *probe)
{
	add(probe, "namespace", "reach an address outside", PROBE_NETWORK, reach_loopback,
	    reach_outside, NULL, ENETUNREACH, 0);
	add(probe, "namespace", "see an interface but lo", PROBE_NETWORK, reach_loopback,
	    see_interface, NULL, ENODEV, 0);
}
