/*
 * The log: where --log and --log-level send what a person or a manager reads later.
 *
 * One process-wide sink, owned by the command layer (the one global of the program, besides the
 * options). Library code logs warnings and debug lines through it and never writes to stderr.
 * JSON lines have exactly the members level, time (RFC 3339, UTC), msg, and for errors code, stage,
 * pointer: podman parses the whole file as ONE object, so warnings go to the log only at
 * --log-level warning or debug and a failed create writes exactly one object by default (level
 * error).
 */
#ifndef SBX_BASE_LOG_H
#define SBX_BASE_LOG_H

#include <stdbool.h>

#include "runtime/base/error.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
/* The last two are of datagrams: systemd's journal (its native protocol), syslog (RFC 3164). */
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON, LOG_FORMAT_JOURNAL, LOG_FORMAT_SYSLOG };

/* Send the log to fd (not owned, -1: nowhere), in one write(2) a line. What an error prints on
 * stderr is the command layer's own. */
void log_set_sink(int fd, enum log_format format, enum log_level level);

/* Where that is, -1: nowhere. */
int log_sink(void);

/* Who writes, for the journal and syslog (not owned). */
void log_set_tag(const char *tag);

/* True when a line of this level would be written: guards the cost of making it. */
bool log_wants(enum log_level level);

void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The one error of a command: to the log in its format. */
void log_error(const struct sbx_error *err);

#endif
