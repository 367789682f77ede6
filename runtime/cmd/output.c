/*
 * A failed write is an error of the verb: a truncated `state` must not look like a whole one.
 */
#include <errno.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/cmd/output.h"

int output_print(struct buf *text, struct sbx_error *err)
{
	int rc;

	if (text->len == 0 || text->data[text->len - 1] != '\n')
		buf_putc(text, '\n');
	rc = buf_failed(text) ? -ENOMEM : fd_write_all(STDOUT_FILENO, text->data, text->len);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "write to standard output") : 0;
}
