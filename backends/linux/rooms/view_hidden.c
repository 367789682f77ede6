/*
 * The private folders of a host's root: volatile ones, and homes wherever passwd(5) has them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/linux/view_build.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/num.h"
#include "runtime/base/path.h"

#define HIDDEN_MAX	 64
#define PASSWD_BYTES_MAX (1u << 20)
#define FIRST_PERSON	 1000 /* below: system accounts, whose homes are system folders */
#define NOBODY		 65534

struct hidden_search {
	const struct plan *plan;
	struct view_facts *facts;
};

/* A root that is the folder or holds it keeps it; so does a mount of the bundle. */
static bool is_kept(const struct plan *plan, const char *path)
{
	size_t i;

	for (i = 0; i < plan->policy->paths_n; i++) {
		if (path_is_below(path, plan->policy->paths[i].path))
			return true;
	}
	for (i = 0; i < plan->mounts.n; i++) {
		const char *destination = plan->mounts.v[i].destination;

		if (!plan->mounts.v[i].remount && strcmp(destination, "/") != 0 &&
		    path_is_below(path, destination))
			return true;
	}
	return false;
}

static int hidden_add(struct hidden_search *g, const char *path)
{
	struct strings *hidden = &g->facts->hidden;
	char real[PATH_MAX];
	struct stat st;
	size_t i;

	if (!realpath(path, real) || stat(real, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    strcmp(real, "/") == 0 || is_kept(g->plan, real))
		return 0;
	for (i = 0; i < hidden->n; i++) {
		if (path_is_below(real, hidden->v[i]))
			return 0;
	}
	if (hidden->n == HIDDEN_MAX)
		return -ENOSPC;
	hidden->v[hidden->n] = arena_strdup(g->plan->arena, real);
	return hidden->v[hidden->n++] ? 0 : -ENOMEM;
}

/* A home of a person that does not stand where homes usually do. Folders directly below "/" and
 * system folders are no homes, whatever passwd says. */
static int hidden_add_home(struct hidden_search *g, char *line)
{
	static const char *const system_folders[] = {"/usr", "/bin", "/sbin", "/lib",
						     "/etc", "/dev", "/proc", "/sys"};
	char *field[7];
	uint32_t id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(field); i++) {
		field[i] = strsep(&line, ":");
		if (!field[i])
			return 0;
	}
	if (num_parse_id(field[2], &id) < 0 || (id != 0 && (id < FIRST_PERSON || id == NOBODY)) ||
	    !path_is_canonical(field[5]) || strcmp(field[5], "/") == 0)
		return 0;
	for (i = 0; i < ARRAY_SIZE(system_folders); i++) {
		if (path_is_below(field[5], system_folders[i]))
			return 0;
	}
	return hidden_add(g, field[5]);
}

int view_hidden_gather(const struct plan *plan, struct view_facts *facts, struct sbx_error *err)
{
	static const char *const folders[] = {"/run",	  "/tmp",  "/var/tmp",
					      "/dev/shm", "/home", "/root"};
	cleanup_buf struct buf passwd = BUF_INIT;
	struct hidden_search search = {plan, facts}, *g = &search;
	struct strings *hidden = &facts->hidden;
	char *rest, *line;
	size_t i;
	int r = 0;

	hidden->v = arena_alloc_array(g->plan->arena, HIDDEN_MAX + 1, sizeof(char *));
	if (!hidden->v)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM,
				"list the host's private folders");
	for (i = 0; r == 0 && i < ARRAY_SIZE(folders); i++)
		r = hidden_add(g, folders[i]);
	if (r == 0 && fd_read_file_at(AT_FDCWD, "/etc/passwd", PASSWD_BYTES_MAX, &passwd) == 0 &&
	    passwd.data) {
		rest = passwd.data;
		while (r == 0 && (line = strsep(&rest, "\n")))
			r = hidden_add_home(g, line);
	}
	if (r < 0)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, -r, "list the host's private folders");
	return 0;
}
