/*
 * Each right that the Landlock domain handles, tried in a detached folder where mounts and modes
 * allow everything and no rule opens anything (probe_make_places()).
 *
 * REFER has no row: a domain that did not handle it would refuse it all the more.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/plan.h"
#include "backends/linux/probe/probe.h"
#include "runtime/base/cleanup.h"

#define FILES	     (PROBE_READ | PROBE_WRITE)
#define ABI_TRUNCATE 3
#define ABI_DEVICE   5

static int open_and_close(const char *name, int flags)
{
	int fd = open(name, flags | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int read_file(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	return open_and_close("file", O_RDONLY);
}

static int read_folder(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	return open_and_close(".", O_RDONLY | O_DIRECTORY);
}

static int write_file(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	return open_and_close("file", O_WRONLY);
}

/* An empty file: the kernel finds no format in what it may execute. */
static int execute(struct probe *probe, const struct probe_row *row)
{
	char *const argv[] = {"program", NULL}, *const none[] = {NULL};

	(void)probe;
	(void)row;
	execve("program", argv, none);
	return -errno;
}

static int truncate_file(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	return truncate("file", 0) < 0 ? -errno : 0;
}

static int remove_file(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	return unlink("old") < 0 || mknod("old", S_IFREG | 0777, 0) < 0 ? -errno : 0;
}

static int remove_folder(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	return rmdir("folder") < 0 || mkdir("folder", 0777) < 0 ? -errno : 0;
}

static int make_folder(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	if (mkdir("new", 0777) < 0)
		return -errno;
	return rmdir("new") < 0 ? -errno : 0;
}

static int make_link(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	(void)row;
	if (symlink("file", "new") < 0)
		return -errno;
	return unlink("new") < 0 ? -errno : 0;
}

/* args: the type of file. A character device 0:0 needs no capability. */
static int make_node(struct probe *probe, const struct probe_row *row)
{
	(void)probe;
	if (mknod("new", (mode_t)row->args[0] | 0600, 0) < 0)
		return -errno;
	return unlink("new") < 0 ? -errno : 0;
}

/* Access mode 3 opens a device for ioctl(2) alone, which asks for no right but this one. */
static int device_ioctl(struct probe *probe, const struct probe_row *row)
{
	cleanup_fd int fd = -EBADF;
	int bits;

	(void)row;
	if (!probe->has_device)
		return PROBE_NOT_TRIED;
	fd = open("device", O_ACCMODE | O_CLOEXEC);
	return fd < 0 || ioctl(fd, RNDGETENTCNT, &bits) < 0 ? -errno : 0;
}

static const struct {
	const char *name;
	uint32_t carries;
	unsigned abi;
	probe_fn attempt;
	int control_errno;
	uint64_t type;
} rights[] = {
	{"execute", PROBE_READ, 1, execute, ENOEXEC, 0},
	{"read a file", PROBE_READ, 1, read_file, 0, 0},
	{"list a folder", PROBE_READ, 1, read_folder, 0, 0},
	{"write a file", PROBE_WRITE, 1, write_file, 0, 0},
	{"truncate a file", PROBE_WRITE, ABI_TRUNCATE, truncate_file, 0, 0},
	{"remove a file", PROBE_WRITE, 1, remove_file, 0, 0},
	{"remove a folder", PROBE_WRITE, 1, remove_folder, 0, 0},
	{"make a file", PROBE_WRITE, 1, make_node, 0, S_IFREG},
	{"make a folder", PROBE_WRITE, 1, make_folder, 0, 0},
	{"make a socket", PROBE_WRITE, 1, make_node, 0, S_IFSOCK},
	{"make a pipe", PROBE_WRITE, 1, make_node, 0, S_IFIFO},
	{"make a symbolic link", PROBE_WRITE, 1, make_link, 0, 0},
	{"make a character device", PROBE_WRITE, 1, make_node, 0, S_IFCHR},
	/* the capability is asked for behind Landlock */
	{"make a block device", PROBE_WRITE, 1, make_node, EPERM, S_IFBLK},
	{"ioctl of a device", FILES, ABI_DEVICE, device_ioctl, 0, 0},
};

void probe_add_landlock(struct probe *probe)
{
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (probe->plan->landlock.abi >= rights[i].abi)
			probe_add_row(probe, &(struct probe_row){
						     .name = rights[i].name,
						     .mechanism = "landlock",
						     .carries = rights[i].carries,
						     .layer = PROBE_LANDLOCK,
						     .attempt = rights[i].attempt,
						     .control_errno = rights[i].control_errno,
						     .refusals = {EACCES},
						     .args = {rights[i].type},
					     });
}
