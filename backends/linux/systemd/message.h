/*
 * Properties in messages to systemd.
 */
#ifndef SBX_LINUX_SYSTEMD_MESSAGE_H
#define SBX_LINUX_SYSTEMD_MESSAGE_H

#include <systemd/sd-bus.h>

#include "spec/json.h"

/* Append {"name": TEXT, "type": TYPE, "value": VALUE} as (sv). TYPE: one letter of a basic type, or
 * "a" and one. -EINVAL for what is none, -ERANGE for a number that does not fit, or -errno. */
int message_append_property(sd_bus_message *m, const struct json_node *property);

#endif
