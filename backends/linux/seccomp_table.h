/*
 * The rows of the profile's own system call filter: what is refused, by number and machine.
 *
 * seccomp_floor.c holds those of every container and compiles them; seccomp_shared.c those that
 * come on top where the container shares its namespaces with the host (rung 2). Of two rows with
 * the same number the latter counts, so it must refuse whatever the former does.
 */
#ifndef SBX_LINUX_SECCOMP_TABLE_H
#define SBX_LINUX_SECCOMP_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define FLOOR_NONE (-1)

enum answer {
	ANSWER_REFUSE,	/* EPERM */
	ANSWER_MISSING, /* ENOSYS */
	ANSWER_BITS,	/* EPERM where argument .arg has one of .bits */
	ANSWER_VALUE,	/* EPERM where argument .arg is .bits */
	ANSWER_CREATE,	/* EPERM where flags in .arg create and the mode behind has set-id bits */
	ANSWER_NODE,	/* mode in .arg: set-id bits, block and character devices */
	ANSWER_IOCTL,	/* typing into a terminal */
	ANSWER_SOCKET,	/* allow-list of family, type, protocol */
	ANSWER_SOCKET_PAIR, /* AF_UNIX only */
	ANSWER_SOCKET_OPTION,
	/* rung 2 */
	ANSWER_OTHERS,	     /* EPERM where argument .arg, a process, is not 0: the caller itself */
	ANSWER_OTHERS_OF,    /* the same, and where argument 0, the kind of number, is not .bits */
	ANSWER_SHARED_IOCTL, /* terminals and sockets only: the others reach past Landlock */
	ANSWER_INET_SOCKET,  /* as ANSWER_SOCKET without Unix sockets */
	ANSWER_NO_FAMILY,
	ANSWER_STREAM_PAIR, /* of AF_UNIX, without datagrams: those go to any path */
};

struct floor_row {
	const char *name;
	int16_t x86_64, i386, aarch64, x32; /* x32: its own number beside x86_64's */
	enum answer answer;
	uint8_t arg;
	uint32_t bits;
	unsigned when; /* FLOOR_* conditions, all of which must hold; 0: always */
};

extern const struct floor_row floor_shared_rows[];
extern const size_t floor_shared_rows_n;

#endif
