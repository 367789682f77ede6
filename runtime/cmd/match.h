/*
 * kill and delete by a regular expression (--regex) instead of one id.
 */
#ifndef SBX_CMD_MATCH_H
#define SBX_CMD_MATCH_H

#include "runtime/cmd.h"

#define MATCH_OPTION_ROW                                                                           \
	{                                                                                          \
		"regex", 'r', OPTION_FLAG, NULL,                                                   \
			"CONTAINER is an extended regular expression (regex(7))"                   \
	}

/*
 * Do it to the container that the first operand names, or with --regex to each whose id matches.
 * One that fails does not keep it from the others; the first error is returned.
 */
int match_containers(const struct invocation *in,
		     int (*act)(const struct invocation *in, const char *id, struct sbx_error *err),
		     struct sbx_error *err);

#endif
