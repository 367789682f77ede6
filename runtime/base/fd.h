/*
 * Descriptors: whole reads and writes with bounds, close-on-exec sweeps, sealed memory files,
 * open by mode and check. Every descriptor made here is CLOEXEC from birth.
 */
#ifndef SBX_BASE_FD_H
#define SBX_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/buf.h"
#include "runtime/base/error.h"

/* Append everything up to end of file to out; -EFBIG when it is more than max bytes. EINTR-safe. */
int fd_read_all(int fd, size_t max, struct buf *out);

/* Write len bytes; retries on EINTR and short writes. 0 or -errno. */
int fd_write_all(int fd, const void *data, size_t len);

/* Open NAME below dirfd (AT_FDCWD allowed), read at most max bytes, close. O_NOFOLLOW on the last
 * component, regular files only (-EINVAL else), never blocks on a FIFO. 0 or -errno. */
int fd_read_file_at(int dirfd, const char *name, size_t max, struct buf *out);

/* Record why fd_read_file_at() failed with rc at what format says: "FORMAT: REASON". Returns rc's
 * like of sbx_fail(). */
int fd_fail_read(struct sbx_error *err, enum sbx_code code, int rc, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Write a short value to an existing file (cgroup, sysctl, maps) in one write(2). 0 or -errno. */
int fd_write_value_at(int dirfd, const char *name, const char *value);

/* The mount that fd lies on, as /proc/self/mountinfo numbers it (statx(2), STATX_MNT_ID). 0,
 * -ENOSYS before Linux 5.8, or -errno. */
int fd_mount_id(int fd, uint64_t *ret_id);

/* The path that fd is reached by, as the kernel names it (proc_pid_fd(5)), into out. proc_fd: the
 * root of a procfs that shows this process, or AT_FDCWD where /proc does. -ENAMETOOLONG, -errno. */
int fd_path(int proc_fd, int fd, char *out, size_t size);

/* Make a file that nobody reads before it is whole; -EEXIST where the name is taken. 0 or -errno.
 */
int fd_create_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode);

/* Replace NAME in dirfd by data atomically: temporary file, write, rename. mode as open(2);
 * no fsync: the state store lives on tmpfs. 0 or -errno. */
int fd_replace_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode);

/* Mark every descriptor >= first CLOEXEC (close_range(2), or a walk of /proc/self/fd by an already
 * open procfs). 0 or -errno. */
int fd_cloexec_from(int first);

/*
 * Close every descriptor >= first but those in keep (n entries, in any order). proc_fd: the root of
 * a procfs that shows this process, or AT_FDCWD where /proc does. 0 or -errno.
 */
int fd_close_from(int proc_fd, int first, const int *keep, size_t n);

/* Descriptors that are done with, closed several at a time. Start with {0}. */
struct fd_batch {
	int v[16];
	size_t n;
};

/* Take fd (nothing where it is negative); a full batch is closed first. */
void fd_batch_add(struct fd_batch *batch, int fd);

/* Close what is in the batch: one close_range(2) for numbers that follow one another. */
void fd_batch_close(struct fd_batch *batch);

/* Open /dev/null on each of 0, 1, 2 that is closed, so that no later open lands there. */
int fd_fill_stdio(void);

/* Remove the directory NAME below dirfd with everything in it, iteratively and by descriptor,
 * never following a link and never crossing a mount point. A folder of an ordinary caller's own in
 * it is made accessible for that, whatever its mode. -ENOENT when absent. */
int fd_remove_tree_at(int dirfd, const char *name);

#endif
