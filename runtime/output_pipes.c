#include "runtime/output_pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"

void output_pipes_init(struct output_pipes *pipes)
{
	for (size_t i = 0; i < OUTPUT_PIPES; i++) {
		pipes->from[i] = -EBADF;
		pipes->flows[i].open = false;
		pipes->flows[i].len = pipes->flows[i].done = 0;
	}
}

int output_pipes_open(struct output_pipes *pipes, int theirs[OUTPUT_PIPES], struct sbx_error *err)
{
	for (size_t i = 0; i < OUTPUT_PIPES; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "make pipes for the output");
		pipes->from[i] = ends[0];
		pipes->flows[i].open = true;
		theirs[i] = ends[1];
		if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "read the output without delay");
	}
	return 0;
}

struct pollfd output_pipes_wait(const struct output_pipes *pipes, size_t i)
{
	return flow_wait(&pipes->flows[i], pipes->from[i], STDOUT_FILENO + (int)i);
}

static void end_direction(struct output_pipes *pipes, size_t i)
{
	pipes->flows[i].open = false;
	pipes->flows[i].len = pipes->flows[i].done = 0;
	cleanup_close_fd(&pipes->from[i]);
}

void output_pipes_step(struct output_pipes *pipes, size_t i, struct output_budget *budget)
{
	struct flow *flow = &pipes->flows[i];
	ssize_t n;

	if (flow->len) {
		if (!flow_write(flow, STDOUT_FILENO + (int)i))
			end_direction(pipes, i);
		return;
	}
	n = read(pipes->from[i], flow->data, FLOW_BYTES);
	if (flow_is_later(n))
		return;
	if (n <= 0) {
		end_direction(pipes, i);
		return;
	}
	flow->len = (size_t)n;
	flow_charge(flow, budget);
}

void output_pipes_close(struct output_pipes *pipes)
{
	for (size_t i = 0; i < OUTPUT_PIPES; i++)
		cleanup_close_fd(&pipes->from[i]);
}
