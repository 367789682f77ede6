#include "tests/unit/bpf_sim.h"

#include <string.h>

static bool code_is_known(uint16_t code)
{
	switch (code) {
	case BPF_LD | BPF_W | BPF_ABS:
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_RET | BPF_K:
	case BPF_JMP | BPF_JA:
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_K:
		return true;
	default:
		return false;
	}
}

bool bpf_sim_check(const struct sock_filter *v, size_t n)
{
	size_t i;

	if (n == 0 || n > BPF_MAXINSNS || BPF_CLASS(v[n - 1].code) != BPF_RET)
		return false;
	for (i = 0; i < n; i++) {
		if (!code_is_known(v[i].code))
			return false;
		if (BPF_CLASS(v[i].code) == BPF_LD &&
		    (v[i].k % 4 != 0 || v[i].k + 4 > sizeof(struct seccomp_data)))
			return false;
		if (BPF_CLASS(v[i].code) != BPF_JMP)
			continue;
		if (BPF_OP(v[i].code) == BPF_JA && v[i].k >= n - i - 1)
			return false;
		if (BPF_OP(v[i].code) != BPF_JA && (v[i].jt >= n - i - 1 || v[i].jf >= n - i - 1))
			return false;
	}
	return true;
}

uint32_t bpf_sim_run(const struct sock_filter *v, size_t n, const struct seccomp_data *data,
		     unsigned *ret_steps)
{
	uint32_t a = 0;
	unsigned steps = 0;
	size_t pc = 0;
	bool yes;

	while (pc < n) {
		const struct sock_filter *i = &v[pc++];

		steps++;
		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			memcpy(&a, (const char *)data + i->k, sizeof(a));
			continue;
		case BPF_ALU:
			a &= i->k;
			continue;
		case BPF_RET:
			if (ret_steps)
				*ret_steps = steps;
			return i->k;
		}
		if (BPF_OP(i->code) == BPF_JA) {
			pc += i->k;
			continue;
		}
		yes = BPF_OP(i->code) == BPF_JEQ   ? a == i->k
		      : BPF_OP(i->code) == BPF_JGT ? a > i->k
		      : BPF_OP(i->code) == BPF_JGE ? a >= i->k
						   : (a & i->k) != 0;
		pc += yes ? i->jt : i->jf;
	}
	return SECCOMP_RET_KILL_PROCESS;
}
