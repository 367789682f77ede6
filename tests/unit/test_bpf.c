/* The assembler: far jumps, shared returns, switches, and what the kernel's checker demands. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>

#include "backends/linux/bpf.h"
#include "tests/unit/bpf_sim.h"

static uint32_t run_nr(const struct bpf_program *p, uint32_t nr)
{
	struct seccomp_data data = {.nr = (int)nr};

	return bpf_sim_run(p->v, p->n, &data, NULL);
}

static void test_single_return(void **state)
{
	cleanup_bpf_program struct bpf_program p = {0};
	struct bpf_asm a;

	(void)state;
	bpf_init(&a);
	assert_int_equal(bpf_finish(&a, bpf_return(&a, 7), &p), 0);
	bpf_release(&a);
	assert_int_equal(p.n, 1);
	assert_int_equal(run_nr(&p, 1), 7);
}

static void test_equal_targets_need_no_branch(void **state)
{
	struct bpf_asm a;
	bpf_label r;

	(void)state;
	bpf_init(&a);
	r = bpf_return(&a, 7);
	assert_int_equal(bpf_branch(&a, BPF_JEQ, 3, r, r), r);
	assert_int_equal(bpf_return(&a, 7), r);
	bpf_release(&a);
}

/* Every number its own answer: far more instructions than a conditional jump can reach. */
static void test_switch_reaches_far(void **state)
{
	enum { COUNT = 1200 };
	cleanup_bpf_program struct bpf_program p = {0};
	struct bpf_range ranges[COUNT];
	struct bpf_asm a;
	uint32_t i;
	bpf_label tree;

	(void)state;
	bpf_init(&a);
	for (i = 0; i < COUNT; i++)
		ranges[i] = (struct bpf_range){.first = i * 3, .target = bpf_return(&a, i + 1)};
	tree = bpf_switch(&a, ranges, COUNT);
	assert_int_equal(bpf_finish(&a, bpf_load(&a, 0, tree), &p), 0);
	bpf_release(&a);
	assert_true(bpf_sim_check(p.v, p.n));
	for (i = 0; i < COUNT * 3; i++)
		assert_int_equal(run_nr(&p, i), i / 3 + 1);
	assert_int_equal(run_nr(&p, UINT32_MAX), COUNT);
}

/* Far targets that are no returns: shared chains behind padding. */
static void test_far_chain_is_jumped_to(void **state)
{
	enum { COUNT = 900 };
	cleanup_bpf_program struct bpf_program p = {0};
	struct bpf_range ranges[COUNT];
	bpf_label chain[2], tree;
	struct bpf_asm a;
	uint32_t i, nr;
	unsigned steps;

	(void)state;
	bpf_init(&a);
	for (i = 0; i < 2; i++)
		chain[i] = bpf_load(&a, 16,
				    bpf_and(&a, 0xf0u + i,
					    bpf_branch(&a, BPF_JSET, 0x10, bpf_return(&a, 100 + i),
						       bpf_return(&a, 200 + i))));
	for (i = 0; i < COUNT; i++)
		ranges[i] = (struct bpf_range){
			.first = i, .target = i % 3 == 2 ? bpf_return(&a, 1000 + i) : chain[i % 3]};
	tree = bpf_switch(&a, ranges, COUNT);
	assert_int_equal(bpf_finish(&a, bpf_load(&a, 0, tree), &p), 0);
	bpf_release(&a);
	assert_true(bpf_sim_check(p.v, p.n));
	for (nr = 0; nr < COUNT; nr++) {
		struct seccomp_data with = {.nr = (int)nr, .args = {0x12}};
		struct seccomp_data without = {.nr = (int)nr, .args = {0x0f}};
		uint32_t r = nr % 3;

		assert_int_equal(bpf_sim_run(p.v, p.n, &with, &steps),
				 r == 2 ? 1000 + nr : 100 + r);
		assert_true(steps < 40);
		assert_int_equal(bpf_sim_run(p.v, p.n, &without, NULL),
				 r == 2 ? 1000 + nr : 200 + r);
	}
}

static void test_neighbours_are_joined(void **state)
{
	cleanup_bpf_program struct bpf_program p = {0};
	struct bpf_range ranges[3];
	struct bpf_asm a;

	(void)state;
	bpf_init(&a);
	ranges[0] = (struct bpf_range){0, bpf_return(&a, 1)};
	ranges[1] = (struct bpf_range){5, bpf_return(&a, 1)};
	ranges[2] = (struct bpf_range){9, bpf_return(&a, 1)};
	assert_int_equal(bpf_finish(&a, bpf_switch(&a, ranges, 3), &p), 0);
	bpf_release(&a);
	assert_int_equal(p.n, 1);
}

static void test_too_long_is_refused(void **state)
{
	enum { COUNT = 3000 };
	static struct bpf_range ranges[COUNT];
	struct bpf_program p = {0};
	struct bpf_asm a;
	uint32_t i;

	(void)state;
	bpf_init(&a);
	for (i = 0; i < COUNT; i++)
		ranges[i] = (struct bpf_range){i, bpf_return(&a, i)};
	assert_int_equal(bpf_finish(&a, bpf_switch(&a, ranges, COUNT), &p), -E2BIG);
	assert_null(p.v);
	bpf_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_return),
		cmocka_unit_test(test_equal_targets_need_no_branch),
		cmocka_unit_test(test_switch_reaches_far),
		cmocka_unit_test(test_far_chain_is_jumped_to),
		cmocka_unit_test(test_neighbours_are_joined),
		cmocka_unit_test(test_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
