/*
 * Walking the rows of the probe at the three points of the set-up, and judging what came back.
 *
 * The rows are made before the clone, so runtime and child have the same table and only numbers
 * pass between them. What does not arrive, or not whole, proves nothing.
 */
#include "backends/linux/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backends/linux/mount_api.h"
#include "backends/linux/protocol.h"
#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"

void probe_add_row(struct probe *probe, const struct probe_row *row)
{
	if (probe->n == PROBE_ROWS_MAX) {
		probe->overflow = true;
		return;
	}
	if (row->carries & probe->claimed)
		probe->rows[probe->n++] = *row;
}

int probe_prepare(struct probe *probe, struct arena *arena, const struct plan *plan,
		  uint32_t claimed, struct sbx_error *err)
{
	probe->arena = arena;
	probe->plan = plan;
	probe->claimed = claimed;
	probe->places_fd = -EBADF;
	probe_add_calls(probe);
	if (plan->landlock.used)
		probe_add_landlock(probe);
	probe_add_files(probe);
	probe_add_process(probe);
	probe_add_network(probe);
	if (probe->overflow)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, E2BIG,
				"verify the container: its profile has more than %d places",
				PROBE_ROWS_MAX);
	for (size_t i = 0; i < PROBE_ROWS_MAX; i++)
		probe->message.results[i] = (struct probe_result){PROBE_NOT_TRIED, PROBE_NOT_TRIED};
	return 0;
}

/* ---- in the process ---- */

/* A place that no rule of the domain opens, whatever the mounts of the container are: a detached
 * file system of our own, on which anybody may do anything. */
int probe_make_places(struct run *run, struct sbx_error *err)
{
	struct probe *probe = run->probe;
	static const char *const names[] = {"file", "old", "program"};
	int fd;

	if (!run->plan->landlock.used)
		return 0;
	probe->places_fd = fd =
		mount_new_filesystem("tmpfs", "sbx-verify", "mode=0777,size=64k,nr_inodes=64", 0);
	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "make a folder to try Landlock on");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (mknodat(fd, names[i], S_IFREG | 0777, 0) < 0 ||
		    fchmodat(fd, names[i], 0777, 0) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "make a file to try Landlock on");
	if (mkdirat(fd, "folder", 0777) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "make a folder to try Landlock on");
	/* only the host's root can, and only there can it be told apart */
	probe->has_device = mknodat(fd, "device", S_IFCHR | 0666, makedev(1, 9)) == 0 &&
			    fchmodat(fd, "device", 0666, 0) == 0;
	return 0;
}

static int16_t outcome(struct probe *probe, const struct probe_row *row, probe_fn fn)
{
	int r = fn(probe, row);

	return (int16_t)(r > 0 && r != PROBE_NOT_TRIED ? 0 : r);
}

static void try_controls(struct probe *probe, enum probe_layer layer)
{
	for (size_t i = 0; i < probe->n; i++) {
		const struct probe_row *row = &probe->rows[i];

		if (row->layer == layer)
			probe->message.results[i].control =
				outcome(probe, row, row->control ? row->control : row->attempt);
	}
}

static void try_attempts(struct probe *probe, enum probe_layer layer)
{
	for (size_t i = 0; i < probe->n; i++)
		if (probe->rows[i].layer == layer)
			probe->message.results[i].attempt =
				outcome(probe, &probe->rows[i], probe->rows[i].attempt);
}

/* Names of the rows are relative to the places. */
static bool enter_places(const struct probe *probe)
{
	return probe->places_fd >= 0 && fchdir(probe->places_fd) == 0;
}

void probe_before_landlock(struct run *run)
{
	if (!enter_places(run->probe))
		return;
	try_controls(run->probe, PROBE_LANDLOCK);
	(void)!chdir("/");
}

/* The domain is there by now: judged before a filter could answer in its place. */
void probe_before_filter(struct run *run)
{
	if (enter_places(run->probe)) {
		try_attempts(run->probe, PROBE_LANDLOCK);
		(void)!chdir("/");
	}
	cleanup_close_fd(&run->probe->places_fd);
	try_controls(run->probe, PROBE_FILTER);
}

void probe_finish(struct run *run)
{
	struct probe *probe = run->probe;

	probe->env = run->env;
	try_attempts(probe, PROBE_FILTER);
	try_controls(probe, PROBE_WHOLE);
	try_attempts(probe, PROBE_WHOLE);
	probe->message.n = probe->n;
	_exit(protocol_send(run->sync_fd, MSG_PROBED, &probe->message, sizeof(probe->message)) < 0);
}

/* ---- the judgement ---- */

static bool is_refusal(const struct probe_row *row, int result)
{
	for (size_t i = 0; i < PROBE_REFUSALS_MAX && row->refusals[i]; i++)
		if (result == -row->refusals[i])
			return true;
	return false;
}

static const char *result_text(const struct proof *proof, int result)
{
	const char *name = strerrorname_np(-result);

	if (result == 0)
		return "works";
	return result > 0 ? "not tried" : name ? name : proof_text(proof, "error %d", -result);
}

static bool control_works(const struct probe_row *row, const struct probe_result *result)
{
	if (row->layer == PROBE_FILTER)
		return result->control != PROBE_NOT_TRIED;
	return result->control == -row->control_errno;
}

static const char *find_fault(const struct probe_row *row, const struct probe_result *result)
{
	if (!control_works(row, result))
		return "the control did not work, so that the refusal says nothing";
	if (is_refusal(row, result->attempt))
		return NULL;
	return result->attempt == 0 ? "it is not refused"
				    : "it fails otherwise than this mechanism refuses";
}

static void judge_row(const struct probe_row *row, const struct probe_result *result,
		      struct proof *proof)
{
	const char *fault = find_fault(row, result);
	bool same = row->layer == PROBE_FILTER && result->control == result->attempt;
	struct evidence e = {
		.mechanism = row->mechanism,
		.probe = row->path ? proof_text(proof, "%s: %s", row->name, row->path) : row->name,
		.control = result_text(proof, result->control),
		.outcome = result_text(proof, result->attempt),
		.reason = fault	 ? fault
			  : same ? "the kernel refuses it without the filter as well"
				 : "",
		.carries = row->carries,
		.proved = !fault,
	};

	/* nothing of the kind is in this container */
	if (result->attempt != PROBE_NOT_TRIED)
		proof_add(proof, &e);
}

void probe_judge(const struct probe *probe, struct proof *proof)
{
	size_t i;

	for (i = 0; i < probe->n && probe->message.n == probe->n; i++)
		judge_row(&probe->rows[i], &probe->message.results[i], proof);
	if (probe->message.n != probe->n)
		proof_add(proof, &(struct evidence){.mechanism = "probe",
						    .probe = "a process set up as exec's are",
						    .control = "not tried",
						    .outcome = "no answer",
						    .reason = "it answered for other rows",
						    .carries = probe->claimed});
}
