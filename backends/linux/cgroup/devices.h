/*
 * The device filter's rules, and the two forms that the kernel takes.
 */
#ifndef SBX_LINUX_CGROUP_DEVICES_H
#define SBX_LINUX_CGROUP_DEVICES_H

#include <linux/bpf.h>

#include "backends/linux/cgroup/internal.h"

#define DEVICE_RULES_MAX 1024

/* Bits of an access: BPF_DEVCG_ACC_* of linux/bpf.h. */
#define DEVICE_MKNOD 1u
#define DEVICE_READ  2u
#define DEVICE_WRITE 4u
#define DEVICE_ALL   7u

struct device_rule {
	char type; /* 'a', 'b', 'c' */
	bool allow;
	bool is_default;      /* of our own list */
	int64_t major, minor; /* -1: any */
	unsigned access;
};

/* In order: for each bit of an access, the last rule that matches decides; none: denied. */
struct device_rules {
	struct device_rule v[DEVICE_RULES_MAX];
	size_t n;
};

/* The rules of resources (may be NULL) and behind them the default list. -E2BIG when too many. */
int devices_collect(const struct oci_resources *resources, struct device_rules *ret,
		    struct sbx_error *err);

/* One access, as both forms must decide it: the reference for tests. */
bool devices_decide(const struct device_rules *rules, char type, int64_t major, int64_t minor,
		    unsigned access);

/* ---- v1: devices.allow and devices.deny ---- */

/* v1 knows a default and one kind of exceptions to it. */
struct device_exceptions {
	bool default_allow;
	struct device_rule v[DEVICE_RULES_MAX];
	size_t n;
};

/* SBX_E_UNSUPPORTED where a rule takes a part out of a wider exception. */
int devices_normalise_v1(const struct device_rules *rules, struct device_exceptions *ret,
			 struct sbx_error *err);

/* "c 1:3 rwm" into out. */
void devices_format_v1(const struct device_rule *rule, char out[64]);

int devices_write_v1(const struct cgroup_hierarchy *h, const struct device_rules *rules,
		     struct sbx_error *err);

/* ---- cgroup2: a BPF_PROG_TYPE_CGROUP_DEVICE program ---- */

#define DEVICE_INSNS_MAX (DEVICE_RULES_MAX * 8 + 16)

/* Assemble; the number of instructions, or -E2BIG. */
int devices_assemble(const struct device_rules *rules, struct bpf_insn *out, size_t max);

/* Load and attach to the group; a program of ours that is there already is replaced in one step. */
int devices_attach_bpf(const struct cgroup_hierarchy *h, const struct device_rules *rules,
		       struct sbx_error *err);

#endif
