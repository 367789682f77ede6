/*
 * The numbers are fixed by convention: 0 to 2, then LISTEN_FDS, then the preserved ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/num.h"
#include "runtime/inherit.h"

#define FDS_MAX 1024

int inherit_listen_fds(void)
{
	const char *count = getenv("LISTEN_FDS"), *pid = getenv("LISTEN_PID");
	uint64_t fds, owner;

	if (!count || num_parse_u64(count, 0, FDS_MAX, &fds) < 0)
		return 0;
	if (!pid || num_parse_u64(pid, 1, INT32_MAX, &owner) < 0 || (pid_t)owner != getpid())
		return 0;
	return (int)fds;
}

int inherit_extend_environment(struct arena *arena, struct oci_spec *spec, int listen_fds,
			       struct sbx_error *err)
{
	struct strings *env;
	char **longer;

	if (listen_fds == 0 || !spec->process)
		return 0;
	env = &spec->process->env;
	longer = arena_alloc_array(arena, env->n + 3, sizeof(*longer));
	if (!longer)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the environment");
	if (env->n)
		memcpy(longer, env->v, env->n * sizeof(*longer));
	longer[env->n] = arena_printf(arena, "LISTEN_FDS=%d", listen_fds);
	longer[env->n + 1] = arena_strdup(arena, "LISTEN_PID=1");
	env->v = longer;
	env->n += 2;
	return 0;
}

/* Its holder sends to any address or path, which on rung 2 are the host's. */
static bool is_datagram_socket(int fd)
{
	socklen_t len = sizeof(int);
	int type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type != SOCK_STREAM &&
	       type != SOCK_SEQPACKET;
}

static int check_confined(int fd, enum rung rung, struct sbx_error *err)
{
	struct statfs fs;
	struct stat st;
	int flags = fcntl(fd, F_GETFL);
	const char *kind = NULL;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "look at inherited descriptor %d", fd);
	if (flags >= 0 && (flags & O_PATH))
		kind = "an O_PATH descriptor";
	else if (S_ISDIR(st.st_mode))
		kind = "a directory";
	else if (fs.f_type == NSFS_MAGIC)
		kind = "a namespace";
	else if (rung == RUNG_SHARED && is_datagram_socket(fd))
		kind = "a datagram socket";
	if (!kind)
		return 0;
	return sbx_fail(err, SBX_E_PERMISSION_DENIED, EPERM,
			"pass descriptor %d on: it is %s, which a profile never lets in", fd, kind);
}

/* A number above stdio that the caller left free may be one of ours by now: the store's folder,
 * say. All of ours close at exec, and nothing that came through one does. */
static bool is_from_caller(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags >= 0 && (fd < 3 || !(flags & FD_CLOEXEC));
}

int inherit_check(const struct plan *plan, struct sbx_error *err)
{
	int last = 2 + plan->options.listen_fds + plan->options.preserve_fds;

	for (int fd = 0; fd <= last; fd++) {
		int rc = 0;

		if (!is_from_caller(fd))
			return sbx_fail(err, SBX_E_USAGE, EBADF,
					"pass descriptor %d on: the caller has not opened it", fd);
		if (plan->policy->confined)
			rc = check_confined(fd, plan->rung, err);
		if (rc < 0)
			return rc;
	}
	for (int fd = 3; fd <= last; fd++)
		if (fcntl(fd, F_SETFD, 0) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno, "pass descriptor %d on", fd);
	return 0;
}
