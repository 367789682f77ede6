/*
 * events: what the kernel counted of a container, one JSON object a line, as go-runc's Event has
 * it.
 *
 * Without --stats one line each interval, and one of type "oom" for each process that the kernel
 * killed for want of memory since, until the container ends.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "backends/linux/cgroup/stats.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/num.h"
#include "runtime/base/proc.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/container.h"

#define INTERVAL_MS 5000
#define OOM_LOOK_MS 1000

static const struct option_row rows[] = {
	{"stats", 0, OPTION_FLAG, NULL, "print once and end"},
	{"interval", 0, OPTION_VALUE, "DURATION", "time between two prints, above 0 (default 5s)"},
};

static int print_event(const struct container *c, const char *type, bool with_stats,
		       struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;
	struct json_writer w;
	int rc = 0;

	json_writer_init(&w, &out, 0);
	json_begin_object(&w, NULL);
	json_write_string(&w, "type", type);
	json_write_string(&w, "id", c->state.id);
	if (with_stats)
		rc = cgroup_write_stats(&c->state.cgroup, "data", &w);
	json_end_object(&w);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "read the statistics")
		      : output_print(&out, err);
}

static int print_ooms(const struct container *c, uint64_t *seen, struct sbx_error *err)
{
	uint64_t now = cgroup_oom_kills(&c->state.cgroup);
	int rc = 0;

	for (; rc == 0 && *seen < now; (*seen)++)
		rc = print_event(c, "oom", false, err);
	return rc;
}

/* Until the container's first process has ended. */
static int follow(const struct container *c, int pidfd, uint64_t interval_ms, struct sbx_error *err)
{
	uint64_t kills = cgroup_oom_kills(&c->state.cgroup), left = interval_ms;
	struct pollfd end = {pidfd, POLLIN, 0};
	int rc = 0;

	while (rc == 0) {
		uint64_t step = left < OOM_LOOK_MS ? left : OOM_LOOK_MS;
		int ended = poll(&end, 1, (int)step);

		if (ended < 0 && errno != EINTR)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "wait for the container");
		rc = print_ooms(c, &kills, err);
		if (ended > 0)
			return rc;
		left -= step;
		if (rc == 0 && left == 0) {
			rc = print_event(c, "stats", true, err);
			left = interval_ms;
		}
	}
	return rc;
}

static int events_of(const struct container *c, bool once, uint64_t interval_ms,
		     struct sbx_error *err)
{
	enum container_status status = state_status(c->dir_fd, &c->state);
	cleanup_fd int pidfd = -EBADF;

	if (status != STATUS_RUNNING && status != STATUS_CREATED && status != STATUS_PAUSED)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
				"cannot print events of a container that is not running");
	if (c->state.cgroup.n == 0)
		return cgroup_fail_none(err, "print events");
	if (once)
		return print_event(c, "stats", true, err);
	pidfd = proc_open_pidfd(c->state.pid, c->state.pid_start_ticks);
	if (pidfd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -pidfd, "open the container's process");
	return follow(c, pidfd, interval_ms, err);
}

static int run_events(const struct invocation *in, struct sbx_error *err)
{
	const char *interval = invocation_value(in, "interval");
	uint64_t ms = INTERVAL_MS;
	struct container c;
	int rc;

	if (interval && (num_parse_duration_ms(interval, &ms) < 0 || ms == 0))
		return sbx_fail(err, SBX_E_USAGE, 0,
				"unknown interval \"%s\": a number above 0 with ms, s, m or h",
				interval);
	container_init(&c);
	rc = container_open(&c, in->global, in->argv[0], STORE_LOCK_NONE, err);
	if (rc == 0)
		rc = events_of(&c, invocation_flag(in, "stats"), ms, err);
	container_release(&c);
	return rc;
}

const struct cmd cmd_events = {
	.name = "events",
	.operands = "CONTAINER",
	.help = "print statistics, once or at an interval",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.min_operands = 1,
	.max_operands = 1,
	.failure_status = 1,
	.run = run_events,
	.handles_processes = true,
};
