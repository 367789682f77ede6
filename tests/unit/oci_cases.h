/* The table of test_oci: fragments of config.json and what must come of them. */
#ifndef SBX_TESTS_OCI_CASES_H
#define SBX_TESTS_OCI_CASES_H

#include <stddef.h>

/* Where the fragment is put, see templates[] of test_oci.c. */
enum oci_place { RAW, TOP, PROCESS, MOUNT, HOOK, LINUX, DEVICE, RESOURCES, SECCOMP };

struct oci_case {
	enum oci_place place;
	const char *fragment;
	const char *pointer; /* of the refusal, NULL: accepted */
	const char *message; /* part of it */
};

extern const struct oci_case oci_cases[];
extern const size_t oci_cases_n;

#endif
