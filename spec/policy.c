/*
 * Bundle and profile into one policy.
 *
 * First what this release does not enforce is refused by name, then the command is judged, then the
 * rules are copied with "gated" already read as closed: a backend sees only what is open. Nothing
 * here asks the system; existence, links and file systems of the paths are checked by the rooms on
 * the objects themselves.
 */
#include "spec/policy.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

#define UNBUILT "this release does not enforce it yet"

/* ---- what is not built ---- */

struct unbuilt_row {
	bool asked;
	const char *pointer;
};

static bool rules_open_something(const struct profile *profile)
{
	for (size_t i = 0; i < profile->rules_n; i++)
		if (profile->rules[i].access != ACCESS_DENY)
			return true;
	return false;
}

/* Rules that only deny need no proxy: without a rule that opens, the empty namespace denies all. */
static int refuse_unbuilt(const struct profile *p, struct sbx_error *err)
{
	const struct unbuilt_row rows[] = {
		{rules_open_something(p), "/network/rules"},
		{p->forwards_n != 0, "/network/forwards"},
		{p->learn, "/network/learn"},
		{p->proxy_env, "/network/proxyEnv"},
		{p->proxy_ports.http || p->proxy_ports.socks, "/network/proxyPorts"},
		{strcmp(p->route, PROFILE_ROUTE_DIRECT) != 0, "/network/route"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].asked)
			return sbx_fail_at(err, SBX_E_UNSUPPORTED, rows[i].pointer,
					   "the profile asks for %s: %s", rows[i].pointer + 1,
					   UNBUILT);
	return 0;
}

/* ---- the command ---- */

static void write_requirements(struct json_writer *w, const struct strings *args)
{
	cleanup_buf struct buf command = BUF_INIT;
	struct json_writer inner;
	const char *text;

	json_writer_init(&inner, &command, 0);
	json_write_strings(&inner, NULL, args->v, args->n);
	text = buf_failed(&command) || !command.data ? "[]" : command.data;
	json_begin_array(w, NULL);
	json_begin_object(w, NULL);
	json_write_string(w, "kind", "command.execute");
	json_write_string(w, "scope", text);
	json_write_string(w, "class", "command.start.v1");
	json_write_string(w, "target", text);
	json_end_object(w);
	json_end_array(w);
}

static int check_command(const struct profile *profile, const struct strings *args,
			 struct sbx_error *err)
{
	cleanup_buf struct buf list = BUF_INIT;
	struct json_writer w;
	int r;

	if (profile->command == ACCESS_ALLOW)
		return 0;
	if (profile->command == ACCESS_DENY)
		return sbx_fail_at(
			err, SBX_E_COMMAND_DENIED, "/command",
			"start \"%s\": the profile's \"command\" is deny, as it is where "
			"it is left out",
			args->n ? args->v[0] : "");
	r = sbx_fail_at(err, SBX_E_GRANT_REQUIRED, "/command",
			"start \"%s\": the profile gates commands, and no grant of class "
			"command.start.v1 covers it (this release takes no grants: its "
			"\"command\" can only be allow)",
			args->n ? args->v[0] : "");
	json_writer_init(&w, &list, 0);
	write_requirements(&w, args);
	if (err && !buf_failed(&list) && list.len < sizeof(err->requirements))
		memcpy(err->requirements, list.data, list.len + 1);
	return r;
}

/* ---- paths ---- */

static int compare_rules(const void *a, const void *b)
{
	const struct path_rule *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* Sorted by bytes, what holds a path comes before it; the last one is the longest. */
static const struct path_rule *last_above(const struct policy *policy, size_t n, const char *path)
{
	for (size_t i = n; i-- > 0;)
		if (path_is_below(path, policy->paths[i].path))
			return &policy->paths[i];
	return NULL;
}

const struct path_rule *policy_rule_of(const struct policy *policy, const char *path)
{
	return last_above(policy, policy->paths_n, path);
}

const struct path_rule *policy_enclosing(const struct policy *policy, size_t n)
{
	return last_above(policy, n, policy->paths[n].path);
}

bool policy_is_carve_out(const struct policy *policy, size_t n)
{
	const struct path_rule *rule = &policy->paths[n], *outer = policy_enclosing(policy, n);

	return (!rule->read && (outer ? outer->read : policy->host_read)) ||
	       (!rule->write && (outer ? outer->write : policy->host_write));
}

static int add_path_rule(struct arena *arena, const struct profile_root *root, const char *feature,
			 const char *pointer, const char *path_member, struct policy *policy)
{
	struct path_rule rule = {
		.path = root->path,
		.read = root->read == ACCESS_ALLOW,
		.write = root->write == ACCESS_ALLOW,
		.feature = feature,
		.pointer = pointer,
		.path_pointer = pointer ? arena_printf(arena, "%s/%s", pointer, path_member) : NULL,
	};

	if (!rule.feature || !rule.path_pointer)
		return -ENOMEM;
	policy->paths[policy->paths_n++] = rule;
	return 0;
}

static void sort_rules(struct policy *policy)
{
	qsort(policy->paths, policy->paths_n, sizeof(*policy->paths), compare_rules);
}

int policy_protect(struct arena *arena, struct policy *policy, const char *path, size_t index)
{
	const struct path_rule *around = policy_rule_of(policy, path);
	struct path_rule rule = {
		.path = path,
		.read = around ? around->read : policy->host_read,
		.feature = arena_printf(arena, "protect[%zu]", index),
		.pointer = arena_printf(arena, "/protect/%zu", index),
		.is_protected = true,
	};
	bool open = around ? around->write : policy->host_write;

	if (!path || !rule.feature || !rule.pointer)
		return -ENOMEM;
	rule.path_pointer = rule.pointer;
	for (size_t i = 0; i < policy->paths_n; i++)
		if (path_is_below(policy->paths[i].path, path))
			policy->paths[i].write = false;
	/* One of a root's own name is that root, which is closed now. */
	if (open && strcmp(around ? around->path : "", path) != 0) {
		policy->paths[policy->paths_n++] = rule;
		policy->keeps_names = true;
		sort_rules(policy);
	}
	return 0;
}

/* What that is, only the tree tells. */
static void protect_git(struct policy *policy, size_t index)
{
	const struct path_rule *workspace = policy_rule_of(policy, policy->profile->workspace.path);

	policy->protects_git = workspace && workspace->write;
	policy->git_index = index;
}

static int add_protected(struct arena *arena, const struct profile *profile, struct policy *policy)
{
	const char *root = profile->workspace.path;
	int r = 0;

	for (size_t i = 0; r == 0 && root && i < profile->protect.n; i++) {
		const char *name = profile->protect.v[i];

		if (strcmp(name, PROFILE_PROTECT_GIT) == 0)
			protect_git(policy, i);
		else
			r = policy_protect(arena, policy, arena_printf(arena, "%s/%s", root, name),
					   i);
	}
	return r;
}

/* Where the place is in view anyway, the mounts make no difference. */
static int add_sockets(struct arena *arena, const struct profile *profile, struct policy *policy)
{
	for (size_t i = 0; i < profile->unix_sockets.n; i++) {
		const char *path = profile->unix_sockets.v[i];
		const struct path_rule *around = policy_rule_of(policy, path);
		struct path_rule rule = {
			.path = path,
			.read = true,
			.feature = arena_printf(arena, "unixSockets[%zu]", i),
			.pointer = arena_printf(arena, "/unixSockets/%zu", i),
			.is_socket = true,
		};

		if (around ? around->read : policy->host_read)
			continue;
		if (!rule.feature || !rule.pointer)
			return -ENOMEM;
		rule.path_pointer = rule.pointer;
		policy->paths[policy->paths_n++] = rule;
		sort_rules(policy);
	}
	return 0;
}

static int collect_paths(struct arena *arena, const struct profile *profile, struct policy *policy,
			 struct sbx_error *err)
{
	int r = 0;

	policy->paths = arena_alloc_array(
		arena, profile->roots_n + profile->protect.n + profile->unix_sockets.n + 1,
		sizeof(*policy->paths));
	if (!policy->paths)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the policy");
	if (profile->workspace.path)
		r = add_path_rule(arena, &profile->workspace, "workspace", "/workspace", "root",
				  policy);
	for (size_t i = 0; r == 0 && i < profile->roots_n; i++)
		r = add_path_rule(arena, &profile->roots[i], arena_printf(arena, "roots[%zu]", i),
				  arena_printf(arena, "/roots/%zu", i), "path", policy);
	if (r == 0) {
		sort_rules(policy);
		r = add_protected(arena, profile, policy);
	}
	if (r == 0)
		r = add_sockets(arena, profile, policy);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the policy") : 0;
}

/* ---- scratch ---- */

static bool is_taken(const struct policy *policy, const char *path)
{
	for (size_t i = 0; i < policy->paths_n; i++)
		if (path_is_below(policy->paths[i].path, path))
			return true;
	for (size_t i = 0; i < policy->spec->mounts_n; i++) {
		char destination[PATH_MAX];

		if (path_normalize(policy->spec->mounts[i].destination, destination,
				   sizeof(destination)) == 0 &&
		    path_is_below(destination, path))
			return true;
	}
	return false;
}

static int place_scratch(struct policy *policy, const struct profile *profile,
			 struct sbx_error *err)
{
	const struct oci_opt_u64 *limit = &profile->limits.scratch_bytes;

	policy->scratch_bytes = limit->set ? limit->v : PROFILE_SCRATCH_DEFAULT_BYTES;
	policy->scratch_is_asked = limit->set;
	policy->scratch_path = POLICY_SCRATCH_PATH;
	if (!is_taken(policy, POLICY_SCRATCH_PATH))
		return 0;
	policy->scratch_path = POLICY_SCRATCH_PATH_OTHER;
	if (is_taken(policy, POLICY_SCRATCH_PATH_OTHER))
		return sbx_fail(err, SBX_E_INVALID_CONFIG, 0,
				"place the scratch folder: bundle and profile have %s and %s for "
				"themselves",
				POLICY_SCRATCH_PATH, POLICY_SCRATCH_PATH_OTHER);
	return 0;
}

/* ---- the whole ---- */

static bool allows_everywhere(const struct profile *p, bool write)
{
	bool all = (write ? p->host_write : p->host_read) == ACCESS_ALLOW;

	if (p->workspace.path)
		all = all && (write ? p->workspace.write : p->workspace.read) == ACCESS_ALLOW;
	for (size_t i = 0; i < p->roots_n; i++)
		all = all && (write ? p->roots[i].write : p->roots[i].read) == ACCESS_ALLOW;
	return all;
}

/* The boundaries that a sandboxed profile draws by its values. */
static uint32_t drawn_bits(const struct profile *p)
{
	const struct profile_limits *limits = &p->limits;
	uint32_t bits =
		GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY) | GUARANTEE_BIT(GUARANTEE_ENV_SCRUB);

	if (!allows_everywhere(p, true) || p->protect.n)
		bits |= GUARANTEE_BIT(GUARANTEE_WRITE_BOUNDARY);
	if (!allows_everywhere(p, false))
		bits |= GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY);
	if (p->network != ACCESS_ALLOW)
		bits |= GUARANTEE_BIT(GUARANTEE_NETWORK_BOUNDARY);
	if (rules_open_something(p))
		bits |= GUARANTEE_BIT(GUARANTEE_TARGET_NETWORK);
	if (profile_has_group_limits(limits) || limits->deadline_ms.set || limits->output_bytes.set)
		bits |= GUARANTEE_BIT(GUARANTEE_RESOURCE_LIMITS);
	return bits;
}

uint32_t policy_left_out(const struct profile *full, const struct profile *part)
{
	return drawn_bits(full) & ~drawn_bits(part);
}

static int build_confined(struct arena *arena, const struct profile *profile, struct policy *policy,
			  struct sbx_error *err)
{
	int r;

	policy->confined = true;
	policy->host_read = profile->host_read == ACCESS_ALLOW;
	policy->host_write = profile->host_write == ACCESS_ALLOW;
	policy->network_allowed = profile->network == ACCESS_ALLOW;
	policy->isolated_home = profile->home == HOME_ISOLATED;
	policy->asked = profile->require | drawn_bits(profile);
	r = collect_paths(arena, profile, policy, err);
	if (r == 0)
		r = place_scratch(policy, profile, err);
	return r;
}

int policy_build(struct arena *arena, const struct oci_spec *spec, const struct profile *profile,
		 const struct strings *sources, struct policy **ret, struct sbx_error *err)
{
	static const struct strings none;
	const struct strings *args = spec->process ? &spec->process->args : &none;
	const struct strings *env = spec->process ? &spec->process->env : &none;
	struct policy *policy = arena_alloc(arena, sizeof(*policy));
	int r = 0;

	if (!policy)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the policy");
	policy->spec = spec;
	policy->profile = profile;
	policy->host_read = policy->host_write = policy->network_allowed = true;
	if (sources)
		policy->sources = *sources;
	if (profile) {
		profile_fingerprint(profile, policy->fingerprint);
		r = refuse_unbuilt(profile, err);
		if (r == 0)
			r = check_command(profile, args, err);
		if (r == 0 && profile->isolation == ISOLATION_SANDBOXED)
			r = build_confined(arena, profile, policy, err);
	}
	if (r == 0)
		r = policy_environment(arena, policy, env, &policy->env, &policy->env_dropped, err);
	if (r == 0)
		*ret = policy;
	return r;
}

/* ---- report and plan ---- */

static void report_gated(const struct policy *policy, struct report *report)
{
	const struct profile *p = policy->profile;
	const struct {
		const char *feature;
		enum access access;
	} rows[] = {
		{"workspace.read", p->workspace.read},
		{"workspace.write", p->workspace.write},
		{"host.read", p->host_read},
		{"host.write", p->host_write},
		{"network", p->network},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].access == ACCESS_GATED)
			report_add(report, rows[i].feature, "profile", OUTCOME_ENFORCED, 0,
				   "gated: closed, no grant opens it in this spawn");
	for (size_t i = 0; i < p->roots_n; i++) {
		const struct profile_root *root = &p->roots[i];

		if (root->read == ACCESS_GATED || root->write == ACCESS_GATED)
			report_add(report,
				   root->read == ACCESS_GATED ? "roots.read" : "roots.write",
				   "profile", OUTCOME_ENFORCED, 0,
				   "gated: \"%s\" is closed, no grant opens it in this spawn",
				   root->path);
	}
}

static void report_access(const struct policy *policy, struct report *report)
{
	struct strings trees = {
		.v = arena_alloc_array(report->arena, policy->paths_n + 1, sizeof(char *))};

	for (size_t i = 0; trees.v && i < policy->paths_n; i++)
		if (policy->paths[i].write)
			trees.v[trees.n++] = (char *)(uintptr_t)policy->paths[i].path;
	report->write_trees = trees;
	report->access_kind = policy->host_write    ? "broadWrite"
			      : trees.n || !trees.v ? "scopedWrite"
						    : "readOnly";
}

static void report_exemption(const struct policy *policy, struct report *report)
{
	const struct policy_exemption *exemption = &policy->exemption;

	if (exemption->source)
		report_add(report, "podSandbox", "profile",
			   exemption->bits ? OUTCOME_UNENFORCED : OUTCOME_NARROWED, exemption->bits,
			   "a pod's sandbox container: of %s neither folders, reading, command "
			   "nor limits hold",
			   exemption->source);
}

/* What a profile requires and its own values open is no boundary, whatever is enforced besides. */
static void report_undrawn(const struct policy *policy, struct report *report)
{
	uint32_t undrawn = policy->profile->require & ~drawn_bits(policy->profile);

	if (undrawn)
		report_add(report, "require", "profile", OUTCOME_UNENFORCED, undrawn,
			   "the values of the profile draw no such boundary");
}

static void report_limits(const struct profile_limits *limits, struct report *report)
{
	if (limits->output_bytes.set)
		report_add(report, "limits.outputBytes", "relay", OUTCOME_ENFORCED,
			   GUARANTEE_BIT(GUARANTEE_RESOURCE_LIMITS),
			   "%llu bytes of each run or exec in the foreground; no other is made",
			   (unsigned long long)limits->output_bytes.v);
	if (limits->deadline_ms.set)
		report_add(report, "limits.deadline", "monitor", OUTCOME_ENFORCED,
			   GUARANTEE_BIT(GUARANTEE_RESOURCE_LIMITS),
			   "ended %llu ms after its start, by force %llu ms later",
			   (unsigned long long)limits->deadline_ms.v,
			   (unsigned long long)(limits->terminate_grace_ms.set
							? limits->terminate_grace_ms.v
							: PROFILE_TERMINATE_GRACE_DEFAULT_MS));
}

void policy_report(const struct policy *policy, struct report *report)
{
	cleanup_buf struct buf names = BUF_INIT;

	report->asked = policy->asked | policy->exemption.bits;
	report->sources = policy->sources;
	if (!policy->confined) {
		if (policy->profile)
			report_add(report, "isolation", "profile", OUTCOME_UNENFORCED, 0,
				   "unconfined, as the profile says");
		return;
	}
	report_access(policy, report);
	report_exemption(policy, report);
	report_undrawn(policy, report);
	report_gated(policy, report);
	report_limits(&policy->profile->limits, report);
	for (size_t i = 0; i < policy->env_dropped.n; i++)
		buf_printf(&names, "%s%s", i ? ", " : "dropped: ", policy->env_dropped.v[i]);
	report_add(report, "environment", "environment", OUTCOME_ENFORCED,
		   GUARANTEE_BIT(GUARANTEE_ENV_SCRUB), "only what config.json names%s%s",
		   names.len ? "; " : "", names.len && !buf_failed(&names) ? names.data : "");
}

static void write_path_rule(struct json_writer *w, const struct path_rule *rule)
{
	json_begin_object(w, NULL);
	json_write_string(w, "path", rule->path);
	json_write_bool(w, "read", rule->read);
	json_write_bool(w, "write", rule->write);
	json_write_string(w, "feature", rule->feature);
	json_end_object(w);
}

void policy_write(struct json_writer *w, const char *key, const struct policy *policy)
{
	json_begin_object(w, key);
	json_write_bool(w, "confined", policy->confined);
	json_write_strings(w, "sources", policy->sources.v, policy->sources.n);
	if (policy->profile) {
		json_write_string(w, "fingerprint", policy->fingerprint);
		profile_write(w, "profile", policy->profile);
	}
	json_begin_array(w, "asked");
	for (unsigned g = 0; g < GUARANTEE_COUNT; g++)
		if (policy->asked & GUARANTEE_BIT(g))
			json_write_string(w, NULL, guarantee_name(g));
	json_end_array(w);
	json_begin_object(w, "host");
	json_write_bool(w, "read", policy->host_read);
	json_write_bool(w, "write", policy->host_write);
	json_end_object(w);
	json_begin_array(w, "paths");
	for (size_t i = 0; i < policy->paths_n; i++)
		write_path_rule(w, &policy->paths[i]);
	json_end_array(w);
	json_write_bool(w, "network", policy->network_allowed);
	if (policy->confined) {
		json_begin_object(w, "scratch");
		json_write_string(w, "path", policy->scratch_path);
		json_write_uint(w, "bytes", policy->scratch_bytes);
		json_write_bool(w, "isolatedHome", policy->isolated_home);
		json_end_object(w);
	}
	json_write_strings(w, "environment", policy->env.v, policy->env.n);
	json_write_strings(w, "environmentDropped", policy->env_dropped.v, policy->env_dropped.n);
	json_end_object(w);
}
