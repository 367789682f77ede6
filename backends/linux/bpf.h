/*
 * An assembler for classic BPF, as seccomp(2) takes it.
 *
 * A program is built from its end to its start: every instruction names instructions that exist
 * already, so that each jump's distance is known when it is made. Conditional jumps reach 255
 * instructions (one byte); farther targets get a copy of a return or an unconditional jump in
 * between, without the caller's doing. Equal instructions with equal targets are made once.
 *
 * Failure (memory, more than BPF_MAXINSNS instructions) is sticky and seen at bpf_finish().
 */
#ifndef SBX_LINUX_BPF_H
#define SBX_LINUX_BPF_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BPF_MEMO_SLOTS 1024

/* An instruction that others may jump to. */
typedef uint32_t bpf_label;

struct bpf_memo {
	uint16_t code;
	bool used;
	uint32_t k;
	bpf_label yes, no, label;
};

struct bpf_asm {
	struct sock_filter *v; /* last instruction first */
	bpf_label *near_copy;  /* per instruction: the nearest copy of it or jump to it */
	size_t n, cap;
	bool failed;
	struct bpf_memo memo[BPF_MEMO_SLOTS];
};

/* A finished program, first instruction first; v is malloc'ed. */
struct bpf_program {
	struct sock_filter *v;
	size_t n;
};

void bpf_init(struct bpf_asm *a);
void bpf_release(struct bpf_asm *a);

/* Return value to the kernel. */
bpf_label bpf_return(struct bpf_asm *a, uint32_t value);

/* Load the 32-bit word at offset of struct seccomp_data into the accumulator. */
bpf_label bpf_load(struct bpf_asm *a, uint32_t offset, bpf_label next);

/* accumulator &= mask */
bpf_label bpf_and(struct bpf_asm *a, uint32_t mask, bpf_label next);

/* Compare the accumulator with k: op is BPF_JEQ, BPF_JGT, BPF_JGE or BPF_JSET. */
bpf_label bpf_branch(struct bpf_asm *a, uint16_t op, uint32_t k, bpf_label yes, bpf_label no);

/*
 * A decision over all 32-bit values of the accumulator: a range begins at .first and ends before
 * the next one; ranges are sorted, the first begins at 0. Makes a balanced tree; neighbours with
 * the same target are joined (in place).
 */
struct bpf_range {
	uint32_t first;
	bpf_label target;
};
bpf_label bpf_switch(struct bpf_asm *a, struct bpf_range *ranges, size_t n);

/* The program that begins at entry. 0, -ENOMEM or -E2BIG (more than BPF_MAXINSNS). */
int bpf_finish(struct bpf_asm *a, bpf_label entry, struct bpf_program *ret);

void bpf_program_release(struct bpf_program *program);

#define cleanup_bpf_asm	    __attribute__((cleanup(bpf_release)))
#define cleanup_bpf_program __attribute__((cleanup(bpf_program_release)))

#endif
