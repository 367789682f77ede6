/*
 * The terminal, control group views, user namespaces, propagation: the mount rooms where the
 * container is not a plain one.
 */
#include "tests/unit/rooms_fixture.h"

/* ---- terminal ---- */

static struct oci_process terminal_process = {
	.terminal = true,
	.console_size_set = true,
	.console_height = 33,
	.console_width = 77,
	.user = {.uid = 12},
};

static void want_terminal(struct fixture *f)
{
	static char *options[] = {(char *)"newinstance", (char *)"ptmxmode=0666",
				  (char *)"mode=0620", (char *)"gid=5", NULL};

	f->spec.process = &terminal_process;
	f->plan.process.process = &terminal_process;
	f->plan.process.terminal = true;
	add_mount(f, "/dev/pts", "devpts", "devpts", options);
}

TEST(terminal)
{
	struct stat console, slave;
	struct winsize size;

	add_mount(f, "/dev", "tmpfs", "tmpfs", WORDS("mode=755", "ro"));
	want_terminal(f);
	CHECK(build(f) == 0 && room_tty.apply(&f->run, STAGE_MOUNTS, &f->err) == 0);
	CHECK(enter(f) == 0);
	CHECK(f->run.tty_master_fd >= 0 && fstat(f->run.console_fd, &slave) == 0);
	CHECK(stat("/dev/console", &console) == 0 && S_ISCHR(console.st_mode) &&
	      console.st_rdev == slave.st_rdev && console.st_uid == 12 && console.st_gid == 5);
	CHECK(room_tty.apply(&f->run, STAGE_TTY, &f->err) == 0);
	CHECK(isatty(0) && isatty(2) && getsid(0) == getpid());
	CHECK(ioctl(0, TIOCGWINSZ, &size) == 0 && size.ws_row == 33 && size.ws_col == 77);
	CHECK(open("/dev/tty", O_RDWR) >= 0);
	return 0;
}

/* without a mount on /dev the image's own folder is used: a link there leads nowhere */
TEST(console_link_is_refused)
{
	CHECK(make_dir(f, "root/dev", 0755) == 0);
	CHECK(make_link(f, "../../made", "root/dev/console") == 0);
	want_terminal(f);
	CHECK(build(f) == 0);
	CHECK(room_tty.apply(&f->run, STAGE_MOUNTS, &f->err) < 0);
	CHECK(f->err.code == SBX_E_UNSAFE_PATH);
	CHECK(chdir(f->base) == 0 && !exists("made"));
	return 0;
}

TEST(terminal_needs_devpts)
{
	add_mount(f, "/dev", "tmpfs", "tmpfs", NULL);
	want_terminal(f);
	f->mounts[1].type = "tmpfs";
	f->mounts[1].options.n = 0;
	CHECK(build(f) == 0);
	CHECK(room_tty.apply(&f->run, STAGE_MOUNTS, &f->err) < 0);
	CHECK(f->err.code == SBX_E_UNSUPPORTED);
	return 0;
}

/* ---- control group views: plain directories serve as hierarchies ---- */

static int want_cgroup(struct fixture *f, struct cgroup *cg, enum cgroup_mode mode)
{
	static const char *const rows[][2] = {
		{"cpu,cpuacct", "cpu,cpuacct"}, {"name=systemd", "systemd"}, {"memory", "memory"}};

	cg->mode = f->host.cgroup_mode = mode;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_hierarchy *h = &cg->v[cg->n++];
		char path[96];

		CHECK(make_dir(f, rows[i][1], 0755) == 0);
		snprintf(path, sizeof(path), "%s/own", rows[i][1]);
		CHECK(make_dir(f, path, 0755) == 0);
		snprintf(path, sizeof(path), "%s/own/tasks", rows[i][1]);
		CHECK(make_file(f, path, "") == 0);
		snprintf(h->controllers, sizeof(h->controllers), "%s", rows[i][0]);
		snprintf(h->mount, sizeof(h->mount), "%s/%s", f->base, rows[i][1]);
		snprintf(h->path, sizeof(h->path), "/own");
	}
	f->run.cgroup = f->run.payload = cg;
	return 0;
}

TEST(cgroup_v1_view)
{
	struct cgroup cg = {0};

	CHECK(want_cgroup(f, &cg, CGROUP_MODE_HYBRID) == 0);
	add_mount(f, "/sys/fs/cgroup", "cgroup", "cgroup", WORDS("ro", "nosuid", "noexec"));
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(exists("/sys/fs/cgroup/memory/tasks") && exists("/sys/fs/cgroup/systemd/tasks"));
	CHECK(exists("/sys/fs/cgroup/cpu/tasks") && exists("/sys/fs/cgroup/cpuacct/tasks"));
	CHECK(flags_of("/sys/fs/cgroup") & ST_RDONLY);
	CHECK(flags_of("/sys/fs/cgroup/memory") & ST_RDONLY);
	CHECK(flags_of("/sys/fs/cgroup/memory") & ST_NOEXEC);
	return 0;
}

TEST(cgroup_v2_view_by_bind)
{
	struct cgroup cg = {0};

	CHECK(want_cgroup(f, &cg, CGROUP_MODE_V2) == 0);
	add_mount(f, "/sys/fs/cgroup", "cgroup", "cgroup", WORDS("nosuid"));
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(exists("/sys/fs/cgroup/tasks"));
	CHECK(!(flags_of("/sys/fs/cgroup") & ST_RDONLY));
	return 0;
}

/* without an own cgroup namespace an unprivileged caller's view is read-only: CVE-2023-25809 */
TEST(cgroup_v2_view_rootless)
{
	struct cgroup cg = {0};

	CHECK(want_cgroup(f, &cg, CGROUP_MODE_V2) == 0);
	f->host.privileged = false;
	add_mount(f, "/sys/fs/cgroup", "cgroup", "cgroup", WORDS("nosuid"));
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(flags_of("/sys/fs/cgroup") & ST_RDONLY);
	return 0;
}

TEST(cgroup_without_group)
{
	f->host.cgroup_mode = CGROUP_MODE_V2;
	add_mount(f, "/sys/fs/cgroup", "cgroup", "cgroup", NULL);
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(flags_of("/sys/fs/cgroup") & ST_RDONLY);
	CHECK(!exists("/sys/fs/cgroup/cgroup.procs"));
	return 0;
}

/* ---- links as sources and destinations ---- */

TEST(links_as_objects)
{
	char *link, text[64];

	CHECK(bind_source(f, "link", &link) == 0 && make_link(f, "some/where", "link") == 0);
	CHECK(make_link(f, "/elsewhere", "root/other") == 0);
	add_mount(f, "/copied/link", "bind", link, WORDS("bind", "copy-symlink"));
	add_mount(f, "/other", "bind", link, WORDS("bind", "src-nofollow", "dest-nofollow"));
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(readlink("/copied/link", text, sizeof(text)) == 10);
	CHECK(readlink("/other", text, sizeof(text)) == 10 && memcmp(text, "some/where", 10) == 0);
	return 0;
}

/* ---- in a user namespace ---- */

static void want_userns(struct fixture *f)
{
	static struct oci_id_map map = {0, 0, 1};

	f->plan.namespaces.new_flags |= CLONE_NEWUSER;
	f->plan.namespaces.uid_maps = f->plan.namespaces.gid_maps = (struct oci_id_maps){&map, 1};
}

TEST(user_namespace)
{
	struct stat st;

	want_userns(f);
	f->plan.namespaces.new_flags |= CLONE_NEWIPC;
	add_mount(f, "/dev", "tmpfs", "tmpfs", WORDS("nosuid", "mode=755"));
	add_mount(f, "/dev/pts", "devpts", "devpts",
		  WORDS("newinstance", "ptmxmode=0666", "mode=0620", "gid=5"));
	add_mount(f, "/dev/mqueue", "mqueue", "mqueue", WORDS("nosuid", "noexec", "nodev"));
	add_mount(f, "/sys", "sysfs", "sysfs", WORDS("nosuid", "noexec", "nodev"));
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(f->plan.devices.by_bind);
	CHECK(stat("/dev/null", &st) == 0 && st.st_rdev == makedev(1, 3));
	CHECK(open("/dev/null", O_RDWR) >= 0);
	CHECK(exists("/dev/pts/ptmx") && exists("/dev/mqueue"));
	CHECK(exists("/sys/kernel") && (flags_of("/sys") & ST_RDONLY));
	return 0;
}

/* Flags that came with the host's mounts are locked in a less privileged mount namespace. */
static int bind_locked(struct fixture *f, char **options)
{
	char *dir;

	CHECK(bind_source(f, "locked", &dir) == 0 && make_dir(f, "locked", 0755) == 0);
	CHECK(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) == 0);
	CHECK(mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NODEV, NULL) == 0);
	want_userns(f);
	f->host.privileged = false; /* opened by the child */
	add_mount(f, "/in", "bind", dir, options);
	return 0;
}

TEST(locked_flags_are_kept)
{
	char **options = WORDS("rbind", "ro"); /* lives as long as this function */

	CHECK(bind_locked(f, options) == 0);
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK((flags_of("/in") & (ST_RDONLY | ST_NOSUID | ST_NODEV)) ==
	      (ST_RDONLY | ST_NOSUID | ST_NODEV));
	return 0;
}

TEST(locked_flags_are_not_cleared)
{
	char **options = WORDS("rbind", "suid");

	CHECK(bind_locked(f, options) == 0);
	CHECK(refuses(f, "cannot clear locked flags") == 0);
	return 0;
}

TEST(source_by_parent)
{
	char *dir, *file;

	CHECK(bind_source(f, "closed", &dir) == 0 && make_dir(f, "closed", 0700) == 0);
	CHECK(make_file(f, "closed/file", "x") == 0);
	CHECK(asprintf(&file, "%s/file", dir) > 0);
	want_userns(f);
	add_mount(f, "/in", "bind", file, WORDS("bind", "ro"));
	CHECK(build(f) == 0 && f->plan.mounts.v[0].source_by_parent);
	CHECK(enter(f) == 0);
	CHECK(flags_of("/in") & ST_RDONLY);
	return 0;
}

TEST(id_mapped_mount)
{
	static struct oci_id_map map = {0, 5000, 100};
	char *dir;
	struct stat st;

	CHECK(bind_source(f, "mapped", &dir) == 0 && make_dir(f, "mapped", 0755) == 0);
	CHECK(make_file(f, "mapped/file", "x") == 0);
	add_mount(f, "/in", "bind", dir, WORDS("rbind", "idmap"));
	f->mounts[0].uid_maps = f->mounts[0].gid_maps = (struct oci_id_maps){&map, 1};
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(stat("/in/file", &st) == 0 && st.st_uid == 5000 && st.st_gid == 5000);
	return 0;
}

/* ---- propagation ---- */

/* A peer of the host's: what is mounted below it later must arrive, or must not. */
static int propagation_case(struct fixture *f, const char *word, char **options, bool arrives,
			    bool leaves)
{
	char *dir, *below, *root_below;
	int host_ns, own_ns;

	CHECK(bind_source(f, "shared", &dir) == 0 && make_dir(f, "shared", 0755) == 0);
	CHECK(asprintf(&below, "%s/a", dir) > 0 && asprintf(&root_below, "%s/b", dir) > 0);
	CHECK(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) == 0);
	CHECK(mount(dir, dir, NULL, MS_BIND, NULL) == 0);
	CHECK(mount(NULL, dir, NULL, MS_SHARED, NULL) == 0);
	CHECK(mkdir(below, 0755) == 0 && mkdir(root_below, 0755) == 0);
	host_ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	f->spec.linux_.rootfs_propagation = word;
	add_mount(f, "/proc", "proc", "proc", NULL);
	add_mount(f, "/in", "bind", dir, options);
	CHECK(build(f) == 0 && enter(f) == 0);
	CHECK(mount("tmpfs", "/in/b", "tmpfs", 0, "mode=0123") == 0);
	/* the namespace lives as long as somebody holds it */
	own_ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	CHECK(own_ns >= 0 && setns(host_ns, CLONE_NEWNS) == 0);
	CHECK((mode_of(root_below) == 0123) == leaves);
	CHECK(mount("tmpfs", below, "tmpfs", 0, "mode=0321") == 0);
	CHECK(fchdir(f->run.rootfs_fd) == 0);
	CHECK((mode_of("in/a") == 0321) == arrives);
	return 0;
}

TEST(default_is_private)
{
	return propagation_case(f, NULL, WORDS("rbind"), false, false);
}

TEST(slave_receives_only)
{
	return propagation_case(f, "rslave", WORDS("rbind"), true, false);
}

TEST(shared_goes_both_ways)
{
	return propagation_case(f, "shared", WORDS("rbind", "rshared"), true, true);
}

TEST(private_bind_in_shared_tree)
{
	return propagation_case(f, "rshared", WORDS("rbind", "rprivate"), false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terminal),
		cmocka_unit_test(console_link_is_refused),
		cmocka_unit_test(terminal_needs_devpts),
		cmocka_unit_test(cgroup_v1_view),
		cmocka_unit_test(cgroup_v2_view_by_bind),
		cmocka_unit_test(cgroup_v2_view_rootless),
		cmocka_unit_test(cgroup_without_group),
		cmocka_unit_test(links_as_objects),
		cmocka_unit_test(user_namespace),
		cmocka_unit_test(locked_flags_are_kept),
		cmocka_unit_test(locked_flags_are_not_cleared),
		cmocka_unit_test(source_by_parent),
		cmocka_unit_test(id_mapped_mount),
		cmocka_unit_test(default_is_private),
		cmocka_unit_test(slave_receives_only),
		cmocka_unit_test(shared_goes_both_ways),
		cmocka_unit_test(private_bind_in_shared_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
