/* The state store: whose directory it may be, who wins a name, who waits for whom. */
#include "tests/unit/helper.h"

#include <grp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "runtime/store.h"

#define OTHER_UID 12345

struct fixture {
	char path[256]; /* the temporary directory */
	int fd;
	char root[300]; /* the runtime root below it */
	struct store store;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	umask(022);
	alarm(60);
	*state = f;
	f->fd = make_temporary(f->path);
	snprintf(f->root, sizeof(f->root), "%s/root", f->path);
	return f->fd < 0 || store_open(&f->store, f->root, true, NULL) < 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	alarm(0);
	store_close(&f->store);
	close(f->fd);
	remove_temporary(f->path);
	free(f);
	return 0;
}

static void test_ids(void **state)
{
	static const char *const good[] = {"a", "0", "a.b", ".hidden", "-x", "A_b+c-d", "...", "_"};
	static const char *const bad[] = {"",	 ".",	 "..",	     "a/b", "/",  "a b", "a\n",
					  "a:b", "a\\b", "\xc3\xa4", "a*",  "a~", "a@b"};
	char id[CONTAINER_ID_MAX + 2];
	struct sbx_error err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(store_check_id(good[i], &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(store_check_id(bad[i], &err), -EINVAL);
		assert_int_equal(err.code, SBX_E_INVALID_ID);
	}
	assert_int_equal(store_check_id("", &err), -EINVAL);
	assert_string_equal(err.message, "container id cannot be empty");
	memset(id, 'a', sizeof(id));
	id[CONTAINER_ID_MAX] = '\0';
	assert_int_equal(store_check_id(id, &err), 0);
	id[CONTAINER_ID_MAX] = 'a';
	id[CONTAINER_ID_MAX + 1] = '\0';
	assert_int_equal(store_check_id(id, &err), -EINVAL);
}

static void test_create_and_remove(void **state)
{
	struct fixture *f = *state;
	struct sbx_error err = {0};
	struct stat st;
	int fd, again;

	fd = store_create_container(&f->store, "one", &err);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstatat(f->fd, "root/one", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(store_create_container(&f->store, "one", &err), -EINVAL);
	assert_int_equal(err.code, SBX_E_CONTAINER_EXISTS);
	assert_string_equal(err.message, "container with given ID already exists: \"one\"");
	close(fd);
	again = store_open_container(&f->store, "one", STORE_LOCK_EXCLUSIVE, &err);
	assert_true(again >= 0);
	assert_int_equal(write_file_at(again, "state", "{}"), 0);
	assert_int_equal(mkdirat(again, "dir", 0700), 0);
	assert_int_equal(write_file_at(again, "dir/x", ""), 0);
	assert_int_equal(store_remove_container(&f->store, "one", &err), 0);
	close(again);
	assert_int_equal(faccessat(f->fd, "root/one", F_OK, 0), -1);
	assert_int_equal(store_remove_container(&f->store, "one", &err), 0);
	assert_int_equal(store_open_container(&f->store, "one", STORE_LOCK_SHARED, &err), -EINVAL);
	assert_int_equal(err.code, SBX_E_CONTAINER_UNKNOWN);
	assert_string_equal(err.message, "container does not exist: \"one\"");
}

static void test_empty_store(void **state)
{
	struct fixture *f = *state;
	struct store store;
	struct sbx_error err = {0};
	char path[320];
	char **ids = NULL;

	snprintf(path, sizeof(path), "%s/absent/deeper", f->path);
	assert_int_equal(store_open(&store, path, false, &err), 0);
	assert_string_equal(store.root, path);
	assert_int_equal(store_list(&store, &ids, &err), 0);
	assert_non_null(ids);
	assert_null(ids[0]);
	free(ids);
	assert_int_equal(store_open_container(&store, "x", STORE_LOCK_NONE, &err), -EINVAL);
	assert_int_equal(err.code, SBX_E_CONTAINER_UNKNOWN);
	assert_int_equal(store_remove_container(&store, "x", &err), 0);
	store_close(&store);
	assert_int_equal(faccessat(f->fd, "absent", F_OK, 0), -1);
}

static void test_list(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"b", "a", ".c", "B", "a2"};
	static const char *const want[] = {".c", "B", "a", "a2", "b"};
	struct sbx_error err = {0};
	char **ids = NULL;
	cleanup_fd int root = openat(f->fd, "root", O_RDONLY | O_DIRECTORY);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(mkdirat(root, names[i], 0700), 0);
	assert_int_equal(write_file_at(root, "file", ""), 0);
	assert_int_equal(mkdirat(root, "no:id", 0700), 0);
	assert_int_equal(symlinkat("a", root, "link"), 0);
	assert_int_equal(store_list(&f->store, &ids, &err), 5);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_string_equal(ids[i], want[i]);
		free(ids[i]);
	}
	assert_null(ids[5]);
	free(ids);
	for (int i = 0; i < 100; i++) {
		char id[16];

		snprintf(id, sizeof(id), "x%03d", i);
		assert_int_equal(mkdirat(root, id, 0700), 0);
	}
	assert_int_equal(store_list(&f->store, &ids, &err), 105);
	assert_string_equal(ids[104], "x099");
	for (size_t i = 0; ids[i]; i++)
		free(ids[i]);
	free(ids);
}

/* ---- locks ---- */

struct waiter {
	struct fixture *f;
	pid_t pid;
	int ready, result;
};

/* A child that says "ready", opens the container and tells how it ended. */
static void start_waiter(struct waiter *w, struct fixture *f, enum store_lock lock)
{
	int ready[2], result[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(result), 0);
	fflush(NULL);
	w->pid = fork();
	if (w->pid == 0) {
		struct sbx_error err = {0};
		struct stat st = {0};
		/* Not what was inherited: it would hold the lock. */
		int keep[] = {ready[1], result[1], f->store.root_fd};
		int64_t answer;
		int fd;

		fd_close_from(AT_FDCWD, 3, keep, ARRAY_SIZE(keep));
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		fd = store_open_container(&f->store, "one", lock, &err);
		fstat(fd, &st);
		answer = fd < 0 ? -(int64_t)err.code : (int64_t)st.st_ino;
		_exit(write(result[1], &answer, sizeof(answer)) != sizeof(answer));
	}
	close(ready[1]);
	close(result[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	w->result = result[0];
}

/* What it told; 0 when it told nothing for 200 ms (and nothing is waited for). */
static int64_t waiter_answer(struct waiter *w, bool wait)
{
	int64_t answer = 0;
	int status;

	if (!wait) {
		usleep(200000);
		assert_int_equal(fcntl(w->result, F_SETFL, O_NONBLOCK), 0);
		if (read(w->result, &answer, sizeof(answer)) < 0)
			answer = 0;
		assert_int_equal(fcntl(w->result, F_SETFL, 0), 0);
		return answer;
	}
	assert_int_equal(read(w->result, &answer, sizeof(answer)), sizeof(answer));
	close(w->result);
	waitpid(w->pid, &status, 0);
	return answer;
}

static int64_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? (int64_t)st.st_ino : -1;
}

static void test_locks(void **state)
{
	struct fixture *f = *state;
	struct waiter w;
	int fd = store_create_container(&f->store, "one", NULL), second;

	/* Reading the state never waits; using the container does. */
	start_waiter(&w, f, STORE_LOCK_NONE);
	assert_true(waiter_answer(&w, true) == inode_of(fd));
	start_waiter(&w, f, STORE_LOCK_SHARED);
	assert_true(waiter_answer(&w, false) == 0);
	close(fd);
	assert_true(waiter_answer(&w, true) > 0);
	/* Two may share. */
	fd = store_open_container(&f->store, "one", STORE_LOCK_SHARED, NULL);
	second = store_open_container(&f->store, "one", STORE_LOCK_SHARED, NULL);
	assert_true(fd >= 0 && second >= 0);
	start_waiter(&w, f, STORE_LOCK_EXCLUSIVE);
	assert_true(waiter_answer(&w, false) == 0);
	close(fd);
	assert_true(waiter_answer(&w, false) == 0);
	close(second);
	assert_true(waiter_answer(&w, true) > 0);
}

static void test_removed_while_waiting(void **state)
{
	struct fixture *f = *state;
	struct waiter w;
	int fd = store_create_container(&f->store, "one", NULL), again;

	start_waiter(&w, f, STORE_LOCK_EXCLUSIVE);
	assert_true(waiter_answer(&w, false) == 0);
	assert_int_equal(store_remove_container(&f->store, "one", NULL), 0);
	close(fd);
	assert_true(waiter_answer(&w, true) == -(int64_t)SBX_E_CONTAINER_UNKNOWN);
	/* Removed and made anew: what is locked is the new one. */
	fd = store_create_container(&f->store, "one", NULL);
	start_waiter(&w, f, STORE_LOCK_EXCLUSIVE);
	assert_true(waiter_answer(&w, false) == 0);
	assert_int_equal(store_remove_container(&f->store, "one", NULL), 0);
	again = store_create_container(&f->store, "one", NULL);
	assert_true(again >= 0);
	close(fd);
	assert_true(waiter_answer(&w, false) == 0);
	{
		int64_t inode = inode_of(again);

		close(again);
		assert_true(waiter_answer(&w, true) == inode);
	}
}

/* Of many who claim one name at once one wins. */
static void test_one_winner(void **state)
{
	struct fixture *f = *state;
	int winners = 0, status;

	fflush(NULL);
	for (int i = 0; i < 10; i++) {
		if (fork() == 0)
			_exit(store_create_container(&f->store, "one", NULL) >= 0 ? 1 : 0);
	}
	while (wait(&status) > 0)
		winners += WEXITSTATUS(status);
	assert_int_equal(winners, 1);
}

/* ---- hostile directories ---- */

static void assert_unsafe(const char *root, const char *text)
{
	struct sbx_error err = {0};
	struct store store;

	assert_true(store_open(&store, root, true, &err) < 0);
	assert_int_equal(err.code, SBX_E_UNSAFE_PATH);
	assert_int_equal(store.root_fd, -EBADF);
	if (!strstr(err.message, text))
		fail_msg("\"%s\" is not in: %s", text, err.message);
}

static void test_root_modes(void **state)
{
	struct fixture *f = *state;
	struct store store;
	char path[320];

	snprintf(path, sizeof(path), "%s/w/root", f->path);
	assert_int_equal(store_open(&store, path, true, NULL), 0); /* positive control */
	assert_string_equal(store.root, path);
	store_close(&store);
	assert_int_equal(fchmodat(f->fd, "w", 0770, 0), 0);
	assert_unsafe(path, "/w\" is writable by group or others");
	assert_int_equal(fchmodat(f->fd, "w", 0702, 0), 0);
	assert_unsafe(path, "/w\" is writable by group or others");
	assert_int_equal(fchmodat(f->fd, "w", 01777, 0), 0);
	assert_int_equal(store_open(&store, path, true, NULL), 0); /* sticky, and root is ours */
	store_close(&store);
	assert_int_equal(fchmodat(f->fd, "w/root", 01777, 0), 0);
	assert_unsafe(path, "/w/root\" is writable by group or others");
	assert_int_equal(fchmodat(f->fd, "w/root", 0700, 0), 0);
	assert_int_equal(write_file_at(f->fd, "file", ""), 0);
	snprintf(path, sizeof(path), "%s/file", f->path);
	assert_unsafe(path, "not a directory");
}

static void test_root_links(void **state)
{
	struct fixture *f = *state;
	struct store store;
	char path[320], want[320];

	assert_int_equal(mkdirat(f->fd, "real", 0700), 0);
	assert_int_equal(symlinkat("real", f->fd, "link"), 0);
	snprintf(path, sizeof(path), "%s/link", f->path);
	assert_unsafe(path, "/link\" is a symbolic link");
	snprintf(path, sizeof(path), "%s/link/root", f->path);
	snprintf(want, sizeof(want), "%s/real/root", f->path);
	if (geteuid() == 0) {
		/* Root's own link above the root, as /var/run is one. */
		assert_int_equal(store_open(&store, path, true, NULL), 0);
		assert_string_equal(store.root, want);
		store_close(&store);
		assert_int_equal(fchownat(f->fd, "link", OTHER_UID, 0, AT_SYMLINK_NOFOLLOW), 0);
		assert_unsafe(path, "/link\" is owned by uid 12345");
	} else {
		assert_unsafe(path, "/link\" is a symbolic link");
	}
	assert_int_equal(symlinkat("loop/x", f->fd, "loop"), 0);
	snprintf(path, sizeof(path), "%s/loop/root", f->path);
	assert_unsafe(path, "/loop\"");
	/* In a directory of everybody's even root's links are not followed. */
	assert_int_equal(mkdirat(f->fd, "all", 0700), 0);
	assert_int_equal(fchmodat(f->fd, "all", 01777, 0), 0);
	assert_int_equal(symlinkat("../real", f->fd, "all/link"), 0);
	snprintf(path, sizeof(path), "%s/all/link/root", f->path);
	assert_unsafe(path, "/all/link\" is a symbolic link");
}

static void test_root_owners(void **state)
{
	struct fixture *f = *state;
	struct store store;
	struct sbx_error err = {0};
	char path[320];

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdirat(f->fd, "o", 0755), 0);
	snprintf(path, sizeof(path), "%s/o/root", f->path);
	assert_int_equal(store_open(&store, path, true, NULL), 0);
	assert_int_equal(mkdirat(store.root_fd, "c", 0700), 0);
	assert_int_equal(fchownat(f->fd, "o", OTHER_UID, 0, 0), 0);
	assert_unsafe(path, "/o\" is owned by uid 12345");
	assert_int_equal(fchownat(f->fd, "o", 0, 0, 0), 0);
	assert_int_equal(fchownat(f->fd, "o/root", OTHER_UID, 0, 0), 0);
	assert_unsafe(path, "/o/root\" is owned by uid 12345");
	/* A container's directory and files of somebody else's. */
	assert_int_equal(fchownat(f->fd, "o/root/c", OTHER_UID, 0, 0), 0);
	assert_int_equal(store_open_container(&store, "c", STORE_LOCK_NONE, &err), -EINVAL);
	assert_int_equal(err.code, SBX_E_UNSAFE_PATH);
	store_close(&store);
}

static void test_root_arguments(void **state)
{
	struct fixture *f = *state;
	static const char *const bad[] = {"/", "//", "", "/.", "/../.."};
	struct sbx_error err = {0};
	struct store store;
	char path[320], cwd[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(store_open(&store, bad[i], true, &err), -EINVAL);
		assert_int_equal(err.code, SBX_E_USAGE);
	}
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(fchdir(f->fd), 0);
	assert_int_equal(store_open(&store, "./rel//root/", true, &err), 0);
	assert_int_equal(chdir(cwd), 0);
	snprintf(path, sizeof(path), "%s/rel/root", f->path);
	assert_string_equal(store.root, path);
	store_close(&store);
}

static void test_files(void **state)
{
	struct fixture *f = *state;
	int fd = store_create_container(&f->store, "one", NULL);
	cleanup_buf struct buf buf = BUF_INIT;
	struct sbx_error err = {0};

	alarm(20);
	assert_int_equal(write_file_at(fd, "good", "text"), 0);
	assert_int_equal(store_read_file(fd, "good", 4, &buf, &err), 0);
	assert_string_equal(buf.data, "text");
	assert_int_equal(store_read_file(fd, "good", 3, &buf, &err), -EFBIG);
	assert_int_equal(err.code, SBX_E_INVALID_STATE_FILE);
	assert_int_equal(store_read_file(fd, "absent", 100, &buf, &err), -ENOENT);
	assert_int_equal(err.code, SBX_E_INVALID_STATE_FILE);
	assert_int_equal(linkat(fd, "good", f->fd, "second", 0), 0);
	assert_int_equal(store_read_file(fd, "good", 100, &buf, &err), -EINVAL);
	assert_int_equal(err.code, SBX_E_UNSAFE_PATH);
	assert_int_equal(unlinkat(f->fd, "second", 0), 0);
	assert_int_equal(fchmodat(fd, "good", 0620, 0), 0);
	assert_int_equal(store_read_file(fd, "good", 100, &buf, &err), -EINVAL);
	assert_int_equal(err.code, SBX_E_UNSAFE_PATH);
	assert_int_equal(fchmodat(fd, "good", 0600, 0), 0);
	assert_int_equal(store_read_file(fd, "good", 100, &buf, &err), 0);
	assert_int_equal(symlinkat("good", fd, "link"), 0);
	assert_int_equal(store_read_file(fd, "link", 100, &buf, &err), -ELOOP);
	assert_int_equal(mkfifoat(fd, "fifo", 0600), 0);
	assert_int_equal(store_read_file(fd, "fifo", 100, &buf, &err), -EINVAL);
	if (geteuid() == 0) {
		assert_int_equal(fchownat(fd, "good", OTHER_UID, 0, 0), 0);
		assert_int_equal(store_read_file(fd, "good", 100, &buf, &err), -EINVAL);
		assert_int_equal(err.code, SBX_E_UNSAFE_PATH);
	}
	close(fd);
}

/* ---- the default root ---- */

static void test_root_ignores_environment(void **state)
{
	struct fixture *f = *state;
	struct store store;

	if (geteuid() != 0)
		skip();
	setenv("XDG_RUNTIME_DIR", f->path, 1);
	assert_int_equal(store_open(&store, NULL, false, NULL), 0);
	assert_string_equal(store.root, "/run/sbx-runtime");
	store_close(&store);
	unsetenv("XDG_RUNTIME_DIR");
}

static int become_other(void)
{
	CHECK(setgroups(0, NULL) == 0 && setresgid(OTHER_UID, OTHER_UID, OTHER_UID) == 0 &&
	      setresuid(OTHER_UID, OTHER_UID, OTHER_UID) == 0);
	CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
	unsetenv("TMPDIR");
	return 0;
}

static int check_user_default(void *data)
{
	struct store store;
	struct sbx_error err = {0};
	char path[256], want[320];
	struct stat st;
	int fd, one;

	(void)data;
	CHECK(become_other() == 0);
	fd = make_temporary(path);
	CHECK(fd >= 0);
	setenv("XDG_RUNTIME_DIR", path, 1);
	snprintf(want, sizeof(want), "%s/sbx-runtime", path);
	CHECK(store_open(&store, NULL, true, &err) == 0);
	CHECK(strcmp(store.root, want) == 0);
	CHECK(fstat(store.root_fd, &st) == 0 && (st.st_mode & 07777) == 01700);
	one = store_create_container(&store, "one", &err);
	CHECK(one >= 0);
	close(one);
	store_close(&store);
	/* Again, and what is root's is not ours to be taken for. */
	CHECK(store_open(&store, NULL, false, &err) == 0 && store.root_fd >= 0);
	store_close(&store);
	CHECK(fd_remove_tree_at(AT_FDCWD, path) == 0);
	setenv("XDG_RUNTIME_DIR", "", 1);
	CHECK(store_open(&store, NULL, false, &err) == 0);
	CHECK(strcmp(store.root, "/run/user/12345/sbx-runtime") == 0);
	store_close(&store);
	setenv("XDG_RUNTIME_DIR", "relative", 1);
	CHECK(store_open(&store, NULL, false, &err) == -EINVAL && err.code == SBX_E_USAGE);
	return 0;
}

static void test_user_default(void **state)
{
	(void)state;
	if (geteuid() != 0 || access("/tmp", W_OK) < 0)
		skip();
	assert_true(in_child(check_user_default, NULL));
}

/* The root of a rootless manager's user namespace is a user. */
static int check_userns_default(void *data)
{
	struct store store;
	struct sbx_error err = {0};
	char path[256], want[320];
	struct stat st;

	(void)data;
	CHECK(become_other() == 0);
	CHECK(make_temporary(path) >= 0);
	CHECK(unshare(CLONE_NEWUSER) == 0);
	CHECK(fd_write_value_at(AT_FDCWD, "/proc/self/uid_map", "0 12345 1") == 0);
	CHECK(geteuid() == 0 && stat("/run", &st) == 0 && st.st_uid == 65534);
	setenv("XDG_RUNTIME_DIR", path, 1);
	snprintf(want, sizeof(want), "%s/sbx-runtime", path);
	CHECK(store_open(&store, NULL, true, &err) == 0);
	CHECK(strcmp(store.root, want) == 0);
	store_close(&store);
	CHECK(fd_remove_tree_at(AT_FDCWD, path) == 0);
	/* An unmapped owner may stand above the root, but never own it. */
	CHECK(store_open(&store, "/usr", false, &err) < 0 && err.code == SBX_E_UNSAFE_PATH);
	/* Where the host's own root stands there it is refused, else it is absent. */
	setenv("XDG_RUNTIME_DIR", "", 1);
	if (store_open(&store, NULL, false, &err) == 0)
		CHECK(strcmp(store.root, "/run/sbx-runtime") == 0 && store.root_fd < 0);
	else
		CHECK(strstr(err.message, "the runtime root \"/run/sbx-runtime\""));
	return 0;
}

static int check_userns_possible(void *data)
{
	(void)data;
	return become_other() == 0 && unshare(CLONE_NEWUSER) == 0 ? 0 : 1;
}

static void test_userns_default(void **state)
{
	(void)state;
	if (geteuid() != 0 || !in_child(check_userns_possible, NULL))
		skip();
	assert_true(in_child(check_userns_default, NULL));
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		T(test_create_and_remove),
		T(test_empty_store),
		T(test_list),
		T(test_locks),
		T(test_removed_while_waiting),
		T(test_one_winner),
		T(test_root_modes),
		T(test_root_links),
		T(test_root_owners),
		T(test_root_arguments),
		T(test_files),
		T(test_root_ignores_environment),
		cmocka_unit_test(test_user_default),
		cmocka_unit_test(test_userns_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
