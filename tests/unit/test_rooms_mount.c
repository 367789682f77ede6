/*
 * The rooms that build the container's root, mounts, devices and masks.
 */
#include "tests/unit/rooms_fixture.h"

TEST(default_container)
{
	struct stat st;
	char text[64];

	add_mount(f, "/proc", "proc", "proc", NULL);
	add_mount(f, "/dev", "tmpfs", "tmpfs",
		  WORDS("nosuid", "strictatime", "mode=755", "size=65536k"));
	add_mount(f, "/dev/pts", "devpts", "devpts",
		  WORDS("nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"));
	add_mount(f, "/dev/shm", "tmpfs", "shm",
		  WORDS("nosuid", "noexec", "nodev", "mode=1777", "size=65536k"));
	add_mount(f, "/dev/mqueue", "mqueue", "mqueue", WORDS("nosuid", "noexec", "nodev"));
	add_mount(f, "/sys", "sysfs", "sysfs", WORDS("nosuid", "noexec", "nodev", "ro"));
	CHECK(build(f) == 0);
	CHECK(enter(f) == 0);
	CHECK(exists("/proc/self/status"));
	CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
	CHECK(mode_of("/dev/null") == 0666);
	CHECK(mode_of("/dev") == 0755);
	CHECK(mode_of("/dev/shm") == 01777);
	CHECK(flags_of("/dev/shm") & ST_NOEXEC);
	CHECK(flags_of("/sys") & ST_RDONLY);
	CHECK(readlink("/dev/ptmx", text, sizeof(text)) == 8 && memcmp(text, "pts/ptmx", 8) == 0);
	CHECK(readlink("/dev/fd", text, sizeof(text)) == 13);
	CHECK(stat("/dev/ptmx", &st) == 0 && st.st_rdev == makedev(5, 2));
	CHECK(!exists("/tmp/sbx-unit-XXXXXX") && !exists("/etc"));
	return 0;
}

TEST(tmpfs_mode_is_inherited)
{
	CHECK(make_dir(f, "root/a", 0710) == 0 && make_dir(f, "root/b", 07777) == 0);
	CHECK(make_dir(f, "root/c", 0710) == 0);
	add_mount(f, "/a", "tmpfs", "tmpfs", NULL);
	add_mount(f, "/b", "tmpfs", "tmpfs", NULL);
	add_mount(f, "/c", "tmpfs", "tmpfs", WORDS("mode=1700"));
	add_mount(f, "/d/e", "tmpfs", "tmpfs", NULL);
	umask(077);
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(mode_of("/a") == 0710);
	CHECK(mode_of("/b") == 07777);
	CHECK(mode_of("/c") == 01700);
	CHECK(mode_of("/d/e") == 01777);
	CHECK(mode_of("/d") == 0755);
	CHECK(umask(022) == 077);
	return 0;
}

TEST(tmpfs_copies_up)
{
	struct stat st;
	char text[16];

	CHECK(make_dir(f, "root/dir1", 0777) == 0 && make_dir(f, "root/dir1/dir2", 0777) == 0);
	CHECK(make_file(f, "root/dir1/dir2/file", "content") == 0);
	CHECK(make_link(f, "dir2/file", "root/dir1/link") == 0);
	add_mount(f, "/dir1", "tmpfs", "tmpfs", WORDS("tmpcopyup", "ro"));
	umask(022);
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(mode_of("/dir1/dir2") == 0777);
	CHECK(mode_of("/dir1/dir2/file") == 0644);
	CHECK(stat("/dir1/link", &st) == 0 && st.st_size == 7);
	CHECK(readlink("/dir1/link", text, sizeof(text)) == 9);
	CHECK(flags_of("/dir1") & ST_RDONLY);
	return 0;
}

TEST(read_only_dev_is_filled_first)
{
	add_mount(f, "/dev", "tmpfs", "tmpfs", WORDS("ro", "mode=755"));
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(exists("/dev/null"));
	CHECK(flags_of("/dev") & ST_RDONLY);
	return 0;
}

TEST(links_resolve_inside_the_root)
{
	CHECK(make_dir(f, "host", 0755) == 0);
	CHECK(make_link(f, "/real/conf", "root/conf") == 0);
	CHECK(make_link(f, "../../../../../../host", "root/up") == 0);
	add_mount(f, "/conf/stack", "tmpfs", "tmpfs", NULL);
	add_mount(f, "/up/made", "tmpfs", "tmpfs", NULL);
	add_mount(f, "/test//test/", "tmpfs", "tmpfs", NULL);
	add_mount(f, "relative", "tmpfs", "tmpfs", NULL);
	CHECK(build(f) == 0);
	CHECK(faccessat(AT_FDCWD, f->base, F_OK, 0) == 0);
	CHECK(enter(f) == 0);
	CHECK(exists("/real/conf/stack"));
	CHECK(exists("/host/made"));
	CHECK(exists("/test/test"));
	CHECK(exists("/relative"));
	return 0;
}

TEST(binds)
{
	char *dir, *file, *fifo;

	CHECK(bind_source(f, "dir", &dir) == 0 && bind_source(f, "file", &file) == 0 &&
	      bind_source(f, "fifo", &fifo) == 0);
	CHECK(make_dir(f, "dir", 0755) == 0 && make_file(f, "file", "x") == 0);
	CHECK(mkfifo(fifo, 0644) == 0);
	add_mount(f, "/in/dir", "bind", dir, WORDS("rbind", "ro", "nosuid"));
	add_mount(f, "/in/file", "bind", file, WORDS("bind", "rro"));
	add_mount(f, "/in/fifo", NULL, fifo, WORDS("bind", "rro"));
	add_mount(f, "/in/again", "bind", "root/in/dir", WORDS("bind"));
	add_mount(f, "/in/link", "bind", file, WORDS("bind", "rw"));
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK((flags_of("/in/dir") & (ST_RDONLY | ST_NOSUID)) == (ST_RDONLY | ST_NOSUID));
	CHECK(flags_of("/in/file") & ST_RDONLY);
	CHECK(flags_of("/in/fifo") & ST_RDONLY);
	/* an earlier mount's content, with its flags, is what a later source shows */
	CHECK(flags_of("/in/again") & ST_RDONLY);
	CHECK(!(flags_of("/in/link") & ST_RDONLY));
	CHECK(open("/in/file", O_WRONLY) < 0 && errno == EROFS);
	CHECK(open("/in/link", O_WRONLY) >= 0);
	return 0;
}

TEST(proc_link_is_refused)
{
	CHECK(make_dir(f, "root/bad-proc", 0755) == 0);
	CHECK(make_link(f, "/bad-proc", "root/proc") == 0);
	add_mount(f, "/proc", "proc", "proc", NULL);
	CHECK(refuses(f, "must be mounted on ordinary directory") == 0);
	return 0;
}

TEST(fake_proc_is_refused)
{
	char *dir;

	CHECK(bind_source(f, "fakeproc", &dir) == 0 && make_dir(f, "fakeproc", 0755) == 0);
	add_mount(f, "/proc", "bind", dir, WORDS("bind"));
	CHECK(refuses(f, "is not the root of a procfs") == 0);
	return 0;
}

TEST(real_proc_may_be_bound)
{
	add_mount(f, "/proc", "bind", "/proc", WORDS("rbind"));
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(exists("/proc/self/status"));
	return 0;
}

TEST(proc_sys_is_not_covered)
{
	add_mount(f, "/proc", "proc", "proc", NULL);
	add_mount(f, "/proc/sys", "tmpfs", "tmpfs", NULL);
	CHECK(refuses(f, "inside /proc") == 0);
	return 0;
}

TEST(proc_is_not_covered_through_a_link)
{
	CHECK(make_link(f, "/proc/sys", "root/way") == 0);
	add_mount(f, "/proc", "proc", "proc", NULL);
	add_mount(f, "/way", "tmpfs", "tmpfs", NULL);
	CHECK(refuses(f, "inside /proc") == 0);
	return 0;
}

TEST(proc_cpuinfo_may_be_covered)
{
	char *file;
	struct stat st;

	CHECK(bind_source(f, "cpus", &file) == 0 && make_file(f, "cpus", "none") == 0);
	add_mount(f, "/proc", "proc", "proc", NULL);
	add_mount(f, "/proc/cpuinfo", "bind", file, WORDS("bind"));
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(stat("/proc/cpuinfo", &st) == 0 && st.st_size == 4);
	return 0;
}

TEST(dev_link_is_refused)
{
	char path[256];

	CHECK(make_dir(f, "hostdev", 0755) == 0 && make_file(f, "hostdev/ptmx", "mine") == 0);
	snprintf(path, sizeof(path), "%s/hostdev", f->base);
	CHECK(make_link(f, path, "root/dev") == 0);
	CHECK(refuses(f, "must be an ordinary directory") == 0);
	CHECK(chdir(path) == 0);
	CHECK(exists("ptmx") && !exists("null") && !exists("fd"));
	return 0;
}

TEST(planted_device_is_refused)
{
	CHECK(make_dir(f, "root/dev", 0755) == 0 && make_file(f, "target", "host") == 0);
	CHECK(make_link(f, "../../target", "root/dev/null") == 0);
	CHECK(refuses(f, "something else is there") == 0);
	return 0;
}

TEST(listed_devices)
{
	static struct oci_device devices[] = {
		{"c", "/dev/sub/kmsg", 1, 11, {true, 0666}, {false, 0}, {true, 7}},
		{"c", "/dev/tty", 5, 0, {true, 0600}, {false, 0}, {false, 0}},
		{"c", "/dev/ptmx", 5, 2, {true, 0666}, {false, 0}, {false, 0}},
		{"p", "/dev/pipe", 0, 0, {true, 0640}, {true, 3}, {false, 0}},
	};
	struct stat st;

	f->spec.linux_.devices = devices;
	f->spec.linux_.devices_n = ARRAY_SIZE(devices);
	add_mount(f, "/dev/", "tmpfs", "tmpfs", WORDS("mode=755"));
	umask(077);
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(mode_of("/dev/sub") == 0755);
	CHECK(stat("/dev/sub/kmsg", &st) == 0 && st.st_rdev == makedev(1, 11) &&
	      (st.st_mode & 07777) == 0666 && st.st_gid == 7);
	CHECK(mode_of("/dev/tty") == 0600);
	CHECK(lstat("/dev/ptmx", &st) == 0 && S_ISLNK(st.st_mode));
	CHECK(lstat("/dev/pipe", &st) == 0 && S_ISFIFO(st.st_mode) && st.st_uid == 3);
	return 0;
}

TEST(bound_dev_is_left_alone)
{
	char *dir;

	CHECK(bind_source(f, "mydev", &dir) == 0 && make_dir(f, "mydev", 0755) == 0);
	add_mount(f, "/dev", "bind", dir, WORDS("bind"));
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(exists("/dev") && !exists("/dev/null") && !exists("/dev/fd"));
	return 0;
}

TEST(masked_and_read_only_paths)
{
	static char *masked[] = {(char *)"/proc/keys", (char *)"/sys/firmware", (char *)"/plain",
				 (char *)"/missing", NULL};
	static char *readonly[] = {(char *)"/proc/sys", (char *)"/missing", NULL};
	struct stat st;

	f->spec.linux_.masked_paths = (struct strings){masked, 4};
	f->spec.linux_.readonly_paths = (struct strings){readonly, 2};
	f->spec.root_readonly = true;
	CHECK(make_dir(f, "root/plain", 0755) == 0 && make_file(f, "root/plain/x", "x") == 0);
	add_mount(f, "/proc", "proc", "proc", NULL);
	add_mount(f, "/sys", "sysfs", "sysfs", NULL);
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(stat("/proc/keys", &st) == 0 && st.st_rdev == makedev(1, 3));
	CHECK(mode_of("/plain") == 0 && !exists("/plain/x"));
	CHECK(flags_of("/plain") & ST_RDONLY);
	CHECK(flags_of("/sys/firmware") & ST_RDONLY);
	CHECK(open("/proc/sys/kernel/domainname", O_WRONLY) < 0 && errno == EROFS);
	CHECK(open("/proc/self/comm", O_WRONLY) >= 0);
	CHECK(mkdir("/new", 0755) < 0 && errno == EROFS);
	return 0;
}

/* no /dev/null, or one that is something else: the image's file is not shown by the mask */
TEST(mask_without_null_device)
{
	static char *masked[] = {(char *)"/proc/keys", (char *)"/proc/timer_list",
				 (char *)"/secret", NULL};
	struct stat st;

	f->spec.linux_.masked_paths = (struct strings){masked, 3};
	CHECK(make_dir(f, "mydev", 0755) == 0 && make_file(f, "mydev/null", "mine") == 0);
	CHECK(make_file(f, "root/secret", "secret") == 0);
	add_mount(f, "/proc", "proc", "proc", NULL);
	add_mount(f, "/dev", "bind", "mydev", WORDS("bind"));
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(stat("/proc/keys", &st) == 0 && st.st_rdev == makedev(1, 3));
	CHECK(stat("/proc/timer_list", &st) == 0 && st.st_rdev == makedev(1, 3));
	CHECK(stat("/secret", &st) == 0 && st.st_rdev == makedev(1, 3));
	CHECK(chmod("/secret", 0777) < 0 && errno == EROFS);
	CHECK(stat("/dev/null", &st) == 0 && st.st_size == 4);
	CHECK(exists("/proc/self") && exists("/secret"));
	return 0;
}

TEST(root_by_move)
{
	f->plan.options.no_pivot = true;
	add_mount(f, "/proc", "proc", "proc", NULL);
	CHECK(make_dir(f, "root/here", 0755) == 0);
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(exists("/here") && exists("/proc/self") && !exists("/etc/passwd"));
	return 0;
}

TEST(host_root_as_root)
{
	snprintf(f->root, sizeof(f->root), "/");
	add_mount(f, "/tmp", "tmpfs", "tmpfs", NULL);
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(exists("/etc/passwd"));
	CHECK(exists("/tmp") && !exists(f->base));
	CHECK(mode_of("/tmp") == 01777);
	return 0;
}

/* ---- what is refused when the plan is made ---- */

TEST(without_mount_namespace)
{
	f->plan.namespaces.new_flags = 0;
	CHECK(plan_rooms(f) == 0);
	add_mount(f, "/x", "tmpfs", "tmpfs", NULL);
	CHECK(plan_rooms(f) < 0 && f->err.code == SBX_E_UNSUPPORTED);
	return 0;
}

/* Who takes context= of the mount label: new file systems but for those that have one label for
 * all. */
/* covers linux.mountLabel */
TEST(mount_label_is_planned)
{
	static const bool labelled[] = {true, true, true, false, false, false, false, false};

	f->spec.linux_.mount_label = "system_u:object_r:x:s0";
	add_mount(f, "/a", "tmpfs", "tmpfs", NULL);
	add_mount(f, "/b", "devpts", "devpts", NULL);
	add_mount(f, "/c", "ext4", "/dev/x", NULL);
	add_mount(f, "/d", "mqueue", "mqueue", NULL);
	add_mount(f, "/e", "proc", "proc", NULL);
	add_mount(f, "/f", "sysfs", "sysfs", NULL);
	add_mount(f, "/g", "bind", f->base, WORDS("bind"));
	add_mount(f, "/h", "tmpfs", "tmpfs", WORDS("context=a:b:c:s0")); /* its own goes first */
	f->plan.namespaces.new_flags = CLONE_NEWNS;
	CHECK(plan_rooms(f) == 0);
	CHECK(f->plan.mounts.n == ARRAY_SIZE(labelled));
	for (size_t i = 0; i < ARRAY_SIZE(labelled); i++) {
		const char *label = f->plan.mounts.v[i].label;

		CHECK(labelled[i] ? label && strcmp(label, "system_u:object_r:x:s0") == 0 : !label);
	}
	return 0;
}

TEST(without_mount_interface)
{
	f->host.mount_api = false;
	f->plan.namespaces.new_flags = CLONE_NEWNS;
	CHECK(plan_rooms(f) < 0 && f->err.code == SBX_E_UNSUPPORTED);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_container),
		cmocka_unit_test(tmpfs_mode_is_inherited),
		cmocka_unit_test(tmpfs_copies_up),
		cmocka_unit_test(read_only_dev_is_filled_first),
		cmocka_unit_test(links_resolve_inside_the_root),
		cmocka_unit_test(binds),
		cmocka_unit_test(proc_link_is_refused),
		cmocka_unit_test(fake_proc_is_refused),
		cmocka_unit_test(real_proc_may_be_bound),
		cmocka_unit_test(proc_sys_is_not_covered),
		cmocka_unit_test(proc_is_not_covered_through_a_link),
		cmocka_unit_test(proc_cpuinfo_may_be_covered),
		cmocka_unit_test(dev_link_is_refused),
		cmocka_unit_test(planted_device_is_refused),
		cmocka_unit_test(listed_devices),
		cmocka_unit_test(bound_dev_is_left_alone),
		cmocka_unit_test(masked_and_read_only_paths),
		cmocka_unit_test(mask_without_null_device),
		cmocka_unit_test(root_by_move),
		cmocka_unit_test(host_root_as_root),
		cmocka_unit_test(without_mount_namespace),
		cmocka_unit_test(mount_label_is_planned),
		cmocka_unit_test(without_mount_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
