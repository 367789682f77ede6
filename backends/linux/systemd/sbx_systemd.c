/*
 * sbx-systemd: one request of the runtime to systemd, over D-Bus.
 *
 * The request is a JSON object on descriptor 0, the answer one on descriptor 1: {} or {"error":
 * TEXT, "errno": NUMBER}. The runtime makes the scopes' properties; here they are only put into
 * messages, each by the type that it names. The calls: start, set, stop, attach (see the table).
 *
 * As root it speaks with PID 1's own socket, or the system bus; for a user with the bus whose
 * address the request gives. Once connected it needs nothing but that connection: no capability,
 * no file, no program.
 */
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "backends/linux/systemd/message.h"
#include "runtime/base/arena.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"
#include "spec/json_write.h"

#define REQUEST_MAX    ((size_t)1 << 20)
#define ARENA_MAX      ((size_t)16 << 20)
#define CALL_WAIT_US   (25ULL * 1000000)
#define JOB_WAIT_US    (30ULL * 1000000)
#define RETRY_WAIT_MS  50
#define RETRIES	       40
#define SYSTEMD	       "org.freedesktop.systemd1"
#define MANAGER_PATH   "/org/freedesktop/systemd1"
#define MANAGER	       SYSTEMD ".Manager"
#define UNIT	       SYSTEMD ".Unit"
#define SCOPE	       SYSTEMD ".Scope"
#define PRIVATE_SOCKET "unix:path=/run/systemd/private"
#define SYSTEM_BUS     "unix:path=/run/dbus/system_bus_socket"

static const struct json_limits limits = {
	.max_bytes = REQUEST_MAX, .max_depth = 8, .max_values = 65536, .max_string_bytes = 8192};

struct talk {
	sd_bus *bus;
	const struct json_node *request;
	const char *unit;
	const char *job;      /* whose end is waited for */
	char result[32];      /* of it, empty: not yet */
	struct sbx_error err; /* the answer */
};

/* ---- less and less rights ---- */

static void drop_rights(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};
	const struct rlimit no_core = {0, 0}, few_files = {32, 32};

	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_NOFILE, &few_files);
	syscall(__NR_capset, &head, none);
}

/* Where the kernel has Landlock: no file is opened, made or executed from here on. */
static void drop_files(void)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = (1ULL << 13) - 1}; /* ABI 1 */
	int fd = (int)syscall(__NR_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (fd < 0)
		return;
	syscall(__NR_landlock_restrict_self, fd, 0);
	close(fd);
}

/* ---- the bus ---- */

static int open_bus(sd_bus **ret, const char *address, bool is_daemon)
{
	sd_bus *bus = NULL;
	int rc = sd_bus_new(&bus);

	if (rc >= 0)
		rc = sd_bus_set_address(bus, address);
	if (rc >= 0)
		rc = sd_bus_set_bus_client(bus, is_daemon);
	if (rc >= 0)
		rc = sd_bus_set_method_call_timeout(bus, CALL_WAIT_US);
	if (rc >= 0)
		rc = sd_bus_start(bus);
	if (rc < 0) {
		sd_bus_unref(bus);
		return rc;
	}
	*ret = bus;
	return 0;
}

/* A pid that we send must mean the same process there: the other end has one in our namespace. */
static int check_namespace(struct talk *t)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	int fd = sd_bus_get_fd(t->bus);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0)
		return sbx_fail(
			&t->err, SBX_E_SYSTEM, 0,
			"use systemd of another pid namespace: it does not know our processes");
	return 0;
}

static int connect_manager(struct talk *t)
{
	const struct json_node *given = json_get(t->request, "address");
	const char *address = given && given->type == JSON_STRING ? given->text : "";
	int rc = -ENOENT;

	if (!*address) {
		rc = open_bus(&t->bus, PRIVATE_SOCKET, false);
		address = SYSTEM_BUS;
	}
	if (rc < 0)
		rc = open_bus(&t->bus, address, true);
	if (rc == 0)
		return check_namespace(t);
	return sbx_fail(&t->err, SBX_E_SYSTEM, -rc, "connect to systemd by \"%s\"", address);
}

static int fail_call(struct talk *t, const char *what, int rc, const sd_bus_error *why)
{
	return sbx_fail(&t->err, SBX_E_SYSTEM, -rc, "%s \"%s\" by systemd%s%s", what, t->unit,
			why->message ? ": " : "", why->message ? why->message : "");
}

static bool is_gone(const sd_bus_error *why)
{
	return sd_bus_error_has_names(why, SYSTEMD ".NoSuchUnit", SD_BUS_ERROR_UNKNOWN_OBJECT,
				      SD_BUS_ERROR_UNKNOWN_INTERFACE,
				      SD_BUS_ERROR_UNKNOWN_PROPERTY);
}

/* ---- jobs ---- */

static int note_job(sd_bus_message *m, void *data, sd_bus_error *unused)
{
	struct talk *t = data;
	const char *job, *unit, *result;
	uint32_t id;

	(void)unused;
	if (sd_bus_message_read(m, "uoss", &id, &job, &unit, &result) >= 0 && t->job &&
	    strcmp(job, t->job) == 0)
		snprintf(t->result, sizeof(t->result), "%s", result);
	return 0;
}

/* Jobs' ends are told to those who asked; on the private socket everybody is told. */
static int listen_for_jobs(struct talk *t)
{
	sd_bus_error why = SD_BUS_ERROR_NULL;
	int rc = sd_bus_match_signal(t->bus, NULL, NULL, MANAGER_PATH, MANAGER, "JobRemoved",
				     note_job, t);

	if (rc < 0)
		return fail_call(t, "listen for the job of", rc, &why);
	(void)sd_bus_call_method(t->bus, SYSTEMD, MANAGER_PATH, MANAGER, "Subscribe", &why, NULL,
				 "");
	sd_bus_error_free(&why);
	return 0;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int wait_for_job(struct talk *t, sd_bus_message *reply)
{
	uint64_t end = now_us() + JOB_WAIT_US;
	int rc = sd_bus_message_read(reply, "o", &t->job);

	t->result[0] = '\0';
	while (rc >= 0 && !t->result[0]) {
		uint64_t now = now_us();

		rc = sd_bus_process(t->bus, NULL);
		if (rc == 0 && now >= end)
			return -ETIMEDOUT;
		if (rc == 0)
			rc = sd_bus_wait(t->bus, end - now);
	}
	t->job = NULL;
	return rc < 0 ? rc : 0;
}

/* ---- one unit ---- */

static int unit_path(struct talk *t, char **ret)
{
	return sd_bus_path_encode(MANAGER_PATH "/unit", t->unit, ret);
}

/* A text property of the unit, to be freed; NULL where it is not there. */
static char *read_property(struct talk *t, const char *interface, const char *name)
{
	sd_bus_error why = SD_BUS_ERROR_NULL;
	cleanup_free char *path = NULL;
	char *value = NULL;

	if (unit_path(t, &path) >= 0)
		(void)sd_bus_get_property_string(t->bus, SYSTEMD, path, interface, name, &why,
						 &value);
	sd_bus_error_free(&why);
	return value;
}

static void reset_failed(struct talk *t)
{
	sd_bus_error why = SD_BUS_ERROR_NULL;

	(void)sd_bus_call_method(t->bus, SYSTEMD, MANAGER_PATH, MANAGER, "ResetFailedUnit", &why,
				 NULL, "s", t->unit);
	sd_bus_error_free(&why);
}

/* Asked for whether it may be touched: the name alone may be another container's by now. 1: it is
 * the one; 0: it is not there, or another's. */
static int is_described(struct talk *t)
{
	const struct json_node *want = json_get(t->request, "description");
	cleanup_free char *state = read_property(t, UNIT, "LoadState");
	cleanup_free char *have = NULL;
	size_t len;

	if (!state || strcmp(state, "loaded") != 0)
		return 0;
	have = read_property(t, UNIT, "Description");
	if (!have || !want || want->type != JSON_STRING || want->len == 0)
		return 0;
	/* One that ends with a blank lacks the mark, which is lost: any will do. */
	len = want->text[want->len - 1] == ' ' ? want->len : want->len + 1;
	return strncmp(have, want->text, len) == 0;
}

/* ---- properties ---- */

static unsigned long manager_version(struct talk *t)
{
	sd_bus_error why = SD_BUS_ERROR_NULL;
	cleanup_free char *text = NULL;
	unsigned long version = 0;

	if (sd_bus_get_property_string(t->bus, SYSTEMD, MANAGER_PATH, MANAGER, "Version", &why,
				       &text) >= 0)
		version = strtoul(text + (text[0] == 'v'), NULL, 10);
	sd_bus_error_free(&why);
	return version;
}

static int append_properties(struct talk *t, sd_bus_message *m)
{
	const struct json_node *list = json_get(t->request, "properties"), *item;
	unsigned long version = 0;
	int rc = sd_bus_message_open_container(m, 'a', "(sv)");

	for (item = list ? list->child : NULL; rc >= 0 && item; item = item->next) {
		const struct json_node *since = json_get(item, "since");
		uint64_t needed = 0;

		if (since && version == 0)
			version = manager_version(t);
		if (since && (json_uint64(since, &needed) < 0 || version < needed))
			continue;
		rc = message_append_property(m, item);
	}
	return rc < 0 ? rc : sd_bus_message_close_container(m);
}

/* ---- start ---- */

static int call_start(struct talk *t, sd_bus_error *why, sd_bus_message **reply)
{
	sd_bus_message *m = NULL;
	int rc = sd_bus_message_new_method_call(t->bus, &m, SYSTEMD, MANAGER_PATH, MANAGER,
						"StartTransientUnit");

	if (rc >= 0)
		rc = sd_bus_message_append(m, "ss", t->unit, "fail");
	if (rc >= 0)
		rc = append_properties(t, m);
	if (rc >= 0)
		rc = sd_bus_message_append(m, "a(sa(sv))", 0);
	if (rc >= 0)
		rc = sd_bus_call(t->bus, m, 0, why, reply);
	sd_bus_message_unref(m);
	return rc;
}

/* A unit of that name which has failed, or is about to end, does not count. */
static bool is_in_use(struct talk *t)
{
	cleanup_free char *state = read_property(t, UNIT, "ActiveState");

	return state && (strcmp(state, "active") == 0 || strcmp(state, "activating") == 0);
}

static int stop_unit(struct talk *t);

static int fail_start(struct talk *t, int rc)
{
	cleanup_free char *result = read_property(t, SCOPE, "Result");

	sbx_fail(&t->err, SBX_E_SYSTEM, -rc,
		 "start scope \"%s\" by systemd: its job ended \"%s\"%s%s", t->unit,
		 rc < 0 ? "never" : t->result, result ? ", its result is " : "",
		 result ? result : "");
	/* What comes late must not stay. */
	if (is_described(t))
		(void)stop_unit(t);
	reset_failed(t);
	return -EIO;
}

static int start(struct talk *t)
{
	sd_bus_message *reply = NULL;
	sd_bus_error why = SD_BUS_ERROR_NULL;
	int rc = listen_for_jobs(t);

	if (rc < 0)
		return rc;
	rc = call_start(t, &why, &reply);
	for (int tries = 0; tries < RETRIES && rc < 0; tries++) {
		if (!sd_bus_error_has_name(&why, SYSTEMD ".UnitExists") || is_in_use(t))
			break;
		sd_bus_error_free(&why);
		reset_failed(t);
		rc = call_start(t, &why, &reply);
		if (rc < 0)
			(void)poll(NULL, 0, RETRY_WAIT_MS);
	}
	if (rc < 0)
		fail_call(t, "start scope",
			  sd_bus_error_has_name(&why, SYSTEMD ".UnitExists") ? -EBUSY : rc, &why);
	else
		rc = wait_for_job(t, reply);
	if (!t->err.message[0] && (rc < 0 || strcmp(t->result, "done") != 0))
		rc = fail_start(t, rc);
	sd_bus_error_free(&why);
	sd_bus_message_unref(reply);
	return rc < 0 ? rc : 0;
}

/* ---- stop, set, attach ---- */

static int stop_unit(struct talk *t)
{
	sd_bus_message *reply = NULL;
	sd_bus_error why = SD_BUS_ERROR_NULL;
	int rc;

	/* Its own signal, which comes first otherwise, a container may not heed. */
	(void)sd_bus_call_method(t->bus, SYSTEMD, MANAGER_PATH, MANAGER, "KillUnit", &why, NULL,
				 "ssi", t->unit, "all", SIGKILL);
	sd_bus_error_free(&why);
	rc = sd_bus_call_method(t->bus, SYSTEMD, MANAGER_PATH, MANAGER, "StopUnit", &why, &reply,
				"ss", t->unit, "replace");
	if (rc >= 0)
		rc = wait_for_job(t, reply);
	if (rc < 0 && is_gone(&why))
		rc = 0;
	if (rc < 0 && !t->err.message[0])
		fail_call(t, "stop scope", rc, &why);
	sd_bus_error_free(&why);
	sd_bus_message_unref(reply);
	return rc;
}

static int stop(struct talk *t)
{
	int rc;

	if (!is_described(t))
		return 0;
	rc = listen_for_jobs(t);
	if (rc == 0)
		rc = stop_unit(t);
	if (rc == 0)
		reset_failed(t);
	return rc;
}

static int set(struct talk *t)
{
	sd_bus_message *m = NULL;
	sd_bus_error why = SD_BUS_ERROR_NULL;
	int rc;

	if (!is_described(t))
		return sbx_fail(&t->err, SBX_E_SYSTEM, ENOENT,
				"change scope \"%s\": it is not there, or not the container's",
				t->unit);
	rc = sd_bus_message_new_method_call(t->bus, &m, SYSTEMD, MANAGER_PATH, MANAGER,
					    "SetUnitProperties");
	if (rc >= 0)
		rc = sd_bus_message_append(m, "sb", t->unit, 1);
	if (rc >= 0)
		rc = append_properties(t, m);
	if (rc >= 0)
		rc = sd_bus_call(t->bus, m, 0, &why, NULL);
	sd_bus_message_unref(m);
	if (rc < 0)
		fail_call(t, "set properties of scope", rc, &why);
	sd_bus_error_free(&why);
	return rc < 0 ? rc : 0;
}

static int attach(struct talk *t)
{
	const struct json_node *below = json_get(t->request, "below");
	sd_bus_error why = SD_BUS_ERROR_NULL;
	uint64_t pid = 0;
	int rc;

	if (!below || below->type != JSON_STRING ||
	    json_uint64(json_get(t->request, "pid"), &pid) < 0 || pid > INT32_MAX)
		return sbx_fail(&t->err, SBX_E_SYSTEM, EINVAL, "understand the request");
	rc = sd_bus_call_method(t->bus, SYSTEMD, MANAGER_PATH, MANAGER, "AttachProcessesToUnit",
				&why, NULL, "ssau", t->unit, below->text, 1, (uint32_t)pid);
	if (rc < 0)
		fail_call(t, "move a process into scope", rc, &why);
	sd_bus_error_free(&why);
	return rc < 0 ? rc : 0;
}

/* ---- one request ---- */

static const struct {
	const char *name;
	int (*run)(struct talk *t);
} calls[] = {
	{"start", start},
	{"set", set},
	{"stop", stop},
	{"attach", attach},
};

static int serve(struct talk *t)
{
	const struct json_node *call = json_get(t->request, "call");
	const struct json_node *unit = json_get(t->request, "unit");
	int rc;

	if (!call || call->type != JSON_STRING || !unit || unit->type != JSON_STRING)
		return sbx_fail(&t->err, SBX_E_SYSTEM, EINVAL, "understand the request");
	t->unit = unit->text;
	rc = connect_manager(t);
	drop_files();
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(calls); i++)
		if (strcmp(call->text, calls[i].name) == 0)
			return calls[i].run(t);
	return rc < 0 ? rc : sbx_fail(&t->err, SBX_E_SYSTEM, EINVAL, "understand the request");
}

static int answer(const struct talk *t, int rc)
{
	cleanup_buf struct buf out = BUF_INIT;
	struct json_writer w;

	json_writer_init(&w, &out, 0);
	json_begin_object(&w, NULL);
	if (rc < 0) {
		json_write_string(&w, "error", t->err.message);
		json_write_int(&w, "errno", t->err.errnum);
	}
	json_end_object(&w);
	return buf_failed(&out) ? -ENOMEM : fd_write_all(STDOUT_FILENO, out.data, out.len);
}

int main(void)
{
	cleanup_arena struct arena arena;
	cleanup_buf struct buf text = BUF_INIT;
	struct talk t = {0};
	struct json_node *root = NULL;
	int rc;

	drop_rights();
	arena_init(&arena, ARENA_MAX);
	rc = fd_read_all(STDIN_FILENO, REQUEST_MAX, &text);
	if (rc < 0)
		sbx_fail(&t.err, SBX_E_SYSTEM, -rc, "read the request");
	else
		rc = json_parse(&arena, "request", text.data ? text.data : "", text.len, &limits,
				&root, &t.err);
	t.request = root;
	if (rc == 0)
		rc = serve(&t);
	rc = answer(&t, rc);
	sd_bus_unref(t.bus);
	return rc < 0;
}
