/*
 * Making: note the names, make the objects under private names, note what they are, rename. A
 * crash in between leaves objects that the journal knows by a name which nobody else uses, or by
 * identity. Only the second note is forced to the disk: what a loss of power before it leaves are
 * empty objects of private names.
 */
#include "backends/linux/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <time.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/fd.h"

#define CLOCK_SLACK_S 1 /* between our clock and that of a file system */

#define LOCK_WAIT_MS 10000
#define LOCK_POLL_MS 5

static const char same_folder[] = ".\n"; /* of a commondir */

int placeholder_key(char key[PLACEHOLDER_KEY_CHARS + 1])
{
	unsigned char bytes[PLACEHOLDER_KEY_CHARS / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(key + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int placeholder_lock(int journal_fd)
{
	cleanup_fd int fd = openat(journal_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int64_t end = clock_now_ms() + LOCK_WAIT_MS;

	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (clock_now_ms() > end)
			return -EWOULDBLOCK;
		usleep(LOCK_POLL_MS * 1000);
	}
	return take_fd(&fd);
}

int placeholder_identify(int fd, const char *name, struct object_identity *ret)
{
	struct statx stx;

	if (statx(fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH),
		  STATX_BASIC_STATS | STATX_BTIME, &stx) < 0)
		return -errno;
	*ret = (struct object_identity){
		.device = makedev(stx.stx_dev_major, stx.stx_dev_minor),
		.inode = stx.stx_ino,
	};
	if (stx.stx_mask & STATX_BTIME) {
		ret->birth_s = stx.stx_btime.tv_sec;
		ret->birth_ns = stx.stx_btime.tv_nsec;
	}
	return 0;
}

bool placeholder_is_same(const struct object_identity *a, const struct object_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->birth_s == b->birth_s &&
	       a->birth_ns == b->birth_ns;
}

void placeholder_private_name(const char *key, size_t i, char out[64])
{
	snprintf(out, 64, ".sbx-%s-%zu", key, i);
}

/* ---- making ---- */

static int note(const struct placeholder_owner *owner, struct placeholder *v, size_t n, bool sync)
{
	cleanup_buf struct buf text = BUF_INIT;
	struct utsname machine;
	struct placeholder_note note = {.store = owner->store, .id = owner->id, .v = v, .n = n};
	cleanup_fd int fd = -EBADF;
	int r;

	if (uname(&machine) < 0)
		return -errno;
	note.node = machine.nodename;
	placeholder_note_write(&note, &text);
	if (buf_failed(&text))
		return -ENOMEM;
	r = fd_replace_file_at(owner->journal_fd, owner->key, text.data, text.len, 0600);
	if (r < 0 || !sync)
		return r;
	fd = openat(owner->journal_fd, owner->key, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* It is its folder's owner's, as if he had made it. */
static int hand_over(int fd, const struct placeholder *p)
{
	bool is_folder = p->kind == PLACEHOLDER_FOLDER;
	struct stat st;

	if (fstat(p->folder_fd, &st) < 0 || fchmod(fd, is_folder ? 0755 : 0644) < 0)
		return -errno;
	if (fchown(fd, st.st_uid, st.st_gid) < 0 && errno != EPERM && errno != EINVAL)
		return -errno;
	return 0;
}

/* Of all folders that somebody could have put at the name meanwhile none was made since then, by us
 * and with nothing in it. */
static bool is_made_now(int fd, const struct timespec *since)
{
	cleanup_dir DIR *dir = NULL;
	struct dirent *entry;
	struct statx stx;
	int copy;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_UID | STATX_MODE | STATX_BTIME, &stx) < 0 ||
	    stx.stx_uid != geteuid() || (stx.stx_mode & 0777) != 0700 ||
	    ((stx.stx_mask & STATX_BTIME) && stx.stx_btime.tv_sec < since->tv_sec - CLOCK_SLACK_S))
		return false;
	copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir) {
		cleanup_close_fd(&copy);
		return false;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return false;
	return true;
}

static int make_object(struct placeholder *p, const char *name)
{
	bool is_folder = p->kind == PLACEHOLDER_FOLDER;
	struct timespec since;
	cleanup_fd int fd = -EBADF;
	int r;

	clock_gettime(CLOCK_REALTIME, &since);
	if (is_folder && mkdirat(p->folder_fd, name, 0700) < 0)
		return -errno;
	fd = openat(p->folder_fd, name,
		    O_NOFOLLOW | O_CLOEXEC |
			    (is_folder ? O_RDONLY | O_DIRECTORY : O_WRONLY | O_CREAT | O_EXCL),
		    0600);
	if (fd < 0)
		return -errno;
	if (is_folder && !is_made_now(fd, &since))
		return -ESTALE;
	r = p->kind == PLACEHOLDER_COMMONDIR ? fd_write_all(fd, same_folder, strlen(same_folder))
					     : 0;
	if (r == 0)
		r = hand_over(fd, p);
	return r < 0 ? r : placeholder_identify(fd, "", &p->is);
}

static int fail_make(const struct placeholder *p, int r, struct sbx_error *err)
{
	return sbx_fail(err, r == -EEXIST ? SBX_E_UNSAFE_PATH : SBX_E_SYSTEM, -r,
			"keep the name \"%s\" in \"%s\" free", p->name, p->folder);
}

static int fail_note(int r, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_SYSTEM, -r, "note the placeholders in the journal");
}

int placeholder_make(const struct placeholder_owner *owner, struct placeholder *v, size_t n,
		     struct sbx_error *err)
{
	char name[64];
	int r = note(owner, v, n, false);

	if (r < 0)
		return fail_note(r, err);
	for (size_t i = 0; i < n; i++) {
		placeholder_private_name(owner->key, i, name);
		r = v[i].folder_fd < 0 ? 0 : make_object(&v[i], name);
		v[i].skip = r == -EROFS;
		if (r < 0 && !v[i].skip)
			return fail_make(&v[i], r, err);
	}
	r = note(owner, v, n, true);
	if (r < 0)
		return fail_note(r, err);
	for (size_t i = 0; i < n; i++) {
		placeholder_private_name(owner->key, i, name);
		if (v[i].folder_fd < 0 || v[i].skip)
			continue;
		if (renameat2(v[i].folder_fd, name, v[i].folder_fd, v[i].name, RENAME_NOREPLACE) <
		    0)
			return fail_make(&v[i], -errno, err);
	}
	return 0;
}
