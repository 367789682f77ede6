/*
 * Labels of the Linux security modules for the program to come: AppArmor's profile and SELinux's
 * context, written to the attribute files of the private procfs, where nothing that an image or a
 * volume mounts can stand in between (CVE-2019-16884, CVE-2025-52881).
 *
 * A label that no module would enforce is refused: config.json asked for confinement that the host
 * does not have. The one exception is the profile "unconfined", which asks for none.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backends/linux/room.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/procfs.h"

#define SELINUX_SUPER_MAGIC 0xf97cff8c
#define APPARMOR_SWITCH	    "/sys/module/apparmor/parameters/enabled"

static bool apparmor_is_on(void)
{
	cleanup_fd int fd = open(APPARMOR_SWITCH, O_RDONLY | O_CLOEXEC);
	char answer = 'N';

	return fd >= 0 && read(fd, &answer, 1) == 1 && answer == 'Y';
}

static bool selinux_is_on(void)
{
	struct statfs fs;

	return statfs("/sys/fs/selinux", &fs) == 0 &&
	       (unsigned long)fs.f_type == SELINUX_SUPER_MAGIC;
}

static bool is_set(const char *text)
{
	return text && text[0] != '\0';
}

static int lsm_prepare(struct run *run, struct sbx_error *err)
{
	const struct oci_process *process = room_process(run->plan);

	if (!process)
		return 0;
	if (is_set(process->apparmor_profile) &&
	    strcmp(process->apparmor_profile, "unconfined") != 0 && !apparmor_is_on())
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process/apparmorProfile",
				   "apply AppArmor profile \"%s\": AppArmor is not enabled on this "
				   "host",
				   process->apparmor_profile);
	if (is_set(process->selinux_label) && !selinux_is_on())
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process/selinuxLabel",
				   "apply SELinux label \"%s\": SELinux is not enabled on this "
				   "host",
				   process->selinux_label);
	return 0;
}

/* The module's own directory first: with several modules "attr/exec" belongs to the first of them.
 */
static int apparmor_write(int proc_fd, const char *profile)
{
	cleanup_buf struct buf value = BUF_INIT;
	int r;

	buf_printf(&value, "exec %s", profile);
	if (buf_failed(&value))
		return -ENOMEM;
	r = procfs_write(proc_fd, "self/attr/apparmor/exec", value.data);
	if (r == -ENOENT)
		r = procfs_write(proc_fd, "self/attr/exec", value.data);
	return r;
}

static int lsm_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct oci_process *process = room_process(run->plan);
	int r;

	(void)stage;
	if (!process)
		return 0;
	if (is_set(process->selinux_label)) {
		r = procfs_write(run->proc_fd, "self/attr/exec", process->selinux_label);
		if (r < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "apply SELinux label \"%s\"",
					process->selinux_label);
	}
	if (is_set(process->apparmor_profile)) {
		r = apparmor_write(run->proc_fd, process->apparmor_profile);
		if (r < 0 && strcmp(process->apparmor_profile, "unconfined") != 0)
			return sbx_fail(err, SBX_E_SYSTEM, -r, "apply AppArmor profile \"%s\"",
					process->apparmor_profile);
	}
	return 0;
}

const struct room room_lsm = {
	.name = "lsm",
	.without_namespaces = true,
	.prepare = lsm_prepare,
	.apply = lsm_apply,
};
