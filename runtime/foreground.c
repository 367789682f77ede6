/*
 * One poll(2) loop over the signals, the process's descriptor and, with a terminal, the two
 * directions of the relay. After the process ended, what it wrote last is still read from the pty
 * until that is empty; a grandchild that keeps the pty open does not hold the loop.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/foreground.h"

#define RELAY_BYTES	      4096
#define END_OF_FILE_REPEAT_MS 1000

/* input[done..len) is read from the caller and waits for room in the terminal. */
struct relay {
	int master_fd;
	bool raw, stdin_open, output_open;
	char input[RELAY_BYTES];
	size_t len, done;
	struct termios saved;
};

int foreground_begin(struct foreground *fg, struct sbx_error *err)
{
	sigset_t set;

	sigfillset(&set);
	fg->relay_fd = -EBADF;
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
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

static void copy_window_size(int master_fd)
{
	struct winsize size;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
		ioctl(master_fd, TIOCSWINSZ, &size);
}

/* The terminal does not block us: one whose process reads nothing must not hold up the signals. */
static void relay_begin(struct relay *relay, int master_fd)
{
	struct termios raw;

	relay->master_fd = master_fd;
	relay->stdin_open = relay->output_open = master_fd >= 0;
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

	relay->stdin_open = false;
	if (null < 0)
		return;
	dup3(null, relay->master_fd, O_CLOEXEC);
	close(null);
}

static void relay_output(struct relay *relay)
{
	char block[RELAY_BYTES];
	ssize_t len = read(relay->master_fd, block, sizeof(block));

	if (len < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (len > 0 && fd_write_all(STDOUT_FILENO, block, (size_t)len) == 0)
		return;
	relay->output_open = false;
	if (len > 0)
		hang_up(relay);
}

/* The terminal's end of file character (termios(3), VEOF). */
static void type_end_of_file(struct relay *relay)
{
	struct termios modes;

	if (tcgetattr(relay->master_fd, &modes) < 0)
		return;
	relay->input[0] = (char)modes.c_cc[VEOF];
	relay->len = 1;
}

static void read_input(struct relay *relay)
{
	ssize_t len = read(STDIN_FILENO, relay->input, sizeof(relay->input));

	if (len < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	relay->stdin_open = len > 0;
	if (len > 0)
		relay->len = (size_t)len;
	else
		type_end_of_file(relay);
}

static void write_input(struct relay *relay)
{
	ssize_t len = write(relay->master_fd, relay->input + relay->done, relay->len - relay->done);

	if (len < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	relay->done += len > 0 ? (size_t)len : 0;
	if (len <= 0 || relay->done == relay->len)
		relay->len = relay->done = 0;
}

static void forward_signals(const struct foreground *fg, pid_t pid, int pidfd, int master_fd)
{
	struct signalfd_siginfo info;

	while (read(fg->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		int sig = (int)info.ssi_signo;

		if (sig == SIGCHLD || sig == SIGURG)
			continue;
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

static void drain(struct relay *relay)
{
	struct pollfd ready = {relay->master_fd, POLLIN, 0};

	while (relay->output_open && poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN))
		relay_output(relay);
}

int foreground_wait(struct foreground *fg, pid_t pid, int pidfd, int master_fd,
		    struct sbx_error *err)
{
	struct relay relay = {.master_fd = -EBADF};
	int rc, status;

	relay_begin(&relay, master_fd);
	for (;;) {
		bool typing = relay.len > 0;
		/* A shell that takes up line editing discards an end of file typed before. */
		bool repeat = relay.output_open && !relay.stdin_open && !typing;
		struct pollfd ready[] = {
			{pidfd, POLLIN, 0},
			{fg->signal_fd, POLLIN, 0},
			{relay.output_open ? master_fd : -1, POLLIN, 0},
			{relay.stdin_open && !typing ? STDIN_FILENO : -1, POLLIN, 0},
			{typing ? master_fd : -1, POLLOUT, 0},
		};
		int n = poll(ready, ARRAY_SIZE(ready), repeat ? END_OF_FILE_REPEAT_MS : -1);

		if (n < 0 && errno != EINTR) {
			relay_end(&relay);
			return sbx_fail(err, SBX_E_SYSTEM, errno, "wait for the container");
		}
		if (n < 0)
			continue;
		if (n == 0)
			type_end_of_file(&relay);
		if (ready[1].revents)
			forward_signals(fg, pid, pidfd, master_fd);
		if (ready[2].revents)
			relay_output(&relay);
		if (ready[3].revents)
			read_input(&relay);
		if (ready[4].revents)
			write_input(&relay);
		if (ready[0].revents)
			break;
	}
	drain(&relay);
	relay_end(&relay);
	rc = proc_wait(pid, &status);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "wait for the container") : status;
}
