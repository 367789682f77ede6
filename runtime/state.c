/*
 * Theory of operation: the state is one small compact JSON object, written whole and replaced
 * atomically, so a reader sees either the old or the new one and needs no lock. It is read by the
 * same tables as every other document, but closed: what this version did not write it does not
 * read. The status is never stored, since a process can end without telling anybody; it is
 * computed from what can be seen: that the payload runs, from the name of its process as well,
 * since a start may end, or find the store full, before it can say so.
 */
#include "runtime/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/spawn.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "spec/decode.h"
#include "spec/json_write.h"

#define STATE_FILE    "state"
#define STATE_VERSION 1
#define PID_LIMIT     4194304 /* proc(5), pid_max */

static const struct json_limits limits = {
	.max_bytes = STATE_BYTES_MAX,
	.max_depth = 8,
	.max_values = 64 << 10,
	.max_string_bytes = STATE_BYTES_MAX,
};

/* The file as the decoder fills it; from here it is copied into the caller's struct. */
struct document {
	const char *id;
	uint64_t version, pid, creator_pid, monitor_pid;
	struct container_state state;
};

/* ---- reading ---- */

static int check_id(struct decoder *d, const struct json_node *value)
{
	if (store_check_id(value->text, NULL) < 0)
		return decode_fail(d, value, "is \"%s\", want a container id", value->text);
	return 0;
}

static int read_cgroup(struct decoder *d, const struct json_node *value, void *member)
{
	if (value->type != JSON_OBJECT || cgroup_read(value, member) < 0)
		return decode_fail(d, value, "is no cgroup");
	return 0;
}

#define MEMBER(field) .offset = offsetof(struct document, field), .required = true
#define PID_RANGE     .max = PID_LIMIT

static const struct decode_row rows[] = {
	{.name = "version",
	 .kind = DECODE_U64,
	 MEMBER(version),
	 .min = STATE_VERSION,
	 .max = STATE_VERSION},
	{.name = "id", .kind = DECODE_STRING, MEMBER(id), .check = check_id},
	{.name = "ociVersion", .kind = DECODE_STRING, MEMBER(state.oci_version)},
	{.name = "pid", .kind = DECODE_U64, MEMBER(pid), PID_RANGE},
	{.name = "pidStartTicks", .kind = DECODE_U64, MEMBER(state.pid_start_ticks)},
	{.name = "creatorPid", .kind = DECODE_U64, MEMBER(creator_pid), PID_RANGE},
	{.name = "creatorStartTicks", .kind = DECODE_U64, MEMBER(state.creator_start_ticks)},
	{.name = "bundle",
	 .kind = DECODE_STRING,
	 MEMBER(state.bundle),
	 .check = decode_check_absolute},
	{.name = "rootfs",
	 .kind = DECODE_STRING,
	 MEMBER(state.rootfs),
	 .check = decode_check_absolute},
	{.name = "created", .kind = DECODE_STRING, MEMBER(state.created)},
	{.name = "owner",
	 .kind = DECODE_STRING,
	 .offset = offsetof(struct document, state.owner)}, /* may be empty */
	{.name = "started", .kind = DECODE_BOOL, MEMBER(state.started)},
	{.name = "confined", .kind = DECODE_BOOL, MEMBER(state.confined)},
	{.name = "landlockSeen",
	 .kind = DECODE_BOOL,
	 .offset = offsetof(struct document, state.landlock_seen)}, /* not of older releases */
	{.name = "rung",
	 .kind = DECODE_U64,
	 MEMBER(state.rung),
	 .min = RUNG_NAMESPACES,
	 .max = RUNG_SHARED},
	{.name = "terminal", .kind = DECODE_BOOL, MEMBER(state.has_terminal)},
	{.name = "poststart", .kind = DECODE_BOOL, MEMBER(state.has_poststart)},
	{.name = "poststop", .kind = DECODE_BOOL, MEMBER(state.has_poststop)},
	{.name = "intelRdt", .kind = DECODE_BOOL, MEMBER(state.has_intel_rdt)},
	{.name = "graceMs", .kind = DECODE_U64, MEMBER(state.grace_ms)},
	{.name = "deadlineMs", .kind = DECODE_U64, MEMBER(state.deadline_ms)},
	{.name = "carveOuts", .kind = DECODE_BOOL, MEMBER(state.has_carve_outs)},
	{.name = "monitorPid", .kind = DECODE_U64, MEMBER(monitor_pid), PID_RANGE},
	{.name = "monitorStartTicks", .kind = DECODE_U64, MEMBER(state.monitor_start_ticks)},
	{.name = "cgroup", .kind = DECODE_CUSTOM, MEMBER(state.cgroup), .custom = read_cgroup},
	{.name = "annotations", .kind = DECODE_MAP, MEMBER(state.annotations)},
};

static const struct decode_table table = {DECODE_TABLE(rows, struct document), .closed = true};

int state_parse(struct arena *arena, const char *data, size_t len, struct container_state *ret,
		struct sbx_error *err)
{
	struct decoder d = {
		.arena = arena,
		.what = STATE_FILE,
		.code = SBX_E_INVALID_STATE_FILE,
		.err = err,
	};
	struct document *document = arena_alloc(arena, sizeof(*document));
	struct json_node *root = NULL;
	int rc;

	if (!document)
		return decode_no_memory(&d);
	rc = json_parse(arena, STATE_FILE, data, len, &limits, &root, err);
	if (rc < 0) {
		if (err && err->code == SBX_E_INVALID_JSON)
			err->code = SBX_E_INVALID_STATE_FILE;
		return rc;
	}
	rc = decode_object(&d, root, &table, document);
	if (rc < 0)
		return rc;
	memcpy(document->state.id, document->id, strlen(document->id) + 1);
	document->state.pid = (pid_t)document->pid;
	document->state.creator_pid = (pid_t)document->creator_pid;
	document->state.monitor_pid = (pid_t)document->monitor_pid;
	if (!document->state.owner)
		document->state.owner = "";
	*ret = document->state;
	return 0;
}

int state_load(struct arena *arena, int container_fd, struct container_state *ret,
	       struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	int rc = store_read_file(container_fd, STATE_FILE, STATE_BYTES_MAX, &text, err);
	struct stat st;

	/* Without a lock the container may be removed between our open and here. */
	if (rc == -ENOENT && fstat(container_fd, &st) == 0 && st.st_nlink == 0)
		return sbx_fail(err, SBX_E_CONTAINER_UNKNOWN, 0, "container does not exist");
	if (rc < 0)
		return rc;
	/* The tree is built from copies, so text may go. */
	return state_parse(arena, text.data ? text.data : "", text.len, ret, err);
}

/* ---- writing ---- */

static void write_annotations(struct json_writer *w, const struct oci_key_values *annotations)
{
	json_begin_object(w, "annotations");
	for (size_t i = 0; i < annotations->n; i++)
		json_write_string(w, annotations->v[i].key, annotations->v[i].value);
	json_end_object(w);
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

void state_write(struct json_writer *w, const struct container_state *state)
{
	json_begin_object(w, NULL);
	json_write_uint(w, "version", STATE_VERSION);
	json_write_string(w, "id", state->id);
	json_write_string(w, "ociVersion", or_empty(state->oci_version));
	json_write_uint(w, "pid", (uint64_t)state->pid);
	json_write_uint(w, "pidStartTicks", state->pid_start_ticks);
	json_write_uint(w, "creatorPid", (uint64_t)state->creator_pid);
	json_write_uint(w, "creatorStartTicks", state->creator_start_ticks);
	json_write_string(w, "bundle", or_empty(state->bundle));
	json_write_string(w, "rootfs", or_empty(state->rootfs));
	json_write_string(w, "created", or_empty(state->created));
	json_write_string(w, "owner", or_empty(state->owner));
	json_write_bool(w, "started", state->started);
	json_write_bool(w, "confined", state->confined);
	json_write_bool(w, "landlockSeen", state->landlock_seen);
	json_write_uint(w, "rung", state->rung ? state->rung : RUNG_NAMESPACES);
	json_write_bool(w, "terminal", state->has_terminal);
	json_write_bool(w, "poststart", state->has_poststart);
	json_write_bool(w, "poststop", state->has_poststop);
	json_write_bool(w, "intelRdt", state->has_intel_rdt);
	json_write_uint(w, "graceMs", state->grace_ms);
	json_write_uint(w, "deadlineMs", state->deadline_ms);
	json_write_bool(w, "carveOuts", state->has_carve_outs);
	json_write_uint(w, "monitorPid", (uint64_t)state->monitor_pid);
	json_write_uint(w, "monitorStartTicks", state->monitor_start_ticks);
	cgroup_write(w, "cgroup", &state->cgroup);
	write_annotations(w, &state->annotations);
	json_end_object(w);
}

int state_save(int container_fd, const struct container_state *state, struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	struct json_writer w;
	int rc;

	json_writer_init(&w, &text, 0);
	state_write(&w, state);
	if (buf_failed(&text))
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "store the state");
	if (text.len > STATE_BYTES_MAX)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, EFBIG,
				"store the state, of %zu bytes with the annotations", text.len);
	rc = fd_replace_file_at(container_fd, STATE_FILE, text.data, text.len, 0600);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, rc, "store the state") : 0;
}

/* ---- status ---- */

const char *status_name(enum container_status status)
{
	static const char *const names[] = {
		[STATUS_CREATING] = "creating", [STATUS_CREATED] = "created",
		[STATUS_RUNNING] = "running",	[STATUS_PAUSED] = "paused",
		[STATUS_STOPPED] = "stopped",
	};

	return names[status];
}

/* A name that cannot be read says nothing; one that was stored as started may bear any. */
static bool is_payload(const struct container_state *state, const char *name)
{
	return state->started || (name[0] && strcmp(name, SPAWN_NAME) != 0);
}

static bool waits_for_start(int container_fd)
{
	struct stat st;

	return fstatat(container_fd, STORE_START_SOCKET, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISSOCK(st.st_mode);
}

bool state_is_started(const struct container_state *state)
{
	char name[PROC_NAME_BYTES];

	return state->pid > 0 && proc_find(state->pid, state->pid_start_ticks, name) &&
	       is_payload(state, name);
}

enum container_status state_status(int container_fd, const struct container_state *state)
{
	char name[PROC_NAME_BYTES];
	bool payload;

	if (state->pid > 0 && !proc_find(state->pid, state->pid_start_ticks, name))
		return STATUS_STOPPED;
	payload = state->pid > 0 && is_payload(state, name);
	if (payload || (state->pid > 0 && waits_for_start(container_fd))) {
		if (cgroup_is_frozen(&state->cgroup))
			return STATUS_PAUSED;
		return payload ? STATUS_RUNNING : STATUS_CREATED;
	}
	if (state->creator_pid > 0 && proc_is_alive(state->creator_pid, state->creator_start_ticks))
		return STATUS_CREATING;
	return STATUS_STOPPED;
}

void state_write_oci(struct json_writer *w, const char *key, const struct container_state *state,
		     enum container_status status, bool extended)
{
	json_begin_object(w, key);
	json_write_string(w, "ociVersion", or_empty(state->oci_version));
	json_write_string(w, "id", state->id);
	json_write_string(w, "status", status_name(status));
	json_write_int(w, "pid", status == STATUS_STOPPED ? 0 : state->pid);
	json_write_string(w, "bundle", or_empty(state->bundle));
	if (extended) {
		json_write_string(w, "rootfs", or_empty(state->rootfs));
		json_write_string(w, "created", or_empty(state->created));
		json_write_string(w, "owner", or_empty(state->owner));
	}
	if (state->annotations.n)
		write_annotations(w, &state->annotations);
	json_end_object(w);
}
