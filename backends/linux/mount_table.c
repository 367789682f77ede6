/*
 * Fields are split by blanks; a blank inside of a path stands there as an octal escape, so that the
 * first " - " field ends the optional ones.
 */
#include "backends/linux/mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/procfs.h"

#define TABLE_BYTES_MAX ((size_t)16 << 20)

int mount_table_read(int proc_fd, struct buf *out)
{
	cleanup_fd int fd = procfs_open(proc_fd, "self/mountinfo", O_RDONLY);
	int r = fd < 0 ? fd : fd_read_all(fd, TABLE_BYTES_MAX, out);

	return r == 0 && !out->data ? -ENODATA : r;
}

static void unescape(char *text)
{
	char *out = text;

	while (*text) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
		    text[2] <= '7' && text[3] >= '0' && text[3] <= '7') {
			*out++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
					(text[3] - '0'));
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

/* "ID PARENT DEV ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER" */
bool mount_line_parse(char *line, struct mount_line *ret)
{
	char *save = NULL, *field, *fields[6];
	unsigned major, minor;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
		if (!fields[i])
			return false;
	}
	do {
		field = strtok_r(NULL, " ", &save);
	} while (field && strcmp(field, "-") != 0);
	ret->type = field ? strtok_r(NULL, " ", &save) : NULL;
	if (!ret->type || sscanf(fields[2], "%u:%u", &major, &minor) != 2)
		return false;
	ret->id = strtoull(fields[0], NULL, 10);
	ret->parent = strtoull(fields[1], NULL, 10);
	ret->device = makedev(major, minor);
	ret->root = fields[3];
	ret->point = fields[4];
	ret->read_only = strcmp(fields[5], "ro") == 0 || strncmp(fields[5], "ro,", 3) == 0;
	unescape(ret->root);
	unescape(ret->point);
	return true;
}

static int compare_depth(const void *left, const void *right)
{
	const struct mount_line *a = left, *b = right;
	size_t a_len = strlen(a->point), b_len = strlen(b->point);

	return (a_len > b_len) - (a_len < b_len);
}

int mount_table_load(int proc_fd, struct arena *arena, struct mount_table *ret)
{
	cleanup_buf struct buf table = BUF_INIT;
	struct mount_line *lines;
	size_t n = 0, count = 1;
	char *text, *line;
	int r = mount_table_read(proc_fd, &table);

	if (r < 0)
		return r;
	for (line = table.data; (line = strchr(line, '\n')); line++)
		count++;
	text = arena_strdup(arena, table.data);
	lines = arena_alloc_array(arena, count, sizeof(*lines));
	if (!text || !lines)
		return -ENOMEM;
	while ((line = strsep(&text, "\n"))) {
		if (n < count && mount_line_parse(line, &lines[n]))
			n++;
	}
	qsort(lines, n, sizeof(*lines), compare_depth);
	*ret = (struct mount_table){lines, n};
	return 0;
}

const struct mount_line *mount_line_by_id(const struct mount_table *table, uint64_t id)
{
	size_t i;

	for (i = 0; i < table->n; i++) {
		if (table->lines[i].id == id)
			return &table->lines[i];
	}
	return NULL;
}

bool mount_line_is_on(const struct mount_table *table, const struct mount_line *line, uint64_t id)
{
	size_t depth;

	for (depth = 0; line && depth <= table->n; depth++) {
		if (line->id == id)
			return true;
		line = mount_line_by_id(table, line->parent);
	}
	return false;
}
