/*
 * Instructions are kept in reverse: index 0 is the program's last one, and a jump from index i to
 * index j < i skips i - j - 1 instructions. bpf_finish() turns the array round.
 *
 * Whatever is too far for a conditional jump is brought near first (label_near): a return is
 * copied, anything else gets an unconditional jump. The copy is remembered, so that the
 * neighbours of one far jump share it.
 */
#include "backends/linux/bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Below the 255 of one byte: bringing one target near may push the other one two instructions
 * away. */
#define REACH_MAX 250

void bpf_init(struct bpf_asm *a)
{
	memset(a, 0, sizeof(*a));
}

void bpf_release(struct bpf_asm *a)
{
	free(a->v);
	free(a->near_copy);
	memset(a, 0, sizeof(*a));
}

void bpf_program_release(struct bpf_program *program)
{
	free(program->v);
	program->v = NULL;
	program->n = 0;
}

static bool asm_grow(struct bpf_asm *a)
{
	size_t cap = a->cap ? a->cap * 2 : 256;
	struct sock_filter *v;
	bpf_label *near_copy;

	v = realloc(a->v, cap * sizeof(*v));
	if (!v)
		return false;
	a->v = v;
	near_copy = realloc(a->near_copy, cap * sizeof(*near_copy));
	if (!near_copy)
		return false;
	a->near_copy = near_copy;
	a->cap = cap;
	return true;
}

static bpf_label asm_emit(struct bpf_asm *a, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (a->failed)
		return 0;
	if (a->n == a->cap && !asm_grow(a)) {
		a->failed = true;
		return 0;
	}
	a->v[a->n] = (struct sock_filter){.code = code, .jt = jt, .jf = jf, .k = k};
	a->near_copy[a->n] = (bpf_label)a->n;
	return (bpf_label)a->n++;
}

static uint32_t distance(const struct bpf_asm *a, bpf_label to)
{
	return (uint32_t)a->n - to - 1;
}

/* A label for the same instruction that the next emitted one can reach within max. */
static bpf_label label_near(struct bpf_asm *a, bpf_label target, uint32_t max)
{
	bpf_label label;

	if (a->failed || target >= a->n) {
		a->failed = true;
		return 0;
	}
	label = a->near_copy[target];
	if (distance(a, label) <= max)
		return label;
	if (BPF_CLASS(a->v[target].code) == BPF_RET)
		label = asm_emit(a, a->v[target].code, a->v[target].k, 0, 0);
	else
		label = asm_emit(a, BPF_JMP | BPF_JA, distance(a, label), 0, 0);
	a->near_copy[target] = label;
	return label;
}

static struct bpf_memo *memo_slot(struct bpf_asm *a, uint16_t code, uint32_t k, bpf_label yes,
				  bpf_label no)
{
	uint32_t hash = 2166136261u;
	const uint32_t words[] = {code, k, yes, no};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		hash = (hash ^ words[i]) * 16777619u;
		hash ^= hash >> 15;
	}
	return &a->memo[hash % BPF_MEMO_SLOTS];
}

static bool memo_find(const struct bpf_memo *m, uint16_t code, uint32_t k, bpf_label yes,
		      bpf_label no)
{
	return m->used && m->code == code && m->k == k && m->yes == yes && m->no == no;
}

static bpf_label memo_keep(struct bpf_memo *m, uint16_t code, uint32_t k, bpf_label yes,
			   bpf_label no, bpf_label label)
{
	*m = (struct bpf_memo){
		.code = code, .used = true, .k = k, .yes = yes, .no = no, .label = label};
	return label;
}

bpf_label bpf_return(struct bpf_asm *a, uint32_t value)
{
	const uint16_t code = BPF_RET | BPF_K;
	struct bpf_memo *m = memo_slot(a, code, value, 0, 0);

	if (memo_find(m, code, value, 0, 0))
		return m->label;
	return memo_keep(m, code, value, 0, 0, asm_emit(a, code, value, 0, 0));
}

/* An instruction that falls through to next. */
static bpf_label asm_straight(struct bpf_asm *a, uint16_t code, uint32_t k, bpf_label next)
{
	struct bpf_memo *m = memo_slot(a, code, k, next, next);

	if (memo_find(m, code, k, next, next))
		return m->label;
	label_near(a, next, 0);
	return memo_keep(m, code, k, next, next, asm_emit(a, code, k, 0, 0));
}

bpf_label bpf_load(struct bpf_asm *a, uint32_t offset, bpf_label next)
{
	return asm_straight(a, BPF_LD | BPF_W | BPF_ABS, offset, next);
}

bpf_label bpf_and(struct bpf_asm *a, uint32_t mask, bpf_label next)
{
	return asm_straight(a, BPF_ALU | BPF_AND | BPF_K, mask, next);
}

bpf_label bpf_branch(struct bpf_asm *a, uint16_t op, uint32_t k, bpf_label yes, bpf_label no)
{
	const uint16_t code = BPF_JMP | BPF_K | op;
	struct bpf_memo *m;
	bpf_label near_yes, near_no;

	if (yes == no)
		return yes;
	m = memo_slot(a, code, k, yes, no);
	if (memo_find(m, code, k, yes, no))
		return m->label;
	near_yes = label_near(a, yes, REACH_MAX);
	near_no = label_near(a, no, REACH_MAX);
	return memo_keep(m, code, k, yes, no,
			 asm_emit(a, code, k, (uint8_t)distance(a, near_yes),
				  (uint8_t)distance(a, near_no)));
}

static bpf_label switch_tree(struct bpf_asm *a, const struct bpf_range *ranges, size_t n)
{
	size_t half = n / 2;
	bpf_label low, high;

	if (n == 1)
		return ranges[0].target;
	high = switch_tree(a, ranges + half, n - half);
	low = switch_tree(a, ranges, half);
	return bpf_branch(a, BPF_JGE, ranges[half].first, high, low);
}

bpf_label bpf_switch(struct bpf_asm *a, struct bpf_range *ranges, size_t n)
{
	size_t i, kept = 0;

	if (n == 0) {
		a->failed = true;
		return 0;
	}
	for (i = 1; i < n; i++) {
		if (ranges[i].target != ranges[kept].target)
			ranges[++kept] = ranges[i];
	}
	return switch_tree(a, ranges, kept + 1);
}

int bpf_finish(struct bpf_asm *a, bpf_label entry, struct bpf_program *ret)
{
	struct sock_filter *v;
	size_t i;

	label_near(a, entry, 0);
	if (a->failed)
		return -ENOMEM;
	if (a->n > BPF_MAXINSNS)
		return -E2BIG;
	v = malloc(a->n * sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (i = 0; i < a->n; i++)
		v[i] = a->v[a->n - 1 - i];
	ret->v = v;
	ret->n = a->n;
	return 0;
}
