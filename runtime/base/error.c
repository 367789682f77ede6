/*
 * Theory of operation: a message is formatted into a buffer on the stack, then copied into the
 * caller's record through text_escape(), so that a name from a bundle can neither move a cursor
 * nor break a log line. Nothing allocates: these functions also run between clone and exec.
 */
#include "runtime/base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/text.h"

/* A long message keeps this much for the errno's text, which clients match. */
#define ERRNO_ROOM 96
#define TAIL_KEPT  128

static const struct {
	const char *name;
	const char *meaning;
} codes[SBX_CODE_COUNT] = {
	[SBX_OK] = {"ok", "no error"},
#define ERROR_CODE(id, text, what) [SBX_E_##id] = {text, what},
#include "runtime/base/error_codes.def"
#undef ERROR_CODE
};

/* Append ": no such file or directory", the first letter in lower case unless it begins an
 * abbreviation, because the field's clients compare with Go's spelling. */
static void append_errno(char *text, size_t size, int errnum)
{
	size_t len = strlen(text);
	const char *what = strerrordesc_np(errnum);

	if (!what) {
		snprintf(text + len, size - len, ": error number %d", errnum);
		return;
	}
	snprintf(text + len, size - len, ": %s", what);
	if (len + 3 < size && !isupper((unsigned char)text[len + 3]))
		text[len + 2] = (char)tolower((unsigned char)text[len + 2]);
}

__attribute__((format(printf, 5, 0))) static int record(struct sbx_error *err, enum sbx_code code,
							int errnum, const char *pointer,
							const char *fmt, va_list args)
{
	char raw[SBX_MESSAGE_MAX];

	if (errnum < 0)
		errnum = -errnum;
	if (!err)
		return errnum ? -errnum : -EINVAL;
	if (vsnprintf(raw, sizeof(raw), fmt, args) < 0)
		raw[0] = '\0';
	text_escape(err->message, sizeof(err->message) - ERRNO_ROOM, raw, strlen(raw));
	if (errnum)
		append_errno(err->message, sizeof(err->message), errnum);
	if (pointer != err->pointer)
		text_escape(err->pointer, sizeof(err->pointer), pointer, strlen(pointer));
	err->code = code;
	err->errnum = errnum;
	err->stage[0] = '\0';
	err->requirements[0] = '\0';
	return errnum ? -errnum : -EINVAL;
}

int sbx_fail(struct sbx_error *err, enum sbx_code code, int errnum, const char *fmt, ...)
{
	va_list args;
	int rc;

	va_start(args, fmt);
	rc = record(err, code, errnum, "", fmt, args);
	va_end(args);
	return rc;
}

int sbx_fail_at(struct sbx_error *err, enum sbx_code code, const char *pointer, const char *fmt,
		...)
{
	va_list args;
	int rc;

	va_start(args, fmt);
	rc = record(err, code, 0, pointer ? pointer : "", fmt, args);
	va_end(args);
	return rc;
}

/* "PREFIX: MESSAGE" where it does not fit: the message loses its middle, because its end holds the
 * errno's text. out holds used bytes of "PREFIX: ". */
static void append_shortened(char *out, size_t size, size_t used, const char *message)
{
	size_t len = strlen(message), tail = len - TAIL_KEPT;

	while ((message[tail] & 0xc0) == 0x80)
		tail++;
	used += text_escape(out + used, size - used - TAIL_KEPT - 3, message, len);
	memcpy(out + used, "...", 3);
	memcpy(out + used + 3, message + tail, len - tail + 1);
}

const char *sbx_text(const struct sbx_error *err, char out[SBX_TEXT_MAX])
{
	if (err->pointer[0])
		snprintf(out, SBX_TEXT_MAX, "%s (at %s)", err->message, err->pointer);
	else
		snprintf(out, SBX_TEXT_MAX, "%s", err->message);
	return out;
}

int sbx_prefix(struct sbx_error *err, const char *fmt, ...)
{
	char raw[SBX_MESSAGE_MAX / 2], text[SBX_MESSAGE_MAX];
	va_list args;
	size_t used, len;

	if (!err)
		return -EINVAL;
	va_start(args, fmt);
	if (vsnprintf(raw, sizeof(raw), fmt, args) < 0)
		raw[0] = '\0';
	va_end(args);
	used = text_escape(text, sizeof(raw) - 2, raw, strlen(raw));
	memcpy(text + used, ": ", 3);
	used += 2;
	len = strnlen(err->message, sizeof(err->message) - 1);
	if (len < sizeof(text) - used)
		memcpy(text + used, err->message, len + 1);
	else
		append_shortened(text, sizeof(text), used, err->message);
	memcpy(err->message, text, sizeof(text));
	return err->errnum ? -err->errnum : -EINVAL;
}

const char *sbx_code_name(enum sbx_code code)
{
	if ((unsigned int)code >= SBX_CODE_COUNT)
		code = SBX_E_INTERNAL;
	return codes[code].name;
}

const char *sbx_code_meaning(enum sbx_code code)
{
	if ((unsigned int)code >= SBX_CODE_COUNT)
		code = SBX_E_INTERNAL;
	return codes[code].meaning;
}

enum sbx_code sbx_code_from_name(const char *name)
{
	for (size_t i = 1; i < ARRAY_SIZE(codes); i++) {
		if (strcmp(codes[i].name, name) == 0)
			return (enum sbx_code)i;
	}
	return SBX_E_INTERNAL;
}
