/*
 * The environment of a process.
 *
 * Names are compared by sorting positions, so that a list of any length costs n log n. The last of
 * equal names wins and keeps its place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "spec/policy.h"

/*
 * Variables that make the dynamic loader, the C library, a shell or an interpreter load or run
 * something when it starts, before the program that was asked for: ld.so(8), iconv(3), bash(1),
 * sh(1p), zsh(1), python(1), perlrun(1), ruby(1), node(1), php(1), R(1), erl(1), the Java and the
 * .NET launcher, lua(1). An entry that ends in "*" is a prefix. Search paths of packages
 * (PYTHONPATH and the like) stay: images need them, and what they name is read under the profile.
 */
static const char *const dropped_names[] = {
	"LD_*",
	"GCONV_PATH",
	"GETCONF_DIR",
	"GLIBC_TUNABLES",
	"BASH_ENV",
	"BASH_FUNC_*",
	"BASHOPTS",
	"ENV",
	"PROMPT_COMMAND",
	"PS0",
	"PS1",
	"PS2",
	"PS4",
	"SHELLOPTS",
	"ZDOTDIR",
	"DOTNET_STARTUP_HOOKS",
	"ERL_AFLAGS",
	"ERL_FLAGS",
	"ERL_ZFLAGS",
	"PHPRC",
	"PHP_INI_SCAN_DIR",
	"R_ENVIRON",
	"R_ENVIRON_USER",
	"R_PROFILE",
	"R_PROFILE_USER",
	"PYTHONSTARTUP",
	"PYTHONHOME",
	"PYTHONINSPECT",
	"PYTHONBREAKPOINT",
	"PYTHONWARNINGS",
	"PERL5OPT",
	"PERL5DB",
	"RUBYOPT",
	"NODE_OPTIONS",
	"NODE_REPL_EXTERNAL_MODULE",
	"JAVA_TOOL_OPTIONS",
	"_JAVA_OPTIONS",
	"JDK_JAVA_OPTIONS",
	"LUA_INIT*",
};

static size_t name_len(const char *entry)
{
	return strcspn(entry, "=");
}

static bool name_is(const char *entry, const char *name)
{
	return name_len(entry) == strlen(name) && strncmp(entry, name, strlen(name)) == 0;
}

static bool is_dropped(const char *entry)
{
	size_t len = name_len(entry);

	if (len == 0 || entry[len] != '=')
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(dropped_names); i++) {
		size_t n = strlen(dropped_names[i]);

		if (dropped_names[i][n - 1] == '*'
			    ? len >= n - 1 && strncmp(entry, dropped_names[i], n - 1) == 0
			    : len == n && strncmp(entry, dropped_names[i], n) == 0)
			return true;
	}
	return false;
}

static int compare_names(const void *a, const void *b, void *data)
{
	const struct strings *env = data;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	size_t m = name_len(env->v[i]), n = name_len(env->v[k]);
	int r = memcmp(env->v[i], env->v[k], m < n ? m : n);

	if (r == 0 && m != n)
		r = m < n ? -1 : 1;
	if (r == 0)
		r = i < k ? -1 : 1;
	return r;
}

/* Mark in keep the last entry of each name. */
static int mark_last(const struct strings *env, bool *keep)
{
	cleanup_free size_t *order = NULL;

	if (env->n == 0)
		return 0;
	order = calloc(env->n, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < env->n; i++)
		order[i] = i;
	qsort_r(order, env->n, sizeof(*order), compare_names, (void *)(uintptr_t)env);
	for (size_t i = 0; i < env->n; i++) {
		const char *entry = env->v[order[i]];
		const char *next = i + 1 < env->n ? env->v[order[i + 1]] : NULL;

		keep[order[i]] = !next || name_len(next) != name_len(entry) ||
				 memcmp(next, entry, name_len(entry)) != 0;
	}
	return 0;
}

/* HOME and TMPDIR of scratch take the place of what env says. */
static int add_own(struct arena *arena, const struct policy *policy, struct strings *env)
{
	char *tmpdir = arena_printf(arena, "TMPDIR=%s", policy->scratch_path);
	char *home = arena_printf(arena, "HOME=%s/" POLICY_HOME_NAME, policy->scratch_path);

	if (!tmpdir || !home)
		return -ENOMEM;
	env->v[env->n++] = tmpdir;
	if (policy->isolated_home)
		env->v[env->n++] = home;
	return 0;
}

static bool is_replaced(const struct policy *policy, const char *entry)
{
	return name_is(entry, "TMPDIR") || (policy->isolated_home && name_is(entry, "HOME"));
}

int policy_environment(struct arena *arena, const struct policy *policy, const struct strings *env,
		       struct strings *ret_env, struct strings *ret_dropped, struct sbx_error *err)
{
	cleanup_free bool *keep = calloc(env->n + 1, sizeof(*keep));
	struct strings out = {0}, dropped = {0};

	out.v = arena_alloc_array(arena, env->n + 3, sizeof(*out.v));
	dropped.v = arena_alloc_array(arena, env->n + 1, sizeof(*dropped.v));
	if (!keep || !out.v || !dropped.v || mark_last(env, keep) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the environment");
	for (size_t i = 0; i < env->n; i++) {
		if (!keep[i] || (policy->confined && is_replaced(policy, env->v[i])))
			continue;
		if (policy->confined && is_dropped(env->v[i])) {
			char *name = arena_strndup(arena, env->v[i], name_len(env->v[i]));

			if (!name)
				return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the environment");
			dropped.v[dropped.n++] = name;
			continue;
		}
		out.v[out.n++] = env->v[i];
	}
	if (policy->confined && add_own(arena, policy, &out) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the environment");
	*ret_env = out;
	*ret_dropped = dropped;
	return 0;
}
