/*
 * Everything is decided by the two documents that are written here: config.json and the profile.
 * From there on it is a bundle like any other.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/host.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"
#include "runtime/base/text.h"
#include "runtime/base/user.h"
#include "runtime/default_bundle.h"
#include "runtime/direct.h"
#include "runtime/version.h"
#include "spec/policy.h"

extern char **environ;

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define ROOTS_MAX    64

/* What root needs for files of other owners in the workspace, and to give up being root. */
static const char *const capabilities[] = {
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID",
	"CAP_KILL",  "CAP_SETGID",	 "CAP_SETUID",
};

/* Names of the caller's environment that a command gets; "LC_" as a prefix. */
static const char *const passed[] = {"PATH", "TERM", "LANG", "TZ", "USER", "LOGNAME"};
static const char passed_prefix[] = "LC_";

struct folder {
	char path[PATH_MAX]; /* canonical, no link in it */
	bool writable;
};

struct direct {
	const struct direct_request *request;
	char rootfs[PATH_MAX]; /* "/": the host's */
	int rootfs_fd;
	struct folder workspace, roots[ROOTS_MAX];
	size_t roots_n;
	char cwd[PATH_MAX];
};

static bool is_utf8(const char *text)
{
	size_t left = strlen(text), n;

	for (; left > 0; text += n, left -= n) {
		n = text_utf8_length(text, left);
		if (n == 0)
			return false;
	}
	return true;
}

static int check_text(const char *what, const char *text, struct sbx_error *err)
{
	return is_utf8(text) ? 0
			     : sbx_fail(err, SBX_E_USAGE, EILSEQ,
					"use \"%s\" as %s: it is no UTF-8", text, what);
}

/* ---- folders ---- */

static int find_folder(const char *option, const char *name, struct folder *ret,
		       struct sbx_error *err)
{
	if (!realpath(name, ret->path))
		return sbx_fail(err, SBX_E_USAGE, errno, "use \"%s\" as %s", name, option);
	return check_text(option, ret->path, err);
}

static bool holds(const struct folder *workspace, const char *folder)
{
	char real[PATH_MAX];

	return folder && *folder && realpath(folder, real) && path_is_below(real, workspace->path);
}

/* What every program of the host trusts, or no files at all. */
static bool is_system_folder(const char *path)
{
	static const char *const folders[] = {"/boot", "/etc", "/opt", "/run",
					      "/srv",  "/usr", "/var"};
	static const char *const trees[] = {"/dev", "/proc", "/sys"};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (strcmp(path, folders[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(trees); i++)
		if (path_is_below(path, trees[i]))
			return true;
	return false;
}

/* Whoever starts a command there seldom means to open it. */
static int check_system(const struct folder *workspace, struct sbx_error *err)
{
	if (!is_system_folder(workspace->path))
		return 0;
	return sbx_fail(err, SBX_E_USAGE, 0,
			"run a command in \"%s\": a folder of the system would be open to it, to "
			"write as well; change to the folder that it works in, or name this one "
			"with --workspace",
			workspace->path);
}

/* Whoever starts a command at home seldom means to show it the keys there. */
static int check_home(const struct folder *workspace, struct sbx_error *err)
{
	struct user_entry user;
	bool is_known = user_find(geteuid(), &user);

	if (!holds(workspace, getenv("HOME")) && !holds(workspace, is_known ? user.home : NULL) &&
	    !holds(workspace, "/home") && !holds(workspace, "/root"))
		return 0;
	return sbx_fail(err, SBX_E_USAGE, 0,
			"run a command in \"%s\": a home folder, with the keys in it, would be "
			"open to it; change to the folder that it works in, or name this one with "
			"--workspace",
			workspace->path);
}

static int find_workspace(struct direct *d, struct sbx_error *err)
{
	const char *name = d->request->workspace;
	struct stat st;
	int rc;

	if (!getcwd(d->cwd, sizeof(d->cwd)))
		return sbx_fail(err, SBX_E_USAGE, errno, "find the current folder");
	rc = find_folder("--workspace", name ? name : d->cwd, &d->workspace, err);
	if (rc < 0)
		return rc;
	if (stat(d->workspace.path, &st) < 0 || !S_ISDIR(st.st_mode))
		return sbx_fail(err, SBX_E_USAGE, ENOTDIR, "use \"%s\" as the workspace",
				d->workspace.path);
	if (strcmp(d->workspace.path, "/") == 0)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"use \"/\" as the workspace: the whole host would be open; name a "
				"folder with --workspace");
	if (!name)
		rc = check_system(&d->workspace, err);
	return name || rc < 0 ? rc : check_home(&d->workspace, err);
}

/* Said here, in the words of the command line, and not by the profile that is made of it. */
static int check_root(const struct direct *d, const struct folder *root, struct sbx_error *err)
{
	if (strcmp(root->path, "/") == 0)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"use \"/\" as --root: the whole host would be open; name a folder");
	if (strcmp(root->path, d->workspace.path) == 0)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"use \"%s\" as --root: it is the workspace, which is open already",
				root->path);
	for (const struct folder *other = d->roots; other < root; other++)
		if (strcmp(root->path, other->path) == 0)
			return sbx_fail(err, SBX_E_USAGE, 0,
					"use \"%s\" as --root: it is given twice", root->path);
	return 0;
}

/* PATH or PATH:rw; a path of that end is written with ":ro" behind it. */
static int find_root(struct direct *d, const char *text, struct sbx_error *err)
{
	size_t len = strlen(text);
	bool marked = len > 3 &&
		      (strcmp(text + len - 3, ":rw") == 0 || strcmp(text + len - 3, ":ro") == 0);
	struct folder *root = &d->roots[d->roots_n];
	char name[PATH_MAX];
	int rc;

	if (d->roots_n == ROOTS_MAX)
		return sbx_fail(err, SBX_E_USAGE, 0, "too many --root options, at most %d",
				ROOTS_MAX);
	if (len >= sizeof(name))
		return sbx_fail(err, SBX_E_USAGE, ENAMETOOLONG, "use \"%s\" as --root", text);
	memcpy(name, text, len + 1);
	if (marked)
		name[len - 3] = '\0';
	root->writable = marked && text[len - 1] == 'w';
	d->roots_n++;
	rc = find_folder("--root", name, root, err);
	return rc < 0 ? rc : check_root(d, root, err);
}

static int find_roots(struct direct *d, struct sbx_error *err)
{
	const struct option_values *roots = d->request->roots;
	int rc = 0;

	if (roots->count && d->request->has_profile)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"use --root beside --profile: what is open stands in the profile; "
				"name the folder in its \"roots\"");
	for (size_t i = 0; rc == 0 && i < roots->count; i++)
		rc = find_root(d, roots->list[i], err);
	return rc;
}

/* ---- the root file system ---- */

static int find_rootfs(struct direct *d, struct sbx_error *err)
{
	const char *name = d->request->rootfs;
	struct folder rootfs = {.path = "/"};
	int rc = name ? find_folder("--rootfs", name, &rootfs, err) : 0;

	if (rc < 0)
		return rc;
	memcpy(d->rootfs, rootfs.path, sizeof(d->rootfs));
	if (name && strcmp(rootfs.path, "/") == 0)
		return sbx_fail(
			err, SBX_E_USAGE, 0,
			"use \"/\" as --rootfs: it is the host's root, which the command has "
			"without that option");
	d->rootfs_fd = open(rootfs.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (d->rootfs_fd < 0)
		return sbx_fail(err, SBX_E_USAGE, errno, "use \"%s\" as --rootfs", name);
	if (path_is_below(rootfs.path, d->workspace.path))
		return sbx_fail(
			err, SBX_E_USAGE, 0,
			"use \"%s\" as --rootfs: it lies in the workspace, by which the command "
			"could write it; name another folder with --workspace",
			name);
	return 0;
}

static bool has_own_root(const struct direct *d)
{
	return strcmp(d->rootfs, "/") != 0;
}

static bool is_empty_folder(int tree_fd, const char *path)
{
	int fd = path_open_in_root(tree_fd, path, O_RDONLY | O_DIRECTORY, 0);
	cleanup_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		cleanup_close_fd(&fd);
		return false;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return false;
	return true;
}

/*
 * Where a folder's place is missing in a root of its own: the deepest folder above that is there,
 * if that is empty and not "/". A file system of the container's own over it takes the missing
 * names, and none is left behind in the root. 1 where there is a cover, 0 where none is needed or
 * the names are to be made in the root.
 */
static int find_cover(const struct direct *d, const char *path, char cover[PATH_MAX],
		      struct sbx_error *err)
{
	cleanup_fd int fd = -EBADF;

	snprintf(cover, PATH_MAX, "%s", path);
	while ((fd = path_open_in_root(d->rootfs_fd, *cover ? cover : "/", O_PATH, 0)) < 0 &&
	       *cover)
		*strrchr(cover, '/') = '\0';
	if (strcmp(cover, path) == 0)
		return 0;
	if (*cover && is_empty_folder(d->rootfs_fd, cover))
		return 1;
	if (fd >= 0 && faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
		return sbx_fail(err, SBX_E_USAGE, errno,
				"make \"%s\" in \"%s\" for what is mounted there: make that folder "
				"yourself, or name another one with --workspace",
				path, d->rootfs);
	return 0;
}

/* ---- the profile ---- */

static void write_access(struct json_writer *w, const char *key, const char *path_member,
			 const struct folder *folder)
{
	json_begin_object(w, key);
	json_write_string(w, path_member, folder->path);
	json_write_string(w, "read", "allow");
	json_write_string(w, "write", folder->writable ? "allow" : "deny");
	json_end_object(w);
}

/* What is left out is denied. */
static void write_profile(struct json_writer *w, const struct direct *d)
{
	json_begin_object(w, NULL);
	json_write_uint(w, "version", 1);
	write_access(w, "workspace", "root", &d->workspace);
	json_begin_array(w, "roots");
	for (size_t i = 0; i < d->roots_n; i++)
		write_access(w, NULL, "path", &d->roots[i]);
	json_end_array(w);
	json_begin_array(w, "protect");
	json_write_string(w, NULL, PROFILE_PROTECT_GIT);
	json_end_array(w);
	if (has_own_root(d)) { /* nothing of the host is in it */
		json_begin_object(w, "host");
		json_write_string(w, "read", "allow");
		json_end_object(w);
	}
	json_write_string(w, "command", "allow");
	json_end_object(w);
}

/* ---- config.json ---- */

static bool is_passed(const struct direct *d, const char *entry)
{
	size_t len = strcspn(entry, "=");

	if (has_own_root(d) && strncmp(entry, "PATH=", 5) == 0)
		return false; /* it names folders of the host */

	if (strncmp(entry, passed_prefix, sizeof(passed_prefix) - 1) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
		if (strlen(passed[i]) == len && strncmp(entry, passed[i], len) == 0)
			return true;
	return false;
}

static int write_asked(struct json_writer *w, const char *asked, struct sbx_error *err)
{
	cleanup_buf struct buf entry = BUF_INIT;
	const char *value = getenv(asked);
	int rc = check_text("--env", asked, err);

	if (rc < 0)
		return rc;
	if (!*asked || *asked == '=')
		return sbx_fail(err, SBX_E_USAGE, 0, "use \"%s\" as --env: it has no name", asked);
	if (strchr(asked, '=')) {
		json_write_string(w, NULL, asked);
		return 0;
	}
	if (!value)
		return sbx_fail(err, SBX_E_USAGE, 0,
				"pass \"%s\" on: the environment has no such variable", asked);
	buf_printf(&entry, "%s=%s", asked, value);
	if (buf_failed(&entry))
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "pass \"%s\" on", asked);
	rc = check_text("--env", entry.data, err);
	json_write_string(w, NULL, entry.data);
	return rc;
}

/* Of equal names the last counts. */
static int write_environment(struct json_writer *w, const struct direct *d, struct sbx_error *err)
{
	const struct option_values *asked = d->request->env;
	int rc = 0;

	json_begin_array(w, "env");
	json_write_string(w, NULL, "PATH=" DEFAULT_PATH);
	for (char **entry = environ; *entry; entry++)
		if (is_passed(d, *entry) && is_utf8(*entry))
			json_write_string(w, NULL, *entry);
	for (size_t i = 0; rc == 0 && i < asked->count; i++)
		rc = write_asked(w, asked->list[i], err);
	json_end_array(w);
	return rc;
}

static int write_process(struct json_writer *w, const struct direct *d, struct sbx_error *err)
{
	static const char *const sets[] = {"bounding", "effective", "permitted"};
	int rc = 0;

	json_begin_object(w, "process");
	json_write_bool(w, "terminal", isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
	json_begin_object(w, "user");
	json_write_uint(w, "uid", 0);
	json_write_uint(w, "gid", 0);
	json_end_object(w);
	json_begin_array(w, "args");
	for (char *const *word = d->request->command; rc == 0 && *word; word++) {
		rc = check_text("a word of the command", *word, err);
		json_write_string(w, NULL, *word);
	}
	json_end_array(w);
	if (rc == 0)
		rc = write_environment(w, d, err);
	json_write_string(w, "cwd",
			  path_is_below(d->cwd, d->workspace.path) ? d->cwd : d->workspace.path);
	json_begin_object(w, "capabilities");
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		JSON_WRITE_WORDS(w, sets[i], capabilities);
	json_end_object(w);
	json_write_bool(w, "noNewPrivileges", true);
	json_end_object(w);
	return rc;
}

static void write_mount(struct json_writer *w, const char *type, const char *source,
			const char *destination, const char *const *options)
{
	json_begin_object(w, NULL);
	json_write_string(w, "destination", destination);
	json_write_string(w, "type", type);
	json_write_string(w, "source", source);
	json_begin_array(w, "options");
	for (; *options; options++)
		json_write_string(w, NULL, *options);
	json_end_array(w);
	json_end_object(w);
}

/* On itself: writable, in a root that is not; and what a root of its own has not. */
static void write_bind(struct json_writer *w, const struct direct *d, const struct folder *folder)
{
	static const char *const open[] = {"rbind", "nosuid", "nodev", NULL};
	static const char *const closed[] = {"rbind", "nosuid", "nodev", "rro", NULL};

	if (folder->writable || has_own_root(d))
		write_mount(w, "bind", folder->path, folder->path,
			    folder->writable ? open : closed);
}

static int write_cover(struct json_writer *w, const struct direct *d, const char *path,
		       struct sbx_error *err)
{
	static const char *const options[] = {"nosuid", "nodev", "mode=755", "size=64k", NULL};
	char cover[PATH_MAX];
	int rc = find_cover(d, path, cover, err);

	if (rc > 0)
		write_mount(w, "tmpfs", "tmpfs", cover, options);
	return rc < 0 ? rc : 0;
}

/* Before all binds: one that came first would be covered. */
static int write_covers(struct json_writer *w, const struct direct *d, struct sbx_error *err)
{
	int rc = 0;

	if (!has_own_root(d))
		return 0;
	if (path_is_below(d->workspace.path, POLICY_SCRATCH_PATH))
		rc = write_cover(w, d, POLICY_SCRATCH_PATH_OTHER, err);
	if (rc == 0)
		rc = write_cover(w, d, d->workspace.path, err);
	for (size_t i = 0; rc == 0 && i < d->roots_n; i++)
		rc = write_cover(w, d, d->roots[i].path, err);
	return rc;
}

/* Over the host's, with what is mounted in it. */
static void write_empty_sys(struct json_writer *w)
{
	static const char *const options[] = {"nosuid",	  "nodev",   "noexec", "ro",
					      "mode=555", "size=4k", NULL};

	write_mount(w, "tmpfs", "tmpfs", "/sys", options);
}

static int write_config(struct json_writer *w, const struct direct *d, struct sbx_error *err)
{
	bool rootless = !host_is_privileged(); /* as root without privileges, too */
	int rc;

	json_begin_object(w, NULL);
	json_write_string(w, "ociVersion", SBX_SPEC_VERSION);
	rc = write_process(w, d, err);
	json_begin_object(w, "root");
	json_write_string(w, "path", d->rootfs);
	json_write_bool(w, "readonly", true);
	json_end_object(w);
	json_write_string(w, "hostname", "sbx");
	json_begin_array(w, "mounts");
	default_mounts_write(w, rootless, true);
	if (rootless)
		write_empty_sys(w);
	if (rc == 0)
		rc = write_covers(w, d, err);
	write_bind(w, d, &d->workspace);
	for (size_t i = 0; i < d->roots_n; i++)
		write_bind(w, d, &d->roots[i]);
	json_end_array(w);
	default_linux_write(w, rootless);
	json_end_object(w);
	return rc;
}

static int write_documents(const struct direct *d, struct direct_bundle *ret, struct sbx_error *err)
{
	struct json_writer w;
	int rc;

	memcpy(ret->workspace, d->workspace.path, sizeof(ret->workspace));
	json_writer_init(&w, &ret->profile, 0);
	write_profile(&w, d);
	json_writer_init(&w, &ret->config, 0);
	rc = write_config(&w, d, err);
	if (rc == 0 && (buf_failed(&ret->profile) || buf_failed(&ret->config)))
		rc = sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "write the configuration");
	return rc;
}

int direct_write(const struct direct_request *request, struct direct_bundle *ret,
		 struct sbx_error *err)
{
	cleanup_free struct direct *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "write the configuration");
	d->request = request;
	d->workspace.writable = true;
	d->rootfs_fd = -EBADF;
	rc = find_workspace(d, err);
	if (rc == 0)
		rc = find_roots(d, err);
	if (rc == 0)
		rc = find_rootfs(d, err);
	if (rc == 0)
		rc = write_documents(d, ret, err);
	cleanup_close_fd(&d->rootfs_fd);
	return rc;
}
