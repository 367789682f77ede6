/*
 * The protocol is half-duplex by construction: each side knows from its rows which message comes
 * next, so a receiver names it and anything else is an error.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "backends/linux/carve_watch.h"
#include "backends/linux/protocol.h"
#include "backends/linux/probe/probe.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/text.h"

#define ERRNO_MAX 4095 /* the highest that a system call answers */

static const struct msg_row rows[] = {
	{MSG_PROCEED, "proceed", sizeof(struct message_pid), 0},
	{MSG_MOUNTED, "mounted", 0, 0},
	{MSG_HOOKS_DONE, "hooks-done", 0, 0},
	{MSG_TERMINAL, "terminal", 0, 1},
	{MSG_WATCH, "watch", 0, CARVE_WATCH_FDS},
	{MSG_CREATED, "created", 0, 0},
	{MSG_START, "start", 0, 0},
	{MSG_EXECUTING, "executing", 0, 0},
	{MSG_LISTENER, "listener", 0, 1},
	{MSG_LISTENING, "listening", 0, 0},
	{MSG_ERROR, "error", sizeof(struct sbx_error), 0},
	{MSG_CONFINED, "confined", 0, 0},
	{MSG_PROBED, "probed", sizeof(struct probe_message), 0},
};

const struct msg_protocol linux_protocol = {"set-up", rows, ARRAY_SIZE(rows)};

int protocol_send(int fd, enum linux_message type, const void *payload, size_t len)
{
	return msg_send(fd, &linux_protocol, type, payload, len, NULL, 0);
}

static void take_text(char *out, size_t size, const char *text)
{
	text_escape(out, size, text, strnlen(text, size));
}

int protocol_take_error(struct msg *msg, struct sbx_error *err)
{
	struct sbx_error seen, taken = {.code = SBX_E_INTERNAL};

	msg_close_fds(msg);
	if (msg->type != MSG_ERROR || msg->len != sizeof(seen))
		return sbx_fail(err, SBX_E_INTERNAL, EPROTO, "read the child's error");
	memcpy(&seen, msg->payload, sizeof(seen));
	if ((unsigned)seen.code > SBX_OK && (unsigned)seen.code < SBX_CODE_COUNT)
		taken.code = seen.code;
	if (seen.errnum > 0 && seen.errnum <= ERRNO_MAX)
		taken.errnum = seen.errnum;
	take_text(taken.message, sizeof(taken.message), seen.message);
	take_text(taken.pointer, sizeof(taken.pointer), seen.pointer);
	take_text(taken.stage, sizeof(taken.stage), seen.stage);
	if (err)
		*err = taken;
	return taken.errnum ? -taken.errnum : -EINVAL;
}

int protocol_receive(int fd, const char *what, struct msg *msg, struct sbx_error *err)
{
	int rc = msg_receive(fd, &linux_protocol, msg);

	if (rc == -ECONNRESET) {
		sbx_fail(err, SBX_E_SYSTEM, 0, "wait for \"%s\": the container's process died",
			 what);
		return rc;
	}
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "wait for \"%s\"", what) : 0;
}

int protocol_expect(int fd, enum linux_message type, struct msg *msg, struct sbx_error *err)
{
	struct msg own;
	int rc;

	if (!msg)
		msg = &own;
	rc = protocol_receive(fd, rows[type - 1].name, msg, err);
	if (rc < 0)
		return rc;
	if (msg->type != type)
		return protocol_take_error(msg, err);
	/* The rows give the exact length; what was not sent would be read from the stack. */
	if (msg->len == rows[type - 1].max_bytes)
		return 0;
	msg_close_fds(msg);
	return sbx_fail(err, SBX_E_INTERNAL, EPROTO, "read \"%s\"", rows[type - 1].name);
}

void protocol_send_error(int fd, const struct sbx_error *error)
{
	(void)protocol_send(fd, MSG_ERROR, error, sizeof(*error));
}

int protocol_prefer_error(int fd, int rc, struct sbx_error *err)
{
	struct pollfd word = {.fd = fd, .events = POLLIN};
	struct msg msg;

	if (fd < 0 || poll(&word, 1, 0) <= 0 || msg_receive(fd, &linux_protocol, &msg) < 0)
		return rc;
	if (msg.type == MSG_ERROR)
		return protocol_take_error(&msg, err);
	msg_close_fds(&msg);
	return rc;
}
