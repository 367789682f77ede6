/*
 * A container to be, built by the rooms in a child with its own mount namespace: what the tests of
 * the mount rooms share. They need root that can make mount namespaces; without it every
 * test is skipped.
 */
#ifndef SBX_TESTS_ROOMS_FIXTURE_H
#define SBX_TESTS_ROOMS_FIXTURE_H

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/cgroup/cgroup.h"
#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/procfs.h"
#include "tests/unit/privileges.h"

#define MOUNTS_MAX 12

/* One container to be: what the test wants, then what the rooms made of it. */
struct fixture {
	char base[64]; /* holds "root" and what else the test puts there */
	char root[128];
	struct arena arena;
	struct oci_spec spec;
	struct oci_mount mounts[MOUNTS_MAX];
	struct host_facts host;
	struct policy policy;
	struct plan plan;
	struct run run;
	struct sbx_error err;
};

#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})

static inline void add_mount(struct fixture *f, const char *destination, const char *type,
			     const char *source, char **options)
{
	struct oci_mount *m = &f->mounts[f->spec.mounts_n++];

	*m = (struct oci_mount){.destination = destination, .type = type, .source = source};
	while (options && options[m->options.n])
		m->options.n++;
	m->options.v = options;
	f->spec.mounts = f->mounts;
}

static inline int plan_rooms(struct fixture *f)
{
	const struct room *rooms[] = {&room_rootfs, &room_mounts, &room_devices, &room_mask};
	int r = 0;

	f->plan.arena = &f->arena;
	f->plan.spec = &f->spec;
	f->plan.host = &f->host;
	f->plan.policy = &f->policy;
	f->plan.options.rootfs = f->root;
	f->plan.options.bundle = f->base;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rooms); i++)
		r = rooms[i]->plan(&f->plan, NULL, &f->err);
	return r;
}

static inline int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -1;
	r = write(fd, text, strlen(text)) < 0 ? -1 : 0;
	close(fd);
	return r;
}

/* In a user namespace that maps root alone where one is asked for. */
static inline int enter_namespaces(int flags)
{
	if (unshare(flags) < 0)
		return -1;
	if (!(flags & CLONE_NEWUSER))
		return 0;
	return write_file("/proc/self/setgroups", "deny") < 0 ||
			       write_file("/proc/self/uid_map", "0 0 1") < 0 ||
			       write_file("/proc/self/gid_map", "0 0 1") < 0
		       ? -1
		       : 0;
}

/* Everything up to the end of STAGE_MOUNTS, in a new mount namespace of this process. */
static inline int build(struct fixture *f)
{
	int r;

	f->plan.namespaces.new_flags |= CLONE_NEWNS;
	r = plan_rooms(f);
	if (r < 0)
		return r;
	f->run.plan = &f->plan;
	f->run.proc_fd = procfs_open_root();
	f->run.rootfs_fd = open(f->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	f->run.tty_master_fd = f->run.console_fd = -EBADF;
	f->run.output_fds[0] = f->run.output_fds[1] = -EBADF;
	if (room_mounts.prepare)
		r = room_mounts.prepare(&f->run, &f->err);
	if (r < 0)
		return r;
	if (enter_namespaces(f->plan.namespaces.new_flags) < 0)
		return -errno;
	r = room_rootfs.apply(&f->run, STAGE_MOUNTS, &f->err);
	if (r == 0)
		r = room_mounts.apply(&f->run, STAGE_MOUNTS, &f->err);
	if (r == 0)
		r = room_devices.apply(&f->run, STAGE_MOUNTS, &f->err);
	return r;
}

static inline int enter(struct fixture *f)
{
	int r = room_rootfs.apply(&f->run, STAGE_PIVOT, &f->err);

	if (r == 0)
		r = room_mounts.apply(&f->run, STAGE_PIVOT, &f->err);
	if (r == 0)
		r = room_mask.apply(&f->run, STAGE_PIVOT, &f->err);
	return r;
}

/* ---- each test is a function of a child; what it prints on failure reaches the log ---- */

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s (errno %d, \"%s\")\n", __FILE__, __LINE__,      \
				#condition, errno, f->err.message);                                \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static inline int run_child(int (*body)(struct fixture *f))
{
	struct fixture *f = calloc(1, sizeof(*f));
	int status = 0;
	pid_t pid;

	assert_non_null(f);
	snprintf(f->base, sizeof(f->base), "/tmp/sbx-unit-XXXXXX");
	assert_non_null(mkdtemp(f->base));
	assert_int_equal(chmod(f->base, 0755), 0);
	snprintf(f->root, sizeof(f->root), "%s/root", f->base);
	assert_int_equal(mkdir(f->root, 0755), 0);
	arena_init(&f->arena, 1 << 20);
	f->host =
		(struct host_facts){.initial_userns = true, .privileged = true, .mount_api = true};
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL); /* cmocka's handler would go on with the next test */
		_exit(body(f));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(fd_remove_tree_at(AT_FDCWD, f->base), 0);
	arena_release(&f->arena);
	free(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void need_root(void)
{
	if (!can_mount()) {
		print_message("needs root that can make mount namespaces\n");
		skip();
	}
}

#define TEST(name)                                                                                 \
	static int name##_body(struct fixture *f);                                                 \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		need_root();                                                                       \
		assert_int_equal(run_child(name##_body), 0);                                       \
	}                                                                                          \
	static int name##_body(struct fixture *f)

/* ---- helpers inside the child ---- */

static inline int make_dir(struct fixture *f, const char *name, mode_t mode)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", f->base, name);
	return mkdir(path, 0755) < 0 || chmod(path, mode) < 0 ? -1 : 0;
}

static inline int make_file(struct fixture *f, const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->base, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -1;
	return close(fd);
}

static inline int make_link(struct fixture *f, const char *target, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", f->base, name);
	return symlink(target, path);
}

/* Permission bits of PATH (after enter()), -1 where it is missing. */
static inline int mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? -1 : (int)(st.st_mode & 07777);
}

static inline unsigned long flags_of(const char *path)
{
	struct statvfs vfs;

	return statvfs(path, &vfs) < 0 ? 0 : vfs.f_flag;
}

static inline bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static inline int bind_source(struct fixture *f, const char *name, char **ret)
{
	return asprintf(ret, "%s/%s", f->base, name) < 0 ? -1 : 0;
}

/* rc of a bundle with one mount, and the part of the message that must be there */
static inline int refuses(struct fixture *f, const char *text)
{
	return build(f) < 0 && strstr(f->err.message, text) ? 0 : 1;
}

#endif
