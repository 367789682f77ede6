/*
 * The user namespace's id maps and becoming its root.
 *
 * A privileged runtime writes /proc/PID/uid_map itself; an ordinary user may map only its own id
 * (user_namespaces(7)), so anything wider goes through newuidmap(1) and newgidmap(1), which check
 * /etc/subuid. The child was cloned with ids that may not be mapped; once the maps stand it takes
 * uid and gid 0 of the namespace and stops being dumpable.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/linux/room.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/base/procfs.h"

#define MAP_FILE_BYTES_MAX ((size_t)64 << 10)
#define HELPER_ARGS_MAX	   (2 + 3 * 340 + 1)

bool room_maps_id(const struct oci_id_maps *maps, uint32_t id)
{
	size_t i;

	for (i = 0; i < maps->n; i++) {
		if (id >= maps->v[i].container_id && id - maps->v[i].container_id < maps->v[i].size)
			return true;
	}
	return false;
}

int room_explain_overflow(const struct plan *plan, int rc, struct sbx_error *err)
{
	const struct plan_namespaces *ns = &plan->namespaces;

	if (rc != -EOVERFLOW || !(ns->new_flags & CLONE_NEWUSER))
		return rc;
	if (!room_maps_id(&ns->uid_maps, 0))
		return sbx_prefix(err, "container id 0, which owns what is made here, is not in "
				       "linux.uidMappings");
	if (!room_maps_id(&ns->gid_maps, 0))
		return sbx_prefix(err, "container id 0, which owns what is made here, is not in "
				       "linux.gidMappings");
	return rc;
}

static bool maps_only_self(const struct oci_id_maps *maps, uint32_t id)
{
	return maps->n == 1 && maps->v[0].host_id == id && maps->v[0].size == 1;
}

static int plan_userns(struct plan *plan, struct report *report, struct sbx_error *err)
{
	struct plan_namespaces *ns = &plan->namespaces;

	(void)report;
	(void)err;
	if (!room_has_userns(plan))
		return 0;
	/* Of one that is joined they are compared (compare_maps()), or not known. */
	ns->uid_maps = plan->spec->linux_.uid_maps;
	ns->gid_maps = plan->spec->linux_.gid_maps;
	if (plan->host->privileged || ns->path[NS_USER])
		return 0;
	ns->maps_by_helper = !maps_only_self(&ns->uid_maps, plan->host->euid) ||
			     !maps_only_self(&ns->gid_maps, plan->host->egid);
	ns->deny_setgroups = !ns->maps_by_helper;
	return 0;
}

static int write_map(const struct run *run, const char *file, const struct oci_id_maps *maps,
		     struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	char name[64];
	int rc;

	for (size_t i = 0; i < maps->n; i++)
		buf_printf(&text, "%u %u %u\n", maps->v[i].container_id, maps->v[i].host_id,
			   maps->v[i].size);
	if (buf_failed(&text))
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make %s", file);
	if (text.len >= (size_t)sysconf(_SC_PAGESIZE))
		return sbx_fail(
			err, SBX_E_INVALID_CONFIG, E2BIG,
			"write %s: %zu mappings are %zu bytes as the kernel reads them, and it "
			"takes less than a page (user_namespaces(7))",
			file, maps->n, text.len);
	snprintf(name, sizeof(name), "%d/%s", (int)run->pid, file);
	rc = procfs_write(run->proc_fd, name, text.data);
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "write %s", file) : 0;
}

static int run_map_helper(const struct run *run, const char *program,
			  const struct oci_id_maps *maps, struct sbx_error *err)
{
	char *args[HELPER_ARGS_MAX], numbers[HELPER_ARGS_MAX][11];
	size_t n = 0;
	pid_t pid;
	int rc, status;

	args[n++] = (char *)program;
	snprintf(numbers[n], sizeof(numbers[n]), "%d", (int)run->pid);
	args[n] = numbers[n];
	n++;
	for (size_t i = 0; i < maps->n && n + 3 < HELPER_ARGS_MAX; i++) {
		const uint32_t words[] = {maps->v[i].container_id, maps->v[i].host_id,
					  maps->v[i].size};

		for (size_t k = 0; k < 3; k++, n++) {
			snprintf(numbers[n], sizeof(numbers[n]), "%u", words[k]);
			args[n] = numbers[n];
		}
	}
	args[n] = NULL;
	rc = posix_spawnp(&pid, program, NULL, NULL, args, environ);
	if (rc)
		return sbx_fail(err, SBX_E_SYSTEM, rc, "run %s (package uidmap or shadow-utils)",
				program);
	rc = proc_wait(pid, &status);
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "wait for %s", program);
	if (status)
		return sbx_fail(err, SBX_E_PERMISSION_DENIED, EPERM,
				"map ids by %s (status %d); check /etc/subuid and /etc/subgid",
				program, status);
	return 0;
}

static bool has_map(const struct oci_id_maps *maps, const struct oci_id_map *map)
{
	for (size_t i = 0; i < maps->n; i++)
		if (memcmp(&maps->v[i], map, sizeof(*map)) == 0)
			return true;
	return false;
}

/* Mappings beside a path are those that the namespace has, in whatever order, or an error. */
static int compare_map(const struct run *run, const char *file, const struct oci_id_maps *maps,
		       struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	cleanup_fd int fd = -EBADF;
	struct oci_id_map map;
	bool same = true;
	char name[64];
	size_t n = 0;
	int rc, used;

	if (maps->n == 0)
		return 0;
	snprintf(name, sizeof(name), "%d/%s", (int)run->pid, file);
	fd = procfs_open(run->proc_fd, name, O_RDONLY);
	rc = fd < 0 ? fd : fd_read_all(fd, MAP_FILE_BYTES_MAX, &text);
	if (rc < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -rc, "read %s of the user namespace", file);
	for (const char *line = text.data ? text.data : "";
	     sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNu32 "%n", &map.container_id, &map.host_id,
		    &map.size, &used) == 3;
	     line += used, n++)
		same = same && has_map(maps, &map);
	if (same && n == maps->n)
		return 0;
	return sbx_fail_at(err, SBX_E_INVALID_CONFIG,
			   file[0] == 'u' ? "/linux/uidMappings" : "/linux/gidMappings",
			   "join the user namespace \"%s\": its %s is not what config.json says; "
			   "leave the mappings out",
			   run->plan->namespaces.path[NS_USER], file);
}

static int compare_maps(const struct run *run, struct sbx_error *err)
{
	const struct plan_namespaces *ns = &run->plan->namespaces;
	int rc = compare_map(run, "uid_map", &ns->uid_maps, err);

	return rc < 0 ? rc : compare_map(run, "gid_map", &ns->gid_maps, err);
}

static int write_maps(const struct run *run, struct sbx_error *err)
{
	const struct plan_namespaces *ns = &run->plan->namespaces;
	char name[64];
	int rc;

	if (ns->path[NS_USER])
		return compare_maps(run, err);
	if (!(ns->new_flags & CLONE_NEWUSER))
		return 0;
	if (ns->maps_by_helper) {
		rc = run_map_helper(run, "newuidmap", &ns->uid_maps, err);
		return rc < 0 ? rc : run_map_helper(run, "newgidmap", &ns->gid_maps, err);
	}
	if (ns->deny_setgroups) {
		snprintf(name, sizeof(name), "%d/setgroups", (int)run->pid);
		rc = procfs_write(run->proc_fd, name, "deny");
		if (rc < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -rc, "deny setgroups");
	}
	rc = write_map(run, "gid_map", &ns->gid_maps, err);
	return rc < 0 ? rc : write_map(run, "uid_map", &ns->uid_maps, err);
}

/* An id map without 0 leaves the ids alone: the payload's own come later (rooms/caps.c). */
static int become_root(const struct run *run, struct sbx_error *err)
{
	const struct plan_namespaces *ns = &run->plan->namespaces;

	if (!(ns->new_flags & CLONE_NEWUSER) && !ns->path[NS_USER])
		return 0;
	if (setresgid(0, 0, 0) < 0 && errno != EINVAL)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "become group 0 of the user namespace");
	if (setresuid(0, 0, 0) < 0 && errno != EINVAL)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "become user 0 of the user namespace");
	return 0;
}

static int apply_userns(struct run *run, enum stage stage, struct sbx_error *err)
{
	int rc;

	if (stage == STAGE_ID_MAPS)
		return write_maps(run, err);
	if (stage != STAGE_NAMESPACES)
		return 0;
	rc = become_root(run, err);
	if (rc == 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
		rc = sbx_fail(err, SBX_E_SYSTEM, errno, "stop being dumpable");
	return rc;
}

static void dump_maps(struct json_writer *w, const char *key, const struct oci_id_maps *maps)
{
	json_begin_array(w, key);
	for (size_t i = 0; i < maps->n; i++) {
		json_begin_array(w, NULL);
		json_write_uint(w, NULL, maps->v[i].container_id);
		json_write_uint(w, NULL, maps->v[i].host_id);
		json_write_uint(w, NULL, maps->v[i].size);
		json_end_array(w);
	}
	json_end_array(w);
}

static void dump_userns(const struct plan *plan, struct json_writer *w)
{
	if (!(plan->namespaces.new_flags & CLONE_NEWUSER))
		return;
	json_begin_object(w, "idMaps");
	dump_maps(w, "uid", &plan->namespaces.uid_maps);
	dump_maps(w, "gid", &plan->namespaces.gid_maps);
	json_write_bool(w, "byHelper", plan->namespaces.maps_by_helper);
	json_end_object(w);
}

const struct room room_userns = {
	.name = "userns",
	.plan = plan_userns,
	.apply = apply_userns,
	.dump = dump_userns,
};
