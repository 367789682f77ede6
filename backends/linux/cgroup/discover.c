/*
 * Which hierarchies there are, and where.
 *
 * Two files of procfs tell: /proc/PID/cgroup lists every hierarchy that has a group for the process
 * (with v1's controllers in the kernel's own order), /proc/PID/mountinfo where each is mounted.
 * Neither is asked for more than that: the mount table is read only until every hierarchy is found,
 * because a host with many containers has thousands of lines behind them. A hierarchy that is not
 * mounted (a container with its own cgroup mounts) is left out.
 *
 * The parsers take bytes and no descriptor, and every field has a bound.
 */
#include "backends/linux/cgroup/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"

#define MOUNTINFO_MAX_BYTES ((size_t)64 << 20)
#define MOUNTINFO_CHUNK	    8192
#define MEMBERSHIP_MAX	    (CGROUP_HIERARCHIES_MAX * 640)

static int copy_bounded(char *out, size_t size, const char *from, size_t len)
{
	if (len >= size || memchr(from, '\0', len))
		return -EPROTO;
	memcpy(out, from, len);
	out[len] = '\0';
	return 0;
}

static int parse_membership_line(const char *line, size_t len, struct cgroup_layout *layout)
{
	const char *end = line + len;
	const char *first = memchr(line, ':', len);
	const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
	struct cgroup_mount *m;

	if (!second || second + 1 == end || second[1] != '/')
		return -EPROTO;
	if (layout->n == CGROUP_HIERARCHIES_MAX)
		return -E2BIG;
	m = &layout->v[layout->n];
	*m = (struct cgroup_mount){.unified = second == first + 1};
	if (copy_bounded(m->controllers, sizeof(m->controllers), first + 1,
			 (size_t)(second - first - 1)) < 0 ||
	    copy_bounded(m->own, sizeof(m->own), second + 1, (size_t)(end - second - 1)) < 0)
		return -EPROTO;
	layout->n++;
	layout->missing++;
	return 0;
}

int cgroup_parse_membership(const char *data, size_t len, struct cgroup_layout *layout)
{
	*layout = (struct cgroup_layout){0};
	while (len > 0) {
		const char *newline = memchr(data, '\n', len);
		size_t line = newline ? (size_t)(newline - data) : len;
		int r = parse_membership_line(data, line, layout);

		if (r < 0)
			return r;
		line += newline != NULL;
		data += line;
		len -= line;
	}
	return 0;
}

/* The kernel writes blank, tab, newline and backslash as "\OOO" (proc(5)). */
static int decode_octal(const char *from, size_t len, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)from[i];

		if (c == '\\') {
			unsigned value = 0;

			if (len - i < 4)
				return -EPROTO;
			for (int k = 1; k <= 3; k++) {
				if (from[i + k] < '0' || from[i + k] > '7')
					return -EPROTO;
				value = value * 8 + (unsigned)(from[i + k] - '0');
			}
			if (value == 0 || value > 255)
				return -EPROTO;
			c = (unsigned char)value;
			i += 3;
		}
		if (n + 1 >= size)
			return -ENAMETOOLONG;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return 0;
}

bool cgroup_list_has(const char *list, const char *name)
{
	size_t want = strlen(name);

	while (*list) {
		size_t len = strcspn(list, ",");

		if (len == want && memcmp(list, name, len) == 0)
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

struct field {
	const char *text;
	size_t len;
};

/* Do the superblock options name every controller of the hierarchy? */
static bool options_match(struct field options, const char *controllers)
{
	char list[512];

	if (copy_bounded(list, sizeof(list), options.text, options.len) < 0)
		return false;
	while (*controllers) {
		char name[48];
		size_t len = strcspn(controllers, ",");

		if (copy_bounded(name, sizeof(name), controllers, len) < 0 ||
		    !cgroup_list_has(list, name))
			return false;
		controllers += len + (controllers[len] == ',');
	}
	return true;
}

static bool field_is(struct field f, const char *text)
{
	return f.len == strlen(text) && memcmp(f.text, text, f.len) == 0;
}

static struct field next_field(const char **at, const char *end)
{
	struct field f = {.text = *at};

	while (*at < end && **at != ' ')
		(*at)++;
	f.len = (size_t)(*at - f.text);
	if (*at < end)
		(*at)++;
	return f;
}

int cgroup_parse_mount_line(const char *line, size_t len, struct cgroup_layout *layout)
{
	const char *at = line, *end = line + len;
	struct field root, point, type, options;

	for (int i = 0; i < 3; i++)
		next_field(&at, end); /* mount id, parent id, major:minor */
	root = next_field(&at, end);
	point = next_field(&at, end);
	next_field(&at, end); /* mount options */
	for (;;) {	      /* optional fields end with "-" */
		struct field f = next_field(&at, end);

		if (f.len == 0)
			return -EPROTO;
		if (field_is(f, "-"))
			break;
	}
	type = next_field(&at, end);
	next_field(&at, end); /* source */
	options = next_field(&at, end);
	if (!field_is(type, "cgroup") && !field_is(type, "cgroup2"))
		return 0;
	for (size_t i = 0; i < layout->n; i++) {
		struct cgroup_mount *m = &layout->v[i];

		if (m->mount[0] || m->unified != field_is(type, "cgroup2") ||
		    (!m->unified && !options_match(options, m->controllers)))
			continue;
		if (decode_octal(point.text, point.len, m->mount, sizeof(m->mount)) < 0 ||
		    decode_octal(root.text, root.len, m->root, sizeof(m->root)) < 0 ||
		    m->mount[0] != '/' || m->root[0] != '/') {
			m->mount[0] = '\0';
			return -EPROTO;
		}
		layout->missing--;
		break;
	}
	return 0;
}

/* Read the mount table in chunks until every hierarchy is found. A line that does not parse cannot
 * be one of ours (or is longer than any of ours) and is skipped. */
static int read_mounts(int fd, struct cgroup_layout *layout)
{
	char chunk[MOUNTINFO_CHUNK];
	size_t held = 0, total = 0;
	bool skipping = false;

	while (layout->missing > 0) {
		ssize_t n = read(fd, chunk + held, sizeof(chunk) - held);
		char *at = chunk, *newline;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		total += (size_t)n;
		if (total > MOUNTINFO_MAX_BYTES)
			return -EFBIG;
		held += (size_t)n;
		while ((newline = memchr(at, '\n', held)) != NULL) {
			size_t line = (size_t)(newline - at);

			if (!skipping)
				cgroup_parse_mount_line(at, line, layout);
			skipping = false;
			at += line + 1;
			held -= line + 1;
		}
		if (held == sizeof(chunk)) {
			skipping = true;
			held = 0;
		}
		memmove(chunk, at, held);
	}
	return 0;
}

static void drop_unmounted(struct cgroup_layout *layout)
{
	size_t kept = 0;

	for (size_t i = 0; i < layout->n; i++) {
		if (!layout->v[i].mount[0])
			continue;
		if (kept != i)
			layout->v[kept] = layout->v[i];
		kept++;
	}
	layout->n = kept;
	layout->missing = 0;
}

int cgroup_discover(pid_t pid, struct cgroup_layout *layout, struct sbx_error *err)
{
	char path[64] = "/proc/self/cgroup", data[MEMBERSHIP_MAX];
	cleanup_fd int fd = -EBADF, mounts = -EBADF;
	size_t len = 0;
	ssize_t n;
	int r;

	if (pid > 0)
		snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open \"%s\"", path);
	while ((n = read(fd, data + len, sizeof(data) - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "read \"%s\"", path);
		len += (size_t)n;
		if (len == sizeof(data))
			return sbx_fail(err, SBX_E_SYSTEM, EFBIG, "read \"%s\"", path);
	}
	r = cgroup_parse_membership(data, len, layout);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "understand \"%s\"", path);
	mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (mounts < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open \"/proc/self/mountinfo\"");
	r = read_mounts(mounts, layout);
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "read \"/proc/self/mountinfo\"");
	drop_unmounted(layout);
	return 0;
}

const char *cgroup_mount_own(const struct cgroup_mount *mount)
{
	size_t len = strlen(mount->root);

	if (strstr(mount->own, "/..")) /* outside of the cgroup namespace's root */
		return "/";
	if (len == 1) /* "/" */
		return mount->own;
	if (strncmp(mount->own, mount->root, len) != 0)
		return "/";
	if (mount->own[len] == '\0')
		return "/";
	return mount->own[len] == '/' ? mount->own + len : "/";
}
