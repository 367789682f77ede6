/*
 * The journal's files. All fields end with a NUL, since a path may hold any other byte: a format
 * line, node, store, id, then for each placeholder its kind and identity in one field, the folder
 * and the name.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/linux/placeholder.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/log.h"
#include "runtime/base/path.h"

#define FORMAT	       "sbx-placeholders 1"
#define NOTE_BYTES_MAX ((size_t)8 << 20)
#define NOTES_MAX      4096

static const char kinds[] = {
	[PLACEHOLDER_NONE] = '-',
	[PLACEHOLDER_FILE] = 'f',
	[PLACEHOLDER_FOLDER] = 'd',
	[PLACEHOLDER_COMMONDIR] = 'c',
};

/* ---- one file ---- */

static void put(struct buf *out, const char *text)
{
	buf_append(out, text, strlen(text) + 1);
}

void placeholder_note_write(const struct placeholder_note *note, struct buf *out)
{
	char object[128];

	put(out, FORMAT);
	put(out, note->node);
	put(out, note->store);
	put(out, note->id);
	for (size_t i = 0; i < note->n; i++) {
		const struct placeholder *p = &note->v[i];

		snprintf(object, sizeof(object), "%c %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64,
			 kinds[p->kind], p->is.device, p->is.inode, p->is.birth_s, p->is.birth_ns);
		put(out, object);
		put(out, p->folder);
		put(out, p->name);
	}
}

/* The next field; NULL at the end, or where no NUL ends it. */
static const char *take(const char **at, const char *end)
{
	const char *field = *at;
	const char *stop = field == end ? NULL : memchr(field, '\0', (size_t)(end - field));

	*at = stop ? stop + 1 : end;
	return stop ? field : NULL;
}

static bool parse_object(const char *text, struct placeholder *ret)
{
	const char *kind = *text ? memchr(kinds, *text, sizeof(kinds)) : NULL;
	char again[128];

	if (!kind ||
	    sscanf(text + 1, "%" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNd64, &ret->is.device,
		   &ret->is.inode, &ret->is.birth_s, &ret->is.birth_ns) != 4)
		return false;
	ret->kind = (enum placeholder_kind)(kind - kinds);
	snprintf(again, sizeof(again), "%c %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64, *kind,
		 ret->is.device, ret->is.inode, ret->is.birth_s, ret->is.birth_ns);
	return strcmp(again, text) == 0;
}

static bool is_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* At most. */
static size_t count_objects(const char *text, size_t len)
{
	size_t ends = 0;

	for (size_t i = 0; i < len; i++)
		ends += text[i] == '\0';
	return ends / 3 < PLACEHOLDERS_MAX ? ends / 3 : PLACEHOLDERS_MAX;
}

int placeholder_note_parse(struct arena *arena, const char *text, size_t len,
			   struct placeholder_note *ret)
{
	char *copy = arena_alloc(arena, len + 1);
	const char *at = copy, *end = copy + len, *format, *object;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	format = take(&at, end);
	ret->node = take(&at, end);
	ret->store = take(&at, end);
	ret->id = take(&at, end);
	ret->n = 0;
	ret->v = arena_alloc_array(arena, count_objects(copy, len) + 1, sizeof(*ret->v));
	if (!ret->v)
		return -ENOMEM;
	if (!format || strcmp(format, FORMAT) != 0 || !ret->node || !ret->store || !ret->id ||
	    !path_is_canonical(ret->store) || !is_name(ret->id))
		return -EINVAL;
	while ((object = take(&at, end))) {
		struct placeholder *p = &ret->v[ret->n];

		if (ret->n == PLACEHOLDERS_MAX)
			return -EINVAL;
		p->folder = take(&at, end);
		p->name = take(&at, end);
		p->folder_fd = -EBADF;
		if (!p->folder || !p->name || !path_is_canonical(p->folder) || !is_name(p->name) ||
		    !parse_object(object, p))
			return -EINVAL;
		ret->n++;
	}
	return len > 0 && text[len - 1] == '\0' ? 0 : -EINVAL;
}

/* ---- all files ---- */

static bool is_key(const char *name)
{
	return strlen(name) == PLACEHOLDER_KEY_CHARS &&
	       strspn(name, "0123456789abcdef") == PLACEHOLDER_KEY_CHARS;
}

static int load_one(struct arena *arena, int journal_fd, const char *key,
		    struct placeholder_note *note)
{
	cleanup_buf struct buf text = BUF_INIT;
	int r = fd_read_file_at(journal_fd, key, NOTE_BYTES_MAX, &text);

	memcpy(note->key, key, sizeof(note->key));
	return r < 0 ? r
		     : placeholder_note_parse(arena, text.data ? text.data : "", text.len, note);
}

int placeholder_load(struct arena *arena, int journal_fd, struct placeholder_note **ret,
		     size_t *ret_n)
{
	int fd = openat(journal_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	*ret_n = 0;
	if (!dir) {
		int r = -errno;

		cleanup_close_fd(&fd);
		return r;
	}
	*ret = NULL;
	while (*ret_n < NOTES_MAX && (entry = readdir(dir))) {
		int r;

		if (!is_key(entry->d_name))
			continue;
		*ret = arena_grow(arena, *ret, *ret_n, sizeof(**ret));
		r = *ret ? load_one(arena, journal_fd, entry->d_name, &(*ret)[*ret_n]) : -ENOMEM;
		if (r == 0)
			++*ret_n;
		else if (r == -ENOMEM)
			return r;
		else if (r != -ENOENT)
			log_warning("the journal's file \"%s\" is damaged: what it names is not "
				    "removed",
				    entry->d_name);
	}
	return 0;
}
