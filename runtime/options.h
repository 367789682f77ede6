/*
 * The command line, decoded from option rows (cmd.h) by getopt_long(3).
 *
 * "--name=value", "--name value", "-n value" and, as older managers write them, "-name" and
 * "-name=value" are taken. An unknown option, a missing value or a surplus operand is SBX_E_USAGE.
 */
#ifndef SBX_RUNTIME_OPTIONS_H
#define SBX_RUNTIME_OPTIONS_H

#include "runtime/cmd.h"

#define OPTION_ROWS_MAX 48

/*
 * Decode argv[1..] by rows into values (one per row, zeroed by the caller). Options end at the
 * first operand where stop_at_operand, else they may stand anywhere. *ret_operand is the index of
 * the first operand; argv is reordered and single-dash long names are rewritten. 0, -ENOENT where
 * rows have no such option, -EINVAL.
 */
int options_parse(int argc, char **argv, const struct option_row *rows, size_t rows_n,
		  bool stop_at_operand, struct option_values *values, int *ret_operand,
		  struct sbx_error *err);

/* The options of rows as help text, two columns, into out. */
void options_describe(const struct option_row *rows, size_t rows_n, struct buf *out);

#endif
