/*
 * The clock that deadlines are counted on.
 */
#ifndef SBX_BASE_CLOCK_H
#define SBX_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Milliseconds of CLOCK_MONOTONIC, which no setting of the time moves (clock_gettime(2)). */
static inline int64_t clock_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#endif
