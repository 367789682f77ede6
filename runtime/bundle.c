/*
 * From a bundle and the caller's word to the plan of a container. Nothing exists on the host yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/prefault.h"
#include "runtime/container.h"
#include "runtime/inherit.h"
#include "runtime/notify.h"
#include "runtime/profile_sources.h"

static int keep_direct(struct container *c, const struct create_request *request,
		       struct direct_bundle *made, struct sbx_error *err)
{
	c->config = made->config;
	made->config = BUF_INIT;
	c->direct_workspace = arena_strdup(&c->arena, made->workspace);
	c->direct_profile = arena_strdup(&c->arena, made->profile.data);
	c->state.bundle = arena_printf(&c->arena, "%s/%s", c->store.root, request->id);
	if (!c->direct_workspace || !c->direct_profile || !c->state.bundle)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "name the bundle");
	if (request->direct->has_profile)
		c->direct_profile = NULL;
	return 0;
}

/* The container's own folder in the store is its bundle: there config.json will be. */
static int make_bundle(struct container *c, const struct global_options *global,
		       const struct create_request *request, struct sbx_error *err)
{
	struct direct_bundle made = {.config = BUF_INIT, .profile = BUF_INIT};
	int rc = store_open(&c->store, global->root, true, err);

	if (rc == 0)
		rc = direct_write(request->direct, &made, err);
	if (rc == 0)
		rc = keep_direct(c, request, &made, err);
	if (rc == 0)
		prefault_heap(c->config.len);
	buf_release(&made.config);
	buf_release(&made.profile);
	return rc;
}

static int open_bundle(struct container *c, const struct create_request *request,
		       struct sbx_error *err)
{
	const char *name = request->config_file ? request->config_file : "config.json";
	char path[PATH_MAX];
	int rc;

	if (!realpath(request->bundle, path))
		return sbx_fail(err, SBX_E_INVALID_CONFIG, errno, "open bundle \"%s\"",
				request->bundle);
	c->state.bundle = arena_strdup(&c->arena, path);
	c->run.bundle_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->run.bundle_fd < 0 || !c->state.bundle)
		return sbx_fail(err, SBX_E_INVALID_CONFIG, errno, "open bundle \"%s\"", path);
	rc = fd_read_file_at(c->run.bundle_fd, name, CONTAINER_CONFIG_BYTES_MAX, &c->config);
	if (rc < 0)
		return fd_fail_read(err, SBX_E_INVALID_CONFIG, rc, "read \"%s\" of bundle \"%s\"%s",
				    name, path,
				    rc == -ENOENT ? " (`spec` writes one; run takes a bundle by a "
						    "path with a slash, a command behind \"--\")"
						  : "");
	prefault_heap(c->config.len);
	return 0;
}

static int parse_config(struct container *c, const struct create_request *request,
			struct sbx_error *err)
{
	int rc = oci_parse(&c->arena, c->config.data, c->config.len, &c->spec, err);

	return rc < 0 && request->config_file
		       ? sbx_prefix(err, "--config \"%s\"", request->config_file)
		       : rc;
}

static int open_rootfs(struct container *c, struct sbx_error *err)
{
	const char *path = c->spec->root_path;
	char real[PATH_MAX];
	int r;

	if (!path)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, "/root", "config.json has no root");
	c->run.rootfs_fd = openat(c->run.bundle_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->run.rootfs_fd < 0)
		return sbx_fail(err, SBX_E_INVALID_CONFIG, errno, "open root \"%s\"", path);
	r = fd_path(AT_FDCWD, c->run.rootfs_fd, real, sizeof(real));
	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "name root \"%s\"", path);
	c->state.rootfs = arena_strdup(&c->arena, real);
	return c->state.rootfs ? 0 : sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "name root \"%s\"", path);
}

static bool is_host_root(int rootfs_fd)
{
	struct stat root, host;

	return fstat(rootfs_fd, &root) == 0 && stat("/", &host) == 0 &&
	       root.st_dev == host.st_dev && root.st_ino == host.st_ino;
}

static int resolve_policy(struct container *c, const struct plan_options *plan,
			  struct sbx_error *err)
{
	struct profile_source_options options = {.id = plan->id,
						 .flag = plan->profile,
						 .document = c->direct_profile,
						 .workspace = c->direct_workspace,
						 .settings = plan->settings};
	struct profile *profile = NULL;
	struct profile_origin origin = {0};
	int rc = profile_sources_resolve(&c->arena, c->spec, &options, &profile, &origin, err);

	if (rc == 0)
		rc = policy_build(&c->arena, c->spec, profile, &origin.sources, &c->policy, err);
	if (rc < 0)
		return rc;
	c->policy->exemption = origin.exemption;
	c->policy->bounds = origin.bounds;
	c->max_executors = origin.max_executors;
	c->scratch_root = origin.scratch_root;
	return 0;
}

/* Where the container's folder will be; nothing is made yet. */
static int name_store(struct container *c, const struct global_options *global,
		      struct sbx_error *err)
{
	return store_open(&c->store, global->root, false, err);
}

int container_plan(struct container *c, const struct global_options *global,
		   const struct create_request *request, struct sbx_error *err)
{
	struct plan_options options = {
		.id = request->id,
		.no_pivot = request->no_pivot,
		.no_new_keyring = request->no_new_keyring,
		.cgroup_manager = global->cgroup_manager,
		.preserve_fds = request->preserve_fds,
		.listen_fds = inherit_listen_fds(),
		.console_socket = request->console_socket,
		.detached = request->detached,
		.reaper = request->direct != NULL,
		.state_root = global->root,
		.settings = global->config,
		.profile = request->profile ? request->profile : global->profile,
		.config = request->config_file,
		.bundle_name = request->bundle,
	};
	int rc = request->direct ? make_bundle(c, global, request, err)
				 : open_bundle(c, request, err);

	if (rc == 0)
		rc = parse_config(c, request, err);
	if (rc == 0)
		rc = open_rootfs(c, err);
	if (rc == 0)
		rc = inherit_extend_environment(&c->arena, c->spec, options.listen_fds, err);
	if (rc == 0)
		rc = notify_extend_spec(&c->arena, c->spec, global->root, request->id, err);
	if (rc == 0)
		rc = resolve_policy(c, &options, err);
	if (rc == 0 && request->direct && !c->policy->profile)
		rc = sbx_fail(err, SBX_E_INTERNAL, 0,
			      "run a command without a bundle: no profile holds");
	if (rc == 0 && c->policy->confined && notify_is_asked())
		rc = sbx_fail(err, SBX_E_UNSUPPORTED, 0,
			      "pass NOTIFY_SOCKET on under a profile: not built; unset it");
	if (rc < 0)
		return rc;
	options.bundle = c->state.bundle;
	options.rootfs = c->state.rootfs;
	options.host_root = is_host_root(c->run.rootfs_fd);
	options.store_root = c->store.root;
	host_probe(&c->host);
	if (c->policy->confined)
		host_probe_namespaces(&c->host, false);
	if (c->policy->confined && !host_is_unrestricted(&c->host) && !c->store.root[0])
		rc = name_store(c, global, err);
	if (rc < 0)
		return rc;
	/* Only root can use a folder that nobody but root can change. */
	if (c->host.euid == 0 && c->host.initial_userns)
		options.scratch_root = c->scratch_root;
	rc = plan_build(&c->arena, c->policy, &c->host, &options, &c->plan, &c->report, err);
	c->run.plan = c->plan;
	return rc;
}
