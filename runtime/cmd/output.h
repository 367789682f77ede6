/*
 * Printing what a verb has built: the one way to stdout of the command layer.
 */
#ifndef SBX_RUNTIME_CMD_OUTPUT_H
#define SBX_RUNTIME_CMD_OUTPUT_H

#include "runtime/base/buf.h"
#include "runtime/base/error.h"

/* Write text and, where it is missing, a final newline. 0 or -errno. */
int output_print(struct buf *text, struct sbx_error *err);

#endif
