/*
 * Pages asked for before they are touched: one madvise(2) MADV_POPULATE_* (Linux 5.14) instead of a
 * page fault each, which a virtual machine makes twenty times as dear. Only speed depends on it:
 * where the kernel refuses, the faults come as ever.
 */
#ifndef SBX_BASE_PREFAULT_H
#define SBX_BASE_PREFAULT_H

#include <stddef.h>

/* What parsing a document of len bytes, and what follows from it, takes of the heap. */
void prefault_heap(size_t len);

/* After a clone without shared memory: own copies of the pages that both sides go on writing. */
void prefault_parent(void);

/* The same in the child, and the code: the kernel does not copy what it can read from the file. */
void prefault_child(void);

#endif
