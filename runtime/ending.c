/*
 * Theory of operation: runtime/ending.h. Where there is no control group only the first process can
 * be named; with a pid namespace of its own the kernel takes the others with it, and on rung 2 it
 * is asked to.
 */
#include "runtime/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/linux/reaper.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/proc.h"

#define SIGNAL_ANNOTATION "org.opencontainers.image.stopSignal"
#define SWEEP_MS	  5000
#define END_FILE	  "end"
#define END_WORD_BYTES	  16 /* each note has this length, with a newline */

int ending_signal(const struct container_state *state)
{
	int sig = -EINVAL;

	for (size_t i = 0; i < state->annotations.n; i++)
		if (strcmp(state->annotations.v[i].key, SIGNAL_ANNOTATION) == 0)
			sig = proc_parse_signal(state->annotations.v[i].value);
	return sig > 0 ? sig : SIGTERM;
}

bool ending_is_within(int pidfd, uint64_t ms)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	int64_t begin = clock_now_ms();

	for (;;) {
		uint64_t passed = (uint64_t)(clock_now_ms() - begin);
		uint64_t left = passed < ms ? ms - passed : 0;

		if (poll(&end, 1, left < INT_MAX ? (int)left : INT_MAX) > 0)
			return true;
		if (left == 0)
			return false;
	}
}

/* It asks the first process of rung 2, which is ours, to end all that came from the program and
 * then itself (reaper.h). One that does not, because it is not there yet, is killed. */
static bool sweep(const struct container_state *state, int pidfd)
{
	return state->rung == RUNG_SHARED && state_is_started(state) &&
	       !cgroup_is_frozen(&state->cgroup) && reaper_end(pidfd) == 0 &&
	       ending_is_within(pidfd, SWEEP_MS);
}

int ending_of_first(const struct container_state *state, int pidfd)
{
	return sweep(state, pidfd) ? 0 : proc_send_signal(pidfd, state->pid, SIGKILL);
}

int ending_by_force(const struct container_state *state, int pidfd, struct sbx_error *err)
{
	int rc = state->cgroup.n > 0 ? cgroup_signal_all(&state->cgroup, SIGKILL, err) : 0;
	int first = ending_of_first(state, pidfd);

	if (rc < 0)
		return rc;
	rc = first == -EPERM ? first : proc_wait_gone(pidfd);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "kill the container's first process") : 0;
}

int ending_in_order(const struct container_state *state, int pidfd, uint64_t grace_ms,
		    struct sbx_error *err)
{
	int rc = proc_send_signal(pidfd, state->pid, ending_signal(state));

	if (rc < 0 && rc != -ESRCH)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "signal the container's first process");
	rc = cgroup_is_frozen(&state->cgroup) ? cgroup_thaw(&state->cgroup, err) : 0;
	if (rc < 0 && rc != -ESRCH)
		return rc;
	return ending_is_within(pidfd, grace_ms) ? 0 : ending_by_force(state, pidfd, err);
}

/* ---- why ---- */

static const struct {
	const char *word;
	int status; /* of run, as timeout(1) has it; 0: the process's own */
	enum sbx_code code;
	const char *text;
} causes[] = {
	[END_NONE] = {"none", 0, SBX_E_INTERNAL, ""},
	[END_DEADLINE] = {"deadline", 124, SBX_E_DEADLINE,
			  "the container was ended: the deadline of its profile passed "
			  "(limits.deadline)"},
	[END_OUTPUT_LIMIT] = {"output-limit", 125, SBX_E_OUTPUT_LIMIT,
			      "the container was ended: it wrote more than its profile allows "
			      "(limits.outputBytes)"},
	[END_UNWATCHED] = {"unwatched", 137, SBX_E_BOUNDARY_CHANGED,
			   "the container was ended: a process of its monitor died or was stopped, "
			   "and its deadline would not have held"},
	[END_DETACHED] = {"detached", 137, SBX_E_BOUNDARY_CHANGED,
			  "the container was ended: a process outside replaced or removed what its "
			  "profile closes, and that is not closed again (onDetach)"},
};

int end_cause_open(int container_fd)
{
	cleanup_fd int fd = openat(container_fd, END_FILE,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	end_cause_note(fd, END_NONE);
	return take_fd(&fd);
}

void end_cause_note(int end_fd, enum end_cause cause)
{
	char text[END_WORD_BYTES + 1];

	snprintf(text, sizeof(text), "%-*s\n", END_WORD_BYTES - 1, causes[cause].word);
	if (pwrite(end_fd, text, END_WORD_BYTES, 0) != END_WORD_BYTES)
		log_warning("the container is ended (%s), which cannot be stored: errno %d",
			    causes[cause].word, errno);
}

enum end_cause end_cause_read(int container_fd)
{
	cleanup_buf struct buf text = BUF_INIT;

	if (store_read_file(container_fd, END_FILE, END_WORD_BYTES, &text, NULL) < 0)
		return END_NONE;
	for (size_t i = 1; i < ARRAY_SIZE(causes); i++)
		if (strncmp(text.data, causes[i].word, strlen(causes[i].word)) == 0)
			return (enum end_cause)i;
	return END_NONE;
}

int end_cause_explain(enum end_cause cause, struct sbx_error *err)
{
	if (causes[cause].status)
		sbx_fail(err, causes[cause].code, 0, "%s", causes[cause].text);
	return causes[cause].status;
}
