/* Hooks: what they get, what they cannot keep from ending, what their failure says. */
#include "tests/unit/helper.h"

#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "hooks/hooks.h"
#include "runtime/base/log.h"

#define STATE "{\"ociVersion\":\"1.3.0\",\"id\":\"x\",\"status\":\"creating\"}"

struct fixture {
	char path[256];
	int fd;
	int fds_before;
	char out[300]; /* what hooks write to */
	int leaves;
	bool guarded;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->fd = make_temporary(f->path);
	snprintf(f->out, sizeof(f->out), "%s/out", f->path);
	setenv("OUT", f->out, 1);
	f->fds_before = count_fds();
	alarm(60);
	return f->fd < 0;
}

static int setup_guarded(void **state)
{
	int rc = setup(state);

	((struct fixture *)*state)->guarded = true;
	return rc;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	int left = count_fds();

	alarm(0);
	assert_int_equal(left, f->fds_before);
	close(f->fd);
	remove_temporary(f->path);
	free(f);
	return 0;
}

struct script {
	char *args[5];
	char *env[3];
	struct oci_hook hook;
};

/* A hook that runs a shell command, its environment OUT=... */
static struct oci_hook *shell_hook(struct script *s, struct fixture *f, const char *command)
{
	static char out[320];

	snprintf(out, sizeof(out), "OUT=%s", f->out);
	*s = (struct script){.args = {"own-zero", "-c", (char *)command}, .env = {out}};
	s->hook = (struct oci_hook){
		.path = "/bin/sh",
		.args = {s->args, 3},
		.env_set = true,
		.env = {s->env, 1},
	};
	return &s->hook;
}

static void note_leave(void *data)
{
	((struct fixture *)data)->leaves++;
}

static struct hook_context context_of(struct fixture *f)
{
	return (struct hook_context){
		.state_json = STATE,
		.state_len = sizeof(STATE) - 1,
		.cwd_fd = -1,
		.leave = note_leave,
		.data = f,
		.guarded = f->guarded,
	};
}

static int run_one(struct oci_hook *hook, const struct hook_context *context, struct sbx_error *err)
{
	struct oci_hooks hooks = {0};

	hooks.v[HOOK_CREATE_RUNTIME] = hook;
	hooks.n[HOOK_CREATE_RUNTIME] = 1;
	return hooks_run(&hooks, HOOK_CREATE_RUNTIME, context, err);
}

/* What the hook wrote, NULL for no file; freed by the caller. */
static char *output(struct fixture *f)
{
	struct buf buf = BUF_INIT;

	if (fd_read_file_at(f->fd, "out", 1 << 20, &buf) < 0) {
		buf_release(&buf);
		return NULL;
	}
	return buf.data;
}

static void assert_output(struct fixture *f, const char *want)
{
	cleanup_free char *got = output(f);

	assert_non_null(got);
	assert_string_equal(got, want);
}

static int64_t elapsed_ms(const struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

static void test_state_and_args(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	struct script s;

	assert_int_equal(run_one(shell_hook(&s, f, "cat >$OUT"), &context, NULL), 0);
	assert_output(f, STATE);
	assert_int_equal(run_one(shell_hook(&s, f, "echo $0 >$OUT"), &context, NULL), 0);
	assert_output(f, "own-zero\n");
	/* Without args the path stands in for args[0]. */
	assert_int_equal(write_file_at(f->fd, "hook", "#!/bin/sh\necho $0 $# >out\n"), 0);
	assert_int_equal(fchmodat(f->fd, "hook", 0755, 0), 0);
	{
		char path[300], want[320];
		struct oci_hook bare = {.path = path};

		context.cwd_fd = f->fd;
		snprintf(path, sizeof(path), "%s/hook", f->path);
		snprintf(want, sizeof(want), "%s 0\n", path);
		assert_int_equal(run_one(&bare, &context, NULL), 0);
		assert_output(f, want);
	}
	assert_int_equal(f->leaves, 3);
}

static void test_environment(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	char *defaults[] = {"FROM=default", NULL};
	struct script s;
	struct oci_hook *hook = shell_hook(&s, f, "cat /proc/self/environ >/dev/fd/9");
	char path[300];

	snprintf(path, sizeof(path), "cat /proc/self/environ >%.255s", f->out);
	s.args[2] = path;
	s.env[0] = "A=own";
	assert_int_equal(run_one(hook, &context, NULL), 0);
	{
		cleanup_free char *got = output(f);

		assert_non_null(strstr(got, "A=own"));
	}
	context.default_env = defaults;
	hook->env_set = false;
	assert_int_equal(run_one(hook, &context, NULL), 0);
	{
		cleanup_free char *got = output(f);

		assert_non_null(strstr(got, "FROM=default"));
		assert_null(strstr(got, "A=own"));
	}
	/* An env that is set and empty is empty; nothing of ours (OUT, PATH) leaks in. */
	hook->env_set = true;
	hook->env.n = 0;
	context.default_env = NULL;
	for (int round = 0; round < 3; round++) {
		assert_int_equal(run_one(hook, &context, NULL), 0);
		{
			cleanup_free char *got = output(f);

			assert_null(strstr(got, "OUT="));
			assert_null(strstr(got, "A=own"));
			assert_null(strstr(got, "FROM="));
		}
		if (round == 0)
			hook->env_set = false;
		if (round == 1) {
			hook->env_set = true;
			hook->env.n = 1;
			context.default_env = defaults;
			context.force_empty_env = true;
		}
	}
}

static void test_large_state_unread(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	struct timespec start;
	struct script s;
	size_t len = 1 << 20;
	cleanup_free char *big = malloc(len);

	memset(big, 'x', len);
	context.state_json = big;
	context.state_len = len;
	clock_gettime(CLOCK_MONOTONIC, &start);
	assert_int_equal(run_one(shell_hook(&s, f, "exit 0"), &context, NULL), 0);
	assert_true(elapsed_ms(&start) < 10000);
	assert_int_equal(run_one(shell_hook(&s, f, "wc -c >$OUT"), &context, NULL), 0);
	assert_output(f, "1048576\n");
}

static void test_failure_texts(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	struct sbx_error err = {0};
	struct script s;
	struct oci_hook *hook;

	assert_true(run_one(shell_hook(&s, f, "echo no >&2; echo really >&2; exit 3"), &context,
			    &err) < 0);
	assert_int_equal(err.code, SBX_E_HOOK_FAILED);
	assert_string_equal(err.message,
			    "run createRuntime hook \"/bin/sh\": exit status 3: no\\nreally");
	assert_true(run_one(shell_hook(&s, f, "exit 1"), &context, &err) < 0);
	assert_string_equal(err.message, "run createRuntime hook \"/bin/sh\": exit status 1");
	assert_true(run_one(shell_hook(&s, f, "kill -9 $$"), &context, &err) < 0);
	assert_string_equal(err.message, "run createRuntime hook \"/bin/sh\": killed by signal 9");
	hook = shell_hook(&s, f, "");
	hook->path = "/absent/hook";
	assert_int_equal(run_one(hook, &context, &err), -ENOENT);
	assert_string_equal(err.message, "run createRuntime hook \"/absent/hook\": execute: "
					 "no such file or directory");
	assert_int_equal(err.code, SBX_E_HOOK_FAILED);
	hook->path = "/etc/passwd";
	assert_int_equal(run_one(hook, &context, &err), -EACCES);
	assert_non_null(strstr(err.message, "execute: permission denied"));
	assert_int_equal(f->leaves, 5);
}

/* A hook that never stops talking neither blocks nor fills memory; its end is what is shown. */
static void test_stderr_flood(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	struct sbx_error err = {0};
	struct script s;

	assert_true(run_one(shell_hook(&s, f,
				       "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2; "
				       "echo 'the \033[31mend' >&2; exit 1"),
			    &context, &err) < 0);
	assert_string_equal(err.message + strlen(err.message) - 14, "he \\x1b[31mend");
	assert_true(strlen(err.message) < 600);
	assert_int_equal(
		run_one(shell_hook(&s, f, "head -c 3000000 /dev/zero; exit 0"), &context, &err), 0);
}

/* Reaped by init at its leisure; a zombie has no command line. */
static bool is_gone(pid_t pid)
{
	for (int tries = 0; tries < 250; tries++) {
		char name[64], byte;
		ssize_t n = 0;
		int fd;

		snprintf(name, sizeof(name), "/proc/%d/cmdline", (int)pid);
		fd = open(name, O_RDONLY);
		if (fd >= 0) {
			n = read(fd, &byte, 1);
			close(fd);
		}
		if (n <= 0)
			return true;
		usleep(20000);
	}
	return false;
}

static void test_timeout_kills_the_group(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	struct sbx_error err = {0};
	struct timespec start;
	struct script s;
	struct oci_hook *hook = shell_hook(&s, f,
					   "sleep 300 & echo $! >$OUT; echo working >&2; "
					   "trap '' TERM; while :; do sleep 300; done");

	hook->timeout_s = (struct oci_opt_i64){true, 1};
	clock_gettime(CLOCK_MONOTONIC, &start);
	assert_true(run_one(hook, &context, &err) < 0);
	assert_in_range(elapsed_ms(&start), 900, 20000);
	assert_string_equal(err.message, "run createRuntime hook \"/bin/sh\": timed out after 1 s, "
					 "killed: working");
	{
		cleanup_free char *pid = output(f);

		assert_true(is_gone(atoi(pid)));
	}
	assert_int_equal(f->leaves, 1);
	/* A hook that is in time is not disturbed, and the longest timeout does not wrap. */
	hook = shell_hook(&s, f, "exit 0");
	hook->timeout_s = (struct oci_opt_i64){true, INT64_MAX};
	assert_int_equal(run_one(hook, &context, &err), 0);
}

/* A process that lost its parent and has a session of its own, one of the hook's group, the hook.
 */
#define TREE                                                                                       \
	"(setsid sleep 300 & echo $! >>$OUT); sleep 300 & echo $! >>$OUT; echo $$ >>$OUT; sleep "  \
	"300"

static void read_tree(struct fixture *f, pid_t pids[3])
{
	for (int tries = 0; tries < 500; tries++, usleep(10000)) {
		cleanup_free char *text = output(f);

		if (text && sscanf(text, "%d %d %d", &pids[0], &pids[1], &pids[2]) == 3)
			return;
	}
	fail_msg("the hook does not run");
}

/* Only the guard knows of what left the hook's group. */
static void test_timeout_and_the_tree(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	struct script s;
	struct oci_hook *hook = shell_hook(&s, f, TREE);
	pid_t pids[3];

	hook->timeout_s = (struct oci_opt_i64){true, 1};
	assert_true(run_one(hook, &context, NULL) < 0);
	read_tree(f, pids);
	assert_true(is_gone(pids[1]) && is_gone(pids[2]));
	if (f->guarded)
		assert_true(is_gone(pids[0]));
	else
		assert_int_equal(kill(pids[0], SIGKILL), 0);
}

static void test_caller_is_killed(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	struct script s;
	pid_t caller = fork(), pids[3];

	if (caller == 0)
		_exit(run_one(shell_hook(&s, f, TREE), &context, NULL) < 0);
	assert_true(caller > 0);
	read_tree(f, pids);
	assert_int_equal(kill(caller, SIGKILL), 0);
	assert_int_equal(waitpid(caller, NULL, 0), caller);
	assert_true(is_gone(pids[2]));
	for (int i = 0; i < 2; i++) {
		if (f->guarded)
			assert_true(is_gone(pids[i]));
		else
			assert_int_equal(kill(pids[i], SIGKILL), 0); /* control: it lives */
	}
}

/* Something left behind that holds stderr does not hold us. */
static void test_daemon_does_not_block(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	struct timespec start;
	struct script s;

	clock_gettime(CLOCK_MONOTONIC, &start);
	assert_int_equal(
		run_one(shell_hook(&s, f, "sleep 20 & echo $! >$OUT; exit 0"), &context, NULL), 0);
	assert_true(elapsed_ms(&start) < 10000);
	{
		cleanup_free char *pid = output(f);

		assert_int_equal(kill(atoi(pid), SIGKILL), 0); /* it was left alone */
	}
}

static int check_clean_process(void *data)
{
	struct fixture *f = data;
	struct hook_context context = context_of(f);
	struct sigaction ignore = {.sa_handler = SIG_IGN}, now;
	struct script s;
	sigset_t set;
	char *got;

	sigfillset(&set);
	CHECK(sigprocmask(SIG_SETMASK, &set, NULL) == 0);
	CHECK(sigaction(SIGPIPE, &ignore, NULL) == 0 && sigaction(SIGCHLD, &ignore, NULL) == 0);
	CHECK(dup2(2, 50) == 50 && fcntl(50, F_GETFD) == 0);
	CHECK(run_one(shell_hook(&s, f, "grep -E 'Sig(Blk|Ign)' /proc/self/status >$OUT"), &context,
		      NULL) == 0);
	got = output(f);
	CHECK(got && strcmp(got, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n") == 0);
	free(got);
	CHECK(sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
	CHECK(run_one(shell_hook(&s, f, "ls -l /proc/$$/fd >$OUT"), &context, NULL) == 0);
	got = output(f);
	CHECK(got && strstr(got, " 0 -> /memfd:hook-state") && strstr(got, " 1 -> ") &&
	      strstr(got, " 2 -> pipe:") && !strstr(got, " 50 -> "));
	free(got);
	/* Exit statuses are not lost to the parent's disposition. */
	CHECK(run_one(shell_hook(&s, f, "exit 5"), &context, NULL) < 0);
	/* Own process group. */
	CHECK(run_one(shell_hook(&s, f, "cut -d' ' -f1,5 /proc/$$/stat >$OUT"), &context, NULL) ==
	      0);
	got = output(f);
	CHECK(got && atoi(got) == atoi(strchr(got, ' ')));
	free(got);
	return 0;
}

static void test_clean_process(void **state)
{
	assert_true(in_child(check_clean_process, *state));
}

static int check_closed_stdio(void *data)
{
	struct fixture *f = data;
	struct hook_context context = context_of(f);
	struct sbx_error err = {0};
	struct script s;

	close(0);
	close(1);
	CHECK(run_one(shell_hook(&s, f, "cat >$OUT; echo x; echo said >&2; exit 1"), &context,
		      &err) < 0);
	CHECK(strstr(err.message, "exit status 1: said"));
	close(2);
	if (run_one(shell_hook(&s, f, "cat >$OUT; echo x; echo said >&2; exit 1"), &context,
		    &err) >= 0)
		return 1;
	return strstr(err.message, "exit status 1: said") ? 0 : 1;
}

static void test_closed_stdio(void **state)
{
	assert_true(in_child(check_closed_stdio, *state));
	assert_output(*state, STATE);
}

static void test_cwd(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	char want[260];
	struct script s;

	snprintf(want, sizeof(want), "%s\n", f->path);
	context.cwd_fd = f->fd;
	assert_int_equal(run_one(shell_hook(&s, f, "pwd >out"), &context, NULL), 0);
	assert_output(f, want);
}

static int enter_marks(void *data, struct sbx_error *err)
{
	struct fixture *f = data;

	(void)err;
	return write_file_at(f->fd, "entered", "") < 0 ? -EIO : setenv("IGNORED", "1", 1);
}

static int enter_fails(void *data, struct sbx_error *err)
{
	(void)data;
	return sbx_fail(err, SBX_E_SYSTEM, EACCES, "confine the hook");
}

static void test_enter_and_leave(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	struct sbx_error err = {0};
	struct script s;

	context.enter = enter_marks;
	context.cwd_fd = f->fd;
	assert_int_equal(
		run_one(shell_hook(&s, f, "test -e entered && echo ok >$OUT"), &context, &err), 0);
	assert_output(f, "ok\n");
	assert_null(getenv("IGNORED")); /* it ran in the child */
	context.enter = enter_fails;
	assert_int_equal(run_one(shell_hook(&s, f, "echo ran >$OUT"), &context, &err), -EACCES);
	assert_string_equal(err.message, "run createRuntime hook \"/bin/sh\": confine the hook: "
					 "permission denied");
	assert_int_equal(err.code, SBX_E_HOOK_FAILED);
	assert_output(f, "ok\n");
	assert_int_equal(f->leaves, 2);
}

static void test_lists(void **state)
{
	struct fixture *f = *state;
	struct hook_context context = context_of(f);
	struct sbx_error err = {0};
	struct script s[3];
	struct oci_hook list[3] = {
		*shell_hook(&s[0], f, "echo 1 >>$OUT"),
		*shell_hook(&s[1], f, "echo 2 >>$OUT; exit 1"),
		*shell_hook(&s[2], f, "echo 3 >>$OUT"),
	};
	struct oci_hooks hooks = {0};
	char text[4096] = "";
	int log = memfd_create("log", MFD_CLOEXEC);

	hooks.v[HOOK_POSTSTOP] = list;
	hooks.n[HOOK_POSTSTOP] = 3;
	assert_int_equal(hooks_run(&hooks, HOOK_PRESTART, &context, &err), 0); /* none */
	assert_true(hooks_run(&hooks, HOOK_POSTSTOP, &context, &err) < 0);
	assert_output(f, "1\n2\n");
	assert_int_equal(f->leaves, 2);
	assert_int_equal(unlinkat(f->fd, "out", 0), 0);
	log_set_sink(log, LOG_FORMAT_JSON, LOG_LEVEL_WARNING);
	hooks_run_all(&hooks, HOOK_POSTSTOP, &context);
	log_set_sink(-1, LOG_FORMAT_JSON, LOG_LEVEL_ERROR);
	assert_output(f, "1\n2\n3\n");
	assert_true(pread(log, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, "run poststop hook \\\"/bin/sh\\\": exit status 1"));
	assert_non_null(strstr(text, "\"warning\""));
	close(log);
}

int main(void)
{
#define T(test)                                                                                    \
	cmocka_unit_test_setup_teardown(test, setup, teardown),                                    \
	{                                                                                          \
#test "_guarded", test, setup_guarded, teardown, NULL                              \
	}
	const struct CMUnitTest tests[] = {
		T(test_state_and_args),	       T(test_environment),
		T(test_large_state_unread),    T(test_failure_texts),
		T(test_stderr_flood),	       T(test_timeout_kills_the_group),
		T(test_timeout_and_the_tree),  T(test_caller_is_killed),
		T(test_daemon_does_not_block), T(test_clean_process),
		T(test_closed_stdio),	       T(test_cwd),
		T(test_enter_and_leave),       T(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
