/*
 * The eight namespaces: which are made, which are joined by path, and what the child still does
 * itself. New ones come with clone3(2) (spawn.c) but for two: the cgroup namespace, whose root is
 * the group that the child is in when it is made, and the time namespace, whose offsets must be
 * written before anyone enters it (time_namespaces(7)).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>

#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"
#include "runtime/base/procfs.h"

/* What a profile demands to be the container's own (processBoundary). */
static const enum oci_ns own_under_profile[] = {NS_MNT, NS_PID, NS_IPC, NS_CGROUP};

static void report_namespaces(const struct plan *plan, struct report *report)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_under_profile); i++) {
		enum oci_ns ns = own_under_profile[i];
		bool own = plan->namespaces.new_flags & oci_ns_flag(ns);
		bool added = own && !plan->spec->linux_.ns[ns].set;

		report_add(report, arena_printf(plan->arena, "namespace.%s", oci_ns_name(ns)),
			   "namespace",
			   !own	   ? OUTCOME_UNENFORCED
			   : added ? OUTCOME_NARROWED
				   : OUTCOME_ENFORCED,
			   GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY), "%s",
			   !own	   ? "shared with other processes, as the bundle asks"
			   : added ? "its own although the bundle does not ask for it"
				   : "its own");
	}
}

static int plan_namespaces(struct plan *plan, struct report *report, struct sbx_error *err)
{
	struct plan_namespaces *ns = &plan->namespaces;

	for (enum oci_ns i = 0; i < NS_COUNT; i++) {
		const struct oci_namespace *asked = &plan->spec->linux_.ns[i];

		if (asked->set && asked->path)
			ns->path[i] = asked->path;
		else if (asked->set)
			ns->new_flags |= oci_ns_flag(i);
	}
	if (!plan->host->privileged && !plan->spec->linux_.ns[NS_USER].set)
		return sbx_fail(
			err, SBX_E_PERMISSION_DENIED, EPERM,
			"make a container as user %u without a user namespace; add {\"type\": "
			"\"user\"} with mappings to linux.namespaces (`spec --rootless` writes "
			"such a bundle)",
			(unsigned)plan->host->euid);
	if (!plan->policy->confined)
		return 0;
	if (!plan->spec->linux_.ns[NS_CGROUP].set)
		ns->new_flags |= CLONE_NEWCGROUP;
	if (!(ns->new_flags & CLONE_NEWNS))
		return sbx_fail(
			err, SBX_E_GUARANTEE_UNAVAILABLE, 0,
			"a profile needs a mount namespace of the container's own; add {\"type\": "
			"\"mount\"} to linux.namespaces");
	report_namespaces(plan, report);
	return 0;
}

static int write_offsets(const struct run *run, struct sbx_error *err)
{
	const struct oci_linux *lx = &run->plan->spec->linux_;
	char text[128];
	int len = 0, rc;

	if (lx->monotonic.set)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "monotonic %lld %u\n",
				(long long)lx->monotonic.secs, lx->monotonic.nanosecs);
	if (lx->boottime.set)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "boottime %lld %u\n",
				(long long)lx->boottime.secs, lx->boottime.nanosecs);
	if (len == 0)
		return 0;
	rc = procfs_write(run->proc_fd, "self/timens_offsets", text);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "set the time namespace's offsets") : 0;
}

/* Made, filled, and entered by its own descriptor: allowed to a single-threaded process (setns(2)).
 */
static int enter_new_time(const struct run *run, struct sbx_error *err)
{
	cleanup_fd int fd = -EBADF;
	int rc;

	if (unshare(CLONE_NEWTIME) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make a time namespace");
	rc = write_offsets(run, err);
	if (rc < 0)
		return rc;
	fd = procfs_open_magic(run->proc_fd, "self/ns/time_for_children", O_RDONLY);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "open the new time namespace");
	if (setns(fd, CLONE_NEWTIME) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "enter the new time namespace");
	return 0;
}

static int apply_namespaces(struct run *run, enum stage stage, struct sbx_error *err)
{
	int flags = run->plan->namespaces.new_flags;

	if (stage != STAGE_NAMESPACES)
		return 0;
	if (flags & CLONE_NEWTIME) {
		int rc = enter_new_time(run, err);

		if (rc < 0)
			return rc;
	}
	if ((flags & CLONE_NEWCGROUP) && unshare(CLONE_NEWCGROUP) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make a cgroup namespace");
	return 0;
}

static void dump_namespaces(const struct plan *plan, struct json_writer *w)
{
	json_begin_object(w, "namespaces");
	for (enum oci_ns i = 0; i < NS_COUNT; i++) {
		if (plan->namespaces.path[i])
			json_write_string(w, oci_ns_name(i), plan->namespaces.path[i]);
		else if (plan->namespaces.new_flags & oci_ns_flag(i))
			json_write_string(w, oci_ns_name(i), "new");
	}
	json_write_bool(w, "ownNetworkAfterHooks", plan->namespaces.own_network_late);
	json_end_object(w);
}

const struct room room_namespaces = {
	.name = "namespaces",
	.plan = plan_namespaces,
	.apply = apply_namespaces,
	.dump = dump_namespaces,
};
