/*
 * The caller's look comes after the failure, so it costs a working command nothing. It decides
 * nothing either: whoever renames files meanwhile gets a wrong hint.
 */
#include "runtime/out_of_view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/closure.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

#define FIRST_LINE_BYTES 256 /* what the kernel reads of a script */

struct look {
	const struct policy *policy;
	const char *command;
	bool has_profile;
	struct sbx_error *err;
};

static bool is_in_view(const struct policy *policy, const char *path)
{
	const struct path_rule *rule = policy_rule_of(policy, path);

	return rule ? rule->read : closure_holds(path);
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As a shell of the caller's finds it. */
static bool find_program(const char *name, char out[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX && is_program(out);
	while (path && *path) {
		int len = (int)strcspn(path, ":");

		if (snprintf(out, PATH_MAX, "%.*s/%s", len, path, name) < PATH_MAX &&
		    is_program(out))
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

/* The folder that path names, without links, and the last name as it is. */
static bool name_fully(const char *path, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX], real[PATH_MAX];

	if (!slash)
		return false;
	snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return realpath(folder, real) &&
	       snprintf(out, PATH_MAX, "%s%s", strcmp(real, "/") ? real : "", slash) < PATH_MAX;
}

static void tell(const struct look *look, const char *what, const char *path)
{
	const char *slash = strrchr(path, '/');
	int folder = slash == path ? 1 : (int)(slash - path);

	if (look->has_profile)
		sbx_fail(look->err, SBX_E_EXECUTABLE, 0,
			 "exec: \"%s\": %s \"%s\", which is not in view; open its folder by the "
			 "profile's \"roots\"",
			 look->command, what, path);
	else
		sbx_fail(look->err, SBX_E_EXECUTABLE, 0,
			 "exec: \"%s\": %s \"%s\", which is not in view; open its folder with "
			 "--root \"%.*s\"",
			 look->command, what, path, folder, path);
}

/* True: path, or what it leads to, is out of view, which is told: "IT is", "IT leads to". */
static bool explain_file(const struct look *look, const char *it, const char *path)
{
	char named[PATH_MAX], real[PATH_MAX], what[32];

	if (!name_fully(path, named) || !realpath(path, real))
		return false;
	if (is_in_view(look->policy, named) && is_in_view(look->policy, real))
		return false;
	if (is_in_view(look->policy, named)) {
		snprintf(what, sizeof(what), "%s leads to", it);
		tell(look, what, real);
	} else {
		snprintf(what, sizeof(what), "%s is", it);
		tell(look, what, named);
	}
	return true;
}

/* The program of a script's first line; false: it is no script. */
static bool read_interpreter(const char *path, char out[FIRST_LINE_BYTES])
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char line[FIRST_LINE_BYTES];
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	const char *name;

	if (n < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	name = line + 2 + strspn(line + 2, " \t");
	snprintf(out, FIRST_LINE_BYTES, "%.*s", (int)strcspn(name, " \t\n"), name);
	return out[0] == '/';
}

static void explain_missing(const struct look *look)
{
	char program[PATH_MAX], interpreter[FIRST_LINE_BYTES];

	if (!find_program(look->command, program) || explain_file(look, "it", program) ||
	    !read_interpreter(program, interpreter))
		return;
	if (!is_program(interpreter))
		sbx_fail(look->err, SBX_E_EXECUTABLE, 0,
			 "exec: \"%s\": its first line names \"%s\", which is no program",
			 look->command, interpreter);
	else
		explain_file(look, "its interpreter", interpreter);
}

void out_of_view_explain(const struct policy *policy, const char *command, bool has_profile,
			 struct sbx_error *err)
{
	const struct look look = {policy, command, has_profile, err};

	if (err->code != SBX_E_EXECUTABLE)
		return;
	if (err->errnum == ENOEXEC)
		sbx_fail(err, SBX_E_EXECUTABLE, ENOEXEC,
			 "exec: \"%s\": it is no program of this machine, and no script, whose "
			 "first "
			 "line starts with \"#!\"",
			 command);
	else if (err->errnum == ENOENT && !policy->host_read)
		explain_missing(&look);
}
