/*
 * One direction of what is relayed between a payload and our own standard streams: one block that
 * is read, then written as there is room, so that neither end can hold up the other directions.
 */
#ifndef SBX_RUNTIME_FLOW_H
#define SBX_RUNTIME_FLOW_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FLOW_BYTES 4096 /* at most PIPE_BUF: a pipe that is ready takes it whole */

/* data[done..len) is read and not written yet. */
struct flow {
	bool open;
	char data[FLOW_BYTES];
	size_t len, done;
};

/* How much output there may be; what is beyond is discarded, and noted. */
struct output_budget {
	bool limited, exceeded;
	uint64_t left;
};

/* A read or write that is to be tried again when poll(2) says so. */
bool flow_is_later(ssize_t n);

/* Write what fits; false where nobody will ever read it. */
bool flow_write(struct flow *flow, int to);

/* Cut what was just read to what the budget has left. */
void flow_charge(struct flow *flow, struct output_budget *budget);

/* Room to write while the flow has something, else something to read. */
struct pollfd flow_wait(const struct flow *flow, int from, int to);

#endif
