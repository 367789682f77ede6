/*
 * The command layer's door: global options, the verb, its options, the one error at the end.
 *
 * Nothing below this layer prints or exits. A verb returns its exit status, or a negative errno
 * with the error filled in; then the error goes to the log and to stderr, and the verb's own
 * failure status is returned.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "config.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "runtime/base/proc.h"
#include "runtime/cmd.h"
#include "runtime/cmd/output.h"
#include "runtime/options.h"
#include "runtime/self_image.h"
#include "runtime/version.h"

static const struct option_row global_rows[] = {
	{"root", 0, OPTION_VALUE, "DIR",
	 "state store (default /run/sbx-runtime, or below XDG_RUNTIME_DIR)"},
	{"log", 0, OPTION_VALUE, "FILE|journald:TAG|syslog:TAG", "write the log there"},
	{"log-format", 0, OPTION_VALUE, "text|json", "form of the log"},
	{"log-level", 0, OPTION_VALUE, "LEVEL", "error, warning, info or debug"},
	{"debug", 0, OPTION_FLAG, NULL, "the same as --log-level debug"},
	{"systemd-cgroup", 0, OPTION_FLAG, NULL, "the same as --cgroup-manager systemd"},
	{"cgroup-manager", 0, OPTION_VALUE, "NAME", "cgroupfs, systemd or disabled"},
	{"rootless", 0, OPTION_VALUE, "BOOL",
	 "true, false or auto; kept for other runtimes' callers"},
	{"criu", 0, OPTION_VALUE, "PATH", "without effect; kept for other runtimes' callers"},
	{"profile", 0, OPTION_VALUE, "FILE|NAME",
	 "access profile for create, run, plan and report"},
	{"config", 0, OPTION_VALUE, "FILE", "the administrator's settings"},
	{"version", 'v', OPTION_FLAG, NULL, "print the version"},
	{"help", 'h', OPTION_FLAG, NULL, "print this help"},
};

static int print_help(struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;

	buf_printf(&out,
		   "usage: %s [OPTION...] VERB [ARGUMENT...]\n       %s help VERB\n\nverbs:\n",
		   PACKAGE_NAME, PACKAGE_NAME);
	for (size_t i = 0; i < cmds_n; i++)
		buf_printf(&out, "  %-12s %s\n", cmds[i]->name, cmds[i]->help);
	buf_puts(&out, "\noptions:\n");
	options_describe(global_rows, ARRAY_SIZE(global_rows), &out);
	return output_print(&out, err);
}

static int print_verb_help(const struct cmd *cmd, struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;

	buf_printf(&out, "usage: %s %s [OPTION...] %s\n\n%s\n\n", PACKAGE_NAME, cmd->name,
		   cmd->operands, cmd->help);
	if (cmd->describe)
		cmd->describe(&out);
	options_describe(cmd->rows, cmd->rows_n, &out);
	return output_print(&out, err);
}

static int print_version(struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;

	version_describe(&out);
	return output_print(&out, err);
}

/* The position of text in a NULL-terminated list of words, or -1. */
static int word_index(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	return -1;
}

static int decode_global(const struct option_values *values, struct global_options *global,
			 struct sbx_error *err)
{
	static const char *const levels[] = {"error", "warning", "info", "debug", NULL};
	static const char *const formats[] = {"text", "json", NULL};
	static const char *const managers[] = {"cgroupfs", "systemd", "disabled", NULL};
	struct invocation in = {
		.values = values, .rows = global_rows, .rows_n = ARRAY_SIZE(global_rows)};
	const char *level = invocation_value(&in, "log-level");
	const char *format = invocation_value(&in, "log-format");
	const char *manager = invocation_value(&in, "cgroup-manager");
	int index;

	global->root = invocation_value(&in, "root");
	global->log = invocation_value(&in, "log");
	global->profile = invocation_value(&in, "profile");
	global->config = invocation_value(&in, "config");
	global->rootless = invocation_value(&in, "rootless");
	if (level && strcmp(level, "warn") == 0)
		level = "warning";
	index = level ? word_index(levels, level) : LOG_LEVEL_ERROR;
	if (index < 0)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"unknown log level \"%s\": error, warning, info or debug", level);
	global->log_level = invocation_flag(&in, "debug") ? LOG_LEVEL_DEBUG : (enum log_level)index;
	index = format ? word_index(formats, format) : LOG_FORMAT_TEXT;
	if (index < 0)
		return sbx_fail(err, SBX_E_USAGE, 0, "unknown log format \"%s\": text or json",
				format);
	global->log_format = (enum log_format)index;
	index = manager ? word_index(managers, manager) : CGROUP_MANAGER_CGROUPFS;
	if (index < 0)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"unknown cgroup manager \"%s\": cgroupfs, systemd or disabled",
				manager);
	global->cgroup_manager = invocation_flag(&in, "systemd-cgroup")
					 ? CGROUP_MANAGER_SYSTEMD
					 : (enum cgroup_manager)index;
	return 0;
}

/* Sockets for --log KIND:TAG. */
static const struct {
	const char *prefix, *path;
	enum log_format format;
} log_sockets[] = {
	{"journald:", "/run/systemd/journal/socket", LOG_FORMAT_JOURNAL},
	{"syslog:", "/dev/log", LOG_FORMAT_SYSLOG},
};

static int connect_log(const char *path, struct sbx_error *err)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open the log socket \"%s\"", path);
	return take_fd(&fd);
}

static int open_log_file(const struct global_options *global, struct sbx_error *err)
{
	const char *name = global->log;
	int fd = STDERR_FILENO;

	if (name && strncmp(name, "file:", 5) == 0)
		name += 5;
	if (name) {
		/* Nobody waits for a FIFO's reader, now or later: what it does not take is lost. */
		fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			  0644);
		if (fd < 0 && errno == ENXIO)
			return sbx_fail(
				err, SBX_E_SYSTEM, 0,
				"open log \"%s\": it is a FIFO that nobody reads, or a socket",
				name);
		if (fd < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "open log \"%s\"", name);
	}
	log_set_sink(fd, global->log_format, global->log_level);
	return 0;
}

static int open_log(const struct global_options *global, struct sbx_error *err)
{
	for (size_t i = 0; global->log && i < ARRAY_SIZE(log_sockets); i++) {
		size_t len = strlen(log_sockets[i].prefix);
		int fd;

		if (strncmp(global->log, log_sockets[i].prefix, len) != 0)
			continue;
		fd = connect_log(log_sockets[i].path, err);
		log_set_tag(global->log[len] ? global->log + len : PACKAGE_NAME);
		log_set_sink(fd, log_sockets[i].format, global->log_level);
		return fd < 0 ? fd : 0;
	}
	return open_log_file(global, err);
}

static const struct cmd *find_verb(const char *name)
{
	for (size_t i = 0; i < cmds_n; i++)
		if (strcmp(cmds[i]->name, name) == 0)
			return cmds[i];
	return NULL;
}

/* What other runtimes have and this one has not: refused by name, for it is no typing error. */
static int unknown_verb(const char *name, struct sbx_error *err)
{
	static const char *const not_built[] = {"checkpoint", "restore", NULL};

	if (word_index(not_built, name) >= 0)
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
				"%s is not built: this runtime cannot save a container's processes",
				name);
	return sbx_fail(err, SBX_E_USAGE, 0, "unknown verb \"%s\"", name);
}

static int check_operands(const struct cmd *cmd, int count, struct sbx_error *err)
{
	if (count >= cmd->min_operands && (cmd->max_operands < 0 || count <= cmd->max_operands))
		return 0;
	return sbx_fail(err, SBX_E_USAGE, 0, "%s takes %s, got %d argument%s", cmd->name,
			cmd->operands[0] ? cmd->operands : "no argument", count,
			count == 1 ? "" : "s");
}

/* "help" as other runtimes have it: alone it is --help, and "help VERB" becomes "VERB --help". */
static bool is_help(int argc, char **argv)
{
	static char option[] = "--help";

	if (argc == 0 || strcmp(argv[0], "help") != 0)
		return false;
	if (argc == 1 || argv[1][0] == '-' || strcmp(argv[1], "help") == 0)
		return true;
	argv[0] = argv[1];
	argv[1] = option;
	return false;
}

/* What was wrong with the command line, and where its help is. */
static int wrong_use(const char *verb, const char *hint, struct sbx_error *err)
{
	char text[SBX_MESSAGE_MAX];

	if (err->code != SBX_E_USAGE)
		return -EINVAL;
	snprintf(text, sizeof(text), "%s", err->message);
	return sbx_fail(err, SBX_E_USAGE, 0, "%s; see `%s %s%s--help`%s", text, PACKAGE_NAME, verb,
			verb[0] ? " " : "", hint);
}

static const char *option_hint(const struct cmd *cmd)
{
	return cmd->option_hint ? cmd->option_hint : ", and global options stand before the verb";
}

/* A pid alone may be another process's by the time that it is used. */
static int check_pidfds(struct sbx_error *err)
{
	cleanup_fd int fd = sys_pidfd_open(getpid(), 0);

	return fd == -ENOSYS ? sbx_fail(err, SBX_E_UNSUPPORTED, 0,
					"handle the container's processes: pidfd_open is missing; "
					"it needs Linux 5.3 and no seccomp filter that hides it")
			     : 0;
}

/* A command line that cannot be read has status 1; what the verb itself refuses has its own. */
static int run_verb(const struct cmd *cmd, const struct global_options *global, int argc,
		    char **argv, int *failure_status, struct sbx_error *err)
{
	struct option_values *values = calloc(cmd->rows_n + 1, sizeof(*values));
	struct option_row *rows = calloc(cmd->rows_n + 1, sizeof(*rows));
	struct invocation in = {
		.global = global, .values = values, .rows = rows, .rows_n = cmd->rows_n};
	int operand, rc;

	if (!values || !rows)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "read the command line");
	if (cmd->rows_n)
		memcpy(rows, cmd->rows, cmd->rows_n * sizeof(*rows));
	rows[cmd->rows_n] = (struct option_row){"help", 'h', OPTION_FLAG, NULL, "print this help"};
	rc = options_parse(argc, argv, rows, cmd->rows_n + 1, cmd->stop_at_operand, values,
			   &operand, err);
	if (rc < 0)
		rc = wrong_use(cmd->name, rc == -ENOENT ? option_hint(cmd) : "", err);
	else if (values[cmd->rows_n].value)
		rc = print_verb_help(cmd, err);
	else {
		in.argc = argc - operand;
		in.argv = argv + operand;
		rc = check_operands(cmd, in.argc, err);
		if (rc < 0)
			rc = wrong_use(cmd->name, "", err);
		else {
			*failure_status = cmd->failure_status;
			rc = cmd->handles_processes ? check_pidfds(err) : 0;
			if (rc == 0)
				rc = cmd->run(&in, err);
		}
	}
	for (size_t i = 0; i <= cmd->rows_n; i++)
		free(values[i].list);
	free(values);
	free(rows);
	return rc;
}

/* The exit status; what failed is said first. */
static int finish(const struct global_options *global, const struct sbx_error *err, int rc,
		  int failure_status)
{
	if (rc >= 0)
		return rc;
	output_error(global, err);
	return failure_status;
}

/* What is asked about the program itself, or nothing is, which fails. No log is opened for it:
 * standard error serves. */
static int answer(bool version, bool help, struct global_options *global, struct sbx_error *err)
{
	int rc = version ? print_version(err) : print_help(err);

	if (rc == 0 && !version && !help)
		rc = 1;
	global->log = NULL;
	log_set_sink(STDERR_FILENO, global->log_format, global->log_level);
	return finish(global, err, rc, 1);
}

/* A word that is the value of another option costs an execve. */
static bool needs_own_image(const struct cmd *cmd, char *const *argv)
{
	for (; cmd->own_image_option && *argv; argv++)
		if (strncmp(*argv, cmd->own_image_option, 4) == 0)
			return true;
	return cmd->needs_own_image;
}

int main(int argc, char **argv)
{
	struct option_values values[ARRAY_SIZE(global_rows)] = {0};
	struct global_options global = {0};
	struct invocation in = {
		.values = values, .rows = global_rows, .rows_n = ARRAY_SIZE(global_rows)};
	struct sbx_error err = {0};
	const struct cmd *cmd;
	int failure_status = 1, operand, rc;
	bool version, help;

	proc_catch_write_signals();
	if (fd_fill_stdio() < 0)
		return 1;
	if (argc == 2 &&
	    strcmp(argv[1], "-V") == 0) /* as --version: another spelling of the field */
		return finish(&global, &err, print_version(&err), 1);
	rc = options_parse(argc, argv, global_rows, ARRAY_SIZE(global_rows), true, values, &operand,
			   &err);
	if (rc == 0)
		rc = decode_global(values, &global, &err);
	if (rc < 0) {
		wrong_use("", "", &err);
		return finish(&global, &err, rc, 1);
	}
	version = invocation_flag(&in, "version");
	help = invocation_flag(&in, "help") || is_help(argc - operand, argv + operand);
	if (!version && !help && argc > 1 && operand >= argc) {
		sbx_fail(&err, SBX_E_USAGE, 0,
			 "no verb: \"%s\" is a global option, or the value of one", argv[argc - 1]);
		return finish(&global, &err, wrong_use("", "", &err), 1);
	}
	if (version || help || operand >= argc)
		return answer(version, help, &global, &err);
	rc = open_log(&global, &err);
	cmd = find_verb(argv[operand]);
	if (rc == 0 && !cmd)
		rc = unknown_verb(argv[operand], &err);
	if (rc < 0)
		wrong_use("", "", &err);
	if (rc == 0 && cmd && needs_own_image(cmd, argv + operand))
		rc = self_image_ensure(argv, &err);
	if (rc == 0 && cmd)
		rc = run_verb(cmd, &global, argc - operand, argv + operand, &failure_status, &err);
	return finish(&global, &err, rc, failure_status);
}
