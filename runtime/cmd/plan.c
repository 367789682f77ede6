/*
 * plan: what create would do, as data; nothing on the host is changed.
 */
#include "runtime/base/cleanup.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/container.h"

static const struct option_row rows[] = {
	{"profile", 0, OPTION_VALUE, "FILE|NAME", "access profile"},
};

static int run_plan(const struct invocation *in, struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;
	struct create_request request = {.id = "plan",
					 .bundle = in->argc ? in->argv[0] : ".",
					 .profile = invocation_value(in, "profile")};
	struct json_writer w;
	struct container c;
	int rc;

	container_init(&c);
	rc = container_plan(&c, in->global, &request, err);
	if (rc == 0) {
		json_writer_init(&w, &out, 2);
		json_begin_object(&w, NULL);
		policy_write(&w, "policy", c.policy);
		plan_write(&w, "plan", c.plan);
		report_write(&w, "report", &c.report, c.report.reached);
		json_end_object(&w);
		rc = output_print(&out, err);
	}
	container_release(&c);
	return rc;
}

const struct cmd cmd_plan = {
	.name = "plan",
	.operands = "[BUNDLE]",
	.help = "print what create would do with a bundle",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.max_operands = 1,
	.failure_status = 1,
	.run = run_plan,
};
