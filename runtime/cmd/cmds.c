/*
 * The verb table: a new verb is a file beside this one, a declaration in cmds.h and a row here.
 */
#include "runtime/cmd/cmds.h"
#include "runtime/base/cleanup.h"

const struct cmd *const cmds[] = {
	&cmd_create, &cmd_delete, &cmd_doctor, &cmd_events,  &cmd_exec, &cmd_features, &cmd_kill,
	&cmd_list,   &cmd_pause,  &cmd_plan,   &cmd_profile, &cmd_ps,	&cmd_report,   &cmd_resume,
	&cmd_run,    &cmd_spec,	  &cmd_start,  &cmd_state,   &cmd_stop, &cmd_update,
};
const size_t cmds_n = ARRAY_SIZE(cmds);
