/*
 * The conformance suite's own words: a row of a table, and what the tables share.
 *
 * A row is one mechanism of one guarantee. The same action is done twice: on .control, where the
 * profile allows it, and on .probe, where the mechanism has to answer with .refusal and no other
 * errno. A row whose control fails says nothing and is broken; one that something else refuses is
 * not enforced by what it names.
 */
#ifndef TESTS_CONFORMANCE_CONFORM_H
#define TESTS_CONFORMANCE_CONFORM_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

enum row_flag {
	ROW_ROOT = 1 << 0,  /* the bundle of an ordinary user has nothing to try it on */
	ROW_PLAIN = 1 << 1, /* a container without a profile has it as well */
};

/* Each run of the suite is a bundle with a profile of its own. */
enum setting {
	SETTING_CLOSED, /* the host may not be read, no network */
	SETTING_OPEN,	/* the host may be read, the network and (as root) the pid namespace are
			   shared */
	SETTING_LIMITS, /* limits, which need a control group */
};

struct row {
	enum setting setting;
	const char *guarantee, *mechanism, *name;
	long (*act)(const char *what); /* >= 0, or -errno */
	const char *control, *probe;
	int refusal;
	unsigned flags;
};

struct row_table {
	const struct row *rows;
	size_t n;
};

extern const struct row_table rows_files, rows_process, rows_network;

/* What the program outside tells of itself, beside the descriptor of a folder of the host, which
 * the tables know as OUTSIDE. */
struct outside {
	int tcp_port, udp_port;
	pid_t pid;
	int shm_key;
	char queue[64], abstract[64];
};
extern struct outside outside;

#define OUTSIDE_FD 100
#define OUTSIDE	   "/proc/self/fd/100"

/* or_errno(syscall): what a row's action gives back. */
long or_errno(long r);

/* The child's end as an action's result: 0, or -(exit status). A signal is -EINTR. */
long in_child(long (*act)(const char *what), const char *what);

#endif
