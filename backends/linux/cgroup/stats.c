/*
 * What the kernel counted of a container, in the form of `runc events`: the members that go-runc's
 * Event has. A table says which file of which hierarchy holds a figure, on v1 and on cgroup2; what
 * is not there is left out. Sources: cgroup-v1/{cpuacct,memory,blkio-controller,pids,hugetlb}.rst,
 * cgroup-v2.rst.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/linux/cgroup/internal.h"
#include "backends/linux/cgroup/stats.h"
#include "runtime/base/cleanup.h"

#define STAT_BYTES_MAX (64u << 10) /* memory.stat and io.stat of a host with many devices */
#define USER_TICK_NS   10000000	   /* USER_HZ is 100 everywhere (cgroup-v1/cpuacct.rst) */

/* One file's figure: the whole of it, or the value behind "KEY " in one of its lines. */
struct source {
	const char *file, *key;
	uint64_t scale; /* 0: 1 */
};

struct figure {
	const char *name, *controller;
	struct source v1, v2;
};

static const struct figure cpu_usage[] = {
	{"total", "cpuacct", {"cpuacct.usage", NULL, 0}, {"cpu.stat", "usage_usec", 1000}},
	{"kernel",
	 "cpuacct",
	 {"cpuacct.stat", "system", USER_TICK_NS},
	 {"cpu.stat", "system_usec", 1000}},
	{"user",
	 "cpuacct",
	 {"cpuacct.stat", "user", USER_TICK_NS},
	 {"cpu.stat", "user_usec", 1000}},
};

static const struct figure cpu_throttling[] = {
	{"periods", "cpu", {"cpu.stat", "nr_periods", 0}, {"cpu.stat", "nr_periods", 0}},
	{"throttledPeriods",
	 "cpu",
	 {"cpu.stat", "nr_throttled", 0},
	 {"cpu.stat", "nr_throttled", 0}},
	{"throttledTime",
	 "cpu",
	 {"cpu.stat", "throttled_time", 0},
	 {"cpu.stat", "throttled_usec", 1000}},
};

static const struct figure memory_usage[] = {
	{"limit", "memory", {"memory.limit_in_bytes", NULL, 0}, {"memory.max", NULL, 0}},
	{"usage", "memory", {"memory.usage_in_bytes", NULL, 0}, {"memory.current", NULL, 0}},
	{"max", "memory", {"memory.max_usage_in_bytes", NULL, 0}, {"memory.peak", NULL, 0}},
	{"failcnt", "memory", {"memory.failcnt", NULL, 0}, {"memory.events", "max", 0}},
};

/* v1 counts memory and swap together, cgroup2 swap alone. */
static const struct figure memory_swap[] = {
	{"limit", "memory", {"memory.memsw.limit_in_bytes", NULL, 0}, {"memory.swap.max", NULL, 0}},
	{"usage",
	 "memory",
	 {"memory.memsw.usage_in_bytes", NULL, 0},
	 {"memory.swap.current", NULL, 0}},
	{"max",
	 "memory",
	 {"memory.memsw.max_usage_in_bytes", NULL, 0},
	 {"memory.swap.peak", NULL, 0}},
	{"failcnt", "memory", {"memory.memsw.failcnt", NULL, 0}, {"memory.swap.events", "max", 0}},
};

static const struct figure memory_kernel[] = {
	{"limit", "memory", {"memory.kmem.limit_in_bytes", NULL, 0}, {NULL, NULL, 0}},
	{"usage", "memory", {"memory.kmem.usage_in_bytes", NULL, 0}, {"memory.stat", "kernel", 0}},
	{"max", "memory", {"memory.kmem.max_usage_in_bytes", NULL, 0}, {NULL, NULL, 0}},
	{"failcnt", "memory", {"memory.kmem.failcnt", NULL, 0}, {NULL, NULL, 0}},
};

static const struct figure memory_kernel_tcp[] = {
	{"limit", "memory", {"memory.kmem.tcp.limit_in_bytes", NULL, 0}, {NULL, NULL, 0}},
	{"usage",
	 "memory",
	 {"memory.kmem.tcp.usage_in_bytes", NULL, 0},
	 {"memory.stat", "sock", 0}},
	{"max", "memory", {"memory.kmem.tcp.max_usage_in_bytes", NULL, 0}, {NULL, NULL, 0}},
	{"failcnt", "memory", {"memory.kmem.tcp.failcnt", NULL, 0}, {NULL, NULL, 0}},
};

static const struct figure memory_cache = {
	"cache", "memory", {"memory.stat", "cache", 0}, {"memory.stat", "file", 0}};

static const struct figure pids[] = {
	{"current", "pids", {"pids.current", NULL, 0}, {"pids.current", NULL, 0}},
	{"limit", "pids", {"pids.max", NULL, 0}, {"pids.max", NULL, 0}},
};

static const struct figure oom_kills = {"oom_kill",
					"memory",
					{"memory.oom_control", "oom_kill", 0},
					{"memory.events", "oom_kill", 0}};

struct reading {
	const struct cgroup *cg;
	char text[STAT_BYTES_MAX];
};

/* The file of a hierarchy as text. Length, or -errno. */
static ssize_t read_text(struct reading *r, const struct cgroup_hierarchy *h, const char *file)
{
	return h ? cgroup_read_file(h, file, r->text, sizeof(r->text)) : -ENOENT;
}

/* "max" is no limit. */
static bool number(const char *text, uint64_t *ret)
{
	char *end;

	if (strncmp(text, "max", 3) == 0) {
		*ret = UINT64_MAX;
		return true;
	}
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return end != text && errno == 0;
}

/* What stands behind "KEY " at the beginning of a line. */
static const char *line_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text && !(strncmp(text, key, len) == 0 && text[len] == ' ')) {
		text = strchr(text, '\n');
		text += text ? 1 : 0;
	}
	return text ? text + len + 1 : NULL;
}

/* The hierarchy that counts for a controller: its own, or cgroup2. NULL: none. */
static const struct cgroup_hierarchy *counting(const struct cgroup *cg, const char *controller)
{
	const struct cgroup_hierarchy *h = cgroup_find_v1(cg, controller);

	return h ? h : cgroup_find_unified(cg);
}

/* v1 has no "max": it shows as many whole pages as it can count (PAGE_COUNTER_MAX). */
static bool is_no_limit(const struct figure *figure, uint64_t value)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t pages = sizeof(long) < sizeof(page) ? LONG_MAX : LONG_MAX / page;

	return strcmp(figure->controller, "memory") == 0 && strcmp(figure->name, "limit") == 0 &&
	       value >= pages * page;
}

static bool figure_read(struct reading *r, const struct figure *figure, uint64_t *ret)
{
	const struct cgroup_hierarchy *h = counting(r->cg, figure->controller);
	const struct source *source = h && !h->unified ? &figure->v1 : &figure->v2;
	const char *text = r->text;

	if (!source->file || read_text(r, h, source->file) < 0)
		return false;
	if (source->key)
		text = line_of(text, source->key);
	if (!text || !number(text, ret))
		return false;
	if (!h->unified && is_no_limit(figure, *ret))
		*ret = UINT64_MAX;
	if (source->scale && *ret != UINT64_MAX)
		*ret *= source->scale;
	return true;
}

static void write_figure(struct reading *r, const struct figure *figure, struct json_writer *w)
{
	uint64_t value;

	if (figure_read(r, figure, &value))
		json_write_uint(w, figure->name, value);
}

static void write_figures(struct reading *r, const char *key, const struct figure *figures,
			  size_t n, struct json_writer *w)
{
	size_t i;

	json_begin_object(w, key);
	for (i = 0; i < n; i++)
		write_figure(r, &figures[i], w);
	json_end_object(w);
}

/* ---- cpu ---- */

static void write_percpu(struct reading *r, struct json_writer *w)
{
	char *rest, *word;

	if (read_text(r, cgroup_find_v1(r->cg, "cpuacct"), "cpuacct.usage_percpu") < 0)
		return;
	json_begin_array(w, "percpu");
	for (word = strtok_r(r->text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		json_write_uint(w, NULL, strtoull(word, NULL, 10));
	json_end_array(w);
}

static void write_cpu(struct reading *r, struct json_writer *w)
{
	size_t i;

	json_begin_object(w, "cpu");
	json_begin_object(w, "usage");
	for (i = 0; i < ARRAY_SIZE(cpu_usage); i++)
		write_figure(r, &cpu_usage[i], w);
	write_percpu(r, w);
	json_end_object(w);
	write_figures(r, "throttling", cpu_throttling, ARRAY_SIZE(cpu_throttling), w);
	json_end_object(w);
}

/* ---- memory ---- */

static void write_raw(struct reading *r, struct json_writer *w)
{
	char *rest, *line;

	if (read_text(r, counting(r->cg, "memory"), "memory.stat") < 0)
		return;
	json_begin_object(w, "raw");
	for (line = strtok_r(r->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = strchr(line, ' ');

		if (!value)
			continue;
		*value++ = '\0';
		json_write_uint(w, line, strtoull(value, NULL, 10));
	}
	json_end_object(w);
}

/* Memory and swap together, as v1 counts. */
static void write_swap(struct reading *r, struct json_writer *w)
{
	bool apart = !cgroup_find_v1(r->cg, "memory");
	uint64_t swap, memory;
	size_t i;

	json_begin_object(w, "swap");
	for (i = 0; i < ARRAY_SIZE(memory_swap); i++) {
		if (!figure_read(r, &memory_swap[i], &swap))
			continue;
		if (apart && memory_swap[i].v2.key == NULL && swap != UINT64_MAX &&
		    figure_read(r, &memory_usage[i], &memory))
			swap = memory == UINT64_MAX ? memory : swap + memory;
		json_write_uint(w, memory_swap[i].name, swap);
	}
	json_end_object(w);
}

static void write_memory(struct reading *r, struct json_writer *w)
{
	json_begin_object(w, "memory");
	write_figure(r, &memory_cache, w);
	write_figures(r, "usage", memory_usage, ARRAY_SIZE(memory_usage), w);
	write_swap(r, w);
	write_figures(r, "kernel", memory_kernel, ARRAY_SIZE(memory_kernel), w);
	write_figures(r, "kernelTCP", memory_kernel_tcp, ARRAY_SIZE(memory_kernel_tcp), w);
	write_raw(r, w);
	json_end_object(w);
}

/* ---- block devices ---- */

static void write_block_entry(struct json_writer *w, unsigned major, unsigned minor, const char *op,
			      uint64_t value)
{
	json_begin_object(w, NULL);
	json_write_uint(w, "major", major);
	json_write_uint(w, "minor", minor);
	json_write_string(w, "op", op);
	json_write_uint(w, "value", value);
	json_end_object(w);
}

/* Lines "MAJOR:MINOR OP VALUE". */
static void write_block_v1(struct reading *r, const char *key, const char *file,
			   struct json_writer *w)
{
	char *rest, *line, op[16];
	unsigned major, minor;
	unsigned long long value;

	json_begin_array(w, key);
	if (read_text(r, cgroup_find_v1(r->cg, "blkio"), file) < 0)
		r->text[0] = '\0';
	for (line = strtok_r(r->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, "%u:%u %15s %llu", &major, &minor, op, &value) == 4)
			write_block_entry(w, major, minor, op, value);
	}
	json_end_array(w);
}

/* Lines "MAJOR:MINOR rbytes=N wbytes=N rios=N ...". */
static void write_block_v2(struct reading *r, const char *key, const char *const words[3],
			   struct json_writer *w)
{
	static const char *const ops[3] = {"Read", "Write", "Discard"};
	char *rest, *line;
	unsigned major, minor;
	size_t i;

	json_begin_array(w, key);
	if (read_text(r, cgroup_find_unified(r->cg), "io.stat") < 0)
		r->text[0] = '\0';
	for (line = strtok_r(r->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, "%u:%u", &major, &minor) != 2)
			continue;
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			const char *found = strstr(line, words[i]);

			if (found)
				write_block_entry(w, major, minor, ops[i],
						  strtoull(found + strlen(words[i]), NULL, 10));
		}
	}
	json_end_array(w);
}

static void write_block(struct reading *r, struct json_writer *w)
{
	static const char *const bytes[3] = {" rbytes=", " wbytes=", " dbytes="};
	static const char *const requests[3] = {" rios=", " wios=", " dios="};

	json_begin_object(w, "blkio");
	if (cgroup_find_v1(r->cg, "blkio")) {
		write_block_v1(r, "ioServiceBytesRecursive",
			       "blkio.throttle.io_service_bytes_recursive", w);
		write_block_v1(r, "ioServicedRecursive", "blkio.throttle.io_serviced_recursive", w);
	} else {
		write_block_v2(r, "ioServiceBytesRecursive", bytes, w);
		write_block_v2(r, "ioServicedRecursive", requests, w);
	}
	json_end_object(w);
}

/* ---- huge pages ---- */

/* The size in "hugetlb.SIZE" SUFFIX, into size; false: another file. */
static bool page_size_of(const char *name, const char *suffix, char *size, size_t room)
{
	const size_t before = sizeof("hugetlb.") - 1;
	size_t len = strlen(name), tail = strlen(suffix);

	if (strncmp(name, "hugetlb.", before) != 0 || len <= before + tail ||
	    strcmp(name + len - tail, suffix) != 0 || len - before - tail >= room)
		return false;
	memcpy(size, name + before, len - before - tail);
	size[len - before - tail] = '\0';
	return !strchr(size, '.');
}

static void write_page_size(struct reading *r, const char *size, struct json_writer *w)
{
	char files[4][64];
	const struct figure figures[] = {
		{"usage", "hugetlb", {files[0], NULL, 0}, {files[1], NULL, 0}},
		{"max", "hugetlb", {files[2], NULL, 0}, {NULL, NULL, 0}},
		{"failcnt", "hugetlb", {files[3], NULL, 0}, {files[3], "max", 0}},
	};
	bool v1 = cgroup_find_v1(r->cg, "hugetlb") != NULL;

	snprintf(files[0], sizeof(files[0]), "hugetlb.%s.usage_in_bytes", size);
	snprintf(files[1], sizeof(files[1]), "hugetlb.%s.current", size);
	snprintf(files[2], sizeof(files[2]), "hugetlb.%s.max_usage_in_bytes", size);
	snprintf(files[3], sizeof(files[3]), "hugetlb.%s.%s", size, v1 ? "failcnt" : "events");
	write_figures(r, size, figures, ARRAY_SIZE(figures), w);
}

static void write_huge_pages(struct reading *r, struct json_writer *w)
{
	const struct cgroup_hierarchy *h = counting(r->cg, "hugetlb");
	const char *suffix = h && !h->unified ? ".usage_in_bytes" : ".current";
	cleanup_dir DIR *dir = NULL;
	struct dirent *entry;
	char size[32];
	int fd = -1;

	json_begin_object(w, "hugetlb");
	if (h)
		fd = cgroup_open_file(h, ".", O_RDONLY | O_DIRECTORY);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		if (page_size_of(entry->d_name, suffix, size, sizeof(size)))
			write_page_size(r, size, w);
	}
	json_end_object(w);
}

/* ---- the whole ---- */

int cgroup_write_stats(const struct cgroup *cg, const char *key, struct json_writer *w)
{
	struct reading *r = malloc(sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->cg = cg;
	json_begin_object(w, key);
	write_cpu(r, w);
	write_memory(r, w);
	write_figures(r, "pids", pids, ARRAY_SIZE(pids), w);
	write_block(r, w);
	write_huge_pages(r, w);
	json_end_object(w);
	free(r);
	return 0;
}

uint64_t cgroup_oom_kills(const struct cgroup *cg)
{
	struct reading *r = malloc(sizeof(*r));
	struct cgroup payload;
	uint64_t count = 0;

	if (!r)
		return 0;
	/* v1 counts in the victim's group alone */
	r->cg = cgroup_payload(cg, &payload, NULL) < 0 ? cg : &payload;
	if (!figure_read(r, &oom_kills, &count))
		count = 0;
	free(r);
	return count;
}
