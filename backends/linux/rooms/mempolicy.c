/*
 * Where the process's memory comes from (config-linux.md#memory-policy): set_mempolicy(2), which
 * every process that descends from this one inherits. A further process (exec) gets it as well.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/num.h"

#define NODES_MAX   1024 /* the largest CONFIG_NODES_SHIFT is 10 */
#define NODES_WORDS (NODES_MAX / (8 * sizeof(unsigned long)))

enum nodes_need { NODES_NONE, NODES_MAY, NODES_MUST };

/* <linux/mempolicy.h>; newer modes are missing in older headers. */
static const struct {
	const char *word;
	int value;
	enum nodes_need nodes;
} modes[] = {
	{"MPOL_DEFAULT", 0, NODES_NONE},
	{"MPOL_PREFERRED", 1, NODES_MAY},
	{"MPOL_BIND", 2, NODES_MUST},
	{"MPOL_INTERLEAVE", 3, NODES_MUST},
	{"MPOL_LOCAL", 4, NODES_NONE},
	{"MPOL_PREFERRED_MANY", 5, NODES_MUST},
	{"MPOL_WEIGHTED_INTERLEAVE", 6, NODES_MUST},
};

static const struct {
	const char *word;
	int value;
} flags[] = {
	{"MPOL_F_NUMA_BALANCING", 1 << 13},
	{"MPOL_F_RELATIVE_NODES", 1 << 14},
	{"MPOL_F_STATIC_NODES", 1 << 15},
};

/* The mode's row; the parser lets no other word pass. */
static size_t mode_row(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes) - 1 && strcmp(modes[i].word, word) != 0;)
		i++;
	return i;
}

static int flag_bits(const struct strings *words)
{
	size_t i, k;
	int bits = 0;

	for (i = 0; i < words->n; i++) {
		for (k = 0; k < ARRAY_SIZE(flags); k++) {
			if (strcmp(flags[k].word, words->v[i]) == 0)
				bits |= flags[k].value;
		}
	}
	return bits;
}

static int mempolicy_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_memory_policy *policy = plan->spec->linux_.memory_policy;
	unsigned long mask[NODES_WORDS];
	size_t row;

	(void)report;
	if (!policy)
		return 0;
	row = mode_row(policy->mode);
	if (policy->nodes && num_parse_list(policy->nodes, mask, NODES_MAX) < 0)
		return sbx_fail_at(
			err, SBX_E_INVALID_CONFIG, "/linux/memoryPolicy/nodes",
			"take memory from nodes \"%s\": it is no list of numbers below %d",
			policy->nodes, NODES_MAX);
	if (policy->nodes && modes[row].nodes == NODES_NONE)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/memoryPolicy/nodes",
				   "take memory from nodes \"%s\": mode %s has none", policy->nodes,
				   policy->mode);
	if (!policy->nodes && modes[row].nodes == NODES_MUST)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/memoryPolicy/nodes",
				   "take memory by mode %s: it needs nodes", policy->mode);
	return 0;
}

static int mempolicy_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct oci_memory_policy *policy = run->plan->spec->linux_.memory_policy;
	unsigned long mask[NODES_WORDS] = {0};

	(void)stage;
	if (!policy)
		return 0;
	if (policy->nodes)
		num_parse_list(policy->nodes, mask, NODES_MAX);
	/* the kernel reads one bit less than it is told */
	if (syscall(SYS_set_mempolicy,
		    modes[mode_row(policy->mode)].value | flag_bits(&policy->flags),
		    policy->nodes ? mask : NULL, policy->nodes ? NODES_MAX + 1 : 0) == 0)
		return 0;
	return sbx_fail(
		err, SBX_E_SYSTEM, errno,
		"set the memory policy to %s%s%s (nodes must have memory and be in the cpuset)",
		policy->mode, policy->nodes ? " of nodes " : "",
		policy->nodes ? policy->nodes : "");
}

const struct room room_mempolicy = {
	.name = "mempolicy",
	.plan = mempolicy_plan,
	.apply = mempolicy_apply,
};
