/*
 * First the live processes are looked at from outside, then the probe (probe.h) is made. A probe
 * that cannot be made proves nothing, and is evidence against what is claimed.
 */
#include "runtime/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/linux/cgroup/cgroup.h"
#include "backends/linux/probe/probe.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/monitor/monitor.h"
#include "runtime/base/procfs.h"
#include "runtime/listener.h"

#define STATUS_BYTES_MAX (64u << 10)
#define CONFINED_BITS	 (PROBE_PROCESS | PROBE_WRITE | PROBE_READ | PROBE_NETWORK)

int verify_check(const struct container *c, struct sbx_error *err)
{
	if (!c->state.confined)
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
				"verify container \"%s\": it has no profile, so nothing is claimed",
				c->state.id);
	if (state_status(c->dir_fd, &c->state) != STATUS_RUNNING)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
				"verify container \"%s\": it is not running", c->state.id);
	return 0;
}

/* What the monitor keeps. */
static uint32_t monitored_bits(const struct container_state *state)
{
	uint32_t bits = state->deadline_ms ? GUARANTEE_BIT(GUARANTEE_RESOURCE_LIMITS) : 0;

	if (state->has_carve_outs)
		bits |= GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY) |
			GUARANTEE_BIT(GUARANTEE_WRITE_BOUNDARY);
	return bits;
}

uint32_t verify_holding(const struct container *c)
{
	if (state_status(c->dir_fd, &c->state) == STATUS_STOPPED)
		return 0;
	return monitor_is_well(&c->state) ? UINT32_MAX : ~monitored_bits(&c->state);
}

/* ---- live processes ---- */

struct live {
	int proc_fd;
	const struct container *c;
	struct proof *proof;
};

static void say(struct live *l, const char *mechanism, uint32_t carries, const char *probe,
		const char *found, const char *fault)
{
	proof_add(l->proof, &(struct evidence){.mechanism = mechanism,
					       .probe = probe,
					       .control = "read",
					       .outcome = found,
					       .reason = fault,
					       .carries = carries,
					       .proved = !fault});
}

static long status_number(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

static void look_at_status(struct live *l, pid_t pid, const char *status)
{
	const char *who = proof_text(l->proof, "process %d", (int)pid);
	long mode = status_number(status, "\nSeccomp:\t");
	long filters = status_number(status, "\nSeccomp_filters:\t");
	bool few = filters >= 0 && filters < 1 + (l->c->plan->seccomp.bundle != NULL);

	say(l, "seccomp", CONFINED_BITS, who,
	    proof_text(l->proof, "mode %ld, %ld filters", mode, filters),
	    mode != 2 || few ? "it lacks a system call filter that the plan set up" : NULL);
	say(l, "no_new_privs", PROBE_PROCESS, who, "NoNewPrivs",
	    status_number(status, "\nNoNewPrivs:\t") != 1 ? "no_new_privs is not set" : NULL);
}

/* Of every set, the bounding one included. */
static void look_at_capabilities(struct live *l, pid_t pid, const char *status)
{
	static const char *const sets[] = {"\nCapInh:\t", "\nCapPrm:\t", "\nCapEff:\t",
					   "\nCapBnd:\t", "\nCapAmb:\t"};
	uint64_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const char *at = strstr(status, sets[i]);

		found |= at ? strtoull(at + strlen(sets[i]), NULL, 16) : UINT64_MAX;
	}
	say(l, "capabilities", PROBE_PROCESS, proof_text(l->proof, "process %d", (int)pid),
	    proof_text(l->proof, "%llx", (unsigned long long)found),
	    found & ~room_caps_allowed(l->c->plan) ? "it has capabilities beyond the allow-list"
						   : NULL);
}

/* proc(5), /proc/PID/limits: soft and hard, in bytes; room_rlimits sets 1 (core(5)). */
static void look_at_cores(struct live *l, pid_t pid)
{
	cleanup_buf struct buf text = BUF_INIT;
	cleanup_fd int fd = -EBADF;
	unsigned long soft, hard;
	const char *at = NULL;
	char name[32];
	bool none;

	snprintf(name, sizeof(name), "%d/limits", (int)pid);
	fd = procfs_open(l->proc_fd, name, O_RDONLY);
	if (fd >= 0 && fd_read_all(fd, STATUS_BYTES_MAX, &text) == 0 && text.data)
		at = strstr(text.data, "Max core file size");
	none = at && sscanf(at, "Max core file size %lu %lu", &soft, &hard) == 2 && soft <= 1 &&
	       hard <= 1;
	say(l, "rlimit", PROBE_PROCESS, proof_text(l->proof, "process %d: core dumps", (int)pid),
	    none ? "off" : "on", none ? NULL : "its limit of core dumps lets one be written");
}

static bool same_namespace(const struct live *l, const char *a, const char *b)
{
	cleanup_fd int one = procfs_open_magic(l->proc_fd, a, O_RDONLY);
	cleanup_fd int two = procfs_open_magic(l->proc_fd, b, O_RDONLY);
	struct stat s, t;

	return one >= 0 && two >= 0 && fstat(one, &s) == 0 && fstat(two, &t) == 0 &&
	       s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

static void look_at_namespaces(struct live *l, pid_t pid)
{
	static const struct {
		const char *name;
		int flag;
		uint32_t carries;
	} rows[] = {{"mnt", CLONE_NEWNS, PROBE_WRITE | PROBE_READ | PROBE_PROCESS},
		    {"pid", CLONE_NEWPID, PROBE_PROCESS},
		    {"ipc", CLONE_NEWIPC, PROBE_PROCESS},
		    {"cgroup", CLONE_NEWCGROUP, PROBE_PROCESS},
		    {"net", CLONE_NEWNET, PROBE_NETWORK}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char own[64], first[64], its[64];
		bool good;

		if (!(l->c->plan->namespaces.new_flags & rows[i].flag))
			continue;
		snprintf(own, sizeof(own), "self/ns/%s", rows[i].name);
		snprintf(first, sizeof(first), "%d/ns/%s", (int)l->c->state.pid, rows[i].name);
		snprintf(its, sizeof(its), "%d/ns/%s", (int)pid, rows[i].name);
		good = same_namespace(l, its, first) && !same_namespace(l, its, own);
		say(l, "namespace", rows[i].carries,
		    proof_text(l->proof, "process %d: %s", (int)pid, rows[i].name),
		    good ? "the container's own" : "another",
		    good ? NULL : "it is not in the container's own namespace");
	}
}

static void look_at(struct live *l, pid_t pid)
{
	cleanup_buf struct buf status = BUF_INIT;
	cleanup_fd int fd = -EBADF;
	char name[32], letter;
	bool good;

	snprintf(name, sizeof(name), "%d/status", (int)pid);
	fd = procfs_open(l->proc_fd, name, O_RDONLY);
	if (fd < 0 || fd_read_all(fd, STATUS_BYTES_MAX, &status) < 0 || !status.data ||
	    proc_state(pid, &letter) < 0 || letter == 'Z')
		return;
	look_at_status(l, pid, status.data);
	look_at_capabilities(l, pid, status.data);
	look_at_cores(l, pid);
	good = cgroup_holds(&l->c->state.cgroup, pid);
	say(l, "cgroup", PROBE_LIMITS, proof_text(l->proof, "process %d: its group", (int)pid),
	    good ? "the container's" : "another",
	    good ? NULL : "it is not in the group that has the limits");
	look_at_namespaces(l, pid);
}

static bool is_listed(const pid_t *pids, int n, pid_t pid)
{
	for (int i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* In a namespace that was made for the container, whatever group it is in. */
static bool is_inside(const struct live *l, pid_t pid)
{
	static const char *const names[] = {"mnt", "pid"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char first[64], its[64], own[64];

		snprintf(own, sizeof(own), "self/ns/%s", names[i]);
		snprintf(first, sizeof(first), "%d/ns/%s", (int)l->c->state.pid, names[i]);
		snprintf(its, sizeof(its), "%d/ns/%s", (int)pid, names[i]);
		if (same_namespace(l, its, first) && !same_namespace(l, first, own))
			return true;
	}
	return false;
}

/* Those of the group, and whoever entered without it. */
static int look_at_all(struct live *l, const pid_t *pids, int n)
{
	int fd = openat(l->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		cleanup_close_fd(&fd);
		return -errno;
	}
	while ((entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && (is_listed(pids, n, pid) || is_inside(l, pid)))
			look_at(l, pid);
	}
	return 0;
}

/* The plan, which the files are compared with, has every limit of the profile. */
static bool plans_limits(const struct profile_limits *limits, const struct oci_resources *planned)
{
	static const struct oci_resources nothing;
	const struct oci_resources *p = planned ? planned : &nothing;

	return (!limits->pids.set ||
		(p->pids_limit.set && (uint64_t)p->pids_limit.v == limits->pids.v)) &&
	       (!limits->memory_bytes.set ||
		(p->memory && p->memory->limit.set &&
		 (uint64_t)p->memory->limit.v == limits->memory_bytes.v)) &&
	       (!limits->cpus_milli.set || (p->cpu && p->cpu->quota.set));
}

static int look_at_processes(const struct container *c, struct proof *proof, struct sbx_error *err)
{
	cleanup_fd int proc_fd = procfs_open_root();
	struct live l = {.proc_fd = proc_fd, .c = c, .proof = proof};
	cleanup_free pid_t *pids = NULL;
	struct sbx_error limits = {0};
	int n, held;

	if (proc_fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -proc_fd, "open a private procfs");
	n = cgroup_list_pids(&c->state.cgroup, &pids);
	if (n < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -n, "list the container's processes");
	held = cgroup_verify(&c->state.cgroup, c->plan->cgroup.ceiling, &limits);
	if (held == 0 && !plans_limits(&c->policy->profile->limits, c->plan->cgroup.ceiling))
		held = sbx_fail(&limits, SBX_E_INTERNAL, 0,
				"the plan lacks a limit of the profile");
	say(&l, "cgroup", PROBE_LIMITS, "the files of its limits",
	    held < 0 ? "others" : "the profile's", held < 0 ? limits.message : NULL);
	if (look_at_all(&l, pids, n) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "list the processes");
	say(&l, "landlock", PROBE_READ | PROBE_WRITE, "first process: an open before execve",
	    c->state.landlock_seen ? "EACCES" : "not seen",
	    c->state.landlock_seen ? NULL : "nothing says that its Landlock domain was entered");
	return 0;
}

/* ---- the probe ---- */

/* The container's own process without a program: what it is given beside is planted. */
static int process_of_probe(struct container *c, struct sbx_error *err)
{
	static char *const planted[] = {"LD_PRELOAD=" PROBE_PLANTED_VALUE,
					"BASH_ENV=" PROBE_PLANTED_VALUE, PROBE_KEPT_NAME "=1"};
	struct oci_process *p = arena_alloc(&c->arena, sizeof(*p));
	char **env = arena_alloc_array(&c->arena, c->spec->process->env.n + ARRAY_SIZE(planted) + 1,
				       sizeof(*env));

	if (!p || !env)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the probe");
	*p = *c->spec->process;
	if (p->env.n)
		memcpy(env, p->env.v, p->env.n * sizeof(*env));
	memcpy(env + p->env.n, planted, sizeof(planted));
	p->env = (struct strings){env, p->env.n + ARRAY_SIZE(planted)};
	p->terminal = false;
	p->cwd = "/";
	c->spec->process = p;
	setenv(PROBE_CALLER_NAME, PROBE_PLANTED_VALUE, 1);
	return 0;
}

static int plan_probe(struct container *c, struct sbx_error *err)
{
	struct plan_options options = {.id = c->state.id,
				       .bundle = c->state.bundle,
				       .rootfs = c->state.rootfs,
				       .cgroup_manager = c->state.cgroup.manager,
				       .detached = true,
				       .probed = true};
	int rc = container_load_spec(c, err);

	if (rc == 0)
		rc = process_of_probe(c, err);
	if (rc == 0)
		rc = container_load_policy(c, err);
	if (rc < 0)
		return rc;
	host_probe(&c->host);
	rc = plan_build(&c->arena, c->policy, &c->host, &options, &c->plan, &c->report, err);
	c->run.plan = c->plan;
	return rc;
}

static int nothing_to_store(void *data, const struct run *run, struct sbx_error *err)
{
	(void)data;
	(void)run;
	(void)err;
	return 0;
}

static int run_probe(struct container *c, struct probe *probe, struct sbx_error *err)
{
	const struct sequence_events events = {nothing_to_store, container_hook_state,
					       listener_pass, c};
	struct run *run = &c->run;
	int rc;

	run->probe = probe;
	run->container_pid = c->state.pid;
	run->container_pidfd = proc_open_pidfd(c->state.pid, c->state.pid_start_ticks);
	if (run->container_pidfd < 0)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, -run->container_pidfd,
				"open the container's first process");
	rc = sequence_exec(run, &events, err);
	return rc < 0 ? rc : sequence_start_probe(run, err);
}

/* What create claimed and cannot hold any more needs no probe. */
static void look_at_monitor(const struct container *c, uint32_t claimed, struct proof *proof)
{
	uint32_t lost = claimed & ~verify_holding(c);

	if (monitor_is_needed(&c->state))
		proof_add(proof,
			  &(struct evidence){.mechanism = "monitor",
					     .probe = "its process",
					     .control = "read",
					     .outcome = lost ? "gone or stopped" : "alive",
					     .reason = lost ? "nobody keeps what it kept" : NULL,
					     .carries = lost ? lost
							     : claimed & monitored_bits(&c->state),
					     .proved = !lost});
}

int verify_container(struct container *c, uint32_t claimed, struct proof *proof,
		     struct sbx_error *err)
{
	struct probe *probe = arena_alloc(&c->arena, sizeof(*probe));
	struct sbx_error why = {0};
	int rc = probe ? plan_probe(c, err) : sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the probe");

	if (rc == 0)
		rc = probe_prepare(probe, &c->arena, c->plan, claimed, err);
	if (rc == 0)
		rc = look_at_processes(c, proof, err);
	if (rc < 0)
		return rc;
	look_at_monitor(c, claimed, proof);
	if (run_probe(c, probe, &why) == 0)
		probe_judge(probe, proof);
	else
		proof_add(proof, &(struct evidence){.mechanism = "probe",
						    .probe = "a process set up as exec's are",
						    .control = "not tried",
						    .outcome = "no answer",
						    .reason = why.message,
						    .carries = claimed});
	return 0;
}
