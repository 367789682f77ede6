#include "backends/linux/rung.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

static bool mounts_proc(const struct oci_spec *spec)
{
	for (size_t i = 0; i < spec->mounts_n; i++)
		if (spec->mounts[i].type && strcmp(spec->mounts[i].type, "proc") == 0)
			return true;
	return false;
}

static enum rung best_rung(const struct plan *plan)
{
	const struct host_facts *host = plan->host;

	if (plan->options.rung)
		return plan->options.rung;
	if (!plan->policy->confined || host_is_unrestricted(host))
		return RUNG_NAMESPACES;
	return host->namespaces_error || mounts_proc(plan->spec) ? RUNG_SHARED : RUNG_NAMESPACES;
}

enum rung rung_of_host(const struct host_facts *host)
{
	if (!host->seccomp_filter)
		return 0;
	if (host_is_unrestricted(host) && host->mount_api)
		return RUNG_NAMESPACES;
	return host->landlock_abi >= RUNG_LANDLOCK_ABI ? RUNG_SHARED : 0;
}

static int fail(const struct plan *plan, const char *pointer, const char *what,
		struct sbx_error *err)
{
	return sbx_fail_at(err, SBX_E_GUARANTEE_UNAVAILABLE, pointer,
			   "%s needs namespaces and mounts, and %s", what, plan->host->restriction);
}

static bool has_running_hooks(const struct oci_spec *spec)
{
	for (enum oci_hook_kind kind = 0; kind < HOOK_KIND_COUNT; kind++)
		if (kind != HOOK_POSTSTOP && spec->hooks.n[kind])
			return true;
	return false;
}

static bool joins_namespaces(const struct oci_linux *linux_)
{
	for (enum oci_ns ns = 0; ns < NS_COUNT; ns++)
		if (linux_->ns[ns].path)
			return true;
	return false;
}

/* What a bundle asks for beyond a process on the host's own root. */
static int check_bundle(const struct plan *plan, struct sbx_error *err)
{
	const struct oci_spec *spec = plan->spec;
	const struct {
		bool asked;
		const char *pointer, *what;
	} rows[] = {
		{!plan->options.host_root, "/root/path",
		 "a container with a root of its own, which is not \"/\","},
		{joins_namespaces(&spec->linux_), "/linux/namespaces", "joining a namespace"},
		{has_running_hooks(spec), "/hooks", "running hooks around a confined process"},
		{spec->linux_.sysctl.n != 0, "/linux/sysctl", "setting sysctls"},
		{spec->linux_.net_devices_n != 0, "/linux/netDevices", "moving network devices"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].asked)
			return fail(plan, rows[i].pointer, rows[i].what, err);
	return 0;
}

/* The host's own stands in the place of the kernel's file systems; a bind of a folder on itself
 * only says what the profile says as well. */
static bool is_there_already(const struct oci_mount *m)
{
	static const char *const kernel_folders[] = {"/dev", "/proc", "/sys"};
	char destination[PATH_MAX], source[PATH_MAX];

	if (path_normalize(m->destination, destination, sizeof(destination)) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kernel_folders); i++)
		if (path_is_below(destination, kernel_folders[i]))
			return true;
	return m->source && path_normalize(m->source, source, sizeof(source)) == 0 &&
	       strcmp(source, destination) == 0;
}

static int check_mounts(const struct plan *plan, struct sbx_error *err)
{
	char pointer[64], what[256];

	for (size_t i = 0; i < plan->spec->mounts_n; i++) {
		if (is_there_already(&plan->spec->mounts[i]))
			continue;
		snprintf(pointer, sizeof(pointer), "/mounts/%zu", i);
		snprintf(what, sizeof(what), "the mount at \"%.160s\"",
			 plan->spec->mounts[i].destination);
		return fail(plan, pointer, what, err);
	}
	return 0;
}

static int check_profile(const struct plan *plan, struct sbx_error *err)
{
	const struct policy *policy = plan->policy;
	char what[320];

	if (policy->profile->unix_sockets.n)
		return fail(
			plan, "/unixSockets",
			"reaching single sockets (or Landlock ABI 9, which this release does not "
			"use)",
			err);
	for (size_t i = 0; i < policy->paths_n; i++) {
		if (!policy_is_carve_out(policy, i))
			continue;
		snprintf(what, sizeof(what), "closing \"%.200s\" inside of what is open",
			 policy->paths[i].path);
		return fail(plan, policy->paths[i].path_pointer, what, err);
	}
	return 0;
}

/* What a profile insists on is bought with calls that programs use; else those stay. */
static void choose_means(struct plan *plan, const struct report *report)
{
	const struct policy *policy = plan->policy;
	const struct profile *profile = policy->profile;
	bool all = report_level_wanted(report, profile) >= LEVEL_DEGRADED;
	uint32_t wanted = policy->asked & (all ? policy->asked : profile->require);

	plan->shared = (struct plan_shared){
		.no_network = !policy->network_allowed,
		.no_metadata = wanted & GUARANTEE_BIT(GUARANTEE_WRITE_BOUNDARY),
		.no_watching = !policy->host_read,
		.hides_proc = wanted & GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY),
	};
}

int rung_choose(struct plan *plan, struct report *report, struct sbx_error *err)
{
	int r;

	plan->rung = best_rung(plan);
	if (plan->rung != RUNG_SHARED)
		return 0;
	report->restriction = plan->host->restriction;
	r = check_bundle(plan, err);
	if (r == 0)
		r = check_mounts(plan, err);
	if (r == 0)
		r = check_profile(plan, err);
	if (r == 0)
		choose_means(plan, report);
	return r;
}
