/*
 * linux.seccomp against libseccomp: the same rules compiled by both answer every call alike, by
 * the interpreter; then what is our own: ENOSYS for newer numbers, names that libseccomp does not
 * know, i386's multiplexers, the order of overlapping rules.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/seccomp_filters.h"
#include "runtime/base/cleanup.h"
#include "tests/unit/bpf_sim.h"

#define NAMES(...)                                                                                 \
	{                                                                                          \
		.v = (char *[]){__VA_ARGS__, NULL},                                                \
		.n = sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)                              \
	}
#define ERRNO_OF(n) (SECCOMP_RET_ERRNO | (n))

static char *every_arch[] = {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32",
			     "SCMP_ARCH_AARCH64"};

static uint32_t answer(const struct bpf_program *p, uint32_t arch, uint32_t nr,
		       const uint64_t args[6])
{
	struct seccomp_data data = {.nr = (int)nr, .arch = arch};

	if (args)
		memcpy(data.args, args, sizeof(data.args));
	return bpf_sim_run(p->v, p->n, &data, NULL);
}

static void compile(const struct oci_seccomp *s, struct bpf_program *p)
{
	struct sbx_error err = {0};

	if (seccomp_bundle_check(s, &err) < 0 || seccomp_bundle_compile(s, p, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(bpf_sim_check(p->v, p->n));
}

/* ---- the same rules through libseccomp ---- */

static const struct {
	const char *word;
	enum scmp_compare op;
} compares[] = {
	{"SCMP_CMP_NE", SCMP_CMP_NE},
	{"SCMP_CMP_LT", SCMP_CMP_LT},
	{"SCMP_CMP_LE", SCMP_CMP_LE},
	{"SCMP_CMP_EQ", SCMP_CMP_EQ},
	{"SCMP_CMP_GE", SCMP_CMP_GE},
	{"SCMP_CMP_GT", SCMP_CMP_GT},
	{"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ},
};

static void reference_rule(scmp_filter_ctx ctx, const struct oci_seccomp_rule *rule)
{
	struct scmp_arg_cmp args[6];
	uint32_t action = strcmp(rule->action, "SCMP_ACT_ALLOW") == 0
				  ? SCMP_ACT_ALLOW
				  : SCMP_ACT_ERRNO(rule->errno_ret.set ? rule->errno_ret.v : EPERM);
	size_t i, k;

	for (i = 0; i < rule->args_n; i++) {
		args[i] = (struct scmp_arg_cmp){.arg = rule->args[i].index,
						.datum_a = rule->args[i].value,
						.datum_b = rule->args[i].value_two};
		for (k = 0; k < ARRAY_SIZE(compares); k++) {
			if (strcmp(compares[k].word, rule->args[i].op) == 0)
				args[i].op = compares[k].op;
		}
	}
	for (i = 0; i < rule->names.n; i++) {
		int number = seccomp_syscall_resolve_name(rule->names.v[i]);

		if (number != __NR_SCMP_ERROR)
			assert_int_equal(seccomp_rule_add_array(ctx, action, number,
								(unsigned)rule->args_n,
								rule->args_n ? args : NULL),
					 0);
	}
}

static void reference_compile(const struct oci_seccomp *s, uint32_t token, uint32_t default_action,
			      struct bpf_program *p)
{
	scmp_filter_ctx ctx = seccomp_init(default_action);
	struct stat st;
	size_t i;
	int fd;

	assert_non_null(ctx);
	if (token != seccomp_arch_native()) {
		assert_int_equal(seccomp_arch_remove(ctx, seccomp_arch_native()), 0);
		assert_int_equal(seccomp_arch_add(ctx, token), 0);
	}
	for (i = 0; i < s->rules_n; i++)
		reference_rule(ctx, &s->rules[i]);
	fd = memfd_create("reference", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(seccomp_export_bpf(ctx, fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	p->n = (size_t)st.st_size / sizeof(*p->v);
	p->v = malloc((size_t)st.st_size);
	assert_non_null(p->v);
	assert_int_equal(pread(fd, p->v, (size_t)st.st_size, 0), st.st_size);
	close(fd);
	seccomp_release(ctx);
}

static struct oci_seccomp_arg arg_cases[] = {
	{0, 5, 0, "SCMP_CMP_EQ"},
	{1, 5, 0, "SCMP_CMP_NE"},
	{2, UINT64_C(0x100000005), 0, "SCMP_CMP_LT"},
	{3, UINT64_C(0x100000005), 0, "SCMP_CMP_LE"},
	{4, UINT64_C(0x100000005), 0, "SCMP_CMP_GE"},
	{5, UINT64_C(0x100000005), 0, "SCMP_CMP_GT"},
	{0, 0x7e020000, 0, "SCMP_CMP_MASKED_EQ"},
	{0, UINT64_C(0xf0000000f), UINT64_C(0x300000005), "SCMP_CMP_MASKED_EQ"},
	/* what of the datum lies outside of the mask does not count */
	{1, 0xf, 0xf5, "SCMP_CMP_MASKED_EQ"},
	{2, UINT64_C(0x100000000), UINT64_MAX, "SCMP_CMP_MASKED_EQ"},
};

static const uint64_t values[] = {
	0,
	4,
	5,
	6,
	0x7e020000,
	0x00020000,
	UINT32_MAX,
	UINT64_C(0x100000000),
	UINT64_C(0x100000004),
	UINT64_C(0x100000005),
	UINT64_C(0x100000006),
	UINT64_C(0x200000005),
	UINT64_C(0x300000005),
	UINT64_MAX,
};

/* Every number and every sample of one argument, on one machine. */
static void compare_with_reference(const struct oci_seccomp *s, uint32_t token, uint32_t kernel)
{
	cleanup_bpf_program struct bpf_program ours = {0}, theirs = {0};
	uint32_t base = token == SCMP_ARCH_X32 ? 0x40000000 : 0, nr;
	size_t a, v;

	compile(s, &ours);
	reference_compile(s, token, SCMP_ACT_ERRNO(EPERM), &theirs);
	for (nr = 0; nr <= 450; nr++) {
		for (a = 0; a < 6; a++) {
			for (v = 0; v < ARRAY_SIZE(values); v++) {
				uint64_t args[6] = {1, 1, 1, 1, 1, 1};
				uint32_t mine, other;

				args[a] = values[v];
				if (token == SCMP_ARCH_X86)
					args[a] &= UINT32_MAX;
				mine = answer(&ours, kernel, base + nr, args);
				other = answer(&theirs, kernel, base + nr, args);
				if (mine == other || mine == ERRNO_OF(ENOSYS))
					continue;
				fail_msg(
					"machine %#x call %u argument %zu = %#llx: %#x, libseccomp "
					"%#x",
					token, nr, a, (unsigned long long)values[v], mine, other);
			}
		}
	}
}

static void test_like_libseccomp(void **state)
{
	struct oci_seccomp_rule rules[] = {
		{NAMES("read", "write", "openat", "exit_group", "mmap", "time", "chown32"),
		 .action = "SCMP_ACT_ALLOW"},
		{NAMES("getpid"), .action = "SCMP_ACT_ALLOW", .args = &arg_cases[0], .args_n = 1},
		{NAMES("getuid"), .action = "SCMP_ACT_ALLOW", .args = &arg_cases[1], .args_n = 1},
		{NAMES("getgid"), .action = "SCMP_ACT_ALLOW", .args = &arg_cases[2], .args_n = 1},
		{NAMES("geteuid"), .action = "SCMP_ACT_ALLOW", .args = &arg_cases[3], .args_n = 1},
		{NAMES("getegid"), .action = "SCMP_ACT_ALLOW", .args = &arg_cases[4], .args_n = 1},
		{NAMES("getppid"), .action = "SCMP_ACT_ALLOW", .args = &arg_cases[5], .args_n = 1},
		{NAMES("clone"), .action = "SCMP_ACT_ALLOW", .args = &arg_cases[6], .args_n = 1},
		{NAMES("prctl"), .action = "SCMP_ACT_ERRNO", .errno_ret = {true, 95},
		 .args = &arg_cases[7], .args_n = 1},
		{NAMES("kcmp"), .action = "SCMP_ACT_ALLOW", .args = arg_cases, .args_n = 6},
		{NAMES("flock"), .action = "SCMP_ACT_ERRNO", .errno_ret = {true, 38}},
		{NAMES("fsync"), .action = "SCMP_ACT_ALLOW"},
		{NAMES("fsync"), .action = "SCMP_ACT_ERRNO", .errno_ret = {true, 3}},
		{NAMES("fsync"), .action = "SCMP_ACT_ERRNO", .errno_ret = {true, 4},
		 .args = arg_cases, .args_n = 1},
		{NAMES("set_mempolicy_home_node", "futex_waitv"), .action = "SCMP_ACT_ALLOW"},
	};
	struct oci_seccomp s = {
		.default_action = "SCMP_ACT_ERRNO",
		.architectures = {.v = every_arch, .n = ARRAY_SIZE(every_arch)},
		.rules = rules,
		.rules_n = ARRAY_SIZE(rules),
	};

	(void)state;
	compare_with_reference(&s, SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64);
	compare_with_reference(&s, SCMP_ARCH_X32, AUDIT_ARCH_X86_64);
	compare_with_reference(&s, SCMP_ARCH_X86, AUDIT_ARCH_I386);
	compare_with_reference(&s, SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64);
}

/* ---- what is our own ---- */

static void test_newer_numbers_answer_enosys(void **state)
{
	cleanup_bpf_program struct bpf_program p = {0}, q = {0};
	struct oci_seccomp_rule rule = {NAMES("read", "landlock_restrict_self"),
					.action = "SCMP_ACT_ALLOW"};
	struct oci_seccomp s = {.default_action = "SCMP_ACT_ERRNO",
				.architectures = {.v = every_arch, .n = 3},
				.rules = &rule,
				.rules_n = 1};

	(void)state;
	compile(&s, &p);
	assert_int_equal(answer(&p, AUDIT_ARCH_X86_64, 446, NULL), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&p, AUDIT_ARCH_X86_64, 445, NULL), ERRNO_OF(EPERM));
	assert_int_equal(answer(&p, AUDIT_ARCH_X86_64, 447, NULL), ERRNO_OF(ENOSYS));
	assert_int_equal(answer(&p, AUDIT_ARCH_X86_64, 470, NULL), ERRNO_OF(ENOSYS));
	assert_int_equal(answer(&p, AUDIT_ARCH_I386, 470, NULL), ERRNO_OF(ENOSYS));
	assert_int_equal(answer(&p, AUDIT_ARCH_X86_64, 0x40000000 + 470, NULL), ERRNO_OF(ENOSYS));
	assert_int_equal(answer(&p, AUDIT_ARCH_X86_64, 0x40000000, NULL), SECCOMP_RET_ALLOW);
	/* A default that kills is no errno: it stays. */
	s.default_action = "SCMP_ACT_KILL_PROCESS";
	compile(&s, &q);
	assert_int_equal(answer(&q, AUDIT_ARCH_X86_64, 470, NULL), SECCOMP_RET_KILL_PROCESS);
}

static void test_names_newer_than_libseccomp(void **state)
{
	cleanup_bpf_program struct bpf_program p = {0};
	struct oci_seccomp_rule rule = {
		NAMES("file_setattr", "mseal", "uretprobe", "no_such_call_at_all"),
		.action = "SCMP_ACT_ALLOW"};
	struct oci_seccomp s = {.default_action = "SCMP_ACT_ERRNO",
				.architectures = {.v = every_arch, .n = 3},
				.rules = &rule,
				.rules_n = 1};

	(void)state;
	compile(&s, &p);
	assert_int_equal(answer(&p, AUDIT_ARCH_X86_64, 469, NULL), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&p, AUDIT_ARCH_X86_64, 462, NULL), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&p, AUDIT_ARCH_X86_64, 335, NULL), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&p, AUDIT_ARCH_X86_64, 336, NULL), ERRNO_OF(EPERM));
	assert_int_equal(answer(&p, AUDIT_ARCH_I386, 469, NULL), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&p, AUDIT_ARCH_I386, 335, NULL), ERRNO_OF(EPERM));
}

static void test_machines_that_are_not_named(void **state)
{
	cleanup_bpf_program struct bpf_program p = {0};
	struct oci_seccomp s = {.default_action = "SCMP_ACT_ALLOW"};

	(void)state;
	compile(&s, &p);
	assert_int_equal(answer(&p, seccomp_arch_native(), 1, NULL), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&p, AUDIT_ARCH_I386, 1, NULL), SECCOMP_RET_KILL_PROCESS);
	if (seccomp_arch_native() == SCMP_ARCH_X86_64)
		assert_int_equal(answer(&p, AUDIT_ARCH_X86_64, 0x40000001, NULL),
				 SECCOMP_RET_KILL_PROCESS);
}

/* Their socket calls have numbers of two kinds, of which libseccomp tells none. */
static void test_machines_without_a_table(void **state)
{
	static char *foreign[] = {"SCMP_ARCH_PPC64LE", "SCMP_ARCH_S390X", "SCMP_ARCH_S390",
				  "SCMP_ARCH_PPC", "SCMP_ARCH_MIPS"};
	struct oci_seccomp_rule denied[] = {
		{.names = NAMES("socket"), .action = "SCMP_ACT_ERRNO"},
	};
	struct oci_seccomp_rule harmless[] = {
		{.names = NAMES("umask"), .action = "SCMP_ACT_ERRNO"},
	};
	struct oci_seccomp s = {.default_action = "SCMP_ACT_ALLOW",
				.rules = denied,
				.rules_n = 1,
				.architectures = {.v = foreign, .n = 1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		cleanup_bpf_program struct bpf_program closed = {0}, open = {0};
		uint32_t machine = seccomp_arch_resolve_name(
			(const char *[]){"ppc64le", "s390x", "s390", "ppc", "mips"}[i]);

		s.architectures.v = &foreign[i];
		s.rules = denied;
		compile(&s, &closed);
		assert_int_equal(answer(&closed, machine, 1, NULL), SECCOMP_RET_KILL_PROCESS);
		assert_int_equal(answer(&closed, seccomp_arch_native(), 1, NULL),
				 SECCOMP_RET_ALLOW);
		s.rules = harmless;
		compile(&s, &open);
		assert_int_equal(answer(&open, machine, 1, NULL), SECCOMP_RET_ALLOW);
	}
}

static void test_i386_multiplexers(void **state)
{
	cleanup_bpf_program struct bpf_program deny = {0}, allow = {0};
	struct oci_seccomp_arg family = {0, 38, 0, "SCMP_CMP_EQ"};
	struct oci_seccomp_rule denied[] = {
		{NAMES("socket"), .action = "SCMP_ACT_ERRNO", .args = &family, .args_n = 1},
		{NAMES("recv", "semop", "shmget"), .action = "SCMP_ACT_ERRNO"},
	};
	struct oci_seccomp_rule allowed[] = {
		{NAMES("socket"), .action = "SCMP_ACT_ALLOW", .args = &family, .args_n = 1},
		{NAMES("bind", "shmget", "recvmmsg"), .action = "SCMP_ACT_ALLOW"},
	};
	struct oci_seccomp s = {.default_action = "SCMP_ACT_ALLOW",
				.architectures = {.v = every_arch, .n = 2},
				.rules = denied,
				.rules_n = 2};

	(void)state;
	compile(&s, &deny);
	assert_int_equal(answer(&deny, AUDIT_ARCH_I386, 359, (uint64_t[6]){38}), ERRNO_OF(EPERM));
	assert_int_equal(answer(&deny, AUDIT_ARCH_I386, 359, (uint64_t[6]){2}), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&deny, AUDIT_ARCH_I386, 102, (uint64_t[6]){1}), ERRNO_OF(EPERM));
	assert_int_equal(answer(&deny, AUDIT_ARCH_I386, 102, (uint64_t[6]){10}), ERRNO_OF(EPERM));
	assert_int_equal(answer(&deny, AUDIT_ARCH_I386, 102, (uint64_t[6]){2}), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&deny, AUDIT_ARCH_I386, 117, (uint64_t[6]){1}), ERRNO_OF(EPERM));
	assert_int_equal(answer(&deny, AUDIT_ARCH_I386, 117, (uint64_t[6]){23}), ERRNO_OF(EPERM));
	assert_int_equal(answer(&deny, AUDIT_ARCH_I386, 395, NULL), ERRNO_OF(EPERM));
	s.default_action = "SCMP_ACT_ERRNO";
	s.rules = allowed;
	compile(&s, &allow);
	assert_int_equal(answer(&allow, AUDIT_ARCH_I386, 359, (uint64_t[6]){38}),
			 SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&allow, AUDIT_ARCH_I386, 102, (uint64_t[6]){1}), ERRNO_OF(EPERM));
	assert_int_equal(answer(&allow, AUDIT_ARCH_I386, 102, (uint64_t[6]){2}), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&allow, AUDIT_ARCH_I386, 361, NULL), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&allow, AUDIT_ARCH_I386, 337, NULL), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&allow, AUDIT_ARCH_I386, 117, (uint64_t[6]){23}),
			 SECCOMP_RET_ALLOW);
}

static void test_several_conditions_on_one_argument(void **state)
{
	cleanup_bpf_program struct bpf_program p = {0};
	struct oci_seccomp_arg args[] = {{0, 3, 0, "SCMP_CMP_EQ"}, {0, 7, 0, "SCMP_CMP_EQ"}};
	struct oci_seccomp_rule rule = {NAMES("getpid"), .action = "SCMP_ACT_ALLOW", .args = args,
					.args_n = 2};
	struct oci_seccomp s = {.default_action = "SCMP_ACT_ERRNO", .rules = &rule, .rules_n = 1};
	uint32_t nr = (uint32_t)seccomp_syscall_resolve_name("getpid");

	(void)state;
	compile(&s, &p);
	assert_int_equal(answer(&p, seccomp_arch_native(), nr, (uint64_t[6]){3}),
			 SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&p, seccomp_arch_native(), nr, (uint64_t[6]){7}),
			 SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&p, seccomp_arch_native(), nr, (uint64_t[6]){5}), ERRNO_OF(EPERM));
}

static void test_stricter_of_overlapping_rules_wins(void **state)
{
	struct oci_seccomp_arg above = {0, 3, 0, "SCMP_CMP_GT"}, five = {0, 5, 0, "SCMP_CMP_EQ"};
	struct oci_seccomp_rule rules[2] = {
		{NAMES("getpid"), .action = "SCMP_ACT_ALLOW", .args = &above, .args_n = 1},
		{NAMES("getpid"), .action = "SCMP_ACT_KILL_PROCESS", .args = &five, .args_n = 1},
	};
	struct oci_seccomp s = {.default_action = "SCMP_ACT_ERRNO", .rules = rules, .rules_n = 2};
	uint32_t nr = (uint32_t)seccomp_syscall_resolve_name("getpid"),
		 arch = seccomp_arch_native();
	struct oci_seccomp_rule first = rules[0];
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		cleanup_bpf_program struct bpf_program p = {0};

		compile(&s, &p);
		assert_int_equal(answer(&p, arch, nr, (uint64_t[6]){5}), SECCOMP_RET_KILL_PROCESS);
		assert_int_equal(answer(&p, arch, nr, (uint64_t[6]){6}), SECCOMP_RET_ALLOW);
		assert_int_equal(answer(&p, arch, nr, (uint64_t[6]){3}), ERRNO_OF(EPERM));
		rules[0] = rules[1];
		rules[1] = first;
	}
}

static void test_actions_and_flags(void **state)
{
	static const struct {
		const char *word;
		uint32_t value;
	} words[] = {
		{"SCMP_ACT_KILL", SECCOMP_RET_KILL_THREAD},
		{"SCMP_ACT_KILL_THREAD", SECCOMP_RET_KILL_THREAD},
		{"SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS},
		{"SCMP_ACT_TRAP", SECCOMP_RET_TRAP},
		{"SCMP_ACT_TRACE", SECCOMP_RET_TRACE | EPERM},
		{"SCMP_ACT_LOG", SECCOMP_RET_LOG},
		{"SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO | EPERM},
	};
	char *flag_words[] = {"SECCOMP_FILTER_FLAG_LOG", "SECCOMP_FILTER_FLAG_TSYNC"};
	struct oci_seccomp s = {.default_action = "SCMP_ACT_ALLOW"};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		cleanup_bpf_program struct bpf_program p = {0};
		struct oci_seccomp_rule rule = {NAMES("getpid"), .action = words[i].word};

		s.rules = &rule;
		s.rules_n = 1;
		compile(&s, &p);
		assert_int_equal(answer(&p, seccomp_arch_native(),
					(uint32_t)seccomp_syscall_resolve_name("getpid"), NULL),
				 words[i].value);
	}
	s.rules_n = 0;
	assert_int_equal(seccomp_bundle_flags(&s), 4);
	s.flags = (struct strings){.v = flag_words, .n = 2};
	assert_int_equal(seccomp_bundle_flags(&s), 2);
}

static void refuse(const struct oci_seccomp *s, enum sbx_code code, const char *pointer)
{
	struct sbx_error err = {0};

	assert_true(seccomp_bundle_check(s, &err) < 0);
	assert_int_equal(err.code, code);
	assert_string_equal(err.pointer, pointer);
}

/* The kernel takes the flags about a listener only together. */
static void test_listener_flags(void **state)
{
	char *flag_words[] = {"SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV", "SECCOMP_FILTER_FLAG_LOG"};
	struct oci_seccomp_rule rule = {NAMES("getpid"), .action = "SCMP_ACT_NOTIFY"};
	struct oci_seccomp s = {.default_action = "SCMP_ACT_ALLOW",
				.rules = &rule,
				.rules_n = 1,
				.flags = {flag_words, 2}};

	(void)state;
	assert_true(seccomp_bundle_notifies(&s));
	assert_int_equal(seccomp_bundle_flags(&s), SECCOMP_FILTER_FLAG_LOG |
							   SECCOMP_FILTER_FLAG_NEW_LISTENER |
							   1u << 5 /* WAIT_KILLABLE_RECV */);
	rule.action = "SCMP_ACT_ALLOW";
	assert_false(seccomp_bundle_notifies(&s));
	assert_int_equal(seccomp_bundle_flags(&s), SECCOMP_FILTER_FLAG_LOG);
}

static void test_refusals(void **state)
{
	char *flag_words[] = {"SECCOMP_FILTER_FLAG_NONE"};
	struct oci_seccomp_arg arg = {6, 0, 0, "SCMP_CMP_EQ"};
	struct oci_seccomp_rule rule = {NAMES("getpid"), .action = "SCMP_ACT_NOTIFY"};
	struct oci_seccomp s = {.default_action = "SCMP_ACT_WHAT", .rules = &rule, .rules_n = 1};

	(void)state;
	refuse(&s, SBX_E_INVALID_CONFIG, "/linux/seccomp/defaultAction");
	s.default_action = "SCMP_ACT_KILL";
	s.default_errno_ret = (struct oci_opt_u64){true, 1};
	refuse(&s, SBX_E_INVALID_CONFIG, "/linux/seccomp/defaultAction");
	s.default_action = "SCMP_ACT_ERRNO";
	s.default_errno_ret.v = 4096;
	refuse(&s, SBX_E_INVALID_CONFIG, "/linux/seccomp/defaultAction");
	s.default_errno_ret.v = 38;
	assert_int_equal(seccomp_bundle_check(&s, NULL), 0);
	rule.action = "SCMP_ACT_ALLOW";
	rule.args = &arg;
	rule.args_n = 1;
	refuse(&s, SBX_E_INVALID_CONFIG, "/linux/seccomp/syscalls/0/args/0");
	arg.index = 0;
	arg.op = "SCMP_CMP_ABOUT";
	refuse(&s, SBX_E_INVALID_CONFIG, "/linux/seccomp/syscalls/0/args/0");
	arg.op = "SCMP_CMP_LE";
	s.flags = (struct strings){.v = flag_words, .n = 1};
	refuse(&s, SBX_E_INVALID_CONFIG, "/linux/seccomp/flags");
	s.flags.n = 0;
	assert_int_equal(seccomp_bundle_check(&s, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_libseccomp),
		cmocka_unit_test(test_newer_numbers_answer_enosys),
		cmocka_unit_test(test_listener_flags),
		cmocka_unit_test(test_names_newer_than_libseccomp),
		cmocka_unit_test(test_machines_that_are_not_named),
		cmocka_unit_test(test_machines_without_a_table),
		cmocka_unit_test(test_i386_multiplexers),
		cmocka_unit_test(test_several_conditions_on_one_argument),
		cmocka_unit_test(test_stricter_of_overlapping_rules_wins),
		cmocka_unit_test(test_actions_and_flags),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
