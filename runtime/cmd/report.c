/*
 * report: what a container's boundary really is, or would be for a bundle.
 */
#include <errno.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/container.h"

static const struct option_row rows[] = {
	{"bundle", 'b', OPTION_VALUE, "DIR", "report what create would reach for this bundle"},
	{"profile", 0, OPTION_VALUE, "FILE|NAME", "with --bundle: access profile"},
	{"execution", 0, OPTION_VALUE, "ID", "report one execution (not built yet)"},
	{"verify", 0, OPTION_FLAG, NULL, "probe the running container (not built yet)"},
};

static int report_bundle(const struct invocation *in, struct container *c, struct buf *out,
			 struct sbx_error *err)
{
	struct create_request request = {.id = "report",
					 .bundle = invocation_value(in, "bundle"),
					 .profile = invocation_value(in, "profile")};
	struct json_writer w;
	int rc = container_plan(c, in->global, &request, err);

	if (rc < 0)
		return rc;
	json_writer_init(&w, out, 2);
	report_write(&w, NULL, &c->report, c->report.reached);
	return 0;
}

/* Without a profile nothing was asked: the empty report has level none. */
static int report_container(const struct invocation *in, struct container *c, struct buf *out,
			    struct sbx_error *err)
{
	cleanup_buf struct buf stored = BUF_INIT;
	struct json_writer w;
	int rc = container_open(c, in->global, in->argv[0], STORE_LOCK_NONE, err);

	if (rc < 0)
		return rc;
	rc = container_read_report(c, &stored, err);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	json_writer_init(&w, out, 2);
	if (rc == -ENOENT) {
		report_finish(&c->report, true);
		report_write(&w, NULL, &c->report, 0);
		return 0;
	}
	return report_rewrite(&w, stored.data, stored.len,
			      state_status(c->dir_fd, &c->state) != STATUS_STOPPED, err);
}

static int run_report(const struct invocation *in, struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;
	bool bundle = invocation_flag(in, "bundle");
	struct container c;
	int rc;

	if (invocation_flag(in, "verify") || invocation_flag(in, "execution"))
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0, "report --%s is not built yet",
				invocation_flag(in, "verify") ? "verify" : "execution");
	if (bundle == (in->argc == 1))
		return sbx_fail(err, SBX_E_USAGE, 0, "report takes a container or --bundle DIR");
	if (!bundle && invocation_flag(in, "profile"))
		return sbx_fail(err, SBX_E_USAGE, 0,
				"--profile goes with --bundle: a container has the profile that it "
				"was made with");
	container_init(&c);
	rc = bundle ? report_bundle(in, &c, &out, err) : report_container(in, &c, &out, err);
	if (rc == 0)
		rc = output_print(&out, err);
	container_release(&c);
	return rc;
}

const struct cmd cmd_report = {
	.name = "report",
	.operands = "[CONTAINER]",
	.help = "print what a container's boundary really enforces",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.max_operands = 1,
	.failure_status = 1,
	.run = run_report,
};
