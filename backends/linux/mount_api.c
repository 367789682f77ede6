/*
 * The mount interface by descriptors: thin wrappers that turn -1/errno into a negative errno, plus
 * the splitting of an option list, which mount(2) left to each file system and fsconfig(2) leaves
 * to us.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backends/linux/mount_api.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/kernel.h"

#define OPTION_MAX 4096 /* one option, as mount(2) would take it: a page for all */
#define VALUE_MAX  256	/* fsconfig(2): a string with its NUL */

int mount_fs_open(const char *type)
{
	return sys_fsopen(type, FSOPEN_CLOEXEC);
}

int mount_fs_set(int fs_fd, const char *key, const char *value)
{
	unsigned command = value ? SYS_FSCONFIG_SET_STRING : SYS_FSCONFIG_SET_FLAG;

	return sys_fsconfig(fs_fd, command, key, value, 0);
}

/* The length of the first option of list. */
static size_t option_length(const char *list)
{
	bool quoted = false, numbers = strncmp(list, "mpol=", 5) == 0;
	size_t i;

	for (i = 0; list[i]; i++) {
		if (list[i] == '\\' && list[i + 1]) {
			i++;
			continue;
		}
		if (list[i] == '"')
			quoted = !quoted;
		if (list[i] != ',' || quoted)
			continue;
		if (numbers && isdigit((unsigned char)list[i + 1]))
			continue;
		break;
	}
	return i;
}

/*
 * fsconfig(2) takes 255 bytes of a value at most, which a list of overlay layers soon exceeds: such
 * a list is given layer by layer (lowerdir+, Linux 6.5). Layers of data only ("::") are not.
 */
static int set_layers(int fs_fd, char *list)
{
	char *layer = list, *p;
	int r;

	if (strstr(list, "::"))
		return -EINVAL;
	for (p = list;; p++) {
		bool end = *p == '\0';

		if (*p == '\\' && p[1]) {
			p++;
			continue;
		}
		if (*p != ':' && !end)
			continue;
		*p = '\0';
		r = mount_fs_set(fs_fd, "lowerdir+", layer);
		if (r < 0 || end)
			return r;
		layer = p + 1;
	}
}

static int set_one(int fs_fd, char *option)
{
	char *value = strchr(option, '=');
	size_t len;

	if (!value)
		return mount_fs_set(fs_fd, option, NULL);
	*value++ = '\0';
	len = strlen(value);
	if (len >= 2 && value[0] == '"' && value[len - 1] == '"') {
		value[len - 1] = '\0';
		value++;
	}
	if (len >= VALUE_MAX && strcmp(option, "lowerdir") == 0)
		return set_layers(fs_fd, value);
	return mount_fs_set(fs_fd, option, value);
}

int mount_fs_set_list(int fs_fd, const char *options, char *ret_option, size_t size)
{
	char option[OPTION_MAX], whole[128];

	while (*options) {
		size_t len = option_length(options);
		int r = -ENAMETOOLONG;

		if (len == 0) {
			options++;
			continue;
		}
		if (len < sizeof(option)) {
			memcpy(option, options, len);
			option[len] = '\0';
			r = set_one(fs_fd, option);
		}
		if (r < 0) {
			len = len < sizeof(whole) ? len : sizeof(whole) - 1;
			memcpy(whole, options, len);
			whole[len] = '\0';
			if (size > 0) {
				strncpy(ret_option, whole, size - 1);
				ret_option[size - 1] = '\0';
			}
			return r;
		}
		options += len;
	}
	return 0;
}

int mount_fs_make(int fs_fd, uint64_t attrs)
{
	int r = sys_fsconfig(fs_fd, SYS_FSCONFIG_CREATE, NULL, NULL, 0);

	return r < 0 ? r : sys_fsmount(fs_fd, FSMOUNT_CLOEXEC, (unsigned)attrs);
}

void mount_fs_message(int fs_fd, char *out, size_t size)
{
	char line[256];
	ssize_t n;

	if (size == 0)
		return;
	out[0] = '\0';
	/* each read gives one line "e text", "w text" or "i text"; the last error is the reason */
	while ((n = read(fs_fd, line, sizeof(line) - 1)) > 2) {
		line[n] = '\0';
		line[strcspn(line, "\n")] = '\0';
		if (line[0] != 'e')
			continue;
		strncpy(out, line + 2, size - 1);
		out[size - 1] = '\0';
	}
}

int mount_tree_clone(int dirfd, const char *path, unsigned flags)
{
	return sys_open_tree(dirfd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
}

int mount_tree_clone_with(int dirfd, const char *path, unsigned flags, uint64_t attr_set,
			  uint64_t attr_clear)
{
	struct mount_attr attr = {.attr_set = attr_set, .attr_clr = attr_clear};

	return sys_open_tree_attr(dirfd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags, &attr);
}

int mount_tree_clone_fd(int fd, bool recursive)
{
	return mount_tree_clone(fd, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0));
}

static int set_attributes(int fd, bool recursive, const struct mount_attr *attr)
{
	return sys_mount_setattr(fd, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), attr);
}

int mount_tree_set(int fd, bool recursive, uint64_t attr_set, uint64_t attr_clear)
{
	struct mount_attr attr = {.attr_set = attr_set, .attr_clr = attr_clear};

	return set_attributes(fd, recursive, &attr);
}

int mount_tree_set_propagation(int fd, unsigned long propagation)
{
	struct mount_attr attr = {.propagation = propagation & ~(unsigned long)MS_REC};

	return set_attributes(fd, (propagation & MS_REC) != 0, &attr);
}

int mount_tree_set_idmap(int fd, bool recursive, int userns_fd)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns_fd};

	return set_attributes(fd, recursive, &attr);
}

int mount_tree_attach(int mount_fd, int target_fd)
{
	return sys_move_mount(mount_fd, "", target_fd, "",
			      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int mount_new_filesystem(const char *type, const char *source, const char *options, uint64_t attrs)
{
	cleanup_fd int fs_fd = mount_fs_open(type);
	int r = 0;

	if (fs_fd < 0)
		return fs_fd;
	if (source)
		r = mount_fs_set(fs_fd, "source", source);
	if (r == 0 && options)
		r = mount_fs_set_list(fs_fd, options, NULL, 0);
	if (r < 0)
		return r;
	return mount_fs_make(fs_fd, attrs);
}
