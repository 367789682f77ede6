#include "runtime/base/user.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"

bool user_find(uid_t uid, struct user_entry *out)
{
	cleanup_file FILE *file = fopen("/etc/passwd", "re");
	struct passwd entry, *found = NULL;
	char text[PATH_MAX + 1024];

	while (file && fgetpwent_r(file, &entry, text, sizeof(text), &found) == 0) {
		if (found->pw_uid != uid)
			continue;
		if (strlen(found->pw_name) >= sizeof(out->name) || !found->pw_dir ||
		    strlen(found->pw_dir) >= sizeof(out->home))
			return false;
		strcpy(out->name, found->pw_name);
		strcpy(out->home, found->pw_dir);
		return true;
	}
	return false;
}
