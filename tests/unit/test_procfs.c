/*
 * The private procfs: with every way to it, and with a /proc that something is mounted over.
 */
#include "tests/unit/helper.h"

#include <sys/syscall.h>

#include "runtime/base/kernel.h"
#include "runtime/base/procfs.h"

struct refusal {
	int numbers[4];
	int count;
	bool overmount;
};

static int refuse_all(const struct refusal *r)
{
	for (int i = 0; i < r->count; i++)
		CHECK(refuse_syscall(r->numbers[i], ENOSYS) == 0);
	return 0;
}

static int read_text(int fd, char *out, size_t size)
{
	ssize_t n = read(fd, out, size - 1);

	if (n < 0)
		return -errno;
	out[n] = '\0';
	return 0;
}

static int check_opens(void *data)
{
	struct refusal *r = data;
	cleanup_fd int root = -EBADF, fd = -EBADF, ns = -EBADF, thread = -EBADF;
	char text[64];
	struct stat a, b;

	CHECK(refuse_all(r) == 0);
	root = procfs_open_root();
	CHECK(root >= 0);
	CHECK(fcntl(root, F_GETFD) == FD_CLOEXEC);
	CHECK(procfs_write(root, "self/comm", "renamed") == 0);
	fd = procfs_open(root, "self/comm", O_RDONLY);
	CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(read_text(fd, text, sizeof(text)) == 0 && strcmp(text, "renamed\n") == 0);
	thread = procfs_open(root, "thread-self/comm", O_RDONLY);
	CHECK(thread >= 0);
	/* Links, plain or magic, and ways out. */
	CHECK(procfs_open(root, "self/exe", O_RDONLY) == -ELOOP);
	CHECK(procfs_open(root, "self/root/etc", O_PATH) == -ELOOP);
	CHECK(procfs_open(root, "net/dev", O_RDONLY) == -ELOOP);
	CHECK(procfs_open(root, "self/cwd", O_PATH | O_DIRECTORY) < 0);
	CHECK(procfs_open(root, "../etc/passwd", O_RDONLY) < 0);
	CHECK(procfs_open(root, "/etc/passwd", O_RDONLY) < 0);
	CHECK(procfs_open(root, "self/absent", O_RDONLY) == -ENOENT);
	CHECK(procfs_write(root, "self/absent", "x") == -ENOENT);
	fd = procfs_open(root, "sys/kernel/ostype", O_RDONLY);
	CHECK(fd >= 0);
	/* Magic links as what they point to. */
	ns = procfs_open_magic(root, "self/ns/net", O_RDONLY);
	CHECK(ns >= 0 && fstat(ns, &a) == 0 && stat("/proc/self/ns/net", &b) == 0);
	CHECK(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
	CHECK(procfs_open_magic(root, "self/status", O_RDONLY) == -EINVAL);
	CHECK(procfs_open_magic(root, "self", O_RDONLY) == -EINVAL);
	CHECK(procfs_open_magic(root, "self/ns/absent", O_RDONLY) == -ENOENT);
	return 0;
}

static const struct refusal ways[] = {
	{.count = 0},
	{.numbers = {__NR_openat2}, .count = 1},
	{.numbers = {__NR_fsopen}, .count = 1},
	{.numbers = {__NR_fsopen, __NR_open_tree}, .count = 2},
	{.numbers = {__NR_fsopen, __NR_open_tree, __NR_openat2}, .count = 3},
};

static void test_opens(void **state)
{
	(void)state;
	if (is_contained_root())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		assert_true(in_child(check_opens, (void *)&ways[i]));
}

/*
 * A file mounted over /proc/self/comm. The detached handle does not see it; a handle of /proc
 * itself sees and refuses it.
 */
static int check_shadowed(void *data)
{
	struct refusal *r = data;
	bool detached = r->count == 0 || r->numbers[0] == __NR_openat2 || r->count == 1;
	cleanup_fd int root = -EBADF, fd = -EBADF;
	char fake[256], path[64];
	int dir;

	CHECK(own_mounts() == 0);
	dir = make_temporary(fake);
	CHECK(dir >= 0);
	close(dir);
	CHECK(mount("tmpfs", fake, "tmpfs", 0, NULL) == 0);
	strcat(fake, "/comm");
	CHECK(write_file_at(AT_FDCWD, fake, "fake") == 0);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)getpid());
	CHECK(mount(fake, path, NULL, MS_BIND, NULL) == 0);
	CHECK(refuse_all(r) == 0);
	fd = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0 && write(fd, "went", 4) == 4); /* positive control: a plain open is fooled */
	root = procfs_open_root();
	CHECK(root >= 0);
	if (detached)
		CHECK(procfs_write(root, "self/comm", "real") == 0);
	else
		CHECK(procfs_write(root, "self/comm", "real") == -EXDEV);
	CHECK(prctl(PR_GET_NAME, path) == 0);
	CHECK((strcmp(path, "real") == 0) == detached);
	umount2("/proc/self/comm", MNT_DETACH);
	*strrchr(fake, '/') = '\0';
	umount2(fake, MNT_DETACH);
	rmdir(fake);
	return 0;
}

static void test_shadowed(void **state)
{
	(void)state;
	if (!can_mount())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		assert_true(in_child(check_shadowed, (void *)&ways[i]));
}

/* Another file system, or a folder of procfs, on /proc. */
static int check_fake_proc(void *data)
{
	static const struct refusal both = {.numbers = {__NR_fsopen, __NR_open_tree}, .count = 2};
	const char *with = data;

	CHECK(own_mounts() == 0);
	CHECK(refuse_all(&both) == 0);
	if (with)
		CHECK(mount(with, "/proc", NULL, MS_BIND, NULL) == 0);
	else
		CHECK(mount("tmpfs", "/proc", "tmpfs", 0, NULL) == 0);
	CHECK(procfs_open_root() == -EXDEV);
	return 0;
}

static void test_fake_proc(void **state)
{
	(void)state;
	if (!can_mount())
		skip();
	assert_true(in_child(check_fake_proc, NULL));
	assert_true(in_child(check_fake_proc, (char *)"/proc/sys"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens),
		cmocka_unit_test(test_shadowed),
		cmocka_unit_test(test_fake_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
