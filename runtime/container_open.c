/*
 * An existing container: its lock, its state, and the documents that create stored.
 */
#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/prefault.h"
#include "runtime/container.h"

#define PROFILE_BYTES_MAX ((size_t)1 << 20)
#define REPORT_BYTES_MAX  ((size_t)1 << 20)

/* The state must be that of the directory's own name, or a removal would take another's. */
static int load_state(struct container *c, const char *id, struct sbx_error *err)
{
	int rc = state_load(&c->arena, c->dir_fd, &c->state, err);

	if (rc == 0 && strcmp(c->state.id, id) != 0)
		rc = sbx_fail(err, SBX_E_INVALID_STATE_FILE, 0, "it is that of container \"%s\"",
			      c->state.id);
	return rc;
}

static bool is_damage(const struct sbx_error *err)
{
	return err->code == SBX_E_INVALID_STATE_FILE || err->code == SBX_E_UNSAFE_PATH;
}

static int fail_state(const struct container *c, const char *id, const struct sbx_error *why,
		      struct sbx_error *err)
{
	if (why->errnum == ENOENT && store_is_unused(c->dir_fd))
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
				"container \"%s\" has no state yet: it is being created, or its "
				"create was killed (\"delete --force\" removes it)",
				id);
	return sbx_fail(err, SBX_E_INVALID_STATE_FILE, 0,
			"container \"%s\" is damaged (\"delete --force\" removes it): "
			"state file \"%s/%s/state\": %s",
			id, c->store.root, id,
			why->errnum == ENOENT ? "it is missing" : why->message);
}

/* Without a lock the state may be missing because the container is being made or removed. */
static int open_state(struct container *c, const char *id, enum store_lock lock,
		      struct sbx_error *err)
{
	struct sbx_error why = {0};
	int rc = load_state(c, id, &why);

	if (rc < 0 && why.errnum == ENOENT && lock == STORE_LOCK_NONE) {
		if (store_is_busy(c->dir_fd))
			return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
					"container \"%s\" is being created or deleted", id);
		rc = load_state(c, id, &why);
	}
	if (rc == 0)
		return 0;
	memset(&c->state, 0, sizeof(c->state));
	if (is_damage(&why))
		return fail_state(c, id, &why, err);
	if (why.code == SBX_E_CONTAINER_UNKNOWN)
		return sbx_fail(err, why.code, 0, "container does not exist: \"%s\"", id);
	if (err)
		*err = why;
	return rc;
}

int container_open(struct container *c, const struct global_options *global, const char *id,
		   enum store_lock lock, struct sbx_error *err)
{
	int rc = store_check_id(id, err);

	if (rc == 0)
		rc = store_open(&c->store, global->root, false, err);
	if (rc < 0)
		return rc;
	c->dir_fd = store_open_container(&c->store, id, lock, err);
	if (c->dir_fd < 0)
		return c->dir_fd;
	rc = open_state(c, id, lock, err);
	cgroup_forget_replaced(&c->state.cgroup);
	c->run.cgroup = &c->state.cgroup;
	container_name_hook_group(c);
	return rc;
}

int container_load_spec(struct container *c, struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	int rc;

	if (c->spec)
		return 0;
	rc = store_read_file(c->dir_fd, "config.json", CONTAINER_CONFIG_BYTES_MAX, &text, err);
	prefault_heap(text.len);
	return rc < 0 ? rc : oci_parse(&c->arena, text.data, text.len, &c->spec, err);
}

int container_load_policy(struct container *c, struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	struct profile *profile = NULL;
	struct strings sources = {0};
	int rc = store_read_file(c->dir_fd, "profile", PROFILE_BYTES_MAX, &text, err);

	/* A confined container without its profile must not run anything. */
	if (rc < 0 && (rc != -ENOENT || c->state.confined))
		return rc;
	if (rc == 0)
		/* The profile of a pod's sandbox container has no workspace: as a ceiling. */
		rc = profile_parse(&c->arena, text.data, text.len, PROFILE_ROLE_CEILING, NULL,
				   &profile, err);
	else
		rc = 0;
	return rc < 0 ? rc : policy_build(&c->arena, c->spec, profile, &sources, &c->policy, err);
}

/* The state comes first into the store; clients take "no such file" for a missing program. */
static int fail_missing(const struct container *c, struct sbx_error *err)
{
	if (state_status(c->dir_fd, &c->state) == STATUS_CREATING)
		return sbx_fail(err, SBX_E_CONTAINER_STATUS, 0,
				"container \"%s\" is being created: it has no report yet",
				c->state.id);
	return sbx_fail(err, SBX_E_INVALID_STATE_FILE, 0,
			"the stored report of container \"%s\" is missing", c->state.id);
}

int container_read_report(const struct container *c, struct buf *out, struct sbx_error *err)
{
	int rc = store_read_file(c->dir_fd, "report", REPORT_BYTES_MAX, out, err);

	return rc == -ENOENT && c->state.confined ? fail_missing(c, err) : rc;
}
