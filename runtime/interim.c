/* Interim, to be deleted: store.c and state.c (base) and profile_sources.c (prof) replace this file
 * when they land. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/profile_sources.h"
#include "runtime/store.h"
int store_open(struct store *st, const char *root, bool create, struct sbx_error *err)
{
	if (!root)
		root = "/run/sbx-runtime";
	if (create)
		mkdir(root, 0700);
	st->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return st->root_fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, errno, "root") : 0;
}
void store_close(struct store *s)
{
	close(s->root_fd);
}
int store_check_id(const char *id, struct sbx_error *err)
{
	(void)id;
	(void)err;
	return 0;
}
int store_create_container(const struct store *s, const char *id, struct sbx_error *err)
{
	if (mkdirat(s->root_fd, id, 0700) < 0)
		return sbx_fail(err, SBX_E_CONTAINER_EXISTS, errno,
				"container with given ID already exists");
	return openat(s->root_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
int store_open_container(const struct store *s, const char *id, enum store_lock l,
			 struct sbx_error *err)
{
	(void)l;
	int fd = openat(s->root_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? sbx_fail(err, SBX_E_CONTAINER_UNKNOWN, 0, "container does not exist: %s",
				 id)
		      : fd;
}
int store_remove_container(const struct store *s, const char *id, struct sbx_error *err)
{
	(void)err;
	return fd_remove_tree_at(s->root_fd, id);
}
int store_list(const struct store *s, char ***r, struct sbx_error *err)
{
	(void)s;
	(void)r;
	(void)err;
	return 0;
}
int state_save(int fd, const struct container_state *st, struct sbx_error *err)
{
	(void)err;
	struct {
		struct container_state s;
		char strs[4][512];
	} x;
	memset(&x, 0, sizeof x);
	x.s = *st;
	const char *p[] = {st->oci_version, st->bundle, st->rootfs, st->created};
	for (int i = 0; i < 4; i++)
		snprintf(x.strs[i], 512, "%s", p[i]);
	return fd_replace_file_at(fd, "state", &x, sizeof x, 0600);
}
int state_load(struct arena *a, int fd, struct container_state *ret, struct sbx_error *err)
{
	cleanup_buf struct buf b = BUF_INIT;
	if (fd_read_file_at(fd, "state", 1 << 20, &b) < 0)
		return sbx_fail(err, SBX_E_INVALID_STATE_FILE, 0, "bad state");
	memcpy(ret, b.data, sizeof *ret);
	char *s = b.data + sizeof *ret;
	ret->oci_version = arena_strdup(a, s);
	ret->bundle = arena_strdup(a, s + 512);
	ret->rootfs = arena_strdup(a, s + 1024);
	ret->created = arena_strdup(a, s + 1536);
	ret->owner = "root";
	ret->annotations.n = 0;
	return 0;
}
enum container_status state_status(int fd, const struct container_state *st)
{
	if (!st->pid || !proc_is_alive(st->pid, st->pid_start_ticks))
		return STATUS_STOPPED;
	if (st->started)
		return STATUS_RUNNING;
	struct stat x;
	return fstatat(fd, "start", &x, 0) == 0 ? STATUS_CREATED : STATUS_CREATING;
}
const char *status_name(enum container_status s)
{
	static const char *n[] = {"creating", "created", "running", "paused", "stopped"};
	return n[s];
}
void state_write_oci(struct json_writer *w, const struct container_state *st,
		     enum container_status s, bool e)
{
	(void)e;
	json_begin_object(w, NULL);
	json_write_string(w, "ociVersion", st->oci_version);
	json_write_string(w, "id", st->id);
	json_write_string(w, "status", status_name(s));
	json_write_int(w, "pid", s == STATUS_STOPPED ? 0 : st->pid);
	json_write_string(w, "bundle", st->bundle);
	json_end_object(w);
}
int __attribute__((weak)) cgroup_signal_all(const struct cgroup *cg, int sig, struct sbx_error *err)
{
	(void)cg;
	(void)sig;
	(void)err;
	return 0;
}
