/*
 * The session and its terminal.
 *
 * With a terminal the pair comes from the container's own devpts, so that its names and owner are
 * right inside: /dev/pts is opened without links and asked for its file system, ptmx below it is
 * opened by descriptor, and the slave by TIOCGPTPEER (ioctl_tty(2)), never by a name that the image
 * could have replaced (CVE-2025-52565). /dev/console is a bind of that slave onto a file that is
 * made or opened without following a link. All this happens while the mounts are made, before
 * anything may become read-only; the master waits in run->tty_master_fd. At STAGE_DESCRIPTORS, or
 * at STAGE_TTY where that comes first, the terminal becomes 0, 1 and 2; at STAGE_TTY the process
 * becomes a session leader with it as its controlling one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backends/linux/mount_api.h"
#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

static int open_ptmx(const struct run *run, struct sbx_error *err)
{
	cleanup_fd int pts = path_open_no_symlinks(run->rootfs_fd, "dev/pts", O_PATH | O_DIRECTORY);
	struct statfs fs;
	int fd;

	if (pts < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -pts,
				"open \"/dev/pts\" (a terminal needs a devpts mount there)");
	if (fstatfs(pts, &fs) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "stat \"/dev/pts\"");
	if (fs.f_type != DEVPTS_SUPER_MAGIC)
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
				"make a terminal: there is no devpts mount on \"/dev/pts\"");
	fd = openat(pts, "ptmx", O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, errno, "open \"/dev/pts/ptmx\"") : fd;
}

/* The slave belongs to the user that the process will be; its group is the devpts mount's. */
static int set_owner_and_size(const struct oci_process *process, int slave, struct sbx_error *err)
{
	struct winsize size = {0};
	struct stat st;

	if (process->console_size_set) {
		size.ws_row = (unsigned short)process->console_height;
		size.ws_col = (unsigned short)process->console_width;
		if (ioctl(slave, TIOCSWINSZ, &size) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "set the terminal's size");
	}
	if (fstat(slave, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "stat the terminal");
	if (st.st_uid != process->user.uid && fchown(slave, process->user.uid, (gid_t)-1) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "give the terminal to uid %u%s",
				process->user.uid,
				errno == EINVAL ? " (linux.uidMappings does not have it)" : "");
	return 0;
}

static int make_terminal(struct run *run, struct sbx_error *err)
{
	cleanup_fd int master = open_ptmx(run, err), slave = -EBADF;
	int unlocked = 0, r;

	if (master < 0)
		return master;
	if (ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "unlock the terminal");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open the terminal's other end");
	r = set_owner_and_size(room_process(run->plan), slave, err);
	if (r < 0)
		return r;
	run->tty_master_fd = take_fd(&master);
	run->console_fd = take_fd(&slave);
	return 0;
}

/* /dev/console as a mount target: a regular file or a device, made empty where it is missing. */
static int open_console(const struct run *run, struct sbx_error *err)
{
	cleanup_fd int dev = path_open_no_symlinks(run->rootfs_fd, "dev", O_PATH | O_DIRECTORY);
	cleanup_fd int fd = -EBADF;
	struct stat st;

	if (dev < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -dev, "open \"/dev\"");
	fd = openat(dev, "console", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		fd = openat(dev, "console", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make \"/dev/console\"");
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"bind the terminal on \"/dev/console\": something else is there");
	return take_fd(&fd);
}

static int bind_console(const struct run *run, struct sbx_error *err)
{
	cleanup_fd int target = open_console(run, err), mount = -EBADF;
	int r;

	if (target < 0)
		return target;
	mount = mount_tree_clone_fd(run->console_fd, false);
	if (mount < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -mount, "clone the terminal");
	r = mount_tree_attach(mount, target);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "bind the terminal on \"/dev/console\"") : 0;
}

static int replace_stdio(struct run *run, struct sbx_error *err)
{
	int fd;

	for (fd = 1; fd <= 2; fd++) {
		int *pipe_fd = &run->output_fds[fd - 1];

		if (*pipe_fd >= 0 && dup2(*pipe_fd, fd) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "make the pipe descriptor %d",
					fd);
		cleanup_close_fd(pipe_fd);
	}
	if (run->console_fd < 0)
		return 0;
	for (fd = 0; fd <= 2; fd++) {
		if (dup2(run->console_fd, fd) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "make the terminal descriptor %d",
					fd);
	}
	cleanup_close_fd(&run->console_fd);
	return 0;
}

static int enter_session(struct run *run, struct sbx_error *err)
{
	int r = replace_stdio(run, err);

	if (r < 0)
		return r;
	/* a process group leader has a session already or is one: nothing to do */
	if (setsid() < 0 && errno != EPERM)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make a session");
	if (run->plan->process.terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "take the controlling terminal");
	return 0;
}

static int tty_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	(void)report;
	if (plan->process.terminal && plan->rung != RUNG_SHARED && !plan->mounts.new_root &&
	    !plan->namespaces.path[NS_MNT])
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/process/terminal",
				   "a terminal needs a mount namespace of the container");
	return 0;
}

static int tty_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct plan *plan = run->plan;
	int r;

	if (stage == STAGE_TTY)
		return enter_session(run, err);
	if (stage == STAGE_DESCRIPTORS)
		return replace_stdio(run, err);
	if (stage != STAGE_MOUNTS || !plan->process.terminal)
		return 0;
	r = make_terminal(run, err);
	if (r < 0 || run->is_exec || !plan->mounts.new_root)
		return r;
	return bind_console(run, err);
}

const struct room room_tty = {
	.name = "tty",
	.without_namespaces = true,
	.plan = tty_plan,
	.apply = tty_apply,
};
