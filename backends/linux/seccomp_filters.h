/*
 * The two filters that the seccomp room installs: the bundle's own (linux.seccomp) and, under a
 * profile, the floor that no bundle can lower. They are never merged: the kernel takes the
 * strictest answer of both (seccomp(2)).
 */
#ifndef SBX_LINUX_SECCOMP_FILTERS_H
#define SBX_LINUX_SECCOMP_FILTERS_H

#include "backends/linux/bpf.h"
#include "runtime/base/error.h"
#include "spec/oci.h"

#define SECCOMP_ARCHITECTURES_MAX 32

enum seccomp_compare { CMP_NE, CMP_LT, CMP_LE, CMP_EQ, CMP_GE, CMP_GT, CMP_MASKED_EQ, CMP_COUNT };

/*
 * Check the parts of linux.seccomp that need no compiling: actions, errno values, flags.
 * SBX_E_INVALID_CONFIG with the pointer. Pure.
 */
int seccomp_bundle_check(const struct oci_seccomp *seccomp, struct sbx_error *err);

/* Whether some rule hands system calls to a listener (SCMP_ACT_NOTIFY). */
bool seccomp_bundle_notifies(const struct oci_seccomp *seccomp);

/* SECCOMP_FILTER_FLAG_* that the bundle's flags and actions ask for. */
unsigned seccomp_bundle_flags(const struct oci_seccomp *seccomp);

/* SECCOMP_RET_* with its data for a checked action. */
uint32_t seccomp_action_value(const char *word, const struct oci_opt_u64 *errno_ret);

/* enum seccomp_compare of SCMP_CMP_*, or -EINVAL. */
int seccomp_compare_find(const char *word);

/* Compile a checked linux.seccomp for every architecture that it names and the native one. */
int seccomp_bundle_compile(const struct oci_seccomp *seccomp, struct bpf_program *ret,
			   struct sbx_error *err);

/* In exec's joiner, before it joins anything, where it will install a filter that notifies. */
int seccomp_start_passing(int sync_fd, struct sbx_error *err);

/*
 * Install a filter that notifies, and hand its listener over sync_fd to the runtime, which answers
 * when it has passed it on. Where the runtime does not take the listener the process ends.
 */
int seccomp_install_notifying(const struct bpf_program *program, unsigned flags, int sync_fd,
			      struct sbx_error *err);

/* The machines that the floor knows. On x86_64 it also answers for i386 and x32 programs. */
enum floor_machine { FLOOR_X86_64, FLOOR_AARCH64 };

/* The machine that this build runs on; false where the floor does not know it. */
bool seccomp_floor_native(enum floor_machine *ret);

/* What comes on top of the floor on rung 2, or'ed; without FLOOR_SHARED nothing does. */
enum floor_condition {
	FLOOR_SHARED = 1,      /* other processes are in reach: their limits, queues and memory */
	FLOOR_NO_NETWORK = 2,  /* no socket of any family */
	FLOOR_NO_METADATA = 4, /* modes, owners, times and attributes of files stay as they are */
	FLOOR_NO_WATCHING = 8, /* no news of folders that cannot be read */
};

int seccomp_floor_compile(enum floor_machine machine, unsigned conditions, struct bpf_program *ret,
			  struct sbx_error *err);

#endif
