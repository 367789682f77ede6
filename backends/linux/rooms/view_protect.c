/*
 * From the profile's protect to rules of paths that exist.
 *
 * The plan knows names; here they meet the tree. "@git" becomes the names that git's metadata
 * lists. A name that is absent gets a placeholder at its first missing component, and the rule is
 * for that: with it nothing below can be made. Both replace the plan's rules in a copy, before
 * anything is mounted; from there on they are carve-outs like any other (view_carve.c).
 *
 * All placeholders of all containers are made and removed under one lock, so that one that is found
 * here is another container's to the end of this step, and by then noted as ours as well.
 *
 * The runtime, whose monitor watches the names, learns from a page that it shares with the child
 * what rules there are now: the index in protect and the path of each, ended by an empty field.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/carve_watch.h"
#include "backends/linux/git_metadata.h"
#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

#define GIT_FOLDER ".git"

struct protect {
	struct view_build *b;
	struct policy *policy; /* the copy */
	struct placeholder_note *notes;
	size_t notes_n;
	struct placeholder *v; /* what this container needs */
	const char **paths;    /* of each, inside */
	size_t n;
};

static int fail_no_memory(struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "protect what the profile names");
}

/* Room for one more. */
static int reserve_rule(struct arena *arena, struct policy *policy)
{
	policy->paths = arena_grow(arena, policy->paths, policy->paths_n, sizeof(*policy->paths));
	return policy->paths ? 0 : -ENOMEM;
}

/* ---- names on the host ---- */

/* Where a folder of the container lies on the host; NULL: on a new file system. */
static const char *host_path_of(const struct view_build *b, const char *path)
{
	const struct plan_mounts *mounts = &b->plan->mounts;
	size_t i = room_mount_of(mounts, path);
	const char *source = b->plan->options.rootfs, *rest = path;

	if (i < mounts->n) {
		source = b->run->mount_sources ? b->run->mount_sources[i].path : NULL;
		rest = path + strlen(mounts->v[i].destination);
	}
	if (!source)
		return NULL;
	return arena_printf(b->plan->arena, "%s%s", strcmp(source, "/") == 0 ? "" : source,
			    strcmp(rest, "/") == 0 ? "" : rest);
}

/* The name on the host must lead to the folder that the container has, or nobody could find what is
 * made in it. */
static int find_on_host(const struct view_build *b, int fd, const char *folder, const char **ret,
			struct sbx_error *err)
{
	const char *path = host_path_of(b, folder);
	cleanup_fd int there =
		path ? path_open_no_symlinks(AT_FDCWD, path, O_PATH | O_DIRECTORY) : -ENOENT;
	struct stat a, c;

	if (there < 0 || fstat(fd, &a) < 0 || fstat(there, &c) < 0 || a.st_dev != c.st_dev ||
	    a.st_ino != c.st_ino)
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/protect",
				   "keep a name in \"%s\" free: where that folder lies on the host "
				   "is not known; protect what is there",
				   folder);
	*ret = path;
	return 0;
}

/* ---- placeholders ---- */

/* Another container's placeholder with this identity. */
static const struct placeholder *find_note(const struct protect *p,
					   const struct object_identity *is)
{
	for (size_t i = 0; i < p->notes_n; i++)
		for (size_t k = 0; k < p->notes[i].n; k++)
			if (p->notes[i].v[k].is.inode &&
			    placeholder_is_same(&p->notes[i].v[k].is, is))
				return &p->notes[i].v[k];
	return NULL;
}

static int need(struct protect *p, const struct placeholder *wanted, const char *path,
		struct sbx_error *err)
{
	if (p->n == PLACEHOLDERS_MAX)
		return sbx_fail_at(err, SBX_E_RESOURCE_LIMIT, "/protect",
				   "keep more than %d names free", PLACEHOLDERS_MAX);
	p->v = arena_grow(p->b->plan->arena, p->v, p->n, sizeof(*p->v));
	p->paths = arena_grow(p->b->plan->arena, p->paths, p->n, sizeof(*p->paths));
	if (!p->v || !p->paths)
		return fail_no_memory(err);
	p->v[p->n] = *wanted;
	p->paths[p->n++] = path;
	return 0;
}

/* Nothing of ours may be taken for a repository by programs of the host. */
static int check_name(const struct git_name *name, const char *missing, struct sbx_error *err)
{
	if (strcmp(missing, GIT_FOLDER) != 0)
		return 0;
	return sbx_fail_at(err, SBX_E_UNSUPPORTED, "/protect",
			   "protect \"%s\": there is no " GIT_FOLDER
			   ", and one that only keeps the "
			   "name would be taken for a repository; make it first, or protect "
			   "\"@git\", which allows that there is none",
			   name->path);
}

/* path is the first component of name that is missing, in folder. */
static int need_new(struct protect *p, const struct git_name *name, const char *path,
		    const char *folder, struct sbx_error *err)
{
	cleanup_fd int fd = view_open(p->b->source_fd, folder);
	struct placeholder wanted = {
		.kind = strcmp(path, name->path) == 0 ? name->absent : PLACEHOLDER_FOLDER,
		.name = strrchr(path, '/') + 1,
	};
	const struct mount_line *line;
	int r = check_name(name, wanted.name, err);

	if (r < 0)
		return r;
	line = fd < 0 ? NULL : view_line_of(p->b, fd);
	if (!line || name->absent == PLACEHOLDER_NONE)
		return view_fail_moved(path, err);
	if (!view_holds_files(line))
		return 0; /* the roots' checks say so */
	r = find_on_host(p->b, fd, folder, &wanted.folder, err);
	wanted.folder_fd = take_fd(&fd);
	if (r == 0)
		r = need(p, &wanted, path, err);
	if (r < 0)
		close(wanted.folder_fd);
	return r;
}

/*
 * The path that the rule is for: the name, the first component of it that is missing, or one that
 * another container keeps. What else is wrong with it is found where the roots are opened.
 */
static int resolve(struct protect *p, const struct git_name *name, const char **ret,
		   struct sbx_error *err)
{
	size_t len = strlen(p->policy->profile->workspace.path), end;

	*ret = name->path;
	for (end = len; name->path[end]; len = end) {
		const struct placeholder *other;
		struct object_identity is;
		cleanup_fd int fd = -EBADF;
		const char *path;

		end = len + 1 + strcspn(name->path + len + 1, "/");
		path = arena_strndup(p->b->plan->arena, name->path, end);
		if (!path)
			return fail_no_memory(err);
		fd = view_open(p->b->source_fd, path);
		if (fd == -ENOENT) {
			*ret = path;
			return need_new(p, name, path,
					arena_strndup(p->b->plan->arena, name->path, len), err);
		}
		if (fd < 0)
			return 0;
		other = p->notes_n && placeholder_identify(fd, "", &is) == 0 ? find_note(p, &is)
									     : NULL;
		if (other) {
			struct placeholder shared = *other;

			shared.folder_fd = -EBADF;
			*ret = path;
			return need(p, &shared, path, err);
		}
	}
	return 0;
}

static int protect_name(struct protect *p, const struct git_name *name, size_t index,
			struct sbx_error *err)
{
	const struct path_rule *rule = policy_rule_of(p->policy, name->path);
	const char *path;
	int r;

	if (rule && !rule->write)
		return 0;
	r = resolve(p, name, &path, err);
	if (r < 0)
		return r;
	if (reserve_rule(p->b->plan->arena, p->policy) < 0 ||
	    policy_protect(p->b->plan->arena, p->policy, path, index) < 0)
		return fail_no_memory(err);
	return 0;
}

/* ---- the names ---- */

static int protect_git(struct protect *p, size_t index, struct sbx_error *err)
{
	const char *workspace = p->policy->profile->workspace.path;
	const struct git_tree tree = {
		.arena = p->b->plan->arena,
		.tree_fd = p->b->source_fd,
		.policy = p->policy,
		.workspace = workspace,
		.host_path = host_path_of(p->b, workspace),
	};
	struct git_name *names = NULL;
	size_t n = 0;
	int r = git_list_names(&tree, &names, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = protect_name(p, &names[i], index, err);
	return r;
}

static int protect_all(struct protect *p, struct sbx_error *err)
{
	const struct profile *profile = p->policy->profile;
	int r = 0;

	for (size_t i = 0; r == 0 && i < profile->protect.n; i++) {
		const char *text = profile->protect.v[i];
		struct git_name name = {.absent = PLACEHOLDER_FILE};

		if (strcmp(text, PROFILE_PROTECT_GIT) == 0) {
			r = protect_git(p, i, err);
			continue;
		}
		name.path = arena_printf(p->b->plan->arena, "%s/%s", profile->workspace.path, text);
		r = name.path ? protect_name(p, &name, i, err) : fail_no_memory(err);
	}
	return r;
}

/* ---- the copy ---- */

/* The plan's policy without what it protects, with room for what that becomes. */
static struct policy *copy_policy(const struct plan *plan)
{
	const struct policy *old = plan->policy;
	struct policy *policy = arena_alloc(plan->arena, sizeof(*policy));

	if (!policy)
		return NULL;
	*policy = *old;
	policy->paths = NULL;
	policy->paths_n = 0;
	for (size_t i = 0; i < old->paths_n; i++) {
		if (old->paths[i].is_protected)
			continue;
		if (reserve_rule(plan->arena, policy) < 0)
			return NULL;
		policy->paths[policy->paths_n++] = old->paths[i];
	}
	return policy;
}

static void drop_rule(struct policy *policy, const char *path)
{
	size_t kept = 0;

	for (size_t i = 0; i < policy->paths_n; i++)
		if (strcmp(policy->paths[i].path, path) != 0)
			policy->paths[kept++] = policy->paths[i];
	policy->paths_n = kept;
}

static int make_placeholders(struct protect *p, struct sbx_error *err)
{
	const struct placeholder_owner *owner = p->b->run->placeholders;
	int r;

	if (p->n == 0)
		return 0;
	if (!owner || owner->journal_fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, 0,
				"keep \"%s\" free: there is no folder for the journal of "
				"placeholders (sbx-runtime(8), FILES)",
				p->paths[0]);
	r = placeholder_make(owner, p->v, p->n, err);
	for (size_t i = 0; r == 0 && i < p->n; i++)
		if (p->v[i].skip)
			drop_rule(p->policy, p->paths[i]);
	return r;
}

/* The copy takes the plan's place in this process. */
static int use_policy(struct run *run, const struct policy *policy, struct sbx_error *err)
{
	struct plan *plan = arena_alloc(run->plan->arena, sizeof(*plan));

	if (!plan)
		return fail_no_memory(err);
	*plan = *run->plan;
	plan->policy = policy;
	run->plan = plan;
	return 0;
}

/* ---- what the runtime learns ---- */

int view_protect_prepare(struct run *run, struct sbx_error *err)
{
	void *page;

	if (!run->plan->policy->profile->protect.n)
		return 0;
	page = mmap(NULL, PROTECTED_BYTES, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (page == MAP_FAILED)
		return fail_no_memory(err);
	run->protected_paths = page;
	return 0;
}

static int tell_runtime(const struct run *run, const struct policy *policy, struct sbx_error *err)
{
	char *at = run->protected_paths, *end = at + PROTECTED_BYTES - 1;

	for (size_t i = 0; i < policy->paths_n; i++) {
		const struct path_rule *rule = &policy->paths[i];
		size_t len = strlen(rule->path) + 1;

		if (!rule->is_protected)
			continue;
		if ((size_t)(end - at) < len + 32)
			return sbx_fail_at(err, SBX_E_RESOURCE_LIMIT, "/protect",
					   "protect so many names: their paths are too long");
		at += snprintf(at, 32, "%s", strrchr(rule->pointer, '/') + 1) + 1;
		memcpy(at, rule->path, len);
		at += len;
	}
	return 0;
}

/* The child is our own program still. */
int carve_watch_adopt(struct run *run, struct sbx_error *err)
{
	const char *at = run->protected_paths;
	struct policy *policy;
	int r = 0;

	if (!at)
		return 0;
	policy = copy_policy(run->plan);
	if (!policy)
		return fail_no_memory(err);
	while (r == 0 && *at) {
		size_t index = strtoul(at, NULL, 10);
		const char *path = at + strlen(at) + 1;

		at = path + strlen(path) + 1;
		path = arena_strdup(run->plan->arena, path);
		r = path ? reserve_rule(run->plan->arena, policy) : -ENOMEM;
		if (r == 0)
			r = policy_protect(run->plan->arena, policy, path, index);
	}
	return r < 0 ? fail_no_memory(err) : use_policy(run, policy, err);
}

/* The other containers' notes, with the lock. */
static int begin(struct protect *p, int *ret_lock, struct sbx_error *err)
{
	const struct placeholder_owner *owner = p->b->run->placeholders;
	struct arena *arena = p->b->plan->arena;
	int r = 0;

	p->policy = copy_policy(p->b->plan);
	if (!p->policy)
		return fail_no_memory(err);
	if (!owner || owner->journal_fd < 0)
		return 0;
	r = *ret_lock = placeholder_lock(owner->journal_fd);
	if (r >= 0)
		r = placeholder_load(arena, owner->journal_fd, &p->notes, &p->notes_n);
	return r < 0 ? sbx_fail(err, SBX_E_SYSTEM, -r, "read the journal of placeholders") : 0;
}

int view_protect(struct view_build *b, struct sbx_error *err)
{
	const struct profile *profile = b->plan->policy->profile;
	struct protect p = {.b = b};
	cleanup_fd int lock = -EBADF;
	int r;

	if (!profile->protect.n || !profile->workspace.path)
		return 0;
	r = begin(&p, &lock, err);
	if (r == 0)
		r = protect_all(&p, err);
	if (r == 0)
		r = make_placeholders(&p, err);
	for (size_t i = 0; i < p.n; i++)
		cleanup_close_fd(&p.v[i].folder_fd);
	if (r == 0)
		r = tell_runtime(b->run, p.policy, err);
	if (r == 0)
		r = use_policy(b->run, p.policy, err);
	b->plan = b->run->plan;
	return r;
}
