#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/prefault.h"

#define PAGE	       4096UL
#define MALLOC_TOP_PAD (33 * PAGE) /* what malloc(3) takes from brk(2) at a time: M_TOP_PAD */
#define HEAP_USED      (10 * PAGE)
#define STACK_BELOW    (4 * PAGE)
#define STACK_ABOVE    (12 * PAGE)

/* Set by the linker: end(3). */
extern char __executable_start[], etext[], __data_start[], end[];

static uintptr_t heap_start;

static void populate(uintptr_t from, uintptr_t to, int advice)
{
	from &= ~(PAGE - 1);
	if (from < to)
		madvise((void *)from, to - from, advice);
}

void prefault_heap(void)
{
	heap_start = (uintptr_t)sbrk(0) - MALLOC_TOP_PAD;
	populate(heap_start, heap_start + HEAP_USED, MADV_POPULATE_WRITE);
}

void prefault_parent(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	populate((uintptr_t)__data_start, (uintptr_t)end, MADV_POPULATE_WRITE);
	populate(heap_start, heap_start + HEAP_USED, MADV_POPULATE_WRITE);
	populate(here - STACK_BELOW, here + STACK_ABOVE, MADV_POPULATE_WRITE);
}

void prefault_child(void)
{
	populate((uintptr_t)__executable_start, (uintptr_t)etext, MADV_POPULATE_READ);
	prefault_parent();
}
