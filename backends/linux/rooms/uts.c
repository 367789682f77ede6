/*
 * hostname and domainname (config.md#hostname, #domainname): they name a UTS namespace, so there
 * must be one, else the host would be renamed.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "backends/linux/room.h"

#define UTS_NAME_MAX 64 /* __NEW_UTS_LEN: uname(2) */

static int check_name(const struct plan *plan, const char *name, const char *pointer,
		      struct sbx_error *err)
{
	if (!name || !*name)
		return 0;
	if (!(plan->namespaces.new_flags & CLONE_NEWUTS) && !plan->namespaces.path[NS_UTS])
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "%s needs a UTS namespace of the container", pointer + 1);
	if (strlen(name) > UTS_NAME_MAX)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer, "%s is longer than %d bytes",
				   pointer + 1, UTS_NAME_MAX);
	return 0;
}

static int uts_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	int r = check_name(plan, plan->spec->hostname, "/hostname", err);

	(void)report;
	return r < 0 ? r : check_name(plan, plan->spec->domainname, "/domainname", err);
}

static int uts_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct oci_spec *spec = run->plan->spec;

	if (stage != STAGE_TTY || run->is_exec)
		return 0;
	if (spec->hostname && *spec->hostname &&
	    sethostname(spec->hostname, strlen(spec->hostname)) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "set hostname \"%s\"", spec->hostname);
	if (spec->domainname && *spec->domainname &&
	    setdomainname(spec->domainname, strlen(spec->domainname)) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "set domainname \"%s\"",
				spec->domainname);
	return 0;
}

const struct room room_uts = {
	.name = "uts",
	.plan = uts_plan,
	.apply = uts_apply,
};
