/*
 * A session keyring of the container's own, so that the keys of whoever runs the runtime are out of
 * reach (session-keyring(7)). Its name is "_ses.ID": the prefix keeps ids that begin with a dot
 * legal. All processes of a container share it, so exec joins it by the same name.
 */
#include <errno.h>
#include <linux/keyctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/linux/room.h"
#include "runtime/base/log.h"

#define KEY_USER_SEARCH UINT32_C(0x00080000) /* keyctl_setperm(3) */
#define DESCRIBE_MAX	512		     /* type;uid;gid;perm;description, the last ours */

static long keyctl_call(int op, unsigned long a, unsigned long b, unsigned long c)
{
	return syscall(SYS_keyctl, op, a, b, c, 0UL);
}

/* Let every process of the same user find the keyring: a second process of the container joins it
 * by name, which needs the search permission. Best effort: the keyring already stands. */
static void keyring_make_searchable(long serial)
{
	char text[DESCRIBE_MAX];
	const char *perm = text;
	long n;
	int i;

	n = keyctl_call(KEYCTL_DESCRIBE, (unsigned long)serial, (unsigned long)text,
			sizeof(text) - 1);
	if (n <= 0 || n >= (long)sizeof(text))
		return;
	text[n] = '\0';
	for (i = 0; perm && i < 3; i++) {
		perm = strchr(perm, ';');
		if (perm)
			perm++;
	}
	if (!perm)
		return;
	if (keyctl_call(KEYCTL_SETPERM, (unsigned long)serial,
			(unsigned long)(strtoul(perm, NULL, 16) | KEY_USER_SEARCH), 0) < 0)
		log_debug("the session keyring stays unsearchable: errno %d", errno);
}

static int keyring_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	char name[300];
	long serial;

	(void)stage;
	if (!run->plan->process.new_keyring)
		return 0;
	snprintf(name, sizeof(name), "_ses.%s", run->plan->options.id);
	serial = keyctl_call(KEYCTL_JOIN_SESSION_KEYRING, (unsigned long)name, 0, 0);
	if (serial >= 0) {
		keyring_make_searchable(serial);
		return 0;
	}
	/* a kernel without keys, or an outer filter that says so; on rung 2 that may be what
	 * refuses namespaces, and the floor keeps the payload from every key */
	if (errno == ENOSYS || (errno == EPERM && run->plan->rung == RUNG_SHARED))
		return 0;
	if (errno == EDQUOT)
		return sbx_fail(err, SBX_E_RESOURCE_LIMIT, errno,
				"join session keyring \"%s\" (raise kernel.keys.maxkeys and "
				"kernel.keys.maxbytes, or use --no-new-keyring)",
				name);
	return sbx_fail(err, SBX_E_SYSTEM, errno, "join session keyring \"%s\"", name);
}

const struct room room_keyring = {
	.name = "keyring",
	.without_namespaces = true,
	.apply = keyring_apply,
};
