#include "runtime/flow.h"

#include <errno.h>
#include <unistd.h>

bool flow_is_later(ssize_t n)
{
	return n < 0 && (errno == EINTR || errno == EAGAIN);
}

bool flow_write(struct flow *flow, int to)
{
	ssize_t n = write(to, flow->data + flow->done, flow->len - flow->done);

	if (flow_is_later(n))
		return true;
	if (n <= 0)
		return false;
	flow->done += (size_t)n;
	if (flow->done == flow->len)
		flow->len = flow->done = 0;
	return true;
}

void flow_charge(struct flow *flow, struct output_budget *budget)
{
	if (!budget->limited)
		return;
	if (flow->len > budget->left) {
		budget->exceeded = true;
		flow->len = budget->left;
	}
	budget->left -= flow->len;
}

struct pollfd flow_wait(const struct flow *flow, int from, int to)
{
	if (flow->len)
		return (struct pollfd){to, POLLOUT, 0};
	return (struct pollfd){flow->open ? from : -1, POLLIN, 0};
}
