/*
 * report: what a container's boundary really is, or would be for a bundle.
 */
#include <errno.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/container.h"
#include "runtime/verify.h"

static const struct option_row rows[] = {
	{"bundle", 'b', OPTION_VALUE, "DIR", "report what create would reach for this bundle"},
	{"profile", 0, OPTION_VALUE, "FILE|NAME", "with --bundle: access profile"},
	{"execution", 0, OPTION_VALUE, "ID", "report one execution (not built yet)"},
	{"verify", 0, OPTION_FLAG, NULL, "probe the running container: status 1 where it is less"},
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

/* The exit status, or -errno. */
static int report_verified(struct container *c, const struct buf *stored, struct buf *out,
			   struct sbx_error *err)
{
	struct proof proof = {.arena = &c->arena};
	struct json_writer w;
	uint32_t claimed = 0, proved;
	int rc = verify_check(c, err);

	if (rc == 0)
		rc = report_read_bits(stored->data ? stored->data : "", stored->len, &claimed, err);
	if (rc == 0)
		rc = verify_container(c, claimed, &proof, err);
	if (rc < 0)
		return rc;
	proved = proof_bits(&proof, claimed);
	json_writer_init(&w, out, 2);
	rc = report_rewrite(&w, stored->data, stored->len, verify_holding(c) & proved, &proof, err);
	return rc < 0 ? rc : proved != claimed;
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
	if (invocation_flag(in, "verify"))
		return report_verified(c, &stored, out, err);
	json_writer_init(&w, out, 2);
	if (rc == -ENOENT) {
		report_finish(&c->report, true);
		report_write(&w, NULL, &c->report, 0);
		return 0;
	}
	return report_rewrite(&w, stored.data, stored.len, verify_holding(c), NULL, err);
}

static int run_report(const struct invocation *in, struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;
	bool bundle = invocation_flag(in, "bundle");
	struct container c;
	int rc;

	if (invocation_flag(in, "execution"))
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0, "report --execution is not built yet");
	if (bundle == (in->argc == 1))
		return sbx_fail(err, SBX_E_USAGE, 0, "report takes a container or --bundle DIR");
	if (!bundle && invocation_flag(in, "profile"))
		return sbx_fail(err, SBX_E_USAGE, 0,
				"--profile goes with --bundle: a container has the profile that it "
				"was made with");
	if (bundle && invocation_flag(in, "verify"))
		return sbx_fail(err, SBX_E_USAGE, 0,
				"--verify takes a running container: of a bundle nothing can be "
				"proved");
	container_init(&c);
	rc = bundle ? report_bundle(in, &c, &out, err) : report_container(in, &c, &out, err);
	if (rc >= 0) {
		int printed = output_print(&out, err);

		rc = printed < 0 ? printed : rc;
	}
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
	.own_image_option = "--verify",
	.failure_status = 1,
	.run = run_report,
};
