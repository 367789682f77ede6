#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/base/prefault.h"

#define PAGE	    4096UL
#define HEAP_BASE   (8 * PAGE)
#define HEAP_MAX    (64 * PAGE)
#define HEAP_SHARED (10 * PAGE) /* what both sides of a clone go on writing */
#define HEAP_KEPT   (1 << 20)	/* bytes: neither mapped apart nor given back */
#define STACK_BELOW (2 * PAGE)
#define STACK_ABOVE (8 * PAGE)

/* Set by the linker: end(3). */
extern char __executable_start[], etext[], __data_start[], end[];

/* Where the program has its own entry, it is linked in an order (entry.c): what lies between these
 * two is hardly used. */
extern const char crypto_hash_sha256_init[] __attribute__((weak));
extern const char sbx_entry[] __attribute__((weak));

static uintptr_t heap_start;

static void populate(uintptr_t from, uintptr_t to, int advice)
{
	from &= ~(PAGE - 1);
	if (from < to)
		madvise((void *)from, to - from, advice);
}

void prefault_heap(size_t len)
{
	size_t bytes = len < HEAP_MAX / 16 ? HEAP_BASE + 12 * len : HEAP_MAX;
	void *place;

	mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
	mallopt(M_MMAP_THRESHOLD, HEAP_KEPT);
	place = malloc(bytes);
	if (!place)
		return;
	heap_start = (uintptr_t)place;
	populate(heap_start, heap_start + bytes, MADV_POPULATE_WRITE);
	free(place);
}

void prefault_parent(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	populate((uintptr_t)__data_start, (uintptr_t)end, MADV_POPULATE_WRITE);
	populate(heap_start, heap_start + HEAP_SHARED, MADV_POPULATE_WRITE);
	populate(here - STACK_BELOW, here + STACK_ABOVE, MADV_POPULATE_WRITE);
}

void prefault_child(void)
{
	uintptr_t code = (uintptr_t)__executable_start;

	if (sbx_entry) {
		populate(code, (uintptr_t)crypto_hash_sha256_init, MADV_POPULATE_READ);
		code = (uintptr_t)sbx_entry;
	}
	populate(code, (uintptr_t)etext, MADV_POPULATE_READ);
	prefault_parent();
}
