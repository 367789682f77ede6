/*
 * Theory of operation: capacity doubles from 256 bytes, one byte is always kept for the NUL.
 */
#include "runtime/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for more bytes and the NUL; false after the sticky failure. */
static bool reserve(struct buf *buf, size_t more)
{
	size_t need, cap = buf->cap ? buf->cap : 256;
	char *data;

	if (buf->failed)
		return false;
	if (more > BUF_LIMIT_BYTES - 1 || buf->len > BUF_LIMIT_BYTES - 1 - more) {
		buf->failed = true;
		return false;
	}
	need = buf->len + more + 1;
	if (need <= buf->cap)
		return true;
	while (cap < need)
		cap *= 2;
	data = realloc(buf->data, cap);
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->cap = cap;
	return true;
}

void buf_append(struct buf *buf, const void *data, size_t len)
{
	if (!reserve(buf, len))
		return;
	if (len)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void buf_puts(struct buf *buf, const char *text)
{
	buf_append(buf, text, strlen(text));
}

void buf_putc(struct buf *buf, char c)
{
	buf_append(buf, &c, 1);
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
	va_list args, again;
	size_t room;
	int len;

	if (!reserve(buf, 0))
		return;
	room = buf->cap - buf->len;
	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(buf->data + buf->len, room, fmt, args);
	if (len >= 0 && (size_t)len >= room && reserve(buf, (size_t)len))
		vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, again);
	if (len < 0)
		buf->failed = true;
	if (!buf->failed)
		buf->len += (size_t)len;
	buf->data[buf->len] = '\0';
	va_end(again);
	va_end(args);
}

char *buf_room(struct buf *buf, size_t bytes)
{
	return reserve(buf, bytes) ? buf->data + buf->len : NULL;
}

bool buf_failed(const struct buf *buf)
{
	return buf->failed;
}

void buf_reset(struct buf *buf)
{
	buf->len = 0;
	buf->failed = false;
	if (buf->data)
		buf->data[0] = '\0';
}

void buf_release(struct buf *buf)
{
	free(buf->data);
	*buf = BUF_INIT;
}
