/*
 * Every verb, one declaration a line.
 */
#ifndef SBX_RUNTIME_CMD_CMDS_H
#define SBX_RUNTIME_CMD_CMDS_H

#include "runtime/cmd.h"

extern const struct cmd cmd_create;
extern const struct cmd cmd_delete;
extern const struct cmd cmd_doctor;
extern const struct cmd cmd_events;
extern const struct cmd cmd_exec;
extern const struct cmd cmd_features;
extern const struct cmd cmd_kill;
extern const struct cmd cmd_list;
extern const struct cmd cmd_pause;
extern const struct cmd cmd_plan;
extern const struct cmd cmd_profile;
extern const struct cmd cmd_ps;
extern const struct cmd cmd_report;
extern const struct cmd cmd_resume;
extern const struct cmd cmd_run;
extern const struct cmd cmd_spec;
extern const struct cmd cmd_start;
extern const struct cmd cmd_state;
extern const struct cmd cmd_stop;
extern const struct cmd cmd_update;

#endif
