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

/*
 * Check the parts of linux.seccomp that need no compiling: actions, errno values, flags, what this
 * release does not build. SBX_E_INVALID_CONFIG or SBX_E_UNSUPPORTED with the pointer. Pure.
 */
int seccomp_bundle_check(const struct oci_seccomp *seccomp, struct sbx_error *err);

/* SECCOMP_FILTER_FLAG_* that the bundle's flags ask for. */
unsigned seccomp_bundle_flags(const struct oci_seccomp *seccomp);

/* Compile a checked linux.seccomp for every architecture that it names and the native one. */
int seccomp_bundle_compile(const struct oci_seccomp *seccomp, struct bpf_program *ret,
			   struct sbx_error *err);

/* The machines that the floor knows. On x86_64 it also answers for i386 and x32 programs. */
enum floor_machine { FLOOR_X86_64, FLOOR_AARCH64 };

/* The machine that this build runs on; false where the floor does not know it. */
bool seccomp_floor_native(enum floor_machine *ret);

int seccomp_floor_compile(enum floor_machine machine, struct bpf_program *ret,
			  struct sbx_error *err);

#endif
