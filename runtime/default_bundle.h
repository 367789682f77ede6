/*
 * What a config.json of our own making has: that of `spec`, and that of `run -- COMMAND`.
 */
#ifndef SBX_RUNTIME_DEFAULT_BUNDLE_H
#define SBX_RUNTIME_DEFAULT_BUNDLE_H

#include <stdbool.h>

#include "runtime/base/cleanup.h"
#include "spec/json_write.h"

#define JSON_WRITE_WORDS(w, key, list)                                                             \
	json_write_strings(w, key, (char *const *)(list), ARRAY_SIZE(list))

/* The mounts, into an open array. rootless: those that an ordinary user can make, in a user
 * namespace. host_root: none that shows the host where its own root is the
 * container's. */
void default_mounts_write(struct json_writer *w, bool rootless, bool host_root);

/* The member "linux". rootless: with the caller's id as id 0 of a new user namespace. */
void default_linux_write(struct json_writer *w, bool rootless);

#endif
