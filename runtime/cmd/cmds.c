/*
 * The verb table: a new verb is a file beside this one, a declaration in cmds.h and a row here.
 */
#include "runtime/cmd/cmds.h"
#include "runtime/base/cleanup.h"

const struct cmd *const cmds[] = {
	&cmd_doctor,
};
const size_t cmds_n = ARRAY_SIZE(cmds);
