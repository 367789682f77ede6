/*
 * The folder is opened as the store's root is: made where it is missing, judged component by
 * component.
 */
#include "runtime/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/fd.h"
#include "runtime/base/log.h"
#include "runtime/base/user.h"

#define MACHINE_STATE "/var/lib"
#define FOLDER_NAME   "sbx-runtime"

/* In a user namespace that does not map the machine's root, its folders are somebody else's. */
static bool is_machine_root(void)
{
	struct stat st;

	return geteuid() == 0 && stat(MACHINE_STATE, &st) == 0 && st.st_uid == 0;
}

static int name_folder(char path[PATH_MAX])
{
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	struct user_entry user;
	int n;

	if (is_machine_root()) {
		n = snprintf(path, PATH_MAX, MACHINE_STATE "/" FOLDER_NAME);
	} else if (state && *state == '/') {
		n = snprintf(path, PATH_MAX, "%s/" FOLDER_NAME, state);
	} else {
		if ((!home || *home != '/') && user_find(geteuid(), &user))
			home = user.home;
		if (!home || *home != '/')
			return -ENOENT;
		n = snprintf(path, PATH_MAX, "%s/.local/state/" FOLDER_NAME, home);
	}
	return n < 0 || n >= PATH_MAX ? -ENOENT : 0;
}

int journal_open(bool create, struct sbx_error *err)
{
	char path[PATH_MAX];
	struct store folder;
	int rc = name_folder(path), fd;

	if (rc < 0)
		return rc;
	rc = store_open(&folder, path, create, err);
	if (rc < 0)
		return rc;
	if (folder.root_fd < 0)
		return -ENOENT;
	fd = openat(folder.root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = -errno;
	store_close(&folder);
	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "open \"%s\"", path) : fd;
}

int journal_enter(struct container *c, struct sbx_error *err)
{
	struct placeholder_owner *owner = &c->placeholders;
	struct sbx_error why = {0};
	int rc;

	if (!c->policy->confined || !c->policy->profile->protect.n)
		return 0;
	owner->journal_fd = journal_open(true, &why);
	if (owner->journal_fd < 0)
		log_info("no journal of placeholders: %s", why.message);
	else
		(void)placeholder_sweep(owner->journal_fd, NULL, NULL); /* of before a reboot */
	owner->store = c->store.root;
	owner->id = c->state.id;
	rc = placeholder_key(owner->key);
	if (rc == 0)
		rc = fd_create_file_at(c->dir_fd, PLACEHOLDER_KEY_FILE, owner->key,
				       PLACEHOLDER_KEY_CHARS, 0600);
	c->run.placeholders = owner;
	return rc < 0 ? sbx_fail(err, SBX_E_SYSTEM, -rc, "store the key of the journal") : 0;
}

/* Remove what containers left that are no more. What fails is told in the log. */
static void sweep(void)
{
	struct sbx_error why = {0};
	cleanup_fd int fd = journal_open(false, &why);
	int rc = fd < 0 ? fd : placeholder_sweep(fd, NULL, NULL);

	if (fd < 0 && rc != -ENOENT)
		log_info("no journal of placeholders: %s", why.message); /* so none was noted */
	else if (rc < 0 && rc != -ENOENT)
		log_warning("placeholders of containers that are gone are not looked for: %s",
			    strerrordesc_np(-rc));
}

int container_forget(struct container *c, const char *id, struct sbx_error *err)
{
	int rc = store_remove_container(&c->store, id, err);

	if (c->state.confined || !c->state.id[0]) /* one without a state may have been */
		sweep();
	return rc;
}
