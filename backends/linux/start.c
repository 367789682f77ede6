/*
 * The last step of a set-up, seen from the runtime: the word that lets the child go on, and what is
 * heard of it until its execve(2).
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "backends/linux/probe/probe.h"
#include "backends/linux/protocol.h"
#include "backends/linux/sequence.h"
#include "backends/linux/spawn.h"
#include "runtime/base/cleanup.h"

#define PROBE_WAIT_MS 10000

int sequence_pass_listener(struct msg *msg, int sync_fd, pid_t pid,
			   const struct sequence_events *events, struct sbx_error *err)
{
	int rc = events->listener(events->data, msg->fds[0], pid, err);

	msg_close_fds(msg);
	if (rc < 0)
		return rc;
	rc = protocol_send(sync_fd, MSG_LISTENING, NULL, 0);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "tell that the listener is passed on") : 0;
}

static int send_start(int sync_fd, struct sbx_error *err)
{
	int rc = protocol_send(sync_fd, MSG_START, NULL, 0);

	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "start the container's process") : 0;
}

static int await_execve(int sync_fd, pid_t pid, const struct sequence_events *events,
			bool *ret_confined, struct sbx_error *err)
{
	struct msg msg;
	int rc;

	for (;;) {
		rc = msg_receive(sync_fd, &linux_protocol, &msg);
		if (rc == -ECONNRESET)
			return 0; /* closed by execve(2) */
		if (rc < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -rc, "wait for the container's start");
		if (msg.type == MSG_CONFINED) {
			*ret_confined = true;
			continue;
		}
		if (msg.type != MSG_LISTENER)
			return protocol_take_error(&msg, err);
		rc = sequence_pass_listener(&msg, sync_fd, pid, events, err);
		if (rc < 0)
			return rc;
	}
}

int sequence_start(int sync_fd, pid_t pid, const struct sequence_events *events, bool *ret_confined,
		   struct sbx_error *err)
{
	int rc = send_start(sync_fd, err);

	if (rc == 0)
		rc = protocol_expect(sync_fd, MSG_EXECUTING, NULL, err);
	return rc < 0 ? rc : await_execve(sync_fd, pid, events, ret_confined, err);
}

int sequence_start_exec(struct run *run, const struct sequence_events *events,
			struct sbx_error *err)
{
	struct pollfd fds[] = {{.fd = run->sync_fd, .events = POLLIN}, {.events = POLLIN}};
	int rc = send_start(run->sync_fd, err);
	bool confined;

	if (rc == 0)
		rc = spawn_await_child(run, err);
	if (rc < 0)
		return rc;
	fds[1].fd = run->pidfd;
	while (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno == EINTR)
		;
	/* A process inside that holds the channel open hides the end of file; not that of the
	 * process, whose last word is looked for once more. */
	if (!fds[0].revents && poll(fds, 1, 0) <= 0)
		return 0;
	return await_execve(run->sync_fd, run->pid, events, &confined, err);
}

int sequence_start_probe(struct run *run, struct sbx_error *err)
{
	struct pollfd word = {.fd = run->sync_fd, .events = POLLIN};
	struct msg msg;
	int rc = send_start(run->sync_fd, err);

	if (rc == 0)
		rc = spawn_await_child(run, err);
	if (rc == 0 && poll(&word, 1, PROBE_WAIT_MS) <= 0)
		rc = sbx_fail(err, SBX_E_SYSTEM, ETIMEDOUT, "wait for the probe's answer");
	if (rc == 0)
		rc = protocol_expect(run->sync_fd, MSG_PROBED, &msg, err);
	if (rc == 0)
		memcpy(&run->probe->message, msg.payload, sizeof(run->probe->message));
	sequence_undo(run);
	return rc;
}
