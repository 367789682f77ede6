/*
 * Words of the specification and what the kernel calls them.
 */
#include "spec/oci.h"

#include <sched.h>

#include "runtime/base/cleanup.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

static const struct {
	const char *name;
	int flag;
} namespaces[NS_COUNT] = {
	[NS_PID] = {"pid", CLONE_NEWPID},	   [NS_NET] = {"network", CLONE_NEWNET},
	[NS_MNT] = {"mount", CLONE_NEWNS},	   [NS_IPC] = {"ipc", CLONE_NEWIPC},
	[NS_UTS] = {"uts", CLONE_NEWUTS},	   [NS_USER] = {"user", CLONE_NEWUSER},
	[NS_CGROUP] = {"cgroup", CLONE_NEWCGROUP}, [NS_TIME] = {"time", CLONE_NEWTIME},
};

static const char *const hook_kinds[HOOK_KIND_COUNT] = {
	[HOOK_PRESTART] = "prestart",
	[HOOK_CREATE_RUNTIME] = "createRuntime",
	[HOOK_CREATE_CONTAINER] = "createContainer",
	[HOOK_START_CONTAINER] = "startContainer",
	[HOOK_POSTSTART] = "poststart",
	[HOOK_POSTSTOP] = "poststop",
};

const char *oci_ns_name(enum oci_ns ns)
{
	return (size_t)ns < NS_COUNT ? namespaces[ns].name : "unknown";
}

int oci_ns_flag(enum oci_ns ns)
{
	return (size_t)ns < NS_COUNT ? namespaces[ns].flag : 0;
}

const char *oci_hook_kind_name(enum oci_hook_kind kind)
{
	return (size_t)kind < HOOK_KIND_COUNT ? hook_kinds[kind] : "unknown";
}
