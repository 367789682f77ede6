/*
 * The system calls that a profile's filter refuses, as a table for the programs that try them.
 *
 * Each has arguments by which an unfiltered kernel refuses it as well, but with another errno, so
 * that the answer tells who gave it and nothing ever happens.
 */
#ifndef TESTS_ATTACKS_CALLS_H
#define TESTS_ATTACKS_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_HIGH (UINT64_C(0xabcdef01) << 32) /* rubbish for where the kernel looks at 32 bits */

struct call {
	const char *name;
	int native, i386; /* -1: not there */
	uint64_t args[6];
};

extern const struct call calls[];
extern const size_t calls_n;

/* A call of the own machine, and one as an i386 program makes it: the result or -errno. */
long call_native(long nr, const uint64_t a[6]);
long call_i386(long nr, const uint64_t a[6]);

/* The row with high words where the kernel itself drops them. */
long call_high(const struct call *call);

/* The kernel lets 64-bit programs through the gate of i386: one without it kills whoever tries. */
bool call_has_i386(void);

/* What a filter answers to the call of this name: EPERM, but ENOSYS and EAFNOSUPPORT where programs
 * must be able to fall back. */
int call_refusal(const char *name);

#endif
