/*
 * Fields are split by blanks; a blank inside of a path stands there as an octal escape, so that the
 * first " - " field ends the optional ones.
 */
#include "backends/linux/mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

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
	char *save = NULL, *field, *fields[5];
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
	if (!ret->type)
		return false;
	ret->id = strtoull(fields[0], NULL, 10);
	ret->parent = strtoull(fields[1], NULL, 10);
	ret->device = fields[2];
	ret->root = fields[3];
	ret->point = fields[4];
	unescape(ret->root);
	unescape(ret->point);
	return true;
}

int mount_table_lines(int proc_fd, struct arena *arena, struct mount_line **ret, size_t *ret_n)
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
	*ret = lines;
	*ret_n = n;
	return 0;
}
