/*
 * ps: the processes of a container, by their pids on the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/container.h"

static const struct option_row rows[] = {
	{"format", 'f', OPTION_VALUE, "table|json", "form of the list"},
};

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* The name is the process's own choice: only printable bytes reach a terminal. */
static void print_row(struct buf *out, pid_t pid)
{
	cleanup_buf struct buf name = BUF_INIT;
	char path[64], state;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (proc_state(pid, &state) < 0 || fd_read_file_at(AT_FDCWD, path, 256, &name) < 0)
		return; /* it ended meanwhile */
	buf_printf(out, "%-10d %-5c ", (int)pid, state);
	for (size_t i = 0; i < name.len && name.data[i] != '\n'; i++)
		buf_putc(out, name.data[i] >= ' ' && name.data[i] < 127 ? name.data[i] : '?');
	buf_putc(out, '\n');
}

static void print_pids(struct buf *out, const pid_t *pids, int n, bool json)
{
	struct json_writer w;

	if (!json) {
		buf_printf(out, "%-10s %-5s %s\n", "PID", "STATE", "COMMAND");
		for (int i = 0; i < n; i++)
			print_row(out, pids[i]);
		return;
	}
	json_writer_init(&w, out, 0);
	json_begin_array(&w, NULL);
	for (int i = 0; i < n; i++)
		json_write_int(&w, NULL, pids[i]);
	json_end_array(&w);
}

static int list_processes(struct container *c, bool json, struct sbx_error *err)
{
	cleanup_free pid_t *pids = NULL;
	cleanup_buf struct buf out = BUF_INIT;
	int n;

	if (c->state.cgroup.n == 0)
		return cgroup_fail_none(err, "list the processes");
	n = cgroup_list_pids(&c->state.cgroup, &pids);
	if (n < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -n, "list the processes");
	if (n > 0)
		qsort(pids, (size_t)n, sizeof(pids[0]), compare_pids);
	print_pids(&out, pids, n, json);
	return output_print(&out, err);
}

static int run_ps(const struct invocation *in, struct sbx_error *err)
{
	struct container c;
	bool json;
	int rc = output_read_format(in, &json, err);

	if (rc < 0)
		return rc;
	container_init(&c);
	rc = container_open(&c, in->global, in->argv[0], STORE_LOCK_NONE, err);
	if (rc == 0)
		rc = list_processes(&c, json, err);
	container_release(&c);
	return rc;
}

const struct cmd cmd_ps = {
	.name = "ps",
	.operands = "CONTAINER",
	.help = "list the processes of a container",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.min_operands = 1,
	.max_operands = 1,
	.failure_status = 1,
	.run = run_ps,
};
