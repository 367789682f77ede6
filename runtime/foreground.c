/*
 * One poll(2) loop over the signals, the process's descriptor and, with a terminal, the two
 * directions of the relay. Each direction has one block that is read, then written as there is
 * room, so that neither a process that reads nothing nor a slow reader of ours holds up the
 * signals. After the process ended, what it wrote last is still read from the pty until that is
 * empty; a grandchild that keeps the pty open does not hold the loop.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "backends/linux/reaper.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/foreground.h"
#include "runtime/notify.h"

#define END_OF_FILE_REPEAT_MS 1000
#define LOOK_AGAIN_MS	      100

struct relay {
	int master_fd;
	bool raw;
	bool asleep;	  /* nobody has the terminal open */
	bool within_line; /* what was read last ends so */
	struct flow input, output;
	struct termios saved;
};

void foreground_init(struct foreground *fg)
{
	*fg = (struct foreground){.signal_fd = -EBADF, .notify_fd = -EBADF, .drain_ms = -1};
	output_pipes_init(&fg->pipes);
}

int foreground_limit_output(struct foreground *fg, uint64_t bytes, bool terminal, int theirs[2],
			    struct sbx_error *err)
{
	fg->budget = (struct output_budget){.limited = true, .left = bytes};
	return terminal ? 0 : output_pipes_open(&fg->pipes, theirs, err);
}

int foreground_begin(struct foreground *fg, struct sbx_error *err)
{
	sigset_t set;

	sigfillset(&set);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "block signals");
	fg->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fg->signal_fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make a descriptor for signals");
	return 0;
}

void foreground_end(struct foreground *fg)
{
	sigset_t set;

	cleanup_close_fd(&fg->signal_fd);
	cleanup_close_fd(&fg->notify_fd);
	output_pipes_close(&fg->pipes);
	if (fg->keeper.state) /* a last one that nobody reads would end us */
		signal(SIGIO, SIG_IGN);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

static void copy_window_size(int master_fd)
{
	struct winsize size;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
		ioctl(master_fd, TIOCSWINSZ, &size);
}

static void relay_begin(struct relay *relay, int master_fd)
{
	struct termios raw;

	relay->master_fd = master_fd;
	relay->input.open = relay->output.open = master_fd >= 0;
	if (master_fd < 0)
		return;
	fcntl(master_fd, F_SETFL, O_RDWR | O_NONBLOCK);
	if (tcgetattr(STDIN_FILENO, &relay->saved) < 0)
		return;
	raw = relay->saved;
	cfmakeraw(&raw);
	relay->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
	copy_window_size(master_fd);
}

static void relay_end(struct relay *relay)
{
	if (relay->raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &relay->saved);
	relay->raw = false;
}

/*
 * What the terminal shows reaches nobody any more: it is hung up, as by a line that goes dead, or
 * the process would wait for ever for room in it. The descriptor is the caller's, who closes it.
 */
static void hang_up(struct relay *relay)
{
	int null = open("/dev/null", O_RDWR | O_NOCTTY | O_CLOEXEC);

	relay->input.open = relay->output.open = false;
	relay->input.len = relay->output.len = 0;
	if (null < 0)
		return;
	dup3(null, relay->master_fd, O_CLOEXEC);
	close(null);
}

/* EIO: no process has the terminal open now; one may open it again. */
static void read_output(struct relay *relay, struct output_budget *budget)
{
	ssize_t n = read(relay->master_fd, relay->output.data, FLOW_BYTES);

	if (n > 0) {
		relay->output.len = (size_t)n;
		flow_charge(&relay->output, budget);
	} else if (n == 0)
		relay->output.open = false;
	else
		relay->asleep = !flow_is_later(n);
}

/* The terminal's end of file character (termios(3), VEOF), where it has one. Within a line the
 * first only hands over what there is of it. */
static void type_end_of_file(struct relay *relay)
{
	struct termios modes;

	if (tcgetattr(relay->master_fd, &modes) < 0 || modes.c_cc[VEOF] == _POSIX_VDISABLE)
		return;
	memset(relay->input.data, modes.c_cc[VEOF], 2);
	relay->input.len = relay->within_line ? 2 : 1;
	relay->within_line = false;
}

static void read_input(struct relay *relay)
{
	ssize_t n = read(STDIN_FILENO, relay->input.data, FLOW_BYTES);

	if (flow_is_later(n))
		return;
	relay->input.open = n > 0;
	if (n <= 0) {
		type_end_of_file(relay);
		return;
	}
	relay->input.len = (size_t)n;
	relay->within_line = relay->input.data[n - 1] != '\n';
}

static void write_output(struct relay *relay)
{
	if (!flow_write(&relay->output, STDOUT_FILENO))
		hang_up(relay);
}

static void write_input(struct relay *relay)
{
	if (!flow_write(&relay->input, relay->master_fd))
		relay->input.len = relay->input.done = 0;
}

/* A direction waits for room while it has something, else for something. */
static struct pollfd output_wait(const struct relay *relay)
{
	if (relay->output.len)
		return (struct pollfd){STDOUT_FILENO, POLLOUT, 0};
	return (struct pollfd){relay->output.open && !relay->asleep ? relay->master_fd : -1, POLLIN,
			       0};
}

static struct pollfd input_wait(const struct relay *relay)
{
	if (relay->input.len)
		return (struct pollfd){relay->asleep ? -1 : relay->master_fd, POLLOUT, 0};
	return (struct pollfd){relay->input.open ? STDIN_FILENO : -1, POLLIN, 0};
}

/* A shell that takes up line editing discards an end of file typed before: it is typed again. */
static bool types_end_of_file(const struct relay *relay)
{
	return relay->output.open && !relay->input.open && !relay->input.len;
}

static void relay_step(struct relay *relay, struct output_budget *budget, bool output_ready,
		       bool input_ready)
{
	relay->asleep = false;
	if (output_ready && relay->output.len)
		write_output(relay);
	else if (output_ready)
		read_output(relay, budget);
	if (input_ready && relay->input.len)
		write_input(relay);
	else if (input_ready)
		read_input(relay);
}

static void forward_signals(struct foreground *fg, pid_t pid, int pidfd, int master_fd)
{
	struct signalfd_siginfo info;

	while (read(fg->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		int sig = (int)info.ssi_signo;

		if (sig == SIGCHLD || sig == SIGURG)
			continue;
		if (sig == SIGIO && fg->keeper.state && info.ssi_code != SI_USER) {
			fg->keeper.changed = true;
			continue;
		}
		/* Raised by a write of our own, not sent. */
		if ((sig == SIGPIPE || sig == SIGXFSZ) && info.ssi_pid == (uint32_t)getpid())
			continue;
		if (sig == SIGWINCH && master_fd < 0)
			continue;
		if (sig == SIGWINCH)
			copy_window_size(master_fd);
		else
			proc_send_signal(pidfd, pid, sig);
	}
}

/* One signal of those that came; true where it is to end us. */
static bool is_told_to_end(const struct foreground *fg)
{
	struct signalfd_siginfo info;

	return read(fg->signal_fd, &info, sizeof(info)) == sizeof(info) &&
	       (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT || info.ssi_signo == SIGHUP);
}

/* What the process wrote last, but nothing that others write later. Who does not read it may end us
 * by a signal, and so does the time that is left. */
static void drain_pipes(struct foreground *fg)
{
	int64_t begin = clock_now_ms();

	for (size_t i = 0; i < OUTPUT_PIPES;) {
		struct pollfd ready[] = {output_pipes_wait(&fg->pipes, i),
					 {fg->signal_fd, POLLIN, 0}};
		bool writing = ready[0].events == POLLOUT;
		int64_t left = fg->drain_ms - (clock_now_ms() - begin);

		if (ready[0].fd < 0 || (!writing && fg->budget.exceeded)) {
			i++;
			continue;
		}
		if (fg->drain_ms >= 0 && left <= 0)
			return;
		if (poll(ready, ARRAY_SIZE(ready),
			 !writing	    ? 0
			 : fg->drain_ms < 0 ? -1
					    : (int)left) < 0 &&
		    errno != EINTR)
			return;
		if (ready[1].revents && is_told_to_end(fg))
			return;
		if (ready[0].revents)
			output_pipes_step(&fg->pipes, i, &fg->budget);
		else if (!writing)
			i++;
	}
}

/* What the process wrote last. Who does not read it may end us by a signal. */
static void drain(struct relay *relay, struct foreground *fg)
{
	for (;;) {
		struct pollfd ready[] = {output_wait(relay), {fg->signal_fd, POLLIN, 0}};
		bool writing = relay->output.len > 0;

		if (poll(ready, ARRAY_SIZE(ready), writing ? -1 : 0) < 0 && errno != EINTR)
			return;
		if (ready[1].revents && is_told_to_end(fg))
			return;
		if (!writing && !(ready[0].revents & POLLIN))
			return;
		relay_step(relay, &fg->budget, ready[0].revents != 0, false);
	}
}

/* The first process of rung 2 takes the others along; asked once, it does so when it comes to it.
 */
static void end_tree(struct foreground *fg, pid_t pid, int pidfd)
{
	if (!fg->sweeps)
		proc_send_signal(pidfd, pid, SIGKILL);
	else if (!fg->asked)
		fg->asked = reaper_end(pidfd) == 0;
}

/* What else is in the group goes with the container. */
static void end_where_needed(struct foreground *fg, pid_t pid, int pidfd)
{
	if (fg->cause == END_NONE && fg->budget.exceeded)
		fg->cause = END_OUTPUT_LIMIT;
	if (fg->cause == END_NONE && fg->keeper.state && !carve_keeper_keep(&fg->keeper))
		fg->cause = END_DETACHED;
	if (fg->cause == END_NONE)
		return;
	end_tree(fg, pid, pidfd);
	if (fg->cause == END_DETACHED)
		cgroup_let_die(&fg->keeper.state->cgroup, NULL);
}

static int patience_ms(const struct foreground *fg, const struct relay *relay)
{
	if (fg->keeper.resting)
		return CARVE_REST_MS;
	if (relay->asleep)
		return LOOK_AGAIN_MS;
	return types_end_of_file(relay) ? END_OF_FILE_REPEAT_MS : -1;
}

int foreground_wait(struct foreground *fg, pid_t pid, int pidfd, int master_fd,
		    struct sbx_error *err)
{
	struct relay relay = {.master_fd = -EBADF};
	int rc, status;

	relay_begin(&relay, master_fd);
	for (;;) {
		struct pollfd ready[] = {
			{pidfd, POLLIN, 0},
			{fg->signal_fd, POLLIN, 0},
			output_wait(&relay),
			input_wait(&relay),
			{fg->notify_fd, POLLIN, 0},
			output_pipes_wait(&fg->pipes, 0),
			output_pipes_wait(&fg->pipes, 1),
			carve_keeper_wait(&fg->keeper),
		};
		int n = poll(ready, ARRAY_SIZE(ready), patience_ms(fg, &relay));

		if (n < 0 && errno != EINTR) {
			relay_end(&relay);
			return sbx_fail(err, SBX_E_SYSTEM, errno, "wait for the container");
		}
		if (n < 0)
			continue;
		if (ready[4].revents && notify_take(fg->notify_fd)) {
			notify_tell_ready(pid, false); /* we stay, so nothing is lost */
			cleanup_close_fd(&fg->notify_fd);
		}
		if (ready[1].revents)
			forward_signals(fg, pid, pidfd, master_fd);
		fg->keeper.changed |= ready[7].revents != 0;
		if (n == 0 && !relay.asleep && !fg->keeper.resting)
			type_end_of_file(&relay);
		relay_step(&relay, &fg->budget, ready[2].revents != 0, ready[3].revents != 0);
		for (size_t i = 0; i < OUTPUT_PIPES; i++)
			if (ready[5 + i].revents)
				output_pipes_step(&fg->pipes, i, &fg->budget);
		end_where_needed(fg, pid, pidfd);
		if (ready[0].revents)
			break;
	}
	if (master_fd >= 0)
		drain(&relay, fg);
	drain_pipes(fg);
	relay_end(&relay);
	rc = proc_wait(pid, &status);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "wait for the container") : status;
}
