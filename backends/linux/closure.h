/*
 * The runtime closure: what a container under "host read deny" still sees of its image or host, so
 * that programs start at all. System program and library folders, loader caches, name service and
 * certificate files; /dev and /proc are the container's own and not listed here. One table, printed
 * by `report`, the same for every container.
 */
#ifndef SBX_LINUX_CLOSURE_H
#define SBX_LINUX_CLOSURE_H

#include <stdbool.h>
#include <stddef.h>

/* Absolute canonical paths, folders and files; each is optional. Sorted so that parents come
 * first. */
extern const char *const closure_paths[];
extern const size_t closure_paths_n;

/* path (absolute, canonical) is a row or lies below one. */
bool closure_holds(const char *path);

#endif
