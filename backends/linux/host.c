/*
 * The probe: a handful of system calls that change nothing.
 *
 * Each call is made with arguments that can only fail, and the errno tells whether the kernel (and
 * every filter above this process) knows it: ENOSYS is a kernel without it or a filter, EPERM a
 * filter, unless the call looks at privileges first and there are none.
 */
#include "backends/linux/host.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PROBE_LANDLOCK_CREATE_RULESET_VERSION 1u
#define PROBE_LANDLOCK_CREATE_RULESET_ERRATA  2u
#define PROBE_USER_NS_INODE		      0xEFFFFFFDul /* PROC_USER_INIT_INO: proc_ns.h */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_open_tree
#define SYS_open_tree  428
#define SYS_move_mount 429
#define SYS_fsopen     430
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

static bool has_sys_admin(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	return (data[0].effective >> CAP_SYS_ADMIN) & 1;
}

/* The inode of the first user namespace is fixed; one with an identity map is still another. */
static bool in_initial_userns(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 && st.st_ino == PROBE_USER_NS_INODE;
}

static unsigned landlock_version(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   PROBE_LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? (unsigned)abi : 0;
}

static int landlock_errata(void)
{
	long errata =
		syscall(SYS_landlock_create_ruleset, NULL, 0, PROBE_LANDLOCK_CREATE_RULESET_ERRATA);

	return errata > 0 ? (int)errata : 0;
}

static bool has_seccomp_filter(void)
{
	const unsigned actions[] = {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ERRNO};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &actions[i]) < 0)
			return false;
	return true;
}

/* Did a call that cannot succeed reach the kernel? */
static bool call_known(long result, bool eperm_is_privilege)
{
	if (result >= 0)
		return true;
	return errno != ENOSYS && (errno != EPERM || eperm_is_privilege);
}

static bool has_mount_api(bool sys_admin)
{
	/* no descriptor -1; the size 0 is refused before privileges are looked at */
	return call_known(syscall(SYS_open_tree, -1, "", 0x1000 /* AT_EMPTY_PATH */), false) &&
	       call_known(syscall(SYS_mount_setattr, -1, "", 0, NULL, (size_t)0), false) &&
	       call_known(syscall(SYS_move_mount, -1, "", -1, "", ~0u), !sys_admin) &&
	       call_known(syscall(SYS_fsopen, NULL, ~0u), !sys_admin);
}

static enum cgroup_mode find_cgroup_mode(void)
{
	struct statfs fs;

	if (statfs("/sys/fs/cgroup", &fs) < 0)
		return CGROUP_MODE_NONE;
	if (fs.f_type == CGROUP2_SUPER_MAGIC)
		return CGROUP_MODE_V2;
	if (statfs("/sys/fs/cgroup/unified", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
		return CGROUP_MODE_HYBRID;
	if (statfs("/sys/fs/cgroup/memory", &fs) == 0 && fs.f_type == CGROUP_SUPER_MAGIC)
		return CGROUP_MODE_V1;
	if (statfs("/sys/fs/cgroup/freezer", &fs) == 0 && fs.f_type == CGROUP_SUPER_MAGIC)
		return CGROUP_MODE_V1;
	return CGROUP_MODE_NONE;
}

bool host_is_privileged(void)
{
	return geteuid() == 0 && has_sys_admin();
}

void host_probe(struct host_facts *host)
{
	bool sys_admin = has_sys_admin();

	*host = (struct host_facts){
		.euid = geteuid(),
		.egid = getegid(),
		.initial_userns = in_initial_userns(),
		.landlock_abi = landlock_version(),
		.landlock_errata = landlock_errata(),
		.seccomp_filter = has_seccomp_filter(),
		.mount_api = has_mount_api(sys_admin),
		.cgroup_mode = find_cgroup_mode(),
	};
	host->privileged = host->euid == 0 && sys_admin;
}
