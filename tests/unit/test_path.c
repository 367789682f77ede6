/*
 * Paths inside a hostile tree. Every test runs three times: with openat2(2), and with it refused as
 * an old kernel (ENOSYS) and as an old sandbox (EPERM) do.
 */
#include "tests/unit/helper.h"

#include <limits.h>
#include <sys/syscall.h>

#include "runtime/base/kernel.h"
#include "runtime/base/path.h"

struct fixture {
	char path[256];
	int top;  /* the temporary directory: "outside" lies here */
	int root; /* "root" below it */
};

/*
 *	outside/secret
 *	root/etc/passwd, root/etc/sub/file
 */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->top = make_temporary(f->path);
	if (f->top < 0 || mkdirat(f->top, "outside", 0755) < 0 ||
	    write_file_at(f->top, "outside/secret", "secret") < 0 ||
	    mkdirat(f->top, "root", 0755) < 0)
		return 1;
	f->root = openat(f->top, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return f->root < 0 || mkdirat(f->root, "etc", 0755) < 0 ||
	       mkdirat(f->root, "etc/sub", 0755) < 0 ||
	       write_file_at(f->root, "etc/passwd", "inside") < 0 ||
	       write_file_at(f->root, "etc/sub/file", "file") < 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->root);
	close(f->top);
	remove_temporary(f->path);
	free(f);
	return 0;
}

static bool same_file(int fd, int dir_fd, const char *name)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstatat(dir_fd, name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

#define assert_opens(f, name, flags, target)                                                       \
	do {                                                                                       \
		cleanup_fd int fd_ = path_open_in_root((f)->root, name, flags, 0);                 \
		assert_true(fd_ >= 0);                                                             \
		assert_int_equal(fcntl(fd_, F_GETFD), FD_CLOEXEC);                                 \
		assert_true(same_file(fd_, (f)->root, target));                                    \
	} while (0)

static void test_plain(void **state)
{
	struct fixture *f = *state;

	assert_opens(f, "/etc/passwd", O_RDONLY, "etc/passwd");
	assert_opens(f, "etc/passwd", O_RDONLY, "etc/passwd");
	assert_opens(f, "//etc//./sub/../passwd", O_RDONLY, "etc/passwd");
	assert_opens(f, "/etc/sub/", O_RDONLY, "etc/sub");
	assert_opens(f, "/etc/sub/.", O_PATH | O_DIRECTORY, "etc/sub");
	assert_opens(f, "/", O_PATH, ".");
	assert_opens(f, ".", O_PATH | O_DIRECTORY, ".");
	assert_int_equal(path_open_in_root(f->root, "", O_PATH, 0), -ENOENT);
	assert_int_equal(path_open_in_root(f->root, "absent", O_PATH, 0), -ENOENT);
	assert_int_equal(path_open_in_root(f->root, "absent/x", O_PATH, 0), -ENOENT);
	assert_int_equal(path_open_in_root(f->root, "etc/passwd/x", O_PATH, 0), -ENOTDIR);
	assert_int_equal(path_open_in_root(f->root, "etc/passwd/", O_RDONLY, 0), -ENOTDIR);
	assert_int_equal(path_open_in_root(f->root, "etc/passwd", O_PATH | O_DIRECTORY, 0),
			 -ENOTDIR);
	assert_int_equal(path_open_in_root(f->root, "etc/passwd", O_RDONLY | O_DIRECTORY, 0),
			 -ENOTDIR);
	assert_int_equal(path_open_in_root(f->root, "etc", O_WRONLY, 0), -EISDIR);
}

static void test_dotdot_stays_inside(void **state)
{
	struct fixture *f = *state;

	assert_opens(f, "..", O_PATH, ".");
	assert_opens(f, "../../../etc/passwd", O_RDONLY, "etc/passwd");
	assert_opens(f, "/etc/../../../etc/passwd", O_RDONLY, "etc/passwd");
	assert_opens(f, "etc/sub/../..", O_PATH, ".");
	assert_int_equal(path_open_in_root(f->root, "../outside/secret", O_RDONLY, 0), -ENOENT);
	/* Positive control: the kernel's plain open does escape. */
	{
		cleanup_fd int fd = openat(f->root, "../outside/secret", O_RDONLY);

		assert_true(fd >= 0);
	}
}

static void test_links_stay_inside(void **state)
{
	struct fixture *f = *state;
	char absolute[300];
	cleanup_fd int escaped = -EBADF;

	snprintf(absolute, sizeof(absolute), "%s/outside/secret", f->path);
	assert_int_equal(symlinkat("/etc/passwd", f->root, "abs"), 0);
	assert_int_equal(symlinkat("../../../../../etc/passwd", f->root, "etc/rel"), 0);
	assert_int_equal(symlinkat("../../outside/secret", f->root, "etc/out"), 0);
	assert_int_equal(symlinkat(absolute, f->root, "absout"), 0);
	assert_int_equal(symlinkat("/", f->root, "etc/slash"), 0);
	assert_int_equal(symlinkat("/etc", f->root, "etcdir"), 0);
	assert_opens(f, "abs", O_RDONLY, "etc/passwd");
	assert_opens(f, "etc/rel", O_RDONLY, "etc/passwd");
	assert_opens(f, "etc/slash", O_PATH, ".");
	assert_opens(f, "etc/slash/etc/slash/etcdir/passwd", O_RDONLY, "etc/passwd");
	assert_opens(f, "etcdir/", O_RDONLY | O_DIRECTORY, "etc");
	assert_opens(f, "etcdir/..", O_PATH, ".");
	assert_int_equal(path_open_in_root(f->root, "etc/out", O_RDONLY, 0), -ENOENT);
	assert_int_equal(path_open_in_root(f->root, "absout", O_RDONLY, 0), -ENOENT);
	assert_int_equal(path_open_in_root(f->root, "abs/", O_RDONLY, 0), -ENOTDIR);
	escaped = openat(f->root, "absout", O_RDONLY);
	assert_true(escaped >= 0);
}

static void test_link_loops(void **state)
{
	struct fixture *f = *state;
	char name[16], target[16];

	assert_int_equal(symlinkat("b", f->root, "a"), 0);
	assert_int_equal(symlinkat("a", f->root, "b"), 0);
	assert_int_equal(symlinkat("self/x", f->root, "self"), 0);
	assert_int_equal(path_open_in_root(f->root, "a", O_PATH, 0), -ELOOP);
	assert_int_equal(path_open_in_root(f->root, "self", O_PATH, 0), -ELOOP);
	assert_int_equal(symlinkat("etc/passwd", f->root, "l0"), 0);
	for (int i = 1; i <= 40; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		snprintf(target, sizeof(target), "l%d", i - 1);
		assert_int_equal(symlinkat(target, f->root, name), 0);
	}
	assert_opens(f, "l39", O_RDONLY, "etc/passwd"); /* 40 links */
	assert_int_equal(path_open_in_root(f->root, "l40", O_RDONLY, 0), -ELOOP);
}

static void test_nofollow(void **state)
{
	struct fixture *f = *state;
	cleanup_fd int link = -EBADF, dir = -EBADF;
	struct stat st;

	assert_int_equal(symlinkat("etc", f->root, "l"), 0);
	assert_int_equal(path_open_in_root_nofollow(f->root, "l", O_RDONLY), -ELOOP);
	link = path_open_in_root_nofollow(f->root, "l", O_PATH);
	assert_true(link >= 0);
	assert_int_equal(fstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(path_open_in_root_nofollow(f->root, "l", O_PATH | O_DIRECTORY), -ENOTDIR);
	/* Only the last component is not followed. */
	dir = path_open_in_root_nofollow(f->root, "l/sub", O_PATH);
	assert_true(dir >= 0);
	assert_true(same_file(dir, f->root, "etc/sub"));
}

static void test_root_mount(void **state)
{
	static const struct open_how how = {.flags = O_PATH | O_CLOEXEC};
	struct fixture *f = *state;
	cleanup_fd int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int any = sys_openat2(host, "/", &how);
	cleanup_fd int file = path_open_in_root_mount(f->root, "/etc/sub/../passwd", O_PATH);
	cleanup_fd int link = -EBADF;

	if (any < 0) {
		assert_int_equal(file, -EXDEV);
		return;
	}
	assert_int_equal(symlinkat("/etc/sub", f->root, "l"), 0);
	assert_true(same_file(file, f->root, "etc/passwd"));
	assert_int_equal(path_open_in_root_mount(f->root, "/absent/x", O_PATH), -ENOENT);
	link = path_open_in_root_mount(f->root, "l", O_PATH);
	assert_true(same_file(link, f->root, "etc/sub"));
	assert_int_equal(path_open_in_root_mount(host, "/proc", O_PATH), -EXDEV);
	assert_int_equal(path_open_in_root_mount(host, "/proc/absent", O_PATH), -EXDEV);
}

static void test_creates_inside(void **state)
{
	struct fixture *f = *state;
	cleanup_fd int fd = -EBADF, other = -EBADF;
	struct stat st;

	umask(0);
	fd = path_open_in_root(f->root, "etc/new", O_WRONLY | O_CREAT, 0640);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_true(same_file(fd, f->root, "etc/new"));
	assert_int_equal(symlinkat("/../outside/made", f->root, "dangling"), 0);
	assert_int_equal(path_open_in_root(f->root, "dangling", O_WRONLY | O_CREAT, 0600), -ENOENT);
	assert_int_equal(faccessat(f->top, "outside/made", F_OK, 0), -1);
	assert_int_equal(path_open_in_root(f->root, "dangling", O_WRONLY | O_CREAT | O_EXCL, 0600),
			 -EEXIST);
	assert_int_equal(symlinkat("/etc/made", f->root, "inner"), 0);
	other = path_open_in_root(f->root, "inner", O_WRONLY | O_CREAT, 0600);
	assert_true(other >= 0);
	assert_true(same_file(other, f->root, "etc/made"));
	assert_int_equal(path_open_in_root(f->root, "etc", O_WRONLY | O_CREAT, 0600), -EISDIR);
	assert_int_equal(path_open_in_root(f->root, "/", O_WRONLY | O_CREAT, 0600), -EISDIR);
}

/* Entries of /proc/PID jump to objects: never through us, even inside a root that holds a procfs.
 */
static void test_magic_links(void **state)
{
	cleanup_fd int root = open("/", O_PATH | O_DIRECTORY);
	char name[64];
	int plain, ours;

	(void)state;
	snprintf(name, sizeof(name), "/proc/%d/root/etc", (int)getpid());
	plain = open(name, O_PATH);
	assert_true(plain >= 0);
	close(plain);
	assert_int_equal(path_open_in_root(root, name, O_PATH, 0), -ELOOP);
	snprintf(name, sizeof(name), "/proc/%d/exe", (int)getpid());
	assert_int_equal(path_open_in_root(root, name, O_RDONLY, 0), -ELOOP);
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)getpid(), root);
	assert_int_equal(path_open_in_root(root, name, O_PATH, 0), -ELOOP);
	assert_int_equal(path_open_no_symlinks(root, name + 1, O_PATH), -ELOOP);
	/* Text links of procfs are followed as any other. */
	ours = path_open_in_root(root, "/proc/self/status", O_RDONLY, 0);
	assert_true(ours >= 0);
	close(ours);
	ours = path_open_in_root(root, "/proc/mounts", O_RDONLY, 0);
	assert_true(ours >= 0);
	close(ours);
}

static void test_no_symlinks(void **state)
{
	struct fixture *f = *state;
	char absolute[300];
	cleanup_fd int fd = -EBADF, abs_fd = -EBADF, dot = -EBADF;

	assert_int_equal(symlinkat("etc", f->root, "l"), 0);
	assert_int_equal(symlinkat("passwd", f->root, "etc/p"), 0);
	fd = path_open_no_symlinks(f->root, "etc/sub/file", O_RDONLY);
	assert_true(fd >= 0);
	assert_true(same_file(fd, f->root, "etc/sub/file"));
	assert_int_equal(path_open_no_symlinks(f->root, "l/passwd", O_RDONLY), -ELOOP);
	assert_int_equal(path_open_no_symlinks(f->root, "etc/p", O_RDONLY), -ELOOP);
	assert_int_equal(path_open_no_symlinks(f->root, "etc/p", O_PATH | O_NOFOLLOW), -ELOOP);
	assert_int_equal(path_open_no_symlinks(f->root, "l", O_PATH), -ELOOP);
	assert_int_equal(path_open_no_symlinks(f->root, "l/", O_PATH | O_DIRECTORY), -ELOOP);
	assert_int_equal(path_open_no_symlinks(f->root, "etc/passwd", O_PATH | O_DIRECTORY),
			 -ENOTDIR);
	assert_int_equal(path_open_no_symlinks(f->root, "etc/passwd/x", O_PATH), -ENOTDIR);
	assert_int_equal(path_open_no_symlinks(f->root, "absent", O_PATH), -ENOENT);
	assert_int_equal(path_open_no_symlinks(f->root, "", O_PATH), -ENOENT);
	assert_int_equal(path_open_no_symlinks(f->root, "x", O_WRONLY | O_CREAT), -EINVAL);
	dot = path_open_no_symlinks(f->root, "etc/", O_PATH | O_DIRECTORY);
	assert_true(same_file(dot, f->root, "etc"));
	snprintf(absolute, sizeof(absolute), "%s/root/etc/passwd", f->path);
	abs_fd = path_open_no_symlinks(AT_FDCWD, absolute, O_RDONLY);
	assert_true(abs_fd >= 0);
	assert_true(same_file(abs_fd, f->root, "etc/passwd"));
}

static void test_make_dirs(void **state)
{
	struct fixture *f = *state;
	cleanup_fd int fd = -EBADF, again = -EBADF, inner = -EBADF, root = -EBADF;
	struct stat st;

	umask(0);
	fd = path_make_dirs_in_root(f->root, "/a/b/./c/", 0711);
	assert_true(fd >= 0);
	assert_true(same_file(fd, f->root, "a/b/c"));
	assert_int_equal(fstatat(f->root, "a/b", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0711);
	again = path_make_dirs_in_root(f->root, "a/b/c", 0700);
	assert_true(again >= 0);
	assert_true(same_file(again, f->root, "a/b/c"));
	/* Links lead inside, dangling ones get their target. */
	assert_int_equal(symlinkat("/../../outside", f->root, "out"), 0);
	inner = path_make_dirs_in_root(f->root, "out/made", 0755);
	assert_true(inner >= 0);
	assert_true(same_file(inner, f->root, "outside/made"));
	assert_int_equal(faccessat(f->top, "outside/made", F_OK, 0), -1);
	/* What is made leads to nothing that was there before. */
	assert_int_equal(symlinkat("/missing/../etc", f->root, "back"), 0);
	assert_int_equal(path_make_dirs_in_root(f->root, "back/sub", 0755), -ENOENT);
	assert_int_equal(unlinkat(f->root, "missing", AT_REMOVEDIR), 0);
	assert_int_equal(path_make_file_in_root(f->root, "back/passwd", 0644), -ENOENT);
	root = path_make_dirs_in_root(f->root, "/", 0755);
	assert_true(same_file(root, f->root, "."));
	assert_int_equal(path_make_dirs_in_root(f->root, "etc/passwd", 0755), -ENOTDIR);
	assert_int_equal(path_make_dirs_in_root(f->root, "etc/passwd/x", 0755), -ENOTDIR);
	assert_int_equal(path_make_dirs_in_root(f->root, "", 0755), -ENOENT);
}

static void test_make_file(void **state)
{
	struct fixture *f = *state;
	cleanup_fd int fd = -EBADF, there = -EBADF, inner = -EBADF, link = -EBADF;
	struct stat st;

	umask(0);
	fd = path_make_file_in_root(f->root, "/new/dir/file", 0644);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
	assert_true(same_file(fd, f->root, "new/dir/file"));
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(fstatat(f->root, "new", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	there = path_make_file_in_root(f->root, "etc/passwd", 0600);
	assert_true(same_file(there, f->root, "etc/passwd"));
	assert_int_equal(symlinkat("/run/target", f->root, "etc/resolv"), 0);
	inner = path_make_file_in_root(f->root, "etc/resolv", 0600);
	assert_true(same_file(inner, f->root, "run/target"));
	assert_int_equal(symlinkat("../../outside/evil", f->root, "etc/evil"), 0);
	link = path_make_file_in_root(f->root, "etc/evil", 0600);
	assert_true(same_file(link, f->root, "outside/evil"));
	assert_int_equal(faccessat(f->top, "outside/evil", F_OK, 0), -1);
	assert_int_equal(path_make_file_in_root(f->root, "etc", 0600), -EISDIR);
	assert_int_equal(path_make_file_in_root(f->root, "/", 0600), -EISDIR);
	assert_int_equal(path_make_file_in_root(f->root, "fresh/", 0600), -EISDIR);
	assert_int_equal(path_make_file_in_root(f->root, "etc/passwd/x", 0600), -ENOTDIR);
}

static void test_open_parent(void **state)
{
	struct fixture *f = *state;
	char name[NAME_MAX + 1] = "untouched";
	cleanup_fd int fd = -EBADF, made = -EBADF, root = -EBADF;

	assert_int_equal(path_open_parent_in_root(f->root, "/", name, sizeof(name)), -EINVAL);
	assert_int_equal(path_open_parent_in_root(f->root, "", name, sizeof(name)), -EINVAL);
	assert_int_equal(path_open_parent_in_root(f->root, "a/..", name, sizeof(name)), -EINVAL);
	assert_int_equal(path_open_parent_in_root(f->root, "a/../", name, sizeof(name)), -EINVAL);
	assert_int_equal(path_open_parent_in_root(f->root, "a/.", name, sizeof(name)), -EINVAL);
	assert_int_equal(path_open_parent_in_root(f->root, "toolong", name, 7), -ENAMETOOLONG);
	assert_string_equal(name, "untouched");
	fd = path_open_parent_in_root(f->root, "/etc/sub", name, sizeof(name));
	assert_true(same_file(fd, f->root, "etc"));
	assert_string_equal(name, "sub");
	made = path_open_parent_in_root(f->root, "x/y/..z//", name, sizeof(name));
	assert_true(same_file(made, f->root, "x/y"));
	assert_string_equal(name, "..z");
	assert_int_equal(faccessat(f->root, "x/y/..z", F_OK, 0), -1);
	root = path_open_parent_in_root(f->root, "name", name, sizeof(name));
	assert_true(same_file(root, f->root, "."));
	assert_string_equal(name, "name");
}

static void test_long_paths(void **state)
{
	struct fixture *f = *state;
	char path[PATH_MAX + 10], name[NAME_MAX + 10];
	int before = count_fds();

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(path_open_in_root(f->root, name, O_PATH, 0), -ENAMETOOLONG);
	assert_int_equal(path_make_dirs_in_root(f->root, name, 0755), -ENAMETOOLONG);
	assert_int_equal(path_open_no_symlinks(f->root, name, O_PATH), -ENAMETOOLONG);
	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(path_open_in_root(f->root, path, O_PATH, 0), -ENAMETOOLONG);
	assert_int_equal(path_make_file_in_root(f->root, path, 0600), -ENAMETOOLONG);
	for (int i = 0; i < 300; i++)
		memcpy(path + i * 2, "d/", 3);
	assert_int_equal(path_make_dirs_in_root(f->root, path, 0755), -ENAMETOOLONG);
	path[PATH_DEPTH_MAX * 2] = '\0';
	path[PATH_DEPTH_MAX * 2 - 1] = '\0';
	{
		cleanup_fd int fd = path_make_dirs_in_root(f->root, path, 0755);

		assert_true(fd >= 0);
	}
	assert_int_equal(count_fds(), before);
}

static void test_leaks_nothing(void **state)
{
	struct fixture *f = *state;
	int before = count_fds();

	assert_int_equal(symlinkat("/etc/sub/../sub/absent", f->root, "l"), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(path_open_in_root(f->root, "l/x", O_PATH, 0), -ENOENT);
		assert_int_equal(path_open_in_root(f->root, "etc/sub/file/x", O_PATH, 0), -ENOTDIR);
		assert_int_equal(path_open_no_symlinks(f->root, "etc/sub/x", O_PATH), -ENOENT);
		assert_int_equal(path_make_file_in_root(f->root, "etc/sub", 0600), -EISDIR);
		close(path_open_in_root(f->root, "etc/sub/file", O_RDONLY, 0));
		close(path_make_dirs_in_root(f->root, "etc/sub/deeper/and/deeper", 0700));
	}
	assert_int_equal(count_fds(), before);
}

static void test_canonical(void **state)
{
	static const char *const good[] = {"/", "/a", "/a/b", "/...", "/..a/.b", "/a b"};
	static const char *const bad[] = {"",	"a",   "./a",  "//",	"/a/",	"/a//b",
					  "/.", "/..", "/a/.", "/a/..", "/./a", "/../a"};
	char path[PATH_MAX + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(path_is_canonical(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(path_is_canonical(bad[i]));
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[PATH_MAX] = '\0';
	assert_false(path_is_canonical(path));
	path[PATH_MAX - 1] = '\0';
	assert_true(path_is_canonical(path));
}

static void test_below(void **state)
{
	(void)state;
	assert_true(path_is_below("/a", "/a"));
	assert_true(path_is_below("/a/b", "/a"));
	assert_false(path_is_below("/ab", "/a"));
	assert_false(path_is_below("/", "/a"));
	assert_true(path_is_below("/a", "/"));
	assert_true(path_is_below("/", "/"));
}

static void test_normalize(void **state)
{
	static const struct {
		const char *path, *want;
	} rows[] = {
		{"", "/"},
		{"/", "/"},
		{"..", "/"},
		{"a", "/a"},
		{"/a/", "/a"},
		{"//a//b", "/a/b"},
		{"/a/./b", "/a/b"},
		{"/a/../b", "/b"},
		{"/a/b/../..", "/"},
		{"/../../a", "/a"},
		{"/a/..b", "/a/..b"},
		{"/a/.../b", "/a/.../b"},
		{"/a/b/../../../c", "/c"},
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(path_normalize(rows[i].path, out, sizeof(out)), 0);
		assert_string_equal(out, rows[i].want);
	}
	assert_int_equal(path_normalize("/abc", out, 5), 0);
	assert_string_equal(out, "/abc");
	assert_int_equal(path_normalize("/abcd", out, 5), -ENAMETOOLONG);
	assert_int_equal(path_normalize("/a/../bcd", out, 5), 0);
	assert_int_equal(path_normalize("/", out, 1), -ENAMETOOLONG);
}

static int run_group(const char *name)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(test_plain),
		T(test_dotdot_stays_inside),
		T(test_links_stay_inside),
		T(test_link_loops),
		T(test_nofollow),
		T(test_creates_inside),
		T(test_root_mount),
		cmocka_unit_test(test_magic_links),
		T(test_no_symlinks),
		T(test_make_dirs),
		T(test_make_file),
		T(test_open_parent),
		T(test_long_paths),
		T(test_leaks_nothing),
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_normalize),
	};

	return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

static int run_refused(int errnum, const char *name)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (refuse_syscall(__NR_openat2, errnum) < 0)
			_exit(99);
		exit(run_group(name));
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

int main(void)
{
	int failed = run_group("with openat2");

	failed += run_refused(ENOSYS, "openat2 answers ENOSYS");
	failed += run_refused(EPERM, "openat2 answers EPERM");
	return failed ? 1 : 0;
}
