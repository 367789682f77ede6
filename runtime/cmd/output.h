/*
 * Printing what a verb has built: the one way to stdout of the command layer; and warnings.
 */
#ifndef SBX_RUNTIME_CMD_OUTPUT_H
#define SBX_RUNTIME_CMD_OUTPUT_H

#include "runtime/base/buf.h"
#include "runtime/base/error.h"
#include "runtime/cmd.h"

/* Whether --format asks for JSON and not for a table. SBX_E_USAGE where it is neither. */
int output_read_format(const struct invocation *in, bool *ret_json, struct sbx_error *err);

/* Write text and, where it is missing, a final newline. 0 or -errno. */
int output_print(struct buf *text, struct sbx_error *err);

/* Something is wrong that does not make the verb fail: one line on stderr, and in the log. */
void output_warn(const struct global_options *global, const struct sbx_error *err);

/* What a verb failed for, to the log and for the person on stderr. */
void output_error(const struct global_options *global, const struct sbx_error *err);

#endif
