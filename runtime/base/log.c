/*
 * Theory of operation: a line is built in a buffer and leaves in one write(2), so that two
 * processes that share a log opened O_APPEND do not mix their lines. A line that cannot be built
 * or written is lost silently: the log is never a reason to fail.
 */
#include "runtime/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/base/text.h"

static const char *const level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

/* The sink of this process: set once by the command layer. */
static struct {
	int fd;
	enum log_format format;
	enum log_level level;
	const char *tag;
} sink = {.fd = -1, .tag = ""};

void log_set_tag(const char *tag)
{
	sink.tag = tag;
}

void log_set_sink(int fd, enum log_format format, enum log_level level)
{
	sink.fd = fd;
	sink.format = format;
	sink.level = level;
}

int log_sink(void)
{
	return sink.fd;
}

bool log_wants(enum log_level level)
{
	return sink.fd >= 0 && level <= sink.level;
}

/* text between double quotes; JSON and logrus text quote alike once controls are escaped. */
static void put_quoted(struct buf *out, const char *text)
{
	size_t len = strlen(text);

	buf_putc(out, '"');
	for (size_t i = 0; i < len;) {
		size_t n = text_utf8_length(text + i, len - i);
		unsigned char c = (unsigned char)text[i];

		if (n == 0)
			buf_puts(out, "\\ufffd");
		else if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c == '\n')
			buf_puts(out, "\\n");
		else if (c == '\t')
			buf_puts(out, "\\t");
		else if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\u%04x", c);
		else
			buf_append(out, text + i, n);
		i += n ? n : 1;
	}
	buf_putc(out, '"');
}

/* RFC 3339 in UTC with microseconds. */
static void format_time(char *out, size_t size)
{
	struct timespec now;
	struct tm tm;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	len = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + len, size - len, ".%06ldZ", now.tv_nsec / 1000);
}

static void put_member(struct buf *out, const char *key, const char *value)
{
	bool json = sink.format == LOG_FORMAT_JSON;

	buf_printf(out, json ? ",\"%s\":" : " %s=", key);
	put_quoted(out, value);
}

/* syslog(3): LOG_ERR and so on, of the facility LOG_DAEMON. */
static const int syslog_levels[] = {
	[LOG_LEVEL_ERROR] = 3,
	[LOG_LEVEL_WARNING] = 4,
	[LOG_LEVEL_INFO] = 6,
	[LOG_LEVEL_DEBUG] = 7,
};

#define SYSLOG_DAEMON (3 << 3)

/* One datagram of one line: whatever is in the message or in the tag makes no other field. */
static void write_datagram(enum log_level level, const char *message)
{
	cleanup_buf struct buf out = BUF_INIT;
	char text[SBX_MESSAGE_MAX], tag[128];

	text_escape(text, sizeof(text), message, strlen(message));
	text_escape(tag, sizeof(tag), sink.tag, strlen(sink.tag));
	if (sink.format == LOG_FORMAT_JOURNAL)
		buf_printf(&out, "PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nMESSAGE=%s\n",
			   syslog_levels[level], tag, text);
	else
		buf_printf(&out, "<%d>%s: %s", SYSLOG_DAEMON | syslog_levels[level], tag, text);
	if (!buf_failed(&out))
		fd_write_all(sink.fd, out.data, out.len);
}

static void write_line(enum log_level level, const char *message, const struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;
	char now[64];

	if (sink.format == LOG_FORMAT_JOURNAL || sink.format == LOG_FORMAT_SYSLOG) {
		write_datagram(level, message);
		return;
	}
	format_time(now, sizeof(now));
	if (sink.format == LOG_FORMAT_JSON)
		buf_printf(&out, "{\"level\":\"%s\"", level_names[level]);
	else
		buf_printf(&out, "time=\"%s\" level=%s", now, level_names[level]);
	put_member(&out, "msg", message);
	if (err) {
		put_member(&out, "code", sbx_code_name(err->code));
		if (err->stage[0])
			put_member(&out, "stage", err->stage);
		if (err->pointer[0])
			put_member(&out, "pointer", err->pointer);
		if (err->requirements[0] && sink.format == LOG_FORMAT_JSON)
			buf_printf(&out, ",\"requirements\":%s", err->requirements);
	}
	if (sink.format == LOG_FORMAT_JSON) {
		put_member(&out, "time", now);
		buf_putc(&out, '}');
	}
	buf_putc(&out, '\n');
	if (!buf_failed(&out))
		fd_write_all(sink.fd, out.data, out.len);
}

__attribute__((format(printf, 2, 0))) static void write_formatted(enum log_level level,
								  const char *fmt, va_list args)
{
	char raw[SBX_MESSAGE_MAX], message[SBX_MESSAGE_MAX];

	if (vsnprintf(raw, sizeof(raw), fmt, args) < 0)
		return;
	text_escape(message, sizeof(message), raw, strlen(raw));
	write_line(level, message, NULL);
}

#define DEFINE_LOG(name, level)                                                                    \
	void name(const char *fmt, ...)                                                            \
	{                                                                                          \
		va_list args;                                                                      \
                                                                                                   \
		if (!log_wants(level))                                                             \
			return;                                                                    \
		va_start(args, fmt);                                                               \
		write_formatted(level, fmt, args);                                                 \
		va_end(args);                                                                      \
	}

DEFINE_LOG(log_warning, LOG_LEVEL_WARNING)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)

void log_error(const struct sbx_error *err)
{
	char text[SBX_TEXT_MAX];

	if (log_wants(LOG_LEVEL_ERROR))
		write_line(LOG_LEVEL_ERROR, sbx_text(err, text), err);
}
