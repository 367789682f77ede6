/*
 * Removing what is nobody's any more. A container lives as long as its folder in the store has its
 * key, so the sweep follows the removal of that folder and asks nothing else; a reboot empties the
 * store.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backends/linux/placeholder.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/log.h"
#include "runtime/base/path.h"

#define ARENA_BYTES	    ((size_t)256 << 20)
#define COMMONDIR_BYTES_MAX 2

struct sweep {
	int journal_fd;
	struct placeholder_note *notes;
	size_t n;
	bool *lives;
	size_t removed, left;
};

/* ---- who lives ---- */

static bool has_key(const struct placeholder_note *note)
{
	cleanup_buf struct buf text = BUF_INIT;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s/" PLACEHOLDER_KEY_FILE, note->store, note->id);
	int r = n < 0 || (size_t)n >= sizeof(path)
			? -ENOENT
			: fd_read_file_at(AT_FDCWD, path, PLACEHOLDER_KEY_CHARS, &text);

	/* what cannot be asked counts as there */
	if (r < 0)
		return r != -ENOENT && r != -ENOTDIR;
	return text.len == PLACEHOLDER_KEY_CHARS &&
	       memcmp(text.data, note->key, PLACEHOLDER_KEY_CHARS) == 0;
}

/* A home folder may be shared with another machine: its containers are not seen from here. */
static bool lives(const struct placeholder_note *note)
{
	struct utsname machine;

	return uname(&machine) < 0 || strcmp(machine.nodename, note->node) != 0 || has_key(note);
}

static bool is_needed(const struct sweep *s, const struct placeholder *p)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; s->lives[i] && k < s->notes[i].n; k++)
			if (p->is.inode && placeholder_is_same(&p->is, &s->notes[i].v[k].is))
				return true;
	return false;
}

/* ---- removal ---- */

static bool is_untouched(const struct placeholder *p, int fd)
{
	cleanup_buf struct buf text = BUF_INIT;

	if (p->kind == PLACEHOLDER_FOLDER)
		return true; /* rmdir(2) knows */
	if (fd_read_all(fd, COMMONDIR_BYTES_MAX, &text) < 0)
		return false;
	return text.len == 0 ||
	       (p->kind == PLACEHOLDER_COMMONDIR && memcmp(text.data, ".\n", text.len) == 0);
}

/* Whoever has it open may still write to it. A file system without leases cannot tell. */
static bool is_open_elsewhere(int fd)
{
	return fcntl(fd, F_SETLEASE, F_WRLCK) < 0 && errno == EAGAIN;
}

/* The object of the private name: ours, and as it was made, or back with it. -EBUSY: later. */
static int settle(int folder, const char *private, const struct placeholder *p)
{
	bool is_folder = p->kind == PLACEHOLDER_FOLDER;
	cleanup_fd int fd = openat(folder, private,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC |
					   (is_folder ? O_DIRECTORY : 0));
	struct object_identity is;
	bool busy = false, ours;

	if (fd < 0 && errno == ENOENT)
		return 0;
	ours = fd >= 0 && placeholder_identify(fd, "", &is) == 0 &&
	       (!p->is.inode || placeholder_is_same(&is, &p->is)) && is_untouched(p, fd);
	busy = ours && !is_folder && is_open_elsewhere(fd);
	if (ours && !busy && unlinkat(folder, private, is_folder ? AT_REMOVEDIR : 0) == 0)
		return 1;
	if (renameat2(folder, private, folder, p->name, RENAME_NOREPLACE) == 0)
		return busy ? -EBUSY : 0;
	log_warning("\"%s/%s\" is no placeholder any more and its name \"%s\" is taken: it stays "
		    "where it is",
		    p->folder, private, p->name);
	return -EEXIST;
}

/* 1: removed; 0: not there, or the user's by now; -errno: to be tried again. */
static int remove_placeholder(const struct placeholder *p, const char *key, size_t i)
{
	cleanup_fd int folder = path_open_no_symlinks(AT_FDCWD, p->folder, O_RDONLY | O_DIRECTORY);
	struct object_identity is;
	char private[64];
	int r;

	if (folder < 0)
		return folder == -ENOENT || folder == -ENOTDIR || folder == -ELOOP ? 0 : folder;
	placeholder_private_name(key, i, private);
	r = settle(folder, private, p);
	if (r != 0 || !p->is.inode || placeholder_identify(folder, p->name, &is) < 0 ||
	    !placeholder_is_same(&is, &p->is))
		return r;
	if (renameat2(folder, p->name, folder, private, RENAME_NOREPLACE) < 0)
		return errno == ENOENT ? 0 : -errno;
	return settle(folder, private, p);
}

static void sweep_note(struct sweep *s, const struct placeholder_note *note)
{
	bool left = false;

	for (size_t i = 0; i < note->n; i++) {
		int r = is_needed(s, &note->v[i]) ? 0
						  : remove_placeholder(&note->v[i], note->key, i);

		s->removed += r > 0;
		s->left += r < 0;
		left |= r < 0;
		if (r < 0)
			log_warning("the placeholder \"%s/%s\" cannot be removed yet: %s",
				    note->v[i].folder, note->v[i].name, strerrordesc_np(-r));
	}
	if (!left)
		unlinkat(s->journal_fd, note->key, 0);
}

int placeholder_sweep(int journal_fd, size_t *ret_removed, size_t *ret_left)
{
	struct sweep s = {.journal_fd = journal_fd};
	cleanup_fd int lock = placeholder_lock(journal_fd);
	cleanup_arena struct arena arena;
	int r;

	arena_init(&arena, ARENA_BYTES);
	r = lock < 0 ? lock : placeholder_load(&arena, journal_fd, &s.notes, &s.n);
	if (r == 0) {
		s.lives = arena_alloc_array(&arena, s.n + 1, sizeof(*s.lives));
		r = s.lives ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < s.n; i++)
		s.lives[i] = lives(&s.notes[i]);
	for (size_t i = 0; r == 0 && i < s.n; i++)
		if (!s.lives[i])
			sweep_note(&s, &s.notes[i]);
	if (ret_removed)
		*ret_removed = s.removed;
	if (ret_left)
		*ret_left = s.left;
	return r;
}
