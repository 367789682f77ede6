/*
 * events: statistics of a container. Not built yet, and refused by name; managers of today read the
 * cgroup themselves.
 */
#include "runtime/base/cleanup.h"
#include "runtime/cmd/cmds.h"

static const struct option_row rows[] = {
	{"stats", 0, OPTION_FLAG, NULL, "print once and end"},
	{"interval", 0, OPTION_VALUE, "DURATION", "time between two prints"},
};

static int run_events(const struct invocation *in, struct sbx_error *err)
{
	(void)in;
	return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
			"print events: this release keeps no statistics, read the container's "
			"cgroup instead");
}

const struct cmd cmd_events = {
	.name = "events",
	.operands = "CONTAINER",
	.help = "not built yet",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.min_operands = 1,
	.max_operands = 1,
	.failure_status = 1,
	.run = run_events,
};
