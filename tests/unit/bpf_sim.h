/*
 * A classic BPF interpreter for tests: runs a seccomp filter over made-up system calls of any
 * machine, so that filters for aarch64 or x32 are judged on an x86_64 host. It also checks what the
 * kernel's own checker demands: jumps forward and inside, the last instruction a return, loads
 * aligned and inside struct seccomp_data.
 */
#ifndef SBX_TESTS_BPF_SIM_H
#define SBX_TESTS_BPF_SIM_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True where the kernel would take the program. */
bool bpf_sim_check(const struct sock_filter *v, size_t n);

/* The filter's answer; SECCOMP_RET_KILL_PROCESS where the program is malformed. ret_steps may be
 * NULL: how many instructions it took. */
uint32_t bpf_sim_run(const struct sock_filter *v, size_t n, const struct seccomp_data *data,
		     unsigned *ret_steps);

#endif
