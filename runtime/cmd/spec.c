/*
 * spec: writes a config.json to start from.
 *
 * It asks for little: what default_bundle.c has, three harmless capabilities, no new privileges, a
 * read-only root.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/cmd/cmds.h"
#include "runtime/default_bundle.h"
#include "runtime/version.h"
#include "spec/json_write.h"

#define CONFIG_NAME	   "config.json"
#define DEFAULT_OPEN_FILES 1024
#define INDENT		   4

static const struct option_row rows[] = {
	{"bundle", 'b', OPTION_VALUE, "DIR", "the bundle to write to, the current directory"},
	{"file", 'f', OPTION_VALUE, "NAME", "the file to write there, config.json"},
	{"rootless", 0, OPTION_FLAG, NULL, "a container for an unprivileged caller"},
};

static const char *const args[] = {"sh"};
static const char *const env[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm"};
static const char *const capabilities[] = {"CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE"};

static void write_process(struct json_writer *w)
{
	json_begin_object(w, "process");
	json_write_bool(w, "terminal", true);
	json_begin_object(w, "user");
	json_write_int(w, "uid", 0);
	json_write_int(w, "gid", 0);
	json_end_object(w);
	JSON_WRITE_WORDS(w, "args", args);
	JSON_WRITE_WORDS(w, "env", env);
	json_write_string(w, "cwd", "/");
	json_begin_object(w, "capabilities");
	JSON_WRITE_WORDS(w, "bounding", capabilities);
	JSON_WRITE_WORDS(w, "effective", capabilities);
	JSON_WRITE_WORDS(w, "permitted", capabilities);
	json_end_object(w);
	json_begin_array(w, "rlimits");
	json_begin_object(w, NULL);
	json_write_string(w, "type", "RLIMIT_NOFILE");
	json_write_int(w, "hard", DEFAULT_OPEN_FILES);
	json_write_int(w, "soft", DEFAULT_OPEN_FILES);
	json_end_object(w);
	json_end_array(w);
	json_write_bool(w, "noNewPrivileges", true);
	json_end_object(w);
}

static void write_config(struct buf *out, bool rootless)
{
	struct json_writer w;

	json_writer_init(&w, out, INDENT);
	json_begin_object(&w, NULL);
	json_write_string(&w, "ociVersion", SBX_SPEC_VERSION);
	write_process(&w);
	json_begin_object(&w, "root");
	json_write_string(&w, "path", "rootfs");
	json_write_bool(&w, "readonly", true);
	json_end_object(&w);
	json_write_string(&w, "hostname", "sbx");
	json_begin_array(&w, "mounts");
	default_mounts_write(&w, rootless, false);
	json_end_array(&w);
	default_linux_write(&w, rootless);
	json_end_object(&w);
	buf_putc(out, '\n');
}

static int run_spec(const struct invocation *in, struct sbx_error *err)
{
	const char *given = invocation_value(in, "bundle"), *bundle = given ? given : ".";
	const char *file = invocation_value(in, "file"), *name = file ? file : CONFIG_NAME;
	cleanup_buf struct buf out = BUF_INIT;
	cleanup_fd int dir = -EBADF;
	cleanup_fd int fd = -EBADF;
	int rc;

	if (strchr(name, '/') || !name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"--file takes the name of a file in the bundle, not \"%s\"", name);
	write_config(&out, invocation_flag(in, "rootless"));
	if (buf_failed(&out))
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "write %s", name);
	dir = open(bundle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open bundle \"%s\"", bundle);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EEXIST)
		return sbx_fail(err, SBX_E_USAGE, EEXIST, "write %s: it exists, remove it first",
				name);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "create %s", name);
	rc = fd_write_all(fd, out.data, out.len);
	if (rc < 0) {
		unlinkat(dir, name, 0);
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "write %s", name);
	}
	return 0;
}

const struct cmd cmd_spec = {
	.name = "spec",
	.operands = "",
	.help = "write a config.json to start from",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.max_operands = 0,
	.failure_status = 1,
	.run = run_spec,
};
