/*
 * The device filter: the rules, v1's normal form, the program by a small interpreter, and, for
 * root, the kernel's own answer.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "backends/linux/cgroup/devices.h"
#include "runtime/base/cleanup.h"
#include "tests/unit/cgroup_real.h"

/* ---- an interpreter for what the assembler emits ---- */

static int64_t operand(const struct bpf_insn *i, const int64_t *reg)
{
	return BPF_SRC(i->code) == BPF_X ? reg[i->src_reg] : i->imm;
}

static int interpret(const struct bpf_insn *insns, int n, const struct bpf_cgroup_dev_ctx *ctx)
{
	int64_t reg[11] = {0};

	for (int pc = 0, steps = 0; steps < 20000; pc++, steps++) {
		const struct bpf_insn *i = &insns[pc];

		assert_true(pc >= 0 && pc < n);
		switch (i->code & ~BPF_X) {
		case BPF_LDX | BPF_MEM | BPF_W:
			assert_true(i->off >= 0 && i->off <= 8 && i->src_reg == 1);
			reg[i->dst_reg] = *(const __u32 *)((const char *)ctx + i->off);
			break;
		case BPF_ALU64 | BPF_MOV:
			reg[i->dst_reg] = operand(i, reg);
			break;
		case BPF_ALU64 | BPF_AND:
			reg[i->dst_reg] &= operand(i, reg);
			break;
		case BPF_ALU64 | BPF_RSH:
			reg[i->dst_reg] = (int64_t)((uint64_t)reg[i->dst_reg] >> operand(i, reg));
			break;
		case BPF_JMP | BPF_JNE:
			pc += reg[i->dst_reg] != operand(i, reg) ? i->off : 0;
			break;
		case BPF_JMP | BPF_JEQ:
			pc += reg[i->dst_reg] == operand(i, reg) ? i->off : 0;
			break;
		case BPF_JMP | BPF_EXIT:
			return (int)reg[0];
		default:
			fail_msg("unknown instruction 0x%x", i->code);
		}
	}
	fail_msg("the program does not end");
	return -1;
}

static bool decide_by_program(const struct device_rules *rules, char type, int major, int minor,
			      unsigned access)
{
	static struct bpf_insn insns[DEVICE_INSNS_MAX];
	int n = devices_assemble(rules, insns, DEVICE_INSNS_MAX);
	struct bpf_cgroup_dev_ctx ctx = {
		.access_type =
			access << 16 | (type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR),
		.major = (__u32)major,
		.minor = (__u32)minor,
	};

	assert_true(n > 0);
	return interpret(insns, n, &ctx) == 1;
}

/* As the kernel decides from a default and its exceptions, for one bit of access. */
static bool decide_by_list(const struct device_exceptions *list, char type, int major, int minor,
			   unsigned bit)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct device_rule *e = &list->v[i];

		assert_true(e->allow != list->default_allow);
		if (e->type == type && (e->major < 0 || e->major == major) &&
		    (e->minor < 0 || e->minor == minor) && (e->access & bit))
			return !list->default_allow;
	}
	return list->default_allow;
}

/* ---- rules ---- */

static void default_list(void **state)
{
	struct device_rules rules;

	(void)state;
	assert_int_equal(devices_collect(NULL, &rules, NULL), 0);
	assert_true(devices_decide(&rules, 'c', 1, 3, DEVICE_READ | DEVICE_WRITE));
	assert_true(devices_decide(&rules, 'c', 136, 77, DEVICE_READ));
	assert_true(devices_decide(&rules, 'b', 8, 0, DEVICE_MKNOD));
	assert_false(devices_decide(&rules, 'b', 8, 0, DEVICE_READ));
	assert_false(devices_decide(&rules, 'b', 8, 0, DEVICE_READ | DEVICE_MKNOD));
	assert_false(devices_decide(&rules, 'c', 1, 1, DEVICE_READ)); /* mem */
	assert_true(decide_by_program(&rules, 'c', 1, 3, DEVICE_ALL));
	assert_false(decide_by_program(&rules, 'c', 1, 1, DEVICE_READ));
}

static struct oci_device_rule oci_rule(bool allow, char type, int64_t major, int64_t minor,
				       const char *access)
{
	return (struct oci_device_rule){
		.allow = allow,
		.type = type,
		.major = major,
		.minor = minor,
		.r = strchr(access, 'r'),
		.w = strchr(access, 'w'),
		.m = strchr(access, 'm'),
	};
}

static void later_rules_win(void **state)
{
	struct oci_device_rule v[] = {
		oci_rule(true, 'a', -1, -1, "rwm"), oci_rule(false, 'b', 8, -1, "w"),
		oci_rule(true, 'b', 8, 0, "w"),
		oci_rule(false, 'c', 1, 3, "rwm"), /* the default list gives it back */
	};
	struct oci_resources resources = {.devices = v, .devices_n = ARRAY_SIZE(v)};
	struct device_rules rules;

	(void)state;
	assert_int_equal(devices_collect(&resources, &rules, NULL), 0);
	assert_true(devices_decide(&rules, 'b', 8, 0, DEVICE_ALL));
	assert_false(devices_decide(&rules, 'b', 8, 1, DEVICE_WRITE));
	assert_true(devices_decide(&rules, 'b', 8, 1, DEVICE_READ));
	assert_false(devices_decide(&rules, 'b', 8, 1, DEVICE_READ | DEVICE_WRITE));
	assert_true(devices_decide(&rules, 'c', 1, 3, DEVICE_ALL));
	assert_true(devices_decide(&rules, 'c', 9, 9, DEVICE_ALL));
}

static void refuses_too_many_rules(void **state)
{
	static struct oci_device_rule v[DEVICE_RULES_MAX];
	struct oci_resources resources = {.devices = v, .devices_n = ARRAY_SIZE(v)};
	struct device_rules rules;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = oci_rule(true, 'c', (int64_t)i, 0, "r");
	assert_int_equal(devices_collect(&resources, &rules, NULL), -E2BIG);
}

static unsigned next_random(void)
{
	static unsigned seed = 12345;

	seed = seed * 1103515245 + 12345;
	return seed >> 16;
}

static void random_rules(struct device_rules *rules)
{
	static const char types[] = "abc";

	rules->n = next_random() % 8;
	for (size_t i = 0; i < rules->n; i++)
		rules->v[i] = (struct device_rule){
			.type = types[next_random() % 3],
			.allow = next_random() % 2,
			.major = (int64_t)(next_random() % 4) - 1,
			.minor = (int64_t)(next_random() % 4) - 1,
			.access = next_random() % 3 ? DEVICE_ALL : next_random() % 7 + 1,
		};
}

/* Both forms say what the ordered rules say, or v1's is refused. */
static void forms_agree(void **state)
{
	static struct device_rules rules;
	static struct device_exceptions list;
	int expressible = 0;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		bool v1;

		random_rules(&rules);
		v1 = devices_normalise_v1(&rules, &list, NULL) == 0;
		expressible += v1;
		for (int at = 0; at < 2 * 3 * 3 * 7; at++) {
			char type = at % 2 ? 'b' : 'c';
			int major = at / 2 % 3, minor = at / 6 % 3;
			unsigned access = (unsigned)at / 18 + 1;
			bool want = devices_decide(&rules, type, major, minor, access);

			assert_int_equal(decide_by_program(&rules, type, major, minor, access),
					 want);
			if (v1 && (access & (access - 1)) == 0)
				assert_int_equal(decide_by_list(&list, type, major, minor, access),
						 want);
		}
	}
	assert_true(expressible > 500);
}

static void v1_refuses_what_it_cannot_say(void **state)
{
	static struct device_rules rules = {
		.v = {{'c', true, false, 1, -1, DEVICE_ALL}, {'c', false, false, 1, 1, DEVICE_ALL}},
		.n = 2,
	};
	static struct device_exceptions list;
	struct sbx_error err = {0};

	(void)state;
	assert_true(devices_normalise_v1(&rules, &list, &err) < 0);
	assert_int_equal(err.code, SBX_E_UNSUPPORTED);
	assert_non_null(strstr(err.message, "deny device \"c 1:1 rwm\""));
	rules.v[1].major = 2; /* control: elsewhere it takes nothing away and is fine */
	assert_int_equal(devices_normalise_v1(&rules, &list, NULL), 0);
	assert_int_equal(list.n, 1);
}

static void numbers_no_device_has(void **state)
{
	struct device_rules rules = {
		.v = {{'c', true, false, 0x100000003ll, 3, DEVICE_ALL}},
		.n = 1,
	};

	(void)state;
	assert_false(decide_by_program(&rules, 'c', 3, 3, DEVICE_READ));
}

/* ---- the kernel ---- */

static int try_open(int major, int minor, const struct cgroup_entry *entry, const char *node)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int fd;

		if (cgroup_entry_use(entry, NULL) < 0)
			_exit(100);
		if (mknod(node, S_IFCHR | 0600, makedev((unsigned)major, (unsigned)minor)) < 0)
			_exit(101);
		fd = open(node, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		_exit(fd >= 0 ? 0 : errno);
	}
	waitpid(pid, &status, 0);
	unlink(node);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* c 1:11 is the kernel log: root may open it anywhere, and it is not in the default list. */
static void kernel_filters(void **state)
{
	struct oci_device_rule v[] = {oci_rule(false, 'a', -1, -1, "rwm"),
				      oci_rule(true, 'c', 1, 11, "r")};
	struct oci_resources resources = {.devices = v, .devices_n = 1};
	char node[] = "/tmp/sbx-test-node-XXXXXX";
	struct cgroup_entry entry;
	struct cgroup cg;
	struct sbx_error err = {0};

	(void)state;
	make(&cg);
	close(mkstemp(node));
	unlink(node);
	assert_int_equal(cgroup_entry_open(&cg, &entry, NULL), 0);
	assert_int_equal(try_open(1, 11, &entry, node), 0); /* control: no filter yet */
	if (cgroup_apply_devices(&cg, &resources, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(try_open(1, 3, &entry, node), 0);
	assert_int_equal(try_open(1, 11, &entry, node), EPERM);
	resources.devices_n = 2; /* replaced: now it is allowed */
	assert_int_equal(cgroup_apply_devices(&cg, &resources, NULL), 0);
	assert_int_equal(try_open(1, 11, &entry, node), 0);
	assert_int_equal(try_open(1, 3, &entry, node), 0);
	resources.devices_n = 1;
	assert_int_equal(cgroup_apply_devices(&cg, &resources, NULL), 0);
	assert_int_equal(try_open(1, 11, &entry, node), EPERM);
	cgroup_entry_close(&entry);
	unmake(&cg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_list),
		cmocka_unit_test(later_rules_win),
		cmocka_unit_test(refuses_too_many_rules),
		cmocka_unit_test(forms_agree),
		cmocka_unit_test(v1_refuses_what_it_cannot_say),
		cmocka_unit_test(numbers_no_device_has),
		cmocka_unit_test(kernel_filters),
	};

	return cmocka_run_group_tests(tests, setup_root, NULL);
}
