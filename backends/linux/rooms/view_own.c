/*
 * What the host's view tells before the child leaves it: where the container's tree would show the
 * runtime's own files.
 *
 * A mount shows an own file when its source is the file or one of its ancestors. Ancestors are
 * compared by device and inode, so that another name of the same folder (a link, a bind) is found
 * as well; the rest of the path behind the ancestor is where the file appears in the container.
 * There the child covers it, after a look at the same numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/mount_table.h"
#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/path.h"

#define OWN_MAX	   32
#define LINKS_MAX  16
#define COVERS_MAX 64

struct own_file {
	const char *path; /* canonical, on the host */
	struct stat *at;  /* of each prefix: "/", "/a", "/a/b" */
	size_t *prefix;	  /* length of each prefix */
	size_t n;	  /* how many; the last is the file itself */
	bool strict;	  /* nothing below it may be mounted from either */
};

struct gather {
	const struct plan *plan;
	const struct run *run;
	struct view_facts *facts;
	struct mount_table table; /* the host's; no lines: not read yet, no folder is bound */
	struct own_file own[OWN_MAX];
	size_t own_n;
};

/* What stat(2) said of the first len bytes of path, if an own file before had them as well. */
static const struct stat *known_prefix(const struct gather *g, const char *path, size_t len)
{
	size_t i, k;

	for (i = 0; i < g->own_n; i++) {
		const struct own_file *own = &g->own[i];

		if (strncmp(own->path, path, len) != 0)
			continue;
		for (k = 1; k < own->n; k++) {
			if (own->prefix[k] == len)
				return &own->at[k];
		}
	}
	return NULL;
}

static int no_memory(struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "look for the runtime's own files");
}

/* ---- the own files ---- */

static int own_stat_prefixes(const struct gather *g, struct own_file *own)
{
	struct arena *arena = g->plan->arena;
	size_t len = strlen(own->path), i, count = 1;
	char *text = arena_strdup(arena, own->path);
	const struct stat *known;

	for (i = 0; i < len; i++)
		count += own->path[i] == '/';
	own->at = arena_alloc_array(arena, count, sizeof(*own->at));
	own->prefix = arena_alloc_array(arena, count, sizeof(*own->prefix));
	if (!text || !own->at || !own->prefix)
		return -ENOMEM;
	if (g->own_n)
		own->at[0] = g->own[0].at[0];
	else if (lstat("/", &own->at[0]) < 0)
		return -errno;
	own->n = 1;
	for (i = 1; i <= len && own->n < count; i++) {
		if (text[i] != '/' && text[i] != '\0')
			continue;
		text[i] = '\0';
		known = known_prefix(g, text, i);
		if (known)
			own->at[own->n] = *known;
		else if (lstat(text, &own->at[own->n]) < 0)
			return -errno;
		own->prefix[own->n++] = i;
		if (i < len)
			text[i] = '/';
	}
	return 0;
}

/* real: no component but the last is a link. */
static int own_add_real(struct gather *g, const char *real, bool strict)
{
	struct own_file *own = &g->own[g->own_n];
	size_t i;
	int r;

	for (i = 0; i < g->own_n; i++) {
		if (strcmp(g->own[i].path, real) == 0)
			return 0;
	}
	if (g->own_n == OWN_MAX || strcmp(real, "/") == 0)
		return -EINVAL;
	own->strict = strict;
	own->path = arena_strdup(g->plan->arena, real);
	if (!own->path)
		return -ENOMEM;
	r = own_stat_prefixes(g, own);
	if (r == 0)
		g->own_n++;
	return r == -ENOENT ? 0 : r;
}

static int own_add_links(struct gather *g, const char *path, unsigned depth);

/* "FOLDER/NAME" into out, PATH_MAX bytes. */
static int join(char *out, const char *folder, const char *name)
{
	int n = snprintf(out, PATH_MAX, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* The link NAME in a folder of this real name, and those on the way of what it leads to. */
static int own_add_link(struct gather *g, const char *folder, const char *name, const char *target,
			unsigned depth)
{
	char path[PATH_MAX];
	int r = join(path, folder, name);

	if (r == 0)
		r = own_add_real(g, path, false);
	if (r == 0 && target[0] != '/')
		r = join(path, folder, target);
	return r < 0 ? r : own_add_links(g, target[0] == '/' ? target : path, depth + 1);
}

/* Every link on the way of path: who can replace one chooses the file. */
static int own_add_links(struct gather *g, const char *path, unsigned depth)
{
	char way[PATH_MAX], folder[PATH_MAX], target[PATH_MAX];
	size_t i;
	int r;

	if (depth == LINKS_MAX)
		return -ELOOP;
	if (path[0] != '/' && !getcwd(folder, sizeof(folder)))
		return -errno;
	r = path[0] == '/' ? join(way, "/", path + 1) : join(way, folder, path);
	for (i = 1; r == 0 && way[i - 1]; i++) {
		char end = way[i], *name;
		ssize_t n;

		if (end != '/' && end != '\0')
			continue;
		way[i] = '\0';
		n = readlink(way, target, sizeof(target) - 1);
		if (n > 0) {
			target[n] = '\0';
			name = strrchr(way, '/');
			*name = '\0';
			r = realpath(name == way ? "/" : way, folder)
				    ? own_add_link(g, folder, name + 1, target, depth)
				    : -errno;
			*name = '/';
		}
		way[i] = end;
	}
	return r;
}

/* One more own file; a path that does not exist hides nothing. */
static int own_add(struct gather *g, const char *path, bool strict)
{
	char real[PATH_MAX];
	int r;

	if (!path || !realpath(path, real))
		return 0;
	r = strcmp(path, real) == 0 ? 0 : own_add_links(g, path, 0);
	return r < 0 ? r : own_add_real(g, real, strict);
}

/* Below "/" or a folder that the environment names; root's own have fixed names. */
static const struct {
	const char *variable, *name;
	bool of_root_too;
} own_folders[] = {
	{NULL, "run/sbx-runtime", true},
	{NULL, "etc/sbx-runtime", true},
	{NULL, "var/lib/sbx-runtime", true},
	{"XDG_STATE_HOME", "sbx-runtime", true},
	{"HOME", ".local/state/sbx-runtime", true},
	{"XDG_RUNTIME_DIR", "sbx-runtime", false},
	{"XDG_CONFIG_HOME", "sbx-runtime", false},
	{"HOME", ".config/sbx-runtime", false},
};

/* A mount of the bundle shows the folder on the host. */
static bool is_mounted(const struct plan *plan, const char *folder)
{
	char source[PATH_MAX];

	for (size_t i = 0; i < plan->mounts.n; i++) {
		const struct plan_mount *mount = &plan->mounts.v[i];

		if (mount->kind == MOUNT_BIND && mount->source && realpath(mount->source, source) &&
		    path_is_below(folder, source))
			return true;
	}
	return false;
}

/* Where the payload could make an own folder that is missing, and so write the next bounds. */
static bool could_be_made(const struct plan *plan, const char *path)
{
	const struct path_rule *rule = policy_rule_of(plan->policy, path);
	char above[PATH_MAX], real[PATH_MAX], *end;

	if (plan->view.host_is_root && (rule ? rule->write : plan->policy->host_write))
		return true;
	if (snprintf(above, sizeof(above), "%s", path) >= (int)sizeof(above))
		return false;
	while ((end = strrchr(above, '/')) && end != above) {
		*end = '\0';
		if (realpath(above, real))
			return is_mounted(plan, real);
	}
	return is_mounted(plan, "/");
}

/* It is made by us, and then covered like the others. Users read what is root's. */
static int make_missing(const struct plan *plan, const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (access(path, F_OK) == 0 || !could_be_made(plan, path))
		return 0;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i])
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			/* who may not, may not from inside either */
			return errno == EACCES || errno == EPERM || errno == EROFS ? 0 : -errno;
	}
	return 0;
}

static int own_add_folder(struct gather *g, size_t row)
{
	const char *variable = own_folders[row].variable, *name = own_folders[row].name;
	const char *folder = variable ? getenv(variable) : "";
	char path[PATH_MAX];
	int r;

	if (!folder || (variable && !*folder) ||
	    (g->plan->host->euid == 0 && !own_folders[row].of_root_too) ||
	    join(path, folder, name) < 0)
		return 0;
	r = make_missing(g->plan, path, variable ? 0700 : 0755);
	return r < 0 ? r : own_add(g, path, true);
}

static bool is_same_file(const char *path, const struct stat *file)
{
	struct stat named;

	return stat(path, &named) == 0 && named.st_dev == file->st_dev &&
	       named.st_ino == file->st_ino;
}

/* An image that runs from a mount of its own has no path any more: the program is looked for by the
 * name that it was started with, as execvp(3) does, and under its usual names. */
static int own_add_program(struct gather *g)
{
	static const char folders[] = ":/usr/bin:/usr/local/bin";
	const char *started = program_invocation_name, *searched = getenv("PATH");
	char path[PATH_MAX], *rest, *folder;
	struct stat image;
	int r = 0;

	if (stat("/proc/self/exe", &image) < 0)
		return 0;
	if (started && strchr(started, '/'))
		return is_same_file(started, &image) ? own_add(g, started, false) : 0;
	rest = arena_printf(g->plan->arena, "%s%s", searched ? searched : "", folders);
	if (!rest)
		return -ENOMEM;
	while (r == 0 && (folder = strsep(&rest, ":"))) {
		int n = snprintf(path, sizeof(path), "%s/%s", *folder ? folder : ".",
				 started ? started : "sbx-runtime");

		if (n > 0 && (size_t)n < sizeof(path) && is_same_file(path, &image))
			r = own_add(g, path, false);
	}
	return r;
}

/* Files that the caller named: a container that could write them would write its own next bounds.
 */
static int own_add_named(struct gather *g)
{
	const struct plan_options *options = &g->plan->options;
	const char *config = options->config ? options->config : "config.json";
	char path[PATH_MAX];
	int r = own_add(g, options->settings, true);

	if (r == 0 && options->profile && strchr(options->profile, '/'))
		r = own_add(g, options->profile, false);
	if (r == 0 && options->bundle_name)
		r = own_add_links(g, options->bundle_name, 0);
	if (r < 0 || config[0] == '/')
		return r < 0 ? r : own_add(g, config, false);
	snprintf(path, sizeof(path), "%s/%s", options->bundle, config);
	return own_add(g, path, false);
}

/* State, settings, profiles (strict); what the caller named, bundle and program. */
static int own_collect(struct gather *g)
{
	const struct plan_options *options = &g->plan->options;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(own_folders); i++)
		r = own_add_folder(g, i);
	if (r == 0)
		r = own_add(g, options->state_root, true);
	if (r == 0)
		r = own_add(g, options->scratch_root, true);
	if (r == 0)
		r = own_add_named(g);
	if (r == 0)
		r = own_add(g, options->bundle, false);
	return r < 0 ? r : own_add_program(g);
}

/* ---- where mounts show them ---- */

static int cover_add(struct gather *g, const struct own_file *own, const char *path,
		     struct sbx_error *err)
{
	const struct policy *policy = g->plan->policy;
	const struct stat *st = &own->at[own->n - 1];
	size_t i;

	for (i = 0; i < policy->paths_n; i++) {
		if (!(own->strict ? path_is_below(policy->paths[i].path, path)
				  : strcmp(policy->paths[i].path, path) == 0))
			continue;
		return sbx_fail_at(err, SBX_E_UNSAFE_PATH, policy->paths[i].path_pointer,
				   "use \"%s\" as a root: the runtime's own \"%s\" is there",
				   policy->paths[i].path, own->path);
	}
	if (g->facts->covers_n == COVERS_MAX)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, 0,
				"cover the runtime's own files: the mounts show them at more than "
				"%d places",
				COVERS_MAX);
	path = arena_strdup(g->plan->arena, path);
	if (!path)
		return no_memory(err);
	g->facts->covers[g->facts->covers_n++] = (struct view_cover){
		.path = path,
		.device = st->st_dev,
		.inode = st->st_ino,
		.directory = S_ISDIR(st->st_mode),
		.link = S_ISLNK(st->st_mode),
	};
	return 0;
}

/* A mount of source (as stat saw it) at destination: does it show the own file, and where? */
static int mount_shows(struct gather *g, const struct own_file *own, const struct stat *source,
		       const char *destination, struct sbx_error *err)
{
	char path[PATH_MAX];
	const char *rest;
	size_t i;
	int n;

	for (i = 0; i < own->n; i++) {
		if (own->at[i].st_dev != source->st_dev || own->at[i].st_ino != source->st_ino)
			continue;
		rest = own->path + own->prefix[i];
		n = snprintf(path, sizeof(path), "%s%s",
			     strcmp(destination, "/") == 0 && *rest ? "" : destination, rest);
		if (n < 0 || (size_t)n >= sizeof(path))
			return sbx_fail(err, SBX_E_UNSAFE_PATH, ENAMETOOLONG,
					"cover \"%s\" below \"%s\"", own->path, destination);
		return cover_add(g, own, path, err);
	}
	return 0;
}

/* One mount of the host, if it lies below source and so comes along to destination. */
static int check_submount(struct gather *g, const char *point, const char *source,
			  const char *destination, struct sbx_error *err)
{
	size_t skip = strcmp(source, "/") == 0 ? 0 : strlen(source);
	char path[PATH_MAX];
	struct stat st;
	size_t i;
	int n, r = 0;

	if (!path_is_below(point, source) || strcmp(point, source) == 0)
		return 0;
	/* No look at what waits to be mounted, nor at one that is covered or gone. */
	if (fstatat(AT_FDCWD, point, &st, AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	n = snprintf(path, sizeof(path), "%s%s", strcmp(destination, "/") == 0 ? "" : destination,
		     point + skip);
	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	for (i = 0; r == 0 && i < g->own_n; i++)
		r = mount_shows(g, &g->own[i], &st, path, err);
	return r;
}

/* A bind of a folder brings the mounts below along: each may show an own file under another name.
 */
static int check_submounts(struct gather *g, const char *source, const char *destination,
			   struct sbx_error *err)
{
	size_t i;
	int r = g->table.lines ? 0 : mount_table_load(g->run->proc_fd, g->plan->arena, &g->table);

	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "read the mount table");
	for (i = 0; r == 0 && i < g->table.n; i++)
		r = check_submount(g, g->table.lines[i].point, source, destination, err);
	return r;
}

static int check_mount(struct gather *g, const struct mount_source *noted, const char *destination,
		       struct sbx_error *err)
{
	const char *source = noted->path;
	size_t i;
	int r = 0;

	if (!S_ISREG(noted->st.st_mode) && view_is_single_file(destination))
		return sbx_fail(err, SBX_E_INVALID_CONFIG, 0,
				"mount \"%s\" at \"%s\": an ordinary file belongs there", source,
				destination);
	for (i = 0; r == 0 && i < g->own_n; i++) {
		const struct own_file *own = &g->own[i];

		if (own->strict && path_is_below(source, own->path) &&
		    strcmp(source, own->path) != 0)
			return sbx_fail(err, SBX_E_UNSAFE_PATH, 0,
					"mount \"%s\" at \"%s\": it lies in the runtime's own "
					"\"%s\"",
					source, destination, own->path);
		r = mount_shows(g, own, &noted->st, destination, err);
	}
	if (r == 0 && S_ISDIR(noted->st.st_mode))
		r = check_submounts(g, source, destination, err);
	return r;
}

/*
 * The source of bind number i as a path of the host. A source inside the container's root may lie
 * on a mount that an earlier entry makes there; its own source is the one that counts. False: it
 * lies on a new file system and shows nothing of the host.
 */
static bool source_on_host(const struct plan *plan, size_t i, char *out, size_t size)
{
	const char *root = plan->options.rootfs;
	size_t root_len = strcmp(root, "/") == 0 ? 0 : strlen(root), k;
	char path[PATH_MAX];

	snprintf(out, size, "%s", plan->mounts.v[i].source);
	for (k = i; k-- > 0;) {
		const struct plan_mount *m = &plan->mounts.v[k];
		const char *inside = path_is_below(out, root) ? out + root_len : NULL;
		int n;

		if (!inside || strcmp(m->destination, "/") == 0 ||
		    !path_is_below(inside, m->destination))
			continue;
		if (m->kind != MOUNT_BIND || !m->source)
			return false;
		n = snprintf(path, sizeof(path), "%s%s", m->source,
			     inside + strlen(m->destination));
		if (n < 0 || (size_t)n >= sizeof(path) || (size_t)n >= size)
			return true; /* too long to exist: the stat that follows says so */
		memcpy(out, path, (size_t)n + 1);
	}
	return true;
}

/* What room_mounts did not note: a source inside of the root, where it is on the host. */
static int note_inside(struct gather *g, const struct plan_mount *m, const char *source,
		       struct mount_source *out, struct sbx_error *err)
{
	bool in_root = strcmp(source, m->source) == 0; /* and not on a mount that is made there */
	cleanup_fd int fd = in_root ? mount_source_open(g->run->rootfs_fd, m)
				    : mount_source_open_path(source, m->source_nofollow);

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -fd, "open source \"%s\"", source);
	return mount_source_note(g->plan->arena, g->run->proc_fd, fd, out, err);
}

static int check_bind(struct gather *g, size_t i, struct sbx_error *err)
{
	const struct plan_mount *m = &g->plan->mounts.v[i];
	struct mount_source *noted = &g->run->mount_sources[i];
	char source[PATH_MAX];
	int r = 0;

	if (m->kind != MOUNT_BIND || m->remount ||
	    !source_on_host(g->plan, i, source, sizeof(source)))
		return 0;
	if (!noted->path)
		r = note_inside(g, m, source, noted, err);
	return r < 0 ? r : check_mount(g, noted, m->destination, err);
}

static int covers_collect(struct gather *g, struct sbx_error *err)
{
	const struct plan *plan = g->plan;
	struct mount_source root;
	size_t i;
	int r;

	g->facts->covers = arena_alloc_array(plan->arena, COVERS_MAX, sizeof(*g->facts->covers));
	if (!g->facts->covers)
		return no_memory(err);
	r = mount_source_note(plan->arena, g->run->proc_fd, g->run->rootfs_fd, &root, err);
	if (r == 0)
		r = check_mount(g, &root, "/", err);
	for (i = 0; r == 0 && i < plan->mounts.n; i++)
		r = check_bind(g, i, err);
	return r;
}

int view_facts_gather(const struct run *run, struct view_facts *facts, struct sbx_error *err)
{
	const struct plan *plan = run->plan;
	struct gather g = {.plan = plan, .run = run, .facts = facts};
	int r = own_collect(&g);

	if (r < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -r, "look for the runtime's own files");
	r = covers_collect(&g, err);
	if (r == 0 && plan->view.host_is_root)
		r = view_hidden_gather(plan, facts, err);
	return r;
}
