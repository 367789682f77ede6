/*
 * config-linux.md#seccomp. Names of system calls stay text: one that libseccomp does not know is
 * skipped by the room, not refused here. Actions, operators, architectures and flags are the
 * specification's closed lists.
 */
#include "spec/oci_internal.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"

#define ERRNO_RET_MAX 65535 /* SECCOMP_RET_DATA */
#define ARGS_PER_RULE 64
#define ARG_INDEX_MAX 5

const char *const oci_seccomp_actions[] = {
	"SCMP_ACT_ALLOW",	"SCMP_ACT_ERRNO",
	"SCMP_ACT_KILL",	"SCMP_ACT_KILL_PROCESS",
	"SCMP_ACT_KILL_THREAD", "SCMP_ACT_LOG",
	"SCMP_ACT_NOTIFY",	"SCMP_ACT_TRACE",
	"SCMP_ACT_TRAP",	NULL,
};

const char *const oci_seccomp_operators[] = {
	"SCMP_CMP_EQ", "SCMP_CMP_GE",	     "SCMP_CMP_GT", "SCMP_CMP_LE",
	"SCMP_CMP_LT", "SCMP_CMP_MASKED_EQ", "SCMP_CMP_NE", NULL,
};

const char *const oci_seccomp_flags[] = {
	"SECCOMP_FILTER_FLAG_LOG",
	"SECCOMP_FILTER_FLAG_SPEC_ALLOW",
	"SECCOMP_FILTER_FLAG_TSYNC",
	"SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV",
	NULL,
};

const char *const oci_seccomp_architectures[] = {
	"SCMP_ARCH_AARCH64",	 "SCMP_ARCH_ARM",    "SCMP_ARCH_LOONGARCH64",
	"SCMP_ARCH_M68K",	 "SCMP_ARCH_MIPS",   "SCMP_ARCH_MIPS64",
	"SCMP_ARCH_MIPS64N32",	 "SCMP_ARCH_MIPSEL", "SCMP_ARCH_MIPSEL64",
	"SCMP_ARCH_MIPSEL64N32", "SCMP_ARCH_PARISC", "SCMP_ARCH_PARISC64",
	"SCMP_ARCH_PPC",	 "SCMP_ARCH_PPC64",  "SCMP_ARCH_PPC64LE",
	"SCMP_ARCH_RISCV64",	 "SCMP_ARCH_S390",   "SCMP_ARCH_S390X",
	"SCMP_ARCH_SH",		 "SCMP_ARCH_SHEB",   "SCMP_ARCH_X32",
	"SCMP_ARCH_X86",	 "SCMP_ARCH_X86_64", NULL,
};

static const struct decode_row arg_rows[] = {
	{ROW(struct oci_seccomp_arg, DECODE_U32, index, "index"), .required = true,
	 .max = ARG_INDEX_MAX},
	{ROW(struct oci_seccomp_arg, DECODE_U64, value, "value"), .required = true},
	{ROW(struct oci_seccomp_arg, DECODE_U64, value_two, "valueTwo")},
	{ROW(struct oci_seccomp_arg, DECODE_STRING, op, "op"), .required = true,
	 .words = oci_seccomp_operators},
};

static const struct decode_table arg_table = {DECODE_TABLE(arg_rows, struct oci_seccomp_arg)};

static const struct decode_row rule_rows[] = {
	{ROW(struct oci_seccomp_rule, DECODE_STRINGS, names, "names"), .required = true,
	 .check = decode_check_not_empty},
	{ROW(struct oci_seccomp_rule, DECODE_STRING, action, "action"), .required = true,
	 .words = oci_seccomp_actions},
	{ROW(struct oci_seccomp_rule, DECODE_OPT_U64, errno_ret, "errnoRet"), .max = ERRNO_RET_MAX},
	{ROW(struct oci_seccomp_rule, DECODE_ARRAY, args, "args"),
	 .count_offset = offsetof(struct oci_seccomp_rule, args_n), .max_count = ARGS_PER_RULE,
	 .table = &arg_table},
};

static bool takes_errno(const char *action)
{
	return strcmp(action, "SCMP_ACT_ERRNO") == 0 || strcmp(action, "SCMP_ACT_TRACE") == 0;
}

static int check_rule(struct decoder *d, const struct json_node *object, void *decoded)
{
	const struct oci_seccomp_rule *rule = decoded;

	if (rule->names.n == 0)
		return decode_fail(d, json_get(object, "names"), "is empty");
	if (rule->errno_ret.set && !takes_errno(rule->action))
		return decode_fail(d, json_get(object, "errnoRet"),
				   "does not belong to the action %s", rule->action);
	return 0;
}

static const struct decode_table rule_table = {DECODE_TABLE(rule_rows, struct oci_seccomp_rule),
					       .check = check_rule};

static const struct decode_row seccomp_rows[] = {
	{ROW(struct oci_seccomp, DECODE_STRING, default_action, "defaultAction"), .required = true,
	 .words = oci_seccomp_actions},
	{ROW(struct oci_seccomp, DECODE_OPT_U64, default_errno_ret, "defaultErrnoRet"),
	 .max = ERRNO_RET_MAX},
	{ROW(struct oci_seccomp, DECODE_STRINGS, architectures, "architectures"),
	 .words = oci_seccomp_architectures},
	{ROW(struct oci_seccomp, DECODE_STRINGS, flags, "flags"), .words = oci_seccomp_flags},
	{ROW(struct oci_seccomp, DECODE_STRING, listener_path, "listenerPath"),
	 .empty_absent = true, .check = decode_check_absolute},
	{ROW(struct oci_seccomp, DECODE_STRING, listener_metadata, "listenerMetadata"),
	 .empty_absent = true},
	{ROW(struct oci_seccomp, DECODE_ARRAY, rules, "syscalls"),
	 .count_offset = offsetof(struct oci_seccomp, rules_n), .table = &rule_table},
};

/* SCMP_ACT_NOTIFY needs somebody to answer. write(2) is refused as by other runtimes, which write
 * behind the filter themselves: a profile that is taken here is to be taken there. */
static int check_notify(struct decoder *d, const struct json_node *object,
			const struct oci_seccomp *seccomp)
{
	const struct json_node *node = json_get(object, "syscalls");

	if (strcmp(seccomp->default_action, "SCMP_ACT_NOTIFY") == 0)
		return decode_fail(d, json_get(object, "defaultAction"),
				   "is SCMP_ACT_NOTIFY, which only single system calls may have");
	node = node ? node->child : NULL;
	for (size_t i = 0; node && i < seccomp->rules_n; i++, node = node->next) {
		const struct oci_seccomp_rule *rule = &seccomp->rules[i];

		if (strcmp(rule->action, "SCMP_ACT_NOTIFY") != 0)
			continue;
		if (!seccomp->listener_path)
			return decode_fail(d, json_get(node, "action"),
					   "is SCMP_ACT_NOTIFY, which needs a listenerPath");
		for (size_t k = 0; k < rule->names.n; k++)
			if (strcmp(rule->names.v[k], "write") == 0)
				return decode_fail(d, json_get(node, "names"),
						   "gives SCMP_ACT_NOTIFY to write, by which "
						   "runtimes would wait for themselves");
	}
	return 0;
}

static int check_seccomp(struct decoder *d, const struct json_node *object, void *decoded)
{
	const struct oci_seccomp *seccomp = decoded;

	if (seccomp->default_errno_ret.set && !takes_errno(seccomp->default_action))
		return decode_fail(d, json_get(object, "defaultErrnoRet"),
				   "does not belong to the action %s", seccomp->default_action);
	if (seccomp->listener_metadata && !seccomp->listener_path)
		return decode_fail(d, json_get(object, "listenerMetadata"),
				   "is set without a listenerPath");
	return check_notify(d, object, seccomp);
}

const struct decode_table oci_seccomp_table = {DECODE_TABLE(seccomp_rows, struct oci_seccomp),
					       .check = check_seccomp};
