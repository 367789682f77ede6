/*
 * One row a mechanism: a probe that says what it saw, and the remedy when it does not work. A probe
 * that must change namespaces does so in a forked child and answers with an errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/cgroup/internal.h"
#include "backends/linux/doctor.h"
#include "backends/linux/host.h"
#include "backends/linux/rung.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/proc.h"
#include "runtime/base/procfs.h"
#include "runtime/base/user.h"

typedef bool (*doctor_probe)(const struct host_facts *host, char *reason, size_t size);

static bool say(char *reason, size_t size, int errnum)
{
	snprintf(reason, size, "%s", errnum ? strerrordesc_np(errnum) : "works");
	return errnum == 0;
}

/* Run check in a child; its return value (an errno below 256) is the answer. */
static int in_child(int (*check)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(check());
	if (pid < 0)
		return errno;
	return proc_wait(pid, &status) < 0 ? EIO : status;
}

static int try_user_namespace(void)
{
	return unshare(CLONE_NEWUSER) < 0 ? errno : 0;
}

static bool probe_user_namespace(const struct host_facts *host, char *reason, size_t size)
{
	(void)host;
	return say(reason, size, in_child(try_user_namespace));
}

static bool probe_namespaces(const struct host_facts *host, char *reason, size_t size)
{
	return say(reason, size, host->namespaces_error);
}

/* A new proc needs a process in the new pid namespace, and a /proc that nothing covers
 * (mount_too_revealing). */
static bool probe_proc(const struct host_facts *host, char *reason, size_t size)
{
	return say(reason, size,
		   host->namespaces_error ? host->namespaces_error : host->own_proc_error);
}

static bool probe_rung(const struct host_facts *host, char *reason, size_t size)
{
	static const char *const rungs[] = {
		[0] = "none: no profile can be enforced",
		[RUNG_NAMESPACES] = "rung 1: namespaces and mounts of its own",
		[RUNG_SHARED] = "rung 2: level degraded at most, on the host's own root alone",
	};
	enum rung rung = rung_of_host(host);

	snprintf(reason, size, "%s%s%s", rungs[rung],
		 rung != RUNG_NAMESPACES && *host->restriction ? "; " : "", host->restriction);
	return rung == RUNG_NAMESPACES;
}

static bool probe_landlock(const struct host_facts *host, char *reason, size_t size)
{
	snprintf(reason, size, host->landlock_abi ? "ABI %u" : "not there", host->landlock_abi);
	return host->landlock_abi >= 3;
}

static bool probe_seccomp(const struct host_facts *host, char *reason, size_t size)
{
	return say(reason, size, host->seccomp_filter ? 0 : ENOSYS);
}

static bool probe_mount_api(const struct host_facts *host, char *reason, size_t size)
{
	return say(reason, size, host->mount_api ? 0 : ENOSYS);
}

static bool probe_openat2(const struct host_facts *host, char *reason, size_t size)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	cleanup_fd int fd = sys_openat2(AT_FDCWD, ".", &how);

	(void)host;
	return say(reason, size, fd < 0 ? -fd : 0);
}

/* Where a group of ours would be made: the caller's own, and for root the hierarchy's root. */
static bool may_make_group(const struct cgroup_mount *m, bool is_root)
{
	char path[sizeof(m->mount) + sizeof(m->own)];
	int n = snprintf(path, sizeof(path), "%s%s", m->mount, is_root ? "" : cgroup_mount_own(m));

	return n > 0 && (size_t)n < sizeof(path) &&
	       faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static bool probe_cgroup(const struct host_facts *host, char *reason, size_t size)
{
	bool is_root = host->euid == 0 && host->initial_userns;
	struct cgroup_layout layout = {.n = 0};
	size_t may = 0;

	if (host->cgroup_mode != CGROUP_MODE_NONE && cgroup_discover(0, &layout, NULL) == 0)
		for (size_t i = 0; i < layout.n; i++)
			may += may_make_group(&layout.v[i], is_root);
	snprintf(reason, size, "layout %s%s", cgroup_mode_name(host->cgroup_mode),
		 may || layout.n == 0 ? ""
		 : is_root	      ? ", read-only here"
				      : ", but this user may make no group in its own");
	return may > 0;
}

static bool is_installed(const char *name)
{
	static const char *const folders[] = {"/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin"};
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* subuid(5): "NAME:FIRST:COUNT", the name or the number of the user. */
static bool has_ids(const char *file, uid_t uid, const char *name)
{
	FILE *f = fopen(file, "re");
	char line[512], number[16];
	bool found = false;

	snprintf(number, sizeof(number), "%u", (unsigned)uid);
	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, ":\n")] = '\0';
		found = strcmp(line, number) == 0 || (*name && strcmp(line, name) == 0);
	}
	if (f)
		fclose(f);
	return found;
}

static bool probe_id_helpers(const struct host_facts *host, char *reason, size_t size)
{
	uid_t uid = getuid();
	struct user_entry user;
	const char *env = getenv("USER");
	/* of users from elsewhere the environment has the name */
	const char *name = user_find(uid, &user) ? user.name : env ? env : "";
	bool listed = has_ids("/etc/subuid", uid, name) && has_ids("/etc/subgid", uid, name);
	bool installed = is_installed("newuidmap") && is_installed("newgidmap");

	snprintf(reason, size, "%s",
		 host->privileged ? "not needed as root"
		 : !installed	  ? "newuidmap or newgidmap is not installed"
		 : !listed	  ? "/etc/subuid or /etc/subgid has no line for this user"
				  : "installed");
	return host->privileged || (installed && listed);
}

struct doctor_row {
	const char *mechanism, *serves;
	doctor_probe probe;
	const char *remedy;
};

static const struct doctor_row rows[] = {
	{"profile", "what a container with a profile is made of, for this caller", probe_rung,
	 "see the mechanisms below; sbx-profile(5), \"Rungs\", says what rung 2 cannot do"},
	{"namespaces", "own mounts, processes, ipc, network: every boundary of a profile",
	 probe_namespaces,
	 "run as root, or allow user namespaces (below); in a container of docker or podman, start "
	 "it "
	 "with --security-opt seccomp=FILE that allows unshare(2) and mount(2), or with "
	 "--privileged"},
	{"user namespace", "containers of an ordinary user", probe_user_namespace,
	 "set user.max_user_namespaces above 0 (sysctl), and kernel.unprivileged_userns_clone or "
	 "kernel.apparmor_restrict_unprivileged_userns where the kernel has them"},
	{"id helpers", "more than one id for an ordinary user", probe_id_helpers,
	 "install uidmap (Debian, Ubuntu) or shadow-utils (Fedora), and list the user in "
	 "/etc/subuid and /etc/subgid"},
	{"own proc", "processBoundary", probe_proc,
	 "in a container, unmask /proc (podman: --security-opt unmask=ALL, docker: --security-opt "
	 "systempaths=unconfined)"},
	{"mount API", "writeBoundary and readBoundary, mounts by descriptor", probe_mount_api,
	 "use Linux 5.12 or newer, or a security profile around us that allows open_tree(2), "
	 "fsopen(2), move_mount(2), mount_setattr(2)"},
	{"openat2", "safe paths in a container's root (a slower walk replaces it)", probe_openat2,
	 "use Linux 5.6 or newer"},
	{"landlock", "writeBoundary and readBoundary, the second layer", probe_landlock,
	 "use Linux 6.2 or newer (ABI 3; rung 2: 6.7, ABI 4) with landlock in the lsm= list"},
	{"seccomp", "processBoundary, the syscall floor", probe_seccomp,
	 "use a kernel with CONFIG_SECCOMP_FILTER, or a security profile that allows seccomp(2)"},
	{"cgroup", "limits, devices, pause, and the end of every process", probe_cgroup,
	 "mount cgroup2 on /sys/fs/cgroup, writable; as an ordinary user, have the group delegated "
	 "(run in a unit of systemd with Delegate=yes), or give --systemd-cgroup"},
};

size_t doctor_examine(struct doctor_finding *findings)
{
	struct host_facts host;

	_Static_assert(ARRAY_SIZE(rows) <= DOCTOR_FINDINGS_MAX, "the findings' bound");
	host_probe(&host);
	host_probe_namespaces(&host, true);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct doctor_finding *finding = &findings[i];

		finding->mechanism = rows[i].mechanism;
		finding->serves = rows[i].serves;
		finding->works = rows[i].probe(&host, finding->reason, sizeof(finding->reason));
		finding->remedy = finding->works ? "" : rows[i].remedy;
	}
	return ARRAY_SIZE(rows);
}
