/*
 * Pages asked for before they are touched: one madvise(2) MADV_POPULATE_* (Linux 5.14) instead of a
 * page fault each, which a virtual machine makes twenty times as dear. Only speed depends on it:
 * where the kernel refuses, the faults come as ever.
 */
#ifndef SBX_BASE_PREFAULT_H
#define SBX_BASE_PREFAULT_H

/* What parsing a bundle takes of the heap. To be called before anything large is allocated. */
void prefault_heap(void);

/* After a clone without shared memory: own copies of the pages that both sides go on writing. */
void prefault_parent(void);

/* The same in the child, and the code: the kernel does not copy what it can read from the file. */
void prefault_child(void);

#endif
