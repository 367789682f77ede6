/*
 * A class that was there belongs to whoever set it up, so its schemas are compared and never
 * written at create. Removing a class removes its monitoring groups; the tasks fall back to the
 * default.
 */
#include "backends/linux/resctrl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"

#define RESCTRL_PATH	   "/sys/fs/resctrl"
#define RESCTRL_MAGIC	   0x7655821
#define SCHEMATA_BYTES_MAX ((size_t)64 << 10)
#define POINTER		   "/linux/intelRdt"

int resctrl_open(void)
{
	cleanup_fd int fd = open(RESCTRL_PATH, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return errno == ENOENT ? -ENODEV : -errno;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	return fs.f_type == RESCTRL_MAGIC ? take_fd(&fd) : -ENODEV;
}

struct resctrl_group resctrl_group_of(int root_fd, const struct oci_intel_rdt *rdt, const char *id)
{
	const char *name = rdt->clos_id ? rdt->clos_id : id;

	return (struct resctrl_group){.root_fd = root_fd,
				      .name = strcmp(name, "/") == 0 ? "." : name,
				      .id = id,
				      .monitored = rdt->enable_monitoring};
}

static int fail(struct sbx_error *err, int errnum, const struct resctrl_group *group,
		const char *what)
{
	return sbx_fail_at(err, SBX_E_SYSTEM, POINTER, "%s the resctrl class \"%s\": %s", what,
			   group->name, strerror(errnum));
}

static bool has_schemas(const struct oci_intel_rdt *rdt)
{
	return rdt->l3_cache_schema || rdt->mem_bw_schema || rdt->schemata.n > 0;
}

/* "CLASS/FILE" or "CLASS/mon_groups/ID/FILE". */
static int group_path(const struct resctrl_group *group, bool monitor, const char *file, char *out,
		      size_t size)
{
	int n = monitor ? snprintf(out, size, "%s/mon_groups/%s%s", group->name, group->id, file)
			: snprintf(out, size, "%s%s", group->name, file);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int make_monitor(struct resctrl_group *group, struct sbx_error *err)
{
	char path[1024];
	int rc = group_path(group, true, "", path, sizeof(path));

	if (rc == 0 && mkdirat(group->root_fd, path, 0755) < 0)
		rc = -errno;
	if (rc < 0)
		return fail(err, -rc, group, "make a monitoring group in");
	group->made_monitored = true;
	return 0;
}

int resctrl_make(struct resctrl_group *group, const struct oci_intel_rdt *rdt,
		 struct sbx_error *err)
{
	struct stat st;
	int rc = 0;

	if (rdt->clos_id && fstatat(group->root_fd, group->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		rc = S_ISDIR(st.st_mode) ? 0 : fail(err, ENOTDIR, group, "use");
	else if (rdt->clos_id && !has_schemas(rdt))
		rc = fail(err, ENOENT, group, "use (without a schema it must be there)");
	else if (mkdirat(group->root_fd, group->name, 0755) < 0)
		rc = fail(err, errno, group,
			  errno == ENOSPC ? "make (the processor has no more of them)" : "make");
	else
		group->made = true;
	if (rc == 0 && group->monitored)
		rc = make_monitor(group, err);
	if (rc < 0 && group->made)
		unlinkat(group->root_fd, group->name, AT_REMOVEDIR);
	return rc;
}

/* ---- schemas ---- */

/* The lines of text, but those of memory bandwidth where another member has these. */
static void put_lines(struct buf *out, const char *text, bool without_bandwidth)
{
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		if (len > 0 && !(without_bandwidth && strncmp(text, "MB:", 3) == 0))
			buf_printf(out, "%.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

static int make_text(const struct oci_intel_rdt *rdt, struct buf *out)
{
	put_lines(out, rdt->l3_cache_schema, rdt->mem_bw_schema != NULL);
	put_lines(out, rdt->mem_bw_schema, false);
	for (size_t i = 0; i < rdt->schemata.n; i++)
		put_lines(out, rdt->schemata.v[i], false);
	return buf_failed(out) ? -ENOMEM : 0;
}

/* The kernel says in one line of its own what it did not like. */
static void read_reason(int root_fd, struct buf *out)
{
	if (fd_read_file_at(root_fd, "info/last_cmd_status", 4096, out) < 0 || !out->data)
		buf_puts(out, "");
	else if (out->len > 0 && out->data[out->len - 1] == '\n')
		out->data[out->len - 1] = '\0';
}

int resctrl_write(const struct resctrl_group *group, const struct oci_intel_rdt *rdt,
		  struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT, reason = BUF_INIT;
	char path[1024];
	int rc = make_text(rdt, &text);

	if (rc == 0 && text.len == 0)
		return 0;
	if (rc == 0)
		rc = group_path(group, false, "/schemata", path, sizeof(path));
	if (rc == 0)
		rc = fd_write_value_at(group->root_fd, path, text.data);
	if (rc == 0)
		return 0;
	read_reason(group->root_fd, &reason);
	return sbx_fail_at(err, SBX_E_SYSTEM, POINTER,
			   "write the schemata of the resctrl class \"%s\": %s%s%s", group->name,
			   strerror(-rc), reason.data && *reason.data ? ": " : "",
			   reason.data ? reason.data : "");
}

/* "0=00ff" and "0=ff" are the same. */
static bool same_number(const char *a, size_t a_len, const char *b, size_t b_len)
{
	for (; a_len > 1 && *a == '0'; a++)
		a_len--;
	for (; b_len > 1 && *b == '0'; b++)
		b_len--;
	return a_len == b_len && strncasecmp(a, b, a_len) == 0;
}

/* The value of domain "ID=" in "NAME:ID=VALUE;ID=VALUE"; its length in *ret_len. */
static const char *domain_value(const char *line, const char *id, size_t id_len, size_t *ret_len)
{
	const char *at = strchr(line, ':');

	for (at = at ? at + 1 : NULL; at && *at && *at != '\n';) {
		at += strspn(at, " ");
		if (strncmp(at, id, id_len) == 0 && at[id_len] == '=') {
			*ret_len = strcspn(at + id_len + 1, ";\n ");
			return at + id_len + 1;
		}
		at += strcspn(at, ";\n");
		at += *at == ';';
	}
	return NULL;
}

static const char *find_line(const char *text, const char *name, size_t len)
{
	while (text && *text) {
		text += strspn(text, " ");
		if (strncmp(text, name, len) == 0)
			return text;
		text = strchr(text, '\n');
		text += text ? 1 : 0;
	}
	return NULL;
}

/* Every domain that the wanted line sets has that value in what is there. */
static bool line_is_set(const char *wanted, const char *present)
{
	size_t name_len = strcspn(wanted, ":\n") + 1, have_len;
	const char *line =
		wanted[name_len - 1] == ':' ? find_line(present, wanted, name_len) : NULL;

	if (!line)
		return false;
	for (const char *at = wanted + name_len; *at && *at != '\n';) {
		size_t len = strcspn(at, ";\n"), id_len = strcspn(at, "=;\n");
		const char *have = domain_value(line, at, id_len, &have_len);

		if (id_len >= len || !have ||
		    !same_number(at + id_len + 1, len - id_len - 1, have, have_len))
			return false;
		at += len + (at[len] == ';');
	}
	return true;
}

static int compare(const struct resctrl_group *group, const struct oci_intel_rdt *rdt,
		   struct sbx_error *err)
{
	cleanup_buf struct buf wanted = BUF_INIT, present = BUF_INIT;
	char path[1024];
	int rc = make_text(rdt, &wanted);

	if (rc == 0)
		rc = group_path(group, false, "/schemata", path, sizeof(path));
	if (rc == 0)
		rc = fd_read_file_at(group->root_fd, path, SCHEMATA_BYTES_MAX, &present);
	if (rc < 0)
		return fail(err, -rc, group, "read the schemata of");
	for (const char *line = wanted.data; line && *line; line = strchr(line, '\n') + 1)
		if (!line_is_set(line, present.data ? present.data : ""))
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, POINTER,
					   "use the resctrl class \"%s\": it is there with other "
					   "schemata than \"%.*s\"",
					   group->name, (int)strcspn(line, "\n"), line);
	return 0;
}

int resctrl_set(const struct resctrl_group *group, const struct oci_intel_rdt *rdt,
		struct sbx_error *err)
{
	if (!has_schemas(rdt))
		return 0;
	return group->made ? resctrl_write(group, rdt, err) : compare(group, rdt, err);
}

/* ---- processes, the end ---- */

int resctrl_add_task(const struct resctrl_group *group, pid_t pid, struct sbx_error *err)
{
	char path[1024], text[16];
	int rc = 0;

	snprintf(text, sizeof(text), "%d", (int)pid);
	for (int monitor = 0; rc == 0 && monitor <= (int)group->monitored; monitor++) {
		rc = group_path(group, monitor, "/tasks", path, sizeof(path));
		if (rc == 0)
			rc = fd_write_value_at(group->root_fd, path, text);
	}
	return rc < 0 ? fail(err, -rc, group, "put a process into") : 0;
}

static int remove_directory(const struct resctrl_group *group, bool monitor)
{
	char path[1024];
	int rc = group_path(group, monitor, "", path, sizeof(path));

	if (rc == 0 && unlinkat(group->root_fd, path, AT_REMOVEDIR) < 0 && errno != ENOENT)
		rc = -errno;
	return rc;
}

int resctrl_remove(const struct resctrl_group *group, const struct oci_intel_rdt *rdt,
		   struct sbx_error *err)
{
	int rc = group->monitored ? remove_directory(group, true) : 0;

	if (rc == 0 && !rdt->clos_id)
		rc = remove_directory(group, false);
	return rc < 0 ? fail(err, -rc, group, "remove") : 0;
}
