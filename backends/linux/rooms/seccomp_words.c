/*
 * The words of linux.seccomp (config-linux.md#seccomp), what they mean to the kernel, and which of
 * them fit together.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

#include "backends/linux/seccomp_filters.h"
#include "runtime/base/cleanup.h"

#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW (1UL << 2)
#endif
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

#define ERRNO_MAX 4095 /* as the kernel caps SECCOMP_RET_ERRNO */
#define ARGS_MAX  6

/* ---- words of config-linux.md#seccomp ---- */

enum errno_use { ERRNO_NEVER, ERRNO_OPTIONAL };

struct action_row {
	const char *word;
	uint32_t value;
	enum errno_use errno_use;
};

static const struct action_row actions[] = {
	{"SCMP_ACT_KILL", SECCOMP_RET_KILL_THREAD, ERRNO_NEVER},
	{"SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS, ERRNO_NEVER},
	{"SCMP_ACT_KILL_THREAD", SECCOMP_RET_KILL_THREAD, ERRNO_NEVER},
	{"SCMP_ACT_TRAP", SECCOMP_RET_TRAP, ERRNO_NEVER},
	{"SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO, ERRNO_OPTIONAL},
	{"SCMP_ACT_TRACE", SECCOMP_RET_TRACE, ERRNO_OPTIONAL},
	{"SCMP_ACT_ALLOW", SECCOMP_RET_ALLOW, ERRNO_NEVER},
	{"SCMP_ACT_LOG", SECCOMP_RET_LOG, ERRNO_NEVER},
	{"SCMP_ACT_NOTIFY", SECCOMP_RET_USER_NOTIF, ERRNO_NEVER},
};

struct flag_row {
	const char *word;
	unsigned value;
};

/* TSYNC is about threads, and the payload is one. */
static const struct flag_row flags[] = {
	{"SECCOMP_FILTER_FLAG_TSYNC", 0},
	{"SECCOMP_FILTER_FLAG_LOG", SECCOMP_FILTER_FLAG_LOG},
	{"SECCOMP_FILTER_FLAG_SPEC_ALLOW", SECCOMP_FILTER_FLAG_SPEC_ALLOW},
	{"SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV", SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV},
};

static const char *const compare_words[CMP_COUNT] = {
	[CMP_NE] = "SCMP_CMP_NE",
	[CMP_LT] = "SCMP_CMP_LT",
	[CMP_LE] = "SCMP_CMP_LE",
	[CMP_EQ] = "SCMP_CMP_EQ",
	[CMP_GE] = "SCMP_CMP_GE",
	[CMP_GT] = "SCMP_CMP_GT",
	[CMP_MASKED_EQ] = "SCMP_CMP_MASKED_EQ",
};

/* ---- checks ---- */

static const struct action_row *action_find(const char *word)
{
	size_t i;

	for (i = 0; word && i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].word, word) == 0)
			return &actions[i];
	}
	return NULL;
}

int seccomp_compare_find(const char *word)
{
	size_t i;

	for (i = 0; word && i < CMP_COUNT; i++) {
		if (strcmp(compare_words[i], word) == 0)
			return (int)i;
	}
	return -EINVAL;
}

static int action_check(const char *word, const struct oci_opt_u64 *errno_ret, const char *pointer,
			struct sbx_error *err)
{
	const struct action_row *row = action_find(word);

	if (!row)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "use seccomp action \"%s\": it is not known", word ? word : "");
	if (!errno_ret->set)
		return 0;
	if (row->errno_use == ERRNO_NEVER)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "use an errno with seccomp action \"%s\": it takes none", word);
	if (errno_ret->v > ERRNO_MAX)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "use errno %llu: the largest is %d",
				   (unsigned long long)errno_ret->v, ERRNO_MAX);
	return 0;
}

static int rule_check(const struct oci_seccomp_rule *rule, size_t index, struct sbx_error *err)
{
	char pointer[96];
	size_t i;
	int r;

	snprintf(pointer, sizeof(pointer), "/linux/seccomp/syscalls/%zu/action", index);
	r = action_check(rule->action, &rule->errno_ret, pointer, err);
	if (r < 0)
		return r;
	for (i = 0; i < rule->args_n; i++) {
		snprintf(pointer, sizeof(pointer), "/linux/seccomp/syscalls/%zu/args/%zu", index,
			 i);
		if (rule->args[i].index >= ARGS_MAX)
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
					   "compare argument %u: a system call has %d",
					   rule->args[i].index, ARGS_MAX);
		if (seccomp_compare_find(rule->args[i].op) < 0)
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
					   "compare with \"%s\": the operator is not known",
					   rule->args[i].op ? rule->args[i].op : "");
	}
	return 0;
}

static const struct flag_row *flag_find(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		if (strcmp(flags[i].word, word) == 0)
			return &flags[i];
	}
	return NULL;
}

static bool rule_notifies(const struct oci_seccomp_rule *rule)
{
	const struct action_row *row = action_find(rule->action);

	return row && row->value == SECCOMP_RET_USER_NOTIF;
}

bool seccomp_bundle_notifies(const struct oci_seccomp *seccomp)
{
	size_t i;

	for (i = 0; i < seccomp->rules_n; i++) {
		if (rule_notifies(&seccomp->rules[i]))
			return true;
	}
	return false;
}

static int flags_check(const struct oci_seccomp *seccomp, struct sbx_error *err)
{
	size_t i;

	for (i = 0; i < seccomp->flags.n; i++) {
		if (!flag_find(seccomp->flags.v[i]))
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/seccomp/flags",
					   "use seccomp flag \"%s\": it is not known",
					   seccomp->flags.v[i]);
	}
	return 0;
}

int seccomp_bundle_check(const struct oci_seccomp *seccomp, struct sbx_error *err)
{
	size_t i;
	int r;

	r = action_check(seccomp->default_action, &seccomp->default_errno_ret,
			 "/linux/seccomp/defaultAction", err);
	for (i = 0; r == 0 && i < seccomp->rules_n; i++)
		r = rule_check(&seccomp->rules[i], i, err);
	if (r == 0)
		r = flags_check(seccomp, err);
	if (r == 0 && seccomp->architectures.n > SECCOMP_ARCHITECTURES_MAX)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/linux/seccomp/architectures",
				   "list %zu architectures: the most are %d",
				   seccomp->architectures.n, SECCOMP_ARCHITECTURES_MAX);
	return r;
}

unsigned seccomp_bundle_flags(const struct oci_seccomp *seccomp)
{
	unsigned value = 0;
	size_t i;

	/* No flag named: what runc takes, the kernel's own default since 5.16. */
	if (seccomp->flags.n == 0)
		value = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	for (i = 0; i < seccomp->flags.n; i++) {
		const struct flag_row *row = flag_find(seccomp->flags.v[i]);

		value |= row ? row->value : 0;
	}
	/* It is about the listener, and the kernel refuses it where there is none. */
	return seccomp_bundle_notifies(seccomp)
		       ? value | SECCOMP_FILTER_FLAG_NEW_LISTENER
		       : value & ~(unsigned)SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
}

uint32_t seccomp_action_value(const char *word, const struct oci_opt_u64 *errno_ret)
{
	const struct action_row *row = action_find(word);

	if (!row)
		return SECCOMP_RET_KILL_PROCESS;
	if (row->errno_use == ERRNO_NEVER)
		return row->value;
	return row->value | (errno_ret->set ? (uint32_t)errno_ret->v : EPERM);
}
