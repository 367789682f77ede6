/*
 * Whether the image is safe is read from the kernel, not from a marker that a caller could forge: a
 * read-only mount by fstatfs(2), a memory file by its seals.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/self_image.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static bool image_is_safe(int fd)
{
	struct statvfs fs;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals >= 0 && (seals & F_SEAL_WRITE))
		return true;
	return fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY);
}

static int open_read_only_mount(int exe_fd)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	int fd = sys_open_tree(exe_fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	int rc;

	if (fd < 0)
		return fd;
	rc = sys_mount_setattr(fd, "", AT_EMPTY_PATH, &attr);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

static int open_sealed_copy(int exe_fd)
{
	cleanup_fd int memory = memfd_create("sbx-runtime", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct stat st;
	off_t done = 0;

	if (memory < 0 || fstat(exe_fd, &st) < 0)
		return -errno;
	while (done < st.st_size)
		if (sendfile(memory, exe_fd, &done, (size_t)(st.st_size - done)) <= 0)
			return -errno;
	if (fchmod(memory, 0500) < 0 || fcntl(memory, F_ADD_SEALS, SEALS) < 0)
		return -errno;
	return take_fd(&memory);
}

int self_image_ensure(char **argv, struct sbx_error *err)
{
	cleanup_fd int exe_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	cleanup_fd int image = -EBADF;

	if (exe_fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open the runtime's own image");
	if (image_is_safe(exe_fd)) {
		prctl(PR_SET_NAME, "sbx-runtime");
		return 0;
	}
	image = open_read_only_mount(exe_fd);
	if (image < 0)
		image = open_sealed_copy(exe_fd);
	if (image < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -image, "make a read-only image of the runtime");
	execveat(image, "", argv, environ, AT_EMPTY_PATH);
	return sbx_fail(err, SBX_E_SYSTEM, errno, "continue from a read-only image of the runtime");
}
