/*
 * The payload's standard output and error by way of us, where a profile bounds how much there may
 * be (limits.outputBytes) and there is no terminal.
 */
#ifndef SBX_RUNTIME_OUTPUT_PIPES_H
#define SBX_RUNTIME_OUTPUT_PIPES_H

#include "runtime/base/error.h"
#include "runtime/flow.h"

#define OUTPUT_PIPES 2 /* of STDOUT_FILENO and STDERR_FILENO */

struct output_pipes {
	int from[OUTPUT_PIPES]; /* our ends; -EBADF: none, or done with */
	struct flow flows[OUTPUT_PIPES];
};

void output_pipes_init(struct output_pipes *pipes);

/* Make them; theirs are the payload's ends. */
int output_pipes_open(struct output_pipes *pipes, int theirs[OUTPUT_PIPES], struct sbx_error *err);

/* What to wait for in direction i, and what to do when that is there. A payload whose output nobody
 * reads any more finds its pipe closed. */
struct pollfd output_pipes_wait(const struct output_pipes *pipes, size_t i);
void output_pipes_step(struct output_pipes *pipes, size_t i, struct output_budget *budget);

void output_pipes_close(struct output_pipes *pipes);

#endif
