/*
 * The words of a mount's options list (config.md#linux-mount-options): one table, decoded into a
 * plan_mount, listed by `features`.
 *
 * A word that is not in the table belongs to the file system and is handed to it unread; a bind
 * mount has no file system to ask, so there such a word is an error.
 */
#ifndef SBX_LINUX_MOUNT_OPTIONS_H
#define SBX_LINUX_MOUNT_OPTIONS_H

#include <stddef.h>

#include "backends/linux/plan.h"

/* Every word that the runtime itself understands, sorted, NULL-terminated; *ret_n (may be NULL) is
 * their number. */
const char *const *mount_option_names(size_t *ret_n);

/*
 * Decode mount->options into ret, whose other members are kept: kind, recursive, attributes,
 * superblock flags, propagation, the runtime's own words and the file system's data. Later words
 * win. The type decides where no bind word is given: "bind" is a bind, "cgroup" and "cgroup2" the
 * container's view of its own control group, anything else a file system.
 *
 * SBX_E_INVALID_CONFIG (with POINTER, the JSON pointer of the mount) for data on a bind, a missing
 * type, idmap on a mount that is no bind; SBX_E_UNSUPPORTED for what this release does not do.
 */
int mount_options_decode(struct arena *arena, const struct oci_mount *mount, const char *pointer,
			 struct plan_mount *ret, struct sbx_error *err);

/* The value of KEY in a data list, or NULL; *ret_len is its length ("mode=755,size=1k", "mode"). */
const char *mount_data_value(const char *data, const char *key, size_t *ret_len);

/* A copy of data without the options whose key is KEY; NULL when memory is exhausted. */
const char *mount_data_without(struct arena *arena, const char *data, const char *key);

#endif
