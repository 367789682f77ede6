/*
 * User namespaces that only carry id mappings, for idmapped mounts (mount_setattr(2)).
 */
#ifndef SBX_LINUX_MOUNT_IDMAP_H
#define SBX_LINUX_MOUNT_IDMAP_H

#include "spec/oci.h"

/*
 * A descriptor of a new user namespace with these mappings; no process stays in it. Needs the
 * privilege to write arbitrary maps (CAP_SETUID, CAP_SETGID in the caller's user namespace).
 * proc_fd: private procfs of the caller's pid namespace.
 */
int mount_idmap_open(int proc_fd, const struct oci_id_maps *uid_maps,
		     const struct oci_id_maps *gid_maps, struct sbx_error *err);

#endif
