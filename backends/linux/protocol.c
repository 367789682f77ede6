/*
 * The protocol is half-duplex by construction: each side knows from its rows which message comes
 * next, so a receiver names it and anything else is an error.
 */
#include <errno.h>
#include <string.h>

#include "backends/linux/protocol.h"
#include "runtime/base/cleanup.h"

static const struct msg_row rows[] = {
	{MSG_JOINED, "joined", sizeof(struct message_pid), 0},
	{MSG_PROCEED, "proceed", sizeof(struct message_pid), 0},
	{MSG_MOUNTED, "mounted", 0, 0},
	{MSG_HOOKS_DONE, "hooks-done", 0, 0},
	{MSG_TERMINAL, "terminal", 0, 1},
	{MSG_CREATED, "created", 0, 0},
	{MSG_START, "start", 0, 0},
	{MSG_ERROR, "error", sizeof(struct sbx_error), 0},
};

const struct msg_protocol linux_protocol = {"set-up", rows, ARRAY_SIZE(rows)};

int protocol_send(int fd, enum linux_message type, const void *payload, size_t len)
{
	return msg_send(fd, &linux_protocol, type, payload, len, NULL, 0);
}

int protocol_take_error(struct msg *msg, struct sbx_error *err)
{
	struct sbx_error seen;

	msg_close_fds(msg);
	if (msg->type != MSG_ERROR || msg->len != sizeof(seen))
		return sbx_fail(err, SBX_E_INTERNAL, EPROTO, "read the child's error");
	memcpy(&seen, msg->payload, sizeof(seen));
	seen.message[sizeof(seen.message) - 1] = '\0';
	seen.pointer[sizeof(seen.pointer) - 1] = '\0';
	seen.stage[sizeof(seen.stage) - 1] = '\0';
	if (err)
		*err = seen;
	return seen.errnum > 0 ? -seen.errnum : -EINVAL;
}

int protocol_expect(int fd, enum linux_message type, struct msg *msg, struct sbx_error *err)
{
	struct msg own;
	int rc;

	if (!msg)
		msg = &own;
	rc = msg_receive(fd, &linux_protocol, msg);
	if (rc == -ECONNRESET)
		return sbx_fail(err, SBX_E_SYSTEM, 0,
				"wait for \"%s\": the container's process died",
				rows[type - 1].name);
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "wait for \"%s\"", rows[type - 1].name);
	return msg->type == type ? 0 : protocol_take_error(msg, err);
}

void protocol_send_error(int fd, const struct sbx_error *error)
{
	(void)protocol_send(fd, MSG_ERROR, error, sizeof(*error));
}
