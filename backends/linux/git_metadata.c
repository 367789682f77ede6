/*
 * Two kinds of folders are visited, each once: a repository folder (".git", worktrees/NAME,
 * modules/NAME) with what is its own, and the common folder that its commondir names, itself where
 * there is none, with hooks, configuration and the list of working trees.
 *
 * A broken entry of worktrees, without commondir, is no repository for git and none here. A name
 * that is absent and would be believed is listed with what keeps it. Never ".git": host programs
 * take that for a repository, whatever it is.
 */
#include "backends/linux/git_metadata.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/path.h"
#include "spec/git_config.h"

#define VISITS_MAX	  512
#define ENTRIES_MAX	  512 /* of one folder */
#define MODULE_DEPTH_MAX  8   /* "/" in a submodule's name */
#define INCLUDE_DEPTH_MAX 10  /* as git has it */

struct lister {
	const struct git_tree *tree;
	struct git_name *v;
	size_t n;
	const char **visited;
	size_t visited_n;
	struct sbx_error *err;
};

/* What is gathered of one common folder. */
struct repository {
	const char *common;
	struct strings hooks; /* values of core.hooksPath */
	struct strings tops;  /* its working trees */
	const char *worktree; /* core.worktree, as a place */
};

static int visit(struct lister *l, const char *folder, const char *top);

/* ---- the tree ---- */

static bool in_scope(const struct lister *l, const char *path)
{
	const struct path_rule *rule = policy_rule_of(l->tree->policy, path);

	return rule && rule->write;
}

static int fail_no_memory(struct lister *l)
{
	return sbx_fail(l->err, SBX_E_RESOURCE_LIMIT, ENOMEM, "list the repository's files");
}

static const char *join(struct lister *l, const char *folder, const char *name)
{
	return arena_printf(l->tree->arena, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
}

/* O_PATH of what is there. -ENOENT: nothing; -ELOOP with the error: a link. */
static int open_place(struct lister *l, const char *path, struct stat *ret)
{
	cleanup_fd int fd = path_open_no_symlinks(l->tree->tree_fd, path + 1, O_PATH);

	if (fd == -ENOENT || fd == -ENOTDIR)
		return -ENOENT;
	if (fd == -ELOOP)
		return sbx_fail_at(l->err, SBX_E_UNSAFE_PATH, "/protect",
				   "protect the repository: \"%s\" is a symbolic link, or one "
				   "leads to it, which a program could replace; put what it leads "
				   "to in its place",
				   path);
	if (fd < 0 || fstat(fd, ret) < 0)
		return sbx_fail(l->err, SBX_E_SYSTEM, fd < 0 ? -fd : errno, "look at \"%s\"", path);
	return take_fd(&fd);
}

/* 1: a folder is there, 0: not; -errno. */
static int is_folder(struct lister *l, const char *path)
{
	struct stat st;
	int fd = open_place(l, path, &st);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	close(fd);
	return S_ISDIR(st.st_mode);
}

/* What is there is opened only when it is known to be a file, and is asked again. */
static int read_known(struct lister *l, const char *path, const struct stat *known, struct buf *out)
{
	cleanup_fd int fd =
		path_open_no_symlinks(l->tree->tree_fd, path + 1, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != known->st_dev || st.st_ino != known->st_ino)
		return -ESTALE;
	return fd_read_all(fd, GIT_FILE_BYTES_MAX, out);
}

/* 1: read, 0: nothing there; -errno. */
static int read_file(struct lister *l, const char *path, struct buf *out)
{
	struct stat st;
	cleanup_fd int fd = open_place(l, path, &st);
	int r;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (!S_ISREG(st.st_mode))
		return sbx_fail_at(l->err, SBX_E_UNSAFE_PATH, "/protect",
				   "protect the repository: \"%s\" is no file", path);
	r = read_known(l, path, &st, out);
	if (r == -EFBIG)
		return sbx_fail_at(l->err, SBX_E_RESOURCE_LIMIT, "/protect",
				   "protect the repository: \"%s\" has more than %zu bytes", path,
				   GIT_FILE_BYTES_MAX);
	if (r == 0)
		buf_putc(out, '\0'); /* and data is never NULL */
	return r < 0 ? sbx_fail(l->err, SBX_E_SYSTEM, -r, "read \"%s\"", path) : 1;
}

/* The names in a folder; none where it is absent. */
static int list_folder(struct lister *l, const char *path, struct strings *ret)
{
	int fd = path_open_no_symlinks(l->tree->tree_fd, path + 1, O_RDONLY | O_DIRECTORY);
	cleanup_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	ret->n = 0;
	ret->v = arena_alloc_array(l->tree->arena, ENTRIES_MAX + 1, sizeof(*ret->v));
	if (!dir || !ret->v) {
		if (fd >= 0 && !dir)
			close(fd);
		return ret->v ? 0 : fail_no_memory(l);
	}
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (ret->n == ENTRIES_MAX)
			return sbx_fail_at(l->err, SBX_E_RESOURCE_LIMIT, "/protect",
					   "protect the repository: \"%s\" has more than %d names",
					   path, ENTRIES_MAX);
		ret->v[ret->n] = arena_strdup(l->tree->arena, entry->d_name);
		if (!ret->v[ret->n++])
			return fail_no_memory(l);
	}
	return 0;
}

/* ---- the list ---- */

/* A name that is there, or is to be kept. */
static int add_name(struct lister *l, const char *path, enum placeholder_kind absent)
{
	struct stat st;
	int fd;

	if (!path)
		return fail_no_memory(l);
	if (!in_scope(l, path))
		return 0;
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].path, path) == 0)
			return 0;
	fd = open_place(l, path, &st);
	if (fd < 0 && fd != -ENOENT)
		return fd;
	if (fd >= 0)
		close(fd);
	if (fd == -ENOENT && absent == PLACEHOLDER_NONE)
		return 0;
	if (l->n == GIT_NAMES_MAX)
		return sbx_fail_at(l->err, SBX_E_RESOURCE_LIMIT, "/protect",
				   "protect the repository: more than %d names", GIT_NAMES_MAX);
	l->v = arena_grow(l->tree->arena, l->v, l->n, sizeof(*l->v));
	if (!l->v)
		return fail_no_memory(l);
	l->v[l->n++] = (struct git_name){path, fd == -ENOENT ? absent : PLACEHOLDER_NONE};
	return 0;
}

static int add_below(struct lister *l, const char *folder, const char *name,
		     enum placeholder_kind absent)
{
	return add_name(l, join(l, folder, name), absent);
}

/* 1: for the first time; 0; -errno. */
static int mark_visited(struct lister *l, const char *what, const char *folder)
{
	const char *mark = arena_printf(l->tree->arena, "%s:%s", what, folder);

	if (!mark)
		return fail_no_memory(l);
	for (size_t i = 0; i < l->visited_n; i++)
		if (strcmp(l->visited[i], mark) == 0)
			return 0;
	if (l->visited_n == VISITS_MAX)
		return sbx_fail_at(l->err, SBX_E_RESOURCE_LIMIT, "/protect",
				   "protect the repository: it lists more than %d others",
				   VISITS_MAX / 2);
	l->visited = arena_grow(l->tree->arena, l->visited, l->visited_n, sizeof(*l->visited));
	if (!l->visited)
		return fail_no_memory(l);
	l->visited[l->visited_n++] = mark;
	return 1;
}

static const char *place(struct lister *l, const char *base, const char *value)
{
	return git_place(l->tree->arena, base, value, l->tree->host_path, l->tree->workspace);
}

/* Where a file of one line leads; NULL with 0: it is absent, or leads nowhere. */
static int read_link(struct lister *l, const char *path, const char *base, const char *prefix,
		     const char **ret)
{
	cleanup_buf struct buf text = BUF_INIT;
	const char *value;
	int r = read_file(l, path, &text);

	*ret = NULL;
	if (r <= 0)
		return r;
	value = git_link_parse(l->tree->arena, text.data, text.len - 1, prefix);
	*ret = value ? place(l, base, value) : NULL;
	return 0;
}

static const char *parent_of(struct lister *l, const char *path)
{
	const char *slash = strrchr(path, '/');

	return arena_strndup(l->tree->arena, path, slash == path ? 1 : (size_t)(slash - path));
}

/* ---- configuration ---- */

static void append(struct lister *l, struct strings *list, const char *text)
{
	if (!list->v)
		list->v = arena_alloc_array(l->tree->arena, ENTRIES_MAX + 1, sizeof(*list->v));
	if (list->v && text && list->n < ENTRIES_MAX)
		list->v[list->n++] = (char *)(uintptr_t)text;
}

static int read_config(struct lister *l, struct repository *repo, const char *path, unsigned depth)
{
	cleanup_buf struct buf text = BUF_INIT;
	const char *folder = parent_of(l, path);
	struct git_config config;
	int r = in_scope(l, path) ? read_file(l, path, &text) : 0;

	if (r <= 0)
		return r;
	r = folder ? git_config_parse(l->tree->arena, text.data, text.len - 1, &config, l->err)
		   : fail_no_memory(l);
	if (r < 0)
		return sbx_prefix(l->err, "protect the repository: \"%s\"", path);
	for (size_t i = 0; i < config.hooks_paths.n; i++)
		append(l, &repo->hooks, config.hooks_paths.v[i]);
	for (size_t i = 0; i < config.worktrees.n; i++)
		repo->worktree = place(l, repo->common, config.worktrees.v[i]);
	for (size_t i = 0; r == 0 && i < config.includes.n && depth < INCLUDE_DEPTH_MAX; i++) {
		const char *other = place(l, folder, config.includes.v[i]);

		if (!other)
			continue; /* of a home folder */
		r = add_name(l, other, PLACEHOLDER_FILE);
		if (r == 0)
			r = read_config(l, repo, other, depth + 1);
	}
	return r;
}

/* A relative value counts from where the hooks run: each working tree. */
static int add_hooks(struct lister *l, const struct repository *repo)
{
	int r = add_below(l, repo->common, "hooks", PLACEHOLDER_FOLDER);

	for (size_t i = 0; r == 0 && i < repo->hooks.n; i++) {
		const char *value = repo->hooks.v[i];

		for (size_t k = 0; r == 0 && k <= repo->tops.n; k++) {
			const char *base = k < repo->tops.n ? repo->tops.v[k] : repo->common;
			const char *folder = place(l, base, value);

			if (folder)
				r = add_name(l, folder, PLACEHOLDER_FOLDER);
		}
	}
	return r;
}

/* ---- working trees and submodules ---- */

/* TOP/.git: a file that leads to a repository, or one itself. */
static int visit_top(struct lister *l, const char *top)
{
	const char *path = join(l, top, ".git"), *folder;
	struct stat st;
	int r, fd;

	if (!path)
		return fail_no_memory(l);
	if (!in_scope(l, path))
		return 0;
	fd = open_place(l, path, &st);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	close(fd);
	if (S_ISDIR(st.st_mode))
		return visit(l, path, top);
	r = add_name(l, path, PLACEHOLDER_NONE);
	if (r == 0)
		r = read_link(l, path, top, "gitdir: ", &folder);
	return r == 0 && folder ? visit(l, folder, top) : r;
}

/* Submodules that keep their repository in themselves are listed nowhere else. */
static int visit_submodules(struct lister *l, const char *top)
{
	cleanup_buf struct buf text = BUF_INIT;
	const char *path = join(l, top, ".gitmodules");
	struct git_config config;
	int r = !path ? fail_no_memory(l) : in_scope(l, path) ? read_file(l, path, &text) : 0;

	if (r <= 0)
		return r;
	r = git_config_parse(l->tree->arena, text.data, text.len - 1, &config, l->err);
	if (r < 0)
		return sbx_prefix(l->err, "protect the repository: \"%s\"", path);
	for (size_t i = 0; r == 0 && i < config.submodule_paths.n; i++) {
		const char *submodule = place(l, top, config.submodule_paths.v[i]);

		if (submodule && path_is_below(submodule, top) && strcmp(submodule, top) != 0)
			r = visit_top(l, submodule);
	}
	return r;
}

static int visit_worktrees(struct lister *l, struct repository *repo)
{
	const char *folder = join(l, repo->common, "worktrees"), *file;
	struct strings names;
	int r = folder ? list_folder(l, folder, &names) : fail_no_memory(l);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		const char *entry = join(l, folder, names.v[i]);
		const char *link = entry ? join(l, entry, "gitdir") : NULL;

		r = link ? is_folder(l, entry) : fail_no_memory(l);
		if (r <= 0)
			continue;
		r = read_link(l, link, entry, NULL, &file);
		if (r == 0 && file) {
			const char *top = parent_of(l, file);

			append(l, &repo->tops, top);
			r = top ? visit_top(l, top) : fail_no_memory(l);
			if (r == 0)
				r = visit(l, entry, NULL);
		}
	}
	return r;
}

/* The name of a submodule may have folders in it: what has no HEAD is one of these. */
static int visit_modules(struct lister *l, const char *folder, unsigned depth)
{
	struct strings names;
	int r = folder ? list_folder(l, folder, &names) : fail_no_memory(l);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		const char *entry = join(l, folder, names.v[i]);
		const char *head = entry ? join(l, entry, "HEAD") : NULL;
		struct stat st;
		int fd;

		r = head ? is_folder(l, entry) : fail_no_memory(l);
		if (r <= 0)
			continue;
		fd = open_place(l, head, &st);
		if (fd < 0 && fd != -ENOENT)
			return fd;
		if (fd >= 0)
			close(fd);
		if (fd >= 0)
			r = visit(l, entry, NULL);
		else
			r = depth < MODULE_DEPTH_MAX ? visit_modules(l, entry, depth + 1) : 0;
	}
	return r;
}

/* ---- repositories ---- */

/* With a commondir git does not ask for core.worktree any more: ours would change what it does. */
static int check_worktree(struct lister *l, const struct repository *repo, const char *top)
{
	if (!top || !repo->worktree || strcmp(repo->worktree, top) == 0)
		return 0;
	return sbx_fail_at(
		l->err, SBX_E_UNSUPPORTED, "/protect",
		"protect the repository \"%s\": its core.worktree is another folder than "
		"\"%s\"",
		repo->common, top);
}

static int visit_common(struct lister *l, const char *folder, const char *top, bool is_own)
{
	struct repository repo = {.common = folder};
	const char *config = join(l, folder, "config");
	int r = !config		      ? fail_no_memory(l)
		: in_scope(l, folder) ? mark_visited(l, "common", folder)
				      : 0;

	if (r <= 0)
		return r;
	append(l, &repo.tops, top);
	r = add_name(l, config, PLACEHOLDER_FILE);
	if (r == 0)
		r = read_config(l, &repo, config, 0);
	if (r == 0 && is_own)
		r = check_worktree(l, &repo, top);
	if (r == 0 && !top && repo.worktree) {
		append(l, &repo.tops, repo.worktree);
		r = visit_top(l, repo.worktree);
	}
	if (r == 0)
		r = visit_worktrees(l, &repo);
	return r < 0 ? r : add_hooks(l, &repo);
}

/* ".../worktrees/NAME": there alone an entry without commondir is a broken one, which git ignores.
 */
static bool is_worktree_entry(const char *folder)
{
	static const char parent[] = "/worktrees";
	const char *name = strrchr(folder, '/');
	size_t len = name ? (size_t)(name - folder) : 0;

	return len >= strlen(parent) && strncmp(name - strlen(parent), parent, strlen(parent)) == 0;
}

/* A repository folder; top: its working tree, NULL: unknown. */
static int visit(struct lister *l, const char *folder, const char *top)
{
	const char *link = join(l, folder, "commondir"), *marker = join(l, folder, "gitdir"),
		   *common;
	struct stat st;
	bool is_entry;
	int r, fd;

	if (!link || !marker)
		return fail_no_memory(l);
	r = in_scope(l, folder) ? is_folder(l, folder) : 0;
	if (r > 0)
		r = mark_visited(l, "folder", folder);
	if (r > 0)
		r = read_link(l, link, folder, NULL, &common);
	else
		return r;
	if (r < 0)
		return r;
	fd = open_place(l, marker, &st);
	if (fd >= 0)
		close(fd);
	if (fd < 0 && fd != -ENOENT)
		return fd;
	is_entry = fd >= 0 && is_worktree_entry(folder);
	if (is_entry && !common)
		return 0;
	r = add_below(l, folder, "commondir", PLACEHOLDER_COMMONDIR);
	if (r == 0)
		r = add_below(l, folder, "config.worktree", PLACEHOLDER_FILE);
	if (r == 0)
		r = add_below(l, folder, "gitdir", PLACEHOLDER_NONE);
	if (r == 0)
		r = visit_common(l, common ? common : folder, is_entry ? NULL : top, !common);
	if (r == 0 && top)
		r = visit_submodules(l, top);
	return r < 0 ? r : visit_modules(l, join(l, folder, "modules"), 0);
}

/* The workspace is a repository without a working tree. */
static int is_bare(struct lister *l)
{
	static const char *const parts[] = {"objects", "refs"};
	const char *head = join(l, l->tree->workspace, "HEAD");
	int r = head ? 1 : fail_no_memory(l);

	for (size_t i = 0; r > 0 && i < ARRAY_SIZE(parts); i++) {
		const char *path = join(l, l->tree->workspace, parts[i]);

		r = path ? is_folder(l, path) : fail_no_memory(l);
	}
	if (r > 0) {
		struct stat st;
		cleanup_fd int fd = open_place(l, head, &st);

		r = fd >= 0 ? 1 : fd == -ENOENT ? 0 : fd;
	}
	return r;
}

int git_list_names(const struct git_tree *tree, struct git_name **ret, size_t *ret_n,
		   struct sbx_error *err)
{
	struct lister l = {
		.tree = tree,
		.err = err,
	};
	int r = visit_top(&l, tree->workspace);

	if (r == 0 && l.n == 0) {
		r = is_bare(&l);
		if (r > 0)
			r = visit(&l, tree->workspace, NULL);
	}
	if (r < 0)
		return r;
	*ret = l.v;
	*ret_n = l.n;
	return 0;
}
