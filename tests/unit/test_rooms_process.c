/*
 * The rooms that set the process up: what they plan and refuse, and what they do to a child that is
 * forked for it.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/procfs.h"
#include "tests/unit/privileges.h"

#define BIT(cap) (UINT64_C(1) << (cap))
#define WORDS(...)                                                                                 \
	{                                                                                          \
		.v = (char *[]){__VA_ARGS__, NULL},                                                \
		.n = sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)                              \
	}

struct fixture {
	struct arena arena;
	struct oci_process process;
	struct oci_spec spec;
	struct policy policy;
	struct host_facts host;
	struct plan plan;
	struct report report;
	struct run run;
	struct sbx_error err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	arena_init(&f->arena, 1 << 20);
	report_init(&f->report, &f->arena);
	f->spec.process = &f->process;
	f->plan = (struct plan){
		.arena = &f->arena, .spec = &f->spec, .policy = &f->policy, .host = &f->host};
	f->plan.options.id = "unit";
	f->run.plan = &f->plan;
	f->run.proc_fd = procfs_open_root();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	cleanup_close_fd(&f->run.proc_fd);
	arena_release(&f->arena);
	free(f);
	return 0;
}

static const struct report_entry *entry(const struct fixture *f, const char *feature)
{
	size_t i;

	for (i = 0; i < f->report.n; i++) {
		if (strcmp(f->report.entries[i].feature, feature) == 0)
			return &f->report.entries[i];
	}
	return NULL;
}

static void plan_ok(struct fixture *f, const struct room *room)
{
	if (room->plan(&f->plan, &f->report, &f->err) < 0)
		fail_msg("%s: %s", room->name, f->err.message);
}

static void plan_refused(struct fixture *f, const struct room *room, enum sbx_code code,
			 const char *pointer)
{
	memset(&f->err, 0, sizeof(f->err));
	assert_true(room->plan(&f->plan, &f->report, &f->err) < 0);
	assert_int_equal(f->err.code, code);
	assert_string_equal(f->err.pointer, pointer);
}

/* Run body in a child; it returns 0 or the line that failed. */
static void in_child(struct fixture *f, int (*body)(struct fixture *))
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(body(f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s (errno %d, \"%s\")\n", __FILE__, __LINE__,      \
				#condition, errno, f->err.message);                                \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static void need_root(void)
{
	if (!can_mount()) {
		print_message("needs root that can make mount namespaces\n");
		skip();
	}
}

/* ---- capabilities ---- */

static void test_caps_names(void **state)
{
	struct fixture *f = *state;
	struct oci_capabilities caps = {
		.sets = {
			[CAPSET_BOUNDING] = WORDS("CAP_CHOWN", "CAP_SYS_ADMIN", "CAP_BPF"),
			[CAPSET_PERMITTED] =
				WORDS("CAP_CHOWN", "cap_kill", "CHOWN", "7", "CAP_NONE"),
		}};

	f->process.capabilities = &caps;
	plan_ok(f, &room_caps);
	assert_int_equal(f->plan.caps.sets[CAPSET_BOUNDING],
			 BIT(CAP_CHOWN) | BIT(CAP_SYS_ADMIN) | BIT(CAP_BPF));
	assert_int_equal(f->plan.caps.sets[CAPSET_PERMITTED], BIT(CAP_CHOWN));
	assert_int_equal(f->plan.caps.unknown, 4);
	assert_int_equal(f->report.n, 0);
}

static void test_caps_without_block(void **state)
{
	struct fixture *f = *state;
	size_t i;

	plan_ok(f, &room_caps);
	for (i = 0; i < CAPSET_COUNT; i++)
		assert_int_equal(f->plan.caps.sets[i], 0);
	assert_false(f->plan.process.no_new_privs);
}

static void test_caps_narrowed(void **state)
{
	struct fixture *f = *state;
	struct strings names =
		WORDS("CAP_CHOWN", "CAP_DAC_READ_SEARCH", "CAP_SYS_PTRACE", "CAP_SETFCAP");
	struct oci_capabilities caps = {.sets = {names, names, names, names, names}};
	size_t i;

	f->process.capabilities = &caps;
	f->policy.confined = true;
	plan_ok(f, &room_caps);
	for (i = 0; i < CAPSET_COUNT; i++)
		assert_int_equal(f->plan.caps.sets[i], BIT(CAP_CHOWN));
	assert_true(f->plan.process.no_new_privs);
	assert_int_equal(entry(f, "capabilities")->outcome, OUTCOME_NARROWED);
	assert_non_null(strstr(entry(f, "capabilities")->detail, "CAP_SYS_PTRACE"));
	assert_non_null(strstr(entry(f, "capabilities")->detail, "CAP_DAC_READ_SEARCH"));
	assert_non_null(strstr(entry(f, "capabilities")->detail, "CAP_SETFCAP"));
	assert_null(strstr(entry(f, "capabilities")->detail, "CAP_CHOWN"));
	assert_int_equal(entry(f, "noNewPrivileges")->carries,
			 GUARANTEE_BIT(GUARANTEE_PROCESS_BOUNDARY));
}

/* File capabilities of a user namespace are no capabilities outside of it. */
static void test_caps_narrowed_in_userns(void **state)
{
	struct fixture *f = *state;
	struct strings names = WORDS("CAP_CHOWN", "CAP_SETFCAP", "CAP_FSETID");
	struct oci_capabilities caps = {.sets = {names, names, names, names, names}};
	size_t i;

	f->process.capabilities = &caps;
	f->policy.confined = true;
	f->plan.namespaces.new_flags |= CLONE_NEWUSER;
	plan_ok(f, &room_caps);
	for (i = 0; i < CAPSET_COUNT; i++)
		assert_int_equal(f->plan.caps.sets[i],
				 BIT(CAP_CHOWN) | BIT(CAP_SETFCAP) | BIT(CAP_FSETID));
}

static void test_caps_groups_denied(void **state)
{
	struct fixture *f = *state;
	uint32_t groups[] = {5};

	f->process.user.additional_gids = groups;
	f->process.user.additional_gids_n = 1;
	f->plan.namespaces.deny_setgroups = true;
	plan_refused(f, &room_caps, SBX_E_INVALID_CONFIG, "/process/user/additionalGids");
	f->plan.namespaces.deny_setgroups = false;
	plan_ok(f, &room_caps);
}

static uint64_t status_set(const char *name)
{
	char line[256];
	size_t len = strlen(name);
	uint64_t value = UINT64_MAX;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			value = strtoull(line + len + 1, NULL, 16);
	}
	if (file)
		fclose(file);
	return value;
}

static int child_credentials(struct fixture *f)
{
	uint64_t wanted = BIT(CAP_CHOWN) | BIT(CAP_KILL);

	CHECK(room_caps.apply(&f->run, STAGE_PRIVILEGES, &f->err) == 0);
	CHECK(getuid() == 1234 && geteuid() == 1234 && getgid() == 77 && getegid() == 77);
	CHECK(getgroups(0, NULL) == 1);
	CHECK(prctl(PR_GET_DUMPABLE) == 0);
	CHECK(umask(0) == 027);
	CHECK(status_set("CapPrm") == wanted);
	CHECK(status_set("CapEff") == BIT(CAP_KILL));
	CHECK(status_set("CapBnd") == wanted);
	CHECK(status_set("CapInh") == BIT(CAP_KILL));
	CHECK(status_set("CapAmb") == BIT(CAP_KILL));
	CHECK(prctl(PR_GET_KEEPCAPS) == 0);
	return 0;
}

static void test_caps_applied(void **state)
{
	struct fixture *f = *state;
	uint32_t groups[] = {5};
	struct oci_capabilities caps = {.sets = {
						[CAPSET_BOUNDING] = WORDS("CAP_CHOWN", "CAP_KILL"),
						[CAPSET_PERMITTED] = WORDS("CAP_CHOWN", "CAP_KILL"),
						[CAPSET_EFFECTIVE] = WORDS("CAP_KILL"),
						[CAPSET_INHERITABLE] = WORDS("CAP_KILL"),
						[CAPSET_AMBIENT] = WORDS("CAP_KILL"),
					}};

	need_root();
	f->process.capabilities = &caps;
	f->process.user = (struct oci_user){.uid = 1234,
					    .gid = 77,
					    .umask = {true, 027},
					    .additional_gids = groups,
					    .additional_gids_n = 1};
	plan_ok(f, &room_caps);
	in_child(f, child_credentials);
}

static int child_inheritable(struct fixture *f)
{
	f->run.is_exec = true;
	CHECK(room_caps.apply(&f->run, STAGE_PRIVILEGES, &f->err) == 0);
	CHECK(status_set("CapPrm") == (BIT(CAP_CHOWN) | BIT(CAP_KILL)));
	CHECK(status_set("CapInh") == BIT(CAP_KILL)); /* what the ambient set needs */
	CHECK(status_set("CapAmb") == BIT(CAP_KILL));
	return 0;
}

/* CVE-2022-29162: a further process has nothing inheritable that nobody needs. */
static void test_caps_exec_inherits_nothing(void **state)
{
	struct fixture *f = *state;
	struct strings two = WORDS("CAP_CHOWN", "CAP_KILL"), one = WORDS("CAP_KILL");
	struct oci_capabilities caps = {.sets = {two, two, two, two, one}};

	need_root();
	f->process.capabilities = &caps;
	plan_ok(f, &room_caps);
	in_child(f, child_inheritable);
}

/* ---- sysctl ---- */

static bool sysctl_is_taken(const char *key)
{
	char path[OCI_SYSCTL_PATH_MAX];
	enum oci_ns ns;

	return oci_sysctl_path(key, path, sizeof(path)) == 0 && oci_sysctl_namespace(path, &ns);
}

static void test_sysctl_names(void **state)
{
	static const char *const good[] = {
		"net.ipv4.ip_forward",
		"net/ipv4/ip_forward",
		"net.ipv4.conf.eno2/100.forwarding",
		"net/ipv4/conf/eno2.100/forwarding",
		"kernel.shm_rmid_forced",
		"kernel.msgmax",
		"fs.mqueue.msg_max",
		"user.max_net_namespaces",
		"kernel.domainname",
	};
	static const char *const bad[] = {
		"",
		"kernel",
		"kernel.core_pattern",
		"kernel.hostname",
		"kernel/core_pattern",
		"vm.drop_caches",
		"fs.mqueue",
		"net",
		"net.",
		".net.ipv4",
		"net..ipv4",
		"net/../kernel/core_pattern",
		"net/ipv4/../../kernel/core_pattern",
		"net././/kernel.core_pattern",
		"net//ipv4",
		"net/./ipv4",
		"kernel.shm_rmid_forced=1+kernel.core_pattern",
		"kernel.shm_rmid_forced.x",
		"netx.ipv4",
		"net.ipv4 .x",
		"net.ipv4\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(sysctl_is_taken(good[i]));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(sysctl_is_taken(bad[i]));
}

static void test_sysctl_refuses_the_hosts_namespace(void **state)
{
	struct fixture *f = *state;
	struct oci_key_value kv = {.key = "net.ipv4.ip_forward", .value = "1"};

	f->spec.linux_.sysctl = (struct oci_key_values){.v = &kv, .n = 1};
	f->spec.linux_.ns[NS_NET] = (struct oci_namespace){true, "/proc/self/ns/net"};
	assert_true(room_sysctl.prepare(&f->run, &f->err) < 0);
	assert_int_equal(f->err.code, SBX_E_INVALID_CONFIG);
}

static int child_sysctl(struct fixture *f)
{
	char value[16] = "";
	int fd;

	CHECK(unshare(CLONE_NEWIPC) == 0);
	CHECK(room_sysctl.apply(&f->run, STAGE_TTY, &f->err) == 0);
	fd = open("/proc/sys/kernel/msgmax", O_RDONLY);
	CHECK(fd >= 0 && read(fd, value, sizeof(value) - 1) > 0);
	CHECK(strcmp(value, "4321\n") == 0);
	return 0;
}

static void test_sysctl_applied(void **state)
{
	struct fixture *f = *state;
	struct oci_key_value kv = {.key = "kernel.msgmax", .value = "4321"};

	need_root();
	f->spec.linux_.sysctl = (struct oci_key_values){.v = &kv, .n = 1};
	in_child(f, child_sysctl);
}

/* ---- limits, oom score, scheduling ---- */

static int child_rlimits(struct fixture *f)
{
	struct rlimit limit;

	CHECK(room_rlimits.apply(&f->run, STAGE_LIMITS, &f->err) == 0);
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK(limit.rlim_cur == 64 && limit.rlim_max == 128);
	CHECK(getrlimit(RLIMIT_CORE, &limit) == 0);
	CHECK(limit.rlim_cur == (f->policy.confined ? 1 : 4096));
	return 0;
}

static void test_rlimits(void **state)
{
	struct fixture *f = *state;
	struct oci_rlimit limits[] = {{"RLIMIT_NOFILE", RLIMIT_NOFILE, 64, 128},
				      {"RLIMIT_CORE", RLIMIT_CORE, 4096, 4096}};

	if (is_contained_root())
		skip();
	f->process.rlimits = limits;
	f->process.rlimits_n = 2;
	in_child(f, child_rlimits);
	f->policy.confined = true;
	in_child(f, child_rlimits);
}

static int child_oom(struct fixture *f)
{
	char value[16] = "";
	int fd;

	CHECK(room_oom.apply(&f->run, STAGE_LIMITS, &f->err) == 0);
	fd = open("/proc/self/oom_score_adj", O_RDONLY);
	CHECK(fd >= 0 && read(fd, value, sizeof(value) - 1) > 0);
	CHECK(strcmp(value, "900\n") == 0);
	return 0;
}

static void test_oom(void **state)
{
	struct fixture *f = *state;

	f->process.oom_score_adj = (struct oci_opt_i64){true, 900};
	in_child(f, child_oom);
}

static int child_sched(struct fixture *f)
{
	CHECK(room_sched.apply(&f->run, STAGE_LIMITS, &f->err) == 0);
	CHECK(sched_getscheduler(0) == SCHED_BATCH);
	CHECK(getpriority(PRIO_PROCESS, 0) == 5);
	CHECK(syscall(SYS_ioprio_get, 1, 0) == (2 << 13 | 6));
	CHECK(personality(0xffffffff) == PER_LINUX32);
	return 0;
}

static void test_sched_applied(void **state)
{
	struct fixture *f = *state;
	struct oci_scheduler scheduler = {.policy = "SCHED_BATCH", .nice = {true, 5}};
	struct oci_io_priority io = {.class_name = "IOPRIO_CLASS_BE", .priority = 6};

	f->process.scheduler = &scheduler;
	f->process.io_priority = &io;
	f->spec.linux_.personality_domain = "LINUX32";
	plan_ok(f, &room_sched);
	in_child(f, child_sched);
}

static void test_sched_refusals(void **state)
{
	struct fixture *f = *state;
	struct oci_scheduler scheduler = {.policy = "SCHED_FAST"};
	struct oci_io_priority io = {.class_name = "IOPRIO_CLASS_NONE"};

	f->process.scheduler = &scheduler;
	plan_refused(f, &room_sched, SBX_E_INVALID_CONFIG, "/process/scheduler/policy");
	scheduler = (struct oci_scheduler){.policy = "SCHED_FIFO", .nice = {true, 1}};
	plan_refused(f, &room_sched, SBX_E_INVALID_CONFIG, "/process/scheduler/nice");
	scheduler = (struct oci_scheduler){.policy = "SCHED_OTHER", .priority = {true, 1}};
	plan_refused(f, &room_sched, SBX_E_INVALID_CONFIG, "/process/scheduler/priority");
	scheduler = (struct oci_scheduler){.policy = "SCHED_OTHER", .runtime = {true, 1}};
	plan_refused(f, &room_sched, SBX_E_INVALID_CONFIG, "/process/scheduler");
	scheduler = (struct oci_scheduler){.policy = "SCHED_OTHER", .flags = WORDS("SCHED_FLAG_X")};
	plan_refused(f, &room_sched, SBX_E_INVALID_CONFIG, "/process/scheduler/flags");
	f->process.scheduler = NULL;
	f->process.io_priority = &io;
	plan_refused(f, &room_sched, SBX_E_INVALID_CONFIG, "/process/ioPriority/class");
	io = (struct oci_io_priority){.class_name = "IOPRIO_CLASS_RT", .priority = 8};
	plan_refused(f, &room_sched, SBX_E_INVALID_CONFIG, "/process/ioPriority/priority");
}

static int child_affinity(struct fixture *f)
{
	cpu_set_t set;

	f->run.is_exec = true;
	CHECK(room_sched.prepare(&f->run, &f->err) == 0);
	CHECK(sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1);
	f->process.exec_cpu_affinity = NULL;
	CHECK(room_sched.apply(&f->run, STAGE_LIMITS, &f->err) == 0);
	CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
	return CPU_COUNT(&set) > 1 || sysconf(_SC_NPROCESSORS_ONLN) == 1 ? 0 : 1;
}

/* Bound before the cgroup is joined, free after it. */
/* covers process.execCPUAffinity.initial */
static void test_affinity(void **state)
{
	struct fixture *f = *state;
	struct oci_exec_cpu_affinity affinity = {.initial = "0"};
	static const char *const bad[] = {"a", "0-", "3-1", "0,,1", "-1", "8192", "0 ", ","};
	size_t i;

	f->process.exec_cpu_affinity = &affinity;
	in_child(f, child_affinity);
	f->run.is_exec = true;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		affinity.initial = bad[i];
		assert_true(room_sched.prepare(&f->run, &f->err) < 0);
	}
}

/* ---- keyring, labels, what is not built ---- */

static int child_keyring(struct fixture *f)
{
	long before = syscall(SYS_keyctl, 0, -3, 0), after; /* GET_KEYRING_ID, session */

	CHECK(room_keyring.apply(&f->run, STAGE_LIMITS, &f->err) == 0);
	after = syscall(SYS_keyctl, 0, -3, 0);
	CHECK(f->plan.process.new_keyring ? after != before : after == before);
	return 0;
}

static void test_keyring(void **state)
{
	struct fixture *f = *state;

	if (is_contained_root() || (syscall(SYS_keyctl, 0, -3, 0) < 0 && errno == ENOSYS))
		skip();
	in_child(f, child_keyring);
	f->plan.process.new_keyring = true;
	f->plan.options.id = ".hidden";
	in_child(f, child_keyring);
}

static void test_label_without_module(void **state)
{
	struct fixture *f = *state;

	f->process.apparmor_profile = "unconfined";
	assert_int_equal(room_lsm.prepare(&f->run, &f->err), 0);
	if (access("/sys/module/apparmor/parameters/enabled", F_OK) == 0)
		skip();
	f->process.apparmor_profile = "sbx-test";
	assert_true(room_lsm.prepare(&f->run, &f->err) < 0);
	assert_string_equal(f->err.pointer, "/process/apparmorProfile");
	assert_int_equal(f->err.code, SBX_E_INVALID_CONFIG);
}

/*
 * A folder that stands in for procfs, whose process 42 reads it, with the attribute files that a
 * module would give it.
 */
static const char *const attributes[] = {"42/attr/exec", "42/attr/apparmor/exec"};

static int fake_procfs(char *path)
{
	static const char *const folders[] = {"42", "42/attr", "42/attr/apparmor"};
	size_t i;
	int fd;

	assert_non_null(mkdtemp(path));
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(symlinkat("42", fd, "self"), 0);
	for (i = 0; i < ARRAY_SIZE(folders); i++)
		assert_int_equal(mkdirat(fd, folders[i], 0755), 0);
	for (i = 0; i < ARRAY_SIZE(attributes); i++)
		assert_int_equal(fd_replace_file_at(fd, attributes[i], "", 0, 0600), 0);
	return fd;
}

static void expect_attributes(int proc_fd, const char *own, const char *apparmor)
{
	const char *const wanted[] = {own, apparmor};
	char found[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attributes); i++) {
		cleanup_fd int fd = openat(proc_fd, attributes[i], O_RDWR | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, found, sizeof(found) - 1);

		assert_true(n >= 0);
		found[n] = '\0';
		assert_string_equal(found, wanted[i]);
		assert_true(fd < 0 || ftruncate(fd, 0) == 0);
	}
}

/* covers process.apparmorProfile process.selinuxLabel */
static void test_labels_written(void **state)
{
	struct fixture *f = *state;
	char path[256];

	cleanup_close_fd(&f->run.proc_fd);
	f->run.proc_fd = fake_procfs(temporary_template(path, "sbx-attr"));
	assert_int_equal(room_lsm.apply(&f->run, STAGE_LIMITS, &f->err), 0);
	expect_attributes(f->run.proc_fd, "", "");
	f->process.selinux_label = "system_u:system_r:container_t:s0";
	assert_int_equal(room_lsm.apply(&f->run, STAGE_LIMITS, &f->err), 0);
	expect_attributes(f->run.proc_fd, "system_u:system_r:container_t:s0", "");
	f->process.selinux_label = NULL;
	f->process.apparmor_profile = "sbx-test";
	assert_int_equal(room_lsm.apply(&f->run, STAGE_LIMITS, &f->err), 0);
	expect_attributes(f->run.proc_fd, "", "exec sbx-test");
	/* a kernel with one module has no folder of it */
	assert_int_equal(unlinkat(f->run.proc_fd, "42/attr/apparmor/exec", 0), 0);
	assert_int_equal(room_lsm.apply(&f->run, STAGE_LIMITS, &f->err), 0);
	expect_attributes(f->run.proc_fd, "exec sbx-test", "");
	/* and where it cannot be written, nothing runs without it */
	assert_int_equal(unlinkat(f->run.proc_fd, "42/attr/exec", 0), 0);
	assert_true(room_lsm.apply(&f->run, STAGE_LIMITS, &f->err) < 0);
	assert_non_null(strstr(f->err.message, "sbx-test"));
	fd_remove_tree_at(AT_FDCWD, path);
}

static void test_net_devices(void **state)
{
	struct fixture *f = *state;
	struct oci_net_device devices[] = {{"eth0", NULL}, {"eth1", "eth0"}};

	plan_ok(f, &room_net_devices);
	f->spec.linux_.net_devices = devices;
	f->spec.linux_.net_devices_n = 1;
	f->host.privileged = true;
	plan_ok(f, &room_net_devices);
	f->spec.linux_.net_devices_n = 2;
	plan_refused(f, &room_net_devices, SBX_E_INVALID_CONFIG, "/linux/netDevices");
	devices[1].name = "e%d";
	plan_ok(f, &room_net_devices);
	devices[1].name = "e%x";
	plan_refused(f, &room_net_devices, SBX_E_INVALID_CONFIG, "/linux/netDevices");
	devices[1].name = "e1";
	f->host.privileged = false;
	plan_refused(f, &room_net_devices, SBX_E_UNSUPPORTED, "/linux/netDevices");
}

static void test_intel_rdt(void **state)
{
	struct fixture *f = *state;
	struct oci_intel_rdt rdt = {.clos_id = "class"};

	plan_ok(f, &room_intel_rdt);
	f->spec.linux_.intel_rdt = &rdt;
	plan_ok(f, &room_intel_rdt);
	rdt.clos_id = "mon_groups";
	plan_refused(f, &room_intel_rdt, SBX_E_INVALID_CONFIG, "/linux/intelRdt/closID");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_caps_names),
		TEST(test_caps_without_block),
		TEST(test_caps_narrowed),
		TEST(test_caps_narrowed_in_userns),
		TEST(test_caps_groups_denied),
		TEST(test_caps_applied),
		TEST(test_caps_exec_inherits_nothing),
		TEST(test_sysctl_names),
		TEST(test_sysctl_refuses_the_hosts_namespace),
		TEST(test_sysctl_applied),
		TEST(test_rlimits),
		TEST(test_oom),
		TEST(test_sched_applied),
		TEST(test_sched_refusals),
		TEST(test_affinity),
		TEST(test_keyring),
		TEST(test_label_without_module),
		TEST(test_labels_written),
		TEST(test_net_devices),
		TEST(test_intel_rdt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
