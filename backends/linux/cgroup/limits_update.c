/*
 * An update of limits: all of it, or nothing.
 *
 * The kernel takes one file at a time and may refuse the last of them, so each write of an update
 * notes before it what its file holds, and a failure puts that back, last write first: the files
 * that bound each other go back through the states that were valid on the way.
 *
 * Most files take what they show. Some are lists with a key in front of each line (a device, an
 * interface) and take one line a write: lines that changed are written again, and a line that came
 * by the update goes by the value that means "none" there. What cannot be read, or has no such
 * value, stays and is told.
 */
#include <errno.h>
#include <string.h>

#include "backends/linux/cgroup/limits.h"
#include "backends/linux/cgroup/systemd.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"

#define UNDO_ARENA_BYTES ((size_t)8 << 20)
#define OLD_MAX		 16384 /* bytes of one file; net_prio.ifpriomap has a line an interface */
#define LINE_MAX_BYTES	 256

struct old_value {
	const struct cgroup_hierarchy *h;
	const char *file;
	const char *text; /* NULL: cannot be read */
	struct old_value *before;
};

struct limits_undo {
	struct arena arena;
	struct old_value *last;
};

/* ---- files ---- */

int limits_write_file(const struct cgroup_hierarchy *h, const char *file, const char *value)
{
	int r = cgroup_write_file(h, file, value);

	if (r == -ENOENT && !h->unified && strncmp(file, "cpuset.", 7) == 0)
		r = cgroup_write_file(h, file + 7, value);
	return r;
}

ssize_t limits_read_file(const struct cgroup_hierarchy *h, const char *file, char *out, size_t size)
{
	ssize_t n = cgroup_read_file(h, file, out, size);

	if (n == -ENOENT && !h->unified && strncmp(file, "cpuset.", 7) == 0)
		n = cgroup_read_file(h, file + 7, out, size);
	return n;
}

/* ---- before a write ---- */

static int remember(struct limits_undo *undo, const struct cgroup_hierarchy *h, const char *file)
{
	char text[OLD_MAX];
	ssize_t n = limits_read_file(h, file, text, sizeof(text));
	struct old_value *old;

	if (n == -ENOENT) /* nothing will be written either */
		return 0;
	old = arena_alloc(&undo->arena, sizeof(*old));
	if (!old)
		return -ENOMEM;
	*old = (struct old_value){.h = h, .file = file, .before = undo->last};
	if (n >= 0 && (size_t)n < sizeof(text) - 1) {
		old->text = arena_strndup(&undo->arena, text, (size_t)n);
		if (!old->text)
			return -ENOMEM;
	}
	undo->last = old;
	return 0;
}

int limits_remember(struct limits_undo *undo, const struct limit_write *w)
{
	int r = 0;

	/* the kernel sets the weight along with it */
	if (strcmp(w->file, "cpu.idle") == 0)
		r = remember(undo, w->h, w->h->unified ? "cpu.weight" : "cpu.shares");
	return r < 0 ? r : remember(undo, w->h, w->file);
}

/* ---- putting back ---- */

/* Files of more than one line, or that take another text than they show. */
static const struct list_file {
	const char *file;
	const char *none; /* behind the key: takes a line away; NULL: lines do not come and go */
} lists[] = {
	{"io.max", "rbps=max wbps=max riops=max wiops=max"},
	{"io.weight", "default"},
	{"io.bfq.weight", "default"},
	{"io.latency", "target=max"},
	{"blkio.throttle.read_bps_device", "0"},
	{"blkio.throttle.write_bps_device", "0"},
	{"blkio.throttle.read_iops_device", "0"},
	{"blkio.throttle.write_iops_device", "0"},
	{"blkio.weight_device", "default"},
	{"blkio.leaf_weight_device", "default"},
	{"blkio.bfq.weight_device", "default"},
	{"net_prio.ifpriomap", NULL},
	{"rdma.max", NULL},
	{"misc.max", NULL},
	{"dmem.max", NULL},
	{"dmem.min", NULL},
	{"dmem.low", NULL},
};

static const struct list_file *find_list(const char *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (strcmp(lists[i].file, file) == 0)
			return &lists[i];
	return NULL;
}

/* Where len bytes of line, up to the end of a line or a blank there, begin a line of text. */
static bool has_line(const char *text, const char *line, size_t len)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		if (strncmp(text, line, len) == 0 && strchr(" \n", text[len]))
			return true;
		text += n + (text[n] == '\n');
	}
	return false;
}

typedef int (*line_fn)(const struct old_value *old, const char *line, size_t len,
		       const char *other);

/* A line that stood there. */
static int put_line(const struct old_value *old, const char *line, size_t len, const char *other)
{
	char text[LINE_MAX_BYTES];

	if (len >= sizeof(text))
		return -E2BIG;
	memcpy(text, line, len);
	text[len] = '\0';
	return has_line(other, line, len) ? 0 : limits_write_file(old->h, old->file, text);
}

/* A line that stands there now. */
static int take_line(const struct old_value *old, const char *line, size_t len, const char *other)
{
	size_t key = strcspn(line, " \n");
	const char *none = find_list(old->file)->none;
	char text[LINE_MAX_BYTES];

	(void)len;
	if (has_line(other, line, key))
		return 0;
	if (!none)
		return -EOPNOTSUPP;
	if (key + 1 + strlen(none) >= sizeof(text))
		return -E2BIG;
	memcpy(text, line, key);
	text[key] = ' ';
	strcpy(text + key + 1, none);
	return limits_write_file(old->h, old->file, text);
}

static int each_line(const struct old_value *old, const char *lines, const char *other, line_fn fn)
{
	int first = 0;

	while (*lines) {
		size_t len = strcspn(lines, "\n");
		int r = len ? fn(old, lines, len, other) : 0;

		if (r < 0 && first == 0)
			first = r;
		lines += len + (lines[len] == '\n');
	}
	return first;
}

/* What the file takes for one value that it shows. */
static const char *as_written(const char *file, const char *text, char out[LINE_MAX_BYTES])
{
	static const char oom[] = "oom_kill_disable ";
	size_t len;

	if (strcmp(file, "memory.oom_control") == 0 && strncmp(text, oom, strlen(oom)) == 0)
		text += strlen(oom);
	else if (strcmp(file, "cpuset.cpus.partition") != 0) /* "root invalid (why)" */
		return *text ? text : "\n";		     /* a list of CPUs may be empty */
	len = strcspn(text, " \n");
	if (len >= LINE_MAX_BYTES)
		return text;
	memcpy(out, text, len);
	out[len] = '\0';
	return out;
}

static int put_back(const struct old_value *old)
{
	char now[OLD_MAX], text[LINE_MAX_BYTES];
	ssize_t n = old->text ? limits_read_file(old->h, old->file, now, sizeof(now)) : -EOPNOTSUPP;
	int r, taken;

	if (n < 0)
		return (int)n;
	if (strcmp(now, old->text) == 0)
		return 0;
	if (!find_list(old->file))
		return limits_write_file(old->h, old->file, as_written(old->file, old->text, text));
	taken = each_line(old, now, old->text, take_line);
	r = each_line(old, old->text, now, put_line);
	return r < 0 ? r : taken;
}

static void put_all_back(const struct limits_undo *undo)
{
	for (const struct old_value *old = undo->last; old; old = old->before) {
		int r = put_back(old);

		if (r < 0)
			log_warning("the update failed, and \"%s\" of cgroup \"%s\" could not be "
				    "put back: %s",
				    old->file, old->h->path, strerror(-r));
	}
}

/* ---- the update ---- */

/* v1 allows a group no more CPU time than the group above, so a scope is raised first. */
static bool scope_goes_first(const struct cgroup *cg)
{
	const struct cgroup_hierarchy *cpu = cgroup_find_v1(cg, "cpu");
	const char *last = cpu ? strrchr(cpu->path, '/') : NULL;

	return last && strcmp(last + 1, cg->unit.name) != 0;
}

/* systemd writes the scope's files in its own rounding: ours are written behind it again. */
static int write_with_scope(struct limits *l, cgroup_also_fn also, void *data,
			    struct sbx_error *err)
{
	bool first = scope_goes_first(l->cg);
	int r = first ? systemd_update(l->cg, l->resources, err) : limits_write(l, err);

	if (r == 0 && also)
		r = also(data, err);
	if (r == 0 && !first)
		r = systemd_update(l->cg, l->resources, err);
	if (r == 0)
		r = limits_write(l, err);
	if (r < 0 && first)
		log_warning("the update failed, the properties of scope \"%s\" may have changed",
			    l->cg->unit.name);
	return r;
}

int cgroup_update(const struct cgroup *cg, const struct oci_resources *resources,
		  cgroup_also_fn also, void *data, struct sbx_error *err)
{
	struct limits_undo undo = {.last = NULL};
	struct limits l = {.cg = cg, .resources = resources, .undo = &undo};
	int r;

	limits_init(&l);
	arena_init(&undo.arena, UNDO_ARENA_BYTES);
	r = limits_collect(&l, err);
	if (r == 0 && cg->manager == CGROUP_MANAGER_SYSTEMD) {
		r = write_with_scope(&l, also, data, err);
	} else if (r == 0) {
		r = limits_write(&l, err);
		if (r == 0 && also)
			r = also(data, err);
	}
	if (r < 0)
		put_all_back(&undo);
	arena_release(&undo.arena);
	arena_release(&l.arena);
	return r;
}
