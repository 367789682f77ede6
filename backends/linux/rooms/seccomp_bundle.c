/*
 * linux.seccomp to a classic BPF program.
 *
 * libseccomp is the dictionary of system call names per architecture; the code is our own, since
 * generating it there takes milliseconds per architecture. Per architecture all (number, rule)
 * pairs are sorted by number, each number becomes a chain of its rules, and the chains hang in a
 * balanced tree of numbers: a call takes some ten instructions, and the kernel can tell beforehand
 * which numbers are always allowed.
 *
 * Rules of one system call: one without arguments decides alone (the first such in the document);
 * otherwise those with arguments are asked in the order in which the kernel itself would prefer
 * their actions, strictest first, and the default action is last. Several conditions on one
 * argument are alternatives, as runc has it.
 *
 * Numbers above the newest one that the profile names answer ENOSYS where the default is an errno:
 * a C library that tries a newer system call then falls back instead of failing.
 *
 * i386 reaches some calls by a multiplexer (socketcall, ipc) whose arguments lie in memory, out of
 * the filter's sight. A rule without conditions covers that road as well; one with conditions
 * covers it only where it is stricter than the default action. Other machines that have such calls
 * (s390, ppc, mips) have no table here: where the kernel is one of them the profile is
 * refused, elsewhere their programs are killed, as those of every machine that it does not name.
 */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "backends/linux/seccomp_filters.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"

#define X32_BIT		UINT32_C(0x40000000)
#define NO_SYSCALL	UINT32_C(0xffffffff) /* a tracer made the kernel skip the call */
#define I386_SOCKETCALL 102
#define I386_IPC	117

/* System calls that a libseccomp in use may be too old to know. From number 424 on all
 * architectures share one numbering; the rest are x86_64's own. */
struct new_syscall {
	const char *name;
	uint16_t number;
	bool x86_64_only;
};

static const struct new_syscall new_syscalls[] = {
	{"uretprobe", 335, true},	   {"uprobe", 336, true},
	{"futex_waitv", 449, false},	   {"set_mempolicy_home_node", 450, false},
	{"cachestat", 451, false},	   {"fchmodat2", 452, false},
	{"map_shadow_stack", 453, false},  {"futex_wake", 454, false},
	{"futex_wait", 455, false},	   {"futex_requeue", 456, false},
	{"statmount", 457, false},	   {"listmount", 458, false},
	{"lsm_get_self_attr", 459, false}, {"lsm_set_self_attr", 460, false},
	{"lsm_list_modules", 461, false},  {"mseal", 462, false},
	{"setxattrat", 463, false},	   {"getxattrat", 464, false},
	{"listxattrat", 465, false},	   {"removexattrat", 466, false},
	{"open_tree_attr", 467, false},	   {"file_getattr", 468, false},
	{"file_setattr", 469, false},
};

/* i386's direct numbers of multiplexed calls: index of the multiplexer, 0 where there is none. */
static const uint16_t i386_socket_direct[] = {
	[1] = 359,  [2] = 361,	[3] = 362,  [4] = 363,	[5] = 0,    [6] = 367,	[7] = 368,
	[8] = 360,  [9] = 0,	[10] = 0,   [11] = 369, [12] = 371, [13] = 373, [14] = 366,
	[15] = 365, [16] = 370, [17] = 372, [18] = 364, [19] = 337, [20] = 345,
};

static const uint16_t i386_ipc_direct[] = {
	[1] = 0,    [2] = 393,	[3] = 394,  [4] = 0,	[11] = 400, [12] = 401,
	[13] = 399, [14] = 402, [21] = 397, [22] = 398, [23] = 395, [24] = 396,
};

/* ---- compiling ---- */

/* One rule for one number of one architecture. */
struct entry {
	uint32_t number;
	uint32_t action;		    /* SECCOMP_RET_* with data */
	uint32_t multiplexed;		    /* not 0: the first argument is this index, no args */
	const struct oci_seccomp_arg *args; /* conditions that must all hold */
	size_t args_n;
};

/* Where an entry stands among those of its machine. Sorted instead of the entries: a third of the
 * size. */
struct place {
	uint64_t key; /* number, then plain ones first, then strictest first */
	uint32_t index;
};

struct machine {
	uint32_t token;	 /* libseccomp's; the kernel's AUDIT_ARCH_* but for x32 */
	uint32_t kernel; /* what seccomp_data.arch holds */
	bool is_64;	 /* arguments are 64 bits wide */
};

struct compiler {
	struct bpf_asm code;
	const struct oci_seccomp *seccomp;
	uint32_t default_action;
	bpf_label default_label;
	struct entry *entries;	      /* of the machine at hand, in the document's order */
	struct place *memory;	      /* both of: */
	struct place *places, *spare; /* sorted, and what the sort needs beside */
	size_t n, cap;
	int64_t newest; /* largest number that the profile names, -1: none */
	bool no_table;	/* of the machine's multiplexed calls, which the profile names */
	bool failed;
};

static bool entries_grow(struct compiler *c)
{
	size_t cap = c->cap ? c->cap * 2 : 512;
	struct entry *entries = realloc(c->entries, cap * sizeof(*entries));

	if (!entries)
		return false;
	c->entries = entries;
	c->cap = cap;
	return true;
}

static struct entry *entry_add(struct compiler *c, uint32_t number, uint32_t action)
{
	struct entry *entry;

	if (c->n == c->cap && !entries_grow(c)) {
		c->failed = true;
		return NULL;
	}
	entry = &c->entries[c->n++];
	*entry = (struct entry){.number = number, .action = action};
	return entry;
}

static bool has_repeated_index(const struct oci_seccomp_rule *rule)
{
	unsigned seen = 0;
	size_t i;

	for (i = 0; i < rule->args_n; i++) {
		if (seen & (1u << rule->args[i].index))
			return true;
		seen |= 1u << rule->args[i].index;
	}
	return false;
}

/* A rule for one number: conditions together, or each alone where one argument has several. */
static void rule_add(struct compiler *c, const struct oci_seccomp_rule *rule, uint32_t action,
		     uint32_t number)
{
	bool together = !has_repeated_index(rule);
	struct entry *entry;
	size_t i;

	if (c->newest < (int64_t)number)
		c->newest = (int64_t)number;
	if (action == c->default_action)
		return;
	for (i = 0; i < rule->args_n || i == 0; i++) {
		entry = entry_add(c, number, action);
		if (!entry)
			return;
		entry->args = rule->args_n ? &rule->args[i] : NULL;
		entry->args_n = together ? rule->args_n : 1;
		if (together)
			return;
	}
}

/* Smaller is stricter: the kernel compares the action part as a signed number. */
static int32_t action_rank(uint32_t action)
{
	return (int32_t)(action & SECCOMP_RET_ACTION_FULL);
}

/* The second road to a call, by the index in the multiplexer's first argument. */
static void multiplexed_add(struct compiler *c, const struct oci_seccomp_rule *rule,
			    const struct entry *model)
{
	struct entry *entry;

	if (model->action == c->default_action ||
	    (rule->args_n > 0 && action_rank(model->action) >= action_rank(c->default_action)))
		return;
	entry = entry_add(c, model->number, model->action);
	if (entry)
		entry->multiplexed = model->multiplexed;
}

/* libseccomp names multiplexed calls of i386 by -(100 + index) and -(200 + index). */
static void i386_pseudo_add(struct compiler *c, const struct oci_seccomp_rule *rule,
			    uint32_t action, int pseudo)
{
	bool is_ipc = pseudo <= -200;
	uint32_t index = (uint32_t)(-pseudo - (is_ipc ? 200 : 100));
	const uint16_t *table = is_ipc ? i386_ipc_direct : i386_socket_direct;
	size_t count = is_ipc ? ARRAY_SIZE(i386_ipc_direct) : ARRAY_SIZE(i386_socket_direct);

	if (index >= count)
		return;
	if (table[index] != 0)
		rule_add(c, rule, action, table[index]);
	multiplexed_add(c, rule,
			&(struct entry){.number = is_ipc ? I386_IPC : I386_SOCKETCALL,
					.action = action,
					.multiplexed = index});
}

static int number_resolve(const struct machine *machine, const char *name)
{
	int number = seccomp_syscall_resolve_name_arch(machine->token, name);
	size_t i;

	for (i = 0; number == __NR_SCMP_ERROR && i < ARRAY_SIZE(new_syscalls); i++) {
		if (strcmp(new_syscalls[i].name, name) != 0)
			continue;
		if (new_syscalls[i].x86_64_only && machine->token != SCMP_ARCH_X86_64)
			break;
		number = new_syscalls[i].number;
		if (machine->token == SCMP_ARCH_X32)
			number |= (int)X32_BIT;
	}
	return number;
}

/* libseccomp's number for one of a multiplexer's calls, on a machine that has that. */
static bool is_multiplexed(const struct machine *machine, int number)
{
	return number <= -100 && number > -300 &&
	       number_resolve(machine, number > -200 ? "socketcall" : "ipc") >= 0;
}

static void log_unknown(int number, const char *name)
{
	if (number == __NR_SCMP_ERROR)
		log_debug("skip the seccomp rule for unknown system call \"%s\"", name);
}

static void entries_collect(struct compiler *c, const struct machine *machine)
{
	const struct oci_seccomp *s = c->seccomp;
	size_t i, k;
	int number;

	c->n = 0;
	c->newest = -1;
	c->no_table = false;
	for (i = 0; i < s->rules_n; i++) {
		const struct oci_seccomp_rule *rule = &s->rules[i];
		uint32_t action = seccomp_action_value(rule->action, &rule->errno_ret);

		for (k = 0; k < rule->names.n; k++) {
			number = number_resolve(machine, rule->names.v[k]);
			if (number >= 0)
				rule_add(c, rule, action, (uint32_t)number);
			else if (!is_multiplexed(machine, number))
				log_unknown(number, rule->names.v[k]);
			else if (machine->token == SCMP_ARCH_X86)
				i386_pseudo_add(c, rule, action, number);
			else
				c->no_table = true;
		}
	}
}

static bool is_plain(const struct entry *entry)
{
	return entry->args_n == 0 && entry->multiplexed == 0;
}

static uint64_t entry_key(const struct entry *entry)
{
	uint32_t rank = (uint32_t)action_rank(entry->action) ^ UINT32_C(0x80000000);

	return (uint64_t)entry->number << 32 | (is_plain(entry) ? 0 : 1 + (rank >> 16));
}

/* One pass of a radix sort, by the byte at shift: stable, from places to spare. */
static void places_pass(struct compiler *c, unsigned shift)
{
	size_t starts[256] = {0}, sum = 0, count;
	struct place *to = c->spare;
	size_t i;

	for (i = 0; i < c->n; i++)
		starts[(c->places[i].key >> shift) & 0xff]++;
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		count = starts[i];
		starts[i] = sum;
		sum += count;
	}
	for (i = 0; i < c->n; i++)
		to[starts[(c->places[i].key >> shift) & 0xff]++] = c->places[i];
	c->spare = c->places;
	c->places = to;
}

/* By key, equal ones in the document's order. A library's sort would compare by a call each time,
 * which took half of the time to compile; most bytes of the keys are alike and take no pass. */
static bool entries_sort(struct compiler *c)
{
	struct place *memory = reallocarray(c->memory, 2 * c->cap + 1, sizeof(*memory));
	uint64_t differ = 0;

	if (!memory)
		return false;
	c->memory = c->places = memory;
	c->spare = memory + c->cap;
	for (size_t i = 0; i < c->n; i++) {
		memory[i] = (struct place){entry_key(&c->entries[i]), (uint32_t)i};
		differ |= memory[i].key ^ memory[0].key;
	}
	for (unsigned shift = 0; shift < 64; shift += 8)
		if ((differ >> shift) & 0xff)
			places_pass(c, shift);
	return true;
}

/* Offset of a half of an argument in struct seccomp_data (16 bytes of head, 8 per argument). */
static uint32_t arg_offset(uint32_t index, bool high)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return 16 + 8 * index + (high ? 4 : 0);
#else
	return 16 + 8 * index + (high ? 0 : 4);
#endif
}

/* One half of an argument against a constant. */
struct half {
	uint16_t op; /* BPF_JEQ, BPF_JGT, BPF_JGE */
	uint32_t offset, mask, value;
};

static bpf_label half_compare(struct bpf_asm *a, const struct half *half, bpf_label yes,
			      bpf_label no)
{
	bpf_label test = bpf_branch(a, half->op, half->value, yes, no);

	if (half->mask != UINT32_MAX)
		test = bpf_and(a, half->mask, test);
	return bpf_load(a, half->offset, test);
}

/* One condition: continue at yes or no. 32-bit machines have no upper half. */
static bpf_label condition(struct bpf_asm *a, const struct oci_seccomp_arg *arg, bool is_64,
			   bpf_label yes, bpf_label no)
{
	enum seccomp_compare op = (enum seccomp_compare)seccomp_compare_find(arg->op);
	/* the datum is masked as well (seccomp_rule_add(3)) */
	uint64_t value = op == CMP_MASKED_EQ ? arg->value_two & arg->value : arg->value;
	uint64_t mask = op == CMP_MASKED_EQ ? arg->value : UINT64_MAX;
	bool negated = op == CMP_NE || op == CMP_LT || op == CMP_LE;
	bpf_label then = negated ? no : yes, otherwise = negated ? yes : no, below;
	struct half low = {.offset = arg_offset(arg->index, false),
			   .mask = (uint32_t)mask,
			   .value = (uint32_t)value};
	struct half high = {.offset = arg_offset(arg->index, true),
			    .mask = (uint32_t)(mask >> 32),
			    .value = (uint32_t)(value >> 32)};

	low.op = op == CMP_GT || op == CMP_LE	? BPF_JGT
		 : op == CMP_GE || op == CMP_LT ? BPF_JGE
						: BPF_JEQ;
	below = half_compare(a, &low, then, otherwise);
	if (!is_64)
		return below;
	high.op = BPF_JEQ;
	if (low.op == BPF_JEQ)
		return half_compare(a, &high, below, otherwise);
	/* Greater above decides; equal above asks below. */
	below = bpf_branch(a, BPF_JEQ, high.value, below, otherwise);
	high.op = BPF_JGT;
	return half_compare(a, &high, then, below);
}

/* All rules of one number, at n places. */
static bpf_label chain(struct compiler *c, const struct place *places, size_t n, bool is_64)
{
	bpf_label next = c->default_label, match;
	size_t i, k;

	if (is_plain(&c->entries[places[0].index]))
		n = 1;
	for (i = n; i-- > 0;) {
		const struct entry *entry = &c->entries[places[i].index];

		match = bpf_return(&c->code, entry->action);
		if (entry->multiplexed)
			match = bpf_load(
				&c->code, arg_offset(0, false),
				bpf_branch(&c->code, BPF_JEQ, entry->multiplexed, match, next));
		for (k = entry->args_n; k-- > 0;)
			match = condition(&c->code, &entry->args[k], is_64, match, next);
		next = match;
	}
	return next;
}

/* Append the ranges of a machine's numbers from first to before end. */
static size_t machine_ranges(struct compiler *c, const struct machine *machine, uint32_t first,
			     uint32_t end, struct bpf_range *ranges, size_t n)
{
	bpf_label beyond = c->default_label;
	size_t i, k;

	entries_collect(c, machine);
	if (!entries_sort(c))
		c->failed = true;
	ranges[n++] = (struct bpf_range){.first = first, .target = c->default_label};
	for (i = 0; i < c->n && !c->failed; i = k) {
		uint32_t number = (uint32_t)(c->places[i].key >> 32);

		for (k = i + 1; k < c->n && c->places[k].key >> 32 == number; k++)
			;
		if (ranges[n - 1].first == number)
			n--;
		ranges[n++] = (struct bpf_range){
			.first = number, .target = chain(c, &c->places[i], k - i, machine->is_64)};
		ranges[n++] = (struct bpf_range){.first = number + 1, .target = c->default_label};
	}
	if (c->newest >= 0 && (c->default_action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
		beyond = bpf_return(&c->code, SECCOMP_RET_ERRNO | ENOSYS);
	if (c->newest >= 0 && (uint64_t)c->newest + 1 < end) {
		if (ranges[n - 1].first == (uint32_t)c->newest + 1)
			n--;
		ranges[n++] =
			(struct bpf_range){.first = (uint32_t)c->newest + 1, .target = beyond};
	}
	return n;
}

static size_t names_count(const struct oci_seccomp *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->rules_n; i++)
		n += s->rules[i].names.n;
	return n;
}

/* The tree of one architecture that the kernel reports; x32 shares x86_64's. */
static bpf_label machine_tree(struct compiler *c, const struct machine *machine,
			      const struct machine *x32)
{
	/* Each name opens and closes at most one range, or two by i386's second road. */
	size_t max = 8 + 4 * names_count(c->seccomp) * 2, n = 0;
	cleanup_free struct bpf_range *ranges = reallocarray(NULL, max, sizeof(*ranges));
	bool is_x86_64 = machine->kernel == AUDIT_ARCH_X86_64;
	bpf_label tree;

	if (!ranges) {
		c->failed = true;
		return 0;
	}
	n = machine_ranges(c, machine, 0, is_x86_64 ? X32_BIT : NO_SYSCALL, ranges, n);
	if (is_x86_64 && x32) {
		n = machine_ranges(c, x32, X32_BIT, NO_SYSCALL, ranges, n);
	} else if (is_x86_64) {
		ranges[n++] = (struct bpf_range){
			.first = X32_BIT, .target = bpf_return(&c->code, SECCOMP_RET_KILL_PROCESS)};
		ranges[n++] = (struct bpf_range){.first = NO_SYSCALL, .target = c->default_label};
	}
	tree = bpf_switch(&c->code, ranges, n);
	return bpf_load(&c->code, offsetof(struct seccomp_data, nr), tree);
}

/* "SCMP_ARCH_PPC64LE" to libseccomp's token by its own name "ppc64le"; false: it has none. */
static bool machine_find(const char *word, struct machine *ret)
{
	static const char prefix[] = "SCMP_ARCH_";
	char name[32];
	size_t i;

	if (strncmp(word, prefix, sizeof(prefix) - 1) != 0)
		return false;
	word += sizeof(prefix) - 1;
	for (i = 0; word[i] && i < sizeof(name) - 1; i++)
		name[i] = word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] + 32) : word[i];
	name[i] = '\0';
	ret->token = seccomp_arch_resolve_name(name);
	if (ret->token == 0)
		return false;
	ret->kernel = ret->token == SCMP_ARCH_X32 ? AUDIT_ARCH_X86_64 : ret->token;
	ret->is_64 = (ret->token & __AUDIT_ARCH_64BIT) != 0;
	return true;
}

/* The machines of the profile, the native one first, each once. */
static size_t machines_list(const struct oci_seccomp *s, struct machine *machines)
{
	struct machine machine;
	size_t i, k, n = 0;

	machines[n].token = machines[n].kernel = seccomp_arch_native();
	machines[n].is_64 = (machines[n].token & __AUDIT_ARCH_64BIT) != 0;
	n++;
	for (i = 0; i < s->architectures.n; i++) {
		if (!machine_find(s->architectures.v[i], &machine)) {
			log_debug("skip seccomp architecture \"%s\": libseccomp does not know it",
				  s->architectures.v[i]);
			continue;
		}
		for (k = 0; k < n && machines[k].token != machine.token; k++)
			;
		if (k == n)
			machines[n++] = machine;
	}
	return n;
}

static bpf_label machines_tree(struct compiler *c, const struct machine *machines, size_t n)
{
	const struct machine *x32 = NULL;
	bpf_label next = bpf_return(&c->code, SECCOMP_RET_KILL_PROCESS), tree;
	size_t i;

	for (i = 0; i < n; i++) {
		if (machines[i].token == SCMP_ARCH_X32)
			x32 = &machines[i];
	}
	for (i = n; i-- > 0;) {
		if (&machines[i] == x32)
			continue;
		tree = machine_tree(c, &machines[i], x32);
		if (c->no_table && i > 0)
			continue;
		next = bpf_branch(&c->code, BPF_JEQ, machines[i].kernel, tree, next);
	}
	return bpf_load(&c->code, offsetof(struct seccomp_data, arch), next);
}

int seccomp_bundle_compile(const struct oci_seccomp *seccomp, struct bpf_program *ret,
			   struct sbx_error *err)
{
	struct machine machines[SECCOMP_ARCHITECTURES_MAX + 1];
	struct compiler c = {.seccomp = seccomp};
	bpf_label entry;
	int r;

	bpf_init(&c.code);
	c.default_action =
		seccomp_action_value(seccomp->default_action, &seccomp->default_errno_ret);
	c.default_label = bpf_return(&c.code, c.default_action);
	entry = machines_tree(&c, machines, machines_list(seccomp, machines));
	/* the native machine is compiled last */
	r = c.failed ? -ENOMEM : c.no_table ? -EOPNOTSUPP : bpf_finish(&c.code, entry, ret);
	bpf_release(&c.code);
	free(c.entries);
	free(c.memory);
	if (r == -E2BIG)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/seccomp",
				   "compile the seccomp profile: it needs more than %d "
				   "instructions, the kernel's limit",
				   BPF_MAXINSNS);
	if (r == -EOPNOTSUPP)
		return sbx_fail_at(
			err, SBX_E_UNSUPPORTED, "/linux/seccomp/syscalls",
			"filter the socket and System V IPC calls of this machine: their "
			"numbers are not built in");
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "compile the seccomp profile");
	return 0;
}
