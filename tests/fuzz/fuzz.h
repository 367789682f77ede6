/*
 * A fuzz target is one file fuzz_NAME.c that defines this function. What must hold for every input
 * is asserted with fuzz_check(), which aborts also where NDEBUG is set.
 */
#ifndef SBX_TESTS_FUZZ_H
#define SBX_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_check(condition)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#endif
