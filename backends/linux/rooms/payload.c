/*
 * What is executed, where, and with which environment.
 *
 * The working directory is made where it is missing, entered first with the set-up's rights and,
 * where those do not reach (NFS, a user's private folder), again with the payload's; then it must
 * still lie below "/" (CVE-2024-21626). The program is looked up with the payload's PATH and
 * rights, so that create fails before it reports success.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/reaper.h"
#include "backends/linux/room.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/num.h"
#include "runtime/base/path.h"

#define PASSWD_BYTES_MAX (1u << 20)
#define DEFAULT_PATH	 "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static int plan_payload(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_process *process = plan->spec->process;

	(void)report;
	if (!process)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process",
				   "config.json has no process to start");
	if (!process->args.n)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/process/args",
				   "process.args is empty");
	if (!plan->process.process)
		plan->process.process = process;
	plan->process.env = plan->rung == RUNG_SHARED ? plan->shared.env : plan->policy->env;
	plan->process.no_new_privs = process->no_new_privileges || plan->policy->confined;
	plan->process.new_keyring = !plan->options.no_new_keyring;
	plan->process.terminal = process->terminal;
	return 0;
}

/* One line of passwd(5): the home of uid, or NULL. Cuts the line in place. */
static char *home_of_line(char *line, uint32_t uid)
{
	char *field[7];
	uint32_t id;

	for (size_t i = 0; i < ARRAY_SIZE(field); i++) {
		field[i] = strsep(&line, ":");
		if (!field[i])
			return NULL;
	}
	if (num_parse_id(field[2], &id) < 0 || id != uid || field[5][0] != '/')
		return NULL;
	return field[5];
}

/* HOME by the container's own /etc/passwd; "/" where it says nothing. */
static char *look_up_home(struct arena *arena, uint32_t uid)
{
	cleanup_fd int etc_fd = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_buf struct buf passwd = BUF_INIT;
	char *rest, *line, *home = NULL;

	if (etc_fd >= 0 && fd_read_file_at(etc_fd, "passwd", PASSWD_BYTES_MAX, &passwd) == 0) {
		rest = passwd.data;
		while (!home && (line = strsep(&rest, "\n")))
			home = home_of_line(line, uid);
	}
	return arena_printf(arena, "HOME=%s", home ? home : "/");
}

static const char *env_value(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

static int finish_environment(struct run *run, struct sbx_error *err)
{
	const struct plan_process *process = &run->plan->process;
	char **env = arena_alloc_array(run->plan->arena, process->env.n + 2, sizeof(*env));
	const char *home;
	size_t n = 0;

	if (!env)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the environment");
	for (size_t i = 0; i < process->env.n; i++)
		if (strcmp(process->env.v[i], "HOME=") != 0)
			env[n++] = process->env.v[i];
	home = env_value(env, "HOME");
	if (!home) {
		env[n] = look_up_home(run->plan->arena, process->process->user.uid);
		if (!env[n])
			return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the environment");
	}
	run->env = env;
	return 0;
}

/* 0 when path can be executed by the payload; -EISDIR, -EACCES, -ENOENT ... */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

static int fail_executable(const char *name, int rc, struct sbx_error *err)
{
	if (rc == -EISDIR)
		return sbx_fail(err, SBX_E_EXECUTABLE, EACCES, "exec: \"%s\": is a directory",
				name);
	if (rc == -ENOENT && !strchr(name, '/'))
		return sbx_fail(err, SBX_E_EXECUTABLE, ENOENT,
				"exec: \"%s\": executable file not found in $PATH", name);
	return sbx_fail(err, SBX_E_EXECUTABLE, -rc, "exec: \"%s\"", name);
}

static int search_path(struct run *run, const char *name, struct sbx_error *err)
{
	const char *path = env_value(run->env, "PATH");
	int best = -ENOENT;

	path = path && *path ? path : DEFAULT_PATH;
	while (*path) {
		size_t len = strcspn(path, ":");
		char *candidate = arena_printf(run->plan->arena, "%.*s%s%s", (int)len, path,
					       len ? "/" : "./", name);
		int rc = candidate ? check_executable(candidate) : -ENOMEM;

		if (rc == 0) {
			run->executable = candidate;
			return 0;
		}
		if (rc == -EACCES || rc == -ENOMEM)
			best = rc;
		path += len + (path[len] == ':');
	}
	return fail_executable(name, best, err);
}

static int find_executable(struct run *run, struct sbx_error *err)
{
	char *name = run->plan->process.process->args.v[0];
	int rc;

	if (!*name)
		return fail_executable(name, -ENOENT, err);
	if (!strchr(name, '/'))
		return search_path(run, name, err);
	rc = check_executable(name);
	if (rc < 0)
		return fail_executable(name, rc, err);
	run->executable = name;
	return 0;
}

static int make_working_directory(struct run *run)
{
	cleanup_fd int fd =
		path_make_dirs_in_root(run->rootfs_fd, run->plan->process.process->cwd, 0755);

	/* What cannot be made here is reported when it cannot be entered. */
	return fd == -ENOMEM ? fd : 0;
}

static int enter_working_directory(struct run *run, struct sbx_error *err)
{
	const char *cwd = run->plan->process.process->cwd;
	char now[PATH_MAX] = "";

	/* Entered already with the set-up's rights, or now with the payload's. */
	if (!run->cwd_entered && chdir(cwd) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "chdir to cwd (\"%s\")", cwd);
	if (!getcwd(now, sizeof(now)) && errno != ENOENT)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "find out the working directory");
	if (now[0] != '/')
		return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
				"the working directory \"%s\" is outside of the container's root",
				cwd);
	return 0;
}

/*
 * The manager's pipes belong to whoever made them; the payload must be able to open /dev/stdout
 * again. Files and devices of the host are left alone.
 */
static void give_stdio(const struct oci_user *user)
{
	struct stat st;

	for (int fd = 0; fd <= 2; fd++)
		if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && st.st_uid != user->uid)
			(void)!fchown(fd, user->uid, user->gid);
}

static int fork_from_first(const struct run *run, struct sbx_error *err)
{
	const struct plan *plan = run->plan;

	return plan->options.reaper && !run->is_exec
		       ? reaper_fork(plan->rung == RUNG_SHARED && plan->landlock.scope_signal, err)
		       : 0;
}

static int apply_payload(struct run *run, enum stage stage, struct sbx_error *err)
{
	int rc;

	switch (stage) {
	case STAGE_MOUNTS:
		return make_working_directory(run);
	case STAGE_LIMITS:
		give_stdio(&run->plan->process.process->user);
		run->cwd_entered = chdir(run->plan->process.process->cwd) == 0;
		return 0;
	case STAGE_EXECUTABLE:
		rc = enter_working_directory(run, err);
		if (rc == 0)
			rc = finish_environment(run, err);
		return rc < 0 || run->probe ? rc : find_executable(run, err);
	case STAGE_FIRST_PROCESS:
		return fork_from_first(run, err);
	case STAGE_EXEC:
		rc = run->plan->rung != RUNG_SHARED ? fork_from_first(run, err) : 0;
		if (rc < 0)
			return rc;
		execve(run->executable, run->plan->process.process->args.v, run->env);
		return sbx_fail(err, SBX_E_EXECUTABLE, errno, "exec %s", run->executable);
	default:
		return 0;
	}
}

static void dump_payload(const struct plan *plan, struct json_writer *w)
{
	json_begin_object(w, "process");
	json_write_strings(w, "args", plan->process.process->args.v, plan->process.process->args.n);
	json_write_string(w, "cwd", plan->process.process->cwd);
	json_write_strings(w, "env", plan->process.env.v, plan->process.env.n);
	json_write_bool(w, "noNewPrivileges", plan->process.no_new_privs);
	json_write_bool(w, "terminal", plan->process.terminal);
	json_end_object(w);
}

const struct room room_payload = {
	.name = "payload",
	.without_namespaces = true,
	.plan = plan_payload,
	.apply = apply_payload,
	.dump = dump_payload,
};
