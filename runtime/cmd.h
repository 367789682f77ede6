/*
 * The command layer: a verb is one file in runtime/cmd/ that exports one `const struct cmd`.
 *
 * Options are rows, parsed once by options.c (getopt_long): "--x=y", "--x y" and the single-dash
 * long form are all taken. The command layer alone prints and decides exit codes; everything below
 * returns.
 */
#ifndef SBX_RUNTIME_CMD_H
#define SBX_RUNTIME_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/linux/plan.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

struct global_options {
	const char *root;
	const char *log;
	enum log_format log_format;
	enum log_level log_level;
	enum cgroup_manager cgroup_manager;
	const char *profile;  /* --profile before the verb */
	const char *config;   /* admin settings, default /etc/sbx-runtime/config.json */
	const char *rootless; /* "true", "false", "auto" */
};

#define OPTION_VALUES_MAX 256

enum option_kind { OPTION_FLAG, OPTION_VALUE, OPTION_LIST };

struct option_row {
	const char *name; /* long name */
	char letter;	  /* 0: none */
	enum option_kind kind;
	const char *value_name;
	const char *help;
};

struct option_values {
	const char *value; /* last one, or "" for a given flag */
	const char **list; /* of an option that may be given again; until the verb ends */
	size_t count;
};

struct invocation {
	const struct global_options *global;
	const struct option_values *values; /* same index as the verb's rows */
	const struct option_row *rows;
	size_t rows_n;
	int argc; /* operands */
	char **argv;
};

struct cmd {
	const char *name;
	const char *operands; /* "CONTAINER [SIGNAL]" */
	const char *help;
	void (*describe)(struct buf *out); /* more of its own --help, or NULL */
	const struct option_row *rows;
	size_t rows_n;
	const char
		*option_hint; /* behind what is said of an unknown option; NULL: the common one */
	int min_operands, max_operands; /* max -1: any */
	bool needs_own_image;		/* enters or makes a container: self_image.h */
	const char *own_image_option;	/* the same, with this word on the command line alone */
	bool handles_processes;		/* signals or awaits them: by pidfd alone */
	bool stop_at_operand;		/* options end at the first operand (exec, run --) */
	int failure_status;		/* exit status of a failure: 1, exec 255 */
	int (*run)(const struct invocation *in,
		   struct sbx_error *err); /* exit status >= 0, or -errno */
};

extern const struct cmd *const cmds[];
extern const size_t cmds_n;

/* The value of an option by its long name, NULL where not given. */
const char *invocation_value(const struct invocation *in, const char *name);
bool invocation_flag(const struct invocation *in, const char *name);
const struct option_values *invocation_list(const struct invocation *in, const char *name);

#endif
