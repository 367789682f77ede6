/*
 * doctor: what this host can enforce, and what would help where it cannot.
 */
#include <errno.h>

#include "backends/linux/doctor.h"
#include "runtime/base/cleanup.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/journal.h"
#include "spec/json_write.h"

static const struct option_row rows[] = {
	{"json", 0, OPTION_FLAG, NULL, "print JSON"},
	{"repair", 0, OPTION_FLAG, NULL, "remove what crashes left on the host"},
};

static void write_json(struct buf *out, const struct doctor_finding *findings, size_t n)
{
	struct json_writer w;

	json_writer_init(&w, out, 2);
	json_begin_array(&w, NULL);
	for (size_t i = 0; i < n; i++) {
		json_begin_object(&w, NULL);
		json_write_string(&w, "mechanism", findings[i].mechanism);
		json_write_string(&w, "serves", findings[i].serves);
		json_write_bool(&w, "works", findings[i].works);
		json_write_string(&w, "reason", findings[i].reason);
		json_write_string(&w, "remedy", findings[i].remedy);
		json_end_object(&w);
	}
	json_end_array(&w);
}

static void write_text(struct buf *out, const struct doctor_finding *findings, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "%-4s %-15s %s\n     for: %s\n", findings[i].works ? "ok" : "NO",
			   findings[i].mechanism, findings[i].reason, findings[i].serves);
		if (!findings[i].works)
			buf_printf(out, "     try: %s\n", findings[i].remedy);
	}
}

/* Placeholders of containers that are gone: says how many, and fails where one stays. */
static int repair(struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;
	cleanup_fd int journal = journal_open(false, err);
	size_t removed = 0, left = 0;
	int rc = journal < 0 ? journal : placeholder_sweep(journal, &removed, &left);

	if (rc < 0 && rc != -ENOENT)
		return journal < 0 ? rc
				   : sbx_fail(err, SBX_E_SYSTEM, -rc,
					      "read the journal of placeholders");
	buf_printf(&out, "placeholders: %zu removed, %zu left\n", removed, left);
	rc = output_print(&out, err);
	return rc < 0 ? rc : left > 0;
}

/* Exit status 1 where something does not work, so that a script can ask. */
static int run_doctor(const struct invocation *in, struct sbx_error *err)
{
	struct doctor_finding findings[DOCTOR_FINDINGS_MAX];
	cleanup_buf struct buf out = BUF_INIT;
	bool all = true;
	size_t n;
	int rc;

	if (invocation_flag(in, "repair"))
		return repair(err);
	n = doctor_examine(findings);
	for (size_t i = 0; i < n; i++)
		all = all && findings[i].works;
	if (invocation_flag(in, "json"))
		write_json(&out, findings, n);
	else
		write_text(&out, findings, n);
	rc = output_print(&out, err);
	return rc < 0 ? rc : !all;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.operands = "",
	.help = "say what this host can enforce",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.max_operands = 0,
	.failure_status = 1,
	.run = run_doctor,
};
