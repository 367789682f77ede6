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
enum { MODE_DEFAULT = 0, MODE_BIND = 2, MODE_PREFERRED_MANY = 5 };
enum { FLAG_BALANCING = 1 << 13, FLAG_RELATIVE = 1 << 14, FLAG_STATIC = 1 << 15 };

static const struct {
	const char *word;
	int value;
	enum nodes_need nodes;
} modes[] = {
	{"MPOL_DEFAULT", MODE_DEFAULT, NODES_NONE},
	{"MPOL_PREFERRED", 1, NODES_MAY},
	{"MPOL_BIND", MODE_BIND, NODES_MUST},
	{"MPOL_INTERLEAVE", 3, NODES_MUST},
	{"MPOL_LOCAL", 4, NODES_NONE},
	{"MPOL_PREFERRED_MANY", MODE_PREFERRED_MANY, NODES_MUST},
	{"MPOL_WEIGHTED_INTERLEAVE", 6, NODES_MUST},
};

static const struct {
	const char *word;
	int value;
} flags[] = {
	{"MPOL_F_NUMA_BALANCING", FLAG_BALANCING},
	{"MPOL_F_RELATIVE_NODES", FLAG_RELATIVE},
	{"MPOL_F_STATIC_NODES", FLAG_STATIC},
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

/* Which flags the kernel takes with which others and with which mode (sanitize_mpol_flags()). */
static int check_flags(const struct oci_memory_policy *policy, struct sbx_error *err)
{
	int bits = flag_bits(&policy->flags), mode = modes[mode_row(policy->mode)].value;
	const char *flag = bits & FLAG_STATIC ? "MPOL_F_STATIC_NODES" : "MPOL_F_RELATIVE_NODES";

	if ((bits & FLAG_STATIC) && (bits & FLAG_RELATIVE))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/memoryPolicy/flags",
				   "take memory with MPOL_F_STATIC_NODES and "
				   "MPOL_F_RELATIVE_NODES: they contradict each other, want one");
	if ((bits & FLAG_BALANCING) && mode != MODE_BIND && mode != MODE_PREFERRED_MANY)
		return sbx_fail_at(
			err, SBX_E_INVALID_CONFIG, "/linux/memoryPolicy/flags",
			"take memory by mode %s with MPOL_F_NUMA_BALANCING: the flag goes "
			"with MPOL_BIND or MPOL_PREFERRED_MANY only",
			policy->mode);
	if ((bits & (FLAG_STATIC | FLAG_RELATIVE)) && !policy->nodes && mode != MODE_DEFAULT)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/memoryPolicy/flags",
				   "take memory by mode %s with %s: the flag needs nodes",
				   policy->mode, flag);
	return 0;
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
	return check_flags(policy, err);
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
	.without_namespaces = true,
	.plan = mempolicy_plan,
	.apply = mempolicy_apply,
};
