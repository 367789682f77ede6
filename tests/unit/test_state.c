/* The state file and the status computed from it. */
#include "tests/unit/helper.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "backends/linux/spawn.h"
#include "runtime/base/proc.h"
#include "runtime/store.h"
#include "spec/json_write.h"

#define ARENA_BYTES ((size_t)64 << 20)

struct fixture {
	char path[256];
	int fd;
	struct arena arena;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	arena_init(&f->arena, ARENA_BYTES);
	f->fd = make_temporary(f->path);
	return f->fd < 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	arena_release(&f->arena);
	remove_temporary(f->path);
	free(f);
	return 0;
}

static struct container_state sample(void)
{
	static struct oci_key_value annotations[] = {
		{"dev.sbx.profile", "{\"version\": 1, \"x\": \"\303\244\\n\"}"},
		{"empty", ""},
	};
	struct container_state s = {
		.id = "a-1",
		.oci_version = "1.3.0",
		.pid = 4242,
		.pid_start_ticks = UINT64_MAX,
		.creator_pid = 41,
		.creator_start_ticks = 7,
		.bundle = "/b \"q\"",
		.rootfs = "/b/rootfs",
		.created = "2026-01-02T03:04:05.000000006Z",
		.owner = "",
		.started = true,
		.confined = true,
		.rung = RUNG_SHARED,
		.has_poststop = true,
		.annotations = {annotations, 2},
	};

	s.cgroup.mode = CGROUP_MODE_V1;
	s.cgroup.manager = CGROUP_MANAGER_CGROUPFS;
	s.cgroup.n = 1;
	strcpy(s.cgroup.v[0].controllers, "cpu,cpuacct");
	strcpy(s.cgroup.v[0].mount, "/sys/fs/cgroup/cpu");
	strcpy(s.cgroup.v[0].path, "/sbx/a-1");
	s.cgroup.v[0].made = true;
	return s;
}

static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	struct container_state s = sample(), got = {0};
	struct sbx_error err = {0};

	assert_int_equal(state_save(f->fd, &s, &err), 0);
	assert_int_equal(state_load(&f->arena, f->fd, &got, &err), 0);
	assert_string_equal(got.id, s.id);
	assert_string_equal(got.oci_version, s.oci_version);
	assert_int_equal(got.pid, s.pid);
	assert_true(got.pid_start_ticks == s.pid_start_ticks);
	assert_int_equal(got.creator_pid, s.creator_pid);
	assert_true(got.creator_start_ticks == s.creator_start_ticks);
	assert_string_equal(got.bundle, s.bundle);
	assert_string_equal(got.rootfs, s.rootfs);
	assert_string_equal(got.created, s.created);
	assert_string_equal(got.owner, "");
	assert_true(got.started && got.confined && got.has_poststop);
	assert_int_equal(got.rung, RUNG_SHARED);
	assert_false(got.has_terminal || got.has_poststart);
	assert_int_equal(got.cgroup.n, 1);
	assert_int_equal(got.cgroup.mode, CGROUP_MODE_V1);
	assert_string_equal(got.cgroup.v[0].path, "/sbx/a-1");
	assert_int_equal(got.annotations.n, 2);
	assert_string_equal(got.annotations.v[0].key, s.annotations.v[0].key);
	assert_string_equal(got.annotations.v[0].value, s.annotations.v[0].value);
	assert_string_equal(got.annotations.v[1].value, "");
}

/* The compact text of the sample. */
static void sample_text(struct buf *out)
{
	struct container_state s = sample();
	struct json_writer w;

	json_writer_init(&w, out, 0);
	state_write(&w, &s);
	assert_false(buf_failed(out));
}

/* Parse the sample with the first `from` replaced by `to`. */
static int parse_changed(struct fixture *f, const char *from, const char *to, struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT, changed = BUF_INIT;
	struct container_state got;
	const char *at;

	sample_text(&text);
	at = strstr(text.data, from);
	assert_non_null(at);
	buf_append(&changed, text.data, (size_t)(at - text.data));
	buf_puts(&changed, to);
	buf_puts(&changed, at + strlen(from));
	return state_parse(&f->arena, changed.data, changed.len, &got, err);
}

static void test_strict(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *from, *to;
	} rows[] = {
		{"{\"version\":1", "{\"version\":2"},
		{"{\"version\":1,", "{"},
		{"\"version\":1", "\"version\":\"1\""},
		{"\"version\":1", "\"unknown\":1,\"version\":1"},
		{"\"version\":1", "\"version\":1,\"version\":1"},
		{"\"id\":\"a-1\",", ""},
		{"\"id\":\"a-1\"", "\"id\":\"../a\""},
		{"\"id\":\"a-1\"", "\"id\":\"\""},
		{"\"id\":\"a-1\"", "\"id\":null"},
		{"\"pid\":4242", "\"pid\":-1"},
		{"\"pid\":4242", "\"pid\":4194305"},
		{"\"pid\":4242", "\"pid\":4294967297"},
		{"\"pid\":4242", "\"pid\":4242.0"},
		{"\"pid\":4242", "\"pid\":\"4242\""},
		{"\"pidStartTicks\":18446744073709551615",
		 "\"pidStartTicks\":18446744073709551616"},
		{"\"bundle\":\"/b", "\"bundle\":\"b"},
		{"\"rootfs\":\"/b", "\"rootfs\":\"b"},
		{"\"started\":true", "\"started\":1"},
		{"\"started\":true,", ""},
		{"\"/sbx/a-1\"", "\"/\""},
		{"\"/sbx/a-1\"", "\"/sbx/../..\""},
		{"\"manager\":\"cgroupfs\"", "\"manager\":\"other\""},
		{"\"cgroup\":{", "\"cgroup\":7,\"cgroup2\":{"},
		{"\"annotations\":{", "\"annotations\":[],\"x\":{"},
		{"\"empty\":\"\"", "\"empty\":3"},
		{"}}", "}}x"},
		{"}}", "}"},
	};
	struct sbx_error err = {0};

	assert_int_equal(parse_changed(f, "\"version\":1", " \"version\" : 1", &err), 0);
	assert_int_equal(parse_changed(f, "\"pid\":4242", "\"pid\":4194304", &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		err = (struct sbx_error){0};
		if (parse_changed(f, rows[i].from, rows[i].to, &err) >= 0)
			fail_msg("%s was taken", rows[i].to);
		if (err.code != SBX_E_INVALID_STATE_FILE || err.message[0] == '\0')
			fail_msg("%s: code %s", rows[i].to, sbx_code_name(err.code));
	}
}

static void test_limits(void **state)
{
	struct fixture *f = *state;
	struct container_state s = sample(), got;
	struct oci_key_value large = {"k", NULL};
	struct sbx_error err = {0};
	size_t len = STATE_BYTES_MAX;
	char *text = malloc(len + 1);

	memset(text, 'x', len);
	text[len] = '\0';
	large.value = text;
	s.annotations = (struct oci_key_values){&large, 1};
	assert_int_equal(state_save(f->fd, &s, &err), -EFBIG);
	assert_int_equal(err.code, SBX_E_RESOURCE_LIMIT);
	assert_int_equal(faccessat(f->fd, "state", F_OK, 0), -1);
	/* The largest that is written is read again. */
	text[len - 2048] = '\0';
	assert_int_equal(state_save(f->fd, &s, &err), 0);
	assert_int_equal(state_load(&f->arena, f->fd, &got, &err), 0);
	assert_int_equal(strlen(got.annotations.v[0].value), len - 2048);
	/* A planted larger one is not. */
	text[len - 2048] = 'x';
	assert_int_equal(write_file_at(f->fd, "state", text), 0);
	assert_true(ftruncate(openat(f->fd, "state", O_WRONLY), (off_t)len + 1) == 0);
	assert_int_equal(state_load(&f->arena, f->fd, &got, &err), -EFBIG);
	assert_int_equal(err.code, SBX_E_INVALID_STATE_FILE);
	free(text);
}

static void test_load_failures(void **state)
{
	struct fixture *f = *state;
	struct container_state got = {.pid = 77};
	struct sbx_error err = {0};
	int gone;

	assert_int_equal(state_load(&f->arena, f->fd, &got, &err), -ENOENT);
	assert_int_equal(err.code, SBX_E_INVALID_STATE_FILE);
	assert_int_equal(write_file_at(f->fd, "state", ""), 0);
	assert_true(state_load(&f->arena, f->fd, &got, &err) < 0);
	assert_int_equal(err.code, SBX_E_INVALID_STATE_FILE);
	assert_int_equal(write_file_at(f->fd, "state", "[]"), 0);
	assert_true(state_load(&f->arena, f->fd, &got, &err) < 0);
	assert_int_equal(err.code, SBX_E_INVALID_STATE_FILE);
	assert_int_equal(got.pid, 77);
	/* Removed while it was read without a lock. */
	assert_int_equal(mkdirat(f->fd, "gone", 0700), 0);
	gone = openat(f->fd, "gone", O_RDONLY | O_DIRECTORY);
	assert_int_equal(unlinkat(f->fd, "gone", AT_REMOVEDIR), 0);
	assert_true(state_load(&f->arena, gone, &got, &err) < 0);
	assert_int_equal(err.code, SBX_E_CONTAINER_UNKNOWN);
	close(gone);
}

static pid_t start_child(const char *name)
{
	pid_t pid;

	/* As the runtime does: the child bears the name from its beginning. */
	prctl(PR_SET_NAME, name);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	prctl(PR_SET_NAME, "test_state");
	return pid;
}

static void end_child(pid_t pid)
{
	siginfo_t info;

	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED);
}

static void listen_at(struct fixture *f)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.90s/start", f->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
}

static void test_status(void **state)
{
	struct fixture *f = *state;
	struct container_state s = {.id = "x"};
	pid_t creator = start_child("sbx-runtime"), pid = start_child(SPAWN_NAME);
	siginfo_t info;

	assert_int_equal(state_status(f->fd, &s), STATUS_STOPPED);
	s.creator_pid = creator;
	assert_int_equal(proc_start_time(creator, &s.creator_start_ticks), 0);
	assert_int_equal(state_status(f->fd, &s), STATUS_CREATING);
	s.creator_start_ticks++; /* the pid was given to another process */
	assert_int_equal(state_status(f->fd, &s), STATUS_STOPPED);
	s.creator_start_ticks--;
	/* The first process is there, hooks run. */
	s.pid = pid;
	assert_int_equal(proc_start_time(pid, &s.pid_start_ticks), 0);
	assert_int_equal(state_status(f->fd, &s), STATUS_CREATING);
	assert_int_equal(write_file_at(f->fd, "start", ""), 0); /* no socket */
	assert_int_equal(state_status(f->fd, &s), STATUS_CREATING);
	assert_int_equal(unlinkat(f->fd, "start", 0), 0);
	listen_at(f);
	assert_int_equal(state_status(f->fd, &s), STATUS_CREATED);
	s.started = true;
	assert_int_equal(state_status(f->fd, &s), STATUS_RUNNING);
	s.pid_start_ticks++;
	assert_int_equal(state_status(f->fd, &s), STATUS_STOPPED);
	s.pid_start_ticks--;
	/* A create that died between its first process and the socket. */
	s.started = false;
	assert_int_equal(unlinkat(f->fd, "start", 0), 0);
	kill(creator, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)creator, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(state_status(f->fd, &s), STATUS_STOPPED);
	s.started = true;
	assert_int_equal(state_status(f->fd, &s), STATUS_RUNNING);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(state_status(f->fd, &s), STATUS_STOPPED); /* a zombie */
	waitid(P_PID, (id_t)pid, &info, WEXITED);
	waitid(P_PID, (id_t)creator, &info, WEXITED);
	assert_int_equal(state_status(f->fd, &s), STATUS_STOPPED);
}

/* What start could not store, or was killed before it stored it, the process's name tells. */
static void test_status_by_name(void **state)
{
	struct fixture *f = *state;
	struct container_state s = {.id = "x"};
	pid_t waiting = start_child(SPAWN_NAME), payload = start_child("payload");
	pid_t creator = start_child("sbx-runtime");

	s.creator_pid = creator;
	assert_int_equal(proc_start_time(creator, &s.creator_start_ticks), 0);
	listen_at(f);
	s.pid = waiting;
	assert_int_equal(proc_start_time(waiting, &s.pid_start_ticks), 0);
	assert_int_equal(state_status(f->fd, &s), STATUS_CREATED);
	assert_false(state_is_started(&s));
	/* Stored as started it may call itself whatever it likes. */
	s.started = true;
	assert_int_equal(state_status(f->fd, &s), STATUS_RUNNING);
	assert_true(state_is_started(&s));
	s.started = false;
	s.pid = payload;
	assert_int_equal(proc_start_time(payload, &s.pid_start_ticks), 0);
	assert_int_equal(state_status(f->fd, &s), STATUS_RUNNING);
	assert_true(state_is_started(&s));
	/* Neither the socket nor its creator is asked. */
	assert_int_equal(unlinkat(f->fd, "start", 0), 0);
	assert_int_equal(state_status(f->fd, &s), STATUS_RUNNING);
	end_child(creator);
	assert_int_equal(state_status(f->fd, &s), STATUS_RUNNING);
	end_child(payload);
	assert_int_equal(state_status(f->fd, &s), STATUS_STOPPED);
	assert_false(state_is_started(&s));
	end_child(waiting);
}

static void test_oci_form(void **state)
{
	struct container_state s = sample();
	cleanup_buf struct buf out = BUF_INIT;
	struct json_writer w;

	(void)state;
	json_writer_init(&w, &out, 0);
	state_write_oci(&w, NULL, &s, STATUS_RUNNING, false);
	assert_string_equal(out.data,
			    "{\"ociVersion\":\"1.3.0\",\"id\":\"a-1\",\"status\":\"running\","
			    "\"pid\":4242,\"bundle\":\"/b \\\"q\\\"\",\"annotations\":{"
			    "\"dev.sbx.profile\":\"{\\\"version\\\": 1, \\\"x\\\": "
			    "\\\"\303\244\\\\n\\\"}\",\"empty\":\"\"}}");
	buf_reset(&out);
	s.annotations.n = 0;
	s.owner = "root";
	json_writer_init(&w, &out, 0);
	state_write_oci(&w, NULL, &s, STATUS_STOPPED, true);
	assert_string_equal(out.data,
			    "{\"ociVersion\":\"1.3.0\",\"id\":\"a-1\",\"status\":\"stopped\","
			    "\"pid\":0,\"bundle\":\"/b \\\"q\\\"\",\"rootfs\":\"/b/rootfs\","
			    "\"created\":\"2026-01-02T03:04:05.000000006Z\",\"owner\":\"root\"}");
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(status_name(STATUS_CREATING), "creating");
	assert_string_equal(status_name(STATUS_CREATED), "created");
	assert_string_equal(status_name(STATUS_RUNNING), "running");
	assert_string_equal(status_name(STATUS_PAUSED), "paused");
	assert_string_equal(status_name(STATUS_STOPPED), "stopped");
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(test_round_trip),	T(test_strict),
		T(test_limits),		T(test_load_failures),
		T(test_status),		cmocka_unit_test(test_oci_form),
		T(test_status_by_name), cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
