#include "backends/linux/handover.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/linux/carve_watch.h"
#include "backends/linux/protocol.h"
#include "runtime/base/cleanup.h"

/* The runtime hands it to the console socket, or relays it. */
int handover_pass_terminal(struct sequence *seq, struct sbx_error *err)
{
	struct run *run = seq->run;
	int rc;

	if (!run->plan->process.terminal)
		return 0;
	rc = msg_send(run->sync_fd, &linux_protocol, MSG_TERMINAL, NULL, 0, &run->tty_master_fd, 1);
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "pass the terminal on");
	close(take_fd(&run->tty_master_fd));
	return 0;
}

/* A monitor gets it; the child keeps nothing. */
int handover_pass_watch(struct sequence *seq, struct sbx_error *err)
{
	struct run *run = seq->run;
	int rc = carve_watch_open(run, run->watch_fds, err);

	if (rc < 0)
		return rc;
	rc = msg_send(run->sync_fd, &linux_protocol, MSG_WATCH, NULL, 0, run->watch_fds,
		      CARVE_WATCH_FDS);
	for (size_t i = 0; i < CARVE_WATCH_FDS; i++)
		cleanup_close_fd(&run->watch_fds[i]);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "pass on what is watched") : 0;
}

/* A created container listens: whoever may reach the state store may start it, once. */
static int accept_start(struct run *run, struct sbx_error *err)
{
	int rc = -EAGAIN;

	close(take_fd(&run->sync_fd));
	while (rc < 0) {
		int fd = accept4(run->start_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "wait for start");
		rc = protocol_expect(fd, MSG_START, NULL, NULL);
		if (rc < 0)
			close(fd); /* it left without a word: wait for the next */
		else
			run->sync_fd = fd;
	}
	close(take_fd(&run->start_fd));
	return 0;
}

int handover_wait_for_start(struct sequence *seq, struct sbx_error *err)
{
	struct run *run = seq->run;
	int rc;

	/* A created container outlives its create; one that run starts goes with it until then. */
	if (run->start_fd >= 0)
		prctl(PR_SET_PDEATHSIG, 0);
	rc = protocol_send(run->sync_fd, MSG_CREATED, NULL, 0);
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "tell that the container is created");
	rc = run->start_fd < 0 ? protocol_expect(run->sync_fd, MSG_START, NULL, err)
			       : accept_start(run, err);
	prctl(PR_SET_PDEATHSIG, 0);
	return rc;
}

int handover_await_created(struct sequence *seq, struct sbx_error *err)
{
	struct run *run = seq->run;
	bool wants_terminal = run->plan->process.terminal;
	bool wants_watch = !run->is_exec && carve_watch_is_needed(run->plan);
	struct msg msg;
	int rc;

	for (;;) {
		rc = protocol_receive(run->sync_fd, "created", &msg, err);
		if (rc == 0 && msg.type == MSG_LISTENER) {
			rc = sequence_pass_listener(&msg, run->sync_fd, run->pid, seq->events, err);
		} else if (rc == 0 && msg.type == MSG_TERMINAL && wants_terminal) {
			run->tty_master_fd = msg.fds[0];
			wants_terminal = false;
		} else if (rc == 0 && msg.type == MSG_WATCH && wants_watch) {
			memcpy(run->watch_fds, msg.fds, sizeof(run->watch_fds));
			wants_watch = false;
			rc = carve_watch_adopt(run, err);
		} else if (rc == 0) {
			return msg.type == MSG_CREATED && !wants_terminal && !wants_watch
				       ? 0
				       : protocol_take_error(&msg, err);
		}
		if (rc < 0)
			return rc;
	}
}
