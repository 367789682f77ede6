/*
 * Limits as a list of writes: made from the bundle's resources first, executed afterwards.
 *
 * Making the list refuses by name what the layout cannot enforce, before anything is written.
 */
#ifndef SBX_LINUX_CGROUP_LIMITS_H
#define SBX_LINUX_CGROUP_LIMITS_H

#include "backends/linux/cgroup/internal.h"
#include "runtime/base/arena.h"

/* Controllers with their names on v1 and on cgroup2. */
enum controller {
	CONTROLLER_CPU,
	CONTROLLER_CPUSET,
	CONTROLLER_MEMORY,
	CONTROLLER_PIDS,
	CONTROLLER_IO,
	CONTROLLER_HUGETLB,
	CONTROLLER_NET_CLS,
	CONTROLLER_NET_PRIO,
	CONTROLLER_RDMA,
	CONTROLLER_COUNT
};

struct limit_write {
	const struct cgroup_hierarchy *h;
	const char *member; /* below linux.resources: "cpu.shares" */
	const char *file;
	const char *value;
	bool optional; /* a file that is not there is no error */
	bool done;
};

#define LIMIT_WRITES_MAX 512

struct limits_undo; /* limits_update.c */

struct limits {
	struct arena arena;
	const struct cgroup *cg;
	const struct oci_resources *resources;
	struct limits_undo *undo; /* remembers what each write replaces; NULL: nothing does */
	bool check_only;	  /* the list is made for its refusals */
	struct limit_write *v;
	size_t n;
};

/* The hierarchy that has the controller: v1's own, else cgroup2. Where neither can have it:
 * NULL, with member refused in err. */
const struct cgroup_hierarchy *limits_place(const struct limits *l, enum controller controller,
					    const char *member, struct sbx_error *err);

/* Add one write; -E2BIG when there are more than LIMIT_WRITES_MAX. */
int limits_add(struct limits *l, const struct cgroup_hierarchy *h, const char *member,
	       bool optional, struct sbx_error *err, const char *file, const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));

/* Refuse a member that h's layout cannot enforce. Returns -EINVAL. */
int limits_refuse(const struct cgroup_hierarchy *h, const char *member, struct sbx_error *err);

void limits_init(struct limits *l);

/* Make the list from the resources. */
int limits_collect(struct limits *l, struct sbx_error *err);

/* Execute it, from its beginning. */
int limits_write(struct limits *l, struct sbx_error *err);

/* ---- limits_update.c ---- */

/* cgroup_write_file() and cgroup_read_file() that know a cpuset mounted with "noprefix". */
int limits_write_file(const struct cgroup_hierarchy *h, const char *file, const char *value);
ssize_t limits_read_file(const struct cgroup_hierarchy *h, const char *file, char *out,
			 size_t size);

/* Note what the file of a write holds before it. 0 or -ENOMEM. */
int limits_remember(struct limits_undo *undo, const struct limit_write *w);

/* ---- limits_v2.c ---- */

/* cpu.shares (2 to 262144) to cpu.weight (1 to 10000): the curve that meets 2:1, 1024:100 and
 * 262144:10000. 0 stays 0. */
uint64_t limits_weight_from_shares(uint64_t shares);

/* blockIO weight (10 to 1000) to io.weight (1 to 10000). */
uint64_t limits_io_weight(uint64_t weight);

/* memory.swap.max of a limit of memory and of memory with swap: -1 for none; false: left alone. */
bool limits_swap(const struct oci_memory *memory, int64_t *ret);

/* quota and period in one file. */
int limits_add_cpu_max(struct limits *l, struct sbx_error *err);

/* The memory group on either layout: limit, and swap which v1 counts with it and cgroup2 apart. */
int limits_add_memory(struct limits *l, struct sbx_error *err);

/* ---- limits_lists.c: members that are lists ---- */

int limits_add_block_io(struct limits *l, struct sbx_error *err);
int limits_add_hugepages(struct limits *l, struct sbx_error *err);
int limits_add_network(struct limits *l, struct sbx_error *err);
int limits_add_rdma(struct limits *l, struct sbx_error *err);
int limits_add_unified(struct limits *l, struct sbx_error *err);

#endif
