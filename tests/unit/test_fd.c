/* Descriptors: bounds, hostile files, sweeps, trees that fight their removal. */
#include "tests/unit/helper.h"

#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "runtime/base/fd.h"
#include "runtime/base/kernel.h"

struct fixture {
	char path[256];
	int fd;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->fd = make_temporary(f->path);
	*state = f;
	return f->fd < 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	remove_temporary(f->path);
	close(f->fd);
	free(f);
	return 0;
}

static void test_read_limits(void **state)
{
	struct fixture *f = *state;
	cleanup_buf struct buf buf = BUF_INIT;
	char text[40001];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(write_file_at(f->fd, "f", text), 0);
	assert_int_equal(fd_read_file_at(f->fd, "f", 39999, &buf), -EFBIG);
	assert_int_equal(buf.len, 0);
	assert_int_equal(fd_read_file_at(f->fd, "f", 40000, &buf), 0);
	assert_int_equal(buf.len, 40000);
	assert_string_equal(buf.data, text);
	/* Appends, and leaves what was there when it fails. */
	assert_int_equal(fd_read_file_at(f->fd, "f", 20000, &buf), -EFBIG);
	assert_int_equal(buf.len, 40000);
	assert_string_equal(buf.data, text);
	assert_int_equal(fd_read_file_at(f->fd, "f", 0, &buf), -EFBIG);
	assert_int_equal(write_file_at(f->fd, "empty", ""), 0);
	assert_int_equal(fd_read_file_at(f->fd, "empty", 0, &buf), 0);
	assert_int_equal(fd_read_file_at(f->fd, "empty", SIZE_MAX, &buf), 0);
	assert_int_equal(buf.len, 40000);
}

/* Nothing but a regular file is read, and nothing blocks. */
static void test_read_hostile(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	cleanup_buf struct buf buf = BUF_INIT;
	cleanup_fd int sock = socket(AF_UNIX, SOCK_STREAM, 0);

	alarm(10);
	assert_int_equal(mkfifoat(f->fd, "fifo", 0600), 0);
	assert_int_equal(fd_read_file_at(f->fd, "fifo", 100, &buf), -EINVAL);
	assert_int_equal(mkdirat(f->fd, "dir", 0700), 0);
	assert_int_equal(fd_read_file_at(f->fd, "dir", 100, &buf), -EINVAL);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.90s/sock", f->path);
	assert_int_equal(bind(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(fd_read_file_at(f->fd, "sock", 100, &buf), -EINVAL);
	assert_int_equal(write_file_at(f->fd, "target", "secret"), 0);
	assert_int_equal(symlinkat("target", f->fd, "link"), 0);
	assert_int_equal(fd_read_file_at(f->fd, "link", 100, &buf), -ELOOP);
	assert_int_equal(fd_read_file_at(AT_FDCWD, "/dev/null", 100, &buf), -EINVAL);
	assert_int_equal(fd_read_file_at(f->fd, "absent", 100, &buf), -ENOENT);
	assert_int_equal(buf.len, 0);
	assert_int_equal(fd_read_file_at(f->fd, "target", 100, &buf), 0);
	assert_string_equal(buf.data, "secret");
	alarm(0);
}

static void test_write_value(void **state)
{
	struct fixture *f = *state;
	cleanup_buf struct buf buf = BUF_INIT;

	assert_int_equal(fd_write_value_at(f->fd, "v", "1"), -ENOENT); /* never made */
	assert_int_equal(write_file_at(f->fd, "v", ""), 0);
	assert_int_equal(fd_write_value_at(f->fd, "v", "max\n"), 0);
	assert_int_equal(fd_read_file_at(f->fd, "v", 100, &buf), 0);
	assert_string_equal(buf.data, "max\n");
	assert_int_equal(symlinkat("v", f->fd, "l"), 0);
	assert_int_equal(fd_write_value_at(f->fd, "l", "1"), -ELOOP);
	assert_int_equal(fd_write_value_at(AT_FDCWD, "/dev/full", "1"), -ENOSPC);
}

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void test_replace(void **state)
{
	struct fixture *f = *state;
	cleanup_buf struct buf buf = BUF_INIT;
	char name[256], path[300];
	struct stat before, after;

	assert_int_equal(fd_replace_file_at(f->fd, "f", "one", 3, 0600), 0);
	assert_int_equal(fstatat(f->fd, "f", &before, 0), 0);
	assert_int_equal(before.st_mode & 0777, 0600);
	assert_int_equal(fd_replace_file_at(f->fd, "f", "second", 6, 0600), 0);
	assert_int_equal(fstatat(f->fd, "f", &after, 0), 0);
	assert_true(before.st_ino != after.st_ino);
	assert_int_equal(fd_read_file_at(f->fd, "f", 100, &buf), 0);
	assert_string_equal(buf.data, "second");
	/* A link is replaced, not written through. */
	assert_int_equal(symlinkat("f", f->fd, "l"), 0);
	assert_int_equal(fd_replace_file_at(f->fd, "l", "x", 1, 0600), 0);
	buf_reset(&buf);
	assert_int_equal(fd_read_file_at(f->fd, "f", 100, &buf), 0);
	assert_string_equal(buf.data, "second");
	/* By a whole path, and with the longest name. */
	snprintf(path, sizeof(path), "%s/byname", f->path);
	assert_int_equal(fd_replace_file_at(AT_FDCWD, path, "x", 1, 0600), 0);
	memset(name, 'n', 255);
	name[255] = '\0';
	assert_int_equal(fd_replace_file_at(f->fd, name, "x", 1, 0600), 0);
	assert_int_equal(fd_replace_file_at(f->fd, "", "x", 1, 0600), -EINVAL);
	/* Nothing is left behind by a failure. */
	assert_int_equal(mkdirat(f->fd, "dir", 0700), 0);
	assert_int_equal(write_file_at(f->fd, "dir/x", ""), 0);
	assert_int_equal(fd_replace_file_at(f->fd, "dir", "x", 1, 0600), -EISDIR);
	assert_int_equal(count_entries(f->path), 5); /* f, l, byname, nnn..., dir */
}

/* ---- sweeps ---- */

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int check_sweeps(void *data)
{
	const int *refused = data;
	int keep[] = {40, 20, 23, 2, 22, 22}, null = open("/dev/null", O_RDWR);

	if (refused)
		CHECK(refuse_syscall(__NR_close_range, *refused) == 0);
	for (int fd = 20; fd < 45; fd++)
		CHECK(dup2(null, fd) == fd);
	CHECK(fd_cloexec_from(21) == 0);
	CHECK(fcntl(20, F_GETFD) == 0);
	for (int fd = 21; fd < 45; fd++)
		CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(fd_close_from(AT_FDCWD, 20, keep, ARRAY_SIZE(keep)) == 0);
	CHECK(is_open(2) && is_open(20) && is_open(22) && is_open(23) && is_open(40));
	CHECK(!is_open(21) && !is_open(24) && !is_open(39) && !is_open(41) && !is_open(44));
	CHECK(fd_close_from(AT_FDCWD, 3, NULL, 0) == 0);
	for (int fd = 3; fd < 45; fd++)
		CHECK(!is_open(fd));
	return 0;
}

static void test_sweeps(void **state)
{
	int errnums[] = {ENOSYS, EPERM};

	(void)state;
	assert_true(in_child(check_sweeps, NULL));
	assert_true(in_child(check_sweeps, &errnums[0]));
	assert_true(in_child(check_sweeps, &errnums[1]));
}

static int check_fill_stdio(void *data)
{
	struct stat st, null;

	(void)data;
	close(0);
	close(2);
	if (fd_fill_stdio() != 0 || !is_open(0) || !is_open(2))
		return 1;
	return fstat(2, &st) == 0 && stat("/dev/null", &null) == 0 && st.st_rdev == null.st_rdev &&
			       fcntl(2, F_GETFD) == 0
		       ? 0
		       : 1;
}

static void test_fill_stdio(void **state)
{
	(void)state;
	assert_true(in_child(check_fill_stdio, NULL));
}

/* ---- removing ---- */

static int make_deep(int dir_fd, int levels)
{
	int fd = dup(dir_fd);

	for (int i = 0; i < levels; i++) {
		int next;

		CHECK(mkdirat(fd, "deep", 0700) == 0);
		next = openat(fd, "deep", O_RDONLY | O_DIRECTORY);
		CHECK(next >= 0);
		CHECK(i % 97 || write_file_at(next, "file", "x") == 0);
		close(fd);
		fd = next;
	}
	close(fd);
	return 0;
}

static int check_deep(void *data)
{
	struct fixture *f = data;
	struct rlimit limit = {40, 40};

	CHECK(mkdirat(f->fd, "tree", 0700) == 0);
	CHECK(make_deep(openat(f->fd, "tree", O_RDONLY), 5000) == 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0); /* few descriptors suffice */
	CHECK(fd_remove_tree_at(f->fd, "tree") == 0);
	CHECK(faccessat(f->fd, "tree", F_OK, 0) < 0 && errno == ENOENT);
	return 0;
}

static int check_deep_without_openat2(void *data)
{
	CHECK(refuse_syscall(__NR_openat2, ENOSYS) == 0);
	return check_deep(data);
}

static void test_remove_deep(void **state)
{
	assert_true(in_child(check_deep, *state));
	assert_true(in_child(check_deep_without_openat2, *state));
}

static void test_remove_wide(void **state)
{
	struct fixture *f = *state;
	char name[64];

	assert_int_equal(mkdirat(f->fd, "tree", 0700), 0);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "tree/d%d", i);
		assert_int_equal(mkdirat(f->fd, name, 0700), 0);
		for (int k = 0; k < 5; k++) {
			snprintf(name, sizeof(name), "tree/d%d/f%d", i, k);
			assert_int_equal(write_file_at(f->fd, name, ""), 0);
		}
	}
	/* The names that a deep directory would get at the top are taken. */
	assert_int_equal(write_file_at(f->fd, "tree/.sbx-remove-0", ""), 0);
	assert_int_equal(mkdirat(f->fd, "tree/.sbx-remove-1", 0700), 0);
	assert_int_equal(write_file_at(f->fd, "tree/.sbx-remove-1/x", ""), 0);
	assert_int_equal(make_deep(f->fd, 0), 0);
	{
		cleanup_fd int sub = openat(f->fd, "tree/d7", O_RDONLY | O_DIRECTORY);

		assert_int_equal(make_deep(sub, 60), 0);
	}
	assert_int_equal(fd_remove_tree_at(f->fd, "tree"), 0);
	assert_int_equal(faccessat(f->fd, "tree", F_OK, 0), -1);
}

static void test_remove_leaves_outside(void **state)
{
	struct fixture *f = *state;
	cleanup_buf struct buf buf = BUF_INIT;

	assert_int_equal(mkdirat(f->fd, "outside", 0700), 0);
	assert_int_equal(write_file_at(f->fd, "outside/precious", "here"), 0);
	assert_int_equal(mkdirat(f->fd, "tree", 0700), 0);
	assert_int_equal(symlinkat("../outside", f->fd, "tree/dirlink"), 0);
	assert_int_equal(symlinkat("../outside/precious", f->fd, "tree/filelink"), 0);
	assert_int_equal(symlinkat("nowhere", f->fd, "tree/dangling"), 0);
	assert_int_equal(mkfifoat(f->fd, "tree/fifo", 0600), 0);
	assert_int_equal(linkat(f->fd, "outside/precious", f->fd, "tree/hard", 0), 0);
	assert_int_equal(fd_remove_tree_at(f->fd, "tree"), 0);
	assert_int_equal(fd_read_file_at(f->fd, "outside/precious", 10, &buf), 0);
	assert_string_equal(buf.data, "here");
	/* The name itself is a link, a file, absent. */
	assert_int_equal(symlinkat("outside", f->fd, "alias"), 0);
	assert_int_equal(fd_remove_tree_at(f->fd, "alias"), -ENOTDIR);
	assert_int_equal(fd_remove_tree_at(f->fd, "outside/precious"), -ENOTDIR);
	assert_int_equal(fd_remove_tree_at(f->fd, "absent"), -ENOENT);
	assert_int_equal(faccessat(f->fd, "outside/precious", F_OK, 0), 0);
}

static int check_mounts(void *data)
{
	struct fixture *f = data;
	char source[300], target[300];

	CHECK(own_mounts() == 0);
	snprintf(source, sizeof(source), "%s/source", f->path);
	snprintf(target, sizeof(target), "%s/tree/mnt", f->path);
	CHECK(mkdirat(f->fd, "source", 0700) == 0);
	CHECK(write_file_at(f->fd, "source/precious", "") == 0);
	CHECK(mkdirat(f->fd, "tree", 0700) == 0 && mkdirat(f->fd, "tree/mnt", 0700) == 0);
	CHECK(write_file_at(f->fd, "tree/other", "") == 0);
	CHECK(mount(source, target, NULL, MS_BIND, NULL) == 0);
	/* A mount inside, then the tree being a mount itself. */
	CHECK(fd_remove_tree_at(f->fd, "tree") == -EBUSY);
	CHECK(faccessat(f->fd, "source/precious", F_OK, 0) == 0);
	CHECK(faccessat(f->fd, "tree/other", F_OK, 0) < 0); /* the rest went */
	CHECK(fd_remove_tree_at(f->fd, "tree/mnt") == -EBUSY);
	CHECK(faccessat(f->fd, "source/precious", F_OK, 0) == 0);
	CHECK(umount2(target, MNT_DETACH) == 0);
	CHECK(fd_remove_tree_at(f->fd, "tree") == 0);
	CHECK(fd_remove_tree_at(f->fd, "source") == 0);
	return 0;
}

static int check_mounts_without_openat2(void *data)
{
	CHECK(refuse_syscall(__NR_openat2, ENOSYS) == 0);
	return check_mounts(data);
}

static void test_remove_stops_at_mounts(void **state)
{
	if (!can_mount())
		skip();
	assert_true(in_child(check_mounts, *state));
	assert_true(in_child(check_mounts_without_openat2, *state));
}

static void test_batch(void **state)
{
	struct fd_batch batch = {0};
	int before = count_fds(), kept = -1;

	(void)state;
	fd_batch_add(&batch, -EBADF);
	for (int i = 0; i < 100; i++) {
		int fd = open("/", O_PATH | O_CLOEXEC);

		assert_true(fd >= 0);
		if (i == 50)
			kept = fd; /* a gap in the row */
		else
			fd_batch_add(&batch, fd);
		assert_true(count_fds() - before <= 18);
	}
	fd_batch_close(&batch);
	fd_batch_close(&batch);
	assert_int_equal(count_fds(), before + 1);
	assert_int_equal(close(kept), 0);
}

static void test_remove_leaks_nothing(void **state)
{
	struct fixture *f = *state;
	int before = count_fds();

	assert_int_equal(mkdirat(f->fd, "tree", 0700), 0);
	{
		cleanup_fd int sub = openat(f->fd, "tree", O_RDONLY | O_DIRECTORY);

		assert_int_equal(make_deep(sub, 100), 0);
	}
	assert_int_equal(fd_remove_tree_at(f->fd, "tree"), 0);
	assert_int_equal(fd_remove_tree_at(f->fd, "tree"), -ENOENT);
	assert_int_equal(count_fds(), before);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_write_value, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replace, setup, teardown),
		cmocka_unit_test(test_sweeps),
		cmocka_unit_test(test_fill_stdio),
		cmocka_unit_test(test_batch),
		cmocka_unit_test_setup_teardown(test_remove_deep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remove_wide, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remove_leaves_outside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remove_stops_at_mounts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remove_leaks_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
