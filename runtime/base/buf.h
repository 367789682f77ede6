/*
 * A growing byte buffer for output that is built piece by piece (JSON, messages, tables).
 *
 * Failure is sticky: after memory or the limit is exhausted every call is a no-op and
 * buf_failed() tells, so that a long run of appends needs one check at its end. The content is
 * always NUL-terminated; data is never NULL after the first append.
 */
#ifndef SBX_BASE_BUF_H
#define SBX_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data;
	size_t len;
	size_t cap;
	bool failed;
};

#define BUF_INIT	((struct buf){0})
#define BUF_LIMIT_BYTES ((size_t)64 << 20)

void buf_append(struct buf *buf, const void *data, size_t len);
void buf_puts(struct buf *buf, const char *text);
void buf_putc(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Room for bytes behind the content and a NUL, for a read(2) that adds to len what it got; NULL
 * after a failure. */
char *buf_room(struct buf *buf, size_t bytes);

bool buf_failed(const struct buf *buf);
void buf_reset(struct buf *buf); /* keep the memory, drop the content and the failure */
void buf_release(struct buf *buf);

#define cleanup_buf __attribute__((cleanup(buf_release)))

#endif
