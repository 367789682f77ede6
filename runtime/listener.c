#include <errno.h>

#include "runtime/base/cleanup.h"
#include "runtime/container.h"
#include "runtime/listener.h"
#include "runtime/sockets.h"

int listener_pass(void *container, int fd, pid_t pid, struct sbx_error *err)
{
	static char *const fds[] = {(char *)"seccompFd"};
	struct container *c = container;
	const struct oci_seccomp *seccomp;
	cleanup_buf struct buf text = BUF_INIT;
	struct json_writer w;
	int rc = container_load_spec(c, err);

	if (rc < 0)
		return rc;
	seccomp = c->spec->linux_.seccomp;
	if (!seccomp || !seccomp->listener_path)
		return sbx_fail(err, SBX_E_INTERNAL, 0, "pass on a listener that nobody asked for");
	json_writer_init(&w, &text, 0);
	json_begin_object(&w, NULL);
	json_write_string(&w, "ociVersion", c->state.oci_version ? c->state.oci_version : "");
	json_write_strings(&w, "fds", fds, ARRAY_SIZE(fds));
	json_write_int(&w, "pid", pid);
	if (seccomp->listener_metadata)
		json_write_string(&w, "metadata", seccomp->listener_metadata);
	state_write_oci(&w, "state", &c->state, c->run.is_exec ? STATUS_RUNNING : STATUS_CREATING,
			false);
	json_end_object(&w);
	if (buf_failed(&text))
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "make the container process state");
	rc = sockets_send_fd(seccomp->listener_path, fd, text.data, err);
	return rc < 0 ? sbx_prefix(err, "pass the seccomp listener on") : 0;
}
