/*
 * Who the process is: no_new_privs, bounding set, groups, gid, uid, capabilities, umask.
 *
 * plan() turns capability names into five masks; under a profile each mask is narrowed to an
 * allow-list and what was cut is named in the report. apply() runs once, in the child, in the order
 * that keeps every later step possible: the bounding set while CAP_SETPCAP is there, the ids with
 * the permitted set kept, then the wanted sets, the ambient set last. What the kernel or the
 * runtime's own surroundings cannot give is left out with a warning, as config.md#process asks.
 *
 * A further process (exec) never gets an inheritable capability beyond the ambient ones: an
 * inheritable set that nobody asked for lets a program with file capabilities rise above its caller
 * (CVE-2022-29162). After the last change of credentials the process is made non-dumpable again,
 * since the kernel resets that flag with them (prctl(2), PR_SET_DUMPABLE).
 */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "backends/linux/room.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"
#include "runtime/base/procfs.h"

#define CAP_MASK(cap)	   (UINT64_C(1) << (cap))
#define KEEP_GROUPS	   "run.oci.keep_original_groups"
#define CAPABILITY_MAX_BIT 63
#define TOLD_MAX	   32

/* What a profile leaves of a container's capabilities; everything else is cut from all five sets.
 * None of these reaches beyond the container's own files and processes. */
#define PROFILE_CAPS                                                                               \
	(CAP_MASK(CAP_CHOWN) | CAP_MASK(CAP_DAC_OVERRIDE) | CAP_MASK(CAP_FOWNER) |                 \
	 CAP_MASK(CAP_KILL) | CAP_MASK(CAP_SETGID) | CAP_MASK(CAP_SETUID) |                        \
	 CAP_MASK(CAP_SETPCAP) | CAP_MASK(CAP_NET_BIND_SERVICE) | CAP_MASK(CAP_SYS_CHROOT) |       \
	 CAP_MASK(CAP_AUDIT_WRITE))
/* File capabilities, and set-id bits that survive a write, on a file of the workspace are good for
 * whoever runs it on the host, unless they belong to a user namespace whose root is not the host's
 * (capabilities(7), "Namespaced file capabilities"). */
#define USERNS_CAPS (CAP_MASK(CAP_SETFCAP) | CAP_MASK(CAP_FSETID))

static const char *const set_names[CAPSET_COUNT] = {
	[CAPSET_BOUNDING] = "bounding",	      [CAPSET_EFFECTIVE] = "effective",
	[CAPSET_INHERITABLE] = "inheritable", [CAPSET_PERMITTED] = "permitted",
	[CAPSET_AMBIENT] = "ambient",
};

/* One name to a bit number, -1 where it is unknown. cap_from_name(3) also takes lower case and
 * plain digits, which config.md#process does not know. */
static int capability_number(const char *name)
{
	cap_value_t value;

	if (strncmp(name, "CAP_", 4) != 0 || cap_from_name(name, &value) < 0)
		return -1;
	return value <= CAPABILITY_MAX_BIT ? (int)value : -1;
}

/* A name stands in several sets as a rule and is told once. More names than these are no slip of
 * the hand, and may be told again. */
struct told {
	const char *names[TOLD_MAX];
	size_t n;
};

static void tell_unknown(struct told *told, const char *name)
{
	size_t i;

	for (i = 0; i < told->n; i++)
		if (strcmp(told->names[i], name) == 0)
			return;
	if (told->n < TOLD_MAX)
		told->names[told->n++] = name;
	log_warning("ignore unknown capability \"%s\"", name);
}

static uint64_t mask_from_names(const struct strings *names, struct told *told, uint64_t *unknown)
{
	uint64_t mask = 0;
	size_t i;
	int cap;

	for (i = 0; i < names->n; i++) {
		cap = capability_number(names->v[i]);
		if (cap < 0) {
			tell_unknown(told, names->v[i]);
			(*unknown)++;
			continue;
		}
		mask |= CAP_MASK(cap);
	}
	return mask;
}

/* The name as config.json writes it. */
static const char *capability_name(int cap, char *out, size_t size)
{
	char *name = cap_to_name(cap);
	size_t i;

	for (i = 0; name && name[i] && i < size - 1; i++)
		out[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 32) : name[i];
	out[i] = '\0';
	cap_free(name);
	return out;
}

static void buf_put_caps(struct buf *out, uint64_t mask)
{
	const char *comma = "";
	char name[64];
	int cap;

	for (cap = 0; cap <= CAPABILITY_MAX_BIT; cap++) {
		if (!(mask & CAP_MASK(cap)))
			continue;
		buf_printf(out, "%s%s", comma, capability_name(cap, name, sizeof(name)));
		comma = ", ";
	}
}

static bool reaches_root(const struct oci_id_maps *maps)
{
	size_t i;

	for (i = 0; i < maps->n; i++) {
		if (maps->v[i].size && maps->v[i].host_id == 0)
			return true;
	}
	return false;
}

/* A new user namespace none of whose ids is root on the host. One that is joined may be any, and an
 * idmapped mount gives the ids another meaning on its files. */
static bool is_apart_from_root(const struct plan *plan)
{
	const struct plan_namespaces *ns = &plan->namespaces;
	size_t i;

	for (i = 0; i < plan->mounts.n; i++) {
		if (plan->mounts.v[i].idmap)
			return false;
	}
	return (ns->new_flags & CLONE_NEWUSER) && !reaches_root(&ns->uid_maps) &&
	       !reaches_root(&ns->gid_maps);
}

uint64_t room_caps_allowed(const struct plan *plan)
{
	return PROFILE_CAPS | (is_apart_from_root(plan) ? USERNS_CAPS : 0);
}

static void caps_narrow(struct plan *plan, struct report *report)
{
	uint64_t allowed = room_caps_allowed(plan), cut = 0;
	cleanup_buf struct buf cut_names = BUF_INIT;
	size_t i;

	for (i = 0; i < CAPSET_COUNT; i++) {
		cut |= plan->caps.sets[i] & ~allowed;
		plan->caps.sets[i] &= allowed;
	}
	buf_put_caps(&cut_names, cut);
	if (cut)
		report_add(report, "capabilities", "capability sets", OUTCOME_NARROWED,
			   GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY), "not given: %s",
			   buf_failed(&cut_names) ? "?" : cut_names.data);
	else
		report_add(report, "capabilities", "capability sets", OUTCOME_ENFORCED,
			   GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY), "bounded by an allow-list");
}

/* The caller's own additional groups instead of config.json's, as podman's keep-groups asks. */
static bool asks_for_groups(const struct plan *plan)
{
	const char *keep = oci_annotation(plan->spec, KEEP_GROUPS);

	return keep && strcmp(keep, "0") != 0;
}

static int caps_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_process *process = room_process(plan);
	struct told told = {.n = 0};
	size_t i;

	if (!process)
		return 0;
	for (i = 0; process->capabilities && i < CAPSET_COUNT; i++)
		plan->caps.sets[i] = mask_from_names(&process->capabilities->sets[i], &told,
						     &plan->caps.unknown);
	if (process->user.additional_gids_n > 0 && plan->namespaces.deny_setgroups)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process/user/additionalGids",
				   "set additional groups: the user namespace's setgroups is "
				   "denied; map the groups through newgidmap or leave them out");
	plan->process.no_new_privs = process->no_new_privileges || plan->policy->confined;
	if (!plan->policy->confined)
		return 0;
	caps_narrow(plan, report);
	if (asks_for_groups(plan))
		report_add(report, "groups", "setgroups", OUTCOME_NARROWED,
			   GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY),
			   "the caller's additional groups are not kept");
	report_add(report, "noNewPrivileges", "prctl", OUTCOME_ENFORCED,
		   GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY), "always set under a profile");
	return 0;
}

/* Warn of capabilities that this kernel does not have; it ignores their bits in capset(2). */
static int caps_prepare(struct run *run, struct sbx_error *err)
{
	uint64_t asked = 0;
	size_t i;
	int cap;

	(void)err;
	for (i = 0; i < CAPSET_COUNT; i++)
		asked |= run->plan->caps.sets[i];
	for (cap = CAPABILITY_MAX_BIT; cap > CAP_AUDIT_READ; cap--) {
		if ((asked & CAP_MASK(cap)) && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) < 0)
			log_warning("ignore capability %d: this kernel does not have it", cap);
	}
	return 0;
}

static int bounding_drop(const struct plan *plan, struct sbx_error *err)
{
	uint64_t keep = plan->caps.sets[CAPSET_BOUNDING];
	int cap;

	for (cap = 0; cap <= CAPABILITY_MAX_BIT; cap++) {
		if (keep & CAP_MASK(cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL) /* beyond the kernel's last one */
			break;
		/* Without CAP_SETPCAP the set cannot shrink: harmless only where the bit is not in
		 * it. */
		if (errno == EPERM && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 0)
			continue;
		/* Nor does it matter to a process that no execve(2) gives anything. */
		if (errno == EPERM && plan->rung == RUNG_SHARED && plan->process.no_new_privs)
			return 0;
		return sbx_fail(err, SBX_E_SYSTEM, errno,
				"drop capability %d from the bounding set", cap);
	}
	return 0;
}

/* A user namespace made without privilege forbids setgroups(2) for good, to drop groups as well
 * (user_namespaces(7)): then there is nothing to be done and nothing was asked. */
static bool setgroups_denied(int proc_fd)
{
	cleanup_fd int fd = procfs_open(proc_fd, "self/setgroups", O_RDONLY);
	char word[8] = "";

	return fd >= 0 && read(fd, word, sizeof(word) - 1) > 0 && strncmp(word, "deny", 4) == 0;
}

/* The one meaning that setresuid(2) and setresgid(2) give EINVAL. */
static int fail_id(const char *what, uint32_t id, int errnum, struct sbx_error *err)
{
	if (errnum != EINVAL)
		return sbx_fail(err, SBX_E_SYSTEM, errnum, "set %s id %u", what, id);
	return sbx_fail(err, SBX_E_SYSTEM, 0,
			"set %s id %u: the id is not mapped in the container's user namespace",
			what, id);
}

static int ids_set(const struct run *run, const struct oci_user *user, struct sbx_error *err)
{
	bool keep = (asks_for_groups(run->plan) && !run->plan->policy->confined) ||
		    (run->plan->rung == RUNG_SHARED && run->plan->host->euid != 0);

	if (!keep && !run->plan->namespaces.deny_setgroups &&
	    setgroups(user->additional_gids_n, user->additional_gids) < 0 &&
	    !(errno == EPERM && user->additional_gids_n == 0 && setgroups_denied(run->proc_fd)))
		return sbx_fail(err, SBX_E_SYSTEM, errno, "set %zu additional groups",
				user->additional_gids_n);
	if (setresgid(user->gid, user->gid, user->gid) < 0)
		return fail_id("group", user->gid, errno, err);
	if (setresuid(user->uid, user->uid, user->uid) < 0)
		return fail_id("user", user->uid, errno, err);
	return 0;
}

/* The wanted sets, cut to what is there. A runtime in a restricted place has less than it is asked
 * for and should not fail for that alone (config.md#process, capabilities). */
struct caps_reachable {
	uint64_t permitted, effective, inheritable, ambient;
};

static void caps_reach(const struct plan_caps *caps, uint64_t have, bool is_exec,
		       struct caps_reachable *ret)
{
	uint64_t ambient = caps->sets[CAPSET_AMBIENT];
	uint64_t inheritable = caps->sets[CAPSET_INHERITABLE];

	if (is_exec)
		inheritable &= ambient;
	ret->permitted = caps->sets[CAPSET_PERMITTED] & have;
	ret->effective = caps->sets[CAPSET_EFFECTIVE] & ret->permitted;
	ret->inheritable = inheritable & have & caps->sets[CAPSET_BOUNDING];
	ret->ambient = ambient & ret->permitted & ret->inheritable;
}

static void warn_missing(enum oci_cap_set set, uint64_t asked, uint64_t reached)
{
	cleanup_buf struct buf names = BUF_INIT;

	if (!(asked & ~reached) || !log_wants(LOG_LEVEL_WARNING))
		return;
	buf_put_caps(&names, asked & ~reached);
	log_warning("leave out of the %s set what cannot be given: %s", set_names[set],
		    buf_failed(&names) ? "?" : names.data);
}

static int sets_apply(const struct plan_caps *caps, bool is_exec, struct sbx_error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	struct caps_reachable reach;
	size_t i;

	if (capget(&header, data) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "read the capability sets");
	caps_reach(caps, data[0].permitted | (uint64_t)data[1].permitted << 32, is_exec, &reach);
	warn_missing(CAPSET_PERMITTED, caps->sets[CAPSET_PERMITTED], reach.permitted);
	warn_missing(CAPSET_AMBIENT, caps->sets[CAPSET_AMBIENT], reach.ambient);
	for (i = 0; i < 2; i++) {
		data[i].permitted = (uint32_t)(reach.permitted >> (32 * i));
		data[i].effective = (uint32_t)(reach.effective >> (32 * i));
		data[i].inheritable = (uint32_t)(reach.inheritable >> (32 * i));
	}
	if (capset(&header, data) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "set the capability sets");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 &&
	    (errno != EINVAL || reach.ambient))
		return sbx_fail(err, SBX_E_SYSTEM, errno, "clear the ambient set");
	for (i = 0; i <= CAPABILITY_MAX_BIT; i++) {
		if ((reach.ambient & CAP_MASK(i)) &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "raise ambient capability %zu",
					i);
	}
	return 0;
}

static int caps_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	const struct oci_process *process = room_process(run->plan);
	int r;

	(void)stage;
	if (!process)
		return sbx_fail(err, SBX_E_INTERNAL, 0, "set credentials: there is no process");
	if (run->plan->process.no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "set no_new_privs");
	r = bounding_drop(run->plan, err);
	if (r < 0)
		return r;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno,
				"keep capabilities over the change of user");
	r = ids_set(run, &process->user, err);
	if (r < 0)
		return r;
	r = sets_apply(&run->plan->caps, run->is_exec, err);
	if (r < 0)
		return r;
	if (prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "clear keepcaps");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make the process non-dumpable");
	umask(process->user.umask.set ? (mode_t)process->user.umask.v : 0022);
	return 0;
}

static void caps_dump(const struct plan *plan, struct json_writer *w)
{
	char name[64];
	size_t i;
	int cap;

	json_begin_object(w, "privileges");
	json_write_bool(w, "noNewPrivileges", plan->process.no_new_privs);
	for (i = 0; i < CAPSET_COUNT; i++) {
		json_begin_array(w, set_names[i]);
		for (cap = 0; cap <= CAPABILITY_MAX_BIT; cap++) {
			if (!(plan->caps.sets[i] & CAP_MASK(cap)))
				continue;
			json_write_string(w, NULL, capability_name(cap, name, sizeof(name)));
		}
		json_end_array(w);
	}
	json_end_object(w);
}

const struct room room_caps = {
	.name = "caps",
	.without_namespaces = true,
	.plan = caps_plan,
	.prepare = caps_prepare,
	.apply = caps_apply,
	.dump = caps_dump,
};
