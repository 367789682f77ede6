/*
 * Golden tests: bundle and profile in, policy, plan and report out, on a host that never changes.
 *
 * Each folder of tests/golden/cases holds config.json, optionally profile.json and host (one word a
 * line: "rootless", "no-landlock"), and expected: the JSON that planning prints, or one line "error
 * CODE POINTER". Speaks TAP. SBX_GOLDEN_UPDATE=1 rewrites expected; the diff is then read by a
 * person.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/linux/plan.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "spec/policy.h"

#define BYTES_MAX ((size_t)1 << 20)

struct golden {
	struct arena arena;
	int dir_fd;
	struct host_facts host;
	bool host_root;
	struct buf out;
};

static void read_host(struct golden *g)
{
	cleanup_buf struct buf words = BUF_INIT;

	g->host = (struct host_facts){
		.initial_userns = true,
		.privileged = true,
		.landlock_abi = 7,
		.seccomp_filter = true,
		.mount_api = true,
		.cgroup_mode = CGROUP_MODE_V2,
	};
	if (fd_read_file_at(g->dir_fd, "host", BYTES_MAX, &words) < 0)
		return;
	if (strstr(words.data, "rootless")) {
		g->host.privileged = false;
		g->host.euid = g->host.egid = 1000;
	}
	if (strstr(words.data, "no-landlock"))
		g->host.landlock_abi = 0;
	if (strstr(words.data, "no-seccomp"))
		g->host.seccomp_filter = false;
	if (strstr(words.data, "no-mount-api"))
		g->host.mount_api = false;
	if (strstr(words.data, "no-namespaces")) {
		g->host.namespaces_error = EPERM;
		snprintf(g->host.restriction, sizeof(g->host.restriction), "no namespaces here");
	}
	g->host_root = strstr(words.data, "host-root");
}

static int read_profile(struct golden *g, struct profile **ret, struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	int rc = fd_read_file_at(g->dir_fd, "profile.json", BYTES_MAX, &text);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "read profile.json");
	return profile_parse(&g->arena, text.data, text.len, PROFILE_ROLE_PROFILE, NULL, ret, err);
}

static int plan_case(struct golden *g, struct sbx_error *err)
{
	static char flag_source[] = "flag:golden";
	static char *source_list[] = {flag_source, NULL};
	struct strings sources = {source_list, 1}, none = {0};
	const struct plan_options options = {
		.id = "golden",
		.bundle = "/bundle",
		.rootfs = g->host_root ? "/" : "/bundle/rootfs",
		.host_root = g->host_root,
		.store_root = "/run/sbx-runtime",
	};
	cleanup_buf struct buf text = BUF_INIT;
	struct profile *profile = NULL;
	struct oci_spec *spec;
	struct policy *policy;
	struct report report;
	struct json_writer w;
	struct plan *plan;
	int rc = fd_read_file_at(g->dir_fd, "config.json", BYTES_MAX, &text);

	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "read config.json");
	report_init(&report, &g->arena);
	rc = oci_parse(&g->arena, text.data, text.len, &spec, err);
	if (rc == 0)
		rc = read_profile(g, &profile, err);
	if (rc == 0)
		rc = policy_build(&g->arena, spec, profile, profile ? &sources : &none, &policy,
				  err);
	if (rc == 0)
		rc = plan_build(&g->arena, policy, &g->host, &options, &plan, &report, err);
	if (rc < 0)
		return rc;
	json_writer_init(&w, &g->out, 2);
	json_begin_object(&w, NULL);
	policy_write(&w, "policy", policy);
	plan_write(&w, "plan", plan);
	report_write(&w, "report", &report, report.reached);
	json_end_object(&w);
	buf_putc(&g->out, '\n');
	return 0;
}

/* True where the case gives what its expected file says. */
static bool check_case(int cases_fd, const char *name)
{
	cleanup_buf struct buf expected = BUF_INIT;
	struct sbx_error err = {0};
	struct golden g = {.out = BUF_INIT};
	bool same;

	arena_init(&g.arena, (size_t)64 << 20);
	g.dir_fd = openat(cases_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	read_host(&g);
	if (plan_case(&g, &err) < 0) {
		buf_reset(&g.out);
		buf_printf(&g.out, "error %s %s\n", sbx_code_name(err.code), err.pointer);
		printf("# %s: %s\n", name, err.message);
	}
	if (getenv("SBX_GOLDEN_UPDATE"))
		fd_replace_file_at(g.dir_fd, "expected", g.out.data, g.out.len, 0644);
	same = fd_read_file_at(g.dir_fd, "expected", BYTES_MAX, &expected) == 0 &&
	       expected.len == g.out.len && memcmp(expected.data, g.out.data, g.out.len) == 0;
	if (!same)
		printf("# %s gives:\n%s", name, g.out.data);
	close(g.dir_fd);
	buf_release(&g.out);
	arena_release(&g.arena);
	return same;
}

int main(void)
{
	const char *tests = getenv("SBX_TESTS");
	cleanup_free char *path = NULL;
	struct dirent **entries;
	int cases_fd, n, number = 0, failed = 0;

	if (!tests || asprintf(&path, "%s/golden/cases", tests) < 0)
		return 99;
	cases_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	n = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (name[0] != '.') {
			bool ok = check_case(cases_fd, name);

			failed += !ok;
			printf("%sok %d - golden: %s\n", ok ? "" : "not ", ++number, name);
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	printf("1..%d\n", number);
	return failed || number == 0;
}
