/*
 * A failed write is an error of the verb: a truncated `state` must not look like a whole one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "runtime/base/fd.h"
#include "runtime/base/log.h"
#include "runtime/cmd/output.h"

int output_read_format(const struct invocation *in, bool *ret_json, struct sbx_error *err)
{
	const char *format = invocation_value(in, "format");

	*ret_json = format && strcmp(format, "json") == 0;
	if (!format || *ret_json || strcmp(format, "table") == 0)
		return 0;
	return sbx_fail(err, SBX_E_USAGE, 0, "unknown format \"%s\": table or json", format);
}

int output_print(struct buf *text, struct sbx_error *err)
{
	int rc;

	if (text->len == 0 || text->data[text->len - 1] != '\n')
		buf_putc(text, '\n');
	rc = buf_failed(text) ? -ENOMEM : fd_write_all(STDOUT_FILENO, text->data, text->len);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "write to standard output") : 0;
}

void output_error(const struct global_options *global, const struct sbx_error *err)
{
	char text[SBX_TEXT_MAX];

	/* Without --log the log is stderr itself: one message, as JSON where that was asked for. */
	if (global->log || global->log_format == LOG_FORMAT_JSON)
		log_error(err);
	if (global->log || global->log_format == LOG_FORMAT_TEXT)
		dprintf(STDERR_FILENO, "%s: %s\n", PACKAGE_NAME, sbx_text(err, text));
}

void output_warn(const struct global_options *global, const struct sbx_error *err)
{
	log_warning("%s", err->message);
	/* Without --log the log is stderr itself. */
	if (global->log || !log_wants(LOG_LEVEL_WARNING))
		dprintf(STDERR_FILENO, "%s: warning: %s\n", PACKAGE_NAME, err->message);
}
